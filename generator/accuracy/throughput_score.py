"""Predicted against published tokens per second, row by row, and the errors by group."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from generator.accuracy.listing import ListedRow
from generator.accuracy.score import percentile
from generator.accuracy.throughput_rows import LeftOutError, Models, case_from_row, number_of
from generator.core import time_constants as constants
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.model import MixtureOfExperts, Model
from generator.core.step_time import step_time
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import THROUGHPUT
from generator.measurements.reader import usable_rows

MODELS_FILE = MEASUREMENTS_DIR / "throughput-models.json"
SCORED_QUALITIES = ("A", "B")
KEPT_APART_MODULUS = 5
"""One row in five, by the hash of its id, is not used to set any constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """One row of the file: predicted and measured tokens per second per GPU, or why it is left
    out."""

    id: str
    source: str
    model: str
    gpu: str
    card_class: str
    method: str
    software: str
    quality: str
    predicted: float | None
    low: float | None
    high: float | None
    measured: float | None
    error: float | None
    in_scope: bool
    """Counts towards the bars: quality A or B, dense, 16 bit, exact shape."""
    kept_apart: bool
    skipped: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Errors of a set of rows, as shares of the measured rate."""

    name: str
    count: int
    median_error: float
    percentile_90: float
    bias: float
    within_band: float


def is_kept_apart(row_id: str) -> bool:
    """Whether a row belongs to the fifth of the collection that sets no constant."""
    digest = hashlib.sha256(row_id.encode()).hexdigest()
    return int(digest, 16) % KEPT_APART_MODULUS == 0


def _is_dense(model: Model) -> bool:
    return not any(
        isinstance(group.block.feed_forward, MixtureOfExperts) for group in model.block_groups
    )


def score_row(
    row: Mapping[str, str], catalog: Catalog, models: Models, damage: str = ""
) -> ScoredRow:
    """Predicted against measured for one row, or the reason why it is left out."""
    measured = number_of(row["tokens_per_second_per_gpu"])
    blank = ScoredRow(
        id=row["id"],
        source=row["source"],
        model=row["model"],
        gpu=row["gpu"],
        card_class="",
        method=row["method"],
        software="",
        quality=row["quality"],
        predicted=None,
        low=None,
        high=None,
        measured=measured,
        error=None,
        in_scope=False,
        kept_apart=is_kept_apart(row["id"]),
        skipped=None,
    )
    if damage:
        return replace(blank, skipped=damage)
    if not measured:
        return replace(blank, skipped="no tokens per second in the row")
    try:
        case = case_from_row(row, catalog, models)
        estimate = step_time(case)
    except (LeftOutError, TrainfitError) as reason:
        return replace(blank, skipped=str(reason))
    predicted = estimate.tokens_per_second_per_gpu
    return replace(
        blank,
        card_class=constants.card_class(case.card),
        software=case.software.id,
        predicted=predicted,
        low=estimate.low,
        high=estimate.high,
        error=predicted / measured - 1,
        in_scope=(
            row["quality"] in SCORED_QUALITIES
            and _is_dense(case.model)
            and not models.approximate(row["model"])
        ),
    )


def score_file(path: Path, catalog: Catalog, models_file: Path | None = None) -> list[ScoredRow]:
    """Every row of a file, scored or left out with its reason.

    Raises:
        CatalogProblems: a file is no CSV or JSON of the expected form; every fault is named.
    """
    files = [MODELS_FILE, *([models_file] if models_file else [])]
    models = Models(catalog, files)
    return [
        score_row(row.cells, catalog, models, row.damage) for row in usable_rows(path, THROUGHPUT)
    ]


def group(name: str, rows: Sequence[ScoredRow]) -> Group | None:
    """Errors of the rows that have one."""
    scored = [row for row in rows if row.error is not None]
    if not scored:
        return None
    errors = [row.error for row in scored if row.error is not None]
    absolute = [abs(error) for error in errors]
    inside = sum(
        1
        for row in scored
        if row.low is not None
        and row.high is not None
        and row.measured is not None
        and row.low <= row.measured <= row.high
    )
    return Group(
        name=name,
        count=len(scored),
        median_error=median(absolute),
        percentile_90=percentile(absolute, 0.9),
        bias=median(errors),
        within_band=inside / len(scored),
    )


def grouped_by(rows: Sequence[ScoredRow], key: Callable[[ScoredRow], str]) -> list[Group]:
    """Groups by a key, largest first."""
    names = sorted({key(row) for row in rows})
    found = [group(name, [row for row in rows if key(row) == name]) for name in names]
    return sorted((each for each in found if each), key=lambda each: -each.count)


def summary(rows: Sequence[ScoredRow]) -> dict[str, Any]:
    """Errors by method, card class, software and source, and why rows are left out."""
    scope = [row for row in rows if row.in_scope]
    keys: dict[str, Callable[[ScoredRow], str]] = {
        "method": lambda row: row.method,
        "card_class": lambda row: row.card_class,
        "gpu": lambda row: row.gpu,
        "software": lambda row: row.software,
        "source": lambda row: row.source,
        "quality": lambda row: row.quality,
    }
    parts = {
        "all": scope,
        "calibrated": [row for row in scope if not row.kept_apart],
        "kept_apart": [row for row in scope if row.kept_apart],
        "out_of_scope": [row for row in rows if not row.in_scope],
    }
    reasons: dict[str, int] = {}
    for row in rows:
        if row.skipped:
            reasons[row.skipped] = reasons.get(row.skipped, 0) + 1
    totals = {name: group(name, part) for name, part in parts.items()}
    return {
        "rows": len(rows),
        "scored": sum(1 for row in rows if row.error is not None),
        "in_scope": len(scope),
        "total": {name: asdict(each) for name, each in totals.items() if each},
        "by": {
            name: [asdict(each) for each in grouped_by(scope, key)] for name, key in keys.items()
        },
        "skipped": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }


def listed(row: ScoredRow) -> ListedRow:
    """The row as the list of rows shows it."""
    return ListedRow(
        id=row.id,
        predicted=row.predicted,
        measured=row.measured,
        error=row.error,
        remark=row.skipped or "",
        is_left_out=row.skipped is not None,
    )


def to_json(rows: Sequence[ScoredRow]) -> str:
    """Rows and summary as one JSON object."""
    return json.dumps({"rows": [asdict(row) for row in rows], "summary": summary(rows)})


def to_text(rows: Sequence[ScoredRow]) -> str:
    """The summary as a table for a terminal."""
    figures = summary(rows)
    counts = f"{figures['rows']} rows, {figures['scored']} scored, {figures['in_scope']} in scope"
    lines = [
        f"{counts} (quality A or B, dense, 16 bit, complete)",
        f"{'':46} {'rows':>5} {'median':>8} {'90th':>8} {'bias':>8} {'in band':>8}",
    ]

    def line(each: Mapping[str, Any]) -> str:
        name = str(each["name"])[:44]
        return (
            f"  {name:44} {each['count']:5d} {each['median_error']:8.1%} "
            f"{each['percentile_90']:8.1%} {each['bias']:+8.1%} {each['within_band']:8.1%}"
        )

    lines += [line(each) for each in figures["total"].values()]
    for name, groups in figures["by"].items():
        lines.append(name.replace("_", " "))
        lines += [line(each) for each in groups]
    lines.append("left out")
    lines += [f"  {count:5d}  {reason}" for reason, count in figures["skipped"].items()]
    return "\n".join(lines)
