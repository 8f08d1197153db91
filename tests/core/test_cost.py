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


def test_hours_and_money_by_hand() -> None:
    spent = cost(
        **RATES,  # type: ignore[arg-type]
        num_tokens=360_000_000,
        epochs=2,
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


def test_padding_costs_like_tokens() -> None:
    samples = {"num_samples": 1000, "tokens_per_sample": 512, "sequence_length": 2048}
    packed = cost(**RATES, **samples)  # type: ignore[arg-type]
    padded = cost(**RATES, **samples, packing=False)  # type: ignore[arg-type]
    assert packed.num_tokens == padded.num_tokens == 512_000
    assert padded.num_processed_tokens == 4 * packed.num_processed_tokens
    assert padded.hours == 4 * packed.hours
    assert packed.usd is None
    assert packed.price_date is None


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({}, "num_tokens", id="no-size"),
        pytest.param({"num_samples": 10}, "num_tokens", id="no-sample-length"),
        pytest.param({"num_tokens": 10, "packing": False}, "num_samples", id="padding-of-nothing"),
        pytest.param(
            {"num_tokens": 10, "price_usd_per_hour": 1.0}, "price_date", id="price-without-date"
        ),
        pytest.param(
            {"num_tokens": 10, "tokens_per_second": 0.0}, "tokens_per_second", id="no-rate"
        ),
    ],
)
def test_incomplete_costs_are_refused(arguments: dict[str, object], field: str) -> None:
    with pytest.raises(TrainfitError) as raised:
        cost(**{**RATES, **arguments})  # type: ignore[arg-type]
    assert raised.value.field == field
