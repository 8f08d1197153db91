"""Links, addresses and text of built pages, read with patterns: the site has 100 MB of HTML."""

import html
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ATTRIBUTE = r"""(?:\s|^){name}=(?:"([^"]*)"|'([^']*)'|([^\s>"']+))"""
TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)>")
ID = re.compile(ATTRIBUTE.format(name="(?:id|name)"))
REFERENCE = re.compile(ATTRIBUTE.format(name="(?:href|src|action|data-model)"))
SCRIPT_BODY = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.DOTALL)
ROW = re.compile(r"<tr\b[^>]*>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<t([hd])\b([^>]*)>(.*?)</t[hd]>", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One HTML file."""

    path: str
    text: str

    @cached_property
    def markup(self) -> str:
        """The text without the content of scripts, which is no markup."""
        return SCRIPT_BODY.sub(lambda match: f"<script{match[1]}></script>", self.text)

    @cached_property
    def ids(self) -> frozenset[str]:
        """Addresses within the page."""
        return frozenset(_values(ID, self.markup))

    @cached_property
    def references(self) -> frozenset[str]:
        """Everything that the page links to or loads."""
        return frozenset(_values(REFERENCE, self.markup))

    def tags(self, name: str) -> list[str]:
        """Attribute texts of every tag of one name."""
        return [match[2] for match in TAG.finditer(self.markup) if match[1].lower() == name]

    def rows(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """Table rows: the markup of the row's header, and span and text of each further cell."""
        found = []
        for match in ROW.finditer(self.text):
            cells = CELL.findall(match[1])
            if cells and cells[0][0] == "h" and 'scope="row"' in cells[0][1]:
                found.append(
                    (
                        cells[0][2],
                        [(1, plain(content)) for kind, _, content in cells if kind == "d"],
                    )
                )
        return found


def _values(pattern: re.Pattern[str], markup: str) -> list[str]:
    found = []
    for tag in TAG.finditer(markup):
        found += [
            html.unescape(next(each for each in match.groups() if each is not None))
            for match in pattern.finditer(tag[2])
        ]
    return found


def plain(markup: str) -> str:
    """Text of a piece of markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def attribute(tag: str, name: str) -> str | None:
    """One attribute of a tag's attribute text."""
    match = re.search(ATTRIBUTE.format(name=re.escape(name)), tag)
    if match is None:
        return None
    return html.unescape(next(each for each in match.groups() if each is not None))


def read_pages(site: Path) -> dict[str, Page]:
    """Every page below `site`."""
    return {
        relative: Page(path=relative, text=path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        for relative in (path.relative_to(site).as_posix(),)
    }
