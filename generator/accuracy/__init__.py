"""Scores published measurements against the estimate: `python -m generator accuracy FILE.csv`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from generator.accuracy.bars import Bar, bars
from generator.accuracy.listing import ListedRow, to_lines
from generator.accuracy.score import RowScore, score
from generator.core.units import GIB
from generator.load import CATALOG_DIR, load_catalog
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
OWN_MODELS = CATALOG_DIR / "measurements" / "memory-models.json"
OWN_FILE = CATALOG_DIR / "measurements" / "memory.csv"


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
    return ListedRow(
        id=row.id,
        predicted=gib(row.predicted_bytes),
        measured=gib(row.measured_bytes),
        error=row.error,
        remark=row.skipped or ", ".join(filter(None, (out, judged))),
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
    file: str, *, models: str | None, as_json: bool, out: IO[str], rows: str | None = None
) -> int:
    """Score one file and print rows and summary.

    The status is 1 where the collection of this repository no longer meets a bar. A file of one's
    own is held to none.

    Args:
        file: CSV of memory or throughput measurements, told apart by its columns.
        models: JSON with configs of models outside the catalog; the measurements' own by default.
        as_json: Print JSON instead of tables.
        out: Where to print.
        rows: Which rows to list instead, as `listing.chosen` takes it; None for the summary.
    """
    try:
        return _main(Path(file), None if models is None else Path(models), as_json, out, rows)
    except CatalogProblems as problems:
        for problem in problems.problems:
            print(f"accuracy: {problem}", file=sys.stderr)
        return 2


def _main(path: Path, models: Path | None, as_json: bool, out: IO[str], which: str | None) -> int:
    if not path.is_file():
        print(f"accuracy: there is no file {path}; give a CSV file.", file=sys.stderr)
        return 2
    if models is not None and not models.is_file():
        print(f"accuracy: there is no file {models}; give --models a JSON file.", file=sys.stderr)
        return 2
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        header = [name.strip(' "\r\n') for name in stream.readline(10_000).split(",")]
    if THROUGHPUT_COLUMN in header:
        from generator import throughput_accuracy

        scored = throughput_accuracy.score_file(path, load_catalog(), models)
        if which is not None and not as_json:
            listed = [throughput_accuracy.listed(row) for row in scored]
            lines = to_lines(listed, which, "tokens/s per GPU", "{:,.0f}".format)
            out.write("\n".join(lines) + "\n")
            return 0
        as_text = throughput_accuracy.to_json if as_json else throughput_accuracy.to_text
        out.write(as_text(scored).rstrip("\n") + "\n")
        return 0
    rows, summary = score(path, load_catalog(), models=models or OWN_MODELS)
    held = bars(summary)
    is_own = path.resolve() == OWN_FILE.resolve()
    if as_json:
        judged = [{**asdict(bar), "is_met": bar.is_met} for bar in held]
        found = {"rows": [_row_json(row) for row in rows], "summary": summary, "bars": judged}
        json.dump(found, out)
        print(file=out)
    elif which is not None:
        print(
            "\n".join(to_lines(list(map(_listed, rows)), which, "GiB", "{:.2f}".format)), file=out
        )
    else:
        _print_table(summary, held, is_own, out)
    missed = [bar.name for bar in held if not bar.is_met] if is_own else []
    if missed:
        print(f"accuracy: not met: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0
