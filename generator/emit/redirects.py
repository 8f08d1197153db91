"""Pages under former names that lead to the present ones.

Plain files that any static host serves and both site engines copy as they are. A browser without
scripts follows the refresh; with scripts the row id of the old address is kept.
"""

from collections.abc import Container, Iterable, Mapping
from html import escape

from generator.load import ID_PATTERN

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Moved to {name}</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="../{target}/">
<script src="../../assets/javascripts/redirect.js"></script>
<meta http-equiv="refresh" content="0; url=../{target}/">
</head>
<body>
<p>This page moved to <a href="../{target}/">{name}</a>.</p>
</body>
</html>
"""


def addressable(aliases: Iterable[str], *, present: Container[str]) -> list[str]:
    """The aliases that were addresses: those in the form of an id that name nothing else today."""
    return [alias for alias in aliases if ID_PATTERN.fullmatch(alias) and alias not in present]


def redirects(folder: str, entries: Mapping[str, tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Redirect pages of one folder by their path below `docs/`.

    Args:
        folder: `models` or `cards`.
        entries: Name and former ids by present id.
    """
    pages = {}
    for present, (name, aliases) in entries.items():
        for alias in addressable(aliases, present=entries):
            pages[f"{folder}/{alias}/index.html"] = PAGE.format(name=escape(name), target=present)
    return pages
