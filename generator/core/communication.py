"""Bytes that each GPU sends per optimizer step under a strategy.

Symbols: N GPUs, g gradient buffer (bytes of all trained parameters' gradients), w weight bytes,
k micro-batches per step. A ring collective passes N - 1 of N parts on: an all-gather or a
reduce-scatter sends (N - 1) / N of the buffer, an all-reduce is one of each.
"""

from dataclasses import dataclass

from generator.core.errors import TrainfitError
from generator.core.run import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """Traffic of one optimizer step, as one GPU sends it."""

    bytes_sent_per_gpu_per_step: int
    relative_to_ddp: float
    """Against DDP with the same trained parameters and GPUs; 0 where neither sends anything."""
    explanation: str


def ring_bytes(buffer_bytes: int, num_gpus: int) -> int:
    """Bytes that one GPU sends in a ring all-gather or reduce-scatter of a buffer.

    Shape: (N - 1) / N of the buffer.
    Counts: sent bytes; as many are received.

    Source: S-ZERO section 7.1; checked by tests/core/test_communication.py.
    """
    return round(buffer_bytes * (num_gpus - 1) / num_gpus)


def communication(
    *,
    num_trainable_parameters: int,
    weight_bytes: int,
    strategy: Strategy,
    num_gpus: int,
    gradient_bytes_per_parameter: int = 2,
    gradient_accumulation_steps: int = 1,
) -> Communication:
    """Bytes that each GPU sends per optimizer step.

    Shape: (N-1)/N of 2 g for DDP and ZeRO-1, of (k + 1) g for ZeRO-2, of k (2 w + g) for ZeRO-3.
        The trained weights that ZeRO-1 and ZeRO-2 gather after the update are as wide as their
        gradients.
    Counts: only trained parameters have gradients, so LoRA sends little under DDP and ZeRO-1/2;
        under ZeRO-3 the frozen base is gathered all the same, twice per micro-batch. DDP and ZeRO-1
        reduce once per step. ZeRO-2 and ZeRO-3 keep only a shard of the gradients and reduce per
        micro-batch.
    Ignores: loss scalars and norms for clipping; hierarchical and hybrid sharding.

    Args:
        num_trainable_parameters: Parameters with a gradient.
        weight_bytes: All weights as they are gathered: 16 bit as a rule, 4 bit for a QLoRA base.
        gradient_bytes_per_parameter: Width in which gradients travel.
        gradient_accumulation_steps: Micro-batches per optimizer step.

    Raises:
        TrainfitError: fewer than one GPU or micro-batch (code `out-of-range`).

    Source: S-ZERO section 7 (F19); checked by tests/core/test_communication.py.
    """
    for field, value in (
        ("num_gpus", num_gpus),
        ("gradient_accumulation_steps", gradient_accumulation_steps),
    ):
        if value < 1:
            raise TrainfitError("out-of-range", field, f"{field} is {value}; use 1 or more.")
    gradients = num_trainable_parameters * gradient_bytes_per_parameter
    gradients_once = ring_bytes(gradients, num_gpus)
    ddp_bytes = 2 * gradients_once
    if num_gpus == 1 or strategy == "single":
        return Communication(
            bytes_sent_per_gpu_per_step=0,
            relative_to_ddp=0.0,
            explanation="One GPU sends nothing.",
        )
    micro_batches = gradient_accumulation_steps
    if strategy == "ddp":
        total = ddp_bytes
        explanation = (
            "DDP all-reduces the gradients once per step: 2 (N-1)/N of the gradient buffer "
            "in a ring."
        )
    elif strategy in ("zero-1", "zero-2"):
        reductions = 1 if strategy == "zero-1" else micro_batches
        total = (reductions + 1) * gradients_once
        explanation = (
            "ZeRO-1 and ZeRO-2 reduce-scatter the gradients and all-gather the updated weights: "
            "together what DDP's all-reduce sends."
        )
        if reductions > 1:
            explanation += (
                " ZeRO-2 keeps only a shard of the gradients, so it reduces them after each of "
                f"the {reductions} micro-batches."
            )
    else:
        total = micro_batches * (2 * ring_bytes(weight_bytes, num_gpus) + gradients_once)
        explanation = (
            "ZeRO-3 and FSDP gather every layer's weights before its forward and again before its "
            "backward, and reduce-scatter the gradients: 3 (N-1)/N of the weights in full training."
        )
        if micro_batches > 1:
            explanation += (
                f" All three repeat for each of the {micro_batches} micro-batches of a step."
            )
    return Communication(
        bytes_sent_per_gpu_per_step=total,
        relative_to_ddp=total / ddp_bytes if ddp_bytes else 0.0,
        explanation=explanation,
    )
