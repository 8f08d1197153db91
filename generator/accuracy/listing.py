"""Scored rows one by one, for whoever wants to know what became of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """One row as the list shows it."""

    id: str
    predicted: float | None = None
    measured: float | None = None
    error: float | None = None
    remark: str = ""
    """Its verdict where that is all there is, or why it was left out."""
    is_left_out: bool = False


ALL = "all"


def chosen(rows: Sequence[ListedRow], which: str) -> list[ListedRow]:
    """The rows to show: the worst first, then those without an error, then those left out.

    Args:
        rows: All of them.
        which: `all`; a number, for that many of the worst and no others; or how an id begins.
    """

    def rank(row: ListedRow) -> tuple[bool, bool, float]:
        return row.is_left_out, row.error is None, -abs(row.error or 0.0)

    ordered = sorted(rows, key=rank)
    if which == ALL:
        return ordered
    begun = [row for row in ordered if row.id.startswith(which)]
    if which.isdecimal() and not begun:
        return [row for row in ordered if row.error is not None][: int(which)]
    return begun


def to_lines(
    rows: Sequence[ListedRow], which: str, unit: str, shown: Callable[[float], str]
) -> list[str]:
    """The list as lines for a terminal; none where no row is chosen.

    Args:
        rows: All rows.
        which: As `chosen` takes it.
        unit: Of predicted and measured.
        shown: A figure as text.
    """
    found = chosen(rows, which)
    if not found:
        return []
    width = min(40, max(len(row.id) for row in found))
    lines = [f"{unit:{width}} {'predicted':>10} {'measured':>10} {'error':>8}"]
    for row in found:
        figures = (
            "" if row.predicted is None else shown(row.predicted),
            "" if row.measured is None else shown(row.measured),
            "" if row.error is None else f"{row.error:+.1%}",
        )
        cells = " ".join(f"{text:>{size}}" for text, size in zip(figures, (10, 10, 8), strict=True))
        remark = f"skipped: {row.remark}" if row.is_left_out else row.remark
        line = f"{row.id[:width]:{width}} {remark if row.is_left_out else f'{cells}  {remark}'}"
        lines.append(line.rstrip())
    return lines
