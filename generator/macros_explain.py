"""Macros of the explanation pages, beside those of `generator.macros`.

Look-ups and sums:
    static(result)                bytes of weights, master, gradients and optimizer states of a GPU
    bytes_per_parameter(result)   the same over the model's parameters
    phase(result, name)           one phase of the step: `phase(run, "backward").total`
    training_flops(model, ...)    FLOPs per token: `.model_flops`, `.hardware_flops`

Text:
    figure(name)                  a picture of `generator.emit.figures`, in the page's colours
    sources(id, ...)              the page's sources, from `docs/reference/sources.md`
    cited(figure, id)             a figure that somebody else published, with a link to where
    request_table()               every field of a request, what it takes, its default
    calculator(label, **request)  a link that opens the calculator with this request filled in

Names:
    THIRTEEN_BILLION              the worked question's model, a count without a shape
    DATASET_TOKENS                size of a data set that the request leaves out
    STACK_DEFAULTS                where a named stack's own defaults are to be seen
    FIT_SHARE                     largest part of a card's marketed size that still "fits"
    GB, GIB, MIB                  10^9, 2^30 and 2^20 bytes
"""

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from generator.calculator_link import calculator_fragment
from generator.core import flops
from generator.core.fit import FIT_PERCENT
from generator.core.flops import TrainingFlops
from generator.core.request import DEFAULT_NUM_TOKENS
from generator.core.run import Checkpointing, MethodName
from generator.core.units import GB, GIB, MIB
from generator.emit import figures
from generator.emit.figures import STATIC_LINES
from generator.load import load_catalog
from generator.macros import MacrosEnvironment, estimate
from generator.request_fields import STACK_DEFAULTS, request_fields

SOURCES_PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sources.md"
THIRTEEN_BILLION = 13_000_000_000

Result = dict[str, Any]


def static(result: Result) -> int:
    """Bytes of training state on one GPU, before activations, buffers and overhead."""
    return sum(int(result["per_gpu"][line]) for line in STATIC_LINES)


def bytes_per_parameter(result: Result) -> float:
    """Static state of one GPU over all parameters of the model."""
    return static(result) / int(result["num_parameters"])


def phase(result: Result, name: str) -> dict[str, Any]:
    """One phase of a step, by name."""
    for candidate in result["phases"]:
        if candidate["phase"] == name:
            found: dict[str, Any] = candidate
            return found
    raise ValueError(f"no phase {name}; there are {[item['phase'] for item in result['phases']]}")


def figure(name: str) -> str:
    """A picture, inlined."""
    return figures.inline(name)


@cache
def source_register() -> dict[str, tuple[str, str]]:
    """Source id -> (citation, address), read from the register page."""
    pattern = re.compile(
        r"^### (?P<id>S-[A-Z0-9-]+) \{ #(?P<anchor>[a-z0-9-]+) \}\n\n"
        r"(?P<citation>.+)\n<(?P<url>https://[^>]+)>\n",
        re.MULTILINE,
    )
    found: dict[str, tuple[str, str]] = {}
    for match in pattern.finditer(SOURCES_PAGE.read_text(encoding="utf-8")):
        if match["anchor"] != match["id"].lower():
            raise ValueError(f"{match['id']}: its anchor must be {match['id'].lower()}")
        found[match["id"]] = (match["citation"], match["url"])
    return found


def _source(source_id: str) -> tuple[str, str]:
    if source_id not in source_register():
        raise ValueError(f"{source_id} is not in {SOURCES_PAGE.name}")
    return source_register()[source_id]


def sources(*source_ids: str) -> str:
    """A Markdown list of sources, each with its id and address."""
    lines = []
    for source_id in source_ids:
        citation, url = _source(source_id)
        anchor = source_id.lower()
        lines.append(f"- [{source_id}](../reference/sources.md#{anchor}): {citation} <{url}>")
    return "\n".join(lines)


def cited(published: str, source_id: str) -> str:
    """A figure that somebody else published."""
    _source(source_id)
    return f"{published} ([{source_id}](../reference/sources.md#{source_id.lower()}))"


def request_table() -> str:
    """A Markdown table of a request's fields."""
    lines = ["| Field | Takes | Default |", "| --- | --- | --- |"]
    for field in request_fields():
        # A bar would end the cell.
        words = field.takes.split(" | ")
        takes = ", ".join(f"`{word}`" for word in words) if len(words) > 1 else field.takes
        takes = re.sub(r"\{.*?\}+", r"`\g<0>`", takes)
        default = f"`{field.default}`" if re.fullmatch(r"\S+", field.default) else field.default
        lines.append(f"| `{field.name}` | {takes} | {default} |")
    return "\n".join(lines)


def calculator(label: str, **request: Any) -> str:
    """A link from a page two folders down to the calculator with a request filled in."""
    estimate(**request)
    model = request["model"]
    if isinstance(model, int):
        model = {"num_parameters": model}
    fragment = calculator_fragment({**request, "model": model})
    if fragment is None:
        raise ValueError(f"no link can carry {label!r}")
    return f'<a href="../../calculator/#{escape(fragment)}">{escape(label)}</a>'


def training_flops(
    model: str,
    *,
    sequence_length: int = 2048,
    method: MethodName = "full",
    activation_checkpointing: Checkpointing = "full",
) -> TrainingFlops:
    """FLOPs per token of a catalog model."""
    return flops.training_flops(
        model=load_catalog().models[model].model,
        sequence_length=sequence_length,
        method=method,
        activation_checkpointing=activation_checkpointing,
    )


MACROS = (
    static,
    bytes_per_parameter,
    phase,
    figure,
    sources,
    cited,
    request_table,
    calculator,
    training_flops,
)
VARIABLES: dict[str, Any] = {
    "THIRTEEN_BILLION": THIRTEEN_BILLION,
    "DATASET_TOKENS": DEFAULT_NUM_TOKENS,
    "STACK_DEFAULTS": re.sub(r'"(\w+)"', r"`\1`", STACK_DEFAULTS),
    "FIT_SHARE": FIT_PERCENT / 100,
    "GB": GB,
    "GIB": GIB,
    "MIB": MIB,
}


def define(env: MacrosEnvironment) -> None:
    """Add these macros and names to the plugin's environment."""
    for function in MACROS:
        env.macro(function)
    for name, value in VARIABLES.items():
        env.variables[name] = value
