"""The one reader of the measurement files: rows with their lines, and every fault at its place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.core.nearest import did_you_mean
from generator.measurements.columns import Column, Table
from generator.problem import CatalogProblems, Problem, ProblemCode

NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?", re.ASCII)
NUMBER_WITH_MORE = re.compile(r"[+-]?[\d.,_ ]*\d\s*(%|[A-Za-z/]+)", re.ASCII)
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its text by column, and what is wrong with it."""

    line: int
    cells: dict[str, str]
    problems: tuple[Problem, ...] = ()
    damage: str = ""
    """Why its numbers cannot be used, in one line; empty where they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file's rows, and every fault of the file and its rows."""

    rows: tuple[Row, ...] = ()
    file_problems: tuple[Problem, ...] = ()
    """Of its form and its header."""

    @property
    def problems(self) -> list[Problem]:
        """All of them."""
        return [*self.file_problems, *(fault for row in self.rows for fault in row.problems)]

    def sound(self) -> list[dict[str, str]]:
        """The rows of a file in which nothing is wrong.

        Raises:
            CatalogProblems: something is; all of it is named.
        """
        if self.problems:
            raise CatalogProblems(self.problems)
        return [row.cells for row in self.rows]


class _Report:
    """Makes the problems of one file."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __call__(
        self,
        line: int,
        key: str,
        message: str,
        code: ProblemCode,
        *,
        expected: str = "",
        got: str | None = None,
    ) -> Problem:
        shown = "" if got is None else f'"{got[:LONGEST_SHOWN]}"'
        return Problem(
            path=self.shown,
            line=line,
            key=key,
            message=message,
            code=code,
            expected=expected,
            got=shown,
        )


def read_table(path: Path, table: Table, shown: str = "") -> Reading:
    """Every row of a file and everything that is wrong with it.

    Args:
        path: A CSV file in UTF-8 with a header line.
        table: What its columns take.
        shown: How to call the file in messages; its name by default.
    """
    report = _Report(shown or path.name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        return Reading(file_problems=(report(0, "-", reason, "bad-csv"),))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        reason = f"no UTF-8 (byte 0x{error.object[error.start]:02x}); save the file as UTF-8"
        return Reading(file_problems=(report(line, "-", reason, "bad-csv"),))
    records: list[tuple[int, list[str]]] = []
    broken: list[Problem] = []
    try:
        records.extend(_records(text))
    except _BrokenQuotesError as error:
        reason = f"no CSV: {error}; close the quotes, and double those inside a cell"
        broken.append(report(error.line, "-", reason, "bad-csv"))
        records.extend(error.before)
    if not records:
        if not broken:
            remedy = f"empty; the first line names the columns {', '.join(table.names)}"
            broken.append(report(1, "-", remedy, "bad-csv"))
        return Reading(file_problems=tuple(broken))
    (header_line, raw_header), *body = records
    header = [name.strip() for name in raw_header]
    broken += _header_problems(header, header_line, table, report)
    columns = {column.name: column for column in table.columns}
    first_lines: dict[str, int] = {}
    rows = tuple(
        _row(line, values, header, columns, report, table.key, first_lines) for line, values in body
    )
    return Reading(rows=rows, file_problems=tuple(broken))


def usable_rows(path: Path, table: Table) -> tuple[Row, ...]:
    """The rows of a file whose form is sound; each says itself whether its numbers are.

    Args:
        path: A CSV file in UTF-8 with a header line; it may have columns of its own.
        table: What its columns take.

    Raises:
        CatalogProblems: it is no CSV, or lacks a column; every fault of the form is named.
    """
    reading = read_table(path, table, str(path))
    faults = [
        fault
        for fault in reading.file_problems
        if fault.code != "unknown-field"
        and not (fault.code == "missing-field" and fault.key in table.may_lack)
    ]
    if faults:
        raise CatalogProblems(faults)
    return reading.rows


class _BrokenQuotesError(Exception):
    """The file ends, or goes on, where a quoted cell should not."""

    def __init__(self, reason: str, line: int, before: list[tuple[int, list[str]]]) -> None:
        super().__init__(reason)
        self.line = line
        self.before = before


def _records(text: str) -> list[tuple[int, list[str]]]:
    """The records with the line on which each begins; blank lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[tuple[int, list[str]]] = []
    line = 1
    while True:
        try:
            values = next(reader)
        except StopIteration:
            return found
        except csv.Error as error:
            raise _BrokenQuotesError(str(error), line, found) from None
        if values:
            found.append((line, values))
        line = reader.line_num + 1


def _header_problems(
    header: Sequence[str], line: int, table: Table, report: _Report
) -> Iterator[Problem]:
    for name in table.names:
        if name not in header:
            yield report(line, name, "missing column; add it to the header", "missing-field")
    for number, name in enumerate(header):
        if name not in table.names:
            hint = did_you_mean(name[:LONGEST_SHOWN], table.names) or "; nobody reads it"
            shown = name[:LONGEST_SHOWN] or f"column {number + 1}"
            yield report(line, shown, f"unknown column{hint}", "unknown-field")
        elif name in header[:number]:
            yield report(line, name, "the header has it twice; delete one", "duplicate-id")


def _row(
    line: int,
    values: list[str],
    header: list[str],
    columns: dict[str, Column],
    report: _Report,
    key: str,
    first_lines: dict[str, int],
) -> Row:
    cells = {name: value.strip() for name, value in zip(header, values, strict=False)}
    if len(values) != len(header):
        message = (
            f"{len(values)} cells under {len(header)} columns; quote cells that hold commas, and "
            "leave unknown ones empty"
        )
        damage = report(line, "-", message, "bad-csv")
        return Row(
            line=line,
            cells={name: cells.get(name, "") for name in columns},
            problems=(damage,),
            damage=message,
        )
    problems: list[Problem] = []
    damage_words: list[str] = []
    for name, value in cells.items():
        column = columns.get(name)
        found = None if column is None else _cell_problem(line, value, column, report)
        if found is not None:
            problems.append(found)
            if column is not None and column.kind != "text" and value:
                damage_words.append(f"{name}: {found.message} (got {found.got})")
    name = cells.get(key, "") if key else ""
    if name:
        first = first_lines.setdefault(name, line)
        if first != line:
            message = f"line {first} has it too; each row has an id of its own"
            problems.append(report(line, key, message, "duplicate-id", got=name))
    return Row(
        line=line,
        cells={**dict.fromkeys(columns, ""), **cells},
        problems=tuple(problems),
        damage="; ".join(damage_words),
    )


def _cell_problem(line: int, value: str, column: Column, report: _Report) -> Problem | None:
    """What is wrong with one cell, if anything."""
    if not value:
        if not column.is_needed:
            return None
        return report(
            line, column.name, "empty; fill it in", "missing-field", expected=column.expected
        )
    if column.choices and value not in column.choices:
        message = f"unknown value{did_you_mean(value[:LONGEST_SHOWN], column.choices)}"
        return report(
            line, column.name, message, "out-of-range", expected=column.expected, got=value
        )
    if column.is_one_word and re.search(r"\s", value):
        message = "has a blank in it; join its parts with a dash"
        return report(line, column.name, message, "bad-id", got=value)
    if column.kind == "text":
        return None
    number = float(value) if NUMBER.fullmatch(value) else None
    if number is None:
        unit = f" of {column.unit}" if column.unit else ""
        message = (
            f"not a number; write the bare number{unit} without a unit"
            if NUMBER_WITH_MORE.fullmatch(value)
            else f"not a number; write the bare number{unit}, or leave it empty"
        )
        return report(line, column.name, message, "wrong-type", expected=column.expected, got=value)
    if not column.lowest <= number <= column.highest:
        message = "outside what is possible; check number and unit"
        return report(
            line, column.name, message, "out-of-range", expected=column.expected, got=value
        )
    if column.kind == "count" and not number.is_integer():
        message = "not a whole number"
        return report(line, column.name, message, "wrong-type", expected=column.expected, got=value)
    return None
