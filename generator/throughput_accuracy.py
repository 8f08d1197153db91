"""Scores the step-time estimate on a CSV with the columns of `catalog/measurements/throughput.csv`.

Each row becomes a case through its columns (never its id): the framework's words choose the
kernels, the strategy's words the sharding, blank cells the documented default. A row that the
estimate does not cover is left out with its reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from generator.accuracy.listing import ListedRow
from generator.accuracy.score import percentile
from generator.core import time_constants as constants
from generator.core.card import Card
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.model import MixtureOfExperts, Model
from generator.core.params import ALL_LINEAR, linear_tensors
from generator.core.run import (
    AdapterDType,
    AttentionKernel,
    Checkpointing,
    MethodName,
    OptimizerImplementation,
    Precision,
    Strategy,
)
from generator.core.step_time import StepTime, step_time
from generator.core.time_constants import Software
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import THROUGHPUT
from generator.measurements.contradictions import contradictions
from generator.measurements.gpu_names import find_card
from generator.measurements.models import find_shape, read_models
from generator.measurements.reader import usable_rows

MODELS_FILE = MEASUREMENTS_DIR / "throughput-models.json"
SCORED_QUALITIES = ("A", "B")
KEPT_APART_MODULUS = 5
"""One row in five, by the hash of its id, is not used to set any constant."""
MINIMUM_GROUP = 10
"""Rows from which on a group's errors are held to a bar."""

ATTENTION_MODULES = frozenset(
    {"q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "query_key_value", "c_attn", "attn_c_proj"}
)
ATTENTION_ONLY_SOURCES = ("fms-acceleration",)
"""Sources that adapt only the attention projections (fms-acceleration,
benchmarks/scenarios.yaml)."""
OLD_PEFT = ("PyTorch 2.0", "torch 2.0", "torch 2.1", "torchtune")
"""Adapters in the base's dtype: PEFT before 0.12 (July 2024), and torchtune."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row as arguments of `step_time`."""

    model: Model
    card: Card
    method: MethodName
    precision: Precision
    strategy: Strategy
    num_gpus: int
    sequence_length: int
    micro_batch_size: int
    gradient_accumulation_steps: int
    activation_checkpointing: Checkpointing
    attention: AttentionKernel
    lora_rank: int
    target_modules: str | tuple[str, ...]
    adapter_dtype: AdapterDType
    adapter_dropout: bool
    optimizer_state_bytes_per_parameter: float
    optimizer_implementation: OptimizerImplementation
    software: Software

    def estimate(self) -> StepTime:
        """The step time of the case."""
        return step_time(**{name: getattr(self, name) for name in self.__dataclass_fields__})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """One row of the file: predicted and measured tokens per second per GPU, or why it is left
    out."""

    id: str
    source: str
    model: str
    gpu: str
    card_class: str
    method: str
    software: str
    quality: str
    predicted: float | None
    low: float | None
    high: float | None
    measured: float | None
    error: float | None
    in_scope: bool
    """Counts towards the bars: quality A or B, dense, 16 bit, exact shape."""
    kept_apart: bool
    skipped: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Errors of a set of rows, as shares of the measured rate."""

    name: str
    count: int
    median_error: float
    percentile_90: float
    bias: float
    within_band: float


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
        return bool(self._entries.get(name, {}).get("approximate", False))

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


def _number(text: str) -> float | None:
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
    # A Transformers run that names no kernel took the default: SDPA with a mask.
    unnamed = not row["attention"] and "transformers" in row["framework_version"]
    return "sdpa" if unnamed else "flash"


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


def _optimizer(row: Mapping[str, str], software: Software) -> tuple[float, OptimizerImplementation]:
    """State bytes per parameter (two moments, one under Muon) and the kernel that steps them."""
    text = row["optimizer"].lower()
    state_bytes = (
        2.0 if "8-bit" in text else 1.0 if "4-bit" in text else 4.0 if "muon" in text else 8.0
    )
    one_kernel = "fused" in text or "distributed" in text or software.fused_blocks
    if "hf default" in text:
        one_kernel = False
    return state_bytes, "fused" if one_kernel else "foreach"


def case_from_row(row: Mapping[str, str], catalog: Catalog, models: Models) -> Case:
    """The row as a case.

    Raises:
        LeftOutError: the row lacks something that has no default, or is outside the estimate.
    """
    for column, told in contradictions(row):
        raise LeftOutError(f"{column}: {told}")
    sequence = _number(row["sequence_length"])
    micro = _number(row["micro_batch_size"])
    gpus = _number(row["num_gpus"])
    if gpus is None or sequence is None or micro is None:
        cells = (("GPU count", gpus), ("sequence length", sequence), ("micro-batch", micro))
        missing = next(name for name, value in cells if value is None)
        raise LeftOutError(f"no {missing} in the row")
    precision = precision_of(row)
    strategy = strategy_of(row)
    method = method_of(row["method"])
    model = models.model(row["model"])
    tokens = int(sequence) * int(micro) * int(gpus)
    batch = _number(row["global_batch_tokens"])
    software = software_of(row)
    state_bytes, implementation = _optimizer(row, software)
    if precision == "bf16-pure":
        state_bytes /= 2
    return Case(
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
        lora_rank=int(_number(row["lora_rank"]) or 16),
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


def is_kept_apart(row_id: str) -> bool:
    """Whether a row belongs to the fifth of the collection that sets no constant."""
    digest = hashlib.sha256(row_id.encode()).hexdigest()
    return int(digest, 16) % KEPT_APART_MODULUS == 0


def _is_dense(model: Model) -> bool:
    return not any(
        isinstance(group.block.feed_forward, MixtureOfExperts) for group in model.block_groups
    )


def score_row(
    row: Mapping[str, str], catalog: Catalog, models: Models, damage: str = ""
) -> ScoredRow:
    """Predicted against measured for one row, or the reason why it is left out."""
    measured = _number(row["tokens_per_second_per_gpu"])
    blank = ScoredRow(
        id=row["id"],
        source=row["source"],
        model=row["model"],
        gpu=row["gpu"],
        card_class="",
        method=row["method"],
        software="",
        quality=row["quality"],
        predicted=None,
        low=None,
        high=None,
        measured=measured,
        error=None,
        in_scope=False,
        kept_apart=is_kept_apart(row["id"]),
        skipped=None,
    )
    if damage:
        return replace(blank, skipped=damage)
    if not measured:
        return replace(blank, skipped="no tokens per second in the row")
    try:
        case = case_from_row(row, catalog, models)
        estimate = case.estimate()
    except (LeftOutError, TrainfitError) as reason:
        return replace(blank, skipped=str(reason))
    predicted = estimate.tokens_per_second_per_gpu
    return replace(
        blank,
        card_class=constants.card_class(case.card),
        software=case.software.id,
        predicted=predicted,
        low=estimate.low,
        high=estimate.high,
        error=predicted / measured - 1,
        in_scope=(
            row["quality"] in SCORED_QUALITIES
            and _is_dense(case.model)
            and not models.approximate(row["model"])
        ),
    )


def score_file(path: Path, catalog: Catalog, models_file: Path | None = None) -> list[ScoredRow]:
    """Every row of a file, scored or left out with its reason.

    Raises:
        CatalogProblems: a file is no CSV or JSON of the expected form; every fault is named.
    """
    files = [MODELS_FILE, *([models_file] if models_file else [])]
    models = Models(catalog, files)
    return [
        score_row(row.cells, catalog, models, row.damage) for row in usable_rows(path, THROUGHPUT)
    ]


def group(name: str, rows: Sequence[ScoredRow]) -> Group | None:
    """Errors of the rows that have one."""
    scored = [row for row in rows if row.error is not None]
    if not scored:
        return None
    errors = [row.error for row in scored if row.error is not None]
    absolute = [abs(error) for error in errors]
    inside = sum(
        1
        for row in scored
        if row.low is not None
        and row.high is not None
        and row.measured is not None
        and row.low <= row.measured <= row.high
    )
    return Group(
        name=name,
        count=len(scored),
        median_error=median(absolute),
        percentile_90=percentile(absolute, 0.9),
        bias=median(errors),
        within_band=inside / len(scored),
    )


def grouped_by(rows: Sequence[ScoredRow], key: Callable[[ScoredRow], str]) -> list[Group]:
    """Groups by a key, largest first."""
    names = sorted({key(row) for row in rows})
    found = [group(name, [row for row in rows if key(row) == name]) for name in names]
    return sorted((each for each in found if each), key=lambda each: -each.count)


def summary(rows: Sequence[ScoredRow]) -> dict[str, Any]:
    """Errors by method, card class, software and source, and why rows are left out."""
    scope = [row for row in rows if row.in_scope]
    keys: dict[str, Callable[[ScoredRow], str]] = {
        "method": lambda row: row.method,
        "card_class": lambda row: row.card_class,
        "gpu": lambda row: row.gpu,
        "software": lambda row: row.software,
        "source": lambda row: row.source,
        "quality": lambda row: row.quality,
    }
    parts = {
        "all": scope,
        "calibrated": [row for row in scope if not row.kept_apart],
        "kept_apart": [row for row in scope if row.kept_apart],
        "out_of_scope": [row for row in rows if not row.in_scope],
    }
    reasons: dict[str, int] = {}
    for row in rows:
        if row.skipped:
            reasons[row.skipped] = reasons.get(row.skipped, 0) + 1
    totals = {name: group(name, part) for name, part in parts.items()}
    return {
        "rows": len(rows),
        "scored": sum(1 for row in rows if row.error is not None),
        "in_scope": len(scope),
        "total": {name: asdict(each) for name, each in totals.items() if each},
        "by": {
            name: [asdict(each) for each in grouped_by(scope, key)] for name, key in keys.items()
        },
        "skipped": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }


def listed(row: ScoredRow) -> ListedRow:
    """The row as the list of rows shows it."""
    return ListedRow(
        id=row.id,
        predicted=row.predicted,
        measured=row.measured,
        error=row.error,
        remark=row.skipped or "",
        is_left_out=row.skipped is not None,
    )


def to_json(rows: Sequence[ScoredRow]) -> str:
    """Rows and summary as one JSON object."""
    return json.dumps({"rows": [asdict(row) for row in rows], "summary": summary(rows)})


def to_text(rows: Sequence[ScoredRow]) -> str:
    """The summary as a table for a terminal."""
    figures = summary(rows)
    counts = f"{figures['rows']} rows, {figures['scored']} scored, {figures['in_scope']} in scope"
    lines = [
        f"{counts} (quality A or B, dense, 16 bit, complete)",
        f"{'':46} {'rows':>5} {'median':>8} {'90th':>8} {'bias':>8} {'in band':>8}",
    ]

    def line(each: Mapping[str, Any]) -> str:
        name = str(each["name"])[:44]
        return (
            f"  {name:44} {each['count']:5d} {each['median_error']:8.1%} "
            f"{each['percentile_90']:8.1%} {each['bias']:+8.1%} {each['within_band']:8.1%}"
        )

    lines += [line(each) for each in figures["total"].values()]
    for name, groups in figures["by"].items():
        lines.append(name.replace("_", " "))
        lines += [line(each) for each in groups]
    lines.append("left out")
    lines += [f"  {count:5d}  {reason}" for reason, count in figures["skipped"].items()]
    return "\n".join(lines)
