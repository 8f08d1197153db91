"""A maker is spelt alike in every file, so that tables and filters have it once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

KEYS = ("vendor", "developer")


def _letters(name: str) -> str:
    """What two spellings of one maker share: neither case nor blanks nor marks."""
    return "".join(filter(str.isalnum, name.casefold()))


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports makers that most files spell otherwise; of two the first file's holds."""
    named = [
        (document, key, value)
        for document in documents
        for key in KEYS
        if isinstance(value := document.data.get(key), str)
    ]
    spellings = Counter(value for _, _, value in named)
    usual: dict[str, str] = {}
    for value, count in spellings.items():
        if count > spellings.get(usual.setdefault(_letters(value), value), 0):
            usual[_letters(value)] = value
    for document, key, value in named:
        if value != usual[_letters(value)]:
            yield Problem(
                path=document.path,
                key=key,
                message=f'other files spell it otherwise; did you mean "{usual[_letters(value)]}"?',
                code="out-of-range",
                got=f'"{value}"',
            )
