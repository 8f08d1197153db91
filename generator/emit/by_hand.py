"""Which pages are written by hand, and the address of each."""

from pathlib import Path

NOT_BY_HAND = ("models", "cards", "api", "assets", "overrides")
"""Folders of `docs/` that hold what the generator writes, files for the browser, or templates."""


def pages_by_hand(docs: Path) -> list[Path]:
    """The Markdown files of hand-written pages, in order; the generator's folders are not entered,
    since a build may be exchanging them.
    """
    found: list[Path] = []
    for entry in docs.glob("*"):
        if entry.is_dir() and entry.name not in NOT_BY_HAND:
            found += entry.rglob("*.md")
        elif entry.suffix == ".md":
            found.append(entry)
    return sorted(found)


def address_of(relative: Path) -> str:
    """Address of a Markdown file below `docs/`: `explain/units.md` is `explain/units/`."""
    parts = list(relative.with_suffix("").parts)
    if parts[-1] == "index":
        parts.pop()
    return "".join(f"{part}/" for part in parts)
