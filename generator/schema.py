"""JSON Schemas of the catalog's files, generated from the core's record types.

Editors read them through the `#:schema` line at the top of each file. Field descriptions are the
strings under the fields of the records, so there is one definition of each.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from generator.decode import field_types, required_fields
from generator.kinds import KINDS, Kind
from generator.lint.sources import KINDS as SOURCE_KINDS
from generator.lint.sources import PUBLISHED, REQUIRED
from generator.load import ID_PATTERN, SOURCE_KEYS

Schema = dict[str, Any]

PLAIN_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def field_docs(record: type[Any]) -> dict[str, str]:
    """The string under each field of a dataclass, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(record)))
    body = tree.body[0]
    docs: dict[str, str] = {}
    if not isinstance(body, ast.ClassDef):
        return docs
    for field, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            docs[field.target.id] = " ".join(after.value.value.split())
    return docs


def type_schema(hint: Any) -> Schema:
    """The schema of one field's type."""
    origin = get_origin(hint)
    if origin in (types.UnionType, Union):
        members = [item for item in get_args(hint) if item is not type(None)]
        choices = [type_schema(item) for item in members]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin is tuple:
        return _tuple_schema(get_args(hint))
    if is_dataclass(hint):
        return record_schema(hint)  # type: ignore[arg-type]
    if origin is dict or hint is dict or (origin or hint) is Mapping:
        return {"type": "object"}
    return {"type": PLAIN_TYPES[hint]}


def _tuple_schema(items: tuple[Any, ...]) -> Schema:
    if items[-1] is not Ellipsis:
        return {
            "type": "array",
            "prefixItems": [type_schema(item) for item in items],
            "minItems": len(items),
            "maxItems": len(items),
        }
    array = {"type": "array", "items": type_schema(items[0])}
    if get_origin(items[0]) is tuple:
        # Pairs of a name and a value read better as a table.
        value = type_schema(get_args(items[0])[1])
        return {"anyOf": [{"type": "object", "additionalProperties": value}, array]}
    return array


def _properties(record: type[Any], names: tuple[str, ...]) -> dict[str, Schema]:
    hints, docs = field_types(record), field_docs(record)
    defaults = {item.name: item.default for item in fields(record)}
    properties: dict[str, Schema] = {}
    for name in names:
        schema = type_schema(hints[name])
        if docs.get(name):
            schema["description"] = docs[name]
        default = defaults[name]
        if default is not MISSING and default is not None and isinstance(default, str | int | bool):
            schema["default"] = default
        properties[name] = schema
    return properties


def record_schema(record: type[Any]) -> Schema:
    """The schema of a table that holds one record."""
    names = tuple(field_types(record))
    return {
        "type": "object",
        "properties": _properties(record, names),
        "required": [name for name in names if name in required_fields(record)],
        "additionalProperties": False,
    }


def _source_schema() -> Schema:
    texts = {name: {"type": "string", "minLength": 1} for name in SOURCE_KEYS}
    properties: dict[str, Schema] = {
        **texts,
        "url": {"type": "string", "pattern": "^https?://"},
        "published": {
            "type": "string",
            "pattern": f"^({PUBLISHED.pattern})$",
            "description": "A date, a month, a year, or unknown where none is printed.",
        },
        "accessed": {"type": "string", "format": "date", "description": "When it was read."},
        "kind": {"enum": list(SOURCE_KINDS)},
        "note": {"type": "string", "description": "What a reader of the source must know."},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(REQUIRED),
        "additionalProperties": False,
    }


def _citation_schema() -> Schema:
    keys: Schema = {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]
    }
    table = {
        "type": "object",
        "properties": {
            "source": keys,
            "note": {"type": "string", "description": "What was done to the printed figure."},
        },
        "required": ["source"],
        "additionalProperties": False,
    }
    return {"anyOf": [*keys["anyOf"], table]}


def kind_schema(kind: Kind) -> Schema:
    """The schema of one kind of catalog file."""
    required = required_fields(kind.record) - set(kind.filled_in)
    identity = tuple(name for name in kind.identity if name in field_types(kind.record))
    properties = _properties(kind.record, identity)
    properties["id"]["pattern"] = f"^{ID_PATTERN.pattern}$"
    facts = _properties(kind.record, kind.fact_keys)
    needed = [name for name in identity if name in required]
    if kind.facts:
        properties[kind.facts] = {
            "type": "object",
            "properties": facts,
            "required": [name for name in kind.fact_keys if name in required],
            "additionalProperties": False,
        }
        needed.append(kind.facts)
    else:
        properties |= facts
        needed += [name for name in kind.fact_keys if name in required]
    properties["sources"] = {
        "type": "object",
        "additionalProperties": _source_schema(),
        "description": "Where the facts come from, by a short name.",
    }
    properties["cite"] = {
        "type": "object",
        "additionalProperties": _citation_schema(),
        "description": "The source of every fact: its name, or a table of source and note.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"trainfit {kind.name}",
        "description": " ".join((inspect.getdoc(kind.record) or "").split("\n\n")[0].split()),
        "type": "object",
        "properties": properties,
        "required": [*needed, "sources", "cite"],
        "additionalProperties": False,
    }


def schema_texts() -> dict[str, str]:
    """File names and texts of all schemas."""
    return {
        f"{kind.name}.schema.json": json.dumps(kind_schema(kind), indent=2, ensure_ascii=False)
        + "\n"
        for kind in KINDS
    }


def write(root: Path) -> None:
    """Writes all schemas.

    Args:
        root: The `catalog` folder.
    """
    folder = root / "schema"
    folder.mkdir(exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_text(text, encoding="utf-8")


def check(root: Path) -> list[str]:
    """Schemas that are missing or are not what the records say, by path.

    Args:
        root: The `catalog` folder.
    """
    stale = []
    for name, text in schema_texts().items():
        path = root / "schema" / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(f"{root.name}/schema/{name}")
    return stale
