"""Figures of a card are of the right size: the usual slip is a unit or a factor of a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.card import Card
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

RANGES: dict[str, tuple[float, float]] = {
    "memory_marketed_gb": (4, 2_000),
    "memory_bandwidth_bytes_per_second": (50e9, 100e12),
    "peak_dense_bf16_flops_per_second": (5e12, 50e15),
    "peak_dense_fp16_flops_per_second": (5e12, 50e15),
    "peak_dense_fp8_flops_per_second": (5e12, 100e15),
    "link_bytes_per_second": (1e9, 10e12),
    "price_usd_per_hour": (0.01, 100),
    "price_usd_per_hour_high": (0.01, 100),
    "gpus_per_node": (1, 72),
}
"""Smallest and largest credible figure, an order of magnitude around what exists."""

USABLE_SHARE = (0.4, 1.1)
"""Usable memory over marketed memory. Above one because many a marketed GB is a GiB; unified memory
gives the GPU as little as half."""


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports figures out of range and figures of one card that contradict each other."""
    for document in documents:
        if isinstance(document.record, Card):
            yield from _check_ranges(document, document.record)
            yield from _check_pairs(document, document.record)


def _check_ranges(document: Document, card: Card) -> Iterator[Problem]:
    for name, (low, high) in RANGES.items():
        value = getattr(card, name)
        if value is not None and not low <= value <= high:
            expected = f"{low:g} to {high:g}"
            yield _problem(document, name, "not credible; check the unit", expected, f"{value:g}")


def _check_pairs(document: Document, card: Card) -> Iterator[Problem]:
    usable, marketed = card.memory_usable_bytes, card.memory_marketed_bytes
    if usable is not None and marketed > 0:
        share = usable / marketed
        low, high = USABLE_SHARE
        if not low <= share <= high:
            expected = f"{low:.0%} to {high:.0%} of the marketed size"
            message = "not credible; check GB against GiB"
            yield _problem(document, "memory_usable_bytes", message, expected, f"{share:.0%}")
    low_price, high_price = card.price_usd_per_hour, card.price_usd_per_hour_high
    if low_price is not None and high_price is not None and high_price < low_price:
        message = "the highest price is below the lowest; swap them"
        yield _problem(document, "price_usd_per_hour_high", message, got=f"{high_price:g}")
    if low_price is not None and card.price_date is None:
        yield _problem(document, "price_date", "a price needs the month of its quote", "a month")
    if card.peak_dense_bf16_flops_per_second is not None and not card.supports_bf16:
        message = "a BF16 rate on a card without BF16; one of the two is wrong"
        yield _problem(document, "supports_bf16", message)
    counts = card.allowed_gpu_counts
    if list(counts) != sorted(set(counts)) or any(count < 1 for count in counts):
        message = "counts must be positive, rising and different"
        yield _problem(document, "allowed_gpu_counts", message, got=str(list(counts)))


def _problem(
    document: Document, name: str, message: str, expected: str = "", got: str = ""
) -> Problem:
    return Problem(
        path=document.path,
        key=f"facts.{name}",
        message=message,
        code="implausible-value",
        expected=expected,
        got=got,
    )
