"""A published rate as a run that the step-time estimate takes: what its columns say.

Each row of a file with the columns of `catalog/measurements/throughput.csv` becomes a case
through its columns (never its id): the framework's words choose the kernels, the strategy's words
the sharding, blank cells the documented default. A row that the estimate does not cover is left out
with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from generator.accuracy.rows import ADAM_NAMES, ADAM_WORDS, optimizer_words
from generator.core import time_constants as constants
from generator.core.card import Card
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.model import Model
from generator.core.params import ALL_LINEAR, linear_tensors
from generator.core.run import (
    AttentionKernel,
    Checkpointing,
    MethodName,
    OptimizerImplementation,
    Precision,
    Strategy,
)
from generator.core.time_constants import Software
from generator.core.timed_run import TimedRun
from generator.measurements.contradictions import contradictions
from generator.measurements.gpu_names import find_card
from generator.measurements.models import find_entry, find_shape, read_models

ATTENTION_MODULES = frozenset(
    {"q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "query_key_value", "c_attn", "attn_c_proj"}
)
ATTENTION_ONLY_SOURCES = ("fms-acceleration",)
"""Sources that adapt only the attention projections (fms-acceleration,
benchmarks/scenarios.yaml)."""
OLD_PEFT = ("PyTorch 2.0", "torch 2.0", "torch 2.1", "torchtune")
"""Adapters in the base's dtype: PEFT before 0.12 (July 2024), and torchtune."""

OPTIMIZER_NAMES = ADAM_NAMES | {"muon"}
OPTIMIZER_WORDS = (
    OPTIMIZER_NAMES
    | ADAM_WORDS
    | {"distributed", "cpu", "offload", "4bit"}
    # What a source says that does not say which.
    | {"low", "bit", "not", "stated"}
)


class LeftOutError(Exception):
    """A row that the estimate does not cover; the text says why."""


class Models:
    """Shapes by the names that the CSV uses."""

    def __init__(self, catalog: Catalog, files: Iterable[Path]) -> None:
        self._catalog = catalog
        self._entries: dict[str, Mapping[str, Any]] = {}
        for path in files:
            self._entries.update(read_models(path, builds=False).sound())
        self._built: dict[str, Model] = {}

    def approximate(self, name: str) -> bool:
        """Only the size of the model is published, not its shape."""
        return bool(find_entry(name, self._entries).get("approximate", False))

    def model(self, name: str) -> Model:
        """The model called `name`, from the files or the catalog."""
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def _build(self, name: str) -> Model:
        found = find_shape(name, self._catalog, self._entries)
        if found is None:
            raise LeftOutError(f"no shape known for model {name}")
        if isinstance(found, str):
            return self._catalog.models[found].model
        try:
            return model_from_config(found, name=name)
        except TrainfitError as error:
            raise LeftOutError(f"model {name}: {error}") from error


def number_of(text: str) -> float | None:
    """The number in a cell, None where it holds none.

    Args:
        text: The cell.
    """
    try:
        return float(text)
    except ValueError:
        return None


def _card(name: str, catalog: Catalog) -> Card:
    found = find_card(name, catalog.cards)
    if found.id is None:
        raise LeftOutError(found.reason or f'"{name}" is a size and no card')
    return catalog.cards[found.id]


def method_of(text: str) -> MethodName:
    """The method; pretraining trains all weights, too."""
    if text in ("full", "pretrain"):
        return "full"
    if text == "lora":
        return "lora"
    if text == "qlora":
        return "qlora"
    raise LeftOutError(f"method {text!r} is not modelled")


def strategy_of(row: Mapping[str, str]) -> Strategy:
    """The strategy by what it shards; Megatron's distributed optimizer is ZeRO-1."""
    text, detail = row["strategy"], row["parallel_detail"]
    if "offload" in text.lower() or "offload" in row["optimizer"].lower():
        raise LeftOutError("offloads to host memory")
    if text == "single" or row["num_gpus"] == "1":
        return "single"
    if "ZeRO-3" in text:
        return "zero-3"
    if "ZeRO-2" in text or "SHARD_GRAD_OP" in detail:
        return "zero-2"
    if "ZeRO-1" in text or "Megatron" in text:
        return "zero-1"
    if text == "DDP":
        return "ddp"
    if "FSDP" in text or text.startswith(("HSDP", "EP=")):
        return "zero-3"
    raise LeftOutError(f"strategy {text!r} is not modelled")


def checkpointing_of(row: Mapping[str, str]) -> Checkpointing:
    """What is recomputed; a blank cell is the habit of the kind of training."""
    text = row["activation_checkpointing"]
    if text.startswith("selective"):
        return "selective"
    if text.startswith("full") or "unsloth" in text:
        return "full"
    if text == "none":
        return "none"
    if text:
        raise LeftOutError(f"activation checkpointing {text!r} is not modelled")
    # Blank is the stack's habit: pretraining stacks recompute nothing, fine-tuning tools
    # everything.
    return "none" if row["method"] == "pretrain" else "full"


def software_of(row: Mapping[str, str]) -> Software:
    """The kernels that the row's words name."""
    words = " ".join(row[name] for name in ("framework_version", "notes", "attention")).lower()
    strategy = row["strategy"]
    if "framework surogate" in words or "cuda c" in row["compile"].lower():
        found = constants.NATIVE
    elif "te flash" in words or "cudnn" in words or "Megatron" in strategy:
        found = constants.MEGATRON
    elif row["compile"] == "yes" or "framework unsloth" in words:
        found = constants.FUSED
    elif "foak" in words and row["method"] == "qlora":
        # IBM's kernels fuse the adapters of quantised bases only.
        found = constants.FUSED
    elif "foak" in words or "liger" in words:
        found = constants.FUSED_BLOCKS
    else:
        found = constants.EAGER
    if row["attention"] == "flash":
        found = replace(found, flash="flash-1")
    elif row["attention"] in ("FA3", "FA4"):
        found = replace(found, flash="vendor")
    return replace(
        found,
        kbit_upcast="baseline-peft-bnb" in words,
        fused_dequantisation="gptq" not in words or "triton" in words,
        gathers_per_module="DeepSpeed" in strategy,
        expert_loop="framework_config=none" in words,
    )


def _attention(row: Mapping[str, str]) -> AttentionKernel:
    named = row["attention"].lower()
    if "transformers" not in row["framework_version"].lower():
        # PyTorch's SDPA takes its flash kernel where nobody passes a mask.
        return "flash"
    # Transformers passes SDPA a mask, and takes it where no kernel is named.
    return "sdpa" if named in ("", "sdpa") else "eager" if named == "eager" else "flash"


def precision_of(row: Mapping[str, str]) -> Precision:
    """The recipe: mixed unless the row's words name pure 16 bit or autocast."""
    text = row["precision"]
    if text not in ("bf16", "fp16", "fp16/bf16"):
        raise LeftOutError(f"precision {text!r} is not modelled")
    words = f"{row['parallel_detail']} {row['notes']}"
    if "autocast bf16 with fp32" in words:
        return "amp"
    if "pure bf16" in words or "PURE" in words:
        return "bf16-pure"
    return "fp16-mixed" if text == "fp16" else "bf16-mixed"


def _targets(row: Mapping[str, str], model: Model) -> str | tuple[str, ...]:
    if not any(word in row["source"] for word in ATTENTION_ONLY_SOURCES):
        return ALL_LINEAR
    names = {tensor.module for tensor in linear_tensors(model)} & ATTENTION_MODULES
    return tuple(sorted(names)) or ALL_LINEAR


def stepped_by(row: Mapping[str, str], software: Software) -> tuple[float, OptimizerImplementation]:
    """State bytes per parameter (two moments, one under Muon) and the kernel that steps them.

    Blank is AdamW, which trainers take by themselves.

    Raises:
        LeftOutError: the name is not one of Adam or Muon, or has a word that nobody knows.
    """
    text = row["optimizer"].lower()
    words = set(optimizer_words(text))
    if text and not (words & OPTIMIZER_NAMES and words <= OPTIMIZER_WORDS):
        raise LeftOutError(f"speed is estimated for AdamW and Muon, not for {text[:60]!r}")
    state_bytes = (
        2.0 if "8bit" in words else 1.0 if "4bit" in words else 4.0 if "muon" in words else 8.0
    )
    one_kernel = "fused" in text or "distributed" in text or software.fused_blocks
    if "hf default" in text:
        one_kernel = False
    return state_bytes, "fused" if one_kernel else "foreach"


def case_from_row(row: Mapping[str, str], catalog: Catalog, models: Models) -> TimedRun:
    """The row as a run.

    Raises:
        LeftOutError: the row lacks something that has no default, or is outside the estimate.
    """
    for column, told in contradictions(row):
        raise LeftOutError(f"{column}: {told}")
    sequence = number_of(row["sequence_length"])
    micro = number_of(row["micro_batch_size"])
    gpus = number_of(row["num_gpus"])
    if gpus is None or sequence is None or micro is None:
        cells = (("GPU count", gpus), ("sequence length", sequence), ("micro-batch", micro))
        missing = next(name for name, value in cells if value is None)
        raise LeftOutError(f"no {missing} in the row")
    precision = precision_of(row)
    strategy = strategy_of(row)
    method = method_of(row["method"])
    model = models.model(row["model"])
    tokens = int(sequence) * int(micro) * int(gpus)
    batch = number_of(row["global_batch_tokens"])
    software = software_of(row)
    state_bytes, implementation = stepped_by(row, software)
    if precision == "bf16-pure":
        state_bytes /= 2
    return TimedRun(
        model=model,
        card=_card(row["gpu"], catalog),
        method=method,
        precision=precision,
        strategy=strategy,
        num_gpus=int(gpus),
        sequence_length=int(sequence),
        micro_batch_size=int(micro),
        gradient_accumulation_steps=max(1, round((batch or tokens) / tokens)),
        activation_checkpointing=checkpointing_of(row),
        attention=_attention(row),
        loss="standard",
        lora_rank=int(number_of(row["lora_rank"]) or 16),
        target_modules=_targets(row, model),
        adapter_dtype=(
            "bf16" if any(word in row["framework_version"] for word in OLD_PEFT) else "fp32"
        ),
        # No column says so; the recipes behind the rows (scenarios.yaml, finetune.py) set it
        # to 0.05 or 0.1.
        adapter_dropout=True,
        optimizer_state_bytes_per_parameter=state_bytes,
        optimizer_implementation=implementation,
        software=software,
    )
