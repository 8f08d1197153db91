"""Longest sequence that fits, for the published methods and every card."""

from collections.abc import Iterable

from generator.core import solve
from generator.core.card import Card
from generator.core.catalog import CatalogModel
from generator.core.fit import fit_limit_bytes
from generator.core.optimizer import Optimizer
from generator.core.run import Case, MethodName, Strategy, Workload
from generator.core.stack import Stack

COLUMNS: tuple[tuple[MethodName, Strategy, int], ...] = (
    ("full", "single", 1),
    ("full", "zero-3", 8),
    ("lora", "single", 1),
    ("lora", "zero-3", 8),
    ("qlora", "single", 1),
    ("qlora", "zero-3", 8),
)
"""What the page's table of longest sequences shows: one card, and a node with everything
sharded.
"""


def longest_sequences(
    entry: CatalogModel, *, optimizer: Optimizer, stack: Stack, cards: Iterable[Card]
) -> dict[tuple[str, str, int], dict[str, int]]:
    """Longest sequence in tokens by published column, then card; 0 where not even one step fits."""
    listed = list(cards)
    found: dict[tuple[str, str, int], dict[str, int]] = {}
    for method, strategy, num_gpus in COLUMNS:
        able = [
            card for card in listed if strategy == "single" or num_gpus in card.allowed_gpu_counts
        ]
        case = Case(
            model=entry.model,
            optimizer=optimizer,
            stack=stack,
            method=method,
            strategy=strategy,
            num_gpus=num_gpus,
            workload=Workload(),
        )
        limits = {card.id: fit_limit_bytes(card) for card in able}
        # Cards of one size share their answer.
        distinct = sorted(set(limits.values()))
        tokens = dict(zip(distinct, solve.longest_sequences(case, distinct), strict=True))
        found[method, strategy, num_gpus] = {
            card_id: tokens[limit] for card_id, limit in limits.items()
        }
    return found
