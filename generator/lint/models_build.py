"""Every config becomes a model with the parameters that its source says: what the core cannot
represent does not enter the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.catalog import CatalogModel
from generator.core.errors import TrainfitError
from generator.core.params import num_parameters
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports configs that the core refuses, with its own reason, and those it counts otherwise."""
    for document in documents:
        if not isinstance(document.record, CatalogModel):
            continue
        try:
            model = document.record.model
        except TrainfitError as error:
            yield Problem(
                path=document.path,
                key=_place(error.field),
                message=error.message,
                code="broken-model",
            )
            continue
        expected = document.record.expected
        counted = num_parameters(model)
        if expected is None:
            yield Problem(
                path=document.path,
                key="expected",
                message="missing; add the published number of parameters and its source. The core "
                f"counts {counted:,}; where the published one is this rounded, put this in and the "
                "published one as its note",
                code="missing-field",
            )
        elif expected.num_parameters != counted:
            yield Problem(
                path=document.path,
                key="expected.num_parameters",
                message="the source and the core count differently; look which one is wrong, "
                "and open an issue if it is the core",
                code="implausible-value",
                expected=f"{counted}, as the core counts from the config",
                got=f"{expected.num_parameters}",
            )


def _place(field: str) -> str:
    """The place in the file of a field that the core names, `model.config.hidden_size`."""
    field = field.removeprefix("model.")
    return field if field.startswith("config") else f"config.{field}" if field else "config"
