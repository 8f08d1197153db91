"""Cards against GPU counts for one method, optimizer and strategy.

Rows: cards of one size that give the same answers. Columns: GB per GPU at each GPU count for the
first workload, then the first count that fits for every workload. Row id:
`<method>--<optimizer>--<strategy>--<card>`, one per card, so that a row of several cards has
several addresses.
"""

from dataclasses import dataclass

from generator.tables.base import (
    STRATEGY_NAMES,
    STRATEGY_NOTES,
    CardRef,
    Cell,
    card_order,
    row_id,
    short_card_name,
    table_id,
)
from generator.tables.view import ModelView


@dataclass(frozen=True, slots=True, kw_only=True)
class CardGroup:
    """Cards of one size within a row, with their addresses."""

    memory_marketed_gb: int
    cards: tuple[CardRef, ...]
    row_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """Cards that share their answers."""

    groups: tuple[CardGroup, ...]
    cells: tuple[Cell | None, ...]
    answers: tuple[Cell | None, ...]

    @property
    def is_hopeless(self) -> bool:
        """Nothing in this row fits, not even nearly."""
        return all(cell is None or cell.verdict == "no" for cell in (*self.cells, *self.answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyGrid:
    """The table of one method, optimizer and strategy."""

    id: str
    method: str
    optimizer: str
    strategy: str
    name: str
    note: str
    gpu_counts: tuple[int, ...]
    rows: tuple[GridRow, ...]
    outcome: str


def _outcome(rows: list[GridRow], strategy: str) -> str:
    """One line on the first workload: the smallest card that fits, and on how many."""
    fitting = [
        (row.answers[0].num_gpus, group.memory_marketed_gb)
        for row in rows
        for group in row.groups
        if row.answers[0] is not None and row.answers[0].verdict == "fits"
    ]
    if not fitting:
        return "fits no card" if strategy == "single" else "fits no card up to 64 GPUs"
    smallest_size = min(size for _, size in fitting)
    smallest_count = min(count for count, size in fitting if size == smallest_size)
    fewest = min(count for count, _ in fitting)
    at_fewest = min(size for count, size in fitting if count == fewest)
    first = f"fits {smallest_size} GB cards from {smallest_count} GPU{'s' * (smallest_count > 1)}"
    if fewest == smallest_count:
        return first
    return f"{first}, {at_fewest} GB cards from {fewest}"


def build(view: ModelView, method: str, optimizer: str, strategy: str) -> StrategyGrid:
    """The table of one method, optimizer and strategy."""
    part = view.part(method, optimizer, strategy)
    counts = part.gpu_counts
    order = sorted(
        range(len(view.axes.cards)), key=lambda index: card_order(view.axes.cards[index])
    )
    merged: dict[object, tuple[list[int], tuple[Cell | None, ...], tuple[Cell | None, ...]]] = {}
    for index in order:
        card = view.axes.cards[index]
        cells = tuple(part.cell(card=index, num_gpus=count, workload=0) for count in counts)
        answers = tuple(
            part.answer(card=index, workload=workload)
            for workload in range(len(view.axes.workloads))
        )
        if not any(answers):
            continue
        hopeless = all(cell is None or cell.verdict == "no" for cell in (*cells, *answers))
        # Rows without any hope say the same for every size, so that they share one line.
        size = None if hopeless else card.memory_marketed_gb
        key = (size, cells, answers)
        merged.setdefault(key, ([], cells, answers))[0].append(index)
    rows = []
    for indices, cells, answers in merged.values():
        sizes: dict[int, list[CardRef]] = {}
        for index in indices:
            card = view.axes.cards[index]
            sizes.setdefault(card.memory_marketed_gb, []).append(
                CardRef(
                    id=card.id,
                    name=short_card_name(card.name),
                    memory_marketed_gb=card.memory_marketed_gb,
                )
            )
        groups = tuple(
            CardGroup(
                memory_marketed_gb=size,
                cards=tuple(cards),
                row_ids=tuple(row_id(method, optimizer, strategy, card.id) for card in cards),
            )
            for size, cards in sizes.items()
        )
        rows.append(GridRow(groups=groups, cells=cells, answers=answers))
    rows.sort(key=lambda row: row.is_hopeless)
    return StrategyGrid(
        id=table_id(method, optimizer, strategy),
        method=method,
        optimizer=optimizer,
        strategy=strategy,
        name=STRATEGY_NAMES[strategy],
        note=STRATEGY_NOTES[strategy],
        gpu_counts=tuple(counts),
        rows=tuple(rows),
        outcome=_outcome(rows, strategy),
    )
