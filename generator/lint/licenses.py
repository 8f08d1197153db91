"""A licence is spelt alike in every file; one that no other file has is free text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from generator.core.nearest import is_misspelling
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

USUAL = ("apache-2.0", "mit")
"""Ids that hold in a catalog of any size; those of its own files come to them."""


def _plain(name: str) -> str:
    """What two spellings of one licence share: neither case nor marks nor the word itself."""
    return re.sub(r"[^a-z0-9+]|licen[cs]e", "", name.casefold())


def _shortened(known: str) -> set[str]:
    """A known id in full, without the zero of its version, and without the version."""
    return {_plain(known), _plain(known.removesuffix(".0")), _plain(re.sub(r"-[\d.]+$", "", known))}


def _is_meant(name: str, known: str) -> bool:
    """Whether `name` can only be meant for `known`: `llama3.4` is another version, no slip."""
    has_same_digits = re.findall(r"\d", name) == re.findall(r"\d", known)
    return _plain(name) in _shortened(known) or (has_same_digits and is_misspelling(name, known))


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports licences that more files spell otherwise."""
    named = [
        (document, value)
        for document in documents
        if isinstance(value := document.data.get("license"), str)
    ]
    counts = Counter(value for _, value in named)
    for document, value in named:
        meant = [
            known
            for known in sorted({*USUAL, *counts})
            if value not in USUAL
            and (known in USUAL or counts[known] > counts[value])
            and _is_meant(value, known)
        ]
        if meant:
            yield Problem(
                path=document.path,
                key="license",
                message=f'usually spelt otherwise; did you mean "{meant[0]}"?',
                code="out-of-range",
                got=f'"{value}"',
            )
