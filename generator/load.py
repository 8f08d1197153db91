"""The catalog's TOML files as core records."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from generator.core.card import GPU_COUNTS_BY_FORM, GPUS_PER_NODE_BY_FORM, CardForm
from generator.core.catalog import Catalog
from generator.core.ladder import RUNGS
from generator.core.run import Strategy
from generator.decode import (
    INVALID,
    Report,
    decode_record,
    report_unknown_keys,
    show,
    wrong_value,
)
from generator.kinds import KINDS, Kind, Record
from generator.problem import CatalogProblems, Problem

CATALOG_DIR = Path(__file__).resolve().parent.parent / "catalog"
ID_PATTERN = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
SOURCE_KEYS = ("title", "producer", "url", "published", "accessed", "kind", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact comes from. Dates are ISO text; `published` may be `unknown` or only a year."""

    key: str
    title: str
    producer: str
    url: str
    published: str
    accessed: str
    kind: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """What a fact rests on, and what was done to the printed figure."""

    fact: str
    sources: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One catalog file: the parsed text and, where it is sound, its record."""

    kind: Kind
    path: str
    """Relative to the folder that holds `catalog/`, with forward slashes."""
    stem: str
    data: dict[str, Any] = field(repr=False)
    record: Record | None = field(repr=False)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts as they stand in the file."""
        if self.kind.facts:
            table = self.data.get(self.kind.facts, {})
            return table if isinstance(table, dict) else {}
        skipped = {*self.kind.identity, "sources", "cite"}
        return {name: value for name, value in self.data.items() if name not in skipped}

    @property
    def sources(self) -> dict[str, Source]:
        """Sources by key; what is missing in the file is empty here."""
        found = {}
        for key, table in tables_in(self.data.get("sources")).items():
            values = {name: str(table.get(name, "")) for name in SOURCE_KEYS}
            found[key] = Source(key=key, **values)
        return found

    @property
    def citations(self) -> dict[str, Citation]:
        """Citations by fact: a source's key, a list of them, or a table of `source` and `note`."""
        found = {}
        cite = self.data.get("cite")
        for fact, value in (cite if isinstance(cite, dict) else {}).items():
            note = str(value.get("note", "")) if isinstance(value, dict) else ""
            given = value.get("source", []) if isinstance(value, dict) else value
            keys = given if isinstance(given, list) else [given]
            found[fact] = Citation(fact=fact, sources=tuple(map(str, keys)), note=note)
        return found


def tables_in(value: object) -> dict[str, dict[str, Any]]:
    """The tables of a table; nothing else in it, and nothing where it is none."""
    if not isinstance(value, dict):
        return {}
    return {key: table for key, table in value.items() if isinstance(table, dict)}


DEEPEST = 32
"""Tables and lists in one another; a config has four."""
LARGEST_INTEGER = 2**63 - 1
"""What every reader of TOML must take."""
LONGEST_TEXT = 4000
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that no editor shows."""


def _faults(data: dict[str, Any], path: str) -> list[Problem]:
    """Values that no fact has, whatever its key: they would end in odd errors further on."""
    found: list[Problem] = []
    waiting: list[tuple[str, object, int]] = [("", data, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        told = ""
        if isinstance(value, dict | list):
            if depth >= DEEPEST:
                message = f"nested more than {DEEPEST} deep; flatten it"
                return [Problem(path=path, key=key[:60], message=message, code="bad-toml")]
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for name, own in items:
                place = f"{key}.{name}" if isinstance(value, dict) else f"{key}[{name}]"
                waiting.append((place.removeprefix("."), own, depth + 1))
        elif isinstance(value, bool):
            continue
        elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            told = "beyond 64 bits; check the number and its unit"
        elif isinstance(value, float) and not math.isfinite(value):
            told = "not a finite number; leave out what is unknown"
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            told = f"longer than {LONGEST_TEXT:,} characters; shorten it"
        elif isinstance(value, str) and UNSEEN.search(value):
            told = "holds a character that cannot be seen; delete it"
        if told:
            found.append(
                Problem(path=path, key=key, message=told, code="out-of-range", got=show(value))
            )
    return found


@lru_cache(maxsize=2048)
def _parse(path: Path, _changed_ns: int, _num_bytes: int) -> dict[str, Any] | tuple[Problem, ...]:
    """One file's tables. The time and size of the last change are part of the cache's key."""
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except RecursionError:
        message = "no TOML: nested too deeply; flatten it"
        return (Problem(path=path.name, key="-", message=message, code="bad-toml"),)
    except ValueError as error:
        # Also of UTF-8, and of numbers with thousands of digits.
        return (Problem(path=path.name, key="-", message=f"no TOML: {error}", code="bad-toml"),)
    return tuple(_faults(data, path.name)) or data


def read_toml(path: Path, shown: str, report: Report) -> dict[str, Any] | None:
    """One file's tables; None, after a report of each fault, where it has none to use.

    Args:
        path: The file.
        shown: How to call it in messages.
        report: Takes each problem.
    """
    try:
        status = path.stat()
        parsed = _parse(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        message = f"cannot be read: {error.strerror}; put a text file there"
        report(Problem(path=shown, key="-", message=message, code="bad-toml"))
        return None
    if isinstance(parsed, tuple):
        for problem in parsed:
            report(replace(problem, path=shown))
        return None
    return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixWorkload:
    """One entry of `[[workloads]]`."""

    id: str
    sequence_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixFile:
    """What `matrix.toml` lists: the published matrix is the product of these."""

    methods: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    gpu_counts: tuple[int, ...]
    default_optimizer: str
    optimizers: tuple[str, ...]
    workloads: tuple[MatrixWorkload, ...]


def read_matrix(path: Path, shown: str, report: Report) -> MatrixFile | None:
    """The matrix file; None, after a report of each fault, where it is not sound.

    Args:
        path: `catalog/matrix.toml`.
        shown: How to call it in messages.
        report: Takes each problem.
    """
    data = read_toml(path, shown, report)
    if data is None:
        return None
    record = decode_record(MatrixFile, data, path=shown, key="", report=report)
    if record is INVALID:
        return None
    found: MatrixFile = record
    faults = [
        (name, "empty; list at least one")
        for name in ("methods", "strategies", "gpu_counts", "optimizers", "workloads")
        if not getattr(found, name)
    ]
    faults += [
        (f"gpu_counts[{index}]", f"not one of {', '.join(map(str, RUNGS))}")
        for index, count in enumerate(found.gpu_counts)
        if count not in RUNGS
    ]
    ids = [workload.id for workload in found.workloads]
    faults += [
        (f"workloads[{index}].id", "not a valid id, or taken by another workload")
        for index, own in enumerate(ids)
        if not ID_PATTERN.fullmatch(own) or own in ids[:index]
    ]
    faults += [
        (f"workloads[{index}].sequence_length", "a length is 1 at least")
        for index, workload in enumerate(found.workloads)
        if workload.sequence_length < 1
    ]
    for key, message in faults:
        report(Problem(path=shown, key=key, message=message, code="out-of-range"))
    return None if faults else found


def _fill_in_card(fields: dict[str, Any]) -> None:
    """GPU counts and GPUs per node follow from the form unless the file says otherwise."""
    form = fields.get("form")
    # An unknown form is reported as such; what follows from it is not missing.
    known: CardForm = cast("CardForm", form) if form in get_args(CardForm) else "unified"
    fields.setdefault("allowed_gpu_counts", list(GPU_COUNTS_BY_FORM[known]))
    fields.setdefault("gpus_per_node", GPUS_PER_NODE_BY_FORM[known])


def _record(kind: Kind, data: Mapping[str, Any], path: str, report: Report) -> Record | None:
    """The record of one file, each mistake reported."""
    top = (*kind.identity, "sources", "cite")
    if kind.facts:
        report_unknown_keys(data, (*top, kind.facts), path=path, key="", report=report)
        table = data.get(kind.facts, {})
        if not isinstance(table, dict):
            report(wrong_value(path, kind.facts, expected="a table", got=show(table)))
            return None
        known = tuple(name for name in kind.fact_keys if name not in kind.identity)
        report_unknown_keys(table, known, path=path, key=kind.facts, report=report)
        given = {name: data[name] for name in kind.identity if name in data}
        given |= {name: value for name, value in table.items() if name in known}
    else:
        given = {name: value for name, value in data.items() if name not in ("sources", "cite")}
    if kind.name == "card":
        _fill_in_card(given)
    places = {name: f"{kind.facts}.{name}" for name in kind.fact_keys} if kind.facts else {}
    record = decode_record(kind.record, given, path=path, key="", report=report, places=places)
    return None if record is INVALID else record


def read_documents(root: Path = CATALOG_DIR) -> tuple[list[Document], list[Problem]]:
    """Every catalog file in order, and every problem that keeps one from becoming a record.

    Args:
        root: The `catalog` folder.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    if not root.is_dir():
        message = "there is no such folder; name the one that holds models/ and cards/"
        problems.append(Problem(path=str(root), key="-", message=message, code="bad-toml"))
    for kind in KINDS:
        for path in sorted((root / kind.folder).glob("*.toml")):
            shown = f"{root.name}/{kind.folder}/{path.name}"
            data = read_toml(path, shown, problems.append)
            if data is None:
                continue
            record = _record(kind, data, shown, problems.append)
            documents.append(
                Document(kind=kind, path=shown, stem=path.stem, data=data, record=record)
            )
    return documents, problems


def _by_id(documents: Iterable[Document], kind: str) -> dict[str, Any]:
    records = [item.record for item in documents if item.kind.name == kind and item.record]
    return {record.id: record for record in records}


def catalog_of(documents: Sequence[Document]) -> Catalog:
    """The catalog of the files that are sound.

    Args:
        documents: From `read_documents`.
    """
    return Catalog(
        models=_by_id(documents, "model"),
        cards=_by_id(documents, "card"),
        optimizers=_by_id(documents, "optimizer"),
        methods=_by_id(documents, "method"),
        stacks=_by_id(documents, "stack"),
    )


def load_catalog(root: Path = CATALOG_DIR) -> Catalog:
    """Every record of the catalog.

    Args:
        root: The `catalog` folder.

    Raises:
        CatalogProblems: one or more files cannot become records; all of them are named.
    """
    documents, problems = read_documents(root)
    if problems:
        raise CatalogProblems(problems)
    return catalog_of(documents)
