"""Pictures of the explanation pages, drawn from the core's numbers as small SVG files.

Each picture is a function without arguments; the same input gives the same bytes. Colours are the
style sheet's variables with a fallback, so that an inlined picture follows the page and a
downloaded one still has colours. Every picture has a title and a description that holds its figures
in words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from generator.core.fit import FIT_PERCENT
from generator.core.units import GB, GIB
from generator.emit import svg
from generator.emit.svg import SMALL, WIDTH, Picture

LINE_COLOURS = {
    "weights": ("Weights", "#0f3560"),
    "master_weights": ("FP32 master", "#1c5791"),
    "gradients": ("Gradients", "#3579b8"),
    "optimizer_states": ("Optimizer states", "#5f98cd"),
    "activations": ("Activations and loss", "#c2610c"),
    "buffers": ("Buffers", "#6b7076"),
    "overhead": ("Overhead", "#8d9299"),
}
STATIC_LINES = ("weights", "master_weights", "gradients", "optimizer_states")
Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: a label, its parts as (line, value), and words behind its end."""

    label: str
    parts: tuple[tuple[str, float], ...]
    note: str

    @property
    def total(self) -> float:
        """Sum of the parts."""
        return sum(value for _, value in self.parts)


def _colour(line: str) -> str:
    return f"var(--tf-{line}, {LINE_COLOURS[line][1]})"


def _legend(lines: Sequence[str], y: float) -> tuple[list[str], float]:
    """Swatches with words, in rows; the height that they took."""
    body: list[str] = []
    x = 0.0
    for line in lines:
        label = LINE_COLOURS[line][0]
        width = 28 + 7.2 * len(label)
        if x + width > WIDTH:
            x = 0.0
            y += 20
        body += [svg.rect(x, y - 10, 12, 12, _colour(line)), svg.text(x + 17, y, label, size=SMALL)]
        x += width
    return body, y


def _parts_in_words(bar: Bar) -> str:
    named = [f"{LINE_COLOURS[line][0].lower()} {value:,.4g}" for line, value in bar.parts if value]
    return f" ({', '.join(named)})"


def stacked_bars(
    *,
    title: str,
    unit: str,
    bars: Sequence[Bar],
    limit: tuple[float, str] | None = None,
    legend: bool = True,
) -> Picture:
    """Horizontal stacked bars on one scale, each under its label, with an optional limit line.

    Args:
        title: What is shown, without the unit.
        unit: Unit of the values, in words.
        bars: Top to bottom.
        limit: A value and its label, drawn as a line across all bars.
        legend: Whether the colours stand for lines of an estimate.
    """
    note_width = 8.4 * max(len(bar.note) for bar in bars) + 6
    longest = max([bar.total for bar in bars] + ([limit[0]] if limit else []))
    scale = (WIDTH - note_width) / longest
    used = [line for line in LINE_COLOURS if any(dict(bar.parts).get(line) for bar in bars)]
    body: list[str] = []
    y = 26.0
    if limit:
        y += 18
    first = y - 14
    if limit:
        value, label = limit
        x = value * scale
        last = y + 48 * len(bars) - 20
        body.append(svg.line(x, first, x, last, stroke_width="1.5", stroke_dasharray="4 3"))
        anchor = "end" if x > WIDTH * 0.6 else "start"
        body.append(svg.text(x, first - 5, label, size=SMALL, text_anchor=anchor))
    for bar in bars:
        body.append(svg.text(0, y, bar.label, halo=True))
        x = 0.0
        for line, value in bar.parts:
            if value:
                body.append(
                    svg.rect(
                        x, y + 6, value * scale, 18, _colour(line),
                        stroke="var(--tf-page, #fff)", stroke_width="0.75",
                    )
                )  # fmt: skip
                x += value * scale
        body.append(svg.text(x + 6, y + 20, bar.note, font_weight="600", halo=True))
        y += 48
    if legend:
        swatches, y = _legend(used, y)
        body += swatches
    else:
        y -= 22
    described = "; ".join(
        f"{bar.label}: {bar.note}" + (_parts_in_words(bar) if legend else "") for bar in bars
    )
    limit_words = f" A line marks {limit[1]}." if limit else ""
    return Picture(
        title=title,
        description=f"Stacked bars in {unit}. {described}.{limit_words}",
        height=round(y + 12),
        body=tuple(body),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line of a plot, told apart by label, dash and colour."""

    label: str
    points: tuple[tuple[float, float], ...]
    colour: str
    dash: str = ""
    label_dy: float = 0


def curves(
    *,
    title: str,
    x_label: str,
    y_label: str,
    lines: Sequence[Curve],
    limits: Sequence[tuple[float, str]] = (),
    x_words: Callable[[float], str] = lambda value: f"{value:,.0f}",
) -> Picture:
    """Lines over a doubling x axis, each labelled at its end, with horizontal limits."""
    left, right, top, bottom = 34.0, WIDTH - 96.0, 34.0, 230.0
    xs = sorted({x for line in lines for x, _ in line.points})
    highest = max([y for line in lines for _, y in line.points] + [value for value, _ in limits])
    step = next(
        size
        for size in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
        if highest / size <= 6
    )
    top_value = step * -(-highest // step)

    def x_of(value: float) -> float:
        return left + (right - left) * xs.index(value) / (len(xs) - 1)

    def y_of(value: float) -> float:
        return bottom - (bottom - top) * value / top_value

    body = [svg.text(0, 14, y_label, size=SMALL)]
    for index in range(round(top_value / step) + 1):
        y = y_of(index * step)
        body.append(svg.line(left, y, right, y, stroke_width="0.5", opacity="0.35"))
        tick = f"{index * step:,.{0 if step >= 1 else 1}f}"
        body.append(svg.text(left - 6, y + 4, tick, size=SMALL, text_anchor="end"))
    for index, x in enumerate(xs):
        # Every second tick label is left out where they would touch.
        if len(xs) <= 6 or index % 2 == 0:
            body.append(
                svg.text(x_of(x), bottom + 18, x_words(x), size=SMALL, text_anchor="middle")
            )
    body.append(
        svg.text((left + right) / 2, bottom + 38, x_label, size=SMALL, text_anchor="middle")
    )
    for value, label in limits:
        y = y_of(value)
        body.append(svg.line(left, y, right, y, stroke_width="1.5", stroke_dasharray="4 3"))
        body.append(svg.text(left + 4, y - 5, label, size=SMALL))
    for line in lines:
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line.points)
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{line.colour}" '
            f'stroke-width="2.5"{dash}/>'
        )
        x, y = line.points[-1]
        body.append(svg.text(x_of(x) + 6, y_of(y) + 4 + line.label_dy, line.label, size=SMALL))
    described = "; ".join(
        f"{line.label}: " + ", ".join(f"{y:,.4g} at {x_words(x)}" for x, y in line.points)
        for line in lines
    )
    limit_words = "".join(f" A line marks {label}." for _, label in limits)
    return Picture(
        title=title,
        description=f"{y_label} against {x_label}. {described}.{limit_words}",
        height=round(bottom + 48),
        body=tuple(body),
    )


# Requests


def _estimate(**request: Any) -> Result:
    # Imported here because the macros of these pages import this module.
    from generator import macros

    return macros.estimate(**request)


def _fact(path: str) -> Any:
    from generator import macros

    return macros.fact(path)


def _gb(value: float) -> str:
    """A bar's total: one decimal below 100 GB unless it is zero."""
    text = f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    return f"{text.removesuffix('.0')} GB"


def _bar(label: str, result: Result, *, lines: Sequence[str] = tuple(LINE_COLOURS)) -> Bar:
    per_gpu = result["per_gpu"]
    parts = tuple((line, per_gpu[line] / GB) for line in lines)
    total = sum(value for _, value in parts)
    return Bar(label=label, parts=parts, note=_gb(total))


def _per_parameter(label: str, result: Result) -> Bar:
    per_gpu = result["per_gpu"]
    parts = tuple((line, per_gpu[line] / result["num_parameters"]) for line in STATIC_LINES)
    total = sum(value for _, value in parts)
    return Bar(label=label, parts=parts, note=f"{total:.2f}".rstrip("0").rstrip(".") + " B")


# Pictures


def _optimizers() -> Picture:
    rows = [
        ("AdamW", "adamw", "bf16-mixed"),
        ("AdamW 8-bit, master kept", "adamw-8bit", "bf16-mixed"),
        ("AdamW 8-bit, no master", "adamw-8bit", "bf16-pure"),
        ("Lion", "lion", "bf16-mixed"),
        ("SGD with momentum", "sgd-momentum", "bf16-mixed"),
        ("Adafactor", "adafactor", "bf16-mixed"),
        ("SGD", "sgd", "bf16-mixed"),
    ]
    bars = [
        _per_parameter(
            label, _estimate(model="llama-3.1-8b", optimizer=optimizer, precision=precision)
        )
        for label, optimizer, precision in rows
    ]
    return stacked_bars(
        title="Static bytes per trained parameter, full fine-tune of Llama 3.1 8B",
        unit="bytes per parameter",
        bars=bars,
    )


def _thirteen_billion() -> Picture:
    rows = [("DDP", "ddp"), ("ZeRO-1", "zero-1"), ("ZeRO-2", "zero-2"), ("ZeRO-3, FSDP", "zero-3")]
    bars = [
        _bar(
            label,
            _estimate(model=13_000_000_000, strategy=strategy, num_gpus=4),
            lines=STATIC_LINES,
        )
        for label, strategy in rows
    ]
    return stacked_bars(
        title="Static state per GPU, 13 billion parameters on 4 GPUs",
        unit="GB per GPU",
        bars=bars,
        limit=(80.0, "80 GB card"),
    )


def _lora_and_qlora() -> Picture:
    bars = [
        _bar(label, _estimate(model="llama-3.1-8b", method=method))
        for label, method in (("Full fine-tune", "full"), ("LoRA", "lora"), ("QLoRA", "qlora"))
    ]
    return stacked_bars(
        title="One GPU, Llama 3.1 8B, 2,048 tokens",
        unit="GB per GPU",
        bars=bars,
        limit=(24.0, "24 GB card"),
    )


def _precision() -> Picture:
    rows = [
        ("bf16-mixed (default)", "bf16-mixed", "adamw"),
        ("amp", "amp", "adamw"),
        ("fp32", "fp32", "adamw"),
        ("bf16-pure", "bf16-pure", "adamw"),
        ("bf16-pure, 8-bit AdamW", "bf16-pure", "adamw-8bit"),
    ]
    bars = [
        _per_parameter(
            label, _estimate(model="llama-3.1-8b", precision=precision, optimizer=optimizer)
        )
        for label, precision, optimizer in rows
    ]
    return stacked_bars(
        title="Static bytes per parameter by precision recipe, full fine-tune",
        unit="bytes per parameter",
        bars=bars,
    )


def _activations() -> Picture:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("Eager attention, all kept", {"attention": "eager", "activation_checkpointing": "none"}),
        ("FlashAttention, all kept", {"activation_checkpointing": "none"}),
        ("Selective checkpointing", {"activation_checkpointing": "selective"}),
        ("Full checkpointing", {}),
        ("Full, half the tokens", {"sequence_length": 4096}),
    ]
    bars = [
        _bar(
            label,
            _estimate(
                **{"model": "llama-3.1-8b", "sequence_length": 8192, "loss": "fused", **change}
            ),
            lines=("activations",),
        )
        for label, change in rows
    ]
    return stacked_bars(
        title="Activations of one micro-batch, Llama 3.1 8B, 8,192 tokens, fused loss",
        unit="GB per GPU",
        bars=bars,
    )


def _loss() -> Picture:
    lengths = [2048, 4096, 8192, 16384, 32768]
    lines = []
    for label, loss, colour, dash, dy in (
        ("standard", "standard", "var(--tf-activations, #c2610c)", "", 0.0),
        ("chunked, fused", "fused", "var(--tf-gradients, #3579b8)", "7 4", 0.0),
    ):
        points = tuple(
            (
                float(length),
                _estimate(model="llama-3.1-8b", method="qlora", sequence_length=length, loss=loss)[
                    "per_gpu"
                ]["total"]
                / GB,
            )
            for length in lengths
        )
        lines.append(Curve(label=label, points=points, colour=colour, dash=dash, label_dy=dy))
    return curves(
        title="QLoRA of Llama 3.1 8B: total memory against sequence length, by loss",
        x_label="tokens, micro-batch 1",
        y_label="GB per GPU",
        lines=lines,
        limits=((24.0, "24 GB card"),),
    )


def _communication() -> Picture:
    rows = [("DDP", "ddp"), ("ZeRO-1, ZeRO-2", "zero-1"), ("ZeRO-3, FSDP", "zero-3")]
    bars = []
    for label, strategy in rows:
        result = _estimate(
            model=13_000_000_000, strategy=strategy, num_gpus=4, gradient_accumulation_steps=1
        )
        total = result["communication"]["bytes_sent_per_gpu_per_step"] / GB
        gathers = {"ddp": 0.0, "zero-1": total / 2, "zero-3": total * 2 / 3}[strategy]
        bars.append(
            Bar(
                label=label,
                parts=(("weights", gathers), ("gradients", total - gathers)),
                note=_gb(total),
            )
        )
    return stacked_bars(
        title="Sent per GPU and step, 13 billion parameters in bf16 on 4 GPUs",
        unit="GB per GPU and step",
        bars=bars,
    )


def _sharding() -> Picture:
    """Which quarter of which tensor each of four GPUs holds, per strategy."""
    rows = [("DDP", 0), ("ZeRO-1", 1), ("ZeRO-2", 2), ("ZeRO-3, FSDP", 3)]
    tensors = [
        ("weights", 3),
        ("gradients", 2),
        ("master_weights", 1),
        ("optimizer_states", 1),
        ("activations", 9),
    ]
    gpu_width, step, cell_height = 71.0, 75.0, 9.0
    left = 102.0
    middle = left + gpu_width / 2
    body = [
        svg.text(middle + step * gpu, 14, f"GPU {gpu}", size=SMALL, text_anchor="middle")
        for gpu in range(4)
    ]
    y = 24.0
    for label, stage in rows:
        body.append(svg.text(0, y + 26, label))
        for gpu in range(4):
            x = left + gpu * step
            for index, (line, from_stage) in enumerate(tensors):
                top = y + index * (cell_height + 2)
                colour = _colour(line)
                body.append(svg.rect(x, top, gpu_width, cell_height, "none", stroke=colour))
                if stage >= from_stage:
                    quarter = gpu_width / 4
                    body.append(svg.rect(x + gpu * quarter, top, quarter, cell_height, colour))
                else:
                    body.append(svg.rect(x, top, gpu_width, cell_height, colour))
        y += 68
    swatches, y = _legend([line for line, _ in tensors], y + 8)
    return Picture(
        title="What each of four GPUs holds",
        description=(
            "Filled is held, empty is held by another GPU. Under DDP every GPU holds all weights, "
            "gradients, master weights and optimizer states. Under ZeRO-1 each holds a quarter of "
            "the master weights and optimizer states, under ZeRO-2 also of the gradients, "
            "under ZeRO-3 and FSDP also a quarter of the weights. Activations are each GPU's own "
            "throughout."
        ),
        height=round(y + 12),
        body=(*body, *swatches),
    )


def _units() -> Picture:
    card = "h100-sxm-80gb"
    marketed = _fact(f"cards.{card}.memory_marketed_bytes")
    usable = _fact(f"cards.{card}.memory_usable_bytes")
    fits = marketed * FIT_PERCENT // 100
    rows = [
        ("Largest total that fits", fits),
        ("Marketed: 80 GB", marketed),
        ("What the driver offers", usable),
        ("What the chips hold: 80 GiB", 80 * GIB),
    ]
    bars = [
        Bar(
            label=label,
            parts=(("gradients", value / GB),),
            note=f"{value / GB:,.1f} GB = {value / GIB:,.1f} GiB",
        )
        for label, value in rows
    ]
    return stacked_bars(title="One 80 GB card, four sizes", unit="GB", bars=bars, legend=False)


def _box(x: float, y: float, width: float, height: float, label: str, colour: str) -> list[str]:
    rim = {"fill_opacity": "0.14", "stroke": colour, "stroke_width": "1.5", "rx": "4"}
    return [svg.rect(x, y, width, height, colour, **rim), svg.text(x + 10, y + 19, label)]


def _allocated_reserved() -> Picture:
    body = [
        *_box(1, 4, 398, 200, "nvidia-smi: everything on the card", "var(--tf-overhead, #8d9299)"),
        *_box(11, 34, 276, 160, "reserved by PyTorch", "var(--tf-gradients, #3579b8)"),
        *_box(21, 64, 162, 120, "allocated: tensors", "var(--tf-activations, #c2610c)"),
        svg.text(32, 108, "weights, gradients,", size=SMALL),
        svg.text(32, 125, "states, activations,", size=SMALL),
        svg.text(32, 142, "logits", size=SMALL),
        svg.text(192, 100, "freed blocks,", size=SMALL),
        svg.text(192, 117, "kept for reuse,", size=SMALL),
        svg.text(192, 134, "and gaps", size=SMALL),
        svg.text(296, 84, "CUDA context,", size=SMALL),
        svg.text(296, 101, "kernels,", size=SMALL),
        svg.text(296, 118, "NCCL,", size=SMALL),
        svg.text(296, 135, "other", size=SMALL),
        svg.text(296, 152, "processes", size=SMALL),
    ]
    return Picture(
        title="Allocated inside reserved inside what nvidia-smi shows",
        description=(
            "Three nested boxes. The innermost, allocated, holds the live tensors. Reserved adds "
            "freed blocks that PyTorch keeps and the gaps between them. nvidia-smi adds the CUDA "
            "context, kernels, NCCL and other processes."
        ),
        height=210,
        body=tuple(body),
    )


def _out_of_memory() -> Picture:
    result = _estimate(
        model="llama-3.1-8b",
        method="lora",
        sequence_length=8192,
        stack="hf-trainer",
        activation_checkpointing="full",
    )
    names = {
        "forward": "End of forward",
        "loss": "At the loss",
        "backward": "In backward",
        "step": "At the optimizer step",
    }
    bars = []
    for phase in result["phases"]:
        lines = phase["lines"]
        parts = tuple((line, lines[line] / GB) for line in LINE_COLOURS)
        bars.append(Bar(label=names[phase["phase"]], parts=parts, note=_gb(phase["total"] / GB)))
    return stacked_bars(
        title="One step of LoRA on Llama 3.1 8B, 8,192 tokens, Hugging Face Trainer",
        unit="GB per GPU",
        bars=bars,
    )


def _not_modelled() -> Picture:
    inside = "var(--tf-gradients, #3579b8)"
    outside = "var(--tf-overhead, #8d9299)"
    body = [
        *_box(1, 4, 194, 196, "GPU: estimated", inside),
        *(
            svg.text(12, 50 + 19 * row, words, size=SMALL)
            for row, words in enumerate(
                (
                    "one supervised step,",
                    "from the second on:",
                    "weights, gradients, states,",
                    "activations, logits,",
                    "buffers and overhead of",
                    "data parallel strategies",
                )
            )
        ),
        *_box(205, 4, 194, 104, "GPU: not estimated", outside),
        svg.text(216, 48, "loading, evaluation,", size=SMALL),
        svg.text(216, 66, "saving, reference", size=SMALL),
        svg.text(216, 84, "models, vLLM", size=SMALL),
        *_box(205, 118, 92, 82, "Host", outside),
        svg.text(216, 160, "offload,", size=SMALL),
        svg.text(216, 178, "paging", size=SMALL),
        *_box(307, 118, 92, 82, "Disk", outside),
        svg.text(318, 160, "NVMe,", size=SMALL),
        svg.text(318, 178, "checkpoints", size=SMALL),
    ]
    return Picture(
        title="Inside and outside the estimate",
        description=(
            "Inside: one supervised step on the GPU from the second step on, with weights, "
            "gradients, states, activations, logits, buffers and overhead of data parallel "
            "strategies. Outside: loading, evaluation, saving, reference models and generation "
            "engines on the GPU; offload and paging to the host; NVMe offload and checkpoints on "
            "disk."
        ),
        height=206,
        body=tuple(body),
    )


def _glossary() -> Picture:
    result = _estimate(model="llama-3.1-8b", strategy="ddp", num_gpus=2)
    return stacked_bars(
        title="The lines of an estimate: Llama 3.1 8B, full fine-tune, DDP",
        unit="GB per GPU",
        bars=[_bar("Total per GPU", result)],
    )


def _time_and_cost() -> Picture:
    rows = [("h100-sxm-80gb", "H100 SXM", 12.0), ("a100-sxm-80gb", "A100 SXM", -8.0)]
    lines = []
    for (card, label, label_dy), colour, dash in zip(
        rows,
        ("var(--tf-gradients, #3579b8)", "var(--tf-activations, #c2610c)"),
        ("", "7 4"),
        strict=True,
    ):
        points = []
        for num_gpus in (4, 8, 16, 32, 64):
            result = _estimate(
                model="llama-3.1-8b",
                strategy="zero-3",
                num_gpus=num_gpus,
                card=card,
                sequence_length=4096,
            )
            points.append((float(num_gpus), float(result["throughput"]["cost"]["hours"])))
        lines.append(
            Curve(
                label=label,
                points=tuple(points),
                colour=colour,
                dash=dash,
                label_dy=label_dy,
            )
        )
    return curves(
        title="Full fine-tune of Llama 3.1 8B, ZeRO-3: hours for 100 million tokens",
        x_label="GPUs",
        y_label="hours",
        lines=lines,
    )


FIGURES: dict[str, Callable[[], Picture]] = {
    "activations": _activations,
    "allocated-reserved": _allocated_reserved,
    "communication": _communication,
    "glossary": _glossary,
    "lora-and-qlora": _lora_and_qlora,
    "loss": _loss,
    "not-modelled": _not_modelled,
    "optimizers": _optimizers,
    "out-of-memory": _out_of_memory,
    "precision": _precision,
    "sharding": _sharding,
    "thirteen-billion": _thirteen_billion,
    "time-and-cost": _time_and_cost,
    "units": _units,
}


@cache
def render(name: str) -> str:
    """One picture as SVG text."""
    return FIGURES[name]().svg(name) + "\n"


def inline(name: str) -> str:
    """One picture for a page, with its title as caption and its file as a download."""
    title = escape(FIGURES[name]().title)
    drawn = render(name).strip()
    return (
        f'<figure class="tf-picture">\n{drawn}\n<figcaption>{title}. '
        f'<a href="../../assets/generated/{name}.svg" download>Download as SVG</a></figcaption>'
        "\n</figure>"
    )


def write(output: Path) -> list[Path]:
    """Write every picture below `output`; the paths written, sorted."""
    output.mkdir(parents=True, exist_ok=True)
    written = []
    for name in sorted(FIGURES):
        path = output / f"{name}.svg"
        path.write_text(render(name), encoding="utf-8")
        written.append(path)
    return written
