"""Pictures of the accuracy page, drawn from the scores, in the style of the explanations."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from generator.accuracy.score import RowScore, percentile
from generator.core.units import GB
from generator.emit import svg
from generator.emit.svg import SMALL, WIDTH, Picture

METHOD_MARKS = (
    ("full", "Full", "var(--tf-activations, #c2610c)"),
    ("lora", "LoRA", "var(--tf-gradients, #3579b8)"),
    ("qlora", "QLoRA", "var(--tf-weights, #0f3560)"),
)
"""Methods are told apart by shape (circle, square, triangle) as well as colour."""
TICKS_GB = (2, 5, 10, 20, 50, 100)
CLIP = 0.5
"""Errors beyond this are drawn at the edge, with their number."""


def _mark(method: str, x: float, y: float, colour: str, label: str) -> str:
    title = f"<title>{escape(label)}</title>" if label else ""
    style = f'fill="{colour}" fill-opacity="0.55" stroke="{colour}" stroke-width="0.8"'
    if method == "full":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {style}>{title}</circle>'
    if method == "lora":
        left, top = x - 2.7, y - 2.7
        return f'<rect x="{left:.1f}" y="{top:.1f}" width="5.4" height="5.4" {style}>{title}</rect>'
    points = f"{x:.1f},{y - 3.6:.1f} {x + 3.3:.1f},{y + 2.4:.1f} {x - 3.3:.1f},{y + 2.4:.1f}"
    return f'<polygon points="{points}" {style}>{title}</polygon>'


def predicted_against_measured(rows: Sequence[RowScore]) -> Picture:
    """One mark per row on logarithmic axes, the line of equality, and 10 % to either side.

    Args:
        rows: Rows with an error.
    """
    left, right, top, bottom = 38.0, WIDTH - 8.0, 30.0, 384.0
    values = [
        (row, row.measured_bytes / GB, row.predicted_bytes / GB)
        for row in rows
        if row.measured_bytes and row.predicted_bytes
    ]
    lowest = min(min(x, y) for _, x, y in values) * 0.9
    highest = max(max(x, y) for _, x, y in values) * 1.1
    span = math.log(highest / lowest)

    def x_of(value: float) -> float:
        return left + (right - left) * math.log(value / lowest) / span

    def y_of(value: float) -> float:
        return bottom - (bottom - top) * math.log(value / lowest) / span

    body = [svg.text(0, 14, "Estimate, GB", size=SMALL)]
    for tick in TICKS_GB:
        if not lowest < tick < highest:
            continue
        x, y = x_of(tick), y_of(tick)
        body.append(svg.line(left, y, right, y, stroke_width="0.5", opacity="0.3"))
        body.append(svg.line(x, top, x, bottom, stroke_width="0.5", opacity="0.3"))
        body.append(svg.text(left - 6, y + 4, f"{tick}", size=SMALL, text_anchor="end"))
        body.append(svg.text(x, bottom + 17, f"{tick}", size=SMALL, text_anchor="middle"))
    body.append(
        svg.text((left + right) / 2, bottom + 36, "Reading, GB", size=SMALL, text_anchor="middle")
    )
    ends = (lowest, highest)
    body.append(svg.line(*(f(v) for v in ends for f in (x_of, y_of)), stroke_width="1"))
    for factor in (0.9, 1.1):
        low, high = max(lowest, lowest / factor), min(highest, highest / factor)
        body.append(
            svg.line(
                x_of(low), y_of(low * factor), x_of(high), y_of(high * factor),
                stroke_width="0.75", stroke_dasharray="4 3",
            )
        )  # fmt: skip
    for method, _, colour in METHOD_MARKS:
        for row, measured, predicted in values:
            if row.method.partition("+")[0] == method:
                label = f"{row.id}: {measured:.1f} GB read, {predicted:.1f} GB estimated"
                body.append(_mark(method, x_of(measured), y_of(predicted), colour, label))
    x = left + 8
    for method, name, colour in METHOD_MARKS:
        body.append(_mark(method, x, top + 10, colour, ""))
        body.append(svg.text(x + 9, top + 14, name, size=SMALL, halo=True))
        x += 26 + 7.5 * len(name)
    within = sum(abs(predicted / measured - 1) <= 0.1 for _, measured, predicted in values)
    return Picture(
        title="Estimate against reading",
        description=(
            f"{len(values)} readings on logarithmic axes. {within} of them lie within 10 % of the "
            "estimate, between the dashed lines; the solid line is equality."
        ),
        height=round(bottom + 46),
        body=tuple(body),
    )


def error_ranges(title: str, groups: Mapping[str, Sequence[float]]) -> Picture:
    """A row per group: the median, the middle 80 %, and every error as a tick.

    Args:
        title: What the groups are.
        groups: Signed errors by group.
    """
    left, right = 8.0, WIDTH - 8.0
    middle = (left + right) / 2

    def x_of(error: float) -> float:
        return middle + (right - middle) * max(-CLIP, min(CLIP, error)) / CLIP

    body: list[str] = []
    y = 14.0
    for tick in (-0.5, -0.25, 0.0, 0.25, 0.5):
        anchor = "start" if tick == -CLIP else "end" if tick == CLIP else "middle"
        body.append(
            svg.text(x_of(tick), y, f"{tick:+.0%}" if tick else "0", size=SMALL, text_anchor=anchor)
        )
    first = y + 6
    y += 26
    described: list[str] = []
    rows: list[str] = []
    for name, errors in groups.items():
        median = percentile(errors, 0.5)
        low, high = percentile(errors, 0.1), percentile(errors, 0.9)
        beyond = sum(abs(error) > CLIP for error in errors)
        count = f"{len(errors)}" + (f", {beyond} beyond the edge" if beyond else "")
        rows.append(svg.text(left, y, f"{name} ({count})", size=SMALL, halo=True))
        rows.append(
            svg.rect(
                x_of(low), y + 7, max(x_of(high) - x_of(low), 1.5), 9,
                "var(--tf-gradients, #3579b8)", fill_opacity="0.35",
            )
        )  # fmt: skip
        rows += [
            svg.line(x_of(error), y + 7, x_of(error), y + 16, stroke_width="0.6", opacity="0.45")
            for error in errors
        ]
        rows.append(svg.line(x_of(median), y + 5, x_of(median), y + 18, stroke_width="2.5"))
        described.append(
            f"{name}: median {median:+.1%}, 80 % of {len(errors)} from {low:+.1%} to {high:+.1%}"
        )
        y += 38
    last = y - 22
    for tick in (-0.25, 0.0, 0.25):
        width = "1" if tick == 0 else "0.5"
        body.append(
            svg.line(x_of(tick), first, x_of(tick), last, stroke_width=width, opacity="0.3")
        )
    return Picture(
        title=title,
        description=(
            "A row per group with a thick stroke at the median error, a bar over the middle 80 % "
            "and a thin stroke per reading; an error is estimate over reading, less one. "
            + "; ".join(described)
            + "."
        ),
        height=round(last + 6),
        body=(*body, *rows),
    )


def calculators_compared(pairs: Sequence[tuple[str, int, float, float]]) -> Picture:
    """Two bars per calculator: its median error and the estimate's on the same rows.

    Args:
        pairs: Name, rows, its median, the estimate's median.
    """
    scale = (WIDTH - 60) / max(max(theirs, 0.01) for _, _, theirs, _ in pairs)
    body: list[str] = []
    y = 14.0
    for name, count, theirs, ours in pairs:
        body.append(svg.text(0, y, f"{name} ({count})", size=SMALL))
        for offset, value, fill in (
            (6, theirs, "var(--tf-overhead, #8d9299)"),
            (17, ours, "var(--tf-gradients, #3579b8)"),
        ):
            body.append(svg.rect(0, y + offset, value * scale, 9, fill))
            body.append(svg.text(value * scale + 5, y + offset + 9, f"{value:.1%}", size=SMALL))
        y += 46
    body.append(svg.rect(0, y - 8, 12, 9, "var(--tf-overhead, #8d9299)"))
    body.append(svg.text(17, y, "the calculator", size=SMALL))
    body.append(svg.rect(130, y - 8, 12, 9, "var(--tf-gradients, #3579b8)"))
    body.append(svg.text(147, y, "this site, same rows", size=SMALL))
    described = "; ".join(
        f"{name}: {theirs:.1%} against {ours:.1%} on {count} rows"
        for name, count, theirs, ours in pairs
    )
    return Picture(
        title="Median error of other calculators and of this site",
        description=(
            f"Bars in per cent of the reading, on the rows that each can answer. {described}."
        ),
        height=round(y + 8),
        body=tuple(body),
    )
