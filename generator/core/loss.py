"""Logits and cross-entropy: what is alive at the loss, per implementation.

T tokens of the micro-batch, V vocabulary, h hidden size.
"""

from dataclasses import dataclass

from generator.core.run import Loss
from generator.core.stack import Stack, StandardLoss
from generator.core.units import ceil_div

# Bytes per logit alive at the worst instant of each pass, 16-bit model output.
# `upcast`, forward: 16-bit logits 2, FP32 copy 4, log-softmax 4. Backward: log-softmax 4, its
# incoming gradient 4, the result 4; the 16-bit logits are free by then. `upcast-shifted` copies
# the shifted FP32 logits first, 4 more in forward. `upcast-rebound` has let go of the 16-bit
# logits.
# Source: S-TRACKER (PyTorch allocator traces, torch 2.13) and the loss functions of Transformers.
FORWARD_BYTES: dict[StandardLoss, int] = {
    "upcast": 10,
    "upcast-shifted": 14,
    "upcast-rebound": 12,
    "upcast-held": 12,
    "compiled": 2,
}
BACKWARD_BYTES: dict[StandardLoss, int] = {
    "upcast": 12,
    "upcast-shifted": 12,
    "upcast-rebound": 12,
    "upcast-held": 16,
    "compiled": 4,
}
CHUNK_BACKWARD_BYTES = 12
"""A chunk that is differentiated before the next, as under `upcast`."""
LOGIT_BYTES = 2
"""One 16-bit logit."""
AUTOCAST_ONLY_BYTES = 12
"""Classes that do not upcast: 16-bit logits 2, their shifted copy 2, autocast's FP32 copy 4 and
log-softmax 4."""
HALF_LOSS_BYTES = 8
"""The same without autocast, at the loss's backward: logits 2, log-softmax 2, its gradient 2, the
result 2."""
LOG_SOFTMAX_BYTES = 4
"""What an in-place cross-entropy kernel does without."""
SOFTCAP_BYTES = 2
"""A final soft cap keeps tanh's 16-bit output."""
CHUNK_GRADIENT_BYTES = 8
"""FP32 gradients of a chunk's log-softmax and of its logits, beside what is kept of all chunks."""
CHUNK_BYTES = 6
"""A fused linear loss holds one chunk's 16-bit logits and their FP32 copy. Source: S-LIGER."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBytes:
    """Bytes of logits and their cross-entropy at the worst instant of forward and of backward.

    `head`: the 16-bit logits as they come out of the head. `returned`: as the model hands them
    over.
    `held`: what the training loop still keeps of the micro-batch before.
    """

    forward: int
    backward: int
    head: int = 0
    returned: int = 0
    held: int = 0


def fused_chunk_tokens(*, num_tokens: int, vocab_size: int, hidden_size: int) -> int:
    """Rows of logits that a fused linear cross-entropy holds at once.

    Shape: tokens; the chunk's logits are about as large as the hidden states: T / ceil(V / h),
        rounded up to a power of two.
    Source: S-LIGER, `fused_linear_cross_entropy.py`.
    """
    rows = ceil_div(num_tokens, ceil_div(vocab_size, hidden_size))
    return min(num_tokens, 1 << (rows - 1).bit_length())


def chunk_tokens(*, stack: Stack, num_tokens: int, micro_batch_size: int) -> int:
    """Rows of logits in one chunk of a chunked loss.

    Shape: tokens; a share of the micro-batch, or a number of positions of each sequence or of all.
    Source: the records in catalog/stacks.
    """
    if stack.loss_chunks:
        return ceil_div(num_tokens, stack.loss_chunks)
    rows = stack.loss_chunk_tokens * (micro_batch_size if stack.chunks_positions else 1)
    return min(rows, num_tokens)


def loss_bytes(
    *,
    num_tokens: int,
    micro_batch_size: int,
    vocab_size: int,
    hidden_size: int,
    loss: Loss,
    stack: Stack,
    softcap: bool,
    upcasts: bool = True,
    autocast: bool = True,
    logit_bytes: int = LOGIT_BYTES,
) -> LossBytes:
    """Bytes of logits and cross-entropy of one micro-batch on one GPU.

    Shape: [T, V] per copy; `chunked` and `fused` hold [chunk, V] at a time, unless the stack keeps
        the chunks until backward.
    Counts: 16-bit logits, FP32 copies, the gradient of the logits; for losses that differentiate
        chunk by chunk also the 16-bit gradient of the hidden states [T, h].
    Ignores: the head's own gradient, which is a gradient.

    Args:
        upcasts: The model's class casts the logits to FP32.
        autocast: Cross-entropy casts them even so.
        logit_bytes: Bytes of a logit as it comes out of the head.

    Source: S-TRACKER for the copies, S-LIGER for the fused form.
    """
    logits = num_tokens * vocab_size
    extra = SOFTCAP_BYTES if softcap else 0
    if loss == "standard":
        forward = FORWARD_BYTES[stack.standard_loss] + extra
        backward = BACKWARD_BYTES[stack.standard_loss] + extra
        if stack.standard_loss != "upcast" and not upcasts:
            forward = backward = AUTOCAST_ONLY_BYTES if autocast else HALF_LOSS_BYTES
        if stack.holds_outputs:
            backward += logit_bytes
        if stack.in_place_loss:
            forward -= LOG_SOFTMAX_BYTES // 2 if forward == HALF_LOSS_BYTES else LOG_SOFTMAX_BYTES
            backward = min(backward, forward)
        return LossBytes(forward=forward * logits, backward=backward * logits)
    rows = chunk_tokens(stack=stack, num_tokens=num_tokens, micro_batch_size=micro_batch_size)
    if loss == "chunked" and stack.kept_logit_bytes:
        # LitGPT's chunks of logits go past the soft cap.
        kept = stack.kept_logit_bytes * logits
        return LossBytes(
            forward=kept,
            backward=kept + CHUNK_GRADIENT_BYTES * rows * vocab_size,
            head=LOGIT_BYTES * logits,
            returned=(LOGIT_BYTES + stack.held_logit_bytes) * logits,
            held=stack.held_logit_bytes * logits,
        )
    hidden_gradient = 2 * num_tokens * hidden_size
    if loss == "chunked":
        chunk = CHUNK_BACKWARD_BYTES * rows * vocab_size
    else:
        rows = fused_chunk_tokens(
            num_tokens=num_tokens, vocab_size=vocab_size, hidden_size=hidden_size
        )
        chunk = CHUNK_BYTES * rows * vocab_size
    both = chunk + hidden_gradient
    return LossBytes(forward=both, backward=both)
