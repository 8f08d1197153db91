"""A training set-up with its card, as the step-time estimate takes it."""

from dataclasses import dataclass

from generator.core import time_constants as constants
from generator.core.card import Card
from generator.core.errors import TrainfitError
from generator.core.model import Model
from generator.core.params import ALL_LINEAR
from generator.core.run import (
    AdapterDType,
    AttentionKernel,
    Checkpointing,
    Loss,
    MethodName,
    OptimizerImplementation,
    Precision,
    Strategy,
)
from generator.core.time_constants import Software

ADAMW_STATE_BYTES = 8.0
"""Two FP32 moments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """A training set-up on a card. A count below 1 raises a `TrainfitError` (code
    `out-of-range`).
    """

    model: Model
    """Its shapes."""
    card: Card
    """With its peaks, bandwidth, link and GPUs per node."""
    method: MethodName
    """What is trained."""
    precision: Precision
    """The recipe; matrix products run in 16 bit except under `fp32` (TF32)."""
    strategy: Strategy
    """Data-parallel strategy."""
    num_gpus: int
    """GPUs that share the batch."""
    sequence_length: int
    """Tokens per packed sequence."""
    micro_batch_size: int
    """Sequences per GPU and pass."""
    gradient_accumulation_steps: int
    """Micro-batches per optimizer step."""
    activation_checkpointing: Checkpointing
    """What is computed a second time."""
    attention: AttentionKernel
    """`flash` computes the causal half. `sdpa` is PyTorch's kernel with a mask, over the square.
    `eager` writes the scores out; soft caps and sinks force it, except in a vendor's kernel."""
    loss: Loss
    """`fused` and `chunked` cross-entropy never write all logits in FP32."""
    lora_rank: int = 16
    """Adapter rank, for LoRA and QLoRA."""
    target_modules: str | tuple[str, ...] = ALL_LINEAR
    """Adapted matrices."""
    adapter_dtype: AdapterDType = "fp32"
    """FP32 adapters cast their input."""
    adapter_dropout: bool = False
    """Dropout in front of each adapter."""
    trains_head: bool = False
    """The head is trained beside the adapters."""
    optimizer_state_bytes_per_parameter: float = ADAMW_STATE_BYTES
    """What the optimizer keeps and rewrites each step."""
    optimizer_implementation: OptimizerImplementation = "fused"
    """One kernel, or several passes over the states."""
    software: Software = constants.EAGER
    """Kernels of the stack (`time_constants.SOFTWARE_BY_STACK`)."""

    def __post_init__(self) -> None:
        for field, value in (
            ("num_gpus", self.num_gpus),
            ("sequence_length", self.sequence_length),
            ("micro_batch_size", self.micro_batch_size),
            ("gradient_accumulation_steps", self.gradient_accumulation_steps),
        ):
            if value < 1:
                raise TrainfitError("out-of-range", field, f"{field} is {value}; use 1 or more.")
