"""A file is called like the id in it, and ids keep to one alphabet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from generator.kinds import KINDS
from generator.lint.rule import Context
from generator.load import ID_PATTERN, Document
from generator.problem import Problem

# Aliases are also the names that training tools use, hence the underscore.
ALIAS_PATTERN = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports files that nothing reads, ids that differ from the file's name or from the pattern,
    and odd aliases.
    """
    yield from _unread(context)
    for document in documents:
        own = document.data.get("id")
        if not isinstance(own, str):
            continue
        if own != document.stem:
            yield Problem(
                path=document.path,
                key="id",
                message="the file must be called like its id",
                code="bad-id",
                expected=f'"{document.stem}"',
                got=f'"{own}"',
            )
        if not ID_PATTERN.fullmatch(own):
            yield _bad(document, "id", own, "parts of a-z and 0-9 joined by single - or .")
        aliases = document.data.get("aliases", [])
        for index, alias in enumerate(aliases if isinstance(aliases, list) else []):
            if isinstance(alias, str) and not ALIAS_PATTERN.fullmatch(alias):
                expected = "parts of a-z and 0-9 joined by single -, . or _"
                yield _bad(document, f"aliases[{index}]", alias, expected)
        size = document.facts.get("memory_marketed_gb")
        if document.kind.name == "card" and size and not own.endswith(f"-{size}gb"):
            yield _bad(document, "id", own, f'an id that ends with the size, "-{size}gb"')


def _unread(context: Context) -> Iterator[Problem]:
    """Files beside the records whose name does not end in `.toml`."""
    for kind in KINDS:
        folder = context.root / kind.folder
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.suffix != ".toml" and not path.name.startswith("."):
                yield Problem(
                    path=f"{context.root.name}/{kind.folder}/{path.name}",
                    key="-",
                    message="nothing reads it; a record is a file that ends in .toml",
                    code="bad-id",
                )


def _bad(document: Document, key: str, name: str, expected: str) -> Problem:
    return Problem(
        path=document.path,
        key=key,
        message="not a valid id",
        code="bad-id",
        expected=expected,
        got=f'"{name}"',
    )
