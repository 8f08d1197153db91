"""What an optimizer keeps per parameter."""

from dataclasses import dataclass
from typing import Literal

StateDType = Literal["fp32", "bf16", "blockwise-8bit", "blockwise-4bit", "blockwise-fp8"]
StateShape = Literal["full", "factored", "row", "low-rank", "projector", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerState:
    """One state tensor per parameter tensor, under its PyTorch key (`exp_avg`, `momentum_buffer`).

    Sizes are in `generator.core.states`; tensors with more than two sides are stacks of matrices.
    """

    name: str
    """Key under which the implementation keeps the state."""
    dtype: StateDType = "fp32"
    """Storage of one element; block formats keep an FP32 scale per block beside the elements."""
    shape: StateShape = "full"
    """`full`: as large as the parameter. `factored`: one vector per side of a matrix (vectors keep
    a full state). `row`: one value per output row of a matrix, one per vector (biases keep a full
    state). `low-rank`: `rank` values per column of the longer side. `projector`: `rank` values per
    column of the shorter side. `none`: nothing."""
    only: Literal["all", "matrices", "rest"] = "all"
    """`matrices`: linear and expert weights; `rest`: embeddings, head, norms, biases,
    convolutions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """An optimizer as its usual implementation stores it."""

    id: str
    """File name, and part of every row id."""
    name: str
    """As its users write it."""
    states: tuple[OptimizerState, ...]
    """State tensors; none for plain SGD."""
    paged: bool = False
    """States may move to host memory under pressure; they are counted in full."""
    in_backward: bool = False
    """The update runs tensor by tensor during backward, so gradients never accumulate."""
    rank: int | None = None
    """Rank of the `low-rank` and `projector` states."""
    min_blockwise_elements: int = 0
    """Tensors smaller than this keep FP32 states (bitsandbytes: 4096)."""
    whole_blocks_only: bool = False
    """Tensors that are no whole number of blocks keep FP32 states (torchao)."""
    follows_parameter_dtype: bool = False
    """FP32 states are created like the copy of the weights that the optimizer steps: FP32 with
    master weights or FP32 weights, 16 bit without. False where the implementation fixes the dtype
    itself."""
    foreach_temporaries: bool = False
    """The default multi-tensor implementation copies one full-size state at the step; a fused one
    does not."""
    largest_tensor_temporaries: int = 0
    """FP32 copies of the largest tensor that the step holds while it works tensor by tensor
    (measured)."""
    shards_with_zero: bool = True
    """The states split over the ranks of ZeRO-1 and above."""
    implementation: str = ""
    """The class that the record describes."""
    note: str = ""
    """What a reader must know and no field says."""
    aliases: tuple[str, ...] = ()
    """Former ids and the names that training tools give it."""
