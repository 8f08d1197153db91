"""Who keeps which part: shard divisors per strategy, and what sharding itself needs in passing."""

from dataclasses import dataclass
from functools import lru_cache

from generator.core import params
from generator.core.model import Model
from generator.core.resident import HALF_BYTES, Resident
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

    Shape: weights / N from stage 3, gradients / N from stage 2, master and optimizer states / N from
        stage 1; the largest rank's part, so rounded up.
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
    backward: int
    embedding: int
    step: int


NO_TRANSIENTS = Transients(loss=0, backward=0, embedding=0, step=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Parameters of the largest block and of the root unit (embedding, head, final norm, towers)."""

    block: int
    root: int


@lru_cache(maxsize=512)
def units(model: Model) -> Units:
    """The units that FSDP gathers: one per block, and one for the rest.

    Shape: parameters.
    Source: S-FSDP section 3.2.1 (per-block wrapping).
    """
    in_blocks = 0
    largest = 0
    seen: dict[int, int] = {}
    for group in model.block_groups:
        key = id(group.block)
        if key not in seen:
            seen[key] = sum(t.num_parameters for t in params.block_tensors(model, group.block))
        largest = max(largest, seen[key])
        in_blocks += group.count * seen[key]
    return Units(block=largest, root=params.num_parameters(model) - in_blocks)


def transients(case: Case, resident: Resident) -> Transients:
    """Buffers of the strategy at each instant of a step.

    Counts: DDP's gradient bucket (one more copy of the gradients) unless gradients are views of it; for
        ZeRO-3 and FSDP the gathered root unit, the current and the prefetched block, the block's unsharded
        gradients and the reduce-scatter input.
    Ignores: under the generic stack everything but the DDP bucket, which its lump does not cover.
    Source: S-DDP (gradient buckets), S-FSDP section 3.3 (prefetch), S-TRACKER for the root unit's instant.
    """
    if case.num_gpus == 1:
        return NO_TRANSIENTS
    stack = case.stack
    if case.strategy == "ddp":
        # The bucket lives as long as the DDP wrapper does; as views it replaces the gradients.
        bucket = 0 if stack.gradient_as_bucket_view else resident.gradients
        return Transients(loss=bucket, backward=bucket, embedding=bucket, step=bucket)
    if stack.is_generic or case.strategy != "zero-3":
        return NO_TRANSIENTS
    unit = units(case.model)
    trains_base = case.method == "full"
    reduce_bytes = 4 if stack.reduce_dtype == "fp32" else HALF_BYTES
    block_gather = HALF_BYTES * unit.block
    root_gather = HALF_BYTES * unit.root
    block_reduce = (HALF_BYTES + reduce_bytes) * unit.block if trains_base else 0
    root_reduce = (HALF_BYTES + reduce_bytes) * unit.root if trains_base else 0
    return Transients(
        loss=root_gather,
        backward=root_gather + 2 * block_gather + block_reduce,
        embedding=root_gather + root_reduce,
        step=0,
    )
