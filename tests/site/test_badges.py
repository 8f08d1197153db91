"""Badges: they say what the core says, in a picture that stands alone, and lead to a row."""

import dataclasses
import json
import re
from xml.etree import ElementTree

import pytest

from generator.core import api
from generator.emit import badges
from generator.emit.facts import facts_of
from generator.tables.view import ModelView
from tests.site.conftest import MODELS, Generated

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {f"{SVG}{name}" for name in ("svg", "title", "rect", "path", "g", "text")}


def badges_of(generated: Generated, model_id: str) -> list[badges.Badge]:
    matrix = generated.matrix
    view = ModelView(axes=matrix.axes, matrix=matrix.models[model_id], longest={})
    return badges.badges(facts_of(view.matrix.entry), view)


@pytest.mark.parametrize("model_id", MODELS)
def test_a_badge_says_what_the_core_says(generated: Generated, model_id: str) -> None:
    for badge in badges_of(generated, model_id):
        method, optimizer, strategy, card = badge.row_id.split("--")
        count, name = badge.message.split(" × ")
        request = {
            "model": model_id,
            "method": method,
            "optimizer": optimizer,
            "strategy": strategy,
            "num_gpus": int(count),
            "card": card,
        }
        answer = json.loads(api.run(json.dumps(request), generated.catalog))

        assert answer["card"]["verdict"] == badge.verdict == "fits"
        size = generated.catalog.cards[card].memory_marketed_gb
        assert name.endswith(f"{size} GB")
        page = (generated.docs / f"models/{model_id}.md").read_text(encoding="utf-8")
        assert f'id="{badge.row_id}"' in page
        assert badge.markdown("http://127.0.0.1:8000/") in page


@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_a_badge_is_an_accessible_picture_without_anything_else(
    generated: Generated, model_id: str, method: str
) -> None:
    text = (generated.docs / badges.FOLDER / model_id / f"{method}.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    elements = list(root.iter())

    assert {element.tag for element in elements} <= ALLOWED
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title") is not None
    assert root.findtext(f"{SVG}title") == root.get("aria-label")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    # Both texts end before the edge of their field.
    width = int(root.get("width", "0"))
    label, message = root.iter(f"{SVG}text")
    split = int(re.match(r"M(\d+) ", root.findall(f"{SVG}path")[0].get("d", ""))[1])  # type: ignore[index]
    assert int(label.get("x", "")) + int(label.get("textLength", "")) < split
    assert split < int(message.get("x", ""))
    assert int(message.get("x", "")) + int(message.get("textLength", "")) < width


def test_what_fits_nowhere_says_so(generated: Generated) -> None:
    badge = badges.badge(generated.catalog.models["llama-3.1-405b"], "full", None)

    assert badge.title == "Full fine-tuning does not fit on up to 64 GPUs"
    assert badge.markdown("https://site.example/").endswith(
        "(https://site.example/models/llama-3.1-405b/)"
    )
    ElementTree.fromstring(badge.svg())


def luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("fill", [badges.LABEL_FILL, *badges.VERDICT_FILLS.values()])
def test_white_is_legible_on_every_fill(fill: str) -> None:
    assert 1.05 / (luminance(fill) + 0.05) >= 4.5


def test_a_former_name_keeps_its_badges(generated: Generated) -> None:
    matrix = generated.matrix
    view = ModelView(axes=matrix.axes, matrix=matrix.models["llama-3.1-8b"], longest={})
    aliases = ("llama-3.1-8b-instruct", "Llama 3.1 (8B)", "qwen3-30b-a3b")
    facts = facts_of(dataclasses.replace(view.matrix.entry, aliases=aliases))
    other = ModelView(axes=matrix.axes, matrix=matrix.models["qwen3-30b-a3b"], longest={})

    written = badges.files(
        {"llama-3.1-8b": facts, "qwen3-30b-a3b": facts_of(other.matrix.entry)},
        {"llama-3.1-8b": view, "qwen3-30b-a3b": other},
    )

    former = written["api/v1/badges/llama-3.1-8b-instruct/qlora.svg"]
    assert former == written["api/v1/badges/llama-3.1-8b/qlora.svg"]
    # A model that has that name today keeps it.
    assert written["api/v1/badges/qwen3-30b-a3b/qlora.svg"] != former
    assert len(written) == 9
