"""Every fact is cited, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.nearest import did_you_mean
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def facts_to_cite(document: Document) -> list[str]:
    """Facts that need a citation, by the name that `[cite]` uses.

    A model's config is one fact, from one file; its published totals are facts of their own.
    """
    if document.kind.name != "model":
        return list(document.facts)
    expected = document.data.get("expected")
    totals = expected if isinstance(expected, dict) else {}
    return ["config"] + [f"expected.{name}" for name, own in totals.items() if isinstance(own, int)]


def _may_be_cited(document: Document, fact: str) -> bool:
    """Whether `[cite]` may name this: any key of the file, dotted for one inside a table."""
    if document.kind.facts:
        return fact in document.facts
    value: object = document.data
    for part in fact.split(".", 1):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports facts without a citation and citations without a fact."""
    for document in documents:
        cited = document.citations
        facts = facts_to_cite(document)
        for fact in facts:
            if fact not in cited:
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message="the fact has no citation; name its source in [cite]",
                    code="uncited-fact",
                )
        for fact in cited:
            if not _may_be_cited(document, fact):
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message=f"there is no such fact{did_you_mean(fact, facts)}",
                    code="unknown-field",
                )
