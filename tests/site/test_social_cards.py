"""Pictures of shared links: small, the same each time, with the answer of their page."""

import io
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from generator.core.catalog import CatalogModel
from generator.emit import social_cards
from generator.emit.facts import facts_of
from generator.load import load_catalog
from generator.tables.reference_cards import ReferenceCard
from tests.site.conftest import MODELS, Generated
from tests.site.html import Page, attribute

MAX_BYTES = 40_000
STYLE = Path(__file__).resolve().parents[2] / "docs/assets/stylesheets/trainfit.css"


def test_each_model_and_card_has_its_own_small_picture(generated: Generated) -> None:
    folder = generated.docs / social_cards.FOLDER
    expected = [f"models/{model_id}" for model_id in MODELS]
    expected += [f"cards/{card.id}" for card in generated.matrix.axes.cards]
    pictures = {name: (folder / f"{name}.png").read_bytes() for name in [*expected, "default"]}

    assert len(set(pictures.values())) == len(pictures)
    for name, data in pictures.items():
        assert len(data) < MAX_BYTES, name
        with Image.open(io.BytesIO(data)) as image:
            assert (image.format, image.mode, image.size) == ("PNG", "P", (1200, 630)), name


def test_the_same_figures_give_the_same_bytes(generated: Generated) -> None:
    views = generated.views()
    facts = {model_id: facts_of(view.matrix.entry) for model_id, view in views.items()}
    for cache in (social_cards._font, social_cards._inked, social_cards._piece_width):
        cache.cache_clear()

    again = social_cards.files(facts, views)

    for path, data in again.items():
        assert (generated.docs / path).read_bytes() == data, path


def test_a_picture_says_what_the_page_says(generated: Generated) -> None:
    view = generated.views()["llama-3.1-405b"]
    card = social_cards.model_card(facts_of(view.matrix.entry), view)
    page = (generated.docs / "models/llama-3.1-405b.md").read_text(encoding="utf-8")

    full, _, qlora = card.lines
    assert full.answer == "64 × H200 SXM 141 GB, ZeRO-3 / FSDP"
    assert re.search(
        rf">64 × NVIDIA H200 SXM 141 GB</a> .*{re.escape(full.figure.split()[0])}", page
    )
    assert qlora.verdict == "fits"
    assert card.grid is not None
    heads = dict(zip(card.grid.heads, card.grid.rows[0][1], strict=True))
    assert heads["16"] == ("✕", "no")
    assert heads["141"] == ("64", "fits")
    assert len(card.grid.heads) == page.count('<a href="../../cards/')


def test_what_fits_nowhere_says_so(generated: Generated) -> None:
    line = social_cards._model_line("full", None)

    assert (line.verdict, line.answer) == ("no", "on up to 64 GPUs of any size")


def test_every_name_of_the_catalog_can_be_drawn() -> None:
    catalog = load_catalog()
    font = social_cards._font(40)
    missing = bytes(font.getmask("\uffff"))
    words = [words for entry in catalog.models.values() for words in words_of(entry)]
    words += [ReferenceCard(index=0, card=card).full_name for card in catalog.cards.values()]

    characters = set("".join(words)) - {" "} - set(social_cards.STROKES)

    assert {each for each in characters if bytes(font.getmask(each)) == missing} == set()
    # What is drawn as strokes is drawn for a reason.
    assert all(bytes(font.getmask(sign)) == missing for sign in social_cards.STROKES)


def words_of(entry: CatalogModel) -> tuple[str, str]:
    return entry.name, entry.developer


def test_colours_are_those_of_the_light_scheme() -> None:
    css = STYLE.read_text(encoding="utf-8").split('[data-md-color-scheme="slate"]')[0]
    values = dict(re.findall(r"--tf-([a-z-]+): #([0-9a-f]+);", css))

    def colour(name: str) -> tuple[int, ...]:
        digits = values[name] if len(values[name]) == 6 else "".join(2 * d for d in values[name])
        return tuple(bytes.fromhex(digits))

    assert colour("page") == social_cards.PAGE
    assert colour("text") == social_cards.TEXT
    assert colour("muted") == social_cards.MUTED
    assert colour("rule") == social_cards.RULE
    for verdict in social_cards.VERDICT_COLOURS:
        assert colour(verdict) == social_cards.VERDICT_COLOURS[verdict]
        assert colour(f"{verdict}-tint") == social_cards.VERDICT_TINTS[verdict]


@pytest.mark.parametrize("title", ["A", "A" * 80])
def test_long_titles_shrink(title: str) -> None:
    canvas = social_cards._Canvas()
    size = social_cards._fitting(canvas, title, social_cards.TITLE, 1072, weight=1)

    assert canvas.width(title, size, 1) <= 1072
    assert (size == social_cards.TITLE) == (title == "A")


def test_built_pages_name_their_picture_and_their_address(
    site: Path, pages: dict[str, Page]
) -> None:
    used = set()
    for page in pages.values():
        if 'http-equiv="refresh"' in page.text:
            continue
        meta = {
            attribute(tag, "property") or attribute(tag, "name"): attribute(tag, "content")
            for tag in page.tags("meta")
        }
        image = urlsplit(meta["og:image"] or "")
        assert image.scheme, page.path
        path = image.path[image.path.index(social_cards.FOLDER) :]
        assert (site / path).is_file(), (page.path, path)
        used.add(path)
        assert meta["og:title"], page.path
        assert meta["og:description"] == meta["description"], page.path
        assert meta["twitter:card"] == "summary_large_image"
        if page.path == "404.html":
            continue
        (canonical,) = [
            attribute(tag, "href") or ""
            for tag in page.tags("link")
            if attribute(tag, "rel") == "canonical"
        ]
        assert canonical == meta["og:url"]
        assert canonical.endswith("/" + page.path.removesuffix("index.html")), page.path
    drawn = {path.relative_to(site).as_posix() for path in (site / social_cards.FOLDER).rglob("*")}
    assert used == {path for path in drawn if path.endswith(".png")}
