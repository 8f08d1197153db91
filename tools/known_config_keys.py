"""Lists the config fields of `transformers` that look like a misspelling of one that we read.

    python tools/known_config_keys.py PATH_OF_TRANSFORMERS

prints `generator/core/hf_config/known_keys.py`. Needs the files of the package, not the package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from generator.core.hf_config import ADAPTERS  # noqa: E402
from generator.core.nearest import is_misspelling  # noqa: E402

FIELD = re.compile(r"[a-z][a-z0-9_]{2,60}")
READERS = ROOT / "generator" / "core" / "hf_config"

HEAD = '''\
"""Fields of published configs that are a letter or two off a field that we read, and yet no slip.

From the configuration classes of `transformers` {version}, and the fields of our own readers;
written by tools/known_config_keys.py.
"""

KNOWN_KEYS = frozenset(
    (
'''


def _fields(path: Path) -> Iterator[str]:
    """Annotated fields, arguments of `__init__` and attributes of the classes in one file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id
                elif isinstance(target, ast.Attribute):
                    yield target.attr
        elif isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__post_init__"):
            yield from (each.arg for each in (*node.args.args, *node.args.kwonlyargs))
        elif isinstance(node, ast.Dict):
            yield from _texts(node.keys)
        elif isinstance(node, ast.Call):
            # As in kwargs.pop and getattr.
            yield from _texts(node.args)


def _texts(nodes: Sequence[ast.expr | None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _read_by_us() -> set[str]:
    found: set[str] = set()
    for path in READERS.glob("*.py"):
        if path.name in ("known_keys.py", "unread.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return {name for name in found if FIELD.fullmatch(name)} - set(ADAPTERS)


def main(package: Path) -> None:
    """Prints the module.

    Args:
        package: Folder of the `transformers` package.
    """
    ours = _read_by_us()
    known = set(ours)
    for path in package.rglob("*configuration*.py"):
        known |= {name for name in _fields(path) if FIELD.fullmatch(name)}
    close = sorted(name for name in known if any(is_misspelling(name, each) for each in ours))
    version = next(iter(package.parent.glob("transformers-*.dist-info")), Path("-?.")).stem
    sys.stdout.write(HEAD.replace("{version}", version.partition("-")[2]))
    sys.stdout.writelines(f'        "{name}",\n' for name in close)
    sys.stdout.write("    )\n)\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
