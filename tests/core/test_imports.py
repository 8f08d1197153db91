"""Who may import whom: the core stays pure, and data flows one way."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
GENERATOR_DIR = REPOSITORY_DIR / "generator"
CORE_DIR = GENERATOR_DIR / "core"

ALLOWED_IN_CORE = {
    "collections",
    "dataclasses",
    "functools",
    "json",
    "math",
    "typing",
}
"""Loaded at Pyodide's start anyway; all else costs the reader's time or touches the world."""

LAYERS = {"core": 0, "tables": 2, "macros": 3, "emit": 3, "__main__": 4}
"""A module imports from its own layer and from lower ones."""

OTHER_LAYER = 1
"""Loading, lint, schema, the matrix, scoring."""


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported_modules(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, inside functions too, as an absolute name."""
    package = path.relative_to(REPOSITORY_DIR).with_suffix("").parts[:-1]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            # `from generator.core import memory` names a module too, where there is one.
            folder = REPOSITORY_DIR.joinpath(*module.split("."))
            for alias in node.names:
                if (folder / f"{alias.name}.py").is_file() or (folder / alias.name).is_dir():
                    yield f"{module}.{alias.name}"


def module_name(path: Path) -> str:
    parts = path.relative_to(REPOSITORY_DIR).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> int:
    part = module.split(".")[1] if "." in module else ""
    return LAYERS.get("macros" if part.startswith("macros") else part, OTHER_LAYER)


CORE_FILES = sorted(CORE_DIR.rglob("*.py"))
GENERATOR_FILES = sorted(GENERATOR_DIR.rglob("*.py"))


@pytest.mark.parametrize("path", CORE_FILES, ids=module_name)
def test_core_imports_itself_and_a_short_list_of_standard_modules(path: Path) -> None:
    foreign = {
        name
        for name in imported_modules(path)
        if not name.startswith("generator.core") and name.split(".")[0] not in ALLOWED_IN_CORE
    }

    assert foreign == set()


def test_the_short_list_holds_no_module_that_the_core_has_given_up() -> None:
    used = {name.split(".")[0] for path in CORE_FILES for name in imported_modules(path)}

    assert used - {"generator"} == ALLOWED_IN_CORE


@pytest.mark.parametrize("path", CORE_FILES, ids=module_name)
def test_core_touches_nothing_outside_itself(path: Path) -> None:
    reaching_out = {"open", "print", "input", "exec", "eval", "compile", "__import__", "globals"}
    called = {
        node.func.id
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert called & reaching_out == set()


def test_core_modules_do_not_import_each_other_in_a_circle() -> None:
    known = {module_name(path) for path in CORE_FILES}
    graph = {
        module_name(path): {
            name
            for name in imported_modules(path)
            # A package's own parts may be reached through its __init__.
            if name in known and name != module_name(path) and name != "generator.core"
        }
        for path in CORE_FILES
        if path.name != "__init__.py"
    }

    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"circle of imports: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("path", GENERATOR_FILES, ids=module_name)
def test_data_flows_one_way(path: Path) -> None:
    importer = module_name(path)
    upward = {
        name
        for name in imported_modules(path)
        if name.startswith("generator.") and layer(name) > layer(importer)
    }

    assert upward == set()


@pytest.mark.parametrize("path", GENERATOR_FILES, ids=module_name)
def test_nothing_imports_the_tests_the_tools_or_the_command_line(path: Path) -> None:
    forbidden = {
        name
        for name in imported_modules(path)
        if name.split(".")[0] in {"tests", "tools"} or name == "generator.__main__"
    }

    assert forbidden == set()


def test_only_the_oracle_and_the_count_of_real_classes_need_pytorch() -> None:
    heavy = {"torch", "transformers", "peft", "accelerate", "bitsandbytes"}
    importers = {
        module_name(path)
        for path in GENERATOR_FILES
        if "oracle" not in path.parts
        and path.name != "verify_models.py"
        and heavy & {name.split(".")[0] for name in imported_modules(path)}
    }

    assert importers == set()


def test_the_allowed_list_holds_standard_modules_only() -> None:
    assert sys.stdlib_module_names >= ALLOWED_IN_CORE
