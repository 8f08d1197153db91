"""A value that is not what the source prints says how it came from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

TRAPS = {
    "memory_usable_bytes": "say which GiB reading it is",
    "peak_dense_bf16_flops_per_second": "say whether the source prints it dense or with sparsity",
    "peak_dense_fp16_flops_per_second": "say whether the source prints it dense or with sparsity",
    "peak_dense_fp8_flops_per_second": "say whether the source prints it dense or with sparsity",
    "link_bytes_per_second": "say whether the source prints one direction or both",
}
"""Facts that sources print in another unit, form or direction more often than not."""


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:  # noqa: ARG001
    """Reports facts among the known traps whose citation has no note."""
    for document in documents:
        for fact, citation in document.citations.items():
            if fact in TRAPS and fact in document.facts and not citation.note.strip():
                yield Problem(
                    path=document.path,
                    key=f"cite.{fact}",
                    message=f"the citation needs a note: {TRAPS[fact]}",
                    code="missing-note",
                )
