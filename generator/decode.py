"""Plain TOML values to records, with every mistake told at its place, not only the first."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from generator.core.nearest import did_you_mean
from generator.problem import Problem

Report = Callable[[Problem], None]


class _Invalid:
    """Marks a value that was reported and must not be used."""


INVALID = _Invalid()


def field_types(record: type[Any]) -> dict[str, Any]:
    """Field names of a record with their resolved types."""
    hints = get_type_hints(record)
    return {item.name: hints[item.name] for item in fields(record)}


def required_fields(record: type[Any]) -> frozenset[str]:
    """Fields without a default."""
    return frozenset(
        item.name
        for item in fields(record)
        if item.default is MISSING and item.default_factory is MISSING
    )


def describe(hint: Any) -> str:
    """A type in words, for error messages."""
    origin = get_origin(hint)
    if origin is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in get_args(hint))
    if origin in (types.UnionType, Union):
        return " or ".join(describe(item) for item in get_args(hint) if item is not type(None))
    if origin is tuple:
        items = get_args(hint)
        if items[-1] is Ellipsis:
            return f"a list of items, each {describe(items[0])}"
        return f"a list of {len(items)}: " + ", then ".join(map(describe, items))
    if is_dataclass(hint) or _is_mapping(hint):
        return "a table"
    names = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}
    return names.get(hint, str(hint))


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    return origin in (dict, Mapping, typing.Mapping)


def show(value: object) -> str:
    """A value as an error message prints it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return str(value)


def _matches(hint: Any, value: object) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(hint, type) and isinstance(value, hint)


def decode(hint: Any, value: object, *, path: str, key: str, report: Report) -> Any:
    """The value as `hint` wants it; `INVALID`, after a report, where it cannot be."""
    origin = get_origin(hint)
    if origin in (types.UnionType, Union):
        members = [item for item in get_args(hint) if item is not type(None)]
        if len(members) == 1:
            return decode(members[0], value, path=path, key=key, report=report)
        if any(_matches(item, value) for item in members):
            return value
    elif is_dataclass(hint) and isinstance(value, dict):
        return decode_record(cast("type[Any]", hint), value, path=path, key=key, report=report)
    elif origin is tuple:
        items = _decode_items(get_args(hint), value, path=path, key=key, report=report)
        if items is not None:
            return INVALID if INVALID in items else tuple(items)
    elif _is_mapping(hint):
        if isinstance(value, dict):
            return value
    elif not is_dataclass(hint) and _matches(hint, value):
        return float(value) if hint is float and isinstance(value, int) else value
    report(wrong_value(path, key, expected=describe(hint), got=show(value)))
    return INVALID


def _decode_items(
    item_types: tuple[Any, ...], value: object, *, path: str, key: str, report: Report
) -> list[Any] | None:
    """The items of a list; None where the value is no such list. A table is a list of its pairs."""
    repeated = item_types[-1] is Ellipsis
    if isinstance(value, dict) and repeated and get_origin(item_types[0]) is tuple:
        value = [[name, item] for name, item in value.items()]
    if not isinstance(value, list):
        return None
    if not repeated and len(value) != len(item_types):
        return None
    hints = [item_types[0]] * len(value) if repeated else item_types
    return [
        decode(hint, item, path=path, key=f"{key}[{index}]", report=report)
        for index, (hint, item) in enumerate(zip(hints, value, strict=True))
    ]


def wrong_value(path: str, key: str, *, expected: str, got: str) -> Problem:
    """The problem of a value of the wrong type."""
    return Problem(
        path=path, key=key, message="wrong value", code="wrong-type", expected=expected, got=got
    )


def report_unknown_keys(
    given: Mapping[str, object], known: tuple[str, ...], *, path: str, key: str, report: Report
) -> None:
    """Reports each key that nobody reads, with the nearest one that somebody does."""
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            place = f"{key}.{name}" if key else name
            message = f"unknown key{hint}"
            report(Problem(path=path, key=place, message=message, code="unknown-field"))


def decode_record(
    record: type[Any],
    data: Mapping[str, object],
    *,
    path: str,
    key: str,
    report: Report,
    places: Mapping[str, str] | None = None,
) -> Any:
    """A record from a table; `INVALID`, after a report for each mistake, where it cannot be built.

    Args:
        record: Dataclass to build.
        data: Its fields.
        path: File, for reports.
        key: Dotted place of the table in the file; empty at the top.
        report: Takes each problem.
        places: Dotted place of fields that lie in another table.
    """
    hints = field_types(record)
    report_unknown_keys(data, tuple(hints), path=path, key=key, report=report)
    values: dict[str, Any] = {}
    sound = True
    for name, hint in hints.items():
        place = (places or {}).get(name, f"{key}.{name}" if key else name)
        if name in data:
            values[name] = decode(hint, data[name], path=path, key=place, report=report)
            sound = sound and values[name] is not INVALID
        elif name in required_fields(record):
            report(
                Problem(
                    path=path,
                    key=place,
                    message="missing; add it",
                    code="missing-field",
                    expected=describe(hint),
                )
            )
            sound = False
    if not sound or any(name not in hints for name in data):
        return INVALID
    return record(**values)
