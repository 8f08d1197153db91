"""The bars that the estimate is held to, and where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

METHODS = ("full", "lora", "qlora")
PLACES = ("single", "sharded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: what is measured, how far it may go, and what it is today."""

    name: str
    limit: float
    actual: float
    at_least: bool = False
    """The actual figure must not fall below the limit, instead of not exceeding it."""
    is_count: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the bar holds."""
        return self.actual >= self.limit if self.at_least else self.actual <= self.limit


def bars(summary: Mapping[str, Any]) -> list[Bar]:
    """All bars of the memory estimate.

    Args:
        summary: What `score.summarise` returns.
    """
    found = [
        *_errors("Quality A, allocated", summary["quality A, allocated"], 0.025, 0.10),
        *_errors("Quality A and B", summary["quality A and B"], 0.05, 0.15),
    ]
    groups = summary["by method and strategy"]
    for method in METHODS:
        for place in PLACES:
            errors = groups.get(f"{method}, {place}")
            name = {"full": "Full", "lora": "LoRA", "qlora": "QLoRA"}[method]
            found += _errors(f"{name}, {place}", errors, 0.05, 0.15)
    out, ran, band = summary["out of memory"], summary["ran"], summary["band"]
    found.append(
        Bar(
            name="Runs out of memory judged to fit",
            limit=0,
            actual=out["judged_fits"],
            is_count=True,
        )
    )
    if ran["num_rows"]:
        share = ran["judged_no"] / ran["num_rows"]
        found.append(Bar(name="Runs that ran judged not to fit", limit=0.05, actual=share))
    if band["share_inside"] is not None:
        found.append(
            Bar(
                name="Readings inside low to high",
                limit=0.90,
                actual=band["share_inside"],
                at_least=True,
            )
        )
        found.append(
            Bar(
                name="Median half-width of low to high",
                limit=0.12,
                actual=band["median_half_width"],
            )
        )
    return found


def _errors(
    name: str, found: Mapping[str, Any] | None, median: float, percentile_90: float
) -> list[Bar]:
    if found is None:
        return []
    return [
        Bar(name=f"{name}: median error", limit=median, actual=found["median"]),
        Bar(
            name=f"{name}: 90th percentile",
            limit=percentile_90,
            actual=found["percentile_90"],
        ),
    ]
