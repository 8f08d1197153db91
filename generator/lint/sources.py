"""Sources are complete: who says it, where, since when, and when it was read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence

from generator.core.nearest import did_you_mean
from generator.decode import show
from generator.lint.rule import Context
from generator.load import SOURCE_KEYS, Document
from generator.problem import Problem, ProblemCode

REQUIRED = ("title", "producer", "url", "published", "accessed", "kind")
TEXTS = ("title", "producer", "url", "kind", "note")
KINDS = ("vendor", "paper", "config-file", "code", "measurement", "third-party")
PUBLISHED = re.compile(r"unknown|\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
URL = re.compile(r"https?://[^\s/]+\S*")


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports incomplete sources, unknown kinds, odd addresses and dates from the future."""
    for document in documents:
        tables = document.data.get("sources", {})
        if not isinstance(tables, dict):
            yield _problem(document, "sources", "wrong value", "wrong-type", "a table", str(tables))
            continue
        for name, table in tables.items():
            key = f"sources.{name}"
            if not isinstance(table, dict):
                yield _problem(document, key, "wrong value", "wrong-type", "a table", str(table))
                continue
            yield from _check_source(document, key, table, context.today)


def _check_source(
    document: Document, key: str, table: dict[str, object], today: datetime.date
) -> Iterator[Problem]:
    for name in REQUIRED:
        if not table.get(name):
            message = "missing; add it"
            if name == "published":
                message = 'missing; add it, or "unknown" where no date is printed'
            yield _problem(document, f"{key}.{name}", message, "incomplete-source")
    for name in TEXTS:
        value = table.get(name)
        if value and not isinstance(value, str):
            yield _problem(
                document, f"{key}.{name}", "wrong value", "wrong-type", "a text", show(value)
            )
    for name in table:
        if name not in SOURCE_KEYS:
            hint = did_you_mean(name, SOURCE_KEYS)
            yield _problem(document, f"{key}.{name}", f"unknown key{hint}", "unknown-field")
    kind, url = table.get("kind"), table.get("url")
    if isinstance(kind, str) and kind and kind not in KINDS:
        expected = "one of " + ", ".join(f'"{item}"' for item in KINDS)
        message = "unknown kind; vendor is who made the thing, in a data sheet or a model card"
        yield _problem(document, f"{key}.kind", message, "out-of-range", expected, f'"{kind}"')
    if isinstance(url, str) and url and not URL.fullmatch(url):
        yield _problem(
            document, f"{key}.url", "not an address", "wrong-type", "https://...", f'"{url}"'
        )
    yield from _check_dates(document, key, table, today)


def _check_dates(
    document: Document, key: str, table: dict[str, object], today: datetime.date
) -> Iterator[Problem]:
    accessed, published = table.get("accessed"), table.get("published")
    if accessed and not _is_date(accessed):
        yield _problem(
            document, f"{key}.accessed", "not a date", "wrong-type", "2026-11-30", f'"{accessed}"'
        )
    elif isinstance(accessed, datetime.date) and accessed > today:
        message = "nobody has read it yet"
        expected = f"{today} or earlier"
        yield _problem(document, f"{key}.accessed", message, "future-date", expected, str(accessed))
    if not published:
        return
    if not PUBLISHED.fullmatch(str(published)):
        expected = 'a date, a month "2026-11", a year or "unknown"'
        yield _problem(
            document, f"{key}.published", "not a date", "wrong-type", expected, f'"{published}"'
        )
    elif _is_date(accessed) and str(published) != "unknown" and str(published) > str(accessed):
        message = "published after it was read"
        yield _problem(
            document, f"{key}.published", message, "future-date", f"{accessed} or earlier",
            str(published),
        )  # fmt: skip


def _is_date(value: object) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _problem(
    document: Document,
    key: str,
    message: str,
    code: ProblemCode,
    expected: str = "",
    got: str = "",
) -> Problem:
    return Problem(
        path=document.path, key=key, message=message, code=code, expected=expected, got=got
    )
