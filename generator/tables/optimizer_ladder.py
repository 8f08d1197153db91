"""First GPU count that fits, optimizers against card sizes, for one method and strategy.

Rows: optimizers; row id `<method>--<optimizer>--<strategy>`. Columns: one well-known card per size.
"""

from dataclasses import dataclass

from generator.tables.base import Cell, table_id
from generator.tables.reference_cards import reference_cards
from generator.tables.view import ModelView


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerRow:
    """One optimizer: an answer per card."""

    optimizer: str
    table_id: str
    cells: tuple[Cell | None, ...]


def build(view: ModelView, method: str, strategy: str) -> list[OptimizerRow]:
    """The rows in published order of the optimizers."""
    cards = reference_cards(view.axes.cards)
    rows = []
    for optimizer in view.optimizers:
        part = view.part(method, optimizer, strategy)
        rows.append(
            OptimizerRow(
                optimizer=optimizer,
                table_id=table_id(method, optimizer, strategy),
                cells=tuple(part.answer(card=card.index, workload=0) for card in cards),
            )
        )
    return rows
