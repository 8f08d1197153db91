"""Figures of measured rows are such as the model and the card can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from generator.accuracy.rows import SkippedError, find_model
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.params import num_active_parameters, num_parameters
from generator.measurements.gpu_names import find_card
from generator.problem import ProblemCode

READINGS = ("gib_per_gpu", "gb_per_gpu_unit_unstated", "gib2")
CARD_TOLERANCE = 1.06
"""A card of "80 GB" holds 80 GiB at most, and sources that print GB may mean 10^9 bytes."""
LARGEST_DEVICE_GIB = 600
SIZE_TOLERANCE = 1.5
"""Sources count embeddings once, twice or not at all, which is a third of the smallest models."""
FLOPS_PER_PARAMETER = 4
"""Per token, with a frozen base; a full run computes more, and is let pass sooner."""
MOST_OF_PEAK = 3
"""Against the dense 16-bit peak; FP8 has twice, FP4 up to four times that, of which runs reach
part."""

Cells = Mapping[str, str]
Entries = Mapping[str, Mapping[str, Any]]
Odd = tuple[str, str, ProblemCode]
"""A column, what is odd in it, and the code."""


def odd_memory_figures(cells: Cells, catalog: Catalog, models: Entries) -> Iterator[Odd]:
    """A reading is there unless the run had none, and card and model have the size for it.

    Args:
        cells: A memory row's text by column.
        catalog: The catalog.
        models: Configs, or ids in the catalog, by the names that rows use.
    """
    is_out = cells["oom"] == "true"
    has_reading = cells["gib_per_gpu"] or cells["gb_per_gpu_unit_unstated"]
    if not has_reading and not is_out and cells["metric"] and "no reading" not in cells["metric"]:
        message = "empty, and the run did not go out of memory; add the reading"
        yield "gib_per_gpu", message, "missing-field"
    if cells["gib_per_gpu"] and cells["gb_per_gpu_unit_unstated"]:
        message = "gib_per_gpu has the reading too; keep the one whose unit is right"
        yield "gb_per_gpu_unit_unstated", message, "bad-reference"
    found = find_card(cells["gpu"], catalog.cards)
    size = found.memory_gb or (
        catalog.cards[found.id].memory_marketed_gb if found.id else LARGEST_DEVICE_GIB
    )
    for column in READINGS:
        if cells[column] and float(cells[column]) > size * CARD_TOLERANCE:
            message = f"more than {size} GB of memory can hold; the column is per GPU and in GiB"
            yield column, message, "implausible-value"
    yield from _odd_size(cells, catalog, models)


def odd_throughput_figures(cells: Cells, catalog: Catalog, models: Entries) -> Iterator[Odd]:
    """The model has the size that the row states, and the card could compute its tokens.

    Args:
        cells: A throughput row's text by column.
        catalog: The catalog.
        models: Configs, or ids in the catalog, by the names that rows use.
    """
    yield from _odd_size(cells, catalog, models)
    card = catalog.cards.get(find_card(cells["gpu"], catalog.cards).id or "")
    rate = cells["tokens_per_second_per_gpu"]
    peak = None if card is None else card.peak_dense_bf16_flops_per_second
    if not rate or not peak:
        return
    try:
        active = num_active_parameters(find_model(cells["model"], catalog, models)[0])
    except (SkippedError, TrainfitError):
        return
    most = MOST_OF_PEAK * peak / (FLOPS_PER_PARAMETER * active)
    if float(rate) > most:
        message = (
            f"more than the card could compute, about {most:,.0f}; the column is tokens of one GPU"
        )
        yield "tokens_per_second_per_gpu", message, "implausible-value"


def _odd_size(cells: Cells, catalog: Catalog, models: Entries) -> Iterator[Odd]:
    """Billions of parameters that are not those of the model that the row names."""
    if not cells["params_b"]:
        return
    try:
        billions = num_parameters(find_model(cells["model"], catalog, models)[0]) / 1e9
    except (SkippedError, TrainfitError):
        return
    stated = float(cells["params_b"])
    if not billions / SIZE_TOLERANCE <= stated <= billions * SIZE_TOLERANCE:
        message = (
            f"{cells['model']} has {billions:.2f} billion; correct one of the two, or empty it"
        )
        yield "params_b", message, "implausible-value"
