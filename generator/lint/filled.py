"""Drafts are finished: nothing is left to fill in, and no text is empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from generator.decode import required_fields
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import NO_FIELD, Problem

STILL_OPEN = "still to be filled in"
LEFT_OPEN = re.compile(r"\bFILL\b")
COMMENT_LEFT_OPEN = re.compile(r"""(?:^|\s)\#[^"']*\bFILL\b""")


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Every text in a file with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, own in value.items():
            yield from _texts(own, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, own in enumerate(value):
            yield from _texts(own, f"{place}[{index}]")


def _comments(path: Path) -> Iterator[int]:
    """Lines of a file with a comment that the draft has put there for whoever fills it in."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if COMMENT_LEFT_OPEN.search(line):
            yield number


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports every `FILL`, in comments too, and every text that is empty."""
    for document in documents:
        for line in _comments(context.root / document.kind.folder / f"{document.stem}.toml"):
            yield Problem(
                path=document.path,
                line=line,
                key=NO_FIELD,
                message="a comment of the draft; do what it says, then delete it",
                code="missing-field",
            )
        needed = required_fields(document.kind.record)
        for place, text in _texts(document.data, ""):
            if LEFT_OPEN.search(text):
                yield _problem(document, place, STILL_OPEN)
            elif not text.strip():
                remedy = "fill it in" if place in needed else "fill it in, or delete the line"
                yield _problem(document, place, f"empty; {remedy}")


def _problem(document: Document, key: str, message: str) -> Problem:
    return Problem(path=document.path, key=key, message=message, code="missing-field")
