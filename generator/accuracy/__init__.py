"""Scores published measurements against the estimate: `python -m generator accuracy`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from generator.accuracy import throughput_score
from generator.accuracy.bars import Bar, bars
from generator.accuracy.causes import (
    OUTLIER,
    invitation,
    read_causes,
    unexplained_rows,
)
from generator.accuracy.listing import ListedRow, chosen, to_lines
from generator.accuracy.score import RowScore, score
from generator.core.units import GIB
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import THROUGHPUT
from generator.problem import CatalogProblems

THROUGHPUT_COLUMN = "tokens_per_second_per_gpu"
HEADLINES = (
    "all",
    "quality A, allocated",
    "quality A and B",
    "quality A and B, doubtful rows apart",
    "doubtful rows",
    "driver's reading beside the allocator's",
)
OWN_MODELS = MEASUREMENTS_DIR / "memory-models.json"
OWN_FILE = MEASUREMENTS_DIR / "memory.csv"
WELCOME = (
    "A measurement that contradicts the estimate may do this; send it all the same and say so, "
    "what follows is the maintainers' to find out"
)


def _row_json(row: RowScore) -> dict[str, Any]:
    return {
        "id": row.id,
        "predicted_bytes": row.predicted_bytes,
        "measured_bytes": row.measured_bytes,
        "error": row.error,
        "verdict": row.verdict,
        "unjudged": row.unjudged,
        "skipped": row.skipped,
        "low": row.low,
        "high": row.high,
    }


def _listed(row: RowScore) -> ListedRow:
    def gib(count: int | None) -> float | None:
        return None if count is None else count / GIB

    out = "ran out of memory" if row.is_out_of_memory else ""
    judged = f"judged {row.verdict}" if row.verdict else ""
    as_tool = f"as {row.request['stack']}" if row.request else ""
    is_far = row.error is not None and abs(row.error) >= OUTLIER
    far = f"off by {OUTLIER:.0%} or more" if is_far else ""
    return ListedRow(
        id=row.id,
        predicted=gib(row.predicted_bytes),
        measured=gib(row.measured_bytes),
        error=row.error,
        remark=row.skipped or ", ".join(filter(None, (out, judged, far, as_tool))),
        is_left_out=row.skipped is not None,
    )


def _print_table(summary: dict[str, Any], held: list[Bar], is_own: bool, out: IO[str]) -> None:
    def line(name: str, found: dict[str, Any] | None) -> None:
        if found is None:
            return
        print(
            f"{name[:58]:58} {found['num_rows']:5} {found['median']:8.1%} "
            f"{found['percentile_90']:8.1%} {found['worst']:8.1%} {found['median_signed']:+8.1%}",
            file=out,
        )

    print(f"{'':58} {'rows':>5} {'median':>8} {'90th':>8} {'worst':>8} {'signed':>8}", file=out)
    for name in HEADLINES:
        line(name, summary[name])
    for group, found in summary.items():
        if group.startswith("by "):
            print(f"\n{group}", file=out)
            for name, own in found.items():
                line(name, own)
    of = "" if is_own else ", which catalog/measurements/memory.csv is held to; here for comparison"
    print(f"\nbars{of}", file=out)
    for bar in held:
        relation = "at least" if bar.at_least else "at most"
        form = "{:.0f}" if bar.is_count else "{:.1%}"
        limit, actual = form.format(bar.limit), form.format(bar.actual)
        met = "met" if bar.is_met else "NOT MET"
        print(f"{bar.name:46} {actual:>7}  {relation} {limit:6} {met}", file=out)
    print(f"\nout of memory: {summary['out of memory']}", file=out)
    print(f"ran: {summary['ran']}", file=out)
    print(f"band: {summary['band']}", file=out)
    print(f"\nskipped {summary['num_skipped']} of {summary['num_rows']} rows:", file=out)
    for reason, count in summary["skipped"].items():
        print(f"{count:5}  {reason[:100]}", file=out)
    print("\nscored without a verdict:", file=out)
    for reason, count in summary["unjudged"].items():
        print(f"{count:5}  {reason[:160]}", file=out)


def main(
    files: Sequence[str],
    *,
    models: str | None,
    as_json: bool,
    out: IO[str],
    rows: str | None = None,
) -> int:
    """Score files and print rows and summary of each.

    The status is 1 where the collection of this repository no longer meets a bar, unless rows are
    asked for, and where no file has such rows or those asked for were skipped. A file of one's own
    is held to no bar.

    Args:
        files: CSV of memory or throughput measurements, told apart by their columns; the
            collection's two where none is named.
        models: JSON with configs of models outside the catalog; the measurements' own by default.
        as_json: Print JSON instead of tables.
        out: Where to print.
        rows: Which rows to list instead, as `listing.chosen` takes it; None for the summary.
    """
    paths = [Path(file) for file in files] or [OWN_FILE, OWN_FILE.with_name(THROUGHPUT.name)]
    status = 0
    listed: list[ListedRow] = []
    for path in paths:
        try:
            request = _Request(
                path=path,
                models=None if models is None else Path(models),
                as_json=as_json,
                which=rows,
                is_named=len(paths) > 1,
            )
            found, own_listed = _main(request, out)
        except CatalogProblems as problems:
            for problem in problems.problems:
                print(f"accuracy: {problem}", file=sys.stderr)
            found, own_listed = 2, []
        status = max(status, found)
        listed += own_listed
    if rows is None or as_json or status:
        return status
    if not listed:
        named = " or ".join(map(_shown, paths))
        told = f'no row of {named} has an id that begins with "{rows[:60]}"'
        print(f"accuracy: {told}", file=sys.stderr)
        return 1
    left_out = [row for row in listed if row.is_left_out]
    asked_for = [row for row in left_out if row.id == rows]
    if asked_for or len(left_out) == len(listed):
        told = ", ".join(row.id for row in (asked_for or left_out)[:3])
        more = ", ..." if len(asked_for or left_out) > 3 else ""
        print(f"accuracy: not scored, for the reason above: {told[:200]}{more}", file=sys.stderr)
        return 1
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is asked of one file."""

    path: Path
    models: Path | None
    as_json: bool
    which: str | None
    is_named: bool
    """Its name goes before what is printed, since there are several."""


def _shown(path: Path) -> str:
    """The path as one would type it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _main(asked: _Request, out: IO[str]) -> tuple[int, list[ListedRow]]:
    """Status, and the rows that were listed."""
    path, models = asked.path, asked.models
    if not path.is_file():
        print(f"accuracy: there is no file {path}; give a CSV file.", file=sys.stderr)
        return 2, []
    if models is not None and not models.is_file():
        print(f"accuracy: there is no file {models}; give --models a JSON file.", file=sys.stderr)
        return 2, []
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        header = [name.strip(' "\r\n') for name in stream.readline(10_000).split(",")]
    if THROUGHPUT_COLUMN in header:
        scored = throughput_score.score_file(path, load_catalog(), models)
        if asked.which is not None and not asked.as_json:
            listed = [throughput_score.listed(row) for row in scored]
            lines = to_lines(listed, asked.which, "tokens/s per GPU", "{:,.0f}".format)
            _print_rows(lines, asked, out)
            return 0, chosen(listed, asked.which)
        as_text = throughput_score.to_json if asked.as_json else throughput_score.to_text
        _print_name(asked, out)
        out.write(as_text(scored).rstrip("\n") + "\n")
        return 0, []
    return _main_memory(asked, out)


def _print_name(asked: _Request, out: IO[str]) -> None:
    if asked.is_named and not asked.as_json:
        print(f"{_shown(asked.path)}:", file=out)


def _print_rows(lines: Sequence[str], asked: _Request, out: IO[str]) -> None:
    if lines:
        _print_name(asked, out)
        print("\n".join(lines), file=out)


def _main_memory(asked: _Request, out: IO[str]) -> tuple[int, list[ListedRow]]:
    rows, summary = score(asked.path, load_catalog(), models=asked.models or OWN_MODELS)
    held = bars(summary)
    is_own = asked.path.resolve() == OWN_FILE.resolve()
    if asked.as_json:
        judged = [{**asdict(bar), "is_met": bar.is_met} for bar in held]
        found = {"rows": [_row_json(row) for row in rows], "summary": summary, "bars": judged}
        json.dump(found, out)
        print(file=out)
    elif asked.which is not None:
        listed = [_listed(row) for row in rows]
        _print_rows(to_lines(listed, asked.which, "GiB", "{:.2f}".format), asked, out)
        shown = chosen(listed, asked.which)
        if is_own:
            ids = {row.id for row in shown}
            _invite([row for row in rows if row.id in ids], out)
        return 0, shown
    else:
        _print_name(asked, out)
        _print_table(summary, held, is_own, out)
        if is_own:
            _invite(rows, out)
    missed = [bar.name for bar in held if not bar.is_met] if is_own else []
    if missed:
        print(f"accuracy: not met: {'; '.join(missed)}. {WELCOME}", file=sys.stderr)
    return 1 if missed else 0, []


def _invite(rows: Sequence[RowScore], out: IO[str]) -> None:
    """Asks for the cause of rows that are far off, where nobody has said it."""
    ids = unexplained_rows(rows, read_causes())
    if ids:
        print(f"\n{invitation(ids)}", file=out)
