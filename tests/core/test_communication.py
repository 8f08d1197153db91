"""Traffic per step and strategy, F19 among it."""

import pytest

from generator.core.communication import communication, ring_bytes
from generator.core.errors import TrainfitError
from generator.core.run import Strategy

N_13B = 13_000_000_000
GB = 10**9


@pytest.mark.parametrize(
    ("strategy", "expected_gb", "relative"),
    [("ddp", 39, 1.0), ("zero-1", 39, 1.0), ("zero-2", 39, 1.0), ("zero-3", 58.5, 1.5)],
)
def test_f19_13b_in_bf16_on_four_gpus(
    strategy: Strategy, expected_gb: float, relative: float
) -> None:
    sent = communication(
        num_trainable_parameters=N_13B, weight_bytes=2 * N_13B, strategy=strategy, num_gpus=4
    )
    assert sent.bytes_sent_per_gpu_per_step == expected_gb * GB
    assert sent.relative_to_ddp == relative


@pytest.mark.parametrize(
    ("strategy", "expected_gb"),
    [
        pytest.param("ddp", 39, id="ddp-reduces-once"),
        pytest.param("zero-1", 39, id="zero-1-reduces-once"),
        # Eight scatters of 19.5 and one gather of 19.5.
        pytest.param("zero-2", 175.5, id="zero-2-scatters-per-micro-batch"),
        pytest.param("zero-3", 8 * 58.5, id="zero-3-repeats-all-three"),
    ],
)
def test_accumulation_repeats_what_each_strategy_cannot_defer(
    strategy: Strategy, expected_gb: float
) -> None:
    sent = communication(
        num_trainable_parameters=N_13B,
        weight_bytes=2 * N_13B,
        strategy=strategy,
        num_gpus=4,
        gradient_accumulation_steps=8,
    )
    assert sent.bytes_sent_per_gpu_per_step == expected_gb * GB
    if strategy in ("zero-2", "zero-3"):
        assert "8 micro-batches" in sent.explanation


def test_lora_sends_adapter_gradients_but_zero_3_still_gathers_the_frozen_base() -> None:
    adapters = 20_000_000
    ddp = communication(
        num_trainable_parameters=adapters, weight_bytes=2 * N_13B, strategy="ddp", num_gpus=4
    )
    sharded = communication(
        num_trainable_parameters=adapters, weight_bytes=2 * N_13B, strategy="zero-3", num_gpus=4
    )
    assert ddp.bytes_sent_per_gpu_per_step == 60_000_000
    assert sharded.bytes_sent_per_gpu_per_step == 39 * GB + 30_000_000
    assert sharded.relative_to_ddp == pytest.approx(650.5)


@pytest.mark.parametrize(("strategy", "num_gpus"), [("single", 4), ("zero-3", 1), ("ddp", 1)])
def test_one_gpu_sends_nothing(strategy: Strategy, num_gpus: int) -> None:
    sent = communication(
        num_trainable_parameters=N_13B,
        weight_bytes=2 * N_13B,
        strategy=strategy,
        num_gpus=num_gpus,
    )
    assert sent.bytes_sent_per_gpu_per_step == 0
    assert sent.relative_to_ddp == 0


def test_nothing_trained_has_no_ratio() -> None:
    sent = communication(
        num_trainable_parameters=0, weight_bytes=100, strategy="zero-3", num_gpus=2
    )
    assert sent.relative_to_ddp == 0


@pytest.mark.parametrize("field", ["num_gpus", "gradient_accumulation_steps"])
def test_counts_below_one_are_refused(field: str) -> None:
    arguments = {"num_gpus": 2, "gradient_accumulation_steps": 1, field: 0}
    with pytest.raises(TrainfitError, match=field) as raised:
        communication(num_trainable_parameters=1, weight_bytes=2, strategy="ddp", **arguments)
    assert raised.value.code == "out-of-range"


def test_a_ring_passes_all_parts_but_its_own() -> None:
    assert ring_bytes(800, 8) == 700
    assert ring_bytes(800, 1) == 0
