"""The site's search brings what people type to the page that they mean."""

from tests.browser.support import RunNode

FIRST = {
    "Llama 3.1 8B": "models/llama-3.1-8b/",
    "llama-3.1-8b": "models/llama-3.1-8b/",
    "qwen2.5 14b": "models/qwen2.5-14b/",
    "gemma 3": "models/gemma-3-",
    "phi-4": "models/phi-4/",
    "mixtral 8x7b": "models/mixtral-8x7b-v0.1/",
    "h100": "cards/h100-",
    "2 x h100": "cards/h100-",
    "8xH100": "cards/h100-",
    "2x 4090": "cards/rtx-4090-24gb/",
    "zero-3": "explain/sharding/",
    "oom": "explain/out-of-memory/",
    "8-bit adam": "explain/optimizers/",
    "gradient checkpointing": "explain/activations/",
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
