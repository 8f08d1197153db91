"""What 1, 2, 4 and 8 of one card can train: models against method and GPU count.

Rows: models, smallest first; row id: the model's id. A cell is the strategy that shards least among
those that fit on exactly that many GPUs; where none fits, the one that comes closest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from generator.tables.base import Cell
from generator.tables.view import ModelView

NODE_COUNTS = (1, 2, 4, 8)
RACK_COUNTS = (16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model: answers per method, then GPU count."""

    model_id: str
    cells: tuple[tuple[Cell, ...], ...]


def gpu_counts(allowed: tuple[int, ...]) -> tuple[int, ...]:
    """The counts of the table: those of one node, or a rack's own."""
    counts = tuple(count for count in NODE_COUNTS if count in allowed)
    return counts or tuple(count for count in RACK_COUNTS if count in allowed)


def best_at(
    view: ModelView, *, method: str, optimizer: str, card: int, num_gpus: int, workload: int
) -> Cell:
    """The least sharded strategy that fits on exactly `num_gpus`, else the smallest total."""
    candidates: list[Cell] = []
    for strategy in view.axes.strategies:
        part = view.part(method, optimizer, strategy)
        if (num_gpus == 1) != (strategy == "single"):
            continue
        cell = part.cell(card=card, num_gpus=num_gpus, workload=workload)
        if cell is not None:
            candidates.append(cell)
    order = {"fits": 0, "tight": 1, "no": 2}
    # `min` keeps the first of equals, and strategies stand from least to most sharded.
    return min(
        candidates,
        key=lambda cell: (
            order[cell.verdict],
            cell.total_bytes if cell.verdict == "no" else 0,
        ),
    )


def build(
    views: Mapping[str, ModelView], *, card: int, optimizer: str, counts: tuple[int, ...]
) -> list[ModelRow]:
    """The rows in the order of `views`."""
    return [
        ModelRow(
            model_id=model_id,
            cells=tuple(
                tuple(
                    best_at(
                        view,
                        method=method,
                        optimizer=optimizer,
                        card=card,
                        num_gpus=count,
                        workload=0,
                    )
                    for count in counts
                )
                for method in view.axes.methods
            ),
        )
        for model_id, view in views.items()
    ]
