"""Hours and money of a data set at a rate."""

import pytest

from generator.core.cost import cost
from generator.core.errors import TrainfitError

RATES = {
    "tokens_per_second": 10_000.0,
    "tokens_per_second_low": 8_000.0,
    "tokens_per_second_high": 12_500.0,
    "num_gpus": 4,
}
SIZE = {"num_tokens": 10, "num_processed_tokens": 10}


def test_hours_and_money_by_hand() -> None:
    spent = cost(
        **RATES,  # type: ignore[arg-type]
        num_tokens=700_000_000,
        num_processed_tokens=720_000_000,
        price_usd_per_hour=2.0,
        price_usd_per_hour_high=3.0,
        price_date="2026-11",
    )
    # 720e6 tokens at 10,000 a second: 72,000 s.
    assert spent.hours == 20
    assert (spent.hours_low, spent.hours_high) == (16, 25)
    assert spent.gpu_hours == 80
    assert spent.usd == 160
    assert spent.usd_low == 16 * 4 * 2
    assert spent.usd_high == 25 * 4 * 3
    assert spent.price_date == "2026-11"
    assert (spent.num_tokens, spent.num_processed_tokens) == (700_000_000, 720_000_000)


def test_without_a_price_there_is_no_money_and_no_date() -> None:
    spent = cost(**RATES, **SIZE, price_date="2026-11")  # type: ignore[arg-type]
    assert spent.usd is None
    assert spent.price_date is None


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({"price_usd_per_hour": 1.0}, "price_date", id="price-without-date"),
        pytest.param({"tokens_per_second": 0.0}, "tokens_per_second", id="no-rate"),
    ],
)
def test_incomplete_costs_are_refused(arguments: dict[str, object], field: str) -> None:
    with pytest.raises(TrainfitError) as raised:
        cost(**{**RATES, **SIZE, **arguments})  # type: ignore[arg-type]
    assert raised.value.field == field
