"""Asks every address that the catalog cites, once, whether it still answers.

    python tools/links.py     # exit status 1 where one is gone

No part of the tests: it needs the network.
"""

import argparse
import sys
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

CATALOG_DIR = Path(__file__).resolve().parents[1] / "catalog"

TIMEOUT_SECONDS = 20
PAUSE_SECONDS = 0.5
"""Between requests to the same host."""

AGENT = "Mozilla/5.0 (compatible; trainfit link check)"

GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
"""Only these say that a page is not there; 403 and 429 are a host's dislike of programs."""

SKIPPED_HOSTS: Mapping[str, str] = {
    "www.ebay.com": "offers end; the price stands with its date",
}
"""Hosts that are not asked, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source of one catalog file."""

    file: Path
    key: str
    url: str | None

    @property
    def place(self) -> str:
        """Where it stands, for a message."""
        return f"{self.file}: sources.{self.key}"


def sources(catalog_dir: Path) -> Iterator[Source]:
    """Every source of every catalog file, in order."""
    for path in sorted(catalog_dir.rglob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for key, source in content.get("sources", {}).items():
            yield Source(file=path.relative_to(catalog_dir.parent), key=key, url=source.get("url"))


def problem_with(url: str) -> str | None:
    """Why an address is of no use any more, or None."""
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        return "is no web address"
    request = urllib.request.Request(url, headers={"User-Agent": AGENT})  # noqa: S310  checked above
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310
            return None
    except urllib.error.HTTPError as error:
        return f"answers {error.code}" if error.code in GONE else None
    except (urllib.error.URLError, OSError) as error:
        return f"cannot be reached ({error})"


def dead_links(catalog_dir: Path) -> list[str]:
    """One line for every address that no longer answers, with all places that cite it."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for source in sources(catalog_dir):
        if source.url:
            places[source.url].append(source.place)
    dead = []
    last_asked: dict[str, float] = {}
    for url in sorted(places):
        host = urllib.parse.urlsplit(url).netloc
        if host in SKIPPED_HOSTS:
            continue
        time.sleep(max(0.0, last_asked.get(host, 0.0) + PAUSE_SECONDS - time.monotonic()))
        problem = problem_with(url)
        last_asked[host] = time.monotonic()
        if problem is not None:
            dead.append(f"{url} {problem}\n    cited by {', '.join(places[url])}")
    return dead


def main() -> int:
    """Ask, and list what is gone."""
    parser = argparse.ArgumentParser(description="Ask every cited address whether it answers.")
    parser.add_argument("--catalog", type=Path, default=CATALOG_DIR)
    found = dead_links(parser.parse_args().catalog)
    print("\n".join(found) or "links: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
