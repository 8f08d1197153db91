"""The core knows architectures, not models: no name of one decides anything."""

import ast
import csv
import json
from collections.abc import Iterator
from pathlib import Path

from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR

CORE = Path(__file__).resolve().parents[2] / "generator" / "core"
WRITES_FILES_OF_TOOLS = ("launch",)
"""Launch files name a tool's own builders; what they hold is nothing that an estimate reads."""


def _code_strings(path: Path) -> Iterator[str]:
    """String literals of a module that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documentation:
            continue
        if isinstance(node.value, str):
            yield node.value


def _estimating_modules() -> list[Path]:
    return [
        path
        for path in sorted(CORE.rglob("*.py"))
        if path.relative_to(CORE).parts[0] not in WRITES_FILES_OF_TOOLS
    ]


def _model_names() -> set[str]:
    """Ids and names of all known models, without those that are an architecture's name as well."""
    catalog = load_catalog()
    names: set[str] = set()
    types: set[str] = set()
    for entry in catalog.models.values():
        names |= {entry.id, entry.name.lower(), entry.hugging_face.lower()}
        names.add(entry.hugging_face.rpartition("/")[2].lower())
        types.add(entry.model.model_type)
    path = MEASUREMENTS_DIR / "memory-models.json"
    for name, entry in json.loads(path.read_text(encoding="utf-8")).items():
        names |= {name.lower(), name.rpartition("/")[2].lower()}
        types.add(entry["config"].get("model_type", ""))
    return names - types


def test_no_model_is_named_in_the_code_of_the_core() -> None:
    names = _model_names()
    named = {
        f"{path.relative_to(CORE)}: {text}"
        for path in _estimating_modules()
        for text in _code_strings(path)
        if text.lower() in names
    }

    assert named == set()


def test_no_measurement_is_named_in_the_core_or_in_what_scores_it() -> None:
    with (MEASUREMENTS_DIR / "memory.csv").open(encoding="utf-8") as stream:
        ids = {row["id"] for row in csv.DictReader(stream)}
    modules = [*_estimating_modules(), *sorted((CORE.parent / "accuracy").glob("*.py"))]
    named = {
        f"{path.name}: {text}"
        for path in modules
        for text in _code_strings(path)
        if any(row in text for row in ids)
    }

    assert named == set()
