"""What pages and JSON say about a model beside its figures."""

from dataclasses import dataclass

from generator.core.catalog import CatalogModel
from generator.core.model import MixtureOfExperts
from generator.core.params import num_active_parameters, num_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A catalog entry with its derived size."""

    entry: CatalogModel
    num_parameters: int
    num_active_parameters: int
    """Those that one token of text passes through."""
    is_moe: bool
    """Whether any layer routes tokens to experts."""


def facts_of(entry: CatalogModel) -> ModelFacts:
    """The facts of one model."""
    model = entry.model
    return ModelFacts(
        entry=entry,
        num_parameters=num_parameters(model),
        num_active_parameters=num_active_parameters(model),
        is_moe=any(
            isinstance(group.block.feed_forward, MixtureOfExperts) for group in model.block_groups
        ),
    )
