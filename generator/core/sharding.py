"""Who keeps which part: shard divisors per strategy, and what sharding itself needs in passing."""

from dataclasses import dataclass

from generator.core.resident import Resident
from generator.core.run import Case
from generator.core.units import ceil_div


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Resident bytes of one GPU."""

    weights: int
    master_weights: int
    gradients: int
    optimizer_states: int

    @property
    def total(self) -> int:
        """Static state of one GPU."""
        return self.weights + self.master_weights + self.gradients + self.optimizer_states


def shard(resident: Resident, *, zero_stage: int, num_gpus: int) -> Shard:
    """Resident bytes of one GPU out of `num_gpus`.

    Shape: weights / N from stage 3, gradients / N from stage 2, master and optimizer states / N
        from stage 1; the largest rank's part, so rounded up.
    Source: S-ZERO section 5; the FP32 master is part of the optimizer partition.
    """
    return Shard(
        weights=ceil_div(resident.weights, num_gpus if zero_stage >= 3 else 1),
        gradients=ceil_div(resident.gradients, num_gpus if zero_stage >= 2 else 1),
        master_weights=ceil_div(resident.master_weights, num_gpus if zero_stage >= 1 else 1),
        optimizer_states=ceil_div(resident.optimizer_states, num_gpus if zero_stage >= 1 else 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transients:
    """Bytes that sharding or replication adds at each instant, on top of the resident shard."""

    loss: int
    backward_start: int
    """Current and prefetched block; at the first block there is none left to prefetch."""
    backward_end: int
    embedding: int
    step: int


NO_TRANSIENTS = Transients(loss=0, backward_start=0, backward_end=0, embedding=0, step=0)


def transients(case: Case, resident: Resident) -> Transients:
    """Buffers of the strategy at each instant of a step.

    Counts: DDP's gradient bucket (one more copy of the gradients) unless gradients are views of
        it; for ZeRO-3 and FSDP the gathered root unit, the current and the prefetched block, the
        block's unsharded gradients and the reduce-scatter input.
    Ignores: under the generic stack everything but the DDP bucket, which its lump does not cover.
    Source: S-DDP (gradient buckets), S-FSDP section 3.3 (prefetch), S-TRACKER for the root unit's
        instant.
    """
    if case.num_gpus == 1:
        return NO_TRANSIENTS
    stack = case.stack
    if case.strategy == "ddp":
        # The bucket lives as long as the DDP wrapper does; as views it replaces the gradients.
        bucket = 0 if stack.gradient_as_bucket_view else resident.gradients
        return Transients(
            loss=bucket, backward_start=bucket, backward_end=bucket, embedding=bucket, step=bucket
        )
    if stack.is_generic or case.strategy != "zero-3":
        return NO_TRANSIENTS
    block, root = resident.gathered_block, resident.gathered_root
    block_reduce = root_reduce = 0
    if case.method == "full":
        # Unsharded 16-bit gradients beside the reduce-scatter's input in its own dtype.
        factor = 3 if stack.reduce_dtype == "fp32" else 2
        block_reduce, root_reduce = factor * block, factor * root
    return Transients(
        loss=root,
        backward_start=root + 2 * block + block_reduce,
        backward_end=root + block + block_reduce,
        embedding=root + root_reduce,
        step=0,
    )
