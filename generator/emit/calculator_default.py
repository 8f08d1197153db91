"""The calculator's answer for its defaults: HTML for the page, and data for the page's script.

The page is complete before any script runs. The script replaces the HTML by the same figures from
`start.json`, so its charts and controls work before Python has loaded in the browser.
"""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from generator.core import api
from generator.core.card import Card
from generator.core.catalog import Catalog
from generator.core.params import num_parameters
from generator.core.units import format_gb

START_NAME = "start.json"
DEFAULT_MODEL = "llama-3.1-8b"
"""The calculator's; everything else has the core's defaults."""
CURVE_LENGTHS = tuple(round(2 ** (9 + step / 2)) for step in range(19))
"""512 to 262,144 tokens in half octaves."""

COMPONENT_LABELS = {
    "weights": "Weights",
    "master_weights": "FP32 master weights",
    "gradients": "Gradients",
    "optimizer_states": "Optimizer states",
    "activations": "Activations and loss",
    "buffers": "Buffers",
    "overhead": "Overhead",
}
PHASE_LABELS = {
    "forward": "Forward",
    "loss": "Loss",
    "backward": "Backward",
    "step": "Optimizer step",
}
VERDICT_LABELS = {"fits": ("✓", "Fits"), "tight": ("≈", "Tight"), "no": ("✕", "Does not fit")}

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
        "cards": [_card(card) for card in catalog.cards.values()],
        "optimizers": [{"id": each.id, "name": each.name} for each in catalog.optimizers.values()],
        "stacks": [
            {"id": each.id, "name": each.name, "defaults": dict(each.defaults)}
            for each in catalog.stacks.values()
        ],
    }


def start(catalog: Catalog) -> dict[str, Any]:
    """Everything that the page's script needs before Python runs in the browser."""
    page = _ask(catalog, op="page", sequence_lengths=list(CURVE_LENGTHS))
    return {
        "catalogue": catalogue(catalog),
        "page": {**page, "solve": _ask(catalog, op="solve")},
    }


def write(catalog: Catalog, folder: Path) -> None:
    """Writes `start.json` into `folder` (`docs/assets/calculator`)."""
    text = json.dumps(start(catalog), ensure_ascii=False, separators=(",", ":"))
    (folder / START_NAME).write_text(text + "\n", encoding="utf-8")


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
        f"{request['gradient_accumulation_steps']} steps · "
        "bf16 with FP32 master"
    )
    return (
        f'<div class="tf-head"><div class="tf-headline"><p class="tf-setup">{escape(setup)}</p>'
        f'<p class="tf-verdict verdict-{card["verdict"]}"><span class="tf-verdict-word">'
        f'<span class="tf-sign" aria-hidden="true">{sign}</span> {word}</span>'
        '<span class="tf-figure"><span class="tf-figure-number" data-tf="total" '
        f'data-bytes="{total}">{_number(total)}</span> of {marketed:,} GB per GPU</span>'
        f'<span class="tf-count">{result["num_gpus"]} × {escape(card["name"])}</span></p>'
        f'<p class="tf-reason">{escape(card["reason"])}</p></div></div>'
    )


def _ledger(result: Result) -> str:
    lines = result["per_gpu"]
    used = [key for key in COMPONENT_LABELS if lines[key]]
    rows = "".join(
        f'<tr><th scope="row"><span class="tf-swatch tf-back-{key}" aria-hidden="true"></span>'
        f"{COMPONENT_LABELS[key]}</th><td>{_number(lines[key])}</td>"
        f'<td class="tf-quiet">{lines[key] / lines["total"]:.0%}</td></tr>'
        for key in used
    )
    terms = " + ".join(f"{COMPONENT_LABELS[key].lower()} {_number(lines[key])}" for key in used)
    return (
        '<div class="tf-ledger-box"><table class="tf-ledger">'
        '<caption class="tf-hidden">Memory of one GPU by component, in GB</caption>'
        '<thead><tr><th scope="col">At the peak: '
        f'{PHASE_LABELS[result["peak_phase"]].lower()}</th><th scope="col">GB per GPU</th>'
        f'<th scope="col">share</th></tr></thead><tbody>{rows}</tbody>'
        f'<tfoot><tr><th scope="row">Total</th><td>{_number(lines["total"])}</td><td></td></tr>'
        f'</tfoot></table><p class="tf-formula">per GPU = {terms.replace("fp32", "FP32")} '
        f"= {format_gb(lines['total'])}</p></div>"
    )


def html(catalog: Catalog) -> str:
    """The answer for the default request as HTML that needs no script and no inline style."""
    result = _ask(catalog)
    return f'{_headline(catalog, result)}<div class="tf-columns">{_ledger(result)}<div></div></div>'
