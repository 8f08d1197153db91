"""No two entries of a kind share a name (id, alias, shown name), nor two states of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from generator.core.optimizer import Optimizer
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def _names(document: Document) -> list[tuple[str, object]]:
    """Places and names of one file."""
    aliases = document.data.get("aliases")
    listed = aliases if isinstance(aliases, list) else []
    named = [(f"aliases[{index}]", name) for index, name in enumerate(listed)]
    return [("id", document.data.get("id")), *named]


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports every name that another file of the same kind has taken.

    A name belongs to the file that is called so, and else to the first that has it.
    """
    taken = {
        (document.kind.name, str(document.data.get("id"))): document.path
        for document in documents
        if Path(document.path).stem == document.data.get("id")
    }
    for document in documents:
        for key, name in _names(document):
            if not isinstance(name, str):
                continue
            first = taken.setdefault((document.kind.name, name), document.path)
            if first != document.path or (key != "id" and name == document.data.get("id")):
                yield Problem(
                    path=document.path,
                    key=key,
                    message=f'"{name}" is taken by {first}; choose another name',
                    code="duplicate-id",
                )
    yield from _check_shown_names(documents)
    for document in documents:
        if isinstance(document.record, Optimizer):
            yield from _check_states(document.path, document.record)


def _check_shown_names(documents: Sequence[Document]) -> Iterator[Problem]:
    """Two entries that tables would call the same, whatever the case; the later one is named."""
    shown: dict[tuple[str, str], str] = {}
    for document in documents:
        name = document.data.get("name")
        if not isinstance(name, str) or not name.strip() or name == "FILL":
            continue
        first = shown.setdefault((document.kind.name, name.casefold()), document.path)
        if first != document.path:
            yield Problem(
                path=document.path,
                key="name",
                message=f'{first} is called "{name}" too; write what tells them apart',
                code="duplicate-id",
            )


def _check_states(path: str, optimizer: Optimizer) -> Iterator[Problem]:
    """A parameter keeps one tensor under one key; a second of that name would count twice."""
    for index, state in enumerate(optimizer.states):
        for earlier in optimizer.states[:index]:
            same_parameters = "all" in {state.only, earlier.only} or state.only == earlier.only
            if state.name == earlier.name and same_parameters:
                yield Problem(
                    path=path,
                    key=f"states[{index}].name",
                    message=f'"{state.name}" is here twice and would count twice; delete one, or '
                    "write which parameters have it (only)",
                    code="duplicate-id",
                )
                break
