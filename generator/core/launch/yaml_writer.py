"""YAML out of plain values, so that every parser reads back the same ones."""

import json
from collections.abc import Mapping, Sequence

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_RETYPED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan"))
"""Words that some YAML parsers or their users take for something else than text."""


def scalar(value: str | float | bool | None) -> str:
    """One value as YAML writes it.

    Args:
        value: Text is quoted wherever a parser could take it for anything else.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        # YAML 1.1 takes 2e-05 for text: a float needs its point.
        return text if "." in text else text.replace("e", ".0e")
    if value and value[0] in _LETTERS and set(value) <= _PLAIN and value.lower() not in _RETYPED:
        return value
    return _quoted(value)


def _quoted(text: str) -> str:
    """Text in double quotes with everything outside printable ASCII escaped."""
    if text.isascii():
        return json.dumps(text).replace("\x7f", "\\x7f")
    parts = [json.dumps(each)[1:-1] if each.isascii() else f"\\U{ord(each):08x}" for each in text]
    return f'"{"".join(parts)}"'


def write(values: Mapping[str, Value], *, header: Sequence[str] = ()) -> str:
    """A YAML document.

    Args:
        values: Keys in the order of the file; None as a value is written as null.
        header: Comment lines for the top, without line breaks.
    """
    lines = [f"# {line}" for line in header]
    lines += _mapping(values, "")
    return "\n".join(lines) + "\n"


def _mapping(values: Mapping[str, Value], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in values.items():
        name = f"{indent}{scalar(key)}:"
        if isinstance(value, Mapping):
            lines += [name, *_mapping(value, indent + "  ")] if value else [f"{name} {{}}"]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            lines += [name, *_sequence(value, indent + "  ")] if value else [f"{name} []"]
        else:
            lines.append(f"{name} {scalar(value)}")
    return lines


def _sequence(values: Sequence[Value], indent: str) -> list[str]:
    lines: list[str] = []
    for value in values:
        if isinstance(value, Mapping):
            inner = _mapping(value, indent + "  ")
            lines += [f"{indent}- {inner[0].lstrip()}", *inner[1:]]
        else:
            assert isinstance(value, str | int | float | bool) or value is None
            lines.append(f"{indent}- {scalar(value)}")
    return lines
