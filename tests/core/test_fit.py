"""Verdicts, ladder and solvers against cards made for the purpose."""

from dataclasses import replace
from typing import Any

import pytest

from generator.core.card import Card
from generator.core.fit import fit_limit_bytes, tight_limit_bytes, verdict, verdict_name
from generator.core.ladder import climb, default_gpus, fewest_gpus, gpu_counts, usable_counts
from generator.core.memory import Ledger, peak
from generator.core.model import BlockGroup, MixtureOfExperts
from generator.core.optimizer import Optimizer, OptimizerState
from generator.core.run import MAX_SEQUENCE_LENGTH, Case, Lora, Strategy, Workload
from generator.core.solve import (
    _largest_under,
    changes_that_fit,
    largest_micro_batch,
    longest_sequence,
    longest_sequences,
)
from tests.core.records import ADAMW, BLOCK, GENERIC, LLAMA_8B

ADAMW_8BIT = Optimizer(
    id="adamw-8bit",
    name="AdamW 8-bit",
    states=(
        OptimizerState(name="exp_avg", dtype="blockwise-8bit"),
        OptimizerState(name="exp_avg_sq", dtype="blockwise-8bit"),
    ),
    min_blockwise_elements=4096,
)
SXM = Card(
    id="test-sxm-80gb",
    name="Test SXM",
    vendor="nvidia",
    form="sxm",
    memory_marketed_gb=80,
    memory_usable_bytes=84_000_000_000,
    allowed_gpu_counts=(1, 2, 4, 8, 16, 32, 64),
    gpus_per_node=8,
)
PCIE = replace(SXM, id="test-pcie-80gb", form="pcie", allowed_gpu_counts=(1, 2, 4, 8))
RACK = replace(SXM, id="test-rack-80gb", form="rack", allowed_gpu_counts=(16, 32, 64))
FULL = Case(model=LLAMA_8B, optimizer=ADAMW, stack=GENERIC)


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        pytest.param(76_000_000_000, "fits", id="exactly-95-percent"),
        pytest.param(76_000_000_001, "tight", id="one-byte-more"),
        pytest.param(84_000_000_000, "tight", id="all-that-the-driver-offers"),
        pytest.param(84_000_000_001, "no", id="one-byte-more-than-that"),
    ],
)
def test_verdict_changes_at_95_percent_and_at_the_usable_size(total: int, expected: str) -> None:
    assert verdict_name(total, SXM) == expected


def test_without_a_reading_of_the_usable_size_nothing_is_tight() -> None:
    card = replace(SXM, memory_usable_bytes=None)
    assert fit_limit_bytes(card) == tight_limit_bytes(card) == 76_000_000_000
    assert verdict_name(76_000_000_001, card) == "no"


def test_a_card_that_offers_less_than_95_percent_fits_only_what_it_offers() -> None:
    shared = replace(SXM, memory_usable_bytes=60_000_000_000)
    assert fit_limit_bytes(shared) == 60_000_000_000
    assert verdict_name(60_000_000_001, shared) == "no"


def ledger(**gigabytes: int) -> Ledger:
    """A ledger with these lines, in GB, and nothing else."""
    lines = {
        "weights": 0,
        "master_weights": 0,
        "gradients": 0,
        "optimizer_states": 0,
        "activations": 0,
        "buffers": 0,
        "overhead": 0,
    }
    return Ledger(**{**lines, **{line: each * 10**9 for line, each in gigabytes.items()}})


def test_a_fit_says_its_share_of_the_card() -> None:
    answer = verdict(FULL, ledger(weights=16, overhead=4), SXM)

    assert (answer.name, answer.share) == ("fits", 0.25)
    assert answer.reason == "20.0 GB of 80 GB per GPU (25 %), within 95 %."


def test_a_tight_fit_says_what_the_driver_offers() -> None:
    answer = verdict(FULL, ledger(weights=80), SXM)

    assert (answer.name, answer.share) == ("tight", 1)
    assert answer.reason == (
        "80.0 GB of 80 GB per GPU (100 %): above 95 %, under the 84.0 GB that the driver offers; "
        "fragmentation or a longer sample can end it."
    )


@pytest.mark.parametrize(
    ("strategy", "num_gpus", "what_more_gpus_do"),
    [
        pytest.param("single", 1, "a single GPU has to hold all of it", id="single"),
        pytest.param(
            "ddp",
            4,
            "adding GPUs does not help under DDP, which adds throughput and not capacity",
            id="ddp",
        ),
        # 20 of weights, 2 of gradients, 40 of activations, 5 of buffers and 1 of overhead.
        pytest.param(
            "zero-1",
            4,
            "every GPU keeps 68.0 GB of weights, gradients and activations and overhead however "
            "many there are",
            id="zero-1",
        ),
        pytest.param(
            "zero-2",
            4,
            "every GPU keeps 66.0 GB of weights and activations and overhead however many there "
            "are",
            id="zero-2",
        ),
        pytest.param(
            "zero-3",
            4,
            "every GPU keeps 46.0 GB of activations and overhead however many there are",
            id="zero-3",
        ),
        # One GPU holds all of it, and what it holds is not what each of several would.
        pytest.param("zero-1", 1, "more GPUs would share optimizer state", id="zero-1-on-one-gpu"),
        pytest.param(
            "zero-2",
            1,
            "more GPUs would share gradients and optimizer state",
            id="zero-2-on-one-gpu",
        ),
        pytest.param(
            "zero-3",
            1,
            "more GPUs would share weights, gradients and optimizer state",
            id="zero-3-on-one-gpu",
        ),
    ],
)
def test_a_miss_names_the_largest_line_and_what_more_gpus_do(
    strategy: Strategy, num_gpus: int, what_more_gpus_do: str
) -> None:
    need = ledger(
        weights=20, gradients=2, optimizer_states=70, activations=40, buffers=5, overhead=1
    )
    answer = verdict(replace(FULL, strategy=strategy, num_gpus=num_gpus), need, SXM)

    assert (answer.name, answer.share) == ("no", 138 / 80)
    assert answer.reason == (
        "138.0 GB of 80 GB per GPU (172 %): optimizer state is 70.0 GB; " + what_more_gpus_do + "."
    )


@pytest.mark.parametrize(
    ("total", "reason"),
    [
        (60, "60.0 GB of 80 GB per GPU (75 %), of which 60.0 GB can be used."),
        (61, "61.0 GB of 80 GB per GPU (76 %), of which 60.0 GB can be used: weights alone are"),
    ],
)
def test_what_others_hold_of_a_card_is_told(total: int, reason: str) -> None:
    shared = replace(SXM, memory_usable_bytes=60_000_000_000)

    assert verdict(FULL, ledger(weights=total), shared).reason.startswith(reason)


def test_one_byte_less_than_95_percent_is_told() -> None:
    card = replace(SXM, memory_usable_bytes=75_999_999_999)

    assert verdict(FULL, ledger(weights=60), card).reason.endswith("which 76.0 GB can be used.")


def test_a_card_that_offers_95_percent_has_nothing_to_tell_of_it() -> None:
    card = replace(SXM, memory_usable_bytes=76_000_000_000)

    assert verdict(FULL, ledger(weights=60), card).reason.endswith("(75 %), within 95 %.")


EXPERTS = MixtureOfExperts(num_experts=8, num_experts_per_token=2, moe_intermediate_size=1024)
MOE = replace(
    LLAMA_8B,
    block_groups=(BlockGroup(count=2, block=replace(BLOCK, feed_forward=EXPERTS)),),
)


@pytest.mark.parametrize(
    ("changes", "need", "is_told"),
    [
        pytest.param({"method": "qlora"}, {"weights": 90}, True, id="qlora"),
        pytest.param({"method": "lora"}, {"weights": 90}, False, id="nothing-is-in-4-bit"),
        pytest.param(
            {"method": "qlora", "model": LLAMA_8B}, {"weights": 90}, False, id="no-experts"
        ),
        pytest.param(
            {"method": "qlora", "stack": replace(GENERIC, quantises_experts=True)},
            {"weights": 90},
            False,
            id="a-tool-that-reaches-them",
        ),
        pytest.param(
            {"method": "qlora"}, {"weights": 40, "activations": 50}, False, id="not-the-largest"
        ),
    ],
)
def test_a_4_bit_base_that_is_large_for_its_experts_says_why(
    changes: dict[str, Any], need: dict[str, int], is_told: bool
) -> None:
    reason = verdict(replace(FULL, **{"model": MOE, **changes}), ledger(**need), SXM).reason

    told = "weights alone are 90.0 GB, since fused experts stay in 16 bit; a single"
    assert (told in reason) == is_told
    assert ("experts" in reason) == is_told


def test_one_gpu_without_anything_to_shard_is_told_so() -> None:
    case = replace(FULL, strategy="zero-1", num_gpus=1)

    assert verdict(case, ledger(weights=90), SXM).reason.endswith(
        "; more GPUs would share nothing of it."
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("weights", "weights alone are 90.0 GB"),
        ("master_weights", "FP32 master weights alone are 90.0 GB"),
        ("gradients", "gradients alone are 90.0 GB"),
        ("optimizer_states", "optimizer state alone is 90.0 GB"),
        ("activations", "activations and loss alone are 90.0 GB"),
        ("buffers", "buffers alone are 90.0 GB"),
        ("overhead", "overhead alone is 90.0 GB"),
    ],
)
def test_a_line_that_alone_does_not_fit_is_said_to(line: str, words: str) -> None:
    assert f"(112 %): {words}; " in verdict(FULL, ledger(**{line: 90}), SXM).reason


def test_a_line_of_just_the_limit_is_not_said_to_miss_alone() -> None:
    reason = verdict(FULL, ledger(weights=76, activations=10), SXM).reason

    assert ": weights are 76.0 GB;" in reason


def test_sizes_of_large_memories_are_grouped() -> None:
    pool = replace(SXM, memory_marketed_gb=2000, memory_usable_bytes=None)

    assert "20.0 GB of 2,000 GB per GPU (1 %)" in verdict(FULL, ledger(weights=20), pool).reason


def test_ladder_takes_the_first_rung_within_95_percent() -> None:
    assert climb(replace(FULL, strategy="zero-3"), SXM).num_gpus == 2
    assert climb(replace(FULL, strategy="zero-1"), SXM).num_gpus == 4


def test_pcie_cards_stop_at_one_node_and_racks_start_above_it() -> None:
    huge = replace(FULL, strategy="zero-3", workload=Workload(sequence_length=1 << 20))
    assert gpu_counts(PCIE) == (1, 2, 4, 8)
    assert climb(huge, PCIE).num_gpus == 8
    assert gpu_counts(RACK) == (16, 32, 64)
    assert climb(replace(FULL, strategy="zero-3"), RACK).num_gpus == 16


def test_strategies_pick_their_own_count_where_nobody_else_does() -> None:
    assert [default_gpus(name) for name in ("single", "ddp", "zero-1")] == [1, 2, 8]


def test_longest_sequence_fits_and_the_next_step_does_not() -> None:
    case = replace(FULL, method="lora", lora=Lora())
    longest = longest_sequence(case, SXM)
    assert longest % 256 == 0

    def total(length: int) -> int:
        return peak(replace(case, workload=Workload(sequence_length=length))).ledger.total

    assert total(longest) <= fit_limit_bytes(SXM) < total(longest + 256)
    assert longest_sequence(FULL, SXM) == 0


def test_longest_sequences_of_many_limits_are_those_of_each() -> None:
    case = replace(FULL, method="qlora")
    limits = [limit * 10**9 for limit in (4, 8, 12, 24, 48, 80, 141, 180)]
    each = [longest_sequences(case, [limit])[0] for limit in limits]
    assert each == list(longest_sequences(case, limits))
    assert each == list(longest_sequences(case, limits[::-1]))[::-1]


def test_largest_micro_batch_fits_and_one_more_does_not() -> None:
    case = replace(FULL, method="lora")
    largest = largest_micro_batch(case, SXM)

    def total(size: int) -> int:
        return peak(replace(case, workload=Workload(micro_batch_size=size))).ledger.total

    assert total(largest) <= fit_limit_bytes(SXM) < total(largest + 1)
    assert largest_micro_batch(FULL, SXM) == 0


def test_a_card_for_everything_takes_the_longest_sequence_that_is_tried() -> None:
    assert longest_sequences(FULL, [10**18]) == (MAX_SEQUENCE_LENGTH,)


def test_bisection_finds_the_last_value_that_fits() -> None:
    limits = range(40)
    assert _largest_under(lambda value: value, limits, upper=64) == tuple(limits)
    assert _largest_under(lambda value: value, limits[::-1], upper=64) == tuple(limits[::-1])
    assert _largest_under(lambda value: value, [63, 64, 65], upper=64) == (63, 64, 64)


def test_fewest_gpus_follow_the_strategy() -> None:
    assert fewest_gpus(FULL, SXM) is None
    assert fewest_gpus(replace(FULL, strategy="ddp"), SXM) is None
    assert fewest_gpus(replace(FULL, method="lora"), SXM) == 1
    assert fewest_gpus(replace(FULL, method="lora", strategy="ddp"), SXM) == 2
    assert fewest_gpus(replace(FULL, strategy="zero-3"), SXM) == 2


def test_one_gpu_can_be_had_of_any_card_and_ddp_needs_two() -> None:
    assert usable_counts("single", PCIE) == usable_counts("single", RACK) == (1,)
    assert usable_counts("ddp", PCIE) == (2, 4, 8)
    assert usable_counts("zero-3", PCIE) == (1, 2, 4, 8)
    assert usable_counts("ddp", RACK) == usable_counts("zero-3", RACK) == (16, 32, 64)
    assert fewest_gpus(replace(FULL, method="lora"), RACK) == 1


def test_every_offered_change_fits_when_it_is_made_and_none_is_offered_twice() -> None:
    case = replace(
        FULL,
        method="lora",
        workload=Workload(
            sequence_length=8192,
            micro_batch_size=8,
            activation_checkpointing="none",
            attention="eager",
        ),
    )
    changes = changes_that_fit(case, SXM, eight_bit=ADAMW_8BIT)
    assert all(change.verdict == "fits" for change in changes)
    assert all(change.total <= fit_limit_bytes(SXM) for change in changes)
    keys = [(change.field, change.value) for change in changes]
    assert len(keys) == len(set(keys))


def test_sharding_is_no_help_to_an_optimizer_that_needs_whole_gradients() -> None:
    case = replace(FULL, optimizer=replace(FULL.optimizer, shards_with_zero=False))
    changes = changes_that_fit(case, SXM, eight_bit=ADAMW_8BIT)
    assert "strategy" not in {change.field for change in changes}


def test_changes_come_cheapest_first_and_mark_what_alters_the_training() -> None:
    changes = changes_that_fit(FULL, SXM, eight_bit=ADAMW_8BIT)
    fields = ["precision", "strategy", "strategy", "method"]
    assert [change.field for change in changes] == fields
    assert [change.changes_training for change in changes] == [False, False, False, True]


def test_sharding_offers_fewest_gpus_first_and_of_two_stages_the_one_that_sends_less() -> None:
    changes = changes_that_fit(FULL, SXM, eight_bit=ADAMW_8BIT)
    sharded = [(each.num_gpus, each.value) for each in changes if each.field == "strategy"]
    # ZeRO-2 needs four GPUs as well, and sends the gradients of each micro-batch.
    assert sharded == [(2, "zero-3"), (4, "zero-1")]


def test_an_optimizer_that_steps_in_backward_is_not_told_to_accumulate() -> None:
    workload = Workload(sequence_length=4096, micro_batch_size=16, gradient_accumulation_steps=1)
    stepping = replace(FULL.optimizer, in_backward=True)
    offered = [
        {
            change.field
            for change in changes_that_fit(
                replace(FULL, optimizer=optimizer, precision="bf16-pure", workload=workload), SXM
            )
        }
        for optimizer in (FULL.optimizer, stepping)
    ]
    assert ["micro_batch_size" in fields for fields in offered] == [True, False]


def test_all_levers_together_cost_what_each_of_them_does() -> None:
    workload = Workload(
        sequence_length=4096, micro_batch_size=4, attention="eager", gradient_accumulation_steps=8
    )
    case = replace(FULL, method="lora", workload=workload)
    card = replace(SXM, memory_marketed_gb=24, memory_usable_bytes=None)
    (first, *_) = changes_that_fit(case, card)
    assert (first.label, first.cost) == (
        "FlashAttention, micro-batch 1 with 32 accumulation steps and chunked loss",
        "smaller kernels",
    )


def test_weights_without_an_fp32_copy_are_offered_only_where_they_help() -> None:
    def fields(case: Case, card: Card) -> set[str]:
        return {change.field for change in changes_that_fit(case, card, eight_bit=ADAMW_8BIT)}

    assert "precision" in fields(replace(FULL, precision="amp"), SXM)
    assert "precision" not in fields(replace(FULL, precision="bf16-pure"), SXM)
    assert "precision" not in fields(FULL, replace(SXM, supports_bf16=False))
    small = replace(SXM, memory_marketed_gb=16, memory_usable_bytes=None)
    assert "precision" not in fields(replace(FULL, method="lora"), small)


def test_an_8_bit_optimizer_is_offered_where_it_is_enough() -> None:
    card = replace(SXM, memory_marketed_gb=96, memory_usable_bytes=None)
    changes = changes_that_fit(FULL, card, eight_bit=ADAMW_8BIT)
    assert ("optimizer", "adamw-8bit") in [(change.field, change.value) for change in changes]


def test_a_shorter_sequence_is_offered_where_it_is_enough() -> None:
    case = replace(FULL, method="qlora", workload=Workload(sequence_length=131_072))
    shorter = [
        change
        for change in changes_that_fit(case, SXM, eight_bit=ADAMW_8BIT)
        if change.field == "sequence_length"
    ]
    assert [change.value for change in shorter] == [32_768]


def test_levers_are_offered_together_where_none_is_enough_alone() -> None:
    case = replace(
        FULL,
        method="lora",
        workload=Workload(
            sequence_length=32_768, micro_batch_size=4, activation_checkpointing="none"
        ),
    )
    (first, *_) = changes_that_fit(case, SXM)
    assert dict(first.settings) == {
        "micro_batch_size": 1,
        "gradient_accumulation_steps": 32,
        "activation_checkpointing": "full",
        "loss": "chunked",
    }


def test_a_machine_that_comes_alone_gets_no_sharded_change() -> None:
    alone = replace(SXM, form="unified", allowed_gpu_counts=(1,))
    changes = changes_that_fit(replace(FULL, strategy="ddp", num_gpus=2), alone)
    assert [change.field for change in changes] == ["method"]
