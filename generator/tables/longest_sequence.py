"""Longest sequence that fits, cards against method and GPU count, at micro-batch 1.

Rows: cards of one size that give the same answers; row id `longest--<card>`. Columns: what the
matrix solved (`ModelView.longest`), in its order.
"""

from dataclasses import dataclass

from generator.tables.base import CardRef, card_order, short_card_name
from generator.tables.view import ModelView


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestColumn:
    """One method, strategy and GPU count."""

    method: str
    strategy: str
    num_gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestRow:
    """Cards of one size and one answer per column, in tokens; None where the card has no such
    count.
    """

    memory_marketed_gb: int
    cards: tuple[CardRef, ...]
    tokens: tuple[int | None, ...]


def columns(view: ModelView) -> list[LongestColumn]:
    """The columns in published order."""
    return [
        LongestColumn(method=method, strategy=strategy, num_gpus=num_gpus)
        for method, strategy, num_gpus in view.longest
    ]


def build(view: ModelView) -> list[LongestRow]:
    """The rows, smallest card first; cards on which nothing fits are left out."""
    merged: dict[tuple[int, tuple[int | None, ...]], list[CardRef]] = {}
    for card in sorted(view.axes.cards, key=card_order):
        tokens = tuple(by_card.get(card.id) for by_card in view.longest.values())
        if any(tokens):
            ref = CardRef(
                id=card.id,
                name=short_card_name(card.name),
                memory_marketed_gb=card.memory_marketed_gb,
            )
            merged.setdefault((card.memory_marketed_gb, tokens), []).append(ref)
    return [
        LongestRow(memory_marketed_gb=size, cards=tuple(cards), tokens=tokens)
        for (size, tokens), cards in merged.items()
    ]
