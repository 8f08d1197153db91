"""The site's search as a visitor has it; tests/site/test_search.py asks it much more."""

from tests.browser.support import RunNode

FIRST = {
    "Llama 3.1 8B": "models/llama-3.1-8b/",
    "phi4": "models/phi-4/",
    "2 x h100": "cards/h100-",
    "zero-3": "explain/sharding/",
}
"""Queries, and how the first address begins."""


def test_a_query_finds_first_what_it_names(browse: RunNode, site_url: str) -> None:
    seen = browse("search.mjs", url=site_url, queries=list(FIRST))

    first = {query: links[0].removeprefix(site_url) for query, links in seen["found"].items()}
    wrong = {
        query: first[query] for query, start in FIRST.items() if not first[query].startswith(start)
    }
    assert wrong == {}
    assert seen["errors"] == []
