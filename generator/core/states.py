"""Bytes of optimizer state, exact to the byte from the shapes of the trained tensors.

Symbols, per matrix of a tensor: m rows, n columns, r rank of a low-rank optimizer.
"""

from functools import lru_cache

from generator.core.dtypes import BF16, BLOCKWISE_8BIT, FP32, DType
from generator.core.errors import TrainfitError
from generator.core.model import Tensor
from generator.core.optimizer import Optimizer, OptimizerState

# torchao's four-bit state: two elements a byte, one FP32 scale per 128 elements.
BLOCKWISE_4BIT = DType(name="blockwise-4bit", bits=4, block_size=128, scale_bits=32)
# torchao's FP8 state: one FP32 scale per 256 elements.
BLOCKWISE_FP8 = DType(name="blockwise-fp8", bits=8, block_size=256, scale_bits=32)

STATE_DTYPES: dict[str, DType] = {
    dtype.name: dtype for dtype in (FP32, BF16, BLOCKWISE_8BIT, BLOCKWISE_4BIT, BLOCKWISE_FP8)
}
"""Every storage that an optimizer state may name."""


def _matrix_sides(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """How many matrices a tensor stacks, and their rows and columns."""
    rows, columns = shape[-2:]
    stacked = 1
    for side in shape[:-2]:
        stacked *= side
    return stacked, rows, columns


def state_elements(state: OptimizerState, tensor: Tensor, *, rank: int | None = None) -> int:
    """Elements that one state keeps for one tensor (not for all `tensor.count` of them).

    Shape: full [m, n]; factored [m] + [n]; row [m]; low-rank [r, longer]; projector [r, shorter].
    Counts: a rank above the shorter side as the shorter side, as the projections cannot be larger.
    Ignores: Adam-mini's query and key weights keep one value per head, not per row (under 0.01 %).

    Args:
        state: What to keep.
        tensor: The trained tensor.
        rank: Rank of the optimizer; needed by `low-rank` and `projector`.

    Raises:
        TrainfitError: a low-rank state without a rank (code `missing-fact`).

    Source: S-ADAFACTOR (arXiv:1804.04235) section 3, S-ADAM-MINI (arXiv:2406.16793) algorithm 3,
    S-GALORE (arXiv:2403.03507) table 1 and its `galore_projector.py`, S-APOLLO (arXiv:2412.05270).
    """
    if state.shape == "none":
        return 0
    if state.shape == "full":
        return tensor.size
    if len(tensor.shape) == 1:
        return 1 if state.shape == "row" and tensor.kind != "bias" else tensor.size
    stacked, rows, columns = _matrix_sides(tensor.shape)
    if state.shape == "row":
        return stacked * rows
    if state.shape == "factored":
        return stacked * (rows + columns)
    if rank is None:
        raise TrainfitError(
            "missing-fact",
            "optimizer.rank",
            f"state `{state.name}` is {state.shape} but the optimizer has no rank; "
            "add `rank` to its record.",
        )
    shorter, longer = min(rows, columns), max(rows, columns)
    side = longer if state.shape == "low-rank" else shorter
    return stacked * min(rank, shorter) * side


def _applies(state: OptimizerState, tensor: Tensor) -> bool:
    """Whether the state exists for this tensor: some optimizers treat block matrices and the rest
    apart.
    """
    if state.only == "all":
        return True
    is_block_matrix = tensor.kind in {"linear", "expert"} and len(tensor.shape) > 1
    return is_block_matrix == (state.only == "matrices")


def _storage(
    optimizer: Optimizer, state: OptimizerState, num_elements: int, *, pure_16bit: bool
) -> DType:
    """Storage of one state tensor, small tensors and ragged blocks kept in full."""
    dtype = STATE_DTYPES[state.dtype]
    full = BF16 if pure_16bit and optimizer.follows_parameter_dtype else FP32
    if dtype is FP32:
        return full
    if dtype.block_size:
        is_small = num_elements < optimizer.min_blockwise_elements
        is_ragged = optimizer.whole_blocks_only and num_elements % dtype.block_size != 0
        if is_small or is_ragged:
            return full
    return dtype


@lru_cache(maxsize=4096)
def optimizer_state_bytes(
    optimizer: Optimizer,
    tensors: tuple[Tensor, ...],
    *,
    pure_16bit: bool = False,
    embeddings_in_fp32: bool = False,
) -> int:
    """Bytes of all optimizer states for the trained tensors, before any sharding.

    Shape: per tensor and state as in `state_elements`, each tensor's blocks and bytes rounded up.
    Counts: FP32 scales of block formats; full states of tensors below `min_blockwise_elements`.
    Ignores: step counters (4 bytes a tensor), the 2 KiB of dequantisation tables, allocator
    rounding.

    Args:
        optimizer: Whose states.
        tensors: The trained tensors: all weights, or the adapters of a LoRA run.
        pure_16bit: Whether the optimizer steps 16-bit weights themselves, without an FP32 master:
            then the states of optimizers with `follows_parameter_dtype` are 16 bit too.
        embeddings_in_fp32: Whether a block format leaves embeddings in FP32, as the Hugging Face
            Trainer asks bitsandbytes to do.

    Source: S-ADAM-8BIT (arXiv:2110.02861) and bitsandbytes `optim/optimizer.py`: blocks of 256,
    FP32 below 4,096 elements; torchao `optim/adam.py`; checked by tests/core/test_states.py.
    """
    total = 0
    for tensor in tensors:
        for state in optimizer.states:
            if not _applies(state, tensor):
                continue
            num_elements = state_elements(state, tensor, rank=optimizer.rank)
            dtype = _storage(optimizer, state, num_elements, pure_16bit=pure_16bit)
            if embeddings_in_fp32 and tensor.kind == "embedding" and dtype.block_size:
                dtype = FP32
            total += tensor.count * dtype.bytes_for(num_elements)
    return total
