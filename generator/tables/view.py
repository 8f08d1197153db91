"""One model's part of the matrix as the tables read it: names instead of array positions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from generator.core.card import Card
from generator.core.fit import VERDICTS
from generator.core.ladder import usable_counts
from generator.core.memory import LINES
from generator.core.run import Strategy
from generator.matrix import Axes, ModelMatrix
from generator.tables.base import Cell


@dataclass(frozen=True, kw_only=True)
class StrategyView:
    """One method, optimizer and strategy of a model: plain lists, which are quick to read one by
    one.
    """

    strategy: Strategy
    cards: tuple[Card, ...]
    counts: tuple[int, ...]
    total_bytes: list[list[int]]
    """By GPU count and workload; 0 where there is no such set-up."""
    verdicts: list[list[list[int]]]
    """By GPU count, workload and card."""
    first_fits: list[list[int]]
    """By workload and card; 0 where no count fits."""
    line_bytes: npt.NDArray[np.int64]
    """By memory line, GPU count and workload."""

    @cached_property
    def gpu_counts(self) -> tuple[int, ...]:
        """Counts that a table shows: under DDP the need is the same on any count, so only one."""
        counts = tuple(
            count for index, count in enumerate(self.counts) if self.total_bytes[index][0]
        )
        return counts[:1] if self.strategy == "ddp" else counts

    @cached_property
    def _available(self) -> tuple[tuple[int, ...], ...]:
        """By card, the counts on which this strategy runs; one GPU can be had of any card."""
        return tuple(usable_counts(self.strategy, card) for card in self.cards)

    def cell(self, *, card: int, num_gpus: int, workload: int) -> Cell | None:
        """The answer at one GPU count, None where the card does not come in that count."""
        available = self._available[card]
        if self.strategy == "ddp" and num_gpus == self.gpu_counts[0] and available:
            num_gpus = available[0]
        if num_gpus not in available:
            return None
        count = self.counts.index(num_gpus)
        return Cell(
            num_gpus=num_gpus,
            total_bytes=self.total_bytes[count][workload],
            verdict=VERDICTS[self.verdicts[count][workload][card]],
            strategy=self.strategy,
        )

    def lines(self, *, num_gpus: int, workload: int) -> dict[str, int]:
        """What one GPU holds at a count, by memory line."""
        values = self.line_bytes[:, self.counts.index(num_gpus), workload].tolist()
        return dict(zip(LINES, values, strict=True))

    def answer(self, *, card: int, workload: int) -> Cell | None:
        """The first count that fits, else the first that is tight, else the largest.

        None where the strategy cannot run on the card at all.
        """
        first = self.first_fits[workload][card]
        counts = (first,) if first else self._available[card]
        cells = [
            cell
            for count in counts
            if (cell := self.cell(card=card, num_gpus=count, workload=workload)) is not None
        ]
        if not cells:
            return None
        return next((cell for cell in cells if cell.verdict != "no"), cells[-1])


@dataclass(frozen=True, kw_only=True)
class ModelView:
    """The figures of one model.

    `longest` holds the longest sequence that fits, by method, strategy and GPU count, then card; 0
    where none does, and no entry where the card does not come in that count.
    """

    axes: Axes
    matrix: ModelMatrix
    longest: Mapping[tuple[str, str, int], Mapping[str, int]]
    _parts: dict[tuple[str, str, str], StrategyView] = field(default_factory=dict, repr=False)

    @cached_property
    def optimizers(self) -> tuple[str, ...]:
        """Ids of the published optimizers."""
        return tuple(optimizer.id for optimizer in self.axes.optimizers)

    def part(self, method: str, optimizer: str, strategy: str) -> StrategyView:
        """One method, optimizer and strategy."""
        key = (method, optimizer, strategy)
        if key not in self._parts:
            place = self.axes.strategies.index(strategy)
            index = (self.axes.methods.index(method), self.optimizers.index(optimizer), place)
            self._parts[key] = StrategyView(
                strategy=self.axes.strategies[place],
                cards=self.axes.cards,
                counts=self.axes.gpu_counts,
                total_bytes=_lists(self.matrix.total_bytes[index]),
                verdicts=_lists(self.matrix.verdicts[index]),
                first_fits=_lists(self.matrix.first_fits[index]),
                line_bytes=self.matrix.line_bytes[(slice(None), *index)],
            )
        return self._parts[key]


def _lists(array: npt.NDArray[np.integer]) -> list:  # type: ignore[type-arg]
    return array.tolist()  # type: ignore[no-any-return]
