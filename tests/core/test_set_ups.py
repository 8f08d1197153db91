"""The cheapest and the fastest set-up among those that fit."""

from dataclasses import replace

import pytest

from generator.core.api import answer
from generator.core.fit import fit_limit_bytes
from generator.core.ladder import usable_counts
from generator.core.memory import peak
from generator.core.request import parse
from generator.core.set_ups import case_step, set_ups_that_fit
from generator.load import load_catalog

CATALOG = load_catalog()
REQUEST = {"model": "llama-3.1-8b", "method": "lora", "strategy": "zero-3"}


def test_every_set_up_fits_when_it_is_estimated_afresh() -> None:
    case = parse(REQUEST, CATALOG).case
    found = set_ups_that_fit(case, CATALOG.cards.values(), num_tokens=10**8)
    assert len(found) > 100
    for each in found[::17]:
        total = peak(replace(case, num_gpus=each.num_gpus)).ledger.total
        assert total == each.total_bytes <= fit_limit_bytes(each.card)
        assert each.num_gpus in usable_counts(case.strategy, each.card)


def test_money_is_price_times_hours_times_gpus_and_never_without_a_price() -> None:
    case = parse(REQUEST, CATALOG).case
    for each in set_ups_that_fit(case, CATALOG.cards.values(), num_tokens=10**8):
        price = each.card.price_usd_per_hour
        assert (price is None) == (each.usd_per_hour is None)
        if each.usd is not None and each.hours is not None and price is not None:
            assert each.usd == price * each.num_gpus * each.hours
            assert each.card.price_date


def test_solve_names_the_cheapest_hour_the_cheapest_run_and_the_fastest() -> None:
    result = answer({"op": "solve", **REQUEST}, CATALOG)
    cheapest, run, fastest = (result[key] for key in ("cheapest", "cheapest_run", "fastest"))
    assert cheapest["usd_per_hour"] <= run["usd_per_hour"]
    assert run["usd"] <= cheapest["usd"]
    assert fastest["hours"] <= run["hours"]
    assert fastest["num_gpus"] == 64


@pytest.mark.parametrize(
    ("card", "precision", "is_in_fp16"),
    [
        ("t4-16gb", "bf16-mixed", True),
        ("t4-16gb", "fp32", False),
        ("rtx-4090-24gb", "bf16-mixed", False),
    ],
)
def test_a_card_without_bf16_is_told_where_it_is_the_best(
    card: str, precision: str, is_in_fp16: bool
) -> None:
    own = {"card": card, "price_usd_per_hour": 0.001, "precision": precision}
    request = {**REQUEST, "model": "qwen2.5-0.5b", "method": "lora", **own}
    best = answer({"op": "solve", **request}, CATALOG)["cheapest"]

    assert best["card"] == card
    assert best["is_in_fp16"] == is_in_fp16
    notes = " ".join(answer(request, CATALOG)["assumptions"])
    assert ("has no BF16" in notes) == is_in_fp16


def test_a_card_of_one_s_own_can_be_the_cheapest() -> None:
    request = {**REQUEST, "card": {"memory_gb": 24}, "price_usd_per_hour": 0.001}
    best = answer({"op": "solve", **request, "model": "qwen2.5-0.5b"}, CATALOG)["cheapest"]

    assert (best["card"], best["is_in_fp16"]) == ("own", False)


def test_nothing_fits_and_nothing_is_named() -> None:
    result = answer({"op": "solve", "model": "deepseek-v3", "strategy": "single"}, CATALOG)
    assert result["cheapest"] is result["cheapest_run"] is result["fastest"] is None


def test_dropout_takes_its_time() -> None:
    card = CATALOG.cards["h100-sxm-80gb"]
    seconds = [
        case_step(parse({**REQUEST, "lora": {"dropout": dropped}}, CATALOG).case, card).step_seconds
        for dropped in (False, True)
    ]
    assert seconds[0] < seconds[1]
