"""Shapes of measured models by the names that rows use: a config, or an id of the catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.nesting import check_nesting
from generator.problem import CatalogProblems, Problem

REMEDY = 'use {"config": {...}} with a config.json, or {"catalog": "id"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModels:
    """The entries of one file, and everything that is wrong with it."""

    entries: dict[str, dict[str, Any]]
    problems: tuple[Problem, ...] = ()

    def sound(self) -> dict[str, dict[str, Any]]:
        """The entries of a file in which nothing is wrong.

        Raises:
            CatalogProblems: something is; all of it is named.
        """
        if self.problems:
            raise CatalogProblems(self.problems)
        return self.entries


def read_models(path: Path, shown: str = "", *, builds: bool = True) -> MeasuredModels:
    """Every entry of a file and everything that is wrong with it.

    Args:
        path: A JSON file of the form of `catalog/measurements/memory-models.json`.
        shown: How to call the file in messages; its name by default.
        builds: Also try whether the core understands each config.
    """
    shown = shown or path.name
    problems: list[Problem] = []

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            for name in sorted({name for name in names if names.count(name) > 1}):
                message = "stands twice in one object; delete one"
                problems.append(Problem(path=shown, key=name, message=message, code="duplicate-id"))
        return found

    try:
        text = path.read_bytes().decode("utf-8-sig")
        check_nesting(text)
        data = json.loads(text, object_pairs_hook=object_of)
    except OSError as error:
        return _broken(shown, f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return _broken(shown, f"no JSON: {str(error)[:200]}", line)
    if not isinstance(data, dict):
        return _broken(shown, "must hold one JSON object, with models by name")
    entries: dict[str, dict[str, Any]] = {}
    for name, entry in data.items():
        is_sound = isinstance(entry, dict) and (
            isinstance(entry.get("config"), dict) or isinstance(entry.get("catalog"), str)
        )
        if not is_sound:
            message = f"names no shape; {REMEDY}"
            problems.append(Problem(path=shown, key=name, message=message, code="wrong-type"))
            continue
        entries[name] = entry
        if builds and "config" in entry:
            problems += _config_problems(shown, name, entry["config"])
    return MeasuredModels(entries=entries, problems=tuple(problems))


def find_id(name: str, catalog: Catalog) -> str | None:
    """The id in the catalog of the model with this id, alias or Hugging Face name; or None.

    Args:
        name: In any case.
        catalog: The catalog.
    """
    wanted = name.lower()
    for model in catalog.models.values():
        if wanted in (known.lower() for known in (model.id, model.hugging_face, *model.aliases)):
            return model.id
    return None


def find_entry(name: str, entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The entry of a name in any case; empty where there is none.

    Args:
        name: As a row has it.
        entries: By the names that rows use.
    """
    if name in entries:
        return entries[name]
    same = (known for known in entries if known.lower() == name.lower())
    return entries.get(next(same, ""), {})


def find_shape(
    name: str, catalog: Catalog, entries: Mapping[str, Mapping[str, Any]]
) -> str | Mapping[str, Any] | None:
    """The config, or else the id in the catalog, of the model that a row names; or None.

    Args:
        name: As the row has it, in any case.
        catalog: The catalog.
        entries: Configs, or ids in the catalog, by the names that rows use.
    """
    entry = find_entry(name, entries)
    if "config" in entry:
        config: Mapping[str, Any] = entry["config"]
        return config
    return find_id(str(entry.get("catalog", name)), catalog)


def _broken(shown: str, message: str, line: int = 0) -> MeasuredModels:
    problem = Problem(path=shown, line=line, key="-", message=message, code="bad-json")
    return MeasuredModels(entries={}, problems=(problem,))


def _config_problems(shown: str, name: str, config: dict[str, Any]) -> list[Problem]:
    try:
        model_from_config(config, name=name)
    except TrainfitError as error:
        field = error.field.removeprefix("model.")
        return [
            Problem(path=shown, key=f"{name}.{field}", message=error.message, code="broken-model")
        ]
    return []
