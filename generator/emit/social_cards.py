"""Pictures that a link unfurls into: name, one verdict per method, a small grid.

One PNG of 1,200 x 630 for each model and card, and one for every other page, drawn at build with
Pillow and the font that Pillow carries (Aileron, CC0). The font lacks `✓`, `≈`, `✕` and `×`, so
these are drawn as strokes. Pixels are palette indices from the start: each pair of text and
background colour owns a ramp of shades, so nothing has to be quantised afterwards.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from PIL import Image, ImageDraw, ImageFont

from generator.emit.facts import ModelFacts
from generator.tables import card_models, fewest_gpus
from generator.tables.base import (
    METHOD_NAMES,
    STRATEGY_NAMES,
    Cell,
    Verdict,
    format_count,
    format_parameters,
)
from generator.tables.fewest_gpus import SmallestSetup
from generator.tables.reference_cards import ReferenceCard, reference_cards
from generator.tables.view import ModelView

FOLDER = "assets/generated/social"
DEFAULT = f"{FOLDER}/default.png"
SITE_NAME = "trainfit"
QUESTION = "Will the fine-tune fit?"
SIZE = (1200, 630)
MARGIN = 64
TITLE = 68
BOLD = 0.4
"""Width of the rim that makes a text of usual size bold: the font has one weight."""

Colour = tuple[int, int, int]
# The light scheme of docs/assets/stylesheets/trainfit.css, which a test holds equal.
PAGE: Colour = (0xFF, 0xFF, 0xFF)
TEXT: Colour = (0x1D, 0x20, 0x25)
MUTED: Colour = (0x5A, 0x5F, 0x66)
RULE: Colour = (0xD9, 0xDC, 0xE0)
VERDICT_COLOURS: dict[Verdict, Colour] = {
    "fits": (0x00, 0x69, 0x5A),
    "tight": (0x7D, 0x52, 0x00),
    "no": (0xAE, 0x1F, 0x38),
}
VERDICT_TINTS: dict[Verdict, Colour] = {
    "fits": (0xE2, 0xF3, 0xEE),
    "tight": (0xFB, 0xF0, 0xD9),
    "no": (0xFB, 0xE6, 0xE9),
}

PAIRS: tuple[tuple[Colour, Colour], ...] = (
    (TEXT, PAGE),
    (MUTED, PAGE),
    (RULE, PAGE),
    *((colour, PAGE) for colour in VERDICT_COLOURS.values()),
    *((VERDICT_COLOURS[verdict], VERDICT_TINTS[verdict]) for verdict in VERDICT_TINTS),
)
SHADES = 16
"""Steps from background to text colour of one pair."""
SCALE = 4
"""Signs are drawn this much larger and scaled down, which rounds their edges."""
STROKES: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    # Within the unit square, y downwards.
    "✓": (((0.10, 0.55), (0.40, 0.85), (0.92, 0.18)),),
    "≈": (
        ((0.05, 0.42), (0.20, 0.28), (0.38, 0.30), (0.62, 0.42), (0.80, 0.44), (0.95, 0.30)),
        ((0.05, 0.72), (0.20, 0.58), (0.38, 0.60), (0.62, 0.72), (0.80, 0.74), (0.95, 0.60)),
    ),
    "✕": (((0.15, 0.15), (0.85, 0.85)), ((0.85, 0.15), (0.15, 0.85))),
    "×": (((0.22, 0.40), (0.78, 0.96)), ((0.78, 0.40), (0.22, 0.96))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One method's verdict in words."""

    method: str
    verdict: Verdict
    answer: str
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A small table: a caption, column heads, and per row a label and (text, verdict) cells."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, Verdict] | None, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SocialCard:
    """What one picture says."""

    title: str
    subtitle: str
    lines: tuple[Line, ...]
    grid: Grid | None
    footer: str


def _blend(front: Colour, back: Colour, share: float) -> Colour:
    red, green, blue = (round(b + (f - b) * share) for f, b in zip(front, back, strict=True))
    return red, green, blue


def _palette() -> bytes:
    return bytes(
        value
        for front, back in PAIRS
        for step in range(SHADES)
        for value in _blend(front, back, step / (SHADES - 1))
    )


PALETTE = _palette()
# By pair, the palette index of each of 256 coverages.
RAMPS = {
    pair: [index * SHADES + round(level * (SHADES - 1) / 255) for level in range(256)]
    for index, pair in enumerate(PAIRS)
}
IS_INK = [255 if level >= 255 // SHADES else 0 for level in range(256)]


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(size))


def _glyphs(text: str, size: int, weight: float) -> Image.Image:
    """Coverage of a text that the font has, as wide as its advance."""
    font = _font(size)
    mask = Image.new("L", (round(font.getlength(text) + 2 * weight) + 2, round(size * 1.3)), 0)
    ImageDraw.Draw(mask).text((weight, 0), text, fill=255, font=font, stroke_width=weight)
    return mask


def _sign(sign: str, size: int) -> Image.Image:
    """Coverage of a sign that the font lacks, on the line of a text of this size."""
    height = round(size * 1.3)
    mask = Image.new("L", (size * SCALE, height * SCALE), 0)
    draw = ImageDraw.Draw(mask)
    edge, top = size * SCALE * 0.72, size * SCALE * 0.24
    left = (size * SCALE - edge) / 2
    pen = max(round(size * SCALE * 0.11), 1)
    for stroke in STROKES[sign]:
        points = [(left + x * edge, top + y * edge) for x, y in stroke]
        draw.line(points, fill=255, width=pen, joint="curve")
        for x, y in (points[0], points[-1]):
            draw.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    return mask.resize((size, height), Image.Resampling.BOX)


@lru_cache(maxsize=4096)
def _inked(
    piece: str, size: int, weight: float, pair: tuple[Colour, Colour]
) -> tuple[Image.Image, Image.Image]:
    """Palette indices of a piece of text, and which of its pixels are covered at all."""
    mask = _sign(piece, size) if piece in STROKES else _glyphs(piece, size, weight)
    # Without its empty rim a piece leaves its neighbour alone.
    return mask.point(RAMPS[pair]), mask.point(IS_INK, "1")


def _pieces(text: str) -> list[str]:
    """Runs of characters that the font has, and single signs between them."""
    pieces = [""]
    for character in text:
        if character in STROKES:
            pieces += [character, ""]
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece]


@lru_cache(maxsize=4096)
def _piece_width(piece: str, size: int, weight: float) -> float:
    if piece in STROKES:
        return size * 0.9
    return _font(size).getlength(piece) + weight


class _Canvas:
    """A picture of palette indices."""

    def __init__(self) -> None:
        self.image = Image.new("P", SIZE, RAMPS[TEXT, PAGE][0])
        self.image.putpalette(PALETTE)
        self._draw = ImageDraw.Draw(self.image)

    def width(self, text: str, size: int, weight: float = 0) -> int:
        return round(sum(_piece_width(piece, size, weight) for piece in _pieces(text)))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int,
        front: Colour = TEXT,
        back: Colour = PAGE,
        weight: float = 0,
        align: float = 0,
    ) -> None:
        """A line of text with its top at `y`; `align` is 0 left, 0.5 centred, 1 right of `x`."""
        x -= align * self.width(text, size, weight)
        for piece in _pieces(text):
            index, ink = _inked(piece, size, weight, (front, back))
            self.image.paste(index, (round(x), round(y)), ink)
            x += _piece_width(piece, size, weight)

    def rectangle(self, box: tuple[float, float, float, float], colour: Colour) -> None:
        index = next(
            RAMPS[front, back][255 if front == colour else 0]
            for front, back in PAIRS
            if colour in (front, back)
        )
        self._draw.rectangle(box, fill=index)

    def png(self) -> bytes:
        out = io.BytesIO()
        self.image.save(out, "PNG", compress_level=6)
        return out.getvalue()


def _fitting(canvas: _Canvas, text: str, size: int, room: float, weight: float = 0) -> int:
    """The largest size up to `size` at which a text takes no more than `room`."""
    while size > 16 and canvas.width(text, size, weight) > room:
        size -= 2
    return size


def draw(card: SocialCard) -> bytes:
    """The picture as PNG."""
    canvas = _Canvas()
    room = SIZE[0] - 2 * MARGIN
    size = _fitting(canvas, card.title, TITLE, room, weight=1)
    canvas.text(MARGIN, 40 + (TITLE - size) * 0.9, card.title, size=size, weight=1)
    canvas.text(
        MARGIN,
        128,
        card.subtitle,
        size=_fitting(canvas, card.subtitle, 27, room),
        front=MUTED,
    )
    y = 184.0
    for line in card.lines:
        canvas.rectangle((MARGIN, y, SIZE[0] - MARGIN, y + 1), RULE)
        _draw_line(canvas, line, y + 12)
        y += 60
    if card.lines:
        canvas.rectangle((MARGIN, y, SIZE[0] - MARGIN, y + 1), RULE)
    if card.grid:
        _draw_grid(canvas, card.grid, y + 20)
    canvas.text(MARGIN, 577, SITE_NAME, size=25, weight=BOLD)
    canvas.text(SIZE[0] - MARGIN, 579, card.footer, size=21, front=MUTED, align=1)
    return canvas.png()


def _draw_line(canvas: _Canvas, line: Line, y: float) -> None:
    colour = VERDICT_COLOURS[line.verdict]
    canvas.text(MARGIN, y, METHOD_NAMES[line.method], size=29)
    word = {"fits": "✓ fits", "tight": "≈ tight", "no": "✕ does not fit"}[line.verdict]
    canvas.text(SIZE[0] - MARGIN, y, word, size=29, front=colour, weight=BOLD, align=1)
    end = SIZE[0] - MARGIN - canvas.width(word, 29, BOLD) - 28
    if line.figure:
        canvas.text(end, y + 3, line.figure, size=25, front=MUTED, align=1)
        end -= canvas.width(line.figure, 25) + 24
    start = MARGIN + 236
    size = _fitting(canvas, line.answer, 29, end - start)
    canvas.text(start, y + (29 - size), line.answer, size=size)


def _draw_grid(canvas: _Canvas, grid: Grid, y: float) -> None:
    canvas.text(MARGIN, y, grid.caption, size=20, front=MUTED)
    y += 28
    left = MARGIN + 236
    width = (SIZE[0] - MARGIN - left) / len(grid.heads)
    for index, head in enumerate(grid.heads):
        canvas.text(left + (index + 0.5) * width, y, head, size=20, front=MUTED, align=0.5)
    y += 28
    for label, cells in grid.rows:
        canvas.text(MARGIN, y + 3, label, size=21)
        for index, cell in enumerate(cells):
            x = left + index * width
            if cell is None:
                continue
            text, verdict = cell
            front, back = VERDICT_COLOURS[verdict], VERDICT_TINTS[verdict]
            canvas.rectangle((x + 2, y, x + width - 2, y + 31), back)
            size = _fitting(canvas, text, 21, width - 10)
            canvas.text(
                x + width / 2,
                y + 3 + (21 - size) / 2,
                text,
                size=size,
                front=front,
                back=back,
                align=0.5,
            )
        y += 36


def _answer(setup: SmallestSetup) -> str:
    strategy = "" if setup.cell.num_gpus == 1 else f", {STRATEGY_NAMES[setup.cell.strategy]}"
    memory = setup.card.card.memory_marketed_gb
    return f"{setup.cell.num_gpus} × {setup.card.name} {memory} GB{strategy}"


def _model_line(method: str, setup: SmallestSetup | None) -> Line:
    if setup is None:
        return Line(method=method, verdict="no", answer="on up to 64 GPUs of any size", figure="")
    return Line(
        method=method,
        verdict="fits",
        answer=_answer(setup),
        figure=f"{setup.cell.gb} GB each" if setup.cell.num_gpus > 1 else f"{setup.cell.gb} GB",
    )


def _count(cell: Cell | None) -> tuple[str, Verdict] | None:
    """The fewest GPUs, or the sign that none do."""
    if cell is None:
        return None
    return ("✕" if cell.verdict == "no" else str(cell.num_gpus), cell.verdict)


def model_card(facts: ModelFacts, view: ModelView) -> SocialCard:
    """What a link to a model's page shows."""
    optimizer = view.axes.default_optimizer
    setups = fewest_gpus.smallest_setups(view, optimizer)
    references = reference_cards(view.axes.cards)
    rows = tuple(
        (
            METHOD_NAMES[method],
            tuple(
                _count(
                    fewest_gpus.fewest(
                        view, method=method, optimizer=optimizer, card=card.index, workload=0
                    )
                )
                for card in references
            ),
        )
        for method in view.axes.methods
    )
    tokens = format_count(view.axes.workloads[0].workload.sequence_length)
    return SocialCard(
        title=facts.entry.name,
        subtitle=" · ".join(
            [
                f"{format_parameters(facts.num_parameters)} parameters",
                facts.entry.developer,
                "GPU memory to fine-tune",
            ]
        ),
        lines=tuple(
            _model_line(method, setup)
            for method, setup in zip(view.axes.methods, setups, strict=True)
        ),
        grid=Grid(
            caption="Fewest GPUs, by memory of the card in GB",
            heads=tuple(str(card.card.memory_marketed_gb) for card in references),
            rows=rows,
        ),
        footer=f"{tokens} tokens, micro-batch 1, full checkpointing, AdamW",
    )


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' if count > 1 else ''}"


def card_card(
    card: ReferenceCard,
    *,
    rows: Sequence[card_models.ModelRow],
    counts: Sequence[int],
    facts: Mapping[str, ModelFacts],
    methods: Sequence[str],
    num_tokens: int,
) -> SocialCard:
    """What a link to a card's page shows."""
    lines = []
    grid_rows = []
    for position, method in enumerate(methods):
        fitting = [
            [row for row in rows if row.cells[position][column].verdict == "fits"]
            for column in range(len(counts))
        ]
        largest = max(fitting[0], key=lambda row: facts[row.model_id].num_parameters, default=None)
        lines.append(
            Line(method=method, verdict="no", answer="no model of the catalog", figure="")
            if largest is None
            else Line(
                method=method,
                verdict="fits",
                answer=f"up to {facts[largest.model_id].entry.name} on {_gpus(counts[0])}",
                figure=f"{largest.cells[position][0].gb} GB",
            )
        )
        cells: tuple[tuple[str, Verdict] | None, ...] = tuple(
            (f"{len(each)} of {len(rows)}" if each else "✕", "fits" if each else "no")
            for each in fitting
        )
        grid_rows.append((METHOD_NAMES[method], cells))
    usable = card.card.memory_usable_bytes
    memory = f"{card.card.memory_marketed_gb} GB marketed" + (
        f", {usable / 10**9:.1f} GB usable" if usable else ""
    )
    return SocialCard(
        title=card.full_name,
        subtitle=f"{memory} · what it can fine-tune",
        lines=tuple(lines),
        grid=Grid(
            caption="Models that fit, by number of cards",
            heads=tuple(map(_gpus, counts)),
            rows=tuple(grid_rows),
        ),
        footer=f"{format_count(num_tokens)} tokens, micro-batch 1, full checkpointing, AdamW",
    )


def default_card(example: SocialCard | None, *, num_models: int, num_cards: int) -> SocialCard:
    """What a link to any other page shows: the question and one answered example."""
    return SocialCard(
        title=QUESTION,
        subtitle=f"GPU memory for full fine-tuning, LoRA and QLoRA · {num_models} models · "
        f"{num_cards} cards" + (f" · here {example.title}" if example else ""),
        lines=example.lines if example else (),
        grid=example.grid if example else None,
        footer=example.footer if example else "",
    )


EXAMPLE_MODEL = "llama-3.1-8b"


def files(facts: Mapping[str, ModelFacts], views: Mapping[str, ModelView]) -> dict[str, bytes]:
    """Every picture by its path below `docs/`."""
    axes = next(iter(views.values())).axes
    models = {model_id: model_card(facts[model_id], view) for model_id, view in views.items()}
    written = {f"{FOLDER}/models/{model_id}.png": draw(card) for model_id, card in models.items()}
    for index, card in enumerate(axes.cards):
        counts = card_models.gpu_counts(card.allowed_gpu_counts)
        rows = card_models.build(views, card=index, optimizer=axes.default_optimizer, counts=counts)
        written[f"{FOLDER}/cards/{card.id}.png"] = draw(
            card_card(
                ReferenceCard(index=index, card=card),
                rows=rows,
                counts=counts,
                facts=facts,
                methods=axes.methods,
                num_tokens=axes.workloads[0].workload.sequence_length,
            )
        )
    written[DEFAULT] = draw(
        default_card(models.get(EXAMPLE_MODEL), num_models=len(models), num_cards=len(axes.cards))
    )
    return written
