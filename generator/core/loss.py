"""Logits and cross-entropy: what is alive at the loss, per implementation.

T tokens of the micro-batch, V vocabulary, h hidden size.
"""

from dataclasses import dataclass

from generator.core.run import Loss
from generator.core.stack import StandardLoss

# Bytes per logit alive at the worst instant of each pass, 16-bit model output, labels shifted.
# Forward: 16-bit logits 2, FP32 copy 4, log-softmax 4. Backward: log-softmax 4, its incoming gradient 4,
# the result 4; the 16-bit logits are free by then. Source: S-TRACKER (PyTorch allocator traces, torch 2.13).
UPCAST_FORWARD_BYTES = 10
UPCAST_BACKWARD_BYTES = 12
# The shifted FP32 logits are copied to be contiguous: one more FP32 buffer in forward, and the copy and the
# log-softmax both live in backward. Source: S-TRACKER, Transformers 4.48.
SHIFTED_FORWARD_BYTES = 14
# A Triton cross-entropy overwrites the 16-bit logits with their gradient. Source: S-LIGER, section 3.2.
KERNEL_BYTES = 2
SOFTCAP_BYTES = 2
"""A final soft cap keeps tanh's 16-bit output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBytes:
    """Bytes of logits and their cross-entropy at the worst instant of forward and of backward."""

    forward: int
    backward: int


def loss_bytes(
    *,
    num_tokens: int,
    vocab_size: int,
    hidden_size: int,
    loss: Loss,
    standard_loss: StandardLoss,
    chunk_tokens: int,
    softcap: bool,
    trains_head: bool,
) -> LossBytes:
    """Bytes of logits and cross-entropy of one micro-batch on one GPU.

    Shape: [T, V] per copy; `chunked` holds [chunk, V] at a time, `fused` never holds [T, V].
    Counts: 16-bit logits, FP32 copies, the gradient of the logits; for `chunked` and `fused` the FP32
    gradient of the hidden states is not needed beyond [T, h] in 16 bit, computed in the forward pass.
    Ignores: the head's own gradient, which is a gradient.

    Args:
        chunk_tokens: Rows of logits that a chunked or fused loss holds at once.
        trains_head: The head is trained, so a fused loss accumulates its gradient in the forward pass
            (counted with the gradients).

    Source: S-TRACKER for the copies, S-LIGER for the fused form.
    """
    del trains_head
    if loss == "standard":
        softcap_bytes = SOFTCAP_BYTES if softcap else 0
        if standard_loss == "kernel":
            per_logit = KERNEL_BYTES + softcap_bytes
            return LossBytes(
                forward=per_logit * num_tokens * vocab_size,
                backward=per_logit * num_tokens * vocab_size,
            )
        forward = SHIFTED_FORWARD_BYTES if standard_loss == "upcast-shifted" else UPCAST_FORWARD_BYTES
        return LossBytes(
            forward=(forward + softcap_bytes) * num_tokens * vocab_size,
            backward=(UPCAST_BACKWARD_BYTES + softcap_bytes) * num_tokens * vocab_size,
        )
    rows = min(chunk_tokens, num_tokens)
    hidden_gradient = 2 * num_tokens * hidden_size
    chunk = UPCAST_BACKWARD_BYTES * rows * vocab_size
    return LossBytes(forward=chunk + hidden_gradient, backward=chunk + hidden_gradient)
