"""Where the memory of one GPU goes, per strategy: the stacked bars of a model page.

Rows: full fine-tuning on one GPU and under each sharding strategy, then LoRA and QLoRA on one GPU.
Columns: the lines of the core's ledger at the peak, for the default optimizer and the first
workload.
"""

from dataclasses import dataclass

from generator.calculator_link import calculator_fragment
from generator.core.fit import FIT_PERCENT
from generator.core.memory import LINES
from generator.core.units import GB
from generator.tables.base import METHOD_NAMES, STRATEGY_NAMES, table_id
from generator.tables.view import ModelView

NODE_GPUS = 8
"""Where sharded strategies are shown: what most servers hold."""
CARD_SIZES_GB = (16, 24, 80, 288)
"""Sizes that a line may mark, as far as they have room beside each other."""
SCALE_ROOM = 1.03
LINE_ROOM = 0.05
LABEL_ROOM = 0.28


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyBar:
    """One set-up and what its GPU holds, in bytes by line."""

    method: str
    strategy: str
    num_gpus: int
    lines: dict[str, int]
    table_id: str
    calculator: str
    """Fragment of the calculator's address with this set-up."""

    @property
    def total_bytes(self) -> int:
        """Sum of the lines."""
        return sum(self.lines.values())

    @property
    def name(self) -> str:
        """The strategy, or the method that needs none."""
        if self.method != "full":
            return METHOD_NAMES[self.method]
        return "No sharding" if self.strategy == "single" else STRATEGY_NAMES[self.strategy]

    @property
    def gpus(self) -> str:
        """On how many GPUs; DDP's memory is the same at every count."""
        if self.num_gpus == 1:
            return "1 GPU"
        return f"{self.num_gpus}{' or more' if self.strategy == 'ddp' else ''} GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyBars:
    """The bars on one scale, and the card sizes that are marked on it."""

    bars: tuple[StrategyBar, ...]
    scale_bytes: float
    card_sizes_gb: tuple[int, ...]
    line_names: tuple[str, ...]
    """Lines that are not zero in every bar."""

    def across(self, num_bytes: float) -> float:
        """Share of the scale."""
        return num_bytes / self.scale_bytes


def fit_limit(size_gb: int) -> float:
    """Total up to which a run fits a card of this size."""
    return size_gb * GB * FIT_PERCENT / 100


def _marked(scale_bytes: float) -> tuple[int, ...]:
    """Card sizes, largest first, that lie on the scale and do not crowd each other."""
    marked: list[int] = []
    previous = 1.0 + LABEL_ROOM
    for size in reversed(CARD_SIZES_GB):
        place = fit_limit(size) / scale_bytes
        if LINE_ROOM <= place <= min(1, previous - LABEL_ROOM):
            marked.append(size)
            previous = place
    return tuple(reversed(marked))


def build(view: ModelView, optimizer: str) -> StrategyBars:
    """The bars, most replicated first."""
    workload = view.axes.workloads[0].workload
    bars = []
    for method in view.axes.methods:
        strategies = view.axes.strategies if method == "full" else ("single",)
        for strategy in strategies:
            part = view.part(method, optimizer, strategy)
            sharded = strategy.startswith("zero-")
            num_gpus = NODE_GPUS if sharded else part.gpu_counts[0]
            request = {
                "model": view.matrix.entry.id,
                "method": method,
                "strategy": strategy,
                "num_gpus": num_gpus,
                "sequence_length": workload.sequence_length,
            }
            fragment = calculator_fragment(request)
            assert fragment is not None  # only a large config is too much for a link
            bars.append(
                StrategyBar(
                    method=method,
                    strategy=strategy,
                    num_gpus=num_gpus,
                    lines=part.lines(num_gpus=num_gpus, workload=0),
                    table_id=table_id(method, optimizer, strategy),
                    calculator=fragment,
                )
            )
    scale = SCALE_ROOM * max(bar.total_bytes for bar in bars)
    return StrategyBars(
        bars=tuple(bars),
        scale_bytes=scale,
        card_sizes_gb=_marked(scale),
        line_names=tuple(line for line in LINES if any(bar.lines[line] for bar in bars)),
    )
