"""What a run looks like: method, precision, batch, checkpointing, strategy, GPU count."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from generator.core.model import Model
from generator.core.optimizer import Optimizer
from generator.core.stack import Stack

MethodName = Literal["full", "lora", "qlora"]
Precision = Literal["bf16-mixed", "bf16-pure", "fp16-mixed", "amp", "fp32"]
"""`bf16-mixed`: 16-bit weights and gradients with an FP32 master. `bf16-pure`: no master.
`fp16-mixed`: as `bf16-mixed` in FP16. `amp`: FP32 weights under 16-bit autocast. `fp32`: FP32
throughout."""
Strategy = Literal["single", "ddp", "zero-1", "zero-2", "zero-3"]
Checkpointing = Literal["none", "selective", "full"]
AttentionKernel = Literal["flash", "sdpa", "eager"]
Loss = Literal["standard", "chunked", "fused"]
AdapterDType = Literal["fp32", "bf16"]
BaseDType = Literal["nf4", "nf4-dq", "gptq-int4", "int8"]
OptimizerImplementation = Literal["fused", "foreach", "in-backward"]
"""`in-backward`: each tensor is stepped as soon as its gradient is there, and the gradient
freed."""

METHODS: tuple[MethodName, ...] = get_args(MethodName)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
CHECKPOINTINGS: tuple[Checkpointing, ...] = get_args(Checkpointing)
ATTENTION_KERNELS: tuple[AttentionKernel, ...] = get_args(AttentionKernel)
LOSSES: tuple[Loss, ...] = get_args(Loss)
ADAPTER_DTYPES: tuple[AdapterDType, ...] = get_args(AdapterDType)
BASE_DTYPES: tuple[BaseDType, ...] = get_args(BaseDType)
OPTIMIZER_IMPLEMENTATIONS: tuple[OptimizerImplementation, ...] = get_args(OptimizerImplementation)

MAX_GPUS = 1 << 16
MAX_SEQUENCE_LENGTH = 1 << 24
MAX_MICRO_BATCH_SIZE = 1 << 16
MAX_ACCUMULATION_STEPS = 1 << 20
MAX_LORA_RANK = 1 << 16
"""What a run may be asked for at most, far beyond any that there was; solvers end there."""

ZERO_STAGE: dict[Strategy, int] = {"single": 0, "ddp": 0, "zero-1": 1, "zero-2": 2, "zero-3": 3}
SHARDED_FROM_STAGE = {"weights": 3, "master_weights": 1, "gradients": 2, "optimizer_states": 1}
"""The ZeRO stage from which on a line is split over the GPUs. Source: S-ZERO section 5; the FP32
master is part of the optimizer partition."""


def shard_divisor(line: str, *, zero_stage: int, num_gpus: int) -> int:
    """Over how many GPUs a resident line is split.

    Shape: N from the line's stage of `SHARDED_FROM_STAGE` on, else 1.
    Source: S-ZERO section 5.
    """
    return num_gpus if zero_stage >= SHARDED_FROM_STAGE[line] else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """A low-rank adapter: which matrices get one, how wide, in which dtype.

    `train_embeddings` and `train_head` make full trainable copies of those two, as PEFT's
    `modules_to_save` does.
    """

    rank: int = 16
    target_modules: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    adapter_dtype: AdapterDType = "fp32"
    base_dtype: BaseDType = "nf4-dq"
    """Storage of a quantised base's linear layers; QLoRA only."""
    dropout: bool = False
    train_embeddings: bool = False
    train_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The micro-batch that one GPU processes, and how its activations are kept."""

    sequence_length: int = 2048
    micro_batch_size: int = 1
    gradient_accumulation_steps: int = 8
    activation_checkpointing: Checkpointing = "full"
    attention: AttentionKernel = "flash"
    loss: Loss = "standard"

    @property
    def num_tokens(self) -> int:
        """Tokens in one micro-batch."""
        return self.sequence_length * self.micro_batch_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fully determined training set-up on one kind of GPU, card excepted."""

    model: Model
    optimizer: Optimizer
    stack: Stack
    method: MethodName = "full"
    lora: Lora = field(default_factory=Lora)
    precision: Precision = "bf16-mixed"
    optimizer_implementation: OptimizerImplementation = "fused"
    strategy: Strategy = "single"
    num_gpus: int = 1
    workload: Workload = field(default_factory=Workload)

    @property
    def steps_in_backward(self) -> bool:
        """Gradients never live together."""
        return self.optimizer.in_backward or self.optimizer_implementation == "in-backward"

    @property
    def trains_head(self) -> bool:
        """The head is trained beside the adapters."""
        return self.lora.train_head and self.method != "full"

    @property
    def zero_stage(self) -> int:
        """What is sharded: 0 nothing, 1 optimizer states and master, 2 also gradients, 3 also
        weights.
        """
        return ZERO_STAGE[self.strategy] if self.num_gpus > 1 else 0
