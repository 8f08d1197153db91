"""The built site as a reader's browser meets it: links, origins, sizes, names."""

import base64
import gzip
import hashlib
import json
import posixpath
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from generator.core.errors import ERROR_CODES
from generator.emit import permalinks
from generator.load import load_catalog
from generator.matrix import read_axes
from tests.calculator_links import decoded
from tests.site.html import SCRIPT_BODY, Page, attribute

MAX_PAGE_BYTES = 150_000
"""Compressed; a model page is the largest kind."""
MAX_SEARCH_INDEX_BYTES = 400_000
MAX_SEARCH_TEXT = 2_000
"""Characters; the prose of a generated page, without any table."""
LOADED = {"script": "src", "img": "src", "iframe": "src", "object": "data"}
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch"}
# The theme's bundle names hosts that it loads from only for diagrams and comments: no page has any.
THEME_FILES = re.compile(
    r"assets/(javascripts|stylesheets)/(bundle|main|palette|workers/search|lunr/)"
)


def is_redirect(page: Page) -> bool:
    return 'http-equiv="refresh"' in page.text


def target_of(page: Page, reference: str) -> tuple[str, str]:
    """File and fragment that a relative reference means."""
    parts = urlsplit(reference)
    folder = posixpath.dirname(page.path)
    path = posixpath.normpath(posixpath.join(folder, unquote(parts.path))) if parts.path else ""
    if not path:
        path = page.path
    elif parts.path.endswith("/") or path == ".":
        path = posixpath.normpath(posixpath.join(path, "index.html"))
    return path, unquote(parts.fragment)


def is_row_address(fragment: str) -> bool:
    """A row of another optimizer than the default, which the page's script draws on demand."""
    axes = read_axes(load_catalog())
    parts = fragment.split("--")
    if len(parts) not in (3, 4):
        return False
    cards = {card.id for card in axes.cards}
    return (
        parts[0] in axes.methods
        and parts[1] in {each.id for each in axes.optimizers}
        and parts[2] in axes.strategies
        and (len(parts) == 3 or parts[3] in cards)
    )


def test_every_link_and_anchor_resolves(site: Path, pages: dict[str, Page]) -> None:
    known = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    broken = []
    for page in pages.values():
        # The page for unknown addresses can stand below any path, so its own are absolute.
        if page.path == "404.html":
            continue
        for reference in page.references:
            parts = urlsplit(reference)
            if parts.scheme or parts.netloc or reference.startswith("/"):
                continue
            path, fragment = target_of(page, reference)
            is_missing = path not in known and f"{path}/index.html" not in known
            is_lost = (
                fragment
                and path in pages
                and not path.startswith("calculator/")
                and fragment not in pages[path].ids
                and not (path.startswith("models/") and is_row_address(fragment))
            )
            if is_missing or is_lost:
                broken.append((page.path, reference))
    assert broken == []


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js runs the calculator's code")
def test_every_link_into_the_calculator_is_understood(pages: dict[str, Page]) -> None:
    fragments = sorted(
        {
            urlsplit(reference).fragment
            for page in pages.values()
            for reference in page.references
            if "calculator/#" in reference and "=" in reference
        }
    )

    assert len(fragments) > len(load_catalog().models)
    refused = [
        (fragment, found["problems"])
        for fragment, found in zip(fragments, decoded(fragments), strict=True)
        if found["problems"]
    ]
    assert refused == []


def test_no_page_loads_anything_from_elsewhere(pages: dict[str, Page]) -> None:
    foreign = []
    for page in pages.values():
        loaded = [
            attribute(tag, name) for tag_name, name in LOADED.items() for tag in page.tags(tag_name)
        ]
        loaded += [
            attribute(tag, "href")
            for tag in page.tags("link")
            if LOADED_RELATIONS & set((attribute(tag, "rel") or "").split())
        ]
        foreign += [
            (page.path, address)
            for address in loaded
            if address and page.path != "404.html" and urlsplit(address).netloc
        ]
    assert foreign == []


def test_styles_and_scripts_name_no_foreign_address(site: Path) -> None:
    foreign = []
    for path in [*site.rglob("*.css"), *site.rglob("*.js"), *site.rglob("*.mjs")]:
        relative = path.relative_to(site).as_posix()
        if THEME_FILES.match(relative) or relative.startswith("assets/pyodide/"):
            continue
        text = path.read_text(encoding="utf-8")
        foreign += [
            (relative, address)
            for address in re.findall(r"""["'(](?:https?:)?//[^"')\s]+""", text)
            if "www.w3.org" not in address
        ]
    assert foreign == []


def test_every_page_forbids_foreign_origins_and_unknown_inline_scripts(
    pages: dict[str, Page],
) -> None:
    for page in pages.values():
        if is_redirect(page):
            continue
        (policy,) = [
            attribute(tag, "content") or ""
            for tag in page.tags("meta")
            if attribute(tag, "http-equiv") == "Content-Security-Policy"
        ]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert "http" not in policy
        for attributes, body in SCRIPT_BODY.findall(page.text):
            if "src=" in attributes or "json" in attributes:
                continue
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy, (page.path, body[:80])


def test_every_page_says_what_it_is(pages: dict[str, Page]) -> None:
    titles: dict[str, str] = {}
    for page in pages.values():
        if is_redirect(page) or page.path == "404.html":
            continue
        assert len(page.tags("h1")) == 1, page.path
        # Pictures have titles of their own; the page's stands in its head.
        (title,) = re.findall(r"<title>(.*?)</title>", page.text.partition("</head>")[0])
        assert title not in titles, (page.path, titles.get(title))
        titles[title] = page.path
        described = [tag for tag in page.tags("meta") if attribute(tag, "name") == "description"]
        assert len(described) == 1, page.path
        assert 'lang="en"' in page.text


def test_no_page_is_over_its_size(pages: dict[str, Page]) -> None:
    sizes = {
        page.path: len(gzip.compress(page.text.encode(), 6))
        for page in pages.values()
        if len(page.text) > MAX_PAGE_BYTES
    }
    assert {path: size for path, size in sizes.items() if size > MAX_PAGE_BYTES} == {}


def test_search_finds_models_and_cards_and_is_not_drowned_by_cells(site: Path) -> None:
    text = (site / "search/search_index.json").read_text(encoding="utf-8")
    documents = json.loads(text)["docs"]
    found = {document["location"]: document for document in documents}
    catalog = load_catalog()
    for model in catalog.models.values():
        assert model.name in found[f"models/{model.id}/"]["title"]
    for card in catalog.cards.values():
        assert card.name in found[f"cards/{card.id}/"]["title"]
    generated = [each for location, each in found.items() if re.match("(models|cards)/", location)]
    assert max(len(document["text"]) for document in generated) < MAX_SEARCH_TEXT
    assert len(gzip.compress(text.encode(), 6)) < MAX_SEARCH_INDEX_BYTES


def test_every_published_page_is_built(site: Path) -> None:
    missing = [
        line
        for line in permalinks.read_ledger()
        if line.startswith("page ")
        and not (site / line.removeprefix("page ") / "index.html").is_file()
    ]
    assert missing == []


def test_every_row_of_the_default_optimizer_is_an_anchor(pages: dict[str, Page]) -> None:
    axes = read_axes(load_catalog())
    applicable = np.any(axes.applicable(), axis=1)
    expected = {
        f"{method}--{axes.default_optimizer}--{strategy}--{card.id}"
        for method in axes.methods
        for s, strategy in enumerate(axes.strategies)
        for c, card in enumerate(axes.cards)
        if applicable[s, c]
    }
    model_pages = [
        page
        for path, page in pages.items()
        if re.fullmatch(r"models/[^/]+/index\.html", path) and not is_redirect(page)
    ]
    assert len(model_pages) == len(load_catalog().models)
    for page in model_pages:
        assert expected <= page.ids, page.path


def test_every_table_that_can_be_linked_has_an_address(pages: dict[str, Page]) -> None:
    figures = {
        path: re.findall(r'<figure class="tf-table[^>]*>', page.text)
        for path, page in pages.items()
    }
    assert sum(map(len, figures.values())) > len(load_catalog().models)
    bare = {path for path, found in figures.items() if any(" id=" not in tag for tag in found)}
    assert bare == set()


def test_each_error_code_has_its_section_in_order(pages: dict[str, Page]) -> None:
    ids = re.findall(r'<h2 id="([^"]+)"', pages["errors/index.html"].text)

    assert tuple(ids) == ERROR_CODES


@pytest.mark.parametrize("name", ["index.json", "models.json", "cards.json", "matrix.parquet"])
def test_data_files_are_served_beside_the_pages(site: Path, name: str) -> None:
    assert (site / "api/v1" / name).stat().st_size > 100


def test_nothing_names_the_machine_that_built_it(site: Path, pages: dict[str, Page]) -> None:
    here = str(Path(__file__).resolve().parents[2])
    for page in pages.values():
        assert here not in page.text, page.path
    for path in site.rglob("*.json"):
        assert here not in path.read_text(encoding="utf-8"), path
