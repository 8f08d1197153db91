"""One well-known card per memory size: the columns of tables that compare sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

from generator.core.card import Card
from generator.tables.base import full_card_name, short_card_name

# The card of each size that people rent or own most, so that a column stands for a size.
REFERENCE_CARD_IDS = (
    "t4-16gb",
    "rtx-4090-24gb",
    "rtx-5090-32gb",
    "a100-sxm-40gb",
    "l40s-48gb",
    "h100-sxm-80gb",
    "rtx-pro-6000-server-96gb",
    "h200-sxm-141gb",
    "b200-sxm-180gb",
    "mi300x-192gb",
    "b300-sxm-288gb",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCard:
    """A column: the card and where it stands in the matrix."""

    index: int
    card: Card

    @property
    def name(self) -> str:
        """The card's name without its size."""
        return short_card_name(self.card.name)

    @property
    def full_name(self) -> str:
        """The card's name with its size, which some vendors leave out."""
        return full_card_name(self.card)


def reference_cards(cards: Sequence[Card]) -> list[ReferenceCard]:
    """The reference cards among `cards`, by size."""
    position = {card.id: index for index, card in enumerate(cards)}
    return [
        ReferenceCard(index=position[card_id], card=cards[position[card_id]])
        for card_id in REFERENCE_CARD_IDS
        if card_id in position
    ]
