"""The kinds of catalog files: where they lie, which record they fill, which keys are facts."""

from dataclasses import dataclass, fields
from typing import Literal

from generator.core.card import Card
from generator.core.catalog import CatalogModel
from generator.core.method import Method
from generator.core.optimizer import Optimizer
from generator.core.stack import Stack

KindName = Literal["model", "card", "optimizer", "method", "stack"]
Record = CatalogModel | Card | Optimizer | Method | Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of catalog file.

    `identity` are the keys at the top of the file that name the thing and need no source. `facts`
    is the table that holds the facts, empty where they stand at the top of the file themselves.
    """

    name: KindName
    folder: str
    record: type[Record]
    identity: tuple[str, ...]
    facts: str = ""
    filled_in: tuple[str, ...] = ()
    """Fields that the loader fills in where the file leaves them out."""

    @property
    def fact_keys(self) -> tuple[str, ...]:
        """Record fields that are facts, in the order of the record."""
        names = (item.name for item in fields(self.record))
        return tuple(name for name in names if name not in self.identity)


KINDS: tuple[Kind, ...] = (
    Kind(
        name="model",
        folder="models",
        record=CatalogModel,
        identity=(
            "id",
            "name",
            "hugging_face",
            "family",
            "developer",
            "released",
            "license",
            "status",
            "aliases",
            "note",
        ),
    ),
    Kind(
        name="card",
        folder="cards",
        record=Card,
        identity=("id", "name", "vendor", "form", "status", "aliases", "note"),
        facts="facts",
        filled_in=("allowed_gpu_counts", "gpus_per_node"),
    ),
    Kind(
        name="optimizer",
        folder="optimizers",
        record=Optimizer,
        identity=("id", "name", "implementation", "aliases", "note"),
    ),
    Kind(
        name="method",
        folder="methods",
        record=Method,
        identity=("id", "name", "summary", "aliases", "note"),
    ),
    Kind(name="stack", folder="stacks", record=Stack, identity=("id", "name"), facts="facts"),
)
