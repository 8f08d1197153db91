"""Every config becomes a model: what the core cannot represent does not enter the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.catalog import CatalogModel
from generator.core.errors import TrainfitError
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports configs that the core refuses, with the core's own reason."""
    for document in documents:
        if not isinstance(document.record, CatalogModel):
            continue
        try:
            _ = document.record.model
        except TrainfitError as error:
            yield Problem(
                path=document.path,
                key=_place(error.field),
                message=error.message,
                code="broken-model",
            )


def _place(field: str) -> str:
    """The place in the file of a field that the core names, `model.config.hidden_size`."""
    field = field.removeprefix("model.")
    return field if field.startswith("config") else f"config.{field}" if field else "config"
