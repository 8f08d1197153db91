"""Pages as the macros plugin renders them, without running the site engine."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from generator import macros

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
EXPLAIN = DOCS / "explain"


class _Environment:
    """The two registries of the macros plugin that the macro modules fill."""

    macro: Callable[[Callable[..., Any]], Callable[..., Any]]
    filter: Callable[[Callable[..., Any]], Callable[..., Any]]

    def __init__(self) -> None:
        self.jinja = jinja2.Environment(undefined=jinja2.StrictUndefined)
        self.variables: Any = self.jinja.globals
        self.macro = self._into(self.jinja.globals)
        self.filter = self._into(self.jinja.filters)

    @staticmethod
    def _into(registry: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            registry[function.__name__] = function
            return function

        return register


@cache
def environment() -> jinja2.Environment:
    """Jinja as the site build sets it up, strict about names."""
    env = _Environment()
    macros.define_env(env)
    return env.jinja


def source(name: str) -> str:
    """A page of docs/explain as it is written, front matter removed."""
    text = (EXPLAIN / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)


def has_macros(name: str) -> bool:
    """The page opts in to macros."""
    head = (EXPLAIN / f"{name}.md").read_text(encoding="utf-8").split("---")[1]
    return "render_macros: true" in head


@cache
def rendered(name: str) -> str:
    """A page of docs/explain as Markdown with its numbers filled in."""
    if not has_macros(name):
        return source(name)
    return environment().from_string(source(name)).render()


@cache
def text(name: str) -> str:
    """A page as a reader sees its words: no pictures, no markup, one space between words."""
    page = re.sub(r"<svg.*?</svg>", " ", rendered(name), flags=re.DOTALL)
    page = re.sub(r"<[^>]+>", "", page)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page)
    page = re.sub(r"\{ #[^}]*\}", "", page)
    page = re.sub(r"[*`|]", " ", page)
    return re.sub(r"\s+", " ", page)


def pages() -> list[str]:
    """Names of all explanation pages."""
    return sorted(path.stem for path in EXPLAIN.glob("*.md"))
