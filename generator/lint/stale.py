"""Sources that nobody has looked at for long: notes for whoever has an hour, never failures."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from generator.lint.rule import Context
from generator.load import Document, tables_in
from generator.problem import Problem

STALE_AFTER = datetime.timedelta(days=548)
"""Eighteen months."""


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Notes each source that was last read more than eighteen months ago."""
    for document in documents:
        for name, table in tables_in(document.data.get("sources")).items():
            accessed = table.get("accessed")
            if not isinstance(accessed, datetime.date) or isinstance(accessed, datetime.datetime):
                continue
            if context.today - accessed > STALE_AFTER:
                yield Problem(
                    path=document.path,
                    key=f"sources.{name}.accessed",
                    message="last read more than eighteen months ago; read it again",
                    code="stale-source",
                    got=str(accessed),
                    severity="note",
                )
