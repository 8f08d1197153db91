"""What is written for a tool, and what a tool's file says."""

from dataclasses import dataclass
from typing import Literal

from generator.core.card import Card
from generator.core.dataset import Dataset
from generator.core.params import tensors
from generator.core.run import Case
from generator.core.units import ceil_div, join_words

Half = Literal["bf16", "fp16"]
"""The 16-bit format of a run."""

PLACEHOLDER_MODEL = "path/to/your-model"
FIRST_MACHINE = "FIRST-MACHINE"
"""Stands for the address of the machine that the others meet at."""
GPUS_PER_MACHINE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile:
    """One file of a launch configuration."""

    filename: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that starts one run with one tool."""

    files: tuple[LaunchFile, ...]
    """The tool's own file first."""
    command: str
    """What to type, with the files in the working directory."""
    notes: tuple[str, ...]
    """What the tool cannot say or does otherwise, in sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A request in the form that the writers need: settled, and with the names that tools know."""

    case: Case
    card: Card | None
    model_id: str | None
    """Catalog id; None for a pasted config or a bare parameter count."""
    model_name: str
    """Hugging Face repository, or `PLACEHOLDER_MODEL`."""
    dataset: Dataset

    @property
    def epochs(self) -> float:
        """Passes over the data set, without a fraction where they are whole."""
        epochs = self.dataset.epochs
        return int(epochs) if epochs.is_integer() else epochs

    @property
    def half(self) -> Half:
        """FP16 where the recipe asks for it or the card has no BF16."""
        lacks_bf16 = self.card is not None and not self.card.supports_bf16
        return "fp16" if self.case.precision == "fp16-mixed" or lacks_bf16 else "bf16"

    @property
    def num_machines(self) -> int:
        """Hosts, of as many GPUs as most have."""
        return ceil_div(self.case.num_gpus, GPUS_PER_MACHINE)

    @property
    def gpus_per_machine(self) -> int:
        """The same on each host."""
        return ceil_div(self.case.num_gpus, self.num_machines)

    @property
    def is_adapter(self) -> bool:
        """LoRA and QLoRA."""
        return self.case.method != "full"

    @property
    def is_mixed(self) -> bool:
        """16-bit weights with an FP32 master, where weights are trained."""
        return self.case.precision in ("bf16-mixed", "fp16-mixed")

    @property
    def attention(self) -> str:
        """The kernel in Transformers' words."""
        kernel = self.case.workload.attention
        if kernel == "flash" and self.lacks_flash_attention:
            kernel = "sdpa"
        return "flash_attention_2" if kernel == "flash" else kernel

    @property
    def lacks_flash_attention(self) -> bool:
        """The card has no FlashAttention kernel."""
        return self.card is not None and not self.card.supports_flash_attention

    def modules_to_save(self) -> list[str]:
        """Names of the embedding and head that are trained in full beside the adapters."""
        lora = self.case.lora
        wanted = {"embedding": lora.train_embeddings, "head": lora.train_head}
        named = {
            tensor.module for tensor in tensors(self.case.model) if wanted.get(tensor.kind, False)
        }
        return sorted(named)


def placeholder_note(plan: Plan, *own: str) -> str:
    """What is written and the request does not say, for the tools whose file trains by itself.

    Args:
        plan: What is written.
        own: Placeholders of this tool alone, in words.
    """
    names = ["Model repository", *own, "data set", "learning rate", "output folder"]
    if plan.is_adapter:
        names.append("LoRA alpha")
        if plan.case.lora.dropout:
            names.append("dropout rate")
    return f"{join_words(names)} are placeholders: set your own."


def common_notes(plan: Plan) -> list[str]:
    """What holds for every tool.

    Args:
        plan: What is written.
    """
    notes: list[str] = []
    if plan.model_id is None:
        notes.append(f"The model has no name in the catalog: replace {PLACEHOLDER_MODEL}.")
    if plan.card is not None and not plan.card.supports_bf16 and plan.case.precision != "fp32":
        notes.append(f"{plan.card.name} has no BF16: written as FP16, with the same bytes.")
    wants_flash = plan.case.workload.attention == "flash"
    if plan.card is not None and wants_flash and plan.lacks_flash_attention:
        notes.append(f"{plan.card.name} has no FlashAttention: written as SDPA.")
    if plan.num_machines > 1:
        notes.append(
            f"{plan.case.num_gpus} GPUs are taken to be {plan.num_machines} machines: start the "
            "command on each, with its rank and the first machine's address."
        )
    return notes
