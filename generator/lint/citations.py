"""Citations name sources of the same file, and each source is cited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.nearest import did_you_mean
from generator.decode import show, wrong_value
from generator.lint.cited import split_keys
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports citations of unknown sources, citations without a source, and unused sources."""
    for document in documents:
        cite = document.data.get("cite", {})
        if not isinstance(cite, dict):
            yield wrong_value(document.path, "cite", expected="a table", got=show(cite))
        known = document.sources
        used: set[str] = set()
        split = split_keys(document)
        for fact, citation in document.citations.items():
            if fact in {written.partition(".")[0] for written in split}:
                continue
            if not citation.sources:
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message="the citation names no source; add `source`",
                    code="unknown-source",
                )
            for name in citation.sources:
                used.add(name)
                if name not in known:
                    hint = did_you_mean(name, known)
                    yield Problem(
                        path=document.path,
                        key=f"cite.{fact}",
                        message=f"there is no [sources.{name}]{hint or '; add it'}",
                        code="unknown-source",
                    )
        for fact, own in split.items():
            used.update([own] if isinstance(own, str) else known)
            yield Problem(
                path=document.path,
                key=f"cite.{fact}",
                message=f'the key needs quotes, or TOML makes a table of it; write "{fact}" = ...',
                code="wrong-type",
            )
        for name in known:
            if name not in used:
                yield Problem(
                    path=document.path,
                    key=f"sources.{name}",
                    message="nothing cites this source; cite it or delete it",
                    code="unused-source",
                )
