"""Macros of the accuracy page: published measurements scored while the site is built."""

from functools import lru_cache
from typing import Any

from generator.accuracy.throughput_score import score_file
from generator.accuracy.throughput_score import summary as throughput_summary
from generator.emit import accuracy_page as page
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR


def accuracy_summary() -> dict[str, Any]:
    """Errors of the memory estimate by group, as `python -m generator accuracy` prints them."""
    return page.scores()[1]


def _line(name: str, found: dict[str, Any]) -> str:
    return (
        f"| {name} | {found['num_rows']} | {found['median']:.1%} | {found['percentile_90']:.1%} "
        f"| {found['worst']:.1%} | {found['median_signed']:+.1%} |"
    )


def accuracy_table(group: str) -> str:
    """A Markdown table of errors: `headline`, or one of the groups of the summary.

    Args:
        group: `headline`, `metric`, `method and strategy` or `source`.
    """
    summary = accuracy_summary()
    names = ("quality A, allocated", "quality A and B", "all")
    members = (
        {name: summary[name] for name in names} if group == "headline" else summary[f"by {group}"]
    )
    head = "| Rows | Number | Median error | 90th percentile | Worst | Signed median |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [_line(name, found) for name, found in members.items() if found is not None]
    return "\n".join(lines)


def throughput_table(group: str) -> str:
    """A Markdown table of errors of the speed estimate: `headline` or one of its groups.

    Args:
        group: `headline`, `method`, `card_class`, ...
    """
    found = throughput_accuracy()
    members = (
        [found["total"]["all"], found["total"]["kept_apart"]]
        if group == "headline"
        else found["by"][group]
    )
    lines = [
        "| Rows | Number | Median error | 90th percentile | Inside low to high |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {each['name'].replace('_', ' ')} | {each['count']} | {each['median_error']:.1%} "
        f"| {each['percentile_90']:.1%} | {each['within_band']:.0%} |"
        for each in members
        if each is not None
    ]
    return "\n".join(lines)


@lru_cache(maxsize=1)
def throughput_accuracy() -> dict[str, Any]:
    """Errors of the speed estimate by group."""
    return throughput_summary(score_file(MEASUREMENTS_DIR / "throughput.csv", load_catalog()))


def define(env: Any) -> None:
    """Register the macros.

    Args:
        env: The macros plugin's environment.
    """
    own = (accuracy_summary, accuracy_table, throughput_table)
    for function in (*own, *page.MACROS):
        env.macro(function)
