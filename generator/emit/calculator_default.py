"""The calculator's answer for its defaults: HTML for the page, and data for the page's script.

The page is complete before any script runs. The script draws the same figures again from the data
beside them, so its charts and controls work before Python has loaded in the browser.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from generator.core import api
from generator.core.card import Card
from generator.core.catalog import Catalog
from generator.core.fit import FIT_PERCENT
from generator.core.launch import TOOLS
from generator.core.params import num_parameters
from generator.core.units import format_gb
from generator.emit.bars import COMPONENTS, segments
from generator.tables.base import VERDICT_SIGNS, VERDICT_WORDS
from generator.tables.reference_cards import REFERENCE_CARD_IDS

DEFAULT_MODEL = "llama-3.1-8b"
"""The calculator's; everything else has the core's defaults."""
CURVE_LENGTHS = tuple(round(2 ** (9 + step / 2)) for step in range(19))
"""512 to 262,144 tokens in half octaves."""

PHASE_LABELS = {
    "forward": "Forward",
    "loss": "Loss",
    "backward": "Backward",
    "step": "Optimizer step",
}
VERDICT_LABELS = {
    verdict: (VERDICT_SIGNS[verdict], word.capitalize()) for verdict, word in VERDICT_WORDS.items()
}

Result = Mapping[str, Any]


class DefaultAnswerError(RuntimeError):
    """The core refused the calculator's default request, so there is nothing to show."""


def _ask(catalog: Catalog, **request: Any) -> dict[str, Any]:
    text = json.dumps({"model": DEFAULT_MODEL, **request})
    answer: dict[str, Any] = json.loads(api.run(text, catalog))
    if "error" in answer:
        raise DefaultAnswerError(answer["error"]["message"])
    return answer


def _card(card: Card) -> dict[str, Any]:
    plain = {
        "id": card.id,
        "name": card.name,
        "vendor": card.vendor,
        "memory_marketed_gb": card.memory_marketed_gb,
        "price_usd_per_hour": card.price_usd_per_hour,
        "price_usd_per_hour_high": card.price_usd_per_hour_high,
        "price_date": card.price_date,
    }
    return {key: value for key, value in plain.items() if value is not None}


def _fame(card: Card) -> tuple[int, bool]:
    """The place of a card in a list: what most people mean by "H100" stands before its kin, and an
    SXM module before the PCIe card of its chip.
    """
    known = card.id in REFERENCE_CARD_IDS
    place = REFERENCE_CARD_IDS.index(card.id) if known else len(REFERENCE_CARD_IDS)
    return place, card.form != "sxm"


def catalogue(catalog: Catalog) -> dict[str, Any]:
    """What the controls offer: ids, names, and what a list shows beside a name."""
    return {
        "models": [
            {
                "id": entry.id,
                "name": entry.name,
                "hugging_face": entry.hugging_face,
                "family": entry.family,
                "aliases": list(entry.aliases),
                "num_parameters": num_parameters(entry.model),
            }
            for entry in catalog.models.values()
        ],
        "cards": [_card(card) for card in sorted(catalog.cards.values(), key=_fame)],
        "optimizers": [{"id": each.id, "name": each.name} for each in catalog.optimizers.values()],
        "stacks": [
            {"id": each.id, "name": each.name, "defaults": dict(each.defaults)}
            for each in catalog.stacks.values()
        ],
        "tools": [{"id": tool, "name": name} for tool, name in TOOLS.items()],
    }


def start(catalog: Catalog) -> dict[str, Any]:
    """Everything that the page's script needs before Python runs in the browser."""
    page = _ask(catalog, op="page", sequence_lengths=list(CURVE_LENGTHS))
    return {
        "catalogue": catalogue(catalog),
        "page": {**page, "solve": _ask(catalog, op="solve")},
    }


def _number(num_bytes: int) -> str:
    return format_gb(num_bytes).removesuffix(" GB")


def _headline(catalog: Catalog, result: Result) -> str:
    card = result["card"]
    sign, word = VERDICT_LABELS[card["verdict"]]
    total = result["per_gpu"]["total"]
    marketed = card["memory_marketed_bytes"] // 10**9
    request = result["request"]
    setup = (
        f"{catalog.models[DEFAULT_MODEL].name} · full fine-tuning · "
        f"{catalog.optimizers[request['optimizer']].name} · "
        f"{request['sequence_length']:,} tokens × {request['micro_batch_size']} × "
        f"{request['gradient_accumulation_steps']} accumulated · "
        "bf16 with FP32 master"
    )
    return (
        f'<div class="tf-head"><div class="tf-headline"><p class="tf-setup">{escape(setup)}</p>'
        f'<p class="tf-verdict verdict-{card["verdict"]}"><span class="tf-verdict-word">'
        f'<span class="tf-sign" aria-hidden="true">{sign}</span> {word}</span>'
        '<span class="tf-figure"><span class="tf-figure-number" data-tf="total" '
        f'data-bytes="{total}">{_number(total)}</span> of {marketed:,} GB per GPU</span>'
        f'<span class="tf-count">{result["num_gpus"]} × {escape(card["name"])}</span></p>'
        f'<p class="tf-reason">{escape(card["reason"])}</p>'
        f'<p class="tf-notes">Likely between {_number(result["low"])} and '
        f"{format_gb(result['high'])} · PyTorch allocates {format_gb(result['allocated'])}</p>"
        "</div></div>"
    )


def _changes(result: Result) -> str:
    items = "".join(
        f"<li>{escape(change['label'][0].upper() + change['label'][1:])} "
        f'<span class="verdict-{change["verdict"]}">'
        f"{' '.join(VERDICT_LABELS[change['verdict']]).lower()}, "
        f"{format_gb(change['total'])}</span>"
        f'<span class="tf-tag">{escape(change["cost"])}</span></li>'
        for change in result["changes"]
    )
    if not items:
        return ""
    return (
        '<section class="tf-section"><h2 class="tf-section-title">Cheapest changes that fit</h2>'
        f'<ol class="tf-changes">{items}</ol></section>'
    )


def _bars(result: Result) -> str:
    """One stacked bar for each phase, placed by attributes: a policy may bar style text."""
    marketed = result["card"]["memory_marketed_bytes"]
    scale = 1.02 * max(marketed, *(phase["total"] for phase in result["phases"]))

    def across(num_bytes: float) -> str:
        return f"{num_bytes / scale:.3%}"

    limits = "".join(
        f'<line class="tf-limit-{kind}" x1="{across(size)}" x2="{across(size)}" y1="0" y2="100%"/>'
        for kind, size in (("fit", marketed * FIT_PERCENT / 100), ("card", marketed))
    )
    rows = []
    for phase in result["phases"]:
        is_peak = phase["phase"] == result["peak_phase"]
        rows.append(
            f'<div class="tf-bar{" tf-bar-peak" if is_peak else ""}">'
            f'<span class="tf-bar-name">{PHASE_LABELS[phase["phase"]]}</span>'
            '<svg class="tf-bar-picture" width="100%" aria-hidden="true" focusable="false">'
            f"{segments(phase['lines'], across)}{limits}</svg>"
            f'<span class="tf-bar-total">{_number(phase["total"])}</span></div>'
        )
    scale_label = (
        '<div class="tf-bar tf-bar-scale" aria-hidden="true"><span class="tf-bar-name"></span>'
        f'<svg class="tf-bar-picture" width="100%"><text x="{across(marketed)}" y="0.95em" '
        f'text-anchor="end">card {marketed // 10**9:,} GB, {FIT_PERCENT} % of it dashed</text>'
        "</svg>"
        '<span class="tf-bar-total">GB</span></div>'
    )
    return (
        f'<div class="tf-breakdown"><div class="tf-bars">{scale_label}{"".join(rows)}</div></div>'
    )


def _ledger(result: Result) -> str:
    lines = result["per_gpu"]
    used = {key: words for key, words in COMPONENTS.items() if lines[key]}
    rows = "".join(
        f'<tr><th scope="row"><span class="tf-swatch tf-back-{key}" aria-hidden="true"></span>'
        f"{label}</th><td>{_number(lines[key])}</td>"
        f'<td class="tf-quiet tf-share-cell">{lines[key] / lines["total"] * 100:.0f} %</td></tr>'
        for key, (label, _) in used.items()
    )
    terms = " + ".join(f"{word} {_number(lines[key])}" for key, (_, word) in used.items())
    return (
        '<div class="tf-ledger-box"><table class="tf-ledger">'
        '<caption class="tf-hidden">Memory of one GPU by component, in GB</caption>'
        '<thead><tr><th scope="col">At the peak: '
        f'{PHASE_LABELS[result["peak_phase"]].lower()}</th><th scope="col">GB per GPU</th>'
        '<th scope="col" class="tf-share-cell">share</th></tr></thead>'
        f"<tbody>{rows}</tbody>"
        f'<tfoot><tr><th scope="row">Total</th><td>{_number(lines["total"])}</td>'
        '<td class="tf-share-cell"></td></tr></tfoot></table>'
        f'<p class="tf-formula">per GPU = {terms} = {format_gb(lines["total"])}</p></div>'
    )


def _script_data(data: Mapping[str, Any]) -> str:
    """JSON as a data block of the page: no tag can begin or end in it, and no policy blocks it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    escaped = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="tf-start">{escaped}</script>'


def html(catalog: Catalog) -> str:
    """The answer for the default request: HTML without script or inline style, and its data."""
    data = start(catalog)
    result = data["page"]["estimate"]
    return (
        f"{_headline(catalog, result)}{_changes(result)}{_bars(result)}"
        f'<div class="tf-columns">{_ledger(result)}<div></div></div>'
        f"{_script_data(data)}"
    )
