"""What the oracle is asked: one training set-up, in the words that the estimator uses for the
same things."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Method = Literal["full", "lora", "qlora"]
Precision = Literal["bf16-pure", "amp", "bf16-mixed"]
OptimizerName = Literal["adamw", "sgd", "sgd-momentum", "adafactor", "adamw-8bit"]
Implementation = Literal["fused", "foreach", "for-loop"]
Strategy = Literal["single", "ddp", "fsdp2"]
Checkpointing = Literal["none", "selective", "full"]
"""`selective`: torchtitan's policy `op`, by operator."""
AttentionName = Literal["sdpa", "eager"]
LossForm = Literal["v5", "v4"]
DTypeName = Literal["fp32", "bf16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One set-up; the defaults are those of a plain single-GPU run."""

    model: str
    """Id of a catalog model, or any name where `config` is given."""
    config: dict[str, Any] | None = None
    """Hugging Face config, instead of the catalog's."""
    num_hidden_layers: int | None = None
    """Cut the model to this many layers."""
    method: Method = "full"
    precision: Precision = "bf16-pure"
    """`bf16-pure`: everything in bf16. `amp`: autocast over FP32 weights; with LoRA over a bf16
    base. `bf16-mixed`: bf16 weights with an FP32 master copy in the optimizer. Under `fsdp2`,
    `amp` is FP32 shards with `MixedPrecisionPolicy(param_dtype=bf16)`."""
    optimizer: OptimizerName = "adamw"
    optimizer_implementation: Implementation = "fused"
    strategy: Strategy = "single"
    num_gpus: int = 1
    sequence_length: int = 1024
    micro_batch_size: int = 1
    gradient_accumulation_steps: int = 1
    activation_checkpointing: Checkpointing = "none"
    attention: AttentionName = "sdpa"
    loss: LossForm = "v5"
    """`v5`: transformers 4.49 and later shift the labels. `v4`: earlier ones copy shifted FP32
    logits."""
    hold_outputs: bool = False
    """The caller keeps the model's outputs, and so the logits, until after backward."""
    lora_rank: int = 16
    target_modules: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    adapter_dtype: DTypeName = "fp32"
    lora_dropout: float = 0.0
    double_quantisation: bool = True
    kbit_preparation: bool = False
    """peft's `prepare_model_for_kbit_training`: whatever is not quantised goes to FP32."""
    gradient_dtype: DTypeName = "bf16"
    """`bf16-mixed` only: `fp32` keeps accumulated FP32 gradients, as Megatron does."""
    reduce_dtype: DTypeName = "fp32"
    """`fsdp2` with `amp` only: in which precision gradients are reduced."""
    gradient_as_bucket_view: bool = False
    """`ddp` only."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; use one of {', '.join(choices)}"
                )
        if self.strategy == "single" and self.num_gpus != 1:
            raise ValueError(
                f"strategy single runs on 1 GPU, not {self.num_gpus}; use fsdp2 or ddp"
            )
        if self.strategy != "single" and self.num_gpus < 2:
            raise ValueError(f"strategy {self.strategy} needs num_gpus of 2 or more")
        if self.strategy == "fsdp2" and self.method == "qlora":
            raise ValueError("the oracle does not shard quantised weights; use lora under fsdp2")
        if self.method != "full" and self.precision == "bf16-mixed":
            raise ValueError("bf16-mixed is for full fine-tuning; adapters take bf16-pure or amp")

    @property
    def autocast(self) -> bool:
        """Whether the forward pass runs under `torch.autocast`; FSDP2 casts by its own policy
        instead."""
        return self.precision == "amp" and not (self.strategy == "fsdp2" and self.method == "full")

    @property
    def num_tokens(self) -> int:
        """Tokens of one micro-batch."""
        return self.sequence_length * self.micro_batch_size


_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "precision": get_args(Precision),
    "optimizer": get_args(OptimizerName),
    "optimizer_implementation": get_args(Implementation),
    "strategy": get_args(Strategy),
    "activation_checkpointing": get_args(Checkpointing),
    "attention": get_args(AttentionName),
    "loss": get_args(LossForm),
    "adapter_dtype": get_args(DTypeName),
    "gradient_dtype": get_args(DTypeName),
    "reduce_dtype": get_args(DTypeName),
}


def case_from_dict(values: dict[str, Any]) -> Case:
    """A case from plain JSON values; unknown names are errors."""
    known = {entry.name for entry in dataclasses.fields(Case)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(
            f"unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    targets = values.get("target_modules")
    if isinstance(targets, list):
        values = {**values, "target_modules": tuple(targets)}
    return Case(**values)


def case_from_json(text: str) -> Case:
    """A case from a JSON object."""
    values = json.loads(text)
    if not isinstance(values, dict):
        kind = type(values).__name__
        raise ValueError(f"a case is one JSON object, not {kind}")  # noqa: TRY004  bad input, no bug
    return case_from_dict(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePeak:
    """The worst instant of one phase of the second step."""

    total_bytes: int
    """Live tensors and the kernel's own workspace."""
    workspace_bytes: int
    op: str
    """The operator that ran at that instant."""
    by_category: dict[str, int]
    """Live tensor bytes by what they are for; without the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTensor:
    """One storage alive at the peak."""

    size_bytes: int
    category: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the second step of a case allocates on one GPU."""

    case: Case
    num_parameters: int
    num_trainable_parameters: int
    phases: dict[str, PhasePeak]
    """By phase: `forward` (the loss included), `backward`, `step`."""
    parameter_bytes: int
    """Weights and buffers resident all the time, adapters included."""
    gradient_bytes: int
    """Gradients when the optimizer steps."""
    optimizer_bytes: int
    """Optimizer states after the step, master weights included."""
    forward_end_bytes: int
    """Live tensors when the forward pass has returned the loss."""
    seconds: float
    top: list[LiveTensor] = field(default_factory=list)

    @property
    def peak_phase(self) -> str:
        """The phase that holds most."""
        return max(self.phases, key=lambda phase: self.phases[phase].total_bytes)

    @property
    def peak(self) -> PhasePeak:
        """The worst instant of the step."""
        return self.phases[self.peak_phase]
