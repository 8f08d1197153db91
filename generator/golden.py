"""Golden cases: requests and the core's answers, replayed exactly in CPython and in the browser."""

import json
from collections.abc import Iterator
from typing import Any

from generator.core.api import answer
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError

MODELS = (
    "llama-3.1-8b",
    "llama-3.3-70b",
    "qwen2.5-0.5b",
    "qwen3-30b-a3b",
    "gemma-3-4b",
    "deepseek-v2-lite",
    "gpt-oss-20b",
    "phi-4",
)
CARDS = ("h100-sxm-80gb", "rtx-4090-24gb", "t4-16gb", "gb200-nvl72-186gb", "b200-sxm-180gb")
OPTIMIZERS = ("adamw", "adamw-8bit", "sgd", "adafactor", "muon", "lion-8bit")
BAD_REQUESTS: tuple[dict[str, Any], ...] = (
    {},
    {"model": "llama-3.1-8bb"},
    {"model": "llama-3.1-8b", "sequence_length": -1},
    {"model": "llama-3.1-8b", "sequence_length": "2048"},
    {"model": "llama-3.1-8b", "micro_batch_size": True},
    {"model": "llama-3.1-8b", "squence_length": 2048},
    {"model": {"config": {"model_type": "llama"}}},
    {"model": {"config": {"model_type": "perceiver"}}},
    {"model": {"num_parameters": 0}},
    {"model": "llama-3.1-8b", "strategy": "single", "num_gpus": 8},
    {"model": "llama-3.1-8b", "method": "lora", "lora": {"target_modules": ["nope"]}},
    {"model": "llama-3.1-8b", "card": "h100"},
)


def requests() -> Iterator[dict[str, Any]]:
    """The requests, in a fixed order that walks through every choice at least once."""
    step = 0
    for model in MODELS:
        for method in ("full", "lora", "qlora"):
            for strategy in ("single", "ddp", "zero-1", "zero-2", "zero-3"):
                yield {
                    "model": model,
                    "method": method,
                    "strategy": strategy,
                    "optimizer": OPTIMIZERS[step % len(OPTIMIZERS)],
                    "card": CARDS[step % len(CARDS)],
                    "sequence_length": (512, 2048, 8192, 32768)[step % 4],
                    "micro_batch_size": 1 + step % 3,
                    "gradient_accumulation_steps": (1, 8)[step % 2],
                    "activation_checkpointing": ("full", "none", "selective")[step % 3],
                    "attention": ("flash", "sdpa", "eager")[step // 3 % 3],
                    "loss": ("standard", "chunked", "fused")[step // 2 % 3],
                    "precision": ("bf16-mixed", "bf16-pure", "fp16-mixed", "amp", "fp32")[step % 5],
                }
                step += 1
    yield {"model": {"num_parameters": 13_000_000_000}, "strategy": "zero-3", "num_gpus": 4}
    yield {"op": "grid", "model": "llama-3.1-8b", "method": "qlora", "cards": list(CARDS)}
    yield {"op": "curve", "model": "llama-3.1-8b", "method": "lora"}
    yield {"op": "solve", "model": "llama-3.1-8b", "card": "rtx-4090-24gb", "method": "lora"}
    yield from BAD_REQUESTS


def cases(catalog: Catalog) -> list[dict[str, Any]]:
    """Requests with their answers or errors.

    Args:
        catalog: Where ids are looked up.
    """
    found: list[dict[str, Any]] = []
    for request in requests():
        try:
            response = answer(request, catalog)
        except TrainfitError as problem:
            response = {"error": problem.to_dict()}
        found.append({"request": request, "response": response})
    return found


def text(catalog: Catalog) -> str:
    """The golden file: one case per line, so that a change shows which case moved.

    Args:
        catalog: Where ids are looked up.
    """
    lines = [json.dumps(case, separators=(",", ":"), sort_keys=True) for case in cases(catalog)]
    return "[\n" + ",\n".join(lines) + "\n]\n"
