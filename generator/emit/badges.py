"""Badges for model cards and READMEs: the smallest set-up of a model and method as a small SVG.

They need no script and no font of their own: text keeps its place through `textLength`, whatever
sans serif the reader has, and the signs are paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath

from generator.core.catalog import CatalogModel
from generator.emit.facts import ModelFacts
from generator.emit.redirects import addressable
from generator.tables.base import METHOD_NAMES, VERDICT_WORDS, Verdict
from generator.tables.fewest_gpus import SmallestSetup, smallest_setups
from generator.tables.view import ModelView

FOLDER = "api/v1/badges"
# White on each of them has at least 4.5:1.
LABEL_FILL = "#3c4149"
VERDICT_FILLS: dict[Verdict, str] = {"fits": "#00695a", "tight": "#7d5200", "no": "#ae1f38"}
SIGN_PATHS: dict[Verdict, str] = {
    "fits": "M1 6l3 3 5-7",
    "tight": "M1 4c2-2 4-2 4.5-1s2.5 1 4.5-1M1 8c2-2 4-2 4.5-1s2.5 1 4.5-1",
    "no": "M2 2l7 7M9 2l-7 7",
}
HEIGHT = 20
PADDING = 7
SIGN_WIDTH = 15
# Advance widths of Verdana at 11 px, which most sans serifs come close to; others get the mean.
WIDTHS = {
    **dict.fromkeys("ijlI.,:|'", 4.0),
    **dict.fromkeys("frt-()/ ", 4.7),
    **dict.fromkeys("mMW", 10.4),
    **dict.fromkeys("wNHOQUGD×", 8.7),
    **dict.fromkeys("ABCEFKLPRSTVXYZ", 7.5),
}
MEAN_WIDTH = 7.0

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" \
aria-label="{title}">
<title>{title}</title>
<rect width="{width}" height="{height}" rx="3" fill="{label_fill}"/>
<path d="M{split} 0h{rest}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{rest}z" fill="{fill}"/>
<path transform="translate({sign_x} 4.5)" d="{sign}" fill="none" stroke="#fff" \
stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>
<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
<text x="{label_x}" y="14" textLength="{label_width}">{label}</text>
<text x="{message_x}" y="14" textLength="{message_width}">{message}</text>
</g>
</svg>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """One badge: method, what it says of it, and the address that it leads to."""

    model: CatalogModel
    method: str
    verdict: Verdict
    message: str
    row_id: str

    @property
    def path(self) -> PurePosixPath:
        """The file below the site's root."""
        return PurePosixPath(FOLDER, self.model.id, f"{self.method}.svg")

    @property
    def width(self) -> int:
        """Pixels."""
        return _width(self._label) + _width(self._message) + SIGN_WIDTH + 4 * PADDING

    @property
    def _label(self) -> str:
        return METHOD_NAMES[self.method]

    @property
    def _message(self) -> str:
        return f"{VERDICT_WORDS[self.verdict]} {self.message}"

    @property
    def title(self) -> str:
        """All it says, in words: `QLoRA fits 1 × RTX 4090 24 GB`."""
        return f"{self._label} {self._message}"

    def svg(self) -> str:
        """The picture."""
        label_width = _width(self._label)
        split = label_width + 2 * PADDING
        return SVG.format(
            title=escape(self.title),
            width=self.width,
            height=HEIGHT,
            label_fill=LABEL_FILL,
            fill=VERDICT_FILLS[self.verdict],
            split=split,
            rest=self.width - split - 3,
            sign=SIGN_PATHS[self.verdict],
            sign_x=split + PADDING - 1,
            label=escape(self._label),
            label_x=PADDING,
            label_width=label_width,
            message=escape(self._message),
            message_x=split + PADDING + SIGN_WIDTH,
            message_width=_width(self._message),
        )

    def markdown(self, site_url: str) -> str:
        """What a README takes: the badge as a link to its row."""
        page = f"{site_url}models/{self.model.id}/"
        target = f"{page}#{self.row_id}" if self.row_id else page
        return f"[![{self.title}]({site_url}{self.path})]({target})"


def _width(text: str) -> int:
    return round(sum(WIDTHS.get(character, MEAN_WIDTH) for character in text))


def badge(model: CatalogModel, method: str, setup: SmallestSetup | None) -> Badge:
    """The badge of one model and method."""
    if setup is None:
        return Badge(
            model=model, method=method, verdict="no", message="on up to 64 GPUs", row_id=""
        )
    memory = setup.card.card.memory_marketed_gb
    return Badge(
        model=model,
        method=method,
        verdict="fits",
        message=f"{setup.cell.num_gpus} × {setup.card.name} {memory} GB",
        row_id=setup.row_id,
    )


def badges(facts: ModelFacts, view: ModelView) -> list[Badge]:
    """The badges of one model, in the order of the methods."""
    setups = smallest_setups(view, view.axes.default_optimizer)
    return [
        badge(facts.entry, method, setup)
        for method, setup in zip(view.axes.methods, setups, strict=True)
    ]


def files(facts: Mapping[str, ModelFacts], views: Mapping[str, ModelView]) -> dict[str, str]:
    """Every badge by its path below `docs/`, under former ids of the model too.

    A picture cannot be redirected by a static host, so a former address holds the same picture.
    """
    written = {}
    for model_id, view in views.items():
        names = [model_id, *addressable(facts[model_id].entry.aliases, present=views)]
        for each in badges(facts[model_id], view):
            for name in names:
                written[str(each.path.parent.parent / name / each.path.name)] = each.svg()
    return written
