"""Measured rows are whole: their cells, their names and their readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from generator.accuracy.vocabulary import unknown_in_memory_row, unknown_in_throughput_row
from generator.core.catalog import Catalog
from generator.core.nearest import did_you_mean
from generator.kinds import KINDS
from generator.lint.measured_figures import odd_memory_figures, odd_throughput_figures
from generator.lint.rule import Context
from generator.load import Document, catalog_of
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import (
    CAUSES,
    LEFT_OUT,
    MEMORY,
    OTHER_CALCULATORS,
    SUSPECTS,
    THROUGHPUT,
    Table,
)
from generator.measurements.contradictions import contradictions
from generator.measurements.models import find_id, read_models
from generator.measurements.reader import Reading, Row, read_table
from generator.problem import Problem, ProblemCode

FOLDER = MEASUREMENTS_DIR.name
MODELS_OF = {MEMORY.name: "memory-models.json", THROUGHPUT.name: "throughput-models.json"}
LONGEST_NAME = 200
"""Beyond it no line is proposed: it would be cut, and match nothing."""
OPEN_NAMES = ("model", "optimizer", "gpu", "method", "strategy", "base_dtype", "compute_dtype")
"""Columns whose names never end: what is nearly another name may be a new one all the same."""

Cells = Mapping[str, str]
Entries = Mapping[str, Mapping[str, Any]]
Unknown = Callable[[Cells, Catalog, Entries], Iterable[tuple[str, str]]]
Figures = Callable[[Cells, Catalog, Entries], Iterable[tuple[str, str, ProblemCode]]]


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports every fault of the measurement files that exist."""
    folder = context.root / FOLDER
    if not folder.is_dir():
        return
    catalog = catalog_of(documents)
    readings: dict[str, Reading] = {}
    for table in (MEMORY, THROUGHPUT, SUSPECTS, CAUSES, OTHER_CALCULATORS, LEFT_OUT):
        path = folder / table.name
        # A link to itself and a folder are no file, and yet something is there.
        if path.exists() or path.is_symlink():
            readings[table.name] = read_table(path, table, _shown(context, table.name))
            yield from readings[table.name].problems
    left_out = {(row.cells["column"], row.cells["value"]) for row in _rows(readings, LEFT_OUT)}
    used: set[tuple[str, str]] = set()
    incomplete = _incomplete_kinds(documents, context)
    measured: tuple[tuple[Table, Unknown, Figures], ...] = (
        (MEMORY, unknown_in_memory_row, odd_memory_figures),
        (THROUGHPUT, unknown_in_throughput_row, odd_throughput_figures),
    )
    for table, find, figures in measured:
        shown = _shown(context, table.name)
        models: dict[str, dict[str, Any]] = {}
        file = MODELS_OF[table.name]
        if (folder / file).exists():
            found = read_models(folder / file, _shown(context, file))
            yield from found.problems
            models = found.entries
            yield from _unknown_ids(models, catalog, _shown(context, file))
        # Without one of its columns every row would be told to have an empty cell.
        is_whole = table.name in readings and not readings[table.name].file_problems
        for row in _rows(readings, table):
            for column, message in find(row.cells, catalog, models):
                place = (column, row.cells[column])
                if KIND_OF_COLUMN.get(column) in incomplete:
                    # The name may be that of a file that is itself damaged.
                    continue
                if place in left_out:
                    used.add(place)
                    continue
                told = _with_way_out(message, column, row)
                yield _problem(shown, row, column, told, "bad-reference")
            if row.damage or not is_whole:
                continue
            for column, message in contradictions(row.cells):
                yield _problem(shown, row, column, message, "out-of-range")
            for column, message, code in figures(row.cells, catalog, models):
                yield _problem(shown, row, column, message, code)
        yield from _repeated(_rows(readings, table), shown)
    for row in _rows(readings, LEFT_OUT):
        place = (row.cells["column"], row.cells["value"])
        if place not in used and not row.problems and not incomplete:
            message = "no row uses it, or the estimate knows it; delete the line"
            yield _problem(_shown(context, LEFT_OUT.name), row, "value", message, "bad-reference")
    yield from _check_ids(readings, context)


def _with_way_out(message: str, column: str, row: Row) -> str:
    """What to do where the word is right, unless it is plainly a slip."""
    if message.endswith("?") and column not in OPEN_NAMES:
        return message
    end = "" if message.endswith(("?", ".")) else "."
    value = row.cells[column]
    if len(value) > LONGEST_NAME:
        return message
    value = f'"{value}"' if "," in value else value
    line = f"{column},{value},REASON"
    return f"{message}{end} If it is right as it is, add the line {line} to left-out.csv"


KIND_OF_COLUMN: Mapping[str, str] = {"model": "model", "gpu": "card", "optimizer": "optimizer"}


def _incomplete_kinds(documents: Sequence[Document], context: Context) -> set[str]:
    """Kinds of catalog entries of which a file is no record."""
    found: set[str] = set()
    for kind in KINDS:
        sound = sum(item.kind is kind and item.record is not None for item in documents)
        if sound < len(list((context.root / kind.folder).glob("*.toml"))):
            found.add(kind.name)
    return found


def _shown(context: Context, name: str) -> str:
    return f"{context.root.name}/{FOLDER}/{name}"


def _rows(readings: Mapping[str, Reading], table: Table) -> tuple[Row, ...]:
    return readings[table.name].rows if table.name in readings else ()


def _problem(
    shown: str, row: Row, column: str, message: str, code: ProblemCode, *, expected: str = ""
) -> Problem:
    return Problem(
        path=shown,
        line=row.line,
        key=column,
        message=message,
        code=code,
        expected=expected,
        got=f'"{row.cells.get(column, "")[:60]}"',
    )


def _unknown_ids(
    models: Mapping[str, Mapping[str, Any]], catalog: Catalog, shown: str
) -> Iterator[Problem]:
    known = {name for model in catalog.models.values() for name in (model.id, *model.aliases)}
    for name, entry in models.items():
        id_ = str(entry.get("catalog", ""))
        if "config" not in entry and find_id(id_, catalog) is None:
            message = f"the catalog has no such model{did_you_mean(id_, known) or '; add it'}"
            key = f"{name}.catalog"
            got = f'"{id_[:60]}"'
            yield Problem(path=shown, key=key, message=message, code="bad-reference", got=got)


def _repeated(rows: Iterable[Row], shown: str) -> Iterator[Problem]:
    """Rows that say what another one says, under another id."""
    first: dict[tuple[str, ...], Row] = {}
    for row in rows:
        said = tuple(text for name, text in row.cells.items() if name != "id")
        former = first.setdefault(said, row)
        if former is not row and any(said):
            id_, line = former.cells["id"], former.line
            message = f"the same as {id_} in line {line}; delete it, or say in notes what differs"
            yield _problem(shown, row, "id", message, "duplicate-row")


def _check_ids(readings: Mapping[str, Reading], context: Context) -> Iterator[Problem]:
    """Rows about other rows name ones that exist."""
    measured = _rows(readings, MEMORY)
    if not measured:
        return
    ids = {row.cells["id"] for row in measured}
    sources = {row.cells["source"] for row in measured}
    for table in (SUSPECTS, CAUSES, OTHER_CALCULATORS):
        shown = _shown(context, table.name)
        for row in _rows(readings, table):
            id_ = row.cells["id"]
            if id_ and id_ not in ids:
                hint = did_you_mean(id_[:60], ids) or f"; it must be one of {MEMORY.name}"
                yield _problem(shown, row, "id", f"no row has this id{hint}", "bad-reference")
            if table is CAUSES and not id_:
                source = row.cells["source"]
                if source not in sources:
                    hint = did_you_mean(source[:60], sources) or "; name an id or a source"
                    message = f"no row has this source{hint}"
                    yield _problem(shown, row, "source", message, "bad-reference")
