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
    num_tokens: int | None = None,
    num_samples: int | None = None,
    tokens_per_sample: int | None = None,
    sequence_length: int | None = None,
    packing: bool = True,
    epochs: float = 1.0,
    price_usd_per_hour: float | None = None,
    price_usd_per_hour_high: float | None = None,
    price_date: str | None = None,
) -> Cost:
    """Hours and money to train on a data set.

    Shape: tokens x epochs / rate; GPU hours x price per GPU and hour.
    Counts: without packing every sample is padded to `sequence_length`, and padding costs like
        tokens.
    Ignores: idle and set-up time, storage, failed runs.

    Args:
        tokens_per_second: Of all GPUs together, padding included.
        tokens_per_second_low: Slow end of the band.
        tokens_per_second_high: Fast end of the band.
        num_gpus: GPUs that are paid for.
        num_tokens: Tokens of the data set; or give samples.
        num_samples: Samples of the data set.
        tokens_per_sample: Their mean length.
        sequence_length: What a sample is padded to when `packing` is off.
        packing: Samples share sequences, so that nothing is padded.
        epochs: Passes over the data set.
        price_usd_per_hour: Low price of one GPU hour.
        price_usd_per_hour_high: High price; the low one where none is given.
        price_date: Month of the price.

    Raises:
        TrainfitError: neither tokens nor samples (code `missing-field`), a price without a date
            (`missing-field`), or a rate of zero (`out-of-range`).

    Source: arithmetic; checked by tests/core/test_cost.py.
    """
    if min(tokens_per_second, tokens_per_second_low, tokens_per_second_high) <= 0:
        raise TrainfitError("out-of-range", "tokens_per_second", "The rate must be above 0.")
    if num_tokens is None:
        if num_samples is None or tokens_per_sample is None:
            raise TrainfitError(
                "missing-field",
                "num_tokens",
                "The data set has no size; give num_tokens, or num_samples with tokens_per_sample.",
            )
        num_tokens = num_samples * tokens_per_sample
    processed = num_tokens
    if not packing:
        if num_samples is None or sequence_length is None:
            raise TrainfitError(
                "missing-field",
                "num_samples",
                "Padding needs num_samples and sequence_length; give both, or pack.",
            )
        processed = max(num_tokens, num_samples * sequence_length)
    if price_usd_per_hour is not None and not price_date:
        raise TrainfitError(
            "missing-field", "price_date", "A price goes with its date; give price_date."
        )
    content = round(num_tokens * epochs)
    total = round(processed * epochs)

    def hours(rate: float) -> float:
        return total / rate / SECONDS_PER_HOUR

    usd = usd_low = usd_high = None
    if price_usd_per_hour is not None:
        high_price = max(price_usd_per_hour, price_usd_per_hour_high or price_usd_per_hour)
        usd = hours(tokens_per_second) * num_gpus * price_usd_per_hour
        usd_low = hours(tokens_per_second_high) * num_gpus * price_usd_per_hour
        usd_high = hours(tokens_per_second_low) * num_gpus * high_price
    return Cost(
        num_tokens=content,
        num_processed_tokens=total,
        hours=hours(tokens_per_second),
        hours_low=hours(tokens_per_second_high),
        hours_high=hours(tokens_per_second_low),
        gpu_hours=hours(tokens_per_second) * num_gpus,
        usd=usd,
        usd_low=usd_low,
        usd_high=usd_high,
        price_date=price_date if price_usd_per_hour is not None else None,
    )
