"""Keys stand in the order of the record, so that files compare line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from generator.lint.cited import facts_to_cite
from generator.lint.rule import Context
from generator.load import SOURCE_KEYS, Document, tables_in
from generator.problem import Problem


def _first_out_of_order(keys: Iterable[str], order: Sequence[str]) -> tuple[str, str] | None:
    """The first key that stands after one which should follow it, and that one."""
    rank = {key: index for index, key in enumerate(order)}
    previous = ""
    for key in keys:
        if key not in rank:
            continue
        if previous and rank[key] < rank[previous]:
            return key, previous
        previous = key
    return None


def top_level_order(document: Document) -> tuple[str, ...]:
    """Order of the keys at the top of a file."""
    kind = document.kind
    own = (kind.facts,) if kind.facts else _toml_order(document)
    return (*kind.identity, *own, "sources", "cite")


def _toml_order(document: Document) -> tuple[str, ...]:
    """Facts at the top of a file: plain values first, because TOML puts tables after them."""
    names = document.kind.fact_keys
    is_table = {
        name: isinstance(value, dict) or (isinstance(value, list) and value != [] and
        all(isinstance(item, dict) for item in value))
        for name, value in document.data.items()
    }  # fmt: skip
    return tuple(sorted(names, key=lambda name: is_table.get(name, False)))


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports, per table, the first key out of order."""
    for document in documents:
        tables: list[tuple[str, Mapping[str, object], Sequence[str]]] = [
            ("", document.data, top_level_order(document))
        ]
        if document.kind.facts:
            tables.append((document.kind.facts, document.facts, document.kind.fact_keys))
        sources = tables_in(document.data.get("sources"))
        tables += [(f"sources.{name}", table, SOURCE_KEYS) for name, table in sources.items()]
        cited = document.data.get("cite", {})
        if isinstance(cited, dict):
            tables.append(("cite", cited, facts_to_cite(document)))
        for place, table, order in tables:
            found = _first_out_of_order(table, order)
            if found:
                key, previous = found
                yield Problem(
                    path=document.path,
                    key=f"{place}.{key}" if place else key,
                    message=f"out of order; move it above `{previous}`",
                    code="key-order",
                )
