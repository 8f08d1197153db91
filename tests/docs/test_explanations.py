"""Form of the explanation pages: lasting anchors, resolving links and sources, one picture each."""

import re
from pathlib import Path

import pytest

from generator.emit import figures, svg
from generator.macros_explain import source_register
from tests.docs.rendering import DOCS, EXPLAIN, ROOT, pages, rendered, source

HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)
ANCHOR = re.compile(r"\{ #([a-z0-9][a-z0-9-]*) \}\s*$")
SOURCE_ID = re.compile(r"\bS-[A-Z0-9]+(?:-[A-Z0-9]+)*\b")
WITHOUT_PICTURE = {"index"}
REQUIRED_PAGES = {
    "activations", "allocated-reserved", "communication", "glossary", "index", "lora-and-qlora",
    "loss", "not-modelled", "optimizers", "out-of-memory", "precision", "sharding",
    "thirteen-billion", "time-and-cost", "units",
}  # fmt: skip


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def _anchors(path: Path) -> set[str]:
    text = _without_code(path.read_text(encoding="utf-8"))
    found = {match[1] for line in HEADING.findall(text) if (match := ANCHOR.search(line))}
    return found | set(re.findall(r'id="([^"]+)"', text))


def test_every_page_of_the_issue_exists() -> None:
    assert set(pages()) == REQUIRED_PAGES


@pytest.mark.parametrize("path", [*sorted(EXPLAIN.glob("*.md")), DOCS / "reference" / "sources.md"])
def test_every_heading_has_its_own_explicit_id(path: Path) -> None:
    headings = HEADING.findall(_without_code(path.read_text(encoding="utf-8")))
    ids = [match[1] if (match := ANCHOR.search(heading)) else heading for heading in headings]
    assert [heading for heading in ids if heading.startswith("#")] == []
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("page", pages())
def test_every_page_has_title_description_and_one_top_heading(page: str) -> None:
    head = (EXPLAIN / f"{page}.md").read_text(encoding="utf-8").split("---")[1]
    assert re.search(r"^title: .+", head, re.MULTILINE)
    assert re.search(r"^description: .{40,}", head, re.MULTILINE)
    assert len(re.findall(r"^# ", _without_code(source(page)), re.MULTILINE)) == 1


@pytest.mark.parametrize("page", sorted(set(pages()) - WITHOUT_PICTURE))
def test_every_page_answers_first_and_has_a_picture_and_sources(page: str) -> None:
    body = re.sub(r"\{%.*?%\}", "", source(page), flags=re.DOTALL)
    after_heading = body.split("\n# ", 1)[1].split("\n", 1)[1].strip()
    assert after_heading.startswith("**")
    assert len(re.findall(r'figure\("', source(page))) == 1
    assert "## Sources { #sources }" in source(page)
    assert "sources(" in source(page)


@pytest.mark.parametrize("page", pages())
def test_links_between_hand_written_pages_resolve(page: str) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", rendered(page)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (EXPLAIN / name).resolve() if name else EXPLAIN / f"{page}.md"
        inside = path.is_relative_to(EXPLAIN) or path.is_relative_to(DOCS / "reference")
        if not inside:
            # Pages of others are checked by the strict site build.
            continue
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", pages())
def test_one_sentence_per_line(page: str) -> None:
    crowded = []
    for line in _without_code(source(page)).splitlines():
        if line.startswith(("#", "|", "{%", "<")):
            continue
        words = re.sub(r"\{\{.*?\}\}|\]\([^)]*\)|`[^`]*`", "x", line)
        words = re.sub(r"^(\d+)\. ", "", words)
        if re.search(r"[.!?][\"*)]* +[A-Z(\[*]", words):
            crowded.append(line)
    assert crowded == []


def test_no_page_uses_a_dash_chain() -> None:
    for page in pages():
        assert "\N{EM DASH}" not in source(page), page


def test_every_source_that_code_and_pages_name_is_in_the_register() -> None:
    register = source_register()
    unknown: dict[str, str] = {}
    files = [*(ROOT / "generator").rglob("*.py"), *EXPLAIN.glob("*.md")]
    for path in files:
        for name in SOURCE_ID.findall(path.read_text(encoding="utf-8")):
            if name not in register:
                unknown.setdefault(name, path.relative_to(ROOT).as_posix())
    assert unknown == {}


def test_every_source_of_the_register_is_used() -> None:
    used: set[str] = set()
    for path in [*(ROOT / "generator").rglob("*.py"), *EXPLAIN.glob("*.md")]:
        used |= set(SOURCE_ID.findall(path.read_text(encoding="utf-8")))
    assert set(source_register()) - used == set()


@pytest.mark.parametrize("name", sorted(figures.FIGURES))
def test_every_picture_is_described_and_the_same_twice(name: str) -> None:
    svg = figures.render(name)
    assert f'<title id="{name}-title">' in svg
    assert f'<desc id="{name}-desc">' in svg
    assert 'role="img"' in svg
    assert "\n\n" not in svg
    assert figures.FIGURES[name]() == figures.FIGURES[name]()


@pytest.mark.parametrize("name", sorted(figures.FIGURES))
def test_nothing_in_a_picture_leaves_its_frame(name: str) -> None:
    picture = figures.FIGURES[name]()
    for part in picture.body:
        box = {
            key: float(value) for key, value in re.findall(r' (x|y|width|height)="([\d.]+)"', part)
        }
        if part.startswith("<rect"):
            assert box["x"] + box["width"] <= svg.WIDTH + 0.5
            assert box["y"] + box["height"] <= picture.height


def test_every_picture_is_on_a_page() -> None:
    shown = {name for page in pages() for name in re.findall(r'figure\("([^"]+)"\)', source(page))}
    assert shown == set(figures.FIGURES)
