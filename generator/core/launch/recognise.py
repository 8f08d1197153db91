"""A pasted launch file, config.json or parameter count as fields of a request."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.hf_config.bare_count import MAX_PARAMETERS, MIN_PARAMETERS
from generator.core.launch import (
    accelerate,
    axolotl,
    deepspeed,
    llama_factory,
    remainder,
    torchtune,
    trl,
    yaml_reader,
)
from generator.core.launch.reading import Reading
from generator.core.nesting import check_nesting, object_of
from generator.core.request import parse, parse_dataset

MAX_COUNT_CHARACTERS = 64

_CONFIG_KEYS = (
    "model_type",
    "architectures",
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "n_embd",
    "n_layer",
    "num_attention_heads",
    "num_hidden_layers",
    "rope_theta",
    "text_config",
    "transformers_version",
    "vocab_size",
)
_OUT_OF_MEMORY = ("out of memory", "outofmemory")
_SCALES = {"": 0, "k": 3, "m": 6, "b": 9, "g": 9, "t": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file: the keys that tell it from others, and what reads it."""

    id: str
    signature: tuple[str, ...]
    read: Callable[[Reading], None]


FORMATS = (
    Format(id="torchtune", signature=torchtune.SIGNATURE, read=torchtune.read),
    Format(id="axolotl", signature=axolotl.SIGNATURE, read=axolotl.read),
    Format(id="accelerate", signature=accelerate.SIGNATURE, read=accelerate.read),
    Format(id="deepspeed", signature=deepspeed.SIGNATURE, read=deepspeed.read),
    Format(id="llama-factory", signature=llama_factory.SIGNATURE, read=llama_factory.read),
    Format(id="trl", signature=trl.SIGNATURE, read=trl.read),
)


def parameter_count(text: str) -> int | None:
    """The number of parameters that a text spells, or None: `13B`, `13e9`, `8,030,261,248`.

    Args:
        text: Digits with an optional fraction, exponent, scale and the word for parameters.

    Raises:
        TrainfitError: it spells a number outside 1 to 10^14 (code `out-of-range`).
    """
    if len(text) > MAX_COUNT_CHARACTERS:
        return None
    rest = text.strip().lower()
    for word in ("parameters", "parameter", "params", "param"):
        rest = rest.removesuffix(word).rstrip()
    for word in ("million", "billion", "trillion"):
        if rest.endswith(word):
            rest = rest.removesuffix(word) + word[0]
    scale = rest[-1:] if rest[-1:] in _SCALES and rest[-1:] else ""
    digits = rest.removesuffix(scale).rstrip() if scale else rest
    mantissa, mark, exponent = digits.partition("e")
    if mark and not (exponent.isascii() and exponent.isdigit() and len(exponent) <= 2):
        return None
    for separator in ("_", ",", "'", " "):
        mantissa = mantissa.replace(separator, "")
    whole, _, fraction = mantissa.partition(".")
    if not whole or not (whole + fraction).isascii() or not (whole + fraction).isdigit():
        return None
    power = _SCALES[scale] + int(exponent or "0") - len(fraction)
    number = int(whole + fraction)
    count: int = number * 10**power if power >= 0 else number // 10**-power
    if not MIN_PARAMETERS <= count <= MAX_PARAMETERS:
        raise TrainfitError(
            "out-of-range",
            "model.num_parameters",
            f'"{text.strip()}" parameters are outside {MIN_PARAMETERS:,} to {MAX_PARAMETERS:,}.',
        )
    return count


def _keys(text: str) -> dict[str, object]:
    """The keys of a JSON or YAML file."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return yaml_reader.read(text)
    # The size is refused before anything parses it, in the words that YAML is refused in.
    if len(text) > yaml_reader.MAX_CHARACTERS:
        yaml_reader.read(text)

    def no_constant(name: str) -> float:
        raise ValueError(f"{name} is no JSON number")

    try:
        check_nesting(text)
        value = json.loads(
            text.lstrip("\ufeff"), parse_constant=no_constant, object_pairs_hook=object_of
        )
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as problem:
        reason = str(problem)[:120]
    else:
        assert isinstance(value, dict)
        return value
    raise TrainfitError(
        "bad-json",
        "text",
        f"The file starts like JSON but is none: {reason}. Paste all of it, each key once.",
    )


def _format(keys: Mapping[str, object]) -> Format | None:
    """The format whose keys the file has most of; None for a model's config."""
    best: Format | None = None
    most = config_hits = sum(key in keys for key in _CONFIG_KEYS)
    for candidate in FORMATS:
        hits = sum(key in keys for key in candidate.signature)
        if candidate.id == "torchtune":
            # Its names are common words; what they hold is not.
            parts = [value for value in keys.values() if isinstance(value, dict)]
            components = sum("_component_" in part for part in parts)
            hits = hits + 5 * components if components else 0
        if hits > most:
            best, most = candidate, hits
    if best is None and config_hits == 0:
        shown = ", ".join(repr(key[:40]) for key in list(keys)[:5]) or "none"
        raise TrainfitError(
            "bad-file",
            "text",
            f"No key of the file ({shown}) belongs to axolotl, TRL, LLaMA-Factory, torchtune, "
            "DeepSpeed, accelerate or a config.json; paste the launch file itself.",
        )
    return best


@dataclass(slots=True, kw_only=True)
class Found:
    """What the keys of one file say."""

    tool: str
    fields: dict[str, object]
    implied: list[str]
    ignored: list[str]
    notes: list[str]
    carried: object = None
    """The remainder that the file carries, still as it stands."""


def read_keys(text: str, catalog: Catalog) -> Found:
    """What the keys of a launch file say, without what the file carries beside them.

    Args:
        text: The file.
        catalog: Where names are looked up.

    Raises:
        TrainfitError: the file cannot be read, or a value of it is out of range.
    """
    keys = _keys(text)
    carried = keys.pop(remainder.JSON_KEY, None)
    if carried is None:
        carried = remainder.find(text)
    found = _format(keys)
    if found is None:
        model_from_config(keys, name="custom model")
        return Found(
            tool="config", fields={"model": {"config": keys}}, implied=[], ignored=[], notes=[]
        )
    reading = Reading(keys, catalog)
    found.read(reading)
    return Found(
        tool=found.id,
        fields=reading.fields,
        implied=reading.implied,
        ignored=reading.ignored(),
        notes=reading.notes,
        carried=carried,
    )


def _is_out_of_memory(text: str) -> bool:
    """Whether a text speaks of memory that ran out, and not in a file's comment or value."""
    known = {*_CONFIG_KEYS, *(key for each in FORMATS for key in each.signature)}
    lines = [line.partition("#")[0] for line in text.splitlines()]
    if any(line.partition(":")[0].strip(" \"'") in known for line in lines if ":" in line):
        return False
    said = "\n".join(lines).lower()
    return any(words in said for words in _OUT_OF_MEMORY)


def _told_better(text: str, problem: TrainfitError) -> TrainfitError:
    """The error for a text that is no file at all, in other words than those of a broken file.

    Args:
        text: What was pasted.
        problem: What reading it as a file has ended with.
    """
    if problem.code == "bad-file" and _is_out_of_memory(text):
        return TrainfitError(
            "bad-file",
            "text",
            'This is an out-of-memory message, not a file: the page "Why it ran out of memory" '
            "reads it.",
        )
    if problem.code == "bad-file" and ":" not in text:
        return TrainfitError(
            "bad-file",
            "text",
            "This is no file: paste the whole launch file of a training tool or a config.json, or "
            "type a number of parameters such as 13B.",
        )
    return problem


def recognise(text: object, catalog: Catalog) -> dict[str, Any]:
    """The request fields that a pasted text gives, and what of it was not used.

    Args:
        text: A launch file of axolotl, LLaMA-Factory, TRL, torchtune, DeepSpeed or accelerate, a
            Hugging Face config.json, or a bare parameter count.
        catalog: Where names are looked up.

    Returns:
        `tool`; `recognised`, fields as a request takes them; `dataset`, fields that go beside it;
        `implied`, the names of those that the file leaves to the tool's defaults; `ignored`, the
        file's other keys; `notes`.

    Raises:
        TrainfitError: the text is too long, cannot be read, or has a value that no request takes.
    """
    if not isinstance(text, str):
        raise TrainfitError("wrong-type", "text", "text must be the file's text as a JSON string.")
    count = parameter_count(text)
    if count is not None:
        found = Found(
            tool="count",
            fields={"model": {"num_parameters": count}},
            implied=[],
            ignored=[],
            notes=[],
        )
    else:
        try:
            found = read_keys(text, catalog)
        except TrainfitError as problem:
            raise _told_better(text, problem) from None
    fields = found.fields
    implied = found.implied
    if found.carried is not None:
        pairs = remainder.decode(found.carried)
        said = remainder.filled(fields, catalog)
        fields = {
            name: value
            for name, value in remainder.apply(said, pairs).items()
            if name != "model" or value is not None
        }
        implied = []
    recognised = remainder.nested(fields)
    dataset = recognised.pop("dataset", {})
    # Whatever the file said, what comes out is a request.
    parse({"model": {"num_parameters": 8_000_000_000}, **recognised}, catalog)
    parse_dataset(dataset, is_counted=False)
    return {
        "tool": found.tool,
        "recognised": recognised,
        "dataset": dataset,
        "implied": implied,
        "ignored": found.ignored,
        "notes": found.notes,
    }
