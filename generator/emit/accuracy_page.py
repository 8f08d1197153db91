"""The accuracy page's tables and pictures, from the scores that a build computes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from generator.accuracy.bars import METHODS, PLACES, Bar, bars
from generator.accuracy.causes import (
    NOT_EXPLAINED,
    OUTLIER,
    SOURCE_OUTLIER,
    Causes,
    read_causes,
)
from generator.accuracy.constants import constants
from generator.accuracy.others import Calculator, calculators
from generator.accuracy.score import RowScore, score
from generator.calculator_link import calculator_fragment
from generator.core.time_constants import constant_table
from generator.core.units import GB
from generator.emit import accuracy_plots as plots
from generator.emit.svg import Picture
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR
from generator.tables.base import VERDICT_SIGNS

SHORT_METHOD_NAMES = {"full": "Full", "lora": "LoRA", "qlora": "QLoRA"}
METRIC_NAMES = {"allocated": "allocated", "reserved": "reserved", "total": "card"}
COMMIT = re.compile(r",? (commit )?[0-9a-f]{7,}(?=\))")
"""A commit in a source's name, which a picture has no room for."""
NUM_COMPARED = 8
"""Calculators in the picture; the table has all."""


@lru_cache(maxsize=1)
def scores() -> tuple[tuple[RowScore, ...], dict[str, Any]]:
    """All rows of the collection scored, and the summary."""
    rows, summary = score(
        MEASUREMENTS_DIR / "memory.csv",
        load_catalog(),
        models=MEASUREMENTS_DIR / "memory-models.json",
    )
    return tuple(rows), summary


def _good() -> list[RowScore]:
    rows, _ = scores()
    return [row for row in rows if row.error is not None and row.quality in ("A", "B")]


@lru_cache(maxsize=1)
def causes() -> Causes:
    """What is known of outliers."""
    return read_causes()


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: str = "") -> str:
    """A Markdown table.

    Args:
        head: Column names.
        rows: Cells.
        numbers: One character per column, `9` where it holds numbers; words by default.
    """
    rule = ["---:" if kind == "9" else "---" for kind in numbers.ljust(len(head))]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def bars_table() -> str:
    """The bars, where the estimate stands, and whether each holds."""

    def written(bar: Bar, value: float) -> str:
        return f"{value:.0f}" if bar.is_count else f"{value:.1%}"

    rows = [
        (
            bar.name,
            ("at least " if bar.at_least else "at most ") + written(bar, bar.limit),
            written(bar, bar.actual),
            "✓ met" if bar.is_met else "✕ not met",
        )
        for bar in bars(scores()[1])
    ]
    return _table(("Bar", "Limit", "Today", "Met"), rows, numbers=" 99")


def accuracy_plot() -> str:
    """Estimate against reading, every row of quality A and B."""
    return _inline("accuracy-scatter", plots.predicted_against_measured(_good()))


def error_plot(group: str) -> str:
    """Distribution of errors.

    Args:
        group: `method` or `source`.
    """
    groups: dict[str, list[float]] = {}
    if group == "method":
        for method in METHODS:
            for place in PLACES:
                groups[f"{SHORT_METHOD_NAMES[method]}, {place}"] = []
    for row in sorted(_good(), key=lambda each: each.source.lower()):
        if group == "method":
            place = "single" if row.strategy == "single" else "sharded"
            name = f"{SHORT_METHOD_NAMES[row.method.partition('+')[0]]}, {place}"
        else:
            name = COMMIT.sub("", row.source)
        groups.setdefault(name, []).append(row.error or 0.0)
    title = "Errors by method" if group == "method" else "Errors by source"
    filled = {name: errors for name, errors in groups.items() if errors}
    return _inline(f"accuracy-by-{group}", plots.error_ranges(title, filled))


def _inline(name: str, picture: Picture) -> str:
    return (
        f'<figure class="tf-picture">\n{picture.svg(name)}\n'
        f"<figcaption>{escape(picture.title)}.</figcaption>\n</figure>"
    )


def outliers_table() -> str:
    """Rows of quality A and B beyond `OUTLIER`, worst first, with what is known."""
    rows = []
    for row in sorted(_good(), key=lambda each: -abs(each.error or 0)):
        if abs(row.error or 0) < OUTLIER:
            break
        known = causes().of_row(row) or NOT_EXPLAINED
        rows.append(
            (f"[{row.id}](accuracy-rows.md#{row.id})", f"{row.error:+.0%}", row.source, known)
        )
    return _table(("Row", "Error", "Source", "What is known"), rows, numbers=" 9")


def sources_table() -> str:
    """Sources with their errors, and the cause where the median is beyond `SOURCE_OUTLIER`."""
    by_source = causes().by_source
    rows = []
    for name, found in scores()[1]["by source"].items():
        is_far = found["median"] > SOURCE_OUTLIER
        cause = by_source.get(name, NOT_EXPLAINED) if is_far else ""
        rows.append(
            (
                name,
                f"{found['num_rows']}",
                f"{found['median']:.1%}",
                f"{found['percentile_90']:.1%}",
                f"{found['median_signed']:+.1%}",
                cause,
            )
        )
    head = ("Source", "Rows", "Median error", "90th percentile", "Signed median", "Known cause")
    return _table(head, rows, numbers=" 9999")


@lru_cache(maxsize=1)
def _calculators() -> tuple[Calculator, ...]:
    return tuple(calculators(_good()))


def calculators_plot() -> str:
    """Median errors of the best calculators beside the estimate's on the same rows."""
    pairs = [
        (each.name, each.num_rows, each.median, each.own_median)
        for each in _calculators()[:NUM_COMPARED]
    ]
    return _inline("accuracy-calculators", plots.calculators_compared(pairs))


def calculators_table() -> str:
    """Errors of other calculators and of the estimate on the rows that each can answer."""
    rows = [
        (
            f"{each.name} ({each.version})",
            f"{each.num_rows}",
            f"{each.median:.1%}",
            f"{each.percentile_90:.1%}",
            f"{each.own_median:.1%}",
            f"{each.own_percentile_90:.1%}",
        )
        for each in _calculators()
    ]
    head = ("Calculator", "Rows", "Median", "90th", "This site: median", "90th")
    return _table(head, rows, numbers=" 99999")


def calculators_options() -> str:
    """A definition list: how each calculator was run."""
    return "\n\n".join(f"{each.name}\n:   {each.options}" for each in _calculators())


def constants_table() -> str:
    """The calibrated constants with their origin."""
    rows = [(each.name, each.value, each.origin) for each in constants(load_catalog())]
    return _table(("Constant", "Value", "Origin"), rows)


def speed_constants_table() -> str:
    """Every constant of the step-time estimate with its origin."""
    rows = [
        (
            f"`{each.name}`" if each.name.isupper() else each.name.replace("-", " ").capitalize(),
            each.value,
            each.origin[:1].upper() + each.origin[1:],
        )
        for each in constant_table()
    ]
    return _table(("Constant", "Value", "Origin"), rows)


def skipped_table() -> str:
    """Why rows were left out, most frequent first."""
    rows = [
        (f"{count}", escape(reason[:1].upper() + reason[1:]).replace("|", "\\|"))
        for reason, count in scores()[1]["skipped"].items()
    ]
    return _table(("Rows", "Reason"), rows, numbers="9")


def _verdict(row: RowScore) -> str:
    if row.verdict is None:
        return ""
    return f'<span class="v-{row.verdict}">{VERDICT_SIGNS[row.verdict]} {row.verdict}</span>'


def _set_up(request: Mapping[str, Any]) -> str:
    count = request["num_gpus"]
    parts = [
        SHORT_METHOD_NAMES[request["method"]],
        request["strategy"] + (f" on {count}" if count > 1 else ""),
        f"{request['micro_batch_size']} x {request['sequence_length']:,}",
        request["stack"] + (f" {request['stack_version']}" if request.get("stack_version") else ""),
    ]
    return escape(", ".join(parts))


def rows_table() -> str:
    """Every row that was estimated, with its set-up as a link into the calculator."""
    names = ("Row", "Model", "Set-up", "Compared", "Reading", "Estimate", "Error", "Verdict")
    is_number = (False, False, False, False, True, True, True, False)
    ids = {entry.hugging_face.lower(): entry.id for entry in load_catalog().models.values()}
    right = ' style="text-align: right;"'
    head = "".join(
        f'<th scope="col"{right if number else ""}>{name}</th>'
        for name, number in zip(names, is_number, strict=True)
    )
    lines = [
        '<div class="tf-wide" tabindex="0" role="region" aria-label="All rows">',
        "<table data-search-exclude>",
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
    ]
    for row in scores()[0]:
        if row.request is None:
            continue
        known = ids.get(row.model.lower())
        fragment = calculator_fragment({**row.request, "model": known or row.request["model"]})
        set_up = _set_up(row.request)
        if fragment is not None:
            set_up = f'<a href="../calculator/#{escape(fragment)}">{set_up}</a>'
        predicted = "" if row.predicted_bytes is None else f"{row.predicted_bytes / GB:.2f}"
        if row.is_out_of_memory:
            measured, error = "none: OOM", ""
        elif row.measured_bytes is None:
            measured, error = "none: ran", ""
        else:
            measured, error = f"{row.measured_bytes / GB:.2f}", f"{row.error:+.1%}"
        doubtful = " (doubtful)" if row.is_doubtful else ""
        lines.append(
            f'<tr id="{row.id}"><td>{row.id}{doubtful}</td>'
            f"<td>{escape(row.model.rpartition('/')[2])}</td><td>{set_up}</td>"
            f"<td>{METRIC_NAMES[row.compared]}</td><td{right}>{measured}</td>"
            f"<td{right}>{predicted}</td><td{right}>{error}</td><td>{_verdict(row)}</td></tr>"
        )
    lines += ["</tbody>", "</table>", "</div>"]
    return "\n".join(lines)


MACROS = (
    bars_table,
    accuracy_plot,
    error_plot,
    outliers_table,
    sources_table,
    calculators_plot,
    calculators_table,
    calculators_options,
    constants_table,
    speed_constants_table,
    skipped_table,
    rows_table,
)
