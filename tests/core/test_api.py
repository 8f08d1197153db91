"""The operations of the one door: what they refuse, and what an answer says in words."""

import json
from typing import Any

import pytest

from generator.core.api import answer, run
from generator.load import load_catalog

CATALOG = load_catalog()
LLAMA: dict[str, Any] = {"model": "llama-3.1-8b", "method": "lora"}


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        pytest.param({"op": "guess"}, "unknown-id", "op", id="operation"),
        pytest.param({"op": "grid", "cards": "t4-16gb"}, "wrong-type", "cards", id="no-list"),
        pytest.param({"op": "grid", "cards": [24]}, "wrong-type", "cards", id="no-ids"),
        pytest.param({"op": "grid", "cards": ["abacus"]}, "unknown-id", "cards", id="no-such-card"),
        pytest.param(
            {"op": "curve", "sequence_lengths": 2048}, "wrong-type", "sequence_lengths", id="number"
        ),
        pytest.param(
            {"op": "curve", "sequence_lengths": [0]}, "wrong-type", "sequence_lengths", id="zero"
        ),
        pytest.param(
            {"op": "curve", "sequence_lengths": [True]}, "wrong-type", "sequence_lengths", id="flag"
        ),
        pytest.param(
            {"op": "curve", "sequence_lengths": [1] * 201},
            "wrong-type",
            "sequence_lengths",
            id="too-many",
        ),
        pytest.param({"op": "solve", "card": None}, "missing-field", "card", id="solve-no-card"),
    ],
)
def test_an_operation_s_own_field_is_refused(fields: dict[str, Any], code: str, field: str) -> None:
    error = json.loads(run(json.dumps({**LLAMA, **fields}), CATALOG))["error"]

    assert (error["code"], error["field"]) == (code, field)


def test_a_curve_has_the_lengths_that_were_asked_for_or_doubles_from_512() -> None:
    def lengths(**fields: Any) -> list[int]:
        curve = answer({**LLAMA, "op": "curve", **fields}, CATALOG)
        return [point["sequence_length"] for point in curve["points"]]

    assert lengths(sequence_lengths=[100, 7]) == [100, 7]
    assert lengths() == [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144]


def test_a_point_of_a_curve_is_the_estimate_at_that_length() -> None:
    (point,) = answer({**LLAMA, "op": "curve", "sequence_lengths": [4096]}, CATALOG)["points"]
    per_gpu = answer({**LLAMA, "sequence_length": 4096}, CATALOG)["per_gpu"]

    assert point["total"] == per_gpu["total"]
    assert point["low"] <= point["total"] <= point["high"]


def test_a_card_without_flash_attention_says_which_kernel_stands_in() -> None:
    def mentions(**fields: Any) -> bool:
        notes = " ".join(answer({**LLAMA, "card": "t4-16gb", **fields}, CATALOG)["assumptions"])
        return "no FlashAttention: PyTorch's memory-efficient kernel" in notes

    assert mentions()
    assert not mentions(attention="eager")
    assert not mentions(card="h100-sxm-80gb")


@pytest.mark.parametrize(("length", "is_told"), [(131_072, False), (131_073, True)])
def test_a_length_beyond_the_model_s_context_is_told(length: int, is_told: bool) -> None:
    notes = " ".join(answer({**LLAMA, "sequence_length": length}, CATALOG)["assumptions"])

    assert ("131,073 tokens are beyond the model's own context of 131,072" in notes) == is_told


def test_gradients_that_are_never_whole_are_still_sent_in_16_bit() -> None:
    request = {"model": {"num_parameters": 13 * 10**9}, "optimizer": "lomo", "strategy": "ddp"}
    lomo = answer({**request, "num_gpus": 4, "gradient_accumulation_steps": 1}, CATALOG)

    assert lomo["per_gpu"]["gradients"] == 0
    # A ring sends 2 (N - 1) / N of the 26 GB of gradients.
    sent = lomo["communication"]["bytes_sent_per_gpu_per_step"]
    assert sent == 26 * 10**9 * 2 * 3 // 4


@pytest.mark.parametrize(
    ("strategy", "once", "step"), [("ddp", 1.0, 1.0), ("zero-2", 1.0, 4.5), ("zero-3", 1.5, 12.0)]
)
def test_traffic_of_a_step_counts_each_of_its_micro_batches(
    strategy: str, once: float, step: float
) -> None:
    request = {"model": {"num_parameters": 13 * 10**9}, "strategy": strategy, "num_gpus": 4}
    sent = answer({**request, "gradient_accumulation_steps": 8}, CATALOG)["communication"]

    assert sent["relative_to_ddp"] == once
    assert sent["relative_to_ddp_per_optimizer_step"] == step
    ratio = sent["bytes_sent_per_gpu_per_optimizer_step"] / sent["bytes_sent_per_gpu_per_step"]
    assert ratio == step / once
    assert sent["explanation"].endswith(
        "Figures per step are for one micro-batch, those per optimizer step for all 8."
    )


def test_a_run_of_a_thousand_tokens_takes_time_and_money() -> None:
    request = {**LLAMA, "method": "qlora", "card": "rtx-4090-24gb", "dataset": {"num_tokens": 1000}}
    spent = answer(request, CATALOG)["throughput"]["cost"]
    best = answer({**request, "op": "solve"}, CATALOG)

    assert 0 < spent["hours_low"] < spent["hours"] < spent["hours_high"] < 0.01
    assert 0 < spent["usd_low"] <= spent["usd"] <= spent["usd_high"] < 0.01
    assert 0 < best["cheapest_run"]["usd"] < 0.01
    assert 0 < best["fastest"]["hours"] < 0.01


@pytest.mark.parametrize(
    ("card", "precision", "is_in_fp16", "has_flash"),
    [
        ("t4-16gb", "bf16-mixed", True, False),
        ("t4-16gb", "fp32", False, False),
        ("arc-b580-12gb", "bf16-mixed", False, False),
        ("h100-sxm-80gb", "bf16-mixed", False, True),
    ],
)
def test_an_answer_says_what_its_card_cannot_do(
    card: str, precision: str, is_in_fp16: bool, has_flash: bool
) -> None:
    judged = answer({**LLAMA, "card": card, "precision": precision}, CATALOG)["card"]

    assert judged["is_in_fp16"] == is_in_fp16
    assert judged["supports_flash_attention"] == has_flash
