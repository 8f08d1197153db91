"""Numbers for hand-written pages: look-ups through the core, so that no figure is typed by hand.

A page opts in with front matter `render_macros: true`. Undefined names and refused requests fail the build.
A request takes the fields of the estimator's request (see `docs/api.md`); everything but `model` has a default.
`model` is a catalog id, or a number of parameters: `estimate(model=13_000_000_000)`.

Look-ups (each returns the plain result of the core; set it once with `{% set run = estimate(...) %}`):
    estimate(model=..., **request)   result of one estimate: `run.per_gpu.total`, `run.card.verdict`, ...
    solve(model=..., **request)      longest sequence, largest micro-batch, fewest GPUs, cheapest change
    grid(model=..., **request)       cards x GPU counts
    curve(model=..., **request)      memory against sequence length
    fact(path)                       a catalog fact: `fact("cards.h100-sxm-80gb.memory_usable_bytes")`,
                                     `fact("models.llama-3.1-8b.config.hidden_size")`,
                                     `fact("models.llama-3.1-8b.num_parameters")`

Text (each returns a string with its unit; also usable as filters: `{{ run.per_gpu.total | gb }}`):
    gb(bytes, digits=None)           decimal gigabytes: `5.97 GB`, `133.7 GB`; `digits` fixes the decimals
    gib(bytes, digits=None)          binary gibibytes: `124.5 GiB`
    mb(bytes, digits=0)              decimal megabytes
    number(value, digits=0)          thousands grouped: `8,030,261,248`
    billions(count, digits=1)        `8.0 billion`
    percent(ratio, digits=0)         `75 %` of 0.75
    times(ratio, digits=1)           `1.5×`; other arithmetic is written in the expression:
                                     `{{ (run.per_gpu.weights * 2) | gb }}`

Pictures and badges (HTML that the style sheet knows; none needs a script):
    verdict(result)                  sign and word in the verdict's colour: `✓ fits`
    breakdown(result)                the lines of one estimate as a table, largest first
    bars(results, labels, card=None) stacked bars, one per result, on one scale; `card` draws that card's
                                     size as a line. A table with the same figures comes with it.
    request_link(result)             link text target of the calculator with this request filled in,
                                     relative to a page one folder down (`../calculator/#...`)
    static_default_answer()          the calculator page's answer for its defaults, before any script runs
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, Protocol
from urllib.parse import urlencode

from generator.core.units import GB, GIB

Result = dict[str, Any]

LINE_LABELS = {
    "weights": "Weights",
    "master_weights": "FP32 master weights",
    "gradients": "Gradients",
    "optimizer_states": "Optimizer states",
    "activations": "Activations and loss",
    "buffers": "Buffers",
    "overhead": "Overhead",
}
VERDICT_SIGNS = {"fits": "✓", "tight": "≈", "no": "✕"}
CALCULATOR_DEFAULT: Mapping[str, Any] = {"model": "llama-3.1-8b"}


class MacrosEnvironment(Protocol):
    """The part of the macros plugin that this module uses."""

    macro: Callable[[Callable[..., Any]], Callable[..., Any]]
    filter: Callable[[Callable[..., Any]], Callable[..., Any]]


class MacroError(ValueError):
    """A page asked for something that the core refuses; the message is the core's own."""


@lru_cache(maxsize=1)
def _catalog() -> Any:
    from generator.load import load_catalog

    return load_catalog()


@lru_cache(maxsize=4096)
def _run(text: str) -> str:
    from generator.core import api

    return api.run(text, _catalog())


def _ask(op: str, request: dict[str, Any]) -> Result:
    model = request.get("model")
    if isinstance(model, int):
        request = {**request, "model": {"num_parameters": model}}
    answer: Result = json.loads(_run(json.dumps({"op": op, **request}, sort_keys=True)))
    if "error" in answer:
        error = answer["error"]
        raise MacroError(f"{error['field']}: {error['message']} [{error['code']}] in {request}")
    return answer


def estimate(**request: Any) -> Result:
    """One estimate of the core."""
    return _ask("estimate", request)


def solve(**request: Any) -> Result:
    """What would fit: longest sequence, largest micro-batch, fewest GPUs, cheapest change."""
    return _ask("solve", request)


def grid(**request: Any) -> Result:
    """One request over cards and GPU counts."""
    return _ask("grid", request)


def curve(**request: Any) -> Result:
    """One request over sequence lengths."""
    return _ask("curve", request)


def fact(path: str) -> Any:
    """A catalog fact by `<kind>.<id>.<field>`; ids may hold dots, fields may be nested."""
    kind, _, rest = path.partition(".")
    records = getattr(_catalog(), kind)
    ids = [name for name in records if rest.startswith(f"{name}.")]
    if not ids:
        raise MacroError(f"no such catalog entry: {path}")
    identifier = max(ids, key=len)
    value: Any = records[identifier]
    for field in rest[len(identifier) + 1 :].split("."):
        if field == "num_parameters" and kind == "models":
            from generator.core.params import num_parameters

            value = num_parameters(value.model)
        elif isinstance(value, Mapping):
            value = value[field]
        else:
            value = getattr(value, field)
    if value is None:
        raise MacroError(f"unknown in the catalog: {path}")
    return value


def _decimals(value: float, digits: int | None) -> int:
    if digits is not None:
        return digits
    return 2 if abs(value) < 10 else 1


def gb(num_bytes: float, digits: int | None = None) -> str:
    """Bytes as decimal gigabytes."""
    value = num_bytes / GB
    return f"{value:,.{_decimals(value, digits)}f} GB"


def gib(num_bytes: float, digits: int | None = None) -> str:
    """Bytes as binary gibibytes."""
    value = num_bytes / GIB
    return f"{value:,.{_decimals(value, digits)}f} GiB"


def mb(num_bytes: float, digits: int = 0) -> str:
    """Bytes as decimal megabytes."""
    return f"{num_bytes / 10**6:,.{digits}f} MB"


def number(value: float, digits: int = 0) -> str:
    """A number with its thousands grouped."""
    return f"{value:,.{digits}f}"


def billions(count: float, digits: int = 1) -> str:
    """A count in billions."""
    return f"{count / 10**9:,.{digits}f} billion"


def percent(ratio: float, digits: int = 0) -> str:
    """A ratio in percent."""
    return f"{ratio * 100:.{digits}f} %"


def times(ratio: float, digits: int = 1) -> str:
    """A ratio as a multiple."""
    return f"{ratio:.{digits}f}×"


def verdict(result: Result) -> str:
    """Sign and word of a result's verdict, in its colour."""
    word = result["card"]["verdict"]
    return f'<span class="tf-verdict tf-{word}">{VERDICT_SIGNS[word]} {word}</span>'


def breakdown(result: Result) -> str:
    """The memory lines of one estimate, largest first, with the total."""
    per_gpu = result["per_gpu"]
    lines = sorted(
        (key for key in LINE_LABELS if per_gpu[key]), key=lambda key: (-per_gpu[key], key)
    )
    rows = "".join(
        f'<tr><th scope="row"><span class="tf-key tf-part-{key}"></span>{LINE_LABELS[key]}</th>'
        f"<td>{per_gpu[key] / GB:,.2f}</td><td>{percent(per_gpu[key] / per_gpu['total'])}</td></tr>"
        for key in lines
    )
    return (
        '<table class="tf-table tf-breakdown" data-search-exclude><thead><tr><th scope="col">Line</th>'
        '<th scope="col">GB per GPU</th><th scope="col">Share</th></tr></thead>'
        f'<tbody>{rows}</tbody><tfoot><tr><th scope="row">Total</th>'
        f"<td>{per_gpu['total'] / GB:,.2f}</td><td>100 %</td></tr></tfoot></table>"
    )


def bars(results: Sequence[Result], labels: Sequence[str], card: str | None = None) -> str:
    """Stacked bars of several results on one scale, and the same figures as a table.

    Args:
        results: Results of `estimate`, top to bottom.
        labels: One label per result.
        card: Catalog id of a card whose marketed size is drawn as a line.
    """
    if len(results) != len(labels):
        raise MacroError(f"bars: {len(results)} results but {len(labels)} labels")
    size = fact(f"cards.{card}.memory_marketed_bytes") if card else 0
    scale = max([size, *(result["per_gpu"]["total"] for result in results)]) * 1.04
    used = [key for key in LINE_LABELS if any(result["per_gpu"][key] for result in results)]
    height, gap, left, width = 26, 14, 0, 1000
    parts: list[str] = []
    for index, result in enumerate(results):
        x = float(left)
        y = index * (height + gap)
        for key in used:
            length = result["per_gpu"][key] / scale * width
            parts.append(
                f'<rect class="tf-part-{key}" x="{x:.1f}" y="{y}" width="{length:.1f}" height="{height}"/>'
            )
            x += length
    total_height = len(results) * (height + gap) - gap
    if size:
        x = size / scale * width
        parts.append(
            f'<line class="tf-limit" x1="{x:.1f}" x2="{x:.1f}" y1="-6" y2="{total_height + 6}"/>'
        )
    svg = (
        f'<svg viewBox="0 -8 {width} {total_height + 16}" preserveAspectRatio="none" '
        f'width="100%" height="{total_height + 16}" aria-hidden="true" focusable="false">'
        f"{''.join(parts)}</svg>"
    )
    head = "".join(
        f'<th scope="col"><span class="tf-key tf-part-{key}"></span>{LINE_LABELS[key]}</th>'
        for key in used
    )
    body = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f"<td>{result['per_gpu'][key] / GB:,.1f}</td>" for key in used)
        + f"<td><strong>{result['per_gpu']['total'] / GB:,.1f}</strong></td></tr>"
        for label, result in zip(labels, results, strict=True)
    )
    caption = "GB per GPU, bars top to bottom as the rows."
    if card:
        caption += f" The line is the {escape(fact(f'cards.{card}.name'))}."
    return (
        f'<figure class="tf-bars" data-search-exclude>{svg}<div class="tf-scroll" tabindex="0">'
        f'<table class="tf-table"><caption>{caption}</caption><thead><tr><td></td>{head}'
        f'<th scope="col">Total</th></tr></thead><tbody>{body}</tbody></table></div></figure>'
    )


def request_link(result: Result) -> str:
    """Calculator address with a result's request filled in, from a page one folder down."""
    request = result["request"]
    pairs: list[tuple[str, str]] = [("v", "1")]
    for key, value in request.items():
        if isinstance(value, str | int) and not isinstance(value, bool):
            pairs.append((key, str(value)))
    return f"../calculator/#{urlencode(pairs)}"


def static_default_answer() -> str:
    """The answer for the calculator's defaults, as plain HTML."""
    result = estimate(**CALCULATOR_DEFAULT)
    card = result["card"]
    reason = escape(card["reason"])
    return (
        '<div class="tf-answer">'
        f'<p class="tf-answer__total"><strong>{gb(result["per_gpu"]["total"])}</strong> per GPU, '
        f"{verdict(result)}</p><p>{reason}</p>{breakdown(result)}</div>"
    )


MACROS = (
    estimate,
    solve,
    grid,
    curve,
    fact,
    verdict,
    breakdown,
    bars,
    request_link,
    static_default_answer,
)
FILTERS = (gb, gib, mb, number, billions, percent, times)


def define_env(env: MacrosEnvironment) -> None:
    """Entry point of the macros plugin."""
    for function in (*MACROS, *FILTERS):
        env.macro(function)
    for function in FILTERS:
        env.filter(function)
