"""What a measured row may call things: a word outside it is a typing mistake, or news."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from generator.accuracy.rows import (
    LOSSES,
    STRATEGIES,
    Row,
    SkippedError,
    find_framework_fault,
    find_model,
    find_target_fault,
    optimizer_of,
)
from generator.accuracy.throughput_rows import (
    LeftOutError,
    checkpointing_of,
    method_of,
    precision_of,
    software_of,
    stepped_by,
    strategy_of,
)
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.nearest import did_you_mean
from generator.measurements.gpu_names import find_card
from generator.measurements.models import find_shape

Finding = tuple[str, str]
"""A column and what is wrong with the cell."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "method": ("full", "lora", "qlora", "full+emb", "lora+emb", "qlora+emb"),
    "strategy": (*STRATEGIES, "unknown"),
    "base_dtype": (
        *("bf16", "fp16", "fp32", "nf4", "nf4-dq", "gptq-int4", "int8", "unknown"),
        *("nf4 (bitsandbytes)", "int8 (bitsandbytes)"),
    ),
    "compute_dtype": ("bf16", "fp16", "fp32", "unknown"),
    "activation_checkpointing": ("none", "full", "selective", "unknown"),
    "attention": ("flash", "sdpa", "eager", "unknown"),
    "loss": tuple(LOSSES),
    "cpu_offload": ("none", "paged", "unknown"),
}
"""Cells of `memory.csv` that take one of a few words."""


THROUGHPUT_WORDS: Mapping[str, tuple[str, ...]] = {
    "attention": (
        *("flash", "flash_attention_2", "FA3", "FA4", "SDPA", "SDPA flash", "SDPA flash v2"),
        *("TE flash", "cuDNN/TE flash", "causal mask", "eager"),
    ),
    "compile": ("yes", "no", "n/a (CUDA C)"),
    "packing": (
        *("yes", "no", "padding-free", "fixed length", "full sequences", "filled sequences"),
        *("one dense sequence", "packed SQuAD", "synthetic", "mock data"),
    ),
}
"""Cells of `throughput.csv` that take one of a few words."""


def _outside(row: Row, words: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    for column, known in words.items():
        value = row.get(column, "")
        if value and value not in known:
            hint = did_you_mean(value[:60], known) or f"; known are {', '.join(known)}"
            yield column, f"unknown value{hint}"


def unknown_in_memory_row(
    row: Row, catalog: Catalog, models: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """Each cell of a memory row with a name or word that nobody knows.

    Args:
        row: The row's text by column.
        catalog: The catalog.
        models: Configs, or ids in the catalog, by the names that rows use.
    """
    yield from _outside(row, WORDS)
    if row["model"] and find_shape(row["model"], catalog, models) is None:
        yield "model", _no_model(row["model"], catalog, models, "memory-models.json")
    elif row["model"] and row["lora_targets"] and row["method"].startswith(("lora", "qlora")):
        try:
            fault = find_target_fault(row, find_model(row["model"], catalog, models)[0])
        except TrainfitError:
            # Of the shape itself, which is told at its file.
            fault = None
        if fault:
            yield "lora_targets", fault
    if row["optimizer"]:
        try:
            optimizer_of(row, catalog)
        except SkippedError as reason:
            yield "optimizer", str(reason)
    card = find_card(row["gpu"], catalog.cards)
    if row["gpu"] and card.reason:
        yield "gpu", card.reason
    if fault := find_framework_fault(row["framework"]):
        yield "framework", fault


def unknown_in_throughput_row(
    row: Row, catalog: Catalog, models: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """Each cell of a throughput row with a name or word that nobody knows.

    Args:
        row: The row's text by column.
        catalog: The catalog.
        models: Configs, or ids in the catalog, by the names that rows use.
    """
    yield from _outside(row, THROUGHPUT_WORDS)
    if row["model"] and find_shape(row["model"], catalog, models) is None:
        yield "model", _no_model(row["model"], catalog, models, "throughput-models.json")
    card = find_card(row["gpu"], catalog.cards)
    if row["gpu"] and card.reason:
        yield "gpu", card.reason
    for column, reader in (
        ("method", lambda: method_of(row["method"])),
        ("precision", lambda: precision_of(row)),
        ("optimizer", lambda: stepped_by(row, software_of(row))),
        # Of one GPU any word would do, a misspelt one too.
        ("strategy", lambda: strategy_of({**row, "num_gpus": ""})),
        ("activation_checkpointing", lambda: checkpointing_of(row)),
    ):
        try:
            if row[column]:
                reader()
        except LeftOutError as reason:
            yield column, str(reason)


def _no_model(
    name: str, catalog: Catalog, models: Mapping[str, Mapping[str, Any]], file: str
) -> str:
    known = {name for model in catalog.models.values() for name in (model.id, model.hugging_face)}
    hint = did_you_mean(name[:80], known | set(models)) or "."
    return f"no model goes by that name{hint} Another one has its config in {file}"
