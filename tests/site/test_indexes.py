"""The pages that list all models and cards: every entry once, with what it sorts and filters by."""

import dataclasses
import re
from xml.etree import ElementTree

from generator.emit import indexes, pages, plots
from generator.emit.facts import facts_of
from tests.site.conftest import MODELS, Generated
from tests.site.html import Page, attribute

SVG = "{http://www.w3.org/2000/svg}"


def index(generated: Generated, folder: str) -> str:
    return (generated.docs / folder / "index.md").read_text(encoding="utf-8")


def rows(text: str) -> dict[str, str]:
    return {
        attribute(tag, "id") or "": tag
        for tag in Page(path="", text=text).tags("tr")
        if attribute(tag, "id")
    }


def test_every_model_is_listed_with_what_its_filters_need(generated: Generated) -> None:
    text = index(generated, "models")
    found = rows(text)

    assert sorted(found) == sorted(MODELS)
    for model_id, tag in found.items():
        facts = facts_of(generated.catalog.models[model_id])
        assert attribute(tag, "data-parameters") == str(facts.num_parameters)
        assert attribute(tag, "data-family") == facts.entry.family
        assert attribute(tag, "data-licence") == facts.entry.license
    assert attribute(found["qwen3-30b-a3b"], "data-kind") == "MoE"
    assert attribute(found["llama-3.1-8b"], "data-kind") == "dense"
    # 8 cards of 141 GB are less than 16 of 80.
    assert '<td data-value="1128">' in text


def test_every_choice_of_a_filter_finds_something(generated: Generated) -> None:
    for folder in ("models", "cards"):
        text = index(generated, folder)
        values = [
            {attribute(tag, f"data-{name}") for tag in rows(text).values()}
            for name in re.findall(r'<select name="([a-z]+)"', text)
        ]
        for have, options in zip(
            values, re.findall(r"<select [^>]*>(.*?)</select>", text), strict=True
        ):
            for choice in re.findall(r'<option value="([^"]+)"', options):
                if ".." not in choice:
                    assert choice in have, choice


def test_no_price_stands_without_its_month(generated: Generated) -> None:
    text = index(generated, "cards")
    cells = re.findall(
        r'<td data-value="[0-9.]+">([0-9.]+(?: to [0-9.]+)?)(<small>(.*?)</small>)?', text
    )
    priced = [cell for cell in cells if cell[1]]
    cards = [card for card in generated.matrix.axes.cards if card.price_usd_per_hour]

    assert len(priced) == len(cards)
    assert all(re.fullmatch(r"20\d\d-\d\d", month) for _, _, month in priced)


def test_plots_are_pictures_with_their_content_in_words(generated: Generated) -> None:
    facts = {model_id: facts_of(generated.catalog.models[model_id]) for model_id in MODELS}
    for text in (
        plots.memory_against_price(generated.matrix.axes.cards),
        plots.memory_against_size(facts, generated.views()),
    ):
        root = ElementTree.fromstring(text)
        assert root.get("role") == "img"
        assert root.findtext(f"{SVG}title")
        named = (root.get("aria-labelledby") or "").split()
        assert [each.get("id") for each in root if each.get("id")] == named
        width = float(root.get("width", ""))
        for label in root.iter(f"{SVG}text"):
            assert 0 <= float(label.get("x", "")) <= width


def test_each_price_is_drawn_with_its_date_and_an_undated_one_is_not(
    generated: Generated,
) -> None:
    cards = generated.matrix.axes.cards
    text = plots.memory_against_price(cards)
    months = re.findall(r">(20\d\d-\d\d)</text>", text)
    assert len(months) == sum(1 for card in cards if card.price_usd_per_hour)

    undated = [dataclasses.replace(card, price_date=None) for card in cards]
    some = [undated[0], *cards[1:]] if cards[0].price_usd_per_hour else [*undated[:40], *cards[40:]]
    fewer = plots.memory_against_price(some)
    assert len(re.findall(r">(20\d\d-\d\d)</text>", fewer)) < len(months)


def test_a_larger_model_s_mark_stands_further_right(generated: Generated) -> None:
    facts = {model_id: facts_of(generated.catalog.models[model_id]) for model_id in MODELS}
    root = ElementTree.fromstring(plots.memory_against_size(facts, generated.views()))
    places = [
        (float(each.get("x", "")), float(each.get("y", "")))
        for each in root.iter(f"{SVG}use")
        if each.get("href") == "#mark-full"
    ]

    assert len(places) == len(MODELS)
    # Right means more parameters, and up means more memory.
    assert sorted(places) == sorted(places, key=lambda place: (place[0], -place[1]))
    ys = [y for _, y in sorted(places)]
    assert ys == sorted(ys, reverse=True)


def test_the_lists_are_the_same_each_time(generated: Generated) -> None:
    env = pages.environment()
    facts = {model_id: facts_of(generated.catalog.models[model_id]) for model_id in MODELS}
    views = generated.views()

    again = indexes.models_index(env, facts=facts, views=views)
    assert again == index(generated, "models")
    assert indexes.cards_index(env, cards=generated.matrix.axes.cards) == index(generated, "cards")
