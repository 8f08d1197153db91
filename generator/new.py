"""Drafts of catalog files: everything that can be derived, and `# FILL:` where it cannot.

A draft does not pass `check` before it is filled in, on purpose.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from generator.core.catalog import STAGE_SUFFIXES
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config, read_config
from generator.core.hf_config.reader import FIELD_PREFIX, Questions
from generator.core.hf_config.unread import unknown
from generator.core.model import Model
from generator.core.params import num_parameters
from generator.load import ID_PATTERN

FILL = "FILL"
"""Marks what a person must look up; the lint rule `filled` refuses it."""

SUFFIXES = re.compile(rf"({'|'.join(STAGE_SUFFIXES)}|-\d{{4}}|-\d{{6}}|-\d{{8}})$")
"""Endings of a Hugging Face name that are no part of an id: training stage and date."""

CARD_ID = re.compile(r"[a-z0-9][a-z0-9.-]*-([1-9]\d{0,3})gb")
LONGEST_ID = 80
MOST_NAMED = 30

LONG_LIST = 12
"""Patterns with a value per layer; from here on they are unreadable as plain lists."""

ALWAYS_KEPT = ("model_type", "max_position_embeddings")


def _kept(
    config: Mapping[str, Any], questions: Questions, path: str = FIELD_PREFIX
) -> dict[str, Any]:
    """What was asked for and is not null, at every level, in the order of the file."""
    return {
        name: _kept(value, questions, f"{path}.{name}") if isinstance(value, Mapping) else value
        for name, value in config.items()
        if ((path, name) in questions.asked or name in ALWAYS_KEPT) and value is not None
    }


def fields_that_matter(
    config: Mapping[str, Any], name: str
) -> tuple[dict[str, Any], Model, list[str]]:
    """The part of a config that shapes the model, the model, and what else may have to do with it.

    Args:
        config: A parsed `config.json`.
        name: What to call the model.

    Raises:
        TrainfitError: the core does not understand the config.
    """
    model, questions = read_config(config, name=name)
    kept = _kept(config, questions)
    if not _is_same(kept, model):
        # Rather a line too many than a shape lost.
        kept = {key: value for key, value in config.items() if value is not None}
    return _run_lengths(_flattened(kept, model), model), model, unknown(config, questions)


def _is_same(config: Mapping[str, Any], model: Model) -> bool:
    """Whether the core reads the config as this model; models compare by identity, texts do not."""
    try:
        return repr(model_from_config(config, name=model.name)) == repr(model)
    except TrainfitError:
        return False


def _flattened(config: dict[str, Any], model: Model) -> dict[str, Any]:
    """The config without a nested text config and empty tables, where the core reads it as the same
    model.
    """
    text = config.get("text_config")
    rest = {key: value for key, value in config.items() if key != "text_config"}
    candidates = [config] if not isinstance(text, Mapping) else [{**text, **rest}, {**rest, **text}]
    for flat in candidates:
        filled = {key: value for key, value in flat.items() if value != {}}
        for each in (filled, flat):
            if _is_same(each, model):
                return each
    return config


def _run_lengths(config: dict[str, Any], model: Model) -> dict[str, Any]:
    """The config with long layer patterns as runs, where the core reads them as the same model."""
    for key, value in list(config.items()):
        if not isinstance(value, list) or len(value) < LONG_LIST:
            continue
        runs = [[item, len(list(group))] for item, group in itertools.groupby(value)]
        shorter = {
            (f"{key}_rle" if name == key else name): (runs if name == key else own)
            for name, own in config.items()
        }
        if _is_same(shorter, model):
            config = shorter
    return config


def model_id(hugging_face: str) -> str:
    """The id of a model: the last part of its name, lower case, without stage and date.

    Args:
        hugging_face: `meta-llama/Llama-3.1-8B-Instruct`.
    """
    name = re.sub(r"[^a-z0-9.]+", "-", hugging_face.rsplit("/", maxsplit=1)[-1].lower()).strip("-.")
    while True:
        shorter = SUFFIXES.sub("", name)
        if shorter == name:
            return name
        name = shorter


def _display_name(hugging_face: str) -> str:
    """The name for people: the last part without stage, words apart."""
    name = hugging_face.rsplit("/", maxsplit=1)[-1]
    while SUFFIXES.search(name.lower()):
        name = name[: SUFFIXES.search(name.lower()).start()]  # type: ignore[union-attr]
    return name.replace("-", " ").replace("_", " ")


def _family(name: str) -> str:
    """The name without its size: `Llama 3.1 8B` belongs to `Llama 3.1`."""
    return re.sub(r"\s+A?\d+(\.\d+)?[bmBM]\b.*$", "", name) or name


def toml_value(value: object) -> str:
    """A plain value as TOML: big integers grouped, tables inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {toml_value(own)}" for key, own in value.items())
        return "{ " + inside + " }" if inside else "{}"
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml_value(item) for item in value if item is not None) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def _table(path: str, table: Mapping[str, Any]) -> list[str]:
    """A table with its sub-tables after its values, as TOML wants it."""
    lines = ["", f"[{path}]"]
    subtables = {key: own for key, own in table.items() if isinstance(own, Mapping)}
    lines += [
        f"{_key(key)} = {toml_value(own)}" for key, own in table.items() if key not in subtables
    ]
    for key, own in subtables.items():
        lines += _table(f"{path}.{_key(key)}", own)
    return lines


def new_model(
    config: Mapping[str, Any], hugging_face: str, today: datetime.date
) -> tuple[str, list[str]]:
    """The draft of a model's file, and fields of the config that it leaves out though they might
    matter.

    Args:
        config: A parsed `config.json`.
        hugging_face: The model's name on the hub, `owner/name`.
        today: The date on which the config was read.

    Raises:
        TrainfitError: the core does not understand the config.
    """
    name = _display_name(hugging_face)
    owner = hugging_face.split("/", maxsplit=1)[0]
    kept, model, left_out = fields_that_matter(config, name)
    revision = str(config.get("_commit_hash") or FILL)
    lines = [
        "#:schema ../schema/model.schema.json",
        f"id = {toml_value(model_id(hugging_face))}",
        "# FILL: check name and family; look up developer, month of release and license.",
        f"name = {toml_value(name)}",
        f"hugging_face = {toml_value(hugging_face)}",
        f"family = {toml_value(_family(name))}",
        f'developer = "{FILL}"',
        f'released = "{FILL}"',
        f'license = "{FILL}"',
        "aliases = []",
    ]
    if model.notes:
        lines.append(f"note = {toml_value(' '.join(model.notes))}")
    lines += _table("config", kept)
    lines += [
        "",
        "# FILL: the exact number of parameters as published; uncomment all that follows below.",
        f"# Only the tests read it. The core counts {num_parameters(model):_} parameters.",
        "# [expected]",
        "# num_parameters = 0",
        "",
        "# FILL: the commit at which the config was read; main, if none is known.",
    ]
    lines += _table(
        "sources.config",
        {
            "title": f"{hugging_face}: config.json",
            "producer": owner,
            "url": f"https://huggingface.co/{hugging_face}/blob/{revision}/config.json",
            "published": "unknown",
            "accessed": today,
            "kind": "config-file",
        },
    )[1:]
    lines += ["", "# Where the number of parameters was read; a model card is its vendor's."]
    card = _table(
        "sources.card",
        {
            "title": f"{hugging_face}: model card",
            "producer": owner,
            "url": f"https://huggingface.co/{hugging_face}",
            "published": "unknown",
            "accessed": today,
            "kind": "vendor",
        },
    )[1:]
    lines += [f"# {line}" for line in card]
    lines += ["", "[cite]", 'config = "config"', '# "expected.num_parameters" = "card"']
    return "\n".join(lines) + "\n", left_out


def new_card(card_id: str, today: datetime.date) -> str:
    """The draft of a card's file.

    Args:
        card_id: Name, form and marketed size: `h100-sxm-80gb`.
        today: The date on which the data sheet was read.

    Raises:
        ValueError: the id does not end with a size.
    """
    size = CARD_ID.fullmatch(card_id)
    if size is None:
        raise ValueError(card_id)
    form = next((form for form in ("sxm", "pcie", "nvl72") if f"-{form}-" in card_id), "")
    return f"""\
#:schema ../schema/card.schema.json
id = "{card_id}"
# FILL: the vendor's own name for this form and size, and the vendor.
name = "{FILL}"
vendor = "{FILL}"
# FILL: form is consumer, workstation, pcie, sxm, superchip, rack or unified.
form = "{"rack" if form == "nvl72" else form or FILL}"
status = "current"
aliases = []

# FILL: delete what is not known; never guess. One board, not one chip of it.
[facts]
memory_marketed_gb = {size.group(1)}
# FILL: bytes in all as PyTorch or the driver reports them: "total capacity of N GiB", times 2^30.
memory_usable_bytes = 0
# FILL: bytes per second of the memory, as the data sheet has them: N GB/s, times 10^9.
memory_bandwidth_bytes_per_second = 0
# FILL: dense rates; data sheets often lead with the rate for sparsity, which is twice as large.
peak_dense_bf16_flops_per_second = 0
peak_dense_fp8_flops_per_second = 0
# FILL: bytes per second to the node's other cards, in one direction; sheets often print both.
link_bytes_per_second = 0
# FILL: its name: NVLink 4, PCIe 5.0 x16, ...
interconnect = "{FILL}"
# FILL: the month, 2024-03.
released = "{FILL}"
# Where it can be rented: uncomment these and their lines of [cite], with sources of their own.
# price_usd_per_hour = 0.0
# price_usd_per_hour_high = 0.0
# price_date = "{today:%Y-%m}"

# FILL: where the facts were read, and who published it; repeat the table for each further source.
[sources.datasheet]
title = "{FILL}"
producer = "{FILL}"
url = "https://{FILL}"
published = "unknown"
accessed = {today}
kind = "vendor"

[sources.out-of-memory-messages]
title = "{FILL}"
producer = "{FILL}"
url = "https://{FILL}"
published = "unknown"
accessed = {today}
kind = "measurement"

[cite]
memory_marketed_gb = "datasheet"
memory_usable_bytes = {{ source = "out-of-memory-messages", note = "{FILL}: N GiB, times 2^30." }}
memory_bandwidth_bytes_per_second = "datasheet"
peak_dense_bf16_flops_per_second = {{ source = "datasheet", note = "{FILL}: dense or sparse?" }}
peak_dense_fp8_flops_per_second = {{ source = "datasheet", note = "{FILL}: dense or sparse?" }}
link_bytes_per_second = {{ source = "datasheet", note = "{FILL}: one direction or both?" }}
interconnect = "datasheet"
released = "datasheet"
# price_usd_per_hour = "the lowest rate found"
# price_usd_per_hour_high = "the highest rate found"
# price_date = "the newest of them"
"""


def new_optimizer(optimizer_id: str, today: datetime.date) -> str:
    """The draft of an optimizer's file.

    Args:
        optimizer_id: `adamw-8bit`.
        today: The date on which the code was read.
    """
    return f"""\
#:schema ../schema/optimizer.schema.json
id = "{optimizer_id}"
# FILL: the name that its users write, and the class that the record describes.
name = "{FILL}"
implementation = "{FILL}"
aliases = []

# FILL: true where states are created like the parameter (torch.zeros_like), else delete the line.
follows_parameter_dtype = true

# FILL: one table per state tensor; the schema lists the choices for dtype, shape and only.
[[states]]
name = "exp_avg"

[[states]]
name = "exp_avg_sq"

[sources.code]
title = "{FILL}"
producer = "{FILL}"
url = "https://{FILL}"
published = "unknown"
accessed = {today}
kind = "code"

[cite]
follows_parameter_dtype = "code"
states = "code"
"""


def _refuse(message: str) -> int:
    sys.stderr.write(f"new: {message}\n")
    return 2


def main(kind: str, source: str, hugging_face: str, root: Path, today: datetime.date) -> int:
    """Writes a draft into the catalog and says what to fill in; returns the exit status.

    Args:
        kind: `model`, `card` or `optimizer`.
        source: Path of a `config.json` for a model, else the new id.
        hugging_face: The model's name on the hub.
        root: The `catalog` folder.
        today: The date for the access dates.
    """
    left_out: list[str] = []
    if kind == "model":
        if not re.fullmatch(r"[^/\s]+/[^/\s]+", hugging_face):
            given = f'"{hugging_face[:LONGEST_ID]}" is no' if hugging_face else "a model needs its"
            return _refuse(
                f"{given} Hugging Face name; add NAME=owner/name to make, or --name owner/name, as "
                "meta-llama/Llama-3.1-8B."
            )
        try:
            config = json.loads(Path(source).read_bytes().decode("utf-8-sig"))
            if not isinstance(config, dict):
                return _refuse(f"{source}: holds no JSON object; give the model's config.json.")
            text, left_out = new_model(config, hugging_face, today)
        except OSError as error:
            return _refuse(f"cannot read {source}: {error.strerror}.")
        except RecursionError:
            return _refuse(f"{source}: nested too deeply to be a config.json.")
        except ValueError as error:
            place = f"{error.field}: " if isinstance(error, TrainfitError) else "no JSON: "
            return _refuse(f"{source}: {place}{error}")
        own_id = model_id(hugging_face)
    else:
        own_id = source
        text = ""
    shown = own_id[:LONGEST_ID]
    if not ID_PATTERN.fullmatch(own_id) or len(own_id) > LONGEST_ID:
        lower = re.sub(r"[^a-z0-9.]+", "-", shown.lower()).strip("-.")
        if kind == "card" and not CARD_ID.fullmatch(lower):
            lower += "-80gb"
        hint = f"; for example {lower}" if ID_PATTERN.fullmatch(lower) else ""
        return _refuse(
            f'"{shown}" is no id; use parts of a-z and 0-9 joined by single - or ., '
            f"{LONGEST_ID} characters at most{hint}"
        )
    if kind == "card" and not CARD_ID.fullmatch(own_id):
        return _refuse(
            f'"{shown}" ends with no memory size; a card\'s id is its name, its form where there '
            f"are several, and its marketed size, such as h100-sxm-80gb or rtx-4090-24gb."
        )
    if kind != "model":
        text = (new_card if kind == "card" else new_optimizer)(own_id, today)
    path = root / f"{kind}s" / f"{own_id}.toml"
    if path.exists():
        remedy = (
            f"edit that file, or name another model: the id {own_id} is the last part of the name "
            "without its stage, and a tuned sibling of the same shape needs no file of its own"
            if kind == "model"
            else "choose another id, or edit the file"
        )
        return _refuse(f"{path} exists; {remedy}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path}\n")
    if left_out:
        named = ", ".join(each[:LONGEST_ID] for each in left_out[:MOST_NAMED])
        more = f" and {len(left_out) - MOST_NAMED} more" if len(left_out) > MOST_NAMED else ""
        sys.stdout.write(
            f"Left out, since nothing reads it for this model_type: {named}{more}.\n"
            "If one of them changes the size of a tensor, open an issue with the config.\n"
        )
    sys.stdout.write("To fill in:\n")
    sys.stdout.writelines(f"  - {place}\n" for place in _left_open(text))
    sys.stdout.write("Then run `make check`; where it asks for it, `make permalinks`.\n")
    return 0


def _left_open(text: str) -> Iterator[str]:
    """What a draft leaves to fill in, by line: the comment that says so, or else the key."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            table = line.strip("[]") + "."
        if line.startswith("# FILL: "):
            yield f"line {number}: {line.removeprefix('# FILL: ')}"
        elif FILL in line and not line.startswith("#"):
            yield f"line {number}: {table}{line.split(' = ')[0]}"
