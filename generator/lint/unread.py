"""A model's config holds what the core reads: what else it says of a shape would be lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.catalog import CatalogModel
from generator.core.errors import TrainfitError
from generator.core.hf_config import read_config
from generator.core.hf_config.unread import unread
from generator.lint.derived import TOTALS
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports fields of `[config]` that nothing reads; totals have a rule of their own."""
    for document in documents:
        if not isinstance(document.record, CatalogModel):
            continue
        config = document.record.config
        try:
            _, questions = read_config(config, name=document.record.name)
        except TrainfitError:
            # Another rule says why the core refuses it.
            continue
        kind = str(config.get("model_type", ""))
        for name in unread(config, questions):
            if name in TOTALS:
                continue
            yield Problem(
                path=document.path,
                key=f"config.{name}",
                message=f"nothing reads it for model_type {kind}; delete the line, or open an "
                "issue with the config if it changes the size of a tensor",
                code="unknown-field",
            )
