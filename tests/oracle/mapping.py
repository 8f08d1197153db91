"""From a stored oracle case to the estimator's request for the same set-up."""

import dataclasses
import json
from typing import Any

from generator.core.catalog import Catalog
from generator.core.stack import Stack
from generator.oracle.case import Case

STACK_ID = "oracle"

STRATEGIES = {"single": "single", "ddp": "ddp", "fsdp2": "zero-3"}


def oracle_stack(case: Case) -> Stack:
    """The tool that ran the case: PyTorch and Transformers alone.

    No cuBLAS workspaces and no context, because fake tensors need none.
    """
    reduces_in_fp32 = case.strategy == "fsdp2" and case.precision == "amp" and case.method == "full"
    return Stack(
        id=STACK_ID,
        name="PyTorch's own tensors",
        standard_loss="upcast-shifted" if case.loss == "v4" else "upcast",
        kbit_upcast=case.kbit_preparation,
        gradient_dtype="fp32" if case.gradient_dtype == "fp32" else "weights",
        gradient_as_bucket_view=case.gradient_as_bucket_view,
        reduce_dtype="fp32" if reduces_in_fp32 and case.reduce_dtype == "fp32" else "weights",
    )


def catalog_with_stack(catalog: Catalog, case: Case) -> Catalog:
    """The catalog with the case's stack in it."""
    return dataclasses.replace(catalog, stacks={**catalog.stacks, STACK_ID: oracle_stack(case)})


def request_of(case: Case) -> dict[str, Any]:
    """The request that describes the case; `run` takes it as JSON.

    With adapters the precision only says whether autocast is on, which FP32 adapters need.
    """
    precision: str = case.precision
    if case.method != "full" and case.precision == "amp":
        precision = "bf16-mixed"
    return {
        "model": case.model if case.config is None else {"config": case.config},
        "method": case.method,
        "precision": precision,
        "optimizer": case.optimizer,
        "optimizer_implementation": case.optimizer_implementation,
        "strategy": STRATEGIES[case.strategy],
        "num_gpus": case.num_gpus,
        "sequence_length": case.sequence_length,
        "micro_batch_size": case.micro_batch_size,
        "gradient_accumulation_steps": case.gradient_accumulation_steps,
        "activation_checkpointing": case.activation_checkpointing,
        "attention": case.attention,
        "loss": "standard",
        "stack": STACK_ID,
        "lora": {
            "rank": case.lora_rank,
            "target_modules": list(case.target_modules)
            if isinstance(case.target_modules, tuple)
            else case.target_modules,
            "adapter_dtype": case.adapter_dtype,
            "base_dtype": "nf4-dq" if case.double_quantisation else "nf4",
            "dropout": case.lora_dropout > 0,
        },
        "card": None,
    }


def label(case: Case) -> str:
    """What tells the case from others, short enough for a test's id."""
    parts = [case.model, case.method, case.precision, case.strategy]
    if case.num_gpus > 1:
        parts.append(f"{case.num_gpus}gpus")
    parts.append(f"{case.sequence_length}x{case.micro_batch_size}")
    parts.append(f"checkpointing-{case.activation_checkpointing}")
    shown = {
        "model", "config", "method", "precision", "strategy", "num_gpus", "sequence_length",
        "micro_batch_size", "activation_checkpointing",
    }  # fmt: skip
    for entry in dataclasses.fields(Case):
        value = getattr(case, entry.name)
        if entry.name not in shown and value != entry.default:
            text = "+".join(value) if isinstance(value, tuple) else str(value)
            parts.append(f"{entry.name.replace('_', '-')}={text}")
    return "--".join(parts)


def request_text(case: Case) -> str:
    """`request_of` as JSON."""
    return json.dumps(request_of(case))
