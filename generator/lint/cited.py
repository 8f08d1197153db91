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


def split_keys(document: Document) -> dict[str, object]:
    """What `[cite]` says of facts with a dot in their name that someone has left unquoted.

    `expected.num_parameters = "hub"` makes a table `expected` of it, and no citation.
    """
    cite = document.data.get("cite", {})
    tables = cite.items() if isinstance(cite, dict) else ()
    whole = facts_to_cite(document)
    return {
        f"{name}.{part}": own
        for name, value in tables
        if isinstance(value, dict) and name not in whole and not {"source", "note"} & set(value)
        for part, own in value.items()
    }


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
        split = split_keys(document)
        for fact in facts:
            # A key that nobody knows is reported as such; a citation would not help it.
            is_known = document.kind.name == "model" or fact in document.kind.fact_keys
            if is_known and fact not in cited and fact not in split:
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message="the fact has no citation; name its source in [cite]",
                    code="uncited-fact",
                )
        tables = {written.partition(".")[0] for written in split}
        for fact in cited:
            if fact not in tables and not _may_be_cited(document, fact):
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message=f"there is no such fact{did_you_mean(fact, facts)}",
                    code="unknown-field",
                )
