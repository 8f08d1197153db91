"""Scratch memory that CUDA kernels allocate and free within one operator, which no dispatcher sees.

PyTorch takes it from the same allocator as tensors, so `max_memory_allocated` counts it. The
formulas follow the CUDA sources. The softmax one was confirmed on a T4 reading to 18 MiB; the
attention ones rarely decide a peak and were not confirmed.
"""

from collections.abc import Callable
from typing import Any

EMBEDDING_SORT_THRESHOLD = 3072
"""Above this many tokens the embedding's backward sorts the ids and sums in segments (ATen
Embedding.cu)."""

EMBEDDING_SEGMENT_TOKENS = 10
"""Tokens of one partial segment in that kernel (ATen EmbeddingBackwardKernel.cu)."""


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _flash_backward(arguments: tuple[Any, ...]) -> int:
    """FP32 accumulator of the query gradient; per-query-head key and value gradients under
    grouped attention."""
    query, key = arguments[1], arguments[2]
    batch, heads, length, head_dim = query.shape
    padded_length, padded_head = _round_up(length, 128), _round_up(head_dim, 32)
    workspace = batch * padded_length * heads * padded_head * 4 + batch * heads * padded_length * 4
    if key.shape[1] != heads:
        workspace += 2 * batch * key.shape[2] * heads * head_dim * query.element_size()
    return int(workspace)


def _efficient_backward(arguments: tuple[Any, ...]) -> int:
    """Row sums of gradient times output, and an FP32 accumulator of the query gradient."""
    query = arguments[1]
    batch, heads, length, head_dim = query.shape
    workspace = batch * heads * length * 4
    if head_dim > 128 or query.element_size() != 4:
        workspace += batch * heads * length * head_dim * 4
    return int(workspace)


def _softmax_backward(arguments: tuple[Any, ...]) -> int:
    """The product of gradient and output (SoftMax.cu); log_softmax has no such tensor."""
    return int(arguments[0].numel() * arguments[0].element_size())


def _embedding_backward(arguments: tuple[Any, ...]) -> int:
    """Sorted ids, and FP32 partial sums of the segments."""
    gradient, ids, vocab_size = arguments[:3]
    tokens, hidden_size = ids.numel(), gradient.shape[-1]
    workspace = 4 * tokens * 8
    if tokens > EMBEDDING_SORT_THRESHOLD or (len(arguments) > 3 and arguments[3] >= 0):
        workspace += (
            (tokens // EMBEDDING_SEGMENT_TOKENS + min(tokens, vocab_size)) * hidden_size * 4
        )
    return int(workspace)


_WORKSPACES: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "_scaled_dot_product_flash_attention_backward": _flash_backward,
    "_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    "_softmax_backward_data": _softmax_backward,
    "embedding_dense_backward": _embedding_backward,
}


def workspace_bytes(op: str, arguments: tuple[Any, ...]) -> int:
    """Bytes that the kernel of `op` takes for itself while it runs."""
    workspace = _WORKSPACES.get(op)
    return 0 if workspace is None else workspace(arguments)
