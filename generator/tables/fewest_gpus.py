"""Fewest GPUs per method, workload and card size: the table that opens a model page.

Rows: one well-known card per size. Columns: method x workload. A cell names the fewest GPUs of that
card that fit under any strategy; among strategies with that count, the one that shards least.
"""

from dataclasses import dataclass

from generator.tables.base import Cell, row_id
from generator.tables.reference_cards import ReferenceCard, reference_cards
from generator.tables.view import ModelView


@dataclass(frozen=True, slots=True, kw_only=True)
class FewestRow:
    """One card: an answer per method and workload."""

    card: ReferenceCard
    cells: tuple[tuple[Cell | None, ...], ...]
    row_ids: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestSetup:
    """The least card memory, over all reference cards, on which a method fits."""

    method: str
    cell: Cell
    card: ReferenceCard
    row_id: str


def fewest(
    view: ModelView, *, method: str, optimizer: str, card: int, workload: int
) -> Cell | None:
    """Fewest GPUs of a card under any strategy; where none fits, the closest miss."""
    best: Cell | None = None
    for strategy in view.axes.strategies:
        part = view.part(method, optimizer, strategy)
        cell = part.answer(card=card, workload=workload)
        if cell is not None and (best is None or _rank(cell) < _rank(best)):
            best = cell
    return best


def _rank(cell: Cell) -> tuple[int, int]:
    """Fits before tight before no; then fewer GPUs, or, where nothing fits, the smaller total."""
    order = {"fits": 0, "tight": 1, "no": 2}[cell.verdict]
    return (order, cell.total_bytes if cell.verdict == "no" else cell.num_gpus)


def build(view: ModelView, optimizer: str) -> list[FewestRow]:
    """The rows, smallest card first."""
    rows = []
    for card in reference_cards(view.axes.cards):
        cells = tuple(
            tuple(
                fewest(view, method=method, optimizer=optimizer, card=card.index, workload=workload)
                for workload in range(len(view.axes.workloads))
            )
            for method in view.axes.methods
        )
        ids = tuple(
            tuple(
                row_id(method, optimizer, cell.strategy, card.card.id) if cell else ""
                for cell in method_cells
            )
            for method, method_cells in zip(view.axes.methods, cells, strict=True)
        )
        rows.append(FewestRow(card=card, cells=cells, row_ids=ids))
    return rows


def smallest_setups(view: ModelView, optimizer: str) -> list[SmallestSetup | None]:
    """Per method, the set-up with the least card memory at the first workload."""
    setups: list[SmallestSetup | None] = []
    for method in view.axes.methods:
        best: SmallestSetup | None = None
        best_key: tuple[int, int] | None = None
        for card in reference_cards(view.axes.cards):
            cell = fewest(view, method=method, optimizer=optimizer, card=card.index, workload=0)
            if cell is None or cell.verdict != "fits":
                continue
            key = (cell.num_gpus * card.card.memory_marketed_gb, cell.num_gpus)
            if best_key is None or key < best_key:
                best_key = key
                best = SmallestSetup(
                    method=method,
                    cell=cell,
                    card=card,
                    row_id=row_id(method, optimizer, cell.strategy, card.card.id),
                )
        setups.append(best)
    return setups
