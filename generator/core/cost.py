"""What a data set takes in hours and money at a rate of training."""

from dataclasses import dataclass

from generator.core.errors import TrainfitError

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Hours and money for a data set. `low` and `high` follow the band of the rate and the span of
    prices; money comes with the date of its price.
    """

    num_tokens: int
    """Tokens with content, all epochs."""
    num_processed_tokens: int
    """With padding."""
    hours: float
    hours_low: float
    hours_high: float
    gpu_hours: float
    usd: float | None
    usd_low: float | None
    usd_high: float | None
    price_date: str | None


def cost(
    *,
    tokens_per_second: float,
    tokens_per_second_low: float,
    tokens_per_second_high: float,
    num_gpus: int,
    num_tokens: int,
    num_processed_tokens: int,
    price_usd_per_hour: float | None = None,
    price_usd_per_hour_high: float | None = None,
    price_date: str | None = None,
) -> Cost:
    """Hours and money to train on a data set.

    Shape: tokens / rate; GPU hours x price per GPU and hour.
    Ignores: idle and set-up time, storage, failed runs.

    Args:
        tokens_per_second: Of all GPUs together, padding included.
        tokens_per_second_low: Slow end of the band.
        tokens_per_second_high: Fast end of the band.
        num_gpus: GPUs that are paid for.
        num_tokens: Tokens with content, all epochs.
        num_processed_tokens: With padding.
        price_usd_per_hour: Low price of one GPU hour.
        price_usd_per_hour_high: High price; the low one where none is given.
        price_date: Month of the price.

    Raises:
        TrainfitError: a price without a date (code `missing-field`), or a rate of zero
            (`out-of-range`).

    Source: arithmetic; checked by tests/core/test_cost.py.
    """
    if min(tokens_per_second, tokens_per_second_low, tokens_per_second_high) <= 0:
        raise TrainfitError("out-of-range", "tokens_per_second", "The rate must be above 0.")
    if price_usd_per_hour is not None and not price_date:
        raise TrainfitError(
            "missing-field", "price_date", "A price goes with its date; give price_date."
        )

    def hours(rate: float) -> float:
        return num_processed_tokens / rate / SECONDS_PER_HOUR

    usd = usd_low = usd_high = None
    if price_usd_per_hour is not None:
        high_price = max(price_usd_per_hour, price_usd_per_hour_high or price_usd_per_hour)
        usd = hours(tokens_per_second) * num_gpus * price_usd_per_hour
        usd_low = hours(tokens_per_second_high) * num_gpus * price_usd_per_hour
        usd_high = hours(tokens_per_second_low) * num_gpus * high_price
    return Cost(
        num_tokens=num_tokens,
        num_processed_tokens=num_processed_tokens,
        hours=hours(tokens_per_second),
        hours_low=hours(tokens_per_second_high),
        hours_high=hours(tokens_per_second_low),
        gpu_hours=hours(tokens_per_second) * num_gpus,
        usd=usd,
        usd_low=usd_low,
        usd_high=usd_high,
        price_date=price_date if price_usd_per_hour is not None else None,
    )
