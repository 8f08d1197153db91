"""Every field of a request with what it takes and its default, for the help and the API page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from generator.core.request import (
    CHOICES,
    DATASET_DEFAULTS,
    DEFAULTS,
    NUMBER_RANGES,
    RANGES,
)

IN_WORDS: Mapping[str, str] = {
    "model": 'an id, {"num_parameters": N}, or {"config": {...}} with a config.json',
    "optimizer": "an id",
    "stack": "an id",
    "stack_version": "a release of the tool, or of Transformers where it trains with that, as "
    "4.48.1, or null for the latest",
    "lora.target_modules": '"all-linear", or a list of module names',
    "card": "an id, null, or an object with id or memory_gb, and reserved_gb",
    "card.id": "an id",
}
"""What no list of choices and no range says."""

WITHOUT_DEFAULT = ("card.id", "card.memory_gb", "card.reserved_gb", "price_usd_per_hour")
"""Fields that stand in no table of defaults."""

OPEN: Mapping[str, str] = {
    "num_gpus": "null, and the strategy picks",
    "price_usd_per_hour": "the card's own",
    "card.reserved_gb": "0",
}
"""Defaults that the answer depends on, in words."""


STACK_DEFAULTS = (
    'A named "stack" brings the defaults of its tool in place of these: "assumptions" of the '
    'answer names them, and "request" has every field as it was taken.'
)
"""Goes below the list, whose defaults are those of the generic stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestField:
    """One field, as a dotted path."""

    name: str
    takes: str
    default: str
    """As JSON or in words; empty where there is none."""


def _takes(name: str, default: object) -> str:
    if name in IN_WORDS:
        return IN_WORDS[name]
    if name in CHOICES:
        return " | ".join(CHOICES[name])
    if name in RANGES:
        low, high = RANGES[name]
        return f"a whole number from {low} to {high:,}"
    if name in NUMBER_RANGES:
        least, most = NUMBER_RANGES[name]
        return f"a number from {least:g} to {most:,g}"
    if isinstance(default, bool):
        return "true | false"
    raise KeyError(name)


def _named() -> Iterator[tuple[str, object]]:
    """Names and defaults in the order of the tables that `generator.core.request` reads."""
    for name, default in {"model": None, **DEFAULTS, "dataset": DATASET_DEFAULTS}.items():
        if isinstance(default, dict):
            yield from ((f"{name}.{part}", own) for part, own in default.items())
        else:
            yield name, default
        if name == "card":
            yield from ((each, None) for each in WITHOUT_DEFAULT if each.startswith("card."))
    yield "price_usd_per_hour", None


def request_fields() -> list[RequestField]:
    """Every field of a request for an estimate."""
    found = []
    for name, default in _named():
        shown = OPEN.get(name, "" if default is None else json.dumps(default).strip('"'))
        found.append(RequestField(name=name, takes=_takes(name, default), default=shown))
    return found
