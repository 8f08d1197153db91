"""Requests over every choice, for the tests of launch files."""

from typing import Any

from hypothesis import strategies as st

from generator.core.catalog import Catalog
from generator.core.request import CHOICES

MODELS: tuple[Any, ...] = (
    "llama-3.1-8b",
    "qwen2.5-0.5b",
    "qwen3-30b-a3b",
    "gemma-2-9b",
    "phi-4",
    {"num_parameters": 7_000_000_000},
)
"""Tied and untied heads, experts, fused projections, a card-less count."""
CARDS = (None, "h100-sxm-80gb", "rtx-4090-24gb", "t4-16gb")
"""The last has neither BF16 nor FlashAttention."""
TARGETS: tuple[Any, ...] = (
    "all-linear",
    ["q_proj"],
    ["q_proj", "v_proj"],
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    ["down_proj", "gate_proj", "lm_head", "q_proj", "up_proj"],
)


@st.composite
def requests(draw: st.DrawFn, catalog: Catalog) -> dict[str, Any]:
    """One valid request."""
    strategy = draw(st.sampled_from(CHOICES["strategy"]))
    takers = (
        id_
        for id_, optimizer in catalog.optimizers.items()
        if optimizer.shards_with_zero or not strategy.startswith("zero")
    )
    optimizer = draw(st.sampled_from(sorted(takers)))
    counts = st.none() if strategy == "single" else st.sampled_from((None, 2, 4, 8, 64))
    simple = {
        name: draw(st.sampled_from(CHOICES[name]))
        for name in (
            "method",
            "precision",
            "optimizer_implementation",
            "activation_checkpointing",
            "attention",
            "loss",
        )
    }
    in_backward = simple["optimizer_implementation"] == "in-backward"
    if in_backward or catalog.optimizers[optimizer].in_backward:
        steps = 1
    else:
        steps = draw(st.integers(1, 64))
    return {
        "model": draw(st.sampled_from(MODELS)),
        "card": draw(st.sampled_from(CARDS)),
        "strategy": strategy,
        "num_gpus": draw(counts),
        "optimizer": optimizer,
        "stack": draw(st.sampled_from(sorted(catalog.stacks))),
        "stack_version": draw(st.sampled_from((None, "4.57.1"))),
        "sequence_length": draw(st.integers(1, 1 << 20)),
        "micro_batch_size": draw(st.integers(1, 64)),
        "gradient_accumulation_steps": steps,
        "lora": {
            "rank": draw(st.integers(1, 512)),
            "target_modules": draw(st.sampled_from(TARGETS)),
            "adapter_dtype": draw(st.sampled_from(CHOICES["lora.adapter_dtype"])),
            "base_dtype": draw(st.sampled_from(CHOICES["lora.base_dtype"])),
            "dropout": draw(st.booleans()),
            "train_embeddings": draw(st.booleans()),
            "train_head": draw(st.booleans()),
        },
        **simple,
    }
