"""What pages and JSON say about a model beside its figures."""

from dataclasses import dataclass

from generator.core.catalog import CatalogModel
from generator.core.params import num_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A catalog entry with its derived size."""

    entry: CatalogModel
    num_parameters: int


def facts_of(entry: CatalogModel) -> ModelFacts:
    """The facts of one model."""
    return ModelFacts(entry=entry, num_parameters=num_parameters(entry.model))
