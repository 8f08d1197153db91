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
TOOLS = ("accelerate", "axolotl", "deepspeed", "llama-factory", "torchtune", "trl")
LAUNCH_FILES = (
    "13 billion parameters",
    (
        '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, '
        '"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}'
    ),
    (
        "base_model: NousResearch/Meta-Llama-3.1-8B-Instruct\nadapter: qlora\nload_in_4bit: true\n"
        "lora_r: 32\nlora_target_linear: true\nsequence_len: 4096  # tokens\nmicro_batch_size: 2\n"
        "gradient_accumulation_steps: 4\noptimizer: paged_adamw_8bit\nbf16: auto\n"
        "gradient_checkpointing: true\nflash_attention: true\ndatasets:\n  - path: a/b\n"
        "    type: alpaca\n"
    ),
    (
        "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\nfinetuning_type: full\n"
        "cutoff_len: 2048\nper_device_train_batch_size: 2\nbf16: true\n"
        "deepspeed: examples/deepspeed/ds_z3_config.json\n"
    ),
    "base_model: &anchor x\n",
    "base_model: x\nsequence_len: 99999999999\n",
    "unknown: 1\n",
)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "rope_theta": 500000.0,
    "n_shared_sinks": 4,
}
"""A config with a field that nobody knows."""
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
    {"model": "llama-3.1-8b", "card": {"memory_gb": 24, "id": "rtx-4090-24gb"}},
    {"model": "llama-3.1-8b", "dataset": {"num_samples": 1000}},
    {"model": "llama-3.1-8b", "price_usd_per_hour": -1},
    {"op": "export", "model": "llama-3.1-8b", "tool": "make"},
    {"op": "export", "model": "qwen3-30b-a3b", "tool": "torchtune"},
    {"op": "recognise"},
    {"op": "recognise", "text": 13},
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
    yield {"model": {"config": CONFIG}, "stack": "hf-trainer", "stack_version": "4.48.1"}
    yield {"op": "grid", "model": "llama-3.1-8b", "method": "qlora", "cards": list(CARDS)}
    yield {"op": "curve", "model": "llama-3.1-8b", "method": "lora"}
    yield {"op": "solve", "model": "llama-3.1-8b", "card": "rtx-4090-24gb", "method": "lora"}
    yield {
        "model": "llama-3.1-8b",
        "method": "qlora",
        "card": {"id": "rtx-4090-24gb", "reserved_gb": 1.5},
        "dataset": {
            "num_samples": 50_000,
            "tokens_per_sample": 400,
            "epochs": 3,
            "packing": False,
        },
        "price_usd_per_hour": 0.4,
    }
    yield {"model": "llama-3.1-8b", "method": "lora", "card": {"memory_gb": 20}}
    for place, tool in enumerate(TOOLS):
        for method in ("full", "lora", "qlora"):
            yield {
                "op": "export",
                "tool": tool,
                "model": "llama-3.1-8b",
                "method": method,
                "strategy": ("zero-3", "zero-2", "single")[place % 3],
                "num_gpus": (8, 4, None)[place % 3],
                "loss": "chunked",
                "card": "h100-sxm-80gb",
            }
    for text in LAUNCH_FILES:
        yield {"op": "recognise", "text": text}
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
