"""What crawlers and language models read first: `llms.txt` and `robots.txt`.

`llms.txt` (llmstxt.org) lists every page with one line of what it answers; for a model that line is
the answer itself.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from generator.core.card import Card
from generator.emit import badges
from generator.emit.by_hand import address_of, pages_by_hand
from generator.emit.facts import ModelFacts
from generator.tables.view import ModelView

FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)

HEAD = """\
# trainfit

> Know before you start a fine-tune whether it fits: GPU memory per card for full fine-tuning, \
LoRA and QLoRA, for {num_models} models and {num_cards} cards, precomputed, with the conditions \
beside each figure.

Every figure is GB (10^9 bytes) per GPU. "Fits" means up to 95 % of a card's marketed memory; \
"tight" means above that and up to what its driver reports as usable. Unless a page says \
otherwise: 2,048 tokens, micro-batch 1, full activation checkpointing, FlashAttention, AdamW, bf16 \
weights and gradients with an FP32 master copy, LoRA at rank 16 on all linear layers. Below, \
"fits 2 × card" is the least card memory on which a method fits; the model's JSON holds every \
other set-up.

"""


def robots_txt(site_url: str) -> str:
    """Everything may be read, and where the list of pages is."""
    return f"User-agent: *\nAllow: /\n\nSitemap: {site_url}sitemap.xml\n"


def hand_written(docs_dir: Path) -> list[tuple[str, str, str]]:
    """Address, title and description of each hand-written page that has both, by address."""
    found = []
    for path in pages_by_hand(docs_dir):
        match = FRONT_MATTER.match(path.read_text(encoding="utf-8"))
        fields = yaml.safe_load(match[1]) if match else {}
        if not fields.get("title") or not fields.get("description"):
            continue
        address = address_of(path.relative_to(docs_dir))
        found.append((address, fields["title"], fields["description"]))
    return sorted(found)


def llms_txt(
    *,
    site_url: str,
    docs_dir: Path,
    facts: Mapping[str, ModelFacts],
    views: Mapping[str, ModelView],
    cards: Sequence[Card],
) -> str:
    """The list of pages and data, grouped as the site's navigation is."""
    lines = [HEAD.format(num_models=len(facts), num_cards=len(cards)), "## Data\n\n"]
    for address, name, words in (
        ("api/", "How to use the data", "files, axes, verdicts, examples, what may change"),
        ("api/v1/models.json", "All models", "identity and smallest set-up per method"),
        (
            f"api/v1/models/{next(iter(views))}.json",
            "One model",
            "bytes per GPU of every set-up, by axes; the others by their id",
        ),
        ("api/v1/cards.json", "All cards", "memory, limits, rates, prices with their date"),
        ("api/v1/matrix.parquet", "All figures", "one row per set-up"),
        ("api/v1/openapi.json", "OpenAPI", "the same files described for programs"),
    ):
        lines.append(f"- [{name}]({site_url}{address}): {words}\n")
    lines.append("\n## Pages\n\n")
    for address, title, description in hand_written(docs_dir):
        lines.append(f"- [{title}]({site_url}{address}): {description}\n")
    lines.append("\n## Models\n\n")
    for model_id, view in views.items():
        answers = "; ".join(each.title for each in badges.badges(facts[model_id], view))
        name = facts[model_id].entry.name
        lines.append(f"- [{name}]({site_url}models/{model_id}/): {answers}\n")
    lines.append("\n## Cards\n\n")
    lines.extend(
        f"- [{card.name}]({site_url}cards/{card.id}/): what 1 and more of it can fine-tune, "
        f"{card.memory_marketed_gb} GB each\n"
        for card in sorted(cards, key=lambda card: card.id)
    )
    return "".join(lines)
