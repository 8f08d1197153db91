"""What other calculators answer for the same rows, beside the estimate's own errors there."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.accuracy.score import RowScore, percentile
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import OTHER_CALCULATORS
from generator.measurements.reader import read_table

ANSWERS = MEASUREMENTS_DIR / "other-calculators.csv"
ABOUT = MEASUREMENTS_DIR / "other-calculators.toml"
MIN_ROWS = 10
"""Fewer rows say little about a calculator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculator:
    """One calculator: what ran, its errors, and the estimate's on the same rows."""

    name: str
    version: str
    options: str
    num_rows: int
    median: float
    percentile_90: float
    own_median: float
    own_percentile_90: float


def calculators(
    rows: Sequence[RowScore], *, answers: Path = ANSWERS, about: Path = ABOUT
) -> list[Calculator]:
    """All calculators with enough rows, best median first.

    Args:
        rows: The estimate's scores; only rows with an error count for either side.
        answers: CSV of the other calculators' answers.
        about: TOML with name, version and options of each.
    """
    own = {row.id: abs(row.error) for row in rows if row.error is not None}
    found: dict[str, dict[str, float]] = {}
    for line in read_table(answers, OTHER_CALCULATORS).sound():
        if line["id"] in own and line["error_pct"]:
            errors = found.setdefault(line["calculator"], {})
            errors[line["id"]] = abs(float(line["error_pct"])) / 100
    records = tomllib.loads(about.read_text(encoding="utf-8"))["calculators"]
    result: list[Calculator] = []
    for record in records:
        errors = found.get(record["id"], {})
        if len(errors) < MIN_ROWS:
            continue
        theirs = list(errors.values())
        ours = [own[row] for row in errors]
        result.append(
            Calculator(
                name=record["name"],
                version=record["version"],
                options=record["options"],
                num_rows=len(errors),
                median=percentile(theirs, 0.5),
                percentile_90=percentile(theirs, 0.9),
                own_median=percentile(ours, 0.5),
                own_percentile_90=percentile(ours, 0.9),
            )
        )
    return sorted(result, key=lambda each: (each.median, each.name))
