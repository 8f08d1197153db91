"""Numbers for hand-written pages: look-ups through the core, so that no figure is typed by hand.

A page opts in with front matter `render_macros: true`. Undefined names and refused requests fail
the build. A request takes the fields of an estimate; everything but `model` has a default.
`model` is a catalog id, or a number of parameters: `estimate(model=13_000_000_000)`.

Look-ups (plain results of the core; set one once with `{% set run = estimate(...) %}`):
    estimate(model=..., **request)   one estimate: `run.per_gpu.total`, `run.card.verdict`, ...
    solve(model=..., **request)      longest sequence, largest micro-batch, fewest GPUs, changes
    refusal(**request)               the message of a request that the core refuses
    grid(model=..., **request)       cards x GPU counts
    curve(model=..., **request)      memory against sequence length
    fact(path)                       a catalog fact:
                                     `fact("cards.h100-sxm-80gb.memory_usable_bytes")`,
                                     `fact("models.llama-3.1-8b.config.hidden_size")`,
                                     `fact("models.llama-3.1-8b.num_parameters")`

Text (a string with its unit; also filters: `{{ run.per_gpu.total | gb }}`):
    gb(bytes, digits=None)           decimal gigabytes: `5.97 GB`, `133.7 GB`; `digits` fixes the
                                     number of decimals
    gib(bytes, digits=None)          binary gibibytes: `124.5 GiB`
    mb(bytes, digits=0)              decimal megabytes
    number(value, digits=0)          thousands grouped: `8,030,261,248`
    percent(ratio, digits=0)         `75 %` of 0.75
    times(ratio, digits=1)           `1.5×`; other arithmetic is written in the expression:
                                     `{{ (run.per_gpu.weights * 2) | gb }}`

Badges (HTML that the style sheet knows; needs no script):
    verdict(result)                  sign and word in the verdict's colour: `✓ fits`
    static_default_answer()          the calculator's answer for its defaults, before any script

The explanation pages have more of their own: `generator/macros_explain.py`.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from generator.core.units import GB, GIB
from generator.tables.base import VERDICT_SIGNS

Result = dict[str, Any]


class MacrosEnvironment(Protocol):
    """The part of the macros plugin that this module uses."""

    macro: Callable[[Callable[..., Any]], Callable[..., Any]]
    variables: Any
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


def refusal(**request: Any) -> str:
    """What the core says to a request that it must refuse."""
    answer: Result = json.loads(_run(json.dumps(request, sort_keys=True)))
    if "error" not in answer:
        raise MacroError(f"not refused: {request}")
    message: str = answer["error"]["message"]
    return message


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


def percent(ratio: float, digits: int = 0) -> str:
    """A ratio in percent."""
    return f"{ratio * 100:.{digits}f} %"


def times(ratio: float, digits: int = 1) -> str:
    """A ratio as a multiple."""
    return f"{ratio:.{digits}f}×"


def verdict(result: Result) -> str:
    """Sign and word of a result's verdict, in its colour."""
    word = result["card"]["verdict"]
    return f'<span class="v-{word}">{VERDICT_SIGNS[word]} {word}</span>'


def static_default_answer() -> str:
    """The answer for the calculator's defaults, as plain HTML."""
    from generator.emit import calculator_default

    return calculator_default.html(_catalog())


MACROS = (estimate, refusal, solve, grid, curve, fact, verdict, static_default_answer)
FILTERS = (gb, gib, mb, number, percent, times)


def define_env(env: MacrosEnvironment) -> None:
    """Entry point of the macros plugin."""
    for function in (*MACROS, *FILTERS):
        env.macro(function)
    for function in FILTERS:
        env.filter(function)
    from generator import macros_accuracy, macros_explain, macros_verification

    macros_explain.define(env)
    macros_accuracy.define(env)
    macros_verification.define(env)
