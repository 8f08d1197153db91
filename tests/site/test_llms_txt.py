"""`llms.txt`, `robots.txt` and the sitemap: complete, and every address in them answers."""

import re
from pathlib import Path

from generator.emit import llms_txt
from tests.site.conftest import MODELS, Generated
from tests.site.html import Page

LINK = re.compile(r"^- \[([^\]]+)\]\((\S+)\): (.+)$", re.MULTILINE)
ADDRESS = re.compile(r"<loc>(.*?)</loc>")
LOCAL = "http://127.0.0.1:8000/"


def test_each_model_s_line_is_its_answer(generated: Generated) -> None:
    text = (generated.docs / "llms.txt").read_text(encoding="utf-8")
    lines = {address: words for _, address, words in LINK.findall(text)}

    for model_id in MODELS:
        assert lines[f"{LOCAL}models/{model_id}/"].count(" fits ") == 3
    assert "QLoRA fits 2 × H200 SXM 141 GB" in lines[f"{LOCAL}models/llama-3.1-405b/"]
    for card in generated.matrix.axes.cards:
        assert f"{LOCAL}cards/{card.id}/" in lines
    assert f"{LOCAL}api/v1/models/{MODELS[0]}.json" in lines


def test_it_lists_hand_written_pages_that_say_what_they_are(tmp_path: Path) -> None:
    pages = {
        "index.md": "---\ntitle: Home\ndescription: The question.\n---\n# Home\n",
        "explain/index.md": "---\ntitle: Explained\ndescription: Why.\n---\n",
        "explain/loss.md": '---\ntitle: "Loss: why"\ndescription: >-\n  Two\n  lines.\n---\n',
        "nameless.md": "# No front matter\n",
        "models/generated.md": "---\ntitle: Generated\ndescription: Listed elsewhere.\n---\n",
    }
    for name, text in pages.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    assert llms_txt.hand_written(tmp_path) == [
        ("", "Home", "The question."),
        ("explain/", "Explained", "Why."),
        ("explain/loss/", "Loss: why", "Two lines."),
    ]


def test_every_address_of_the_built_llms_txt_answers(site: Path) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    found = LINK.findall(text)
    (base,) = [
        address.removesuffix("models/llama-3.1-8b/")
        for _, address, _ in found
        if address.endswith("/models/llama-3.1-8b/")
    ]

    for _, address, _ in found:
        path = site / address.removeprefix(base)
        assert path.is_file() or (path / "index.html").is_file(), address
    in_sitemap = set(ADDRESS.findall((site / "sitemap.xml").read_text(encoding="utf-8")))
    assert in_sitemap - {address for _, address, _ in found} == {f"{base}models/", f"{base}cards/"}


def test_robots_may_read_everything_and_find_the_sitemap(
    site: Path, pages: dict[str, Page]
) -> None:
    robots = (site / "robots.txt").read_text(encoding="utf-8")
    assert "Allow: /\n" in robots
    assert "Disallow" not in robots
    (sitemap,) = re.findall(r"^Sitemap: (\S+)$", robots, re.MULTILINE)
    base = sitemap.removesuffix("sitemap.xml")
    addresses = ADDRESS.findall((site / "sitemap.xml").read_text(encoding="utf-8"))

    listed = {f"{address.removeprefix(base)}index.html" for address in addresses}
    expected = {
        page.path
        for page in pages.values()
        if 'http-equiv="refresh"' not in page.text and page.path != "404.html"
    }
    assert listed == expected
