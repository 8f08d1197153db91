"""What is known of rows and sources that are far off, and which of them nobody has explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.accuracy.score import RowScore
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import CAUSES
from generator.measurements.reader import read_table

OUTLIER = 0.15
"""Rows of quality A and B that are further off are listed with what is known of the cause."""
SOURCE_OUTLIER = 0.10
"""The same of a source's median."""
NOT_EXPLAINED = "Not explained yet."
FILE = MEASUREMENTS_DIR / CAUSES.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Causes:
    """The lines of `causes.csv`."""

    by_id: Mapping[str, str]
    by_source: Mapping[str, str]

    def of_row(self, row: RowScore) -> str | None:
        """Why a row is off, None where nobody has said it."""
        return self.by_id.get(row.id) or self.by_source.get(row.source)


def read_causes(path: Path = FILE) -> Causes:
    """What is known of outliers: by row id, and by source.

    Args:
        path: A CSV with the columns of `catalog/measurements/causes.csv`.
    """
    by_id: dict[str, str] = {}
    by_source: dict[str, str] = {}
    for line in read_table(path, CAUSES).sound():
        if line["id"]:
            by_id[line["id"]] = line["cause"]
        else:
            by_source[line["source"]] = line["cause"]
    return Causes(by_id=by_id, by_source=by_source)


def is_outlier(row: RowScore) -> bool:
    """Whether the page lists the row among those that are far off."""
    return row.error is not None and abs(row.error) >= OUTLIER and row.quality in ("A", "B")


def unexplained_rows(rows: Sequence[RowScore], causes: Causes) -> list[str]:
    """Ids of outliers of which nobody has said the cause, rows with a known defect apart.

    Args:
        rows: Scored rows.
        causes: What is known.
    """
    far = (row for row in rows if is_outlier(row) and not row.is_doubtful)
    return [row.id for row in far if causes.of_row(row) is None]


def invitation(ids: Sequence[str]) -> str:
    """What to do about rows that are far off and not explained: nothing, or say why.

    Args:
        ids: Of the rows, one at least.
    """
    named = ", ".join(ids)
    are = "is" if len(ids) == 1 else "are"
    return (
        f"{named} {are} off by {OUTLIER:.0%} or more, and nobody has said why: such runs are the "
        "most welcome, and the accuracy page shows them as not explained yet. If you know the "
        f"cause, add a line to catalog/measurements/{CAUSES.name} "
        f'({", ".join(CAUSES.names)}): {ids[0]},,"the cause"'
    )
