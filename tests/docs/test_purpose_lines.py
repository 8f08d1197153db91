"""Each file says in its first line what it is for; the linter checks Python's docstrings."""

import re
from pathlib import Path

import pytest

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
GENERATED = {"docs/assets/core", "docs/assets/pyodide", "docs/assets/generated"}
PATTERNS = (
    "Makefile",
    ".ci/run",
    "mkdocs.yml",
    ".github/*.yml",
    ".github/workflows/*.yml",
    "docs/assets/**/*.js",
    "docs/assets/**/*.css",
    "docs/overrides/**/*.html",
    "generator/templates/*.jinja",
    "tests/**/*.mjs",
    "tools/*.mjs",
    "tools/*.sh",
)
FILES = [
    path
    for pattern in PATTERNS
    for path in sorted(REPOSITORY_DIR.glob(pattern))
    if not any(path.is_relative_to(REPOSITORY_DIR / folder) for folder in GENERATED)
]
NO_PURPOSE_YET = re.compile(r'#!.*|"use strict";|\{% extends .* %\}|')
PURPOSE = re.compile(r"(?:#|//|/\*\*?|\{#-?)\s*(?:\* )?\S+ \S+")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(REPOSITORY_DIR)))
def test_a_file_begins_with_what_it_is_for(path: Path) -> None:
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    first = next(line for line in lines if not NO_PURPOSE_YET.fullmatch(line))
    if first in {"/**", "/*"}:
        first += next(lines)

    assert PURPOSE.match(first), first
