"""A request as a link that opens the calculator with the same set-up.

The fragment is the calculator's own format, which leaves out defaults; a config travels in base64.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from generator.core.request import DEFAULTS, LORA_DEFAULTS

FORMAT_VERSION = 1
MAX_CONFIG_CHARACTERS = 6000


def calculator_fragment(request: Mapping[str, Any]) -> str | None:
    """The fragment without `#`, or None where a link cannot carry the request.

    Args:
        request: A request. One with a training stack has that stack's defaults filled in: the
            calculator sends its own where a link leaves something out, and they would stand
            against the tool's.
    """
    model = request["model"]
    if isinstance(model, str):
        pairs = [("model", model)]
    elif "config" in model:
        text = json.dumps(model["config"], separators=(",", ":"), ensure_ascii=False)
        coded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        if len(coded) > MAX_CONFIG_CHARACTERS:
            return None
        pairs = [("model.config", coded)]
    else:
        pairs = [("model.num_parameters", str(model["num_parameters"]))]
    for name, default in DEFAULTS.items():
        value = request.get(name, default)
        if name == "num_gpus" and request.get("strategy") == "single":
            continue
        if name == "lora":
            inner = {**LORA_DEFAULTS, **request.get("lora", {})}
            pairs += [
                (f"lora.{key}", _written(inner[key]))
                for key, usual in LORA_DEFAULTS.items()
                if inner[key] != usual
            ]
        elif isinstance(value, Mapping):
            pairs += [(f"{name}.{key}", _written(own)) for key, own in value.items()]
        elif value != default:
            pairs.append((name, _written(value)))
    settings = [f"{key}={quote(value, safe=',')}" for key, value in pairs]
    return "&".join([f"v={FORMAT_VERSION}", *settings])


def _written(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
