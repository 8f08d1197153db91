"""What a tool's own keys do not say of a request, carried in the file so that it reads back whole.

YAML carries it in a comment, JSON in a key that DeepSpeed does not read. Each field is a pair: what
the file's keys say, and what was meant. When someone edits the keys, the pair no longer matches
and the edit wins.
"""

import json
from collections.abc import Mapping

from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.nesting import check_nesting
from generator.core.request import DATASET_DEFAULTS, DEFAULTS, LORA_DEFAULTS

MARK = "# trainfit: "
JSON_KEY = "trainfit"
EXPLANATION = (
    "Written by trainfit. The next line holds what the keys below cannot say; paste the file back "
    "to get the same set-up."
)
MAX_CHARACTERS = 40_000
"""Longer remainders, which embed a large config, are left out and said so."""
SEARCHED_LINES = 20
_GROUPS: dict[str, dict[str, object]] = {
    "lora": LORA_DEFAULTS,
    "dataset": {name: DATASET_DEFAULTS[name] for name in ("epochs", "packing")},
}
"""Objects of a request whose fields have dotted names here, with the defaults of those fields."""
_DOTTED: dict[str, object] = {
    f"{group}.{name}": value for group, fields in _GROUPS.items() for name, value in fields.items()
}


def filled(fields: Mapping[str, object], catalog: Catalog) -> dict[str, object]:
    """A whole request by dotted names: the fields, then the stack's defaults, then ours.

    Args:
        fields: Dotted names and values.
        catalog: Where the stack is looked up.
    """
    stack = catalog.stack(str(fields.get("stack", DEFAULTS["stack"])))
    found: dict[str, object] = {name: value for name, value in DEFAULTS.items() if name != "lora"}
    found |= _DOTTED
    found["model"] = None
    found |= dict(stack.defaults)
    return found | dict(fields)


def flattened(request: Mapping[str, object]) -> dict[str, object]:
    """A request with the fields of its adapter and data set under dotted names.

    Args:
        request: `Request.filled` with a `dataset`.
    """
    found: dict[str, object] = {}
    for name, value in request.items():
        if name in _GROUPS:
            assert isinstance(value, dict)
            found |= {f"{name}.{field}": inner for field, inner in value.items()}
        else:
            found[name] = value
    return found


def nested(fields: Mapping[str, object]) -> dict[str, object]:
    """A request as the estimator takes it.

    Args:
        fields: Dotted names and values.
    """
    found = {name: value for name, value in fields.items() if "." not in name}
    for group in _GROUPS:
        prefix = f"{group}."
        inner = {
            name.removeprefix(prefix): value
            for name, value in fields.items()
            if name.startswith(prefix)
        }
        if inner:
            found[group] = inner
    return found


def difference(
    said: Mapping[str, object], meant: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Fields in which two whole requests differ, each with both values.

    Args:
        said: What the file's keys say.
        meant: What was exported.
    """
    return {
        name: (said.get(name), value)
        for name, value in sorted(meant.items())
        if said.get(name) != value
    }


def encode(pairs: Mapping[str, tuple[object, object]]) -> str | None:
    """The remainder as one line of JSON; None where it is too long for a file.

    Args:
        pairs: What `difference` returns.
    """
    text = json.dumps(pairs, separators=(",", ":"), sort_keys=True)
    return text if len(text) <= MAX_CHARACTERS else None


def find(text: str) -> str | None:
    """The remainder in a YAML file's first lines.

    Args:
        text: The file.
    """
    for line in text[: MAX_CHARACTERS + 2_000].split("\n")[:SEARCHED_LINES]:
        if line.startswith(MARK):
            return line.removeprefix(MARK).strip()
    return None


def decode(value: object) -> dict[str, tuple[object, object]]:
    """Pairs by field name.

    Args:
        value: JSON text, or the map that a JSON file holds.

    Raises:
        TrainfitError: it is no such map (code `bad-file`).
    """
    if isinstance(value, str):
        try:
            check_nesting(value)
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    known = {"model", *DEFAULTS, *_DOTTED} - {"lora"}
    if not isinstance(value, dict) or not all(
        name in known and isinstance(pair, list) and len(pair) == 2 for name, pair in value.items()
    ):
        raise TrainfitError(
            "bad-file",
            "trainfit",
            "The file's line that trainfit wrote is damaged; delete it and paste again.",
        )
    return {name: (pair[0], pair[1]) for name, pair in value.items()}


def apply(
    said: Mapping[str, object], pairs: Mapping[str, tuple[object, object]]
) -> dict[str, object]:
    """The whole request: what was meant where the keys still say what they said, else the keys.

    Args:
        said: What the file's keys say, filled up.
        pairs: What the file carries.
    """
    return {
        name: pairs[name][1] if name in pairs and pairs[name][0] == value else value
        for name, value in said.items()
    }
