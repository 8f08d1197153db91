"""A published measurement as a request: what its columns say, in the words of the estimator.

Everything is read from the columns that state it. A row that leaves something out which moves the
answer is skipped with the reason.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.core import params
from generator.core.catalog import Catalog
from generator.core.hf_config import model_from_config
from generator.core.model import Model
from generator.core.nearest import did_you_mean, is_misspelling
from generator.core.units import GIB
from generator.measurements.contradictions import contradictions
from generator.measurements.gpu_names import find_card
from generator.measurements.models import find_shape

Row = Mapping[str, str]

LOGGED_BY_THE_TOOL = ("torchtune", "axolotl", "ms-swift", "litgpt", "unsloth")
"""A figure without a named meter from these comes from their own log, which reads PyTorch's
allocator; from others it is taken for the card's."""

METRICS = {
    "max_memory_allocated": "allocated",
    "peak active": "allocated",
    "max_memory_reserved": "reserved",
    "nvidia-smi": "total",
    "stated": "total",
    "fits (no reading given)": "total",
}
"""What a reading is to be compared with."""

STRATEGIES = {
    "single": "single",
    "ddp": "ddp",
    "fsdp": "zero-3",
    "fsdp_qlora": "zero-3",
    "zero1": "zero-1",
    "zero2": "zero-2",
    "zero3": "zero-3",
    "zero-1": "zero-1",
    "zero-2": "zero-2",
    "zero-3": "zero-3",
}

ALL_TARGETS = ("all-linear", "all linear", "all")
TARGET_WORDS: dict[str, tuple[str, ...]] = {
    "q": ("q_proj", "qkv_proj"),
    "k": ("k_proj", "qkv_proj"),
    "v": ("v_proj", "qkv_proj"),
    "o": ("o_proj",),
    "gate": ("gate_proj", "gate_up_proj"),
    "up": ("up_proj", "gate_up_proj"),
    "down": ("down_proj",),
    "mlp": ("gate_proj", "up_proj", "gate_up_proj", "down_proj"),
    # Qwen 1 names: fused attention input, one name for both output projections, gate and up.
    "c_attn": ("q_proj", "k_proj", "v_proj", "qkv_proj"),
    "c_proj": ("o_proj", "down_proj"),
    "w1": ("gate_proj", "up_proj"),
    "w2": ("gate_proj", "up_proj"),
}


OTHER_TARGETS = frozenset(
    {
        *("head", "lm_head", "embed", "embed_tokens", "full", "+", "&"),
        *("in_proj", "out_proj", "w3", "linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"),
    }
)
"""Further words among targets: what is no linear layer, and layers of other models, which tools
list for all alike."""


class SkippedError(Exception):
    """The row cannot be scored; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCase:
    """A row in the estimator's words: the request, what to compare, and the measured bytes."""

    request: dict[str, Any]
    compared: str
    measured_bytes: int | None
    second_measured_bytes: int | None
    """The driver's reading, where the row has it beside the allocator's."""
    unjudged: str | None
    """Why no card gives a verdict."""


def _text(row: Row, name: str) -> str:
    return (row.get(name) or "").strip()


def _integer(row: Row, name: str) -> int:
    text = _text(row, name)
    if not text:
        raise SkippedError(f"{name} is not stated")
    try:
        return int(float(text))
    except ValueError:
        raise SkippedError(f"{name} {text!r} is no number") from None


def find_model(
    name: str, catalog: Catalog, extra: Mapping[str, Mapping[str, Any]]
) -> tuple[Model, dict[str, Any] | str]:
    """The model of a row: its record and how a request names it.

    Args:
        name: Hugging Face name as the row has it.
        catalog: The catalog.
        extra: Configs, or ids in the catalog, by the names that rows use.

    Raises:
        SkippedError: nobody has a config of it.
    """
    found = find_shape(name, catalog, extra)
    if found is None:
        raise SkippedError(f"no config for model {name!r}")
    if isinstance(found, str):
        return catalog.models[found].model, found
    config = dict(found)
    return model_from_config(config, name=name), {"config": config}


def _target_words(row: Row) -> list[str]:
    text = re.sub(r"\(.*?\)", "", _text(row, "lora_targets")).strip()
    return [text] if text in ALL_TARGETS else re.split(r"[,\s]+", text) if text else []


def find_target_fault(row: Row, model: Model) -> str | None:
    """Which of a row's targets no model has, or None where each is known.

    Args:
        row: The row's text by column.
        model: The row's model.
    """
    known = {tensor.module for tensor in params.linear_tensors(model)}
    known |= {*OTHER_TARGETS, *ALL_TARGETS, *TARGET_WORDS, *dict(model.module_names).values()}
    known |= {module for modules in TARGET_WORDS.values() for module in modules}
    for word in _target_words(row):
        if word not in known and word.removesuffix("_proj") not in TARGET_WORDS:
            hint = did_you_mean(word[:60], known) or "; write module names with commas"
            return f'no model has a module "{word[:60]}"{hint}'
    return None


def _targets(row: Row, model: Model) -> str | list[str]:
    words = _target_words(row)
    if not words:
        raise SkippedError("lora_targets are not stated")
    if words[0] in ALL_TARGETS:
        return "all-linear"
    own = dict(model.module_names)
    known = {tensor.module for tensor in params.linear_tensors(model)}
    found: set[str] = set()
    for word in words:
        short = word.removesuffix("_proj")
        for usual in TARGET_WORDS.get(short, (word,)):
            module = own.get(usual, usual)
            if module in known:
                found.add(module)
    if not found:
        text = re.sub(r"\(.*?\)", "", _text(row, "lora_targets")).strip()
        raise SkippedError(f"lora_targets {text!r} name no module of the model")
    if fault := find_target_fault(row, model):
        raise SkippedError(f"lora_targets: {fault}")
    return sorted(found)


def _precision(row: Row, method: str) -> str:
    base, compute, master = (
        _text(row, name) for name in ("base_dtype", "compute_dtype", "master_weights")
    )
    if compute.startswith(("float8", "mxfp8")):
        raise SkippedError(f"compute in {compute} is not modelled")
    if base == "fp32":
        if method != "full":
            raise SkippedError("an FP32 base under an adapter is not modelled")
        return "fp32" if compute == "fp32" else "amp"
    if method != "full":
        # "none" says that nothing is kept in FP32 but the adapters, and no autocast runs.
        return "bf16-pure" if master == "none" else "bf16-mixed"
    if base not in ("bf16", "fp16", ""):
        raise SkippedError(f"full training of a base in {base} is not modelled")
    if master == "none":
        return "bf16-pure"
    if master == "fp32":
        # FSDP has no master apart: its sharded weights are FP32 and gathered in 16 bit.
        return "amp" if _text(row, "strategy") == "fsdp" else "bf16-mixed"
    if "zero" in _text(row, "strategy") and (base or compute):
        # DeepSpeed steps an FP32 master whenever its 16-bit mode is on.
        return "bf16-mixed"
    raise SkippedError("master_weights are not stated")


OPTIMIZER_WORD = re.compile(r"\d+[-_ ]?bit|bf16|[a-z]+|\d+")
"""Words and widths of an optimizer's name: `adamw`, `8bit`, `torch` in `adamw_torch 8-bit`."""

ADAM_NAMES = frozenset({"adam", "adamw", "pagedadam", "pagedadamw"})
ADAM_WORDS = frozenset(
    {
        *ADAM_NAMES,
        *("w", "paged", "8bit", "32bit", "fused", "foreach", "false", "default"),
        *("bnb", "bitsandbytes", "torch", "torchao", "ao", "hf", "apex", "swift", "deepspeed"),
        *("in", "backward", "if", "quantized"),
    }
)
"""All that a source may say around Adam's name. Another word makes another optimizer of it, or is
a slip: `adamw_9bit`, `page_adamw`."""

RANKED = ("galore", "apollo")
NOT_AS_RECORDED: Mapping[str, str] = {
    **dict.fromkeys(RANKED, "no column has its rank"),
    "lomo": "write lomo or adalomo if it is one of these",
    "4bit": "write ao-adamw-4bit if it is torchao's",
    **dict.fromkeys(("distributed", "megatron"), "Megatron shards its states in its own way"),
}
"""Words of optimizers that the catalog may have, and why a row is not taken for one of them."""


def optimizer_words(text: str) -> list[str]:
    """Words of an optimizer's name in lower case, widths written together: `8bit`."""
    return [re.sub(r"[-_ ](?=bit)", "", word) for word in OPTIMIZER_WORD.findall(text)]


def _same_name(text: str) -> str:
    return text.lower().replace("_", "-")


def optimizer_of(row: Row, catalog: Catalog) -> tuple[str, str]:
    """Optimizer id and implementation.

    Args:
        row: The row's text by column.
        catalog: The catalog.

    Raises:
        SkippedError: it is not stated, not in the catalog, or used in a way that no record has.
    """
    text = _text(row, "optimizer").lower()
    if not text:
        raise SkippedError("optimizer is not stated")
    words = optimizer_words(text)
    names = {
        name: known.id
        for known in catalog.optimizers.values()
        for name in (known.id, *known.aliases)
    }
    own = {_same_name(name): id_ for name, id_ in names.items()}.get(_same_name(text))
    for word, reason in NOT_AS_RECORDED.items():
        if word in text.replace("-bit", "bit") and (own is None or word in RANKED):
            raise SkippedError(f"optimizer {text[:60]!r} is not scored: {reason}")
    if own is None:
        if not ADAM_NAMES.intersection(words) or not ADAM_WORDS.issuperset(words):
            hint = did_you_mean(text[:60], names) or "; write its id"
            raise SkippedError(f'the catalog has no optimizer "{text[:60]}"{hint}')
    elif own not in ADAM_IDS:
        return own, "fused" if "8bit" in words else "foreach"
    paged = "paged" in text and "if quantized" not in text
    if "if quantized" in text:
        paged = "qlora" in _text(row, "method")
    name = "adamw-8bit" if "8bit" in words else "adamw"
    if "in backward" in text or _says(row, "optimizer_in_bwd"):
        implementation = "in-backward"
    elif name == "adamw-8bit" or "fused" in text or paged or "deepspeed" in text:
        implementation = "fused"
    else:
        implementation = "foreach"
    return f"paged-{name}" if paged else name, implementation


ADAM_IDS = ("adamw", "adamw-8bit", "paged-adamw", "paged-adamw-8bit")
"""What Adam's plain names come to."""


LOSSES: Mapping[str, str] = {
    "none": "standard",
    "no": "standard",
    "unknown": "standard",
    "triton_ce (not fused with lm_head)": "standard",
    "chunked": "chunked",
    "liger": "fused",
    "unsloth": "fused",
    "cut_cross_entropy": "fused",
    "fused-linear CE (LC-CE)": "fused",
    "yes (fusion)": "fused",
    "yes (native fusion)": "fused",
}
"""What the loss column says, as the estimator calls it."""


def _loss(row: Row) -> str:
    text = _text(row, "loss") or "unknown"
    if text not in LOSSES:
        raise SkippedError(f"loss {text!r} is not known{did_you_mean(text[:60], LOSSES)}")
    return LOSSES[text]


def _says(row: Row, words: str) -> bool:
    """Whether the row's notes name a configuration that no column has a place for."""
    return words in _text(row, "notes").lower()


FRAMEWORK_WORDS = (
    *("lit-gpt", "litgpt", "lightning", "unsloth", "torchtitan", "torchtune", "axolotl"),
    *("llama-factory", "megatron", "deepspeed", "transformers", "peft", "trl", "accelerate"),
    *("ms-swift", "xtuner", "fms-acceleration", "torch", "pytorch", "llama-recipes", "nemo"),
    *("prime-rl", "trainer", "hf", "opentau"),
)
"""Tools by which the framework column is understood."""
OTHER_LIBRARIES = ("torchao",)
"""Names beside a tool's that look like a slip of one, and are none."""
LISTED_TOOLS = tuple(
    sorted({*FRAMEWORK_WORDS} - {"lit-gpt", "lightning", "pytorch", "trainer", "hf"})
)
"""Each of them under one name."""


def find_framework_fault(text: str) -> str | None:
    """What is wrong with a cell of the framework column: a tool misspelt, also beside one that is
    known, or none named; None where nothing is, or the cell is empty.
    """
    words = re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", text.lower())
    known = [
        word
        for word in words
        if any(word == tool or word.startswith(f"{tool}-") for tool in FRAMEWORK_WORDS)
    ]
    # Only of a slip: `my-own-trainer` is no `trainer`.
    for word in words:
        is_slip = any(is_misspelling(word, tool) for tool in FRAMEWORK_WORDS)
        if is_slip and word not in (*known, *OTHER_LIBRARIES):
            return f"names no known tool{did_you_mean(word, FRAMEWORK_WORDS)}"
    if known or not text:
        return None
    return (
        "names no known tool; for a script of your own its torch is enough, as torch 2.4; "
        f"known are {', '.join(LISTED_TOOLS)}"
    )


TRAINERS = ("trl", "accelerate", "trainer", "swift", "xtuner")
"""Names of a loop that lets go of the model's outputs before backward."""

TRANSFORMERS_BY_TORCH = {
    "2.0": "4.31",
    "2.1": "4.35",
    "2.2": "4.38",
    "2.3": "4.41",
    "2.4": "4.44",
    "2.5": "4.46",
}
"""The transformers release of its time, where a source names only PyTorch's."""


def _transformers_version(text: str) -> str | None:
    stated = re.search(r"transformers (\d+(?:\.\d+)+)", text)
    if stated:
        return stated.group(1)
    torch = re.search(r"torch (\d+\.\d+)", text)
    return TRANSFORMERS_BY_TORCH.get(torch.group(1)) if torch else None


def _torchtune_version(source: str) -> str | None:
    """The release of the date in a source's name; its first tutorials are of 2024 as well."""
    if "may 2024" in source or "#961" in source:
        return "0.1"
    if "sep 2024" in source:
        return "0.3"
    return "0.1" if "2024" in source or "tutorial" in source else None


TRL_IN_CHUNKS = (1, 7)
"""The release since which TRL loads and computes the loss in its own way; before, it is Trainer."""


def _stack(row: Row) -> tuple[str, str | None]:
    """Stack id and version from the framework column."""
    if fault := find_framework_fault(_text(row, "framework")):
        raise SkippedError(f"framework {fault}")
    text = _text(row, "framework").lower()
    loss = _text(row, "loss").lower()
    strategy = _text(row, "strategy")
    number = _transformers_version(text)
    source = _text(row, "source").lower()
    if "lit-gpt" in text:
        # Its name before the first release.
        return "litgpt", "0.1"
    if "litgpt" in text or "litgpt" in source:
        release = re.search(r"litgpt (\d+(?:\.\d+)+)", text)
        return "litgpt", release.group(1) if release else ("0.4" if "2024" in text else None)
    if "unsloth" in text:
        return "unsloth", None
    if "torchtitan" in text:
        release = re.search(r"torchtitan (\d+(?:\.\d+)+)", text)
        return "torchtitan", release.group(1) if release else None
    if "torchtune" in text or source.startswith("torchtune"):
        return "torchtune", _torchtune_version(source)
    if source.startswith("answer.ai"):
        # Its own script: plain PyTorch FSDP, everything in 16 bit.
        return "accelerate-fsdp", number
    if "axolotl" in text:
        return "axolotl", None
    if "llama-factory" in text:
        return "llama-factory", None
    if "megatron" in text:
        return "megatron", None
    if strategy.startswith("zero") or "deepspeed" in text:
        return "deepspeed", number
    if source.startswith("qwen (1)") and _text(row, "method") == "qlora":
        # Its QLoRA script runs DeepSpeed's ZeRO-2 in FP16, on one GPU as well.
        return "deepspeed", number
    if "triton_ce" in loss or "liger" in loss:
        return "hf-trainer-kernels", number
    if _says(row, "accelerated-peft"):
        return "fms-acceleration", number
    own = re.search(r"trl (\d+)\.(\d+)", text)
    if own and (int(own.group(1)), int(own.group(2))) >= TRL_IN_CHUNKS:
        return "trl", number
    if any(name in text for name in TRAINERS) or "fms-acceleration" in source:
        return "hf-trainer", number
    if "transformers" in text or "peft" in text:
        return "pytorch-loop", number
    if strategy.startswith("fsdp"):
        return "accelerate-fsdp", number
    return "hf-trainer", number


def _adapter_habits(row: Row) -> dict[str, Any]:
    """What a source's script does with its adapters and no column says."""
    if _says(row, "rank/targets/optimizer/precision from train.py defaults (pure bf16)"):
        # FSDP flattens a unit's parameters into one dtype; the script's default dropout is 0.1.
        return {"adapter_dtype": "bf16", "dropout": True}
    return {}


def _strategy(stated: str, num_gpus: int, stack: str) -> str:
    """The strategy as the estimator takes it."""
    if num_gpus > 1:
        return stated
    if stack == "deepspeed":
        return stated if stated.startswith("zero") else "zero-2"
    return "single"


def measured_case(
    row: Row, catalog: Catalog, extra: Mapping[str, Mapping[str, Any]]
) -> MeasuredCase:
    """The request behind a row and what it measured.

    Args:
        row: One row of a file with the columns of `catalog/measurements/memory.csv`.
        catalog: The catalog.
        extra: Configs, or ids in the catalog, by the names that rows use.

    Raises:
        SkippedError: the row leaves out or uses something that the estimate cannot take in.
    """
    for column, told in contradictions(row):
        raise SkippedError(f"{column}: {told}")
    method_text = _text(row, "method")
    method, _, extras = method_text.partition("+")
    if method not in ("full", "lora", "qlora"):
        raise SkippedError(f"method {method_text or 'not stated'!r} is not modelled")
    offload = _text(row, "cpu_offload")
    if offload not in ("none", "", "paged"):
        raise SkippedError(f"CPU offload of {offload} is not modelled")
    strategy_text = _text(row, "strategy")
    if strategy_text not in STRATEGIES:
        raise SkippedError(f"strategy {strategy_text or 'not stated'!r} is not modelled")
    strategy = STRATEGIES[strategy_text]
    num_gpus = _integer(row, "num_gpus")
    checkpointing = _text(row, "activation_checkpointing")
    if checkpointing not in ("none", "full", "selective"):
        raise SkippedError(f"activation_checkpointing is {checkpointing or 'not stated'}")
    attention = _text(row, "attention")
    if attention not in ("flash", "sdpa", "eager"):
        raise SkippedError(f"attention is {attention or 'not stated'}")
    metric = _text(row, "metric")
    if metric not in METRICS:
        raise SkippedError(f"metric {metric!r} is unknown")
    compared = METRICS[metric]
    tool = f"{_text(row, 'framework')} {_text(row, 'source')}".lower()
    if metric == "stated" and any(name in tool for name in LOGGED_BY_THE_TOOL):
        compared = "reserved"
    model, named = find_model(_text(row, "model"), catalog, extra)
    stack, version = _stack(row)
    optimizer, implementation = optimizer_of(row, catalog)
    request: dict[str, Any] = {
        "model": named,
        "method": method,
        "precision": _precision(row, method),
        "optimizer": optimizer,
        "optimizer_implementation": implementation,
        # DeepSpeed's engine has its buffers on one GPU too.
        "strategy": _strategy(strategy, num_gpus, stack),
        "num_gpus": num_gpus,
        "sequence_length": _integer(row, "sequence_length"),
        "micro_batch_size": _integer(row, "micro_batch_size"),
        "gradient_accumulation_steps": int(float(_text(row, "gradient_accumulation_steps") or "1")),
        "activation_checkpointing": checkpointing,
        "attention": attention,
        "loss": _loss(row),
        "stack": stack,
        "card": None,
    }
    if version is not None:
        request["stack_version"] = version
    if method != "full":
        request["lora"] = {
            **_adapter_habits(row),
            "rank": _integer(row, "lora_rank"),
            "target_modules": _targets(row, model),
            "train_embeddings": extras == "emb",
            "train_head": extras == "emb",
        }
        base = _text(row, "base_dtype")
        if method == "qlora":
            request["lora"]["base_dtype"] = _base_dtype(base, stack)
    card = find_card(_text(row, "gpu"), catalog.cards)
    request["card"] = card.request
    gib = _text(row, "gib_per_gpu") or _text(row, "gb_per_gpu_unit_unstated")
    out_of_memory = _text(row, "oom").lower() == "true"
    measured = round(float(gib) * GIB) if gib and not out_of_memory else None
    second = _text(row, "gib2") if "nvidia-smi" in _text(row, "metric2") else ""
    return MeasuredCase(
        request=request,
        compared=compared,
        measured_bytes=measured,
        second_measured_bytes=round(float(second) * GIB) if second and measured else None,
        unjudged=card.reason or None,
    )


def _base_dtype(text: str, stack: str) -> str:
    if text.startswith("nf4-dq"):
        return "nf4-dq"
    if text.startswith("nf4"):
        # litgpt has two names; elsewhere "nf4" leaves open whether the scales are quantised too,
        # and the QLoRA recipe of PEFT, TRL and their wrappers does so.
        return "nf4" if stack == "litgpt" else "nf4-dq"
    if text.startswith("gptq"):
        return "gptq-int4"
    if text.startswith("int8"):
        return "int8"
    raise SkippedError(f"base_dtype {text or 'not stated'!r} is not modelled")
