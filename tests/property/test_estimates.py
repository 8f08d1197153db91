"""What must hold for every estimate, whatever the set-up: monotone, additive, never negative."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from generator.core.api import answer
from generator.core.catalog import Catalog
from generator.core.codec import catalog_from_dict, catalog_to_dict
from generator.core.memory import case_resident, instants, peak, peak_ledgers, peak_totals
from generator.core.request import CHOICES, parse
from generator.core.run import Case, Strategy
from generator.core.sharding import shard
from generator.load import load_catalog

CATALOG = load_catalog()
MODELS = ("llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-4b", "deepseek-v2-lite", "qwen3.5-4b", "phi-4")

pytestmark = pytest.mark.property


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request over all choices, without card and GPU count."""
    optimizer = draw(st.sampled_from(sorted(CATALOG.optimizers)))
    implementation = draw(st.sampled_from(CHOICES["optimizer_implementation"]))
    in_backward = CATALOG.optimizers[optimizer].in_backward or implementation == "in-backward"
    strategies = [
        strategy
        for strategy in CHOICES["strategy"]
        if CATALOG.optimizers[optimizer].shards_with_zero or not strategy.startswith("zero")
    ]
    return {
        "model": draw(st.sampled_from(MODELS)),
        "method": draw(st.sampled_from(CHOICES["method"])),
        "precision": draw(st.sampled_from(CHOICES["precision"])),
        "optimizer": optimizer,
        "optimizer_implementation": implementation,
        "strategy": draw(st.sampled_from(strategies)),
        "sequence_length": draw(st.integers(1, 1 << 17)),
        "micro_batch_size": draw(st.integers(1, 64)),
        "gradient_accumulation_steps": 1 if in_backward else draw(st.integers(1, 8)),
        "activation_checkpointing": draw(st.sampled_from(CHOICES["activation_checkpointing"])),
        "attention": draw(st.sampled_from(CHOICES["attention"])),
        "loss": draw(st.sampled_from(CHOICES["loss"])),
        "stack": draw(st.sampled_from(sorted(CATALOG.stacks))),
        "lora": {
            "rank": draw(st.integers(1, 256)),
            "adapter_dtype": draw(st.sampled_from(CHOICES["lora.adapter_dtype"])),
            "dropout": draw(st.booleans()),
        },
    }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A case of any such request, on any count."""
    case = parse(draw(requests()), CATALOG).case
    count = 1 if case.strategy == "single" else draw(st.sampled_from((1, 2, 4, 8, 64)))
    return replace(case, num_gpus=count)


@given(case=cases())
@settings(deadline=None, max_examples=150)
def test_lines_are_never_negative_and_add_up_to_the_total(case: Case) -> None:
    for instant in instants(case):
        ledger = instant.ledger
        lines = [
            ledger.weights,
            ledger.master_weights,
            ledger.gradients,
            ledger.optimizer_states,
            ledger.activations,
            ledger.buffers,
            ledger.overhead,
        ]
        assert min(lines) >= 0
        assert sum(lines) == ledger.total
        assert ledger.total - ledger.overhead == ledger.allocated + ledger.paged_states


@given(case=cases(), more=st.integers(1, 4096))
@settings(deadline=None, max_examples=150)
def test_more_tokens_never_need_less_memory(case: Case, more: int) -> None:
    longer = replace(case.workload, sequence_length=case.workload.sequence_length + more)
    larger = replace(case.workload, micro_batch_size=case.workload.micro_batch_size + 1)
    before = peak(case).ledger.total
    assert peak(replace(case, workload=longer)).ledger.total >= before
    assert peak(replace(case, workload=larger)).ledger.total >= before


@given(case=cases(), count=st.sampled_from((2, 4, 8, 64)))
@settings(deadline=None, max_examples=150)
def test_more_sharding_never_needs_more_resident_state(case: Case, count: int) -> None:
    state = case_resident(case)
    totals = [shard(state, zero_stage=stage, num_gpus=count).total for stage in range(4)]
    assert totals == sorted(totals, reverse=True)
    for stage in range(4):
        fewer = shard(state, zero_stage=stage, num_gpus=count).total
        assert shard(state, zero_stage=stage, num_gpus=2 * count).total <= fewer


@given(case=cases())
@settings(deadline=None, max_examples=100)
def test_zero_stages_are_equal_on_one_gpu(case: Case) -> None:
    # DeepSpeed's engine has gradient buckets on one GPU as well, by stage.
    assume(case.stack.zero_engine != "deepspeed")
    strategies: tuple[Strategy, ...] = ("single", "zero-1", "zero-2", "zero-3")
    totals = {
        peak(replace(case, strategy=strategy, num_gpus=1)).ledger.total for strategy in strategies
    }
    assert len(totals) == 1


@given(request=requests(), card=st.sampled_from(("t4-16gb", "rtx-4090-24gb", "h100-sxm-80gb")))
@settings(deadline=None, max_examples=100)
def test_a_change_that_is_offered_gives_what_it_promises(
    request: dict[str, Any], card: str
) -> None:
    before = {**request, "card": card}
    for change in answer(before, CATALOG)["changes"]:
        after = answer({**before, **change["set"]}, CATALOG)
        assert after["card"]["verdict"] == "fits"
        assert (after["per_gpu"]["total"], after["num_gpus"]) == (
            change["total"],
            change["num_gpus"],
        )


@given(case=cases())
@settings(deadline=None, max_examples=100)
def test_ledgers_and_totals_of_many_placements_are_the_peaks_of_each(case: Case) -> None:
    placements: list[tuple[Strategy, int]] = [
        ("single", 1),
        ("ddp", 2),
        ("zero-1", 4),
        ("zero-2", 8),
        ("zero-3", 64),
    ]
    expected = [
        peak(replace(case, strategy=strategy, num_gpus=count)).ledger
        for strategy, count in placements
    ]
    assert expected == peak_ledgers(case, placements)
    assert [ledger.total for ledger in expected] == peak_totals(case, placements)


def test_catalog_survives_the_round_trip_through_plain_dictionaries() -> None:
    again: Catalog = catalog_from_dict(catalog_to_dict(CATALOG))
    assert again.cards == CATALOG.cards
    assert again.optimizers == CATALOG.optimizers
    assert again.methods == CATALOG.methods
    assert again.stacks == CATALOG.stacks
    assert {key: model.config for key, model in again.models.items()} == {
        key: model.config for key, model in CATALOG.models.items()
    }
    request = {"model": "qwen3-30b-a3b", "method": "qlora", "card": "rtx-4090-24gb"}
    assert answer(request, again) == answer(request, CATALOG)
