"""Measured rows are whole: their cells, their names and their readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from generator.accuracy.vocabulary import unknown_in_memory_row, unknown_in_throughput_row
from generator.core.catalog import Catalog
from generator.core.nearest import did_you_mean
from generator.kinds import KINDS
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
from generator.measurements.gpu_names import find_card
from generator.measurements.models import find_id, read_models
from generator.measurements.reader import Reading, Row, read_table
from generator.problem import Problem, ProblemCode

FOLDER = MEASUREMENTS_DIR.name
READINGS = ("gib_per_gpu", "gb_per_gpu_unit_unstated", "gib2")
CARD_TOLERANCE = 1.06
"""A card of "80 GB" holds 80 GiB at most, and sources that print GB may mean 10^9 bytes."""
LARGEST_DEVICE_GIB = 600
MODELS_OF = {MEMORY.name: "memory-models.json", THROUGHPUT.name: "throughput-models.json"}
LONGEST_NAME = 200
"""Beyond it no line is proposed: it would be cut, and match nothing."""
OPEN_NAMES = ("model", "optimizer", "gpu", "method", "strategy", "base_dtype", "compute_dtype")
"""Columns whose names never end: what is nearly another name may be a new one all the same."""

Unknown = Callable[
    [Mapping[str, str], Catalog, Mapping[str, Mapping[str, Any]]], Iterable[tuple[str, str]]
]


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
    unknown: tuple[tuple[Table, Unknown], ...] = (
        (MEMORY, unknown_in_memory_row),
        (THROUGHPUT, unknown_in_throughput_row),
    )
    for table, find in unknown:
        shown = _shown(context, table.name)
        models: dict[str, dict[str, Any]] = {}
        file = MODELS_OF[table.name]
        if (folder / file).exists():
            found = read_models(folder / file, _shown(context, file))
            yield from found.problems
            models = found.entries
            yield from _unknown_ids(models, catalog, _shown(context, file))
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
            for column, message in () if row.damage else contradictions(row.cells):
                yield _problem(shown, row, column, message, "out-of-range")
    for row in _rows(readings, MEMORY):
        yield from _reading_problems(row, catalog, _shown(context, MEMORY.name))
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


def _reading_problems(row: Row, catalog: Catalog, shown: str) -> Iterator[Problem]:
    """A reading is there unless the run had none, and the card could hold it."""
    cells = row.cells
    if row.damage:
        return
    is_out = cells["oom"] == "true"
    has_reading = cells["gib_per_gpu"] or cells["gb_per_gpu_unit_unstated"]
    if not has_reading and not is_out and cells["metric"] and "no reading" not in cells["metric"]:
        message = "empty, and the run did not go out of memory; add the reading"
        yield _problem(shown, row, "gib_per_gpu", message, "missing-field")
    if cells["gib_per_gpu"] and cells["gb_per_gpu_unit_unstated"]:
        message = "gib_per_gpu has the reading too; keep the one whose unit is right"
        yield _problem(shown, row, "gb_per_gpu_unit_unstated", message, "bad-reference")
    found = find_card(cells["gpu"], catalog.cards)
    size = found.memory_gb or (
        catalog.cards[found.id].memory_marketed_gb if found.id else LARGEST_DEVICE_GIB
    )
    for column in READINGS:
        if cells[column] and float(cells[column]) > size * CARD_TOLERANCE:
            message = f"more than {size} GB of memory can hold; the column is per GPU and in GiB"
            yield _problem(shown, row, column, message, "implausible-value")


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
