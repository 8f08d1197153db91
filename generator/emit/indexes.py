"""The pages that list all models and all cards: one plain table each, which a script can sort and
filter.

A cell that does not sort by its text carries `data-value`; a row carries what the filters ask for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from generator.core.card import Card
from generator.emit import plots
from generator.emit.facts import ModelFacts
from generator.tables.base import (
    METHOD_NAMES,
    card_order,
    format_count,
    format_parameters,
    full_card_name,
)
from generator.tables.fewest_gpus import SmallestSetup, smallest_setups
from generator.tables.view import ModelView

BILLION = 10**9
SIZE_BANDS = (
    ("up to 1 B", 0, BILLION),
    ("1 to 4 B", BILLION, 4 * BILLION),
    ("4 to 10 B", 4 * BILLION, 10 * BILLION),
    ("10 to 40 B", 10 * BILLION, 40 * BILLION),
    ("40 to 100 B", 40 * BILLION, 100 * BILLION),
    ("over 100 B", 100 * BILLION, 10**13),
)
FORM_NAMES = {
    "consumer": "consumer",
    "workstation": "workstation",
    "pcie": "server, PCIe",
    "sxm": "server, SXM or OAM",
    "superchip": "superchip",
    "rack": "rack",
    "unified": "unified memory",
}
MEMORY_STEPS_GB = (16, 24, 32, 48, 80, 96, 141, 192)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One entry of a filter: a value, or a range `low..high` with `high` left out."""

    value: str
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A filter on one property of the rows."""

    name: str
    label: str
    choices: tuple[Choice, ...]

    @property
    def groups(self) -> list[tuple[str, list[Choice]]]:
        """The choices under their headings, one heading `""` where there are none."""
        found: dict[str, list[Choice]] = {}
        for choice in self.choices:
            found.setdefault(choice.group, []).append(choice)
        return list(found.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model of the list."""

    facts: ModelFacts
    num_parameters: str
    num_active_parameters: str
    kind: str
    setups: tuple[SmallestSetup | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """One card of the list."""

    card: Card
    name: str
    form: str


def _counted(values: Iterable[str], label: Callable[[str], str] = str) -> tuple[Choice, ...]:
    """The values with their number, the most frequent first."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0].lower()))
    return tuple(Choice(value=value, label=f"{label(value)} ({n})") for value, n in ordered)


def _years(dates: Iterable[str | None]) -> tuple[Choice, ...]:
    years = sorted({date[:4] for date in dates if date}, reverse=True)
    return tuple(Choice(value=f"{year}..", label=f"{year} or later") for year in years)


def _families(facts: Mapping[str, ModelFacts]) -> tuple[Choice, ...]:
    found = {(model.entry.developer, model.entry.family) for model in facts.values()}
    return tuple(
        Choice(value=family, label=family, group=developer)
        for developer, family in sorted(found, key=lambda item: (item[0].lower(), item[1].lower()))
    )


def models_index(
    env: jinja2.Environment, *, facts: Mapping[str, ModelFacts], views: Mapping[str, ModelView]
) -> str:
    """The page that lists all models, by maker and size."""
    axes = next(iter(views.values())).axes
    rows = [
        ModelRow(
            facts=model,
            num_parameters=format_parameters(model.num_parameters),
            num_active_parameters=format_parameters(model.num_active_parameters),
            kind="MoE" if model.is_moe else "dense",
            setups=tuple(smallest_setups(views[model_id], axes.default_optimizer)),
        )
        for model_id, model in facts.items()
    ]
    rows.sort(
        key=lambda row: (
            row.facts.entry.developer.lower(),
            row.facts.num_parameters,
            row.facts.entry.id,
        )
    )
    bands = tuple(Choice(value=f"{low}..{high}", label=label) for label, low, high in SIZE_BANDS)
    return env.get_template("models_index.md.jinja").render(
        methods=axes.methods,
        method_names=METHOD_NAMES,
        tokens=format_count(axes.workloads[0].workload.sequence_length),
        rows=rows,
        filters=(
            Filter(name="parameters", label="Size", choices=bands),
            Filter(name="family", label="Family", choices=_families(facts)),
            Filter(name="kind", label="Kind", choices=_counted(row.kind for row in rows)),
            Filter(
                name="released",
                label="Released",
                choices=_years(model.entry.released for model in facts.values()),
            ),
            Filter(
                name="licence",
                label="Licence",
                choices=_counted(model.entry.license for model in facts.values()),
            ),
        ),
        plot=Markup(plots.memory_against_size(facts, views)),  # noqa: S704
    )


def cards_index(env: jinja2.Environment, *, cards: Sequence[Card]) -> str:
    """The page that lists all cards, by maker and memory."""
    by_vendor: dict[str, int] = {}
    for card in cards:
        by_vendor[card.vendor] = by_vendor.get(card.vendor, 0) + 1
    ordered = sorted(
        cards, key=lambda card: (-by_vendor[card.vendor], card.vendor, card_order(card))
    )
    rows = [
        CardRow(
            card=card,
            name=full_card_name(card),
            form=FORM_NAMES[card.form],
        )
        for card in ordered
    ]
    steps = tuple(Choice(value=f"{step}..", label=f"{step} GB or more") for step in MEMORY_STEPS_GB)
    return env.get_template("cards_index.md.jinja").render(
        rows=rows,
        filters=(
            Filter(name="memory", label="Memory", choices=steps),
            Filter(
                name="form",
                label="Form",
                choices=_counted(
                    (card.form for card in cards),
                    lambda form: FORM_NAMES[form],
                ),
            ),
            Filter(name="maker", label="Maker", choices=_counted(card.vendor for card in cards)),
            Filter(
                name="released", label="Released", choices=_years(card.released for card in cards)
            ),
            Filter(
                name="price",
                label="Price per hour",
                choices=(
                    Choice(value="0..1", label="under $1"),
                    Choice(value="1..3", label="$1 to $3"),
                    Choice(value="3..", label="$3 or more"),
                ),
            ),
        ),
        plot=Markup(plots.memory_against_price(cards)),  # noqa: S704
    )
