"""The columns of each measurement file: what a cell takes, in which unit, and whether it may be
empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generator.core.run import (
    MAX_ACCUMULATION_STEPS,
    MAX_GPUS,
    MAX_LORA_RANK,
    MAX_MICRO_BATCH_SIZE,
    MAX_SEQUENCE_LENGTH,
)
from generator.problem import plain_number

Kind = Literal["text", "count", "number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. An empty cell says that the source leaves it open."""

    name: str
    kind: Kind = "text"
    is_needed: bool = False
    """No row may leave it empty."""
    is_one_word: bool = False
    """It goes into addresses and files about it, so it has no blanks."""
    unit: str = ""
    choices: tuple[str, ...] = ()
    lowest: float = 0
    highest: float = 1e18

    @property
    def expected(self) -> str:
        """What a cell takes, in words."""
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.kind == "text":
            return "a text"
        kind = "a whole number" if self.kind == "count" else "a number"
        unit = f" in {self.unit}" if self.unit else ""
        return f"{kind}{unit} from {plain_number(self.lowest)} to {plain_number(self.highest)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One file."""

    name: str
    columns: tuple[Column, ...]
    key: str = ""
    """The column whose values are unique, if there is one."""
    may_lack: tuple[str, ...] = ()
    """Columns that a file of one's own can do without when it is scored."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns, in order."""
        return tuple(column.name for column in self.columns)


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name) for name in names)


def _needed(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, is_needed=True) for name in names)


def _count(name: str, highest: float) -> Column:
    return Column(name=name, kind="count", lowest=1, highest=highest)


def _number(name: str, unit: str, lowest: float, highest: float) -> Column:
    return Column(name=name, kind="number", unit=unit, lowest=lowest, highest=highest)


ID = Column(name="id", is_needed=True, is_one_word=True)
QUALITY = Column(name="quality", choices=("A", "B", "C"), is_needed=True)
TRUTHS = ("true", "false")
RANK = _count("lora_rank", MAX_LORA_RANK)
GPUS = _count("num_gpus", MAX_GPUS)
LENGTH = _count("sequence_length", MAX_SEQUENCE_LENGTH)
MICRO_BATCH = _count("micro_batch_size", MAX_MICRO_BATCH_SIZE)
PARAMETERS = _number("params_b", "billions", 1e-4, 1e5)
METRICS = (
    "max_memory_allocated",
    "peak active",
    "max_memory_reserved",
    "nvidia-smi",
    "stated",
    "fits (no reading given)",
)

MEMORY = Table(
    name="memory.csv",
    key="id",
    may_lack=(
        *("source", "url", "params_b", "master_weights", "parallel_detail", "packing", "loss"),
        *("cpu_offload", "framework", "gradient_accumulation_steps", "lora_rank", "lora_targets"),
        *("gb_per_gpu_unit_unstated", "metric2", "gib2", "oom", "quality", "notes"),
    ),
    columns=(
        ID,
        *_needed("source", "url", "model"),
        PARAMETERS,
        *_texts("method"),
        RANK,
        *_texts("lora_targets", "base_dtype", "compute_dtype"),
        Column(name="master_weights", choices=("fp32", "none", "unknown")),
        *_texts("optimizer", "strategy", "parallel_detail", "gpu"),
        GPUS,
        LENGTH,
        MICRO_BATCH,
        _count("gradient_accumulation_steps", MAX_ACCUMULATION_STEPS),
        Column(name="packing", choices=TRUTHS),
        *_texts("activation_checkpointing", "attention", "loss", "cpu_offload", "framework"),
        Column(name="metric", choices=METRICS, is_needed=True),
        _number("gib_per_gpu", "GiB", 0.001, 10_000),
        _number("gb_per_gpu_unit_unstated", "GB or GiB", 0.001, 10_000),
        *_texts("metric2"),
        _number("gib2", "GiB", 0.001, 10_000),
        Column(name="oom", choices=TRUTHS),
        QUALITY,
        *_texts("notes"),
    ),
)

THROUGHPUT = Table(
    name="throughput.csv",
    key="id",
    columns=(
        ID,
        *_needed("source", "url", "model"),
        PARAMETERS,
        _number("params_active_b", "billions", 1e-4, 1e5),
        *_needed("method"),
        RANK,
        *_needed("precision"),
        *_texts("optimizer"),
        *_needed("strategy"),
        *_texts("parallel_detail"),
        *_needed("gpu"),
        GPUS,
        LENGTH,
        MICRO_BATCH,
        _count("global_batch_tokens", 1e12),
        *_texts("activation_checkpointing", "attention", "compile", "packing"),
        _number("tokens_per_second_per_gpu", "tokens per second", 0.001, 1e9),
        _number("tflops_per_gpu_stated", "TFLOP/s", 0.001, 1e6),
        _number("mfu_stated", "shares of one, not percent,", 0, 1),
        QUALITY,
        *_texts("framework_version", "notes"),
    ),
)

SUSPECTS = Table(
    name="suspects.csv",
    key="id",
    columns=(
        *_needed("id", "kind"),
        _number("measured_gib", "GiB", 0.001, 10_000),
        *_needed("reason"),
    ),
)

CAUSES = Table(
    name="causes.csv",
    columns=(*_texts("id", "source"), *_needed("cause")),
)

OTHER_CALCULATORS = Table(
    name="other-calculators.csv",
    columns=(
        *_needed("id", "calculator"),
        _number("predicted_gib", "GiB", -1e9, 1e9),
        _number("measured_gib", "GiB", 0.001, 10_000),
        *_needed("metric"),
        _number("error_pct", "percent", -1e9, 1e9),
        *_texts("basis", "method", "strategy", "regime"),
    ),
)

LEFT_OUT = Table(
    name="left-out.csv",
    columns=_needed("column", "value", "reason"),
)
"""Names that rows use and the estimate leaves out on purpose."""

TABLES = (MEMORY, THROUGHPUT, SUSPECTS, CAUSES, OTHER_CALCULATORS, LEFT_OUT)
