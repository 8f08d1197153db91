"""The few SVG elements that our pictures are drawn with, as text.

The same input gives the same bytes. A picture is as narrow as a phone's window, so that its text
stays legible there; colours are the style sheet's variables with a fallback for a downloaded file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

WIDTH = 400
FONT = 13
SMALL = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing with its title and its content in words."""

    title: str
    description: str
    height: int
    body: tuple[str, ...]
    font_size: int = FONT

    def svg(self, name: str) -> str:
        """The whole element; `name` makes its ids unique on a page."""
        start = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" role="img" class="tf-figure" '
            f'aria-labelledby="{name}-title {name}-desc" fill="currentColor" '
            f'font-family="inherit" font-size="{self.font_size}">'
        )
        return "\n".join(
            [
                start,
                f'<title id="{name}-title">{escape(self.title)}</title>',
                f'<desc id="{name}-desc">{escape(self.description)}</desc>',
                *self.body,
                "</svg>",
            ]
        )


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())


HALO = ' stroke="var(--tf-page, #fff)" stroke-width="4" paint-order="stroke"'
"""A rim in the page's colour keeps words legible where a line crosses them."""


def text(
    x: float, y: float, content: str, *, size: int = FONT, halo: bool = False, **attributes: str
) -> str:
    """A line of text from its baseline; `halo` where lines cross it."""
    extra = _attributes(attributes) + (HALO if halo else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{extra}>{escape(content)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, **attributes: str) -> str:
    """A rectangle, never narrower than nothing."""
    extra = _attributes(attributes)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        f'fill="{fill}"{extra}/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, **attributes: str) -> str:
    """A straight line in the colour of the text."""
    extra = _attributes(attributes)
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="currentColor"{extra}/>'
    )
