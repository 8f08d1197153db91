"""Markdown pages of models and cards, from `generator/templates/` and `generator/tables/`.

Tables are raw HTML: the site engine then neither parses 150 large Markdown tables nor puts their
cells into the search index.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from generator.core.api import COST_TOKENS
from generator.core.card import Card
from generator.core.fit import FIT_PERCENT, fit_limit_bytes, tight_limit_bytes
from generator.core.method import Method
from generator.core.model import Model
from generator.core.units import GB, GIB, join_words
from generator.emit import bars, cells
from generator.emit.badges import Badge
from generator.emit.facts import ModelFacts
from generator.tables import (
    card_models,
    fewest_gpus,
    longest_sequence,
    optimizer_ladder,
    strategy_bars,
    strategy_grid,
    time_and_cost,
)
from generator.tables.base import (
    METHOD_NAMES,
    STRATEGY_NAMES,
    STRATEGY_SHORT,
    format_count,
    format_parameters,
    row_id,
)
from generator.tables.reference_cards import REFERENCE_CARD_IDS, reference_cards
from generator.tables.reference_models import REFERENCE_MODEL_IDS
from generator.tables.view import ModelView

TEMPLATES = Path(__file__).parent.parent / "templates"

OPTIMIZER_NOTES = {
    "full": "states per parameter decide how many GPUs it takes",
    "lora": "only the adapters have states, so little changes",
    "qlora": "only the adapters have states, so little changes",
}
# A size, a method and a card together ask for a model; of equals, the one that most people know.
MODEL_SEARCH_BOOST = 2
WELL_KNOWN = 1.1
# Which table of a method stands open: what most readers come for.
OPEN_STRATEGY = {"full": "zero-3", "lora": "single", "qlora": "single"}
OPTIMIZER_STRATEGIES = {
    "full": ("single", "zero-1", "zero-2", "zero-3"),
    "lora": ("single",),
    "qlora": ("single",),
}


def count_label(strategy: str, count: int) -> str:
    """A GPU count as a column header; DDP's memory is the same at every count."""
    return f"{count} or more" if strategy == "ddp" else str(count)


def rate(value: int | None, scale: float, digits: int = 0) -> str:
    """A rate in the unit of its column, `unknown` where the catalog has none."""
    return "unknown" if value is None else f"{value / scale:,.{digits}f}"


def price(card: Card) -> str:
    """On-demand price per GPU and hour, as a range where sources differ."""
    low, high = card.price_usd_per_hour, card.price_usd_per_hour_high
    if low is None:
        return "unknown"
    return f"{low:.2f}" if high is None or high == low else f"{low:.2f} to {high:.2f}"


def environment() -> jinja2.Environment:
    """Templates that fail on anything undefined and escape everything but what is marked safe."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["yaml"] = lambda text: Markup(json.dumps(str(text), ensure_ascii=False))  # noqa: S704
    env.filters["count"] = format_count
    env.filters["rate"] = rate
    env.globals.update(
        method_names=METHOD_NAMES,
        strategy_names=STRATEGY_NAMES,
        short=STRATEGY_SHORT,
        count_label=count_label,
        price=price,
        figure=cells.figure,
        answer=cells.answer,
        linked_answer=cells.linked_answer,
        components=bars.COMPONENTS,
        strategy_bar=bars.strategy_bar,
        scale_labels=bars.scale_labels,
        bar_gb=bars.gigabytes,
        marked_cards=bars.marked_cards,
        fit_percent=FIT_PERCENT,
    )
    return env


def _context(view: ModelView) -> dict[str, Any]:
    """What every page template needs to know of the axes."""
    return {
        "methods": view.axes.methods,
        "methods_in_words": join_words(
            [METHOD_NAMES[each].replace("Full", "full") for each in view.axes.methods]
        ),
        "workloads": [
            {"id": each.id, "label": format_count(each.workload.sequence_length)}
            for each in view.axes.workloads
        ],
        "strategies": join_words(
            [STRATEGY_NAMES[each] for each in view.axes.strategies if each != "single"]
        ),
        "reference": reference_cards(view.axes.cards),
    }


def conditions(view: ModelView, optimizer_name: str, *, workloads: slice = slice(None)) -> str:
    """The exact conditions of a page's figures, in one sentence."""
    lengths = [
        format_count(each.workload.sequence_length) for each in view.axes.workloads[workloads]
    ]
    return (
        f"Conditions: {join_words(lengths)} tokens at micro-batch 1, {optimizer_name}, bf16 "
        "weights and gradients with an FP32 master copy, gradient accumulation, full activation "
        "checkpointing, FlashAttention, the standard loss, LoRA at rank 16 on all linear layers, "
        "1.5 GB of overhead."
    )


def _beyond_context(model: Model, view: ModelView) -> str:
    """The table's lengths that are more than the model's own context, in words; often none."""
    limit = model.context_length
    lengths = [each.workload.sequence_length for each in view.axes.workloads]
    return join_words([format_count(each) for each in lengths if limit and each > limit])


def stand_ins(card: Card) -> str:
    """What a card does in place of the conditions that it cannot meet; "" where it meets all."""
    instead = [] if card.supports_bf16 else ["FP16 in place of bf16"]
    if not card.supports_flash_attention:
        instead.append("PyTorch's memory-efficient attention in place of FlashAttention")
    return join_words(instead)


def _in_words(setup: fewest_gpus.SmallestSetup | None) -> str:
    """A smallest set-up for the page's description."""
    if setup is None:
        return "does not fit on up to 64 GPUs"
    how = "" if setup.cell.num_gpus == 1 else f" with {STRATEGY_NAMES[setup.cell.strategy]}"
    return f"{setup.cell.num_gpus} × {setup.card.full_name}{how}, {setup.cell.gb} GB per GPU"


def model_facts_line(facts: ModelFacts) -> list[str]:
    """The line under a model's name: size, shape, origin."""
    entry, model = facts.entry, facts.entry.model
    layers = f"{model.num_hidden_layers} layers, hidden size {format_count(model.hidden_size)}"
    active = format_parameters(facts.num_active_parameters)
    line = [
        f"{format_count(facts.num_parameters)} parameters",
        *([f"mixture of experts (MoE), {active} active per token"] if facts.is_moe else []),
        f"{layers}, vocabulary {format_count(model.vocab_size)}",
    ]
    if model.context_length:
        line.append(f"context {format_count(model.context_length)}")
    return [*line, entry.developer, entry.released, f"licence {entry.license}"]


def model_page(
    env: jinja2.Environment,
    *,
    facts: ModelFacts,
    view: ModelView,
    methods: Mapping[str, Method],
    optimizer_names: Mapping[str, str],
    former_cards: Mapping[str, Sequence[str]],
    time_rows: Sequence[time_and_cost.TimeRow],
    model_badges: Sequence[Badge] = (),
    site_url: str = "",
    is_verified: bool = True,
) -> str:
    """One model's page.

    Args:
        env: The templates.
        facts: The model.
        view: Its figures.
        methods: What the catalog says of each method, by id.
        optimizer_names: Names by id.
        former_cards: Former ids of cards whose row ids keep an anchor, by present id.
        time_rows: Hours and money.
        model_badges: Its badges, which a README may show.
        site_url: Where the site will stand, for what is copied elsewhere.
        is_verified: Whether `make verify-models` has compared its parameter count.
    """
    optimizer = view.axes.default_optimizer
    glance = list(zip(view.axes.methods, fewest_gpus.smallest_setups(view, optimizer), strict=True))
    sections = [
        {
            "method": method,
            "name": METHOD_NAMES[method],
            "lead": f"{methods[method].summary} {methods[method].note}",
            "open": OPEN_STRATEGY[method],
            "grids": [
                strategy_grid.build(view, method, optimizer, strategy)
                for strategy in view.axes.strategies
            ],
            "optimizers_note": OPTIMIZER_NOTES[method],
            "optimizer_tables": [
                {
                    "id": strategy,
                    "name": STRATEGY_NAMES[strategy],
                    "rows": optimizer_ladder.build(view, method, strategy),
                }
                for strategy in OPTIMIZER_STRATEGIES[method]
            ],
        }
        for method in view.axes.methods
    ]
    summary = [f"{METHOD_NAMES[method]}: {_in_words(setup)}." for method, setup in glance]
    description = " ".join([f"GPU memory to fine-tune {facts.entry.name}.", *summary])
    return env.get_template("model.md.jinja").render(
        **_context(view),
        model=facts.entry,
        description=description,
        facts=model_facts_line(facts),
        is_verified=is_verified,
        glance=glance,
        conditions=conditions(view, optimizer_names[optimizer]),
        context_length=format_count(facts.entry.model.context_length or 0),
        lengths_beyond_context=_beyond_context(facts.entry.model, view),
        fewest=fewest_gpus.build(view, optimizer),
        bars=strategy_bars.build(view, optimizer),
        bars_conditions=conditions(view, optimizer_names[optimizer], workloads=slice(1)),
        node_gpus=strategy_bars.NODE_GPUS,
        sections=sections,
        optimizer_names=optimizer_names,
        optimizer=optimizer,
        optimizer_options=json.dumps(list(optimizer_names.items()), ensure_ascii=False),
        length_options=json.dumps([each.workload.sequence_length for each in view.axes.workloads]),
        former_cards=former_cards,
        row_id=row_id,
        longest_columns=longest_sequence.columns(view),
        longest=longest_sequence.build(view),
        time_rows=time_rows,
        time_tokens=COST_TOKENS,
        price_dates=_price_dates(time_rows),
        badges=model_badges,
        boost=MODEL_SEARCH_BOOST * (WELL_KNOWN if facts.entry.id in REFERENCE_MODEL_IDS else 1),
        site_url=site_url,
    )


def _price_dates(rows: Sequence[time_and_cost.TimeRow]) -> str:
    """Months of the prices: `2026-09 to 2026-11`."""
    dates = sorted(
        {cell.price_date for row in rows for cell in row.cells if cell and cell.price_date}
    )
    if not dates:
        return "none published"
    return dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"


def card_page(
    env: jinja2.Environment,
    *,
    card: Card,
    index: int,
    views: Mapping[str, ModelView],
    facts: Mapping[str, ModelFacts],
    optimizer_names: Mapping[str, str],
) -> str:
    """One card's page."""
    first = next(iter(views.values()))
    optimizer = first.axes.default_optimizer
    counts = card_models.gpu_counts(card.allowed_gpu_counts)
    rows = card_models.build(views, card=index, optimizer=optimizer, counts=counts)
    return env.get_template("card.md.jinja").render(
        **_context(first),
        card=card,
        description=(
            f"What 1 to 8 {card.name} can fine-tune, by method: "
            f"{len(rows)} models with GB per GPU and verdict."
        ),
        facts=card_facts_line(card),
        memory=memory_sentence(card),
        counts=counts,
        rows=rows,
        models=facts,
        glance=_card_glance(card, optimizer, rows, facts, counts, first.axes.methods),
        conditions=conditions(first, optimizer_names[optimizer]),
        stand_ins=stand_ins(card),
        boost=WELL_KNOWN if card.id in REFERENCE_CARD_IDS else 1,
    )


def _card_glance(
    card: Card,
    optimizer: str,
    rows: Sequence[card_models.ModelRow],
    facts: Mapping[str, ModelFacts],
    counts: Sequence[int],
    methods: Sequence[str],
) -> list[dict[str, Any]]:
    """Per method, the largest model that fits on the fewest and on the most of the counts."""
    glance = []
    for position, method in enumerate(methods):
        largest = []
        for column, count in enumerate(counts):
            fitting = [row for row in rows if row.cells[position][column].verdict == "fits"]
            row = max(fitting, key=lambda row: facts[row.model_id].num_parameters, default=None)
            largest.append(
                {
                    "count": count,
                    "model": facts[row.model_id].entry,
                    "cell": row.cells[position][column],
                    "row_id": row_id(
                        method, optimizer, row.cells[position][column].strategy, card.id
                    ),
                }
                if row
                else {"count": count, "model": None}
            )
        glance.append({"method": method, "largest": largest})
    return glance


def memory_sentence(card: Card) -> str:
    """Why the usable memory is not the marketed size, with this card's numbers."""
    fit_limit, tight_limit = fit_limit_bytes(card), tight_limit_bytes(card)
    fits = f"A total up to {fit_limit / 10**9:.2f} GB fits"
    share = f"{FIT_PERCENT} % of the marketed size"
    if card.memory_usable_bytes is None:
        return (
            f"{fits}: {share}. What the driver reports as usable is not published for this card, "
            "so nothing is called tight."
        )
    usable = (
        f"The box says {card.memory_marketed_gb} GB; the driver reports "
        f"{card.memory_usable_bytes / GB:.2f} GB ({card.memory_usable_bytes / GIB:.2f} GiB) "
        "as usable."
    )
    if tight_limit == fit_limit:
        return f"{usable} {fits}: that is less than {share}, so nothing is called tight."
    return (
        f"{usable} {fits}: {share}. Above that and up to the usable memory it is tight; above "
        "that it does not fit."
    )


def _rate(value: int | None, unit: str, scale: float) -> str | None:
    return None if value is None else f"{value / scale:,.0f} {unit}"


def card_facts_line(card: Card) -> list[str]:
    """The line under a card's name: memory, rates, links."""
    counts = [str(count) for count in card.allowed_gpu_counts]
    bandwidth = card.memory_bandwidth_bytes_per_second
    link = card.link_bytes_per_second
    line = [
        f"{card.memory_marketed_gb} GB",
        _rate(bandwidth, "GB/s memory bandwidth", 10**9),
        _rate(card.peak_dense_bf16_flops_per_second, "TFLOP/s dense bf16", 10**12),
        _rate(link, f"GB/s per direction between GPUs ({card.interconnect})", 10**9),
        f"in counts of {join_words(counts, 'or')}",
        None if 1 in card.allowed_gpu_counts else "figures for one GPU are for a share of a rack",
        None if card.supports_bf16 else "no bf16: train in FP16",
        None if card.supports_flash_attention else "no FlashAttention",
    ]
    return [item for item in line if item]
