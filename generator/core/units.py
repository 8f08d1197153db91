"""Bytes for people: GB is 10^9 bytes, GiB is 2^30 bytes, and the unit is always printed; lists in
words.
"""

from collections.abc import Sequence

GB = 10**9
GIB = 2**30
MIB = 2**20


def ceil_div(numerator: int, denominator: int) -> int:
    """Quotient rounded up: a shard is as large as the largest rank's part of it."""
    return -(-numerator // denominator)


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def format_gb(num_bytes: int) -> str:
    """Bytes as decimal gigabytes with three significant digits at most: `5.97 GB`, `133.7 GB`."""
    gb = num_bytes / GB
    return f"{gb:,.2f} GB" if abs(gb) < 10 else f"{gb:,.1f} GB"
