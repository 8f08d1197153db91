"""Figures are of the right size: the usual slip is a unit or a factor of a thousand."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence

from generator.core.card import Card
from generator.core.catalog import CatalogModel
from generator.core.stack import Stack
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem, ProblemCode, plain_number

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

RATES = (
    "peak_dense_bf16_flops_per_second",
    "peak_dense_fp16_flops_per_second",
    "peak_dense_fp8_flops_per_second",
)
FLOPS_PER_BYTE = (40, 800)
"""Rate in 16 bit over memory bandwidth: the catalog's cards span 71 to 496, half as much again is
let pass."""
FLOPS_PER_BYTE_UNIFIED = (40, 1_500)
"""Processors with the host's memory: up to 944."""
FP8_RATIO = (0.95, 2.1)
"""FP8 over BF16; four is the rate for sparsity over the dense one."""

MOST_BYTES = 1e12

DRAFT = "still the 0 of the draft; look it up, or delete the line and the one in [cite]"
USABLE_SHARE = (0.4, 1.1)
"""Usable memory over marketed memory. Above one because many a marketed GB is a GiB; unified memory
gives the GPU as little as half."""


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports figures out of range, odd months, and figures of one card that contradict."""
    for document in documents:
        yield from _check_months(document, context.today)
        yield from _check_totals(document)
        yield from _check_bytes(document)
        if isinstance(document.record, Card):
            yield from _check_ranges(document, document.record)
            yield from _check_rates(document, document.record)
            yield from _check_pairs(document, document.record)


MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2]|H[12])")
MONTHS = ("released", "price_date")
MOST_PARAMETERS = 10**14


def _check_months(document: Document, today: datetime.date) -> Iterator[Problem]:
    """Months are months, and past: `2024-03`; a half year, `2026-H2`, is what is only announced."""
    if document.record is None:
        return
    for table, values in (("", document.data), ("facts.", document.facts)):
        for name in MONTHS:
            value = values.get(name)
            if not isinstance(value, str) or value in ("", "FILL"):
                continue
            if not MONTH.fullmatch(value):
                message, expected = "not a month", '"2024-03", or "2024-H1" for a half year'
                code: ProblemCode = "wrong-type"
            elif f"{today:%Y-%m}" < value and "H" not in value:
                message = "in the future; write the half year of what is only announced"
                expected, code = f'"{today:%Y-%m}" or earlier', "future-date"
            else:
                continue
            yield _problem(document, name, message, expected, f'"{value}"', table=table, code=code)
        if document.facts is document.data:
            return


def _check_totals(document: Document) -> Iterator[Problem]:
    record = document.record
    if not isinstance(record, CatalogModel) or record.expected is None:
        return
    for name in ("num_parameters", "checkpoint_parameters"):
        value = getattr(record.expected, name)
        if value is not None and not 1 <= value <= MOST_PARAMETERS:
            message = "not credible; write the number of parameters"
            expected = f"1 to {_toml(MOST_PARAMETERS)}"
            yield _problem(document, name, message, expected, _toml(value), table="expected.")


def _check_bytes(document: Document) -> Iterator[Problem]:
    """Sizes in bytes of a stack are no less than nothing and no more than a card holds."""
    if not isinstance(document.record, Stack):
        return
    for name, value in document.facts.items():
        is_size = isinstance(value, int) and not isinstance(value, bool)
        if name.endswith("_bytes") and is_size and not 0 <= value <= MOST_BYTES:
            expected = f"0 to {_toml(MOST_BYTES)}"
            yield _problem(document, name, "not credible; check the unit", expected, _toml(value))


def _check_ranges(document: Document, card: Card) -> Iterator[Problem]:
    for name, (low, high) in RANGES.items():
        value = getattr(card, name)
        if value is not None and not low <= value <= high:
            expected = f"{_toml(low)} to {_toml(high)}"
            message = "not credible; check the unit" if value else DRAFT
            yield _problem(document, name, message, expected, _toml(value))


def _check_rates(document: Document, card: Card) -> Iterator[Problem]:
    """Rates fit the memory beside them and each other; a wrong one is often that for sparsity."""
    low, high = FLOPS_PER_BYTE_UNIFIED if card.form == "unified" else FLOPS_PER_BYTE
    bandwidth = card.memory_bandwidth_bytes_per_second
    for name in RATES:
        rate = getattr(card, name)
        if not rate or not bandwidth:
            continue
        most = high * 2 if "fp8" in name else high
        if not low <= rate / bandwidth <= most:
            yield _problem(
                document,
                name,
                "not credible beside the memory bandwidth; check the units, and dense against "
                "sparse",
                f"{low:,} to {most:,} operations per byte",
                f"{rate / bandwidth:,.0f}",
            )
    bf16, fp8 = card.peak_dense_bf16_flops_per_second, card.peak_dense_fp8_flops_per_second
    if bf16 and fp8 and not FP8_RATIO[0] <= fp8 / bf16 <= FP8_RATIO[1]:
        message = "not credible beside the BF16 rate; check that both are dense"
        expected = "1 to 2 times the BF16 rate"
        yield _problem(
            document, "peak_dense_fp8_flops_per_second", message, expected, f"{fp8 / bf16:.1f}"
        )


def _check_pairs(document: Document, card: Card) -> Iterator[Problem]:
    usable, marketed = card.memory_usable_bytes, card.memory_marketed_bytes
    if usable is not None and marketed > 0:
        share = usable / marketed
        low, high = USABLE_SHARE
        if not low <= share <= high:
            expected = f"{low:.0%} to {high:.0%} of the marketed size"
            message = "not credible; check GB against GiB" if usable else DRAFT
            yield _problem(document, "memory_usable_bytes", message, expected, f"{share:.0%}")
    low_price, high_price = card.price_usd_per_hour, card.price_usd_per_hour_high
    if low_price is not None and high_price is not None and high_price < low_price:
        message = "the highest price is below the lowest; swap them"
        yield _problem(document, "price_usd_per_hour_high", message, got=_toml(high_price))
    if low_price is not None and card.price_date is None:
        yield _problem(document, "price_date", "a price needs the month of its quote", "a month")
    if card.peak_dense_bf16_flops_per_second is not None and not card.supports_bf16:
        message = "a BF16 rate on a card without BF16; one of the two is wrong"
        yield _problem(document, "supports_bf16", message)
    counts = card.allowed_gpu_counts
    if list(counts) != sorted(set(counts)) or any(count < 1 for count in counts):
        message = "counts must be positive, rising and different"
        yield _problem(document, "allowed_gpu_counts", message, got=str(list(counts)))


def _toml(value: float) -> str:
    """A figure as the file has it, so that the digits can be compared."""
    return plain_number(value, "_")


def _problem(
    document: Document,
    name: str,
    message: str,
    expected: str = "",
    got: str = "",
    *,
    table: str = "facts.",
    code: ProblemCode = "implausible-value",
) -> Problem:
    return Problem(
        path=document.path,
        key=f"{table}{name}",
        message=message,
        code=code,
        expected=expected,
        got=got,
    )
