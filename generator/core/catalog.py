"""The catalog as the core sees it: records by id, and the way from a name to a record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

from generator.core.card import Card
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.method import Method
from generator.core.model import Model
from generator.core.nearest import nearest, quoted
from generator.core.optimizer import Optimizer
from generator.core.other_words import STACK_WORDS
from generator.core.stack import Stack

EntryT = TypeVar("EntryT")

LONGEST_NAME = 120
"""Names are cut to this before they are looked up and repeated in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Published totals that tests hold the derived ones against; never an input to an estimate."""

    num_parameters: int | None = None
    """Parameters of the Transformers class, shared tensors counted once."""
    checkpoint_parameters: int | None = None
    """Elements in the published safetensors files."""
    match: str = ""
    """How the two compare: `exact`, `exact_with_mtp`, `exact_minus_buffers`, `explained`, ..."""
    note: str = ""
    """What the difference is made of."""


@dataclass(frozen=True, kw_only=True)
class CatalogModel:
    """One checkpoint family member: who made it, and the config that its shapes derive from."""

    id: str
    """Last part of the Hugging Face name in lower case, without `-hf`, `-instruct` and the like."""
    name: str
    """As its makers write it."""
    hugging_face: str
    """Repository on the Hugging Face hub."""
    family: str
    """Models that are listed together."""
    developer: str
    """Who made it."""
    released: str
    """Month of release: `2024-07`."""
    license: str
    """SPDX id, or the name that the repository gives."""
    config: Mapping[str, object] = field(hash=False)
    """Fields of `config.json` that shape the model, nested text configs flattened."""
    status: Literal["current", "announced"] = "current"
    """`announced`: no public weights seen."""
    note: str = ""
    """What a reader must know and no field says."""
    aliases: tuple[str, ...] = ()
    """Former ids and common names."""
    expected: Expected | None = None
    """Published totals for the tests."""

    @cached_property
    def model(self) -> Model:
        """The model that the config describes, built on first use."""
        return model_from_config(self.config, name=self.name)


def _names(entry: object) -> tuple[str, ...]:
    """Id and aliases of a record; stacks have no aliases."""
    return (getattr(entry, "id", ""), *getattr(entry, "aliases", ()))


STAGE_SUFFIXES = ("-instruct", "-it", "-chat", "-base", "-hf")
"""What names on the Hugging Face hub end in and ids do not."""


def _find(
    kind: str, name: str, entries: Mapping[str, EntryT], words: Mapping[str, str] | None = None
) -> EntryT:
    """The entry called `name` by id or alias, upper and lower case alike; `words` are names that
    may mean more than one entry.
    """
    written = name.strip()[:LONGEST_NAME]
    key = written.lower()
    if key in entries:
        return entries[key]
    ids: dict[str, str] = {}
    for id_, entry in entries.items():
        names = _names(entry)
        if key in names:
            return entry
        ids |= dict.fromkeys(names, id_)
    alike = dict.fromkeys(ids[found] for found in nearest(key, ids))
    if words and key in words:
        hint = f"; here it is {words[key]}. All {kind}s are in catalog/{kind}s."
    elif alike:
        meant = " or ".join(map(quoted, alike))
        hint = f"; did you mean {meant}? All {kind}s are in catalog/{kind}s."
    else:
        hint = f"; it has {len(entries)} {kind}s, all in catalog/{kind}s."
    raise TrainfitError("unknown-id", kind, f"The catalog has no {kind} {quoted(written)}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Every record by id, in alphabetical order."""

    models: dict[str, CatalogModel] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    optimizers: dict[str, Optimizer] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    stacks: dict[str, Stack] = field(default_factory=dict)

    def model(self, name: str) -> CatalogModel:
        """The model with this id, alias or Hugging Face name.

        Args:
            name: `llama-3.1-8b` or `meta-llama/Llama-3.1-8B`.

        Raises:
            TrainfitError: nothing goes by that name (code `unknown-id`), with the nearest names.
        """
        if "/" in name:
            wanted = name.strip().lower()
            for entry in self.models.values():
                if entry.hugging_face.lower() == wanted:
                    return entry
            # A tuned sibling has its base's shape, and ids leave the stage's suffix out.
            stem = wanted.rpartition("/")[2]
            for suffix in STAGE_SUFFIXES:
                if stem.removesuffix(suffix) in self.models:
                    return self.models[stem.removesuffix(suffix)]
        return _find("model", name, self.models)

    def card(self, name: str) -> Card:
        """The card with this id or alias.

        Args:
            name: `h100-sxm-80gb`.

        Raises:
            TrainfitError: nothing goes by that name (code `unknown-id`), with the nearest names.
        """
        return _find("card", name, self.cards)

    def optimizer(self, name: str) -> Optimizer:
        """The optimizer with this id or alias.

        Args:
            name: `adamw`, or the name that a training tool gives it (`adamw_torch_fused`).

        Raises:
            TrainfitError: nothing goes by that name (code `unknown-id`), with the nearest names.
        """
        return _find("optimizer", name, self.optimizers)

    def method(self, name: str) -> Method:
        """The method with this id or alias.

        Args:
            name: `full`, `lora` or `qlora`.

        Raises:
            TrainfitError: nothing goes by that name (code `unknown-id`), with the nearest names.
        """
        return _find("method", name, self.methods)

    def stack(self, name: str) -> Stack:
        """The training stack with this id.

        Args:
            name: `generic`, or a tool: `hf-trainer`, `torchtune`.

        Raises:
            TrainfitError: nothing goes by that name (code `unknown-id`), with the nearest names.
        """
        return _find("stack", name, self.stacks, STACK_WORDS)
