"""Nothing stands in the catalog that follows from something else in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.card import GPU_COUNTS_BY_FORM, GPUS_PER_NODE_BY_FORM
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

TOTALS = ("num_parameters", "num_params", "n_params", "total_params", "params", "model_size")
"""Names of parameter totals in configs: the core counts; `[expected]` holds published totals."""


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports parameter totals in a config, and card facts that their form already says."""
    for document in documents:
        config = document.data.get("config")
        for name in config if isinstance(config, dict) else ():
            if name in TOTALS:
                message = "a total is counted, never given; move it to [expected]"
                yield _problem(document, f"config.{name}", message)
        if document.kind.name == "card":
            yield from _check_card(document)


def _check_card(document: Document) -> Iterator[Problem]:
    form = document.data.get("form")
    for known, counts in GPU_COUNTS_BY_FORM.items():
        if form != known:
            continue
        follows = {
            "allowed_gpu_counts": list(counts),
            "gpus_per_node": GPUS_PER_NODE_BY_FORM[known],
        }
        for name, value in follows.items():
            if document.facts.get(name) == value:
                message = f'form "{form}" says so already; leave it out'
                yield _problem(document, f"facts.{name}", message)


def _problem(document: Document, key: str, message: str) -> Problem:
    return Problem(path=document.path, key=key, message=message, code="derived-value")
