"""The catalog's TOML files as core records."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from generator.core.card import GPU_COUNTS_BY_FORM, GPUS_PER_NODE_BY_FORM, CardForm
from generator.core.catalog import Catalog
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


@lru_cache(maxsize=2048)
def _parse(path: Path, _changed_ns: int, _num_bytes: int) -> dict[str, Any] | Problem:
    """One file's tables. The time and size of the last change are part of the cache's key."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return Problem(path=path.name, key="-", message=f"no TOML: {error}", code="bad-toml")


def _read(path: Path, shown: str, report: Report) -> dict[str, Any] | None:
    status = path.stat()
    parsed = _parse(path, status.st_mtime_ns, status.st_size)
    if isinstance(parsed, Problem):
        report(Problem(path=shown, key=parsed.key, message=parsed.message, code=parsed.code))
        return None
    return parsed


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
    for kind in KINDS:
        for path in sorted((root / kind.folder).glob("*.toml")):
            shown = f"{root.name}/{kind.folder}/{path.name}"
            data = _read(path, shown, problems.append)
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
