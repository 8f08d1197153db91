"""Pictures of the index pages, as SVG that follows the page's colours.

Memory against price of the cards; card memory that each method takes, against model size. The same
input gives the same bytes. Both say in words what they show; the figures are in the table below.
"""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

from generator.core.card import Card
from generator.emit.facts import ModelFacts
from generator.emit.svg import SMALL, WIDTH, Picture
from generator.tables.base import METHOD_NAMES, short_card_name
from generator.tables.fewest_gpus import smallest_setups
from generator.tables.view import ModelView

# Shape and paint of each method's marks; a ring, so that a mark at the same place shows within it.
MARKS = {
    "full": ("M-3-3h6v6h-6z", 'fill="var(--tf-weights, #0f3560)" opacity="0.8"'),
    "qlora": ("M-3.5 2.5h7l-3.5-6z", 'fill="var(--tf-activations, #c2610c)" opacity="0.8"'),
    "lora": (
        "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        'fill="none" stroke="var(--tf-gradients, #3579b8)" stroke-width="1.5"',
    ),
}
SIZE_TICKS = ((1e8, "100 M"), (1e9, "1 B"), (1e10, "10 B"), (1e11, "100 B"), (1e12, "1 T"))
EDITION = re.compile(r" (Blackwell )?(Server|Workstation) Edition$")


def _text(x: float, y: float, content: str, anchor: str = "start", weight: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{place}{bold}>{escape(content)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="currentColor" '
        'stroke-width="0.5" opacity="0.35"/>'
    )


class _LogScale:
    """Positions of values on a logarithmic axis."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._start = math.log(low), start
        self._unit = (end - start) / (math.log(high) - self._low)

    def __call__(self, value: float) -> float:
        return self._start + (math.log(value) - self._low) * self._unit


def _plot_name(card: Card) -> str:
    return EDITION.sub(r" \2", short_card_name(card.name)).replace(" Generation", "")


def memory_against_price(cards: Sequence[Card]) -> str:
    """A line per card with a published price, from its lowest to its highest quote."""
    priced = sorted(
        (
            (card, card.price_usd_per_hour, card.price_usd_per_hour_high or card.price_usd_per_hour)
            for card in cards
            if card.price_usd_per_hour is not None and card.price_date
        ),
        key=lambda item: (item[0].memory_marketed_gb, item[1], item[0].id),
    )
    left, right, top, step = 204.0, 344.0, 44.0, 17.0
    bottom = top + step * len(priced)
    x_of = _LogScale(0.1, 12, left, right)
    body = [
        _text(left, 14, "USD per GPU and hour"),
        _text(WIDTH, 34, "quoted", "end"),
    ]
    for tick in (0.1, 0.3, 1, 3, 10):
        body.append(_rule(x_of(tick), top - 4, x_of(tick), bottom))
        body.append(_text(x_of(tick), 34, f"{tick:g}", "middle"))
    words = []
    previous = 0
    for index, (card, low, high) in enumerate(priced):
        y = top + step * index + 12
        if card.memory_marketed_gb != previous:
            if index:
                body.append(_rule(0, y - 12, WIDTH, y - 12))
            body.append(_text(50, y, f"{card.memory_marketed_gb} GB", "end", "600"))
            previous = card.memory_marketed_gb
        body.append(_text(57, y, _plot_name(card)))
        body.append(
            f'<path d="M{x_of(low):.1f} {y - 4:.1f}L{max(x_of(high), x_of(low) + 0.1):.1f} '
            f'{y - 4:.1f}" stroke="var(--tf-accent, #1c5791)" stroke-width="5" '
            'stroke-linecap="round"/>'
        )
        body.append(_text(WIDTH, y, str(card.price_date), "end"))
        price = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        words.append(f"{card.name}, {card.memory_marketed_gb} GB: {price} ({card.price_date})")
    return Picture(
        title="Memory of a card against its price",
        description=f"On-demand prices in USD per GPU and hour, by memory. {'; '.join(words)}.",
        height=round(bottom + 8),
        body=tuple(body),
        font_size=SMALL,
    ).svg("memory-price")


def memory_against_size(facts: Mapping[str, ModelFacts], views: Mapping[str, ModelView]) -> str:
    """A mark per model and method: the least card memory on which it fits."""
    left, right, top, bottom = 50.0, WIDTH - 8.0, 42.0, 296.0
    x_of = _LogScale(0.08e9, 3e12, left, right)
    y_of = _LogScale(10, 24_000, bottom, top)
    body = []
    x = 0.0
    for method, (path, paint) in MARKS.items():
        body.append(f'<path transform="translate({x + 6:.1f} 9.5)" d="{path}" {paint}/>')
        body.append(_text(x + 15, 14, METHOD_NAMES[method]))
        x += 40 + 6.6 * len(METHOD_NAMES[method])
    body.append(_text(0, 34, "GB of card memory in total"))
    for tick in (16, 48, 141, 512, 1_536, 4_608, 18_432):
        body.append(_rule(left, y_of(tick), right, y_of(tick)))
        body.append(_text(left - 6, y_of(tick) + 4, f"{tick:,}", "end"))
    for size, label in SIZE_TICKS:
        body.append(_rule(x_of(size), top, x_of(size), bottom))
        body.append(_text(x_of(size), bottom + 17, label, "middle"))
    body.append(_text((left + right) / 2, bottom + 36, "parameters", "middle"))
    marks: dict[str, list[str]] = {method: [] for method in MARKS}
    least: dict[str, dict[int, float]] = {method: {} for method in MARKS}
    for model_id, view in views.items():
        size = facts[model_id].num_parameters
        for setup in smallest_setups(view, view.axes.default_optimizer):
            if setup is None:
                continue
            total = setup.cell.num_gpus * setup.card.card.memory_marketed_gb
            marks[setup.method].append(f"{x_of(size):.0f} {y_of(total):.0f}")
            largest = least[setup.method]
            largest[total] = max(largest.get(total, 0), size)
    for method, (path, paint) in MARKS.items():
        shape = f"mark-{method}"
        body.append(f'<defs><path id="{shape}" d="{path}" {paint}/></defs>')
        # Many models share a place: sizes come in steps.
        body.extend(
            f'<use href="#{shape}" x="{place.split()[0]}" y="{place.split()[1]}"/>'
            for place in sorted(set(marks[method]))
        )
    words = [
        f"{METHOD_NAMES[method]}: "
        + ", ".join(
            f"{max(size for total, size in least[method].items() if total <= limit) / 1e9:,.1f} "
            f"billion on {limit:,} GB"
            for limit in (24, 80, 288)
            if any(total <= limit for total in least[method])
        )
        for method in MARKS
        if least[method]
    ]
    return Picture(
        title="Least card memory on which a method fits, against model size",
        description=f"A mark per model and method at {_tokens(views)} tokens. Largest number of "
        f"parameters that fits. {'; '.join(words)}.",
        height=round(bottom + 44),
        body=tuple(body),
        font_size=SMALL,
    ).svg("memory-size")


def _tokens(views: Mapping[str, ModelView]) -> str:
    workload = next(iter(views.values())).axes.workloads[0].workload
    return f"{workload.sequence_length:,}"
