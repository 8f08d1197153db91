"""The cases whose results are stored, in the order in which they are run.

They are the yardstick of `tests/oracle/test_core_against_oracle.py`. Add cases at will; results of
cases that are no longer listed are dropped at the next refresh.
"""

from collections.abc import Iterator
from typing import Any

from generator.oracle.case import Case, case_from_dict

ATTENTION_ONLY = ("q_proj", "k_proj", "v_proj", "o_proj")

LATENT_ATTENTION = ("q_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")

LATENT_QUERY_TOO = ("q_a_proj", "q_b_proj", *LATENT_ATTENTION[1:])
"""Where queries are compressed as well."""

ATTENTION_AND_MLP = (*ATTENTION_ONLY, "gate_proj", "up_proj", "down_proj")

EAGER_ONLY = ("gemma-2", "gpt-oss")
"""Families that refuse PyTorch's fused attention in transformers 5."""

FP32_ADAPTERS = {"method": "lora", "precision": "amp"}

BF16_ADAPTERS = {"method": "lora", "precision": "bf16-pure", "adapter_dtype": "bf16"}

Workload = tuple[int, int]
"""Sequence length and micro-batch."""


def stored_cases() -> list[Case]:
    """Every stored case, each once."""
    cases: dict[str, Case] = {}
    for group in (
        _dense(),
        _sharded(),
        _quantised(),
        _experts(),
        _hybrids(),
        _dense_variants(),
        _more_dense(),
    ):
        for values in group:
            family = any(values["model"].startswith(prefix) for prefix in EAGER_ONLY)
            case = case_from_dict({**({"attention": "eager"} if family else {}), **values})
            cases[repr(case)] = case
    return list(cases.values())


Values = dict[str, Any]


def _case(model: str, workload: Workload, **settings: Any) -> Values:
    length, batch = workload
    return {"model": model, "sequence_length": length, "micro_batch_size": batch, **settings}


def _four_ways(model: str, short: Workload, long: Workload, **lora: Any) -> Iterator[Values]:
    """Full and LoRA, without checkpointing on the short workload and with it on the long one."""
    adapters = {**FP32_ADAPTERS, **lora}
    yield _case(model, long, activation_checkpointing="full")
    yield _case(model, short)
    yield _case(model, long, activation_checkpointing="full", **adapters)
    yield _case(model, short, **adapters)


def _dense() -> Iterator[Values]:
    workloads: list[tuple[str, Workload, Workload]] = [
        ("llama-3.2-1b", (1024, 4), (4096, 2)),
        ("llama-3.2-3b", (2048, 1), (8192, 1)),
        ("llama-3.1-8b", (2048, 2), (4096, 4)),
        ("llama-2-7b", (2048, 1), (4096, 2)),
        ("llama-2-13b", (1024, 1), (4096, 1)),
        ("mistral-7b-instruct-v0.3", (4096, 1), (16384, 1)),
        ("qwen2.5-0.5b", (1024, 2), (4096, 4)),
        ("qwen2.5-1.5b", (2048, 2), (16384, 1)),
        ("qwen2.5-7b", (2048, 1), (4096, 2)),
        ("qwen2.5-14b", (1024, 2), (8192, 1)),
        ("qwen3-0.6b", (4096, 1), (2048, 4)),
        ("qwen3-4b", (1024, 4), (4096, 2)),
        ("qwen3-8b", (2048, 1), (8192, 2)),
        ("smollm2-1.7b", (2048, 4), (8192, 2)),
        ("smollm2-360m", (1024, 4), (2048, 4)),
        ("smollm3-3b", (2048, 1), (4096, 2)),
        ("phi-3.5-mini", (2048, 2), (4096, 2)),
        ("phi-4-mini", (1024, 1), (4096, 1)),
        ("phi-4", (2048, 1), (8192, 1)),
        ("gemma-2-2b", (1024, 2), (4096, 1)),
        ("gemma-2-9b", (1024, 1), (2048, 2)),
        ("gemma-3-1b", (1024, 2), (4096, 2)),
        ("olmo-2-1124-7b", (1024, 1), (4096, 2)),
        ("granite-3.3-8b", (2048, 1), (4096, 2)),
        ("glm-4-9b", (1024, 1), (4096, 1)),
        ("apertus-8b", (1024, 1), (4096, 1)),
        ("pythia-1.4b", (2048, 2), (2048, 4)),
    ]
    targets: dict[str, Values] = {
        "pythia": {"target_modules": ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")}
    }
    for model, short, long in workloads:
        lora = next((values for prefix, values in targets.items() if model.startswith(prefix)), {})
        yield from _four_ways(model, short, long, **lora)


def _dense_variants() -> Iterator[Values]:
    eight, one = "llama-3.1-8b", "llama-3.2-1b"
    full: Values = {"activation_checkpointing": "full"}
    for steps in (2, 8):
        yield _case(eight, (2048, 2), gradient_accumulation_steps=steps, **full)
    yield _case(one, (4096, 2), gradient_accumulation_steps=2, **full)
    yield _case(one, (2048, 2), gradient_accumulation_steps=4)
    yield _case("qwen2.5-7b", (8192, 1), gradient_accumulation_steps=2, **full)
    yield _case("qwen3-0.6b", (4096, 2), gradient_accumulation_steps=2, **full)
    yield _case(eight, (2048, 2), gradient_accumulation_steps=2, **full, **FP32_ADAPTERS)
    yield _case("llama-2-7b", (2048, 2), gradient_accumulation_steps=2, **FP32_ADAPTERS)
    for model in (one, eight, "qwen3-4b", "llama-2-7b"):
        for checkpointing in ("full", "none"):
            yield _case(model, (2048, 2), precision="amp", activation_checkpointing=checkpointing)
    yield _case(eight, (2048, 2), precision="amp", gradient_accumulation_steps=2, **full)
    for gradient_dtype in ("bf16", "fp32"):
        mixed: Values = {"precision": "bf16-mixed", "gradient_dtype": gradient_dtype}
        yield _case(eight, (2048, 2), **mixed, **full)
        yield _case(one, (2048, 4), **mixed)
        yield _case(one, (4096, 2), gradient_accumulation_steps=2, **mixed, **full)
    yield _case(eight, (2048, 1), optimizer_implementation="foreach", **full)
    yield _case(
        "mistral-7b-instruct-v0.3", (4096, 4), optimizer_implementation="foreach", loss="v4", **full
    )
    yield _case(one, (2048, 1), precision="amp", optimizer_implementation="foreach", **full)
    for optimizer in ("sgd", "sgd-momentum", "adafactor", "adamw-8bit"):
        yield _case(
            eight, (2048, 1), optimizer=optimizer, optimizer_implementation="foreach", **full
        )
    yield _case(one, (4096, 1), optimizer="adamw-8bit")
    yield _case(one, (4096, 2), loss="v4", **full)
    yield _case("qwen2.5-7b", (2048, 2), loss="v4", **full, **FP32_ADAPTERS)
    for model in (one, eight, "qwen2.5-7b"):
        for checkpointing in ("full", "none"):
            yield _case(model, (2048, 2), activation_checkpointing=checkpointing, **BF16_ADAPTERS)
            few = {
                "target_modules": ("q_proj", "v_proj"),
                "activation_checkpointing": checkpointing,
            }
            yield _case(model, (4096, 1), **few, **FP32_ADAPTERS)
    yield _case(eight, (2048, 1), method="lora", target_modules=ATTENTION_ONLY)
    yield _case(eight, (2048, 1), method="lora")
    yield _case(eight, (2048, 2), lora_rank=128, **full, **FP32_ADAPTERS)
    yield _case(eight, (2048, 1), lora_rank=256, **FP32_ADAPTERS)
    yield _case(one, (2048, 2), lora_dropout=0.05, **FP32_ADAPTERS)
    yield _case("llama-2-7b", (2048, 1), attention="eager")
    yield _case("llama-2-7b", (2048, 1), attention="eager", **full)
    yield _case("llama-2-7b", (2048, 1), attention="eager", **full, **FP32_ADAPTERS)
    for workload in ((2048, 1), (8192, 1)):
        yield _case("llama-3.3-70b", workload, **full, **FP32_ADAPTERS)
    yield _case("llama-3.3-70b", (4096, 1), **full)
    yield _case("qwen2.5-72b", (4096, 1), **full, **FP32_ADAPTERS)
    yield _case("qwen2.5-32b", (4096, 2), **full, **FP32_ADAPTERS)
    yield _case("qwen2.5-32b", (2048, 1), **full)
    selective: Values = {"activation_checkpointing": "selective"}
    for model, workload in (
        ("llama-3.1-8b", (4096, 1)),
        ("llama-3.2-1b", (4096, 2)),
        ("llama-2-7b", (2048, 2)),
        ("qwen3-8b", (4096, 1)),
    ):
        yield _case(model, workload, **selective)
    for bucket_view in (False, True):
        ddp: Values = {"strategy": "ddp", "num_gpus": 2, "gradient_as_bucket_view": bucket_view}
        yield _case(one, (2048, 2), **ddp, **full)
        yield _case("qwen3-0.6b", (1024, 2), **ddp)


def _sharded() -> Iterator[Values]:
    full: Values = {
        "activation_checkpointing": "full",
        "strategy": "fsdp2",
        "optimizer_implementation": "foreach",
    }
    for num_gpus in (2, 4, 8):
        yield _case("llama-3.1-8b", (2048, 1), num_gpus=num_gpus, precision="amp", **full)
        yield _case("llama-3.2-1b", (4096, 2), num_gpus=num_gpus, precision="amp", **full)
        yield _case("qwen2.5-7b", (4096, 1), num_gpus=num_gpus, precision="amp", **full)
        yield _case("llama-2-7b", (4096, 2), num_gpus=num_gpus, precision="amp", **full)
        yield _case("llama-3.1-8b", (4096, 1), num_gpus=num_gpus, **full)
        yield _case("llama-3.1-8b", (2048, 2), num_gpus=num_gpus, **full, **FP32_ADAPTERS)
        yield _case("qwen3-4b", (2048, 2), num_gpus=num_gpus, **full, **BF16_ADAPTERS)
    for num_gpus in (4, 8):
        yield _case("qwen3-8b", (8192, 1), num_gpus=num_gpus, precision="amp", **full)
        yield _case("llama-2-13b", (2048, 2), num_gpus=num_gpus, precision="amp", **full)
        yield _case("qwen2.5-14b", (4096, 1), num_gpus=num_gpus, **full)
        yield _case("llama-3.3-70b", (2048, 1), num_gpus=num_gpus, **full, **FP32_ADAPTERS)
    yield _case("llama-3.3-70b", (2048, 1), num_gpus=8, precision="amp", **full)
    yield _case("qwen2.5-32b", (4096, 1), num_gpus=8, precision="amp", **full)
    for model, workload in (
        ("llama-3.1-8b", (2048, 2)),
        ("llama-3.2-1b", (2048, 4)),
        ("qwen2.5-7b", (8192, 1)),
    ):
        accumulated = {**full, "gradient_accumulation_steps": 2}
        yield _case(model, workload, num_gpus=8, precision="amp", **accumulated)
    bf16_reduction = {**full, "reduce_dtype": "bf16"}
    yield _case("llama-3.1-8b", (2048, 1), num_gpus=8, precision="amp", **bf16_reduction)
    yield _case("qwen2.5-7b", (2048, 1), num_gpus=4, precision="amp", **bf16_reduction)
    stored = {**full, "activation_checkpointing": "none"}
    yield _case("llama-3.1-8b", (2048, 1), num_gpus=8, precision="amp", **stored)
    yield _case("llama-3.2-1b", (2048, 2), num_gpus=4, precision="amp", **stored)
    yield _case("mistral-7b-instruct-v0.3", (4096, 1), num_gpus=8, **stored)
    yield _case("llama-3.1-8b", (2048, 1), num_gpus=4, **stored, **FP32_ADAPTERS)
    selective = {**full, "activation_checkpointing": "selective"}
    yield _case("llama-3.1-8b", (4096, 1), num_gpus=8, precision="amp", **selective)
    fused = {**full, "optimizer_implementation": "fused"}
    yield _case("llama-2-7b", (2048, 1), num_gpus=2, precision="amp", **fused)
    yield _case("qwen2.5-7b", (2048, 2), num_gpus=8, **fused, **FP32_ADAPTERS)


def _experts() -> Iterator[Values]:
    attention = {"target_modules": ATTENTION_ONLY}
    latent = {"target_modules": LATENT_ATTENTION}
    yield from _four_ways("qwen3-30b-a3b", (1024, 1), (4096, 1), **attention)
    yield from _four_ways("mixtral-8x7b-v0.1", (1024, 1), (4096, 1), **attention)
    yield from _four_ways("deepseek-v2-lite", (1024, 1), (4096, 2), **latent)
    yield from _four_ways("gpt-oss-20b", (1024, 1), (2048, 1), **attention)
    yield from _four_ways("glm-4.7-flash", (1024, 1), (4096, 1), target_modules=LATENT_QUERY_TOO)
    yield from _four_ways("moonlight-16b-a3b", (2048, 1), (8192, 1), **latent)
    yield from _four_ways("ernie-4.5-21b-a3b-pt", (1024, 1), (4096, 1), **attention)
    yield from _four_ways(
        "lfm2.5-8b-a1b", (2048, 1), (4096, 2), target_modules=("q_proj", "k_proj", "v_proj")
    )
    sharded: Values = {
        "activation_checkpointing": "full",
        "strategy": "fsdp2",
        "optimizer_implementation": "foreach",
    }
    yield _case("qwen3-30b-a3b", (2048, 1), num_gpus=8, precision="amp", **sharded)
    yield _case("qwen3-30b-a3b", (2048, 1), num_gpus=4, **sharded, **FP32_ADAPTERS, **attention)
    yield _case("deepseek-v2-lite", (4096, 1), num_gpus=8, precision="amp", **sharded)


def _hybrids() -> Iterator[Values]:
    narrow = {"target_modules": ATTENTION_AND_MLP}
    yield from _four_ways("qwen3.5-2b", (1024, 1), (4096, 1), **narrow)
    yield from _four_ways("qwen3.5-9b", (1024, 1), (2048, 2), **narrow)
    yield from _four_ways("falcon-h1-0.5b", (1024, 2), (2048, 4), **narrow)
    yield from _four_ways("falcon-h1-7b", (1024, 1), (4096, 1), **narrow)
    yield from _four_ways("granite-4.0-h-tiny", (1024, 1), (4096, 1), target_modules=ATTENTION_ONLY)
    yield from _four_ways(
        "lfm2-1.2b", (2048, 2), (8192, 2), target_modules=("q_proj", "k_proj", "v_proj")
    )
    yield from _four_ways(
        "lfm2.5-2.6b", (1024, 4), (4096, 2), target_modules=("q_proj", "k_proj", "v_proj")
    )
    yield from _four_ways("gemma-4-12b", (1024, 1), (4096, 1), **narrow)
    yield from _four_ways("gemma-4-e2b", (1024, 1), (4096, 1), **narrow)


def _quantised() -> Iterator[Values]:
    full: Values = {"activation_checkpointing": "full"}
    base: Values = {"method": "qlora", "precision": "amp"}
    prepared: Values = {**base, "kbit_preparation": True}
    for model, short, long in (
        ("llama-3.2-1b", (1024, 2), (4096, 2)),
        ("llama-3.1-8b", (2048, 1), (4096, 2)),
        ("llama-2-7b", (1024, 1), (4096, 1)),
        ("mistral-7b-instruct-v0.3", (2048, 1), (8192, 1)),
        ("qwen2.5-7b", (1024, 1), (4096, 1)),
    ):
        yield _case(model, long, **full, **prepared)
        yield _case(model, short, **prepared)
        yield _case(model, long, **full, **base)
    yield _case("llama-3.1-8b", (2048, 1), **base)
    yield _case("llama-3.1-8b", (2048, 1), double_quantisation=False, **full, **prepared)
    yield _case("llama-3.3-70b", (2048, 1), **full, **prepared)
    yield _case("qwen2.5-14b", (4096, 1), **full, **prepared)
    yield _case("qwen3-8b", (2048, 2), **full, **prepared)
    bf16: Values = {"method": "qlora", "precision": "bf16-pure", "adapter_dtype": "bf16"}
    yield _case("llama-3.1-8b", (4096, 1), **full, **bf16)
    yield _case("llama-2-7b", (2048, 2), **full, **bf16)


def _more_dense() -> Iterator[Values]:
    full: Values = {"activation_checkpointing": "full"}
    for model in ("llama-3.2-1b", "qwen2.5-1.5b", "smollm2-1.7b", "qwen3-1.7b"):
        for workload in ((1024, 1), (16384, 1)):
            yield _case(model, workload, **full)
            yield _case(model, workload, **full, **FP32_ADAPTERS)
    for model in ("llama-3.2-1b", "qwen2.5-1.5b", "smollm2-1.7b"):
        yield _case(model, (4096, 1))
        yield _case(model, (4096, 1), **BF16_ADAPTERS)
