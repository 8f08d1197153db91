"""What an optimizer keeps per parameter."""

from dataclasses import dataclass
from typing import Literal

StateShape = Literal["full", "factored", "row", "low-rank", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerState:
    """One state tensor per parameter tensor, under its PyTorch key (`exp_avg`, `momentum_buffer`).

    `shape`: `full` as large as the parameter; `factored` one vector per side of a matrix (vectors keep
    a full state); `row` one value per output row; `low-rank` `rank` values per column of the longer side.
    `only`: restricts the state to `matrices` (2-D weights inside the blocks) or to the `rest`.
    """

    name: str
    dtype: Literal["fp32", "bf16", "blockwise-8bit"] = "fp32"
    shape: StateShape = "full"
    only: Literal["all", "matrices", "rest"] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """An optimizer as its usual implementation stores it.

    `foreach_temporaries`: copies of one full-size state that the default multi-tensor implementation
    makes at the step; fused kernels make none. `in_backward`: the update runs per tensor during backward,
    so gradients never accumulate. `paged`: states may move to host memory under pressure (counted in full).
    """

    id: str
    name: str
    states: tuple[OptimizerState, ...]
    paged: bool = False
    in_backward: bool = False
    rank: int | None = None
    min_blockwise_elements: int = 0
    """Tensors smaller than this keep FP32 states (bitsandbytes: 4096)."""
    foreach_temporaries: bool = False
    follows_parameter_dtype: bool = False
    """The states take the trained weights' own dtype, as `torch.optim` does with `zeros_like(parameter)`:
    FP32 beside an FP32 master or FP32 weights, 16 bit when pure 16-bit weights are trained."""
    shards_with_zero: bool = True
    aliases: tuple[str, ...] = ()
