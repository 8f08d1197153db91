"""Stacked bars as inline SVG: placed by attributes, since a policy may bar style text."""

from collections.abc import Callable, Iterable, Mapping

from markupsafe import Markup

from generator.core.memory import LINES
from generator.core.units import GB, join_words
from generator.tables.base import gb_figure
from generator.tables.strategy_bars import StrategyBars, fit_limit

COMPONENTS = {
    "weights": ("Weights", "weights"),
    "master_weights": ("FP32 master weights", "master"),
    "gradients": ("Gradients", "gradients"),
    "optimizer_states": ("Optimizer states", "optimizer"),
    "activations": ("Activations and loss", "activations"),
    "buffers": ("Buffers", "buffers"),
    "overhead": ("Overhead", "overhead"),
}
"""Memory lines in the order of the sum: what each is called, and inside the sum."""
SMALL_GB = 30
"""A largest bar below this has two decimals in its table."""
MIDDLE_UP_TO = 0.9
"""Where on the scale a label would pass its end, so that it stands before its line."""


def segments(lines: Mapping[str, int], across: Callable[[float], str]) -> str:
    """One rectangle per memory line, end to end."""
    x = 0
    parts = []
    for key in LINES:
        size = lines[key]
        if size:
            parts.append(
                f'<rect class="tf-fill-{key}" x="{across(x)}" width="{across(size)}" y="0" '
                'height="100%"/>'
            )
        x += size
    return "".join(parts)


def _places(bars: StrategyBars) -> Iterable[tuple[int, float]]:
    return [(size, bars.across(fit_limit(size))) for size in bars.card_sizes_gb]


def strategy_bar(bars: StrategyBars, lines: Mapping[str, int]) -> Markup:
    """The picture of one row, with the card sizes that the figure marks."""
    limits = "".join(
        f'<line class="tf-limit-fit" x1="{place:.2%}" x2="{place:.2%}" y1="-35%" y2="135%"/>'
        for _, place in _places(bars)
    )
    drawn = segments(lines, lambda size: f"{bars.across(size):.2%}")
    return Markup(  # noqa: S704
        '<svg class="tf-bar-picture" width="100%" aria-hidden="true" focusable="false">'
        f"{drawn}{limits}</svg>"
    )


def scale_labels(bars: StrategyBars) -> Markup:
    """What the marked card sizes are, above their lines."""
    labels = "".join(
        f'<text x="{place:.2%}" y="0.95em" text-anchor="{_anchor(place)}">{size} GB</text>'
        for size, place in _places(bars)
    )
    return Markup(  # noqa: S704
        '<svg class="tf-bar-picture tf-bar-scale" width="100%" aria-hidden="true" '
        f'focusable="false">{labels}</svg>'
    )


def _anchor(place: float) -> str:
    return "end" if place > MIDDLE_UP_TO else "middle"


def marked_cards(bars: StrategyBars) -> str:
    """The marked card sizes in words, empty where none is."""
    return join_words([f"{size} GB" for size in bars.card_sizes_gb])


def gigabytes(bars: StrategyBars, num_bytes: int) -> str:
    """A figure of the table: the smaller the model, the more digits; a dash for nothing."""
    if not num_bytes:
        return "–"
    largest = bars.scale_bytes / GB
    digits = 2 if largest < SMALL_GB else 1
    least = 10**-digits
    if num_bytes / GB < least / 2:
        return f"<{least:g}"
    return f"{num_bytes / GB:,.2f}" if digits == 2 else gb_figure(num_bytes)
