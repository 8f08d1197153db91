"""Who keeps which part: shard divisors per strategy, and what sharding itself needs in passing."""

from dataclasses import dataclass

from generator.core.dtypes import FP32_BYTES, HALF_BYTES
from generator.core.resident import Resident
from generator.core.run import Case, shard_divisor
from generator.core.units import ceil_div

DEEPSPEED_BUCKET_ELEMENTS = 500_000_000
"""`allgather_bucket_size` and `reduce_bucket_size` unless the configuration says otherwise; a stack
whose examples set another size says so. Source: deepspeed/runtime/zero/config.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Resident bytes of one GPU."""

    weights: int
    master_weights: int
    gradients: int
    optimizer_states: int

    @property
    def resident(self) -> int:
        """What stays all the time: everything but the gradients."""
        return self.weights + self.master_weights + self.optimizer_states

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

    def own(line: str) -> int:
        divisor = shard_divisor(line, zero_stage=zero_stage, num_gpus=num_gpus)
        return ceil_div(getattr(resident, line), divisor)

    return Shard(
        weights=own("weights"),
        master_weights=own("master_weights"),
        gradients=own("gradients"),
        optimizer_states=own("optimizer_states"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transients:
    """Bytes that sharding or replication adds at each instant, on top of the resident shard.

    `forward_start`: while the first unit is gathered. `loss`: end of forward and loss.
    `head`: the head's backward. `backward_start` and `backward_end`: while the last and the first
    block are recomputed and differentiated. `block_end`: a block's gradients are complete and its
    activations gone. `embedding`: end of backward. `step`: the optimizer step.
    """

    forward_start: int = 0
    loss: int = 0
    head: int = 0
    backward_start: int = 0
    backward_end: int = 0
    last_unshard: int = 0
    block_end: int = 0
    embedding: int = 0
    step: int = 0


NO_TRANSIENTS = Transients()


def transients(case: Case, resident: Resident) -> Transients:
    """Buffers of the strategy at each instant of a step.

    Counts: DDP's gradient bucket (one more copy of the gradients) unless gradients are views of
        it; the gathered units of ZeRO-3 and FSDP with what their reduction needs.
    Ignores: under the generic stack everything but the DDP bucket, which its lump does not cover.
    Source: S-DDP (gradient buckets); `_fsdp1`, `_fsdp2` and `_deepspeed`.
    """
    stack = case.stack
    if stack.zero_engine == "deepspeed" and case.strategy.startswith("zero"):
        return _deepspeed(case, resident)
    if case.num_gpus == 1:
        return NO_TRANSIENTS
    if case.strategy == "ddp":
        # The bucket lives as long as the DDP wrapper does; as views it replaces the gradients.
        bucket = (
            0 if stack.gradient_as_bucket_view or case.steps_in_backward else resident.gradients
        )
        return Transients(
            loss=bucket,
            head=bucket + _new_table(case, resident),
            backward_start=bucket,
            backward_end=bucket,
            embedding=bucket,
            step=bucket,
        )
    if stack.is_generic or case.strategy != "zero-3":
        return NO_TRANSIENTS
    return _fsdp1(case, resident) if stack.fsdp_generation == 1 else _fsdp2(case, resident)


def _new_table(case: Case, resident: Resident) -> int:
    """The head's new gradient, 16-bit and unsharded until its unit is reduced."""
    if not max(resident.head_gradient, resident.embedding_gradient):
        return 0
    element_bytes = FP32_BYTES if case.precision == "fp32" else HALF_BYTES
    return element_bytes * case.model.vocab_size * case.model.hidden_size


def _fsdp1(case: Case, resident: Resident) -> Transients:
    """Gathered root unit, current and prefetched block; for trained units the unsharded 16-bit
    gradients beside the reduce-scatter's input in its own dtype.

    Source: S-FSDP section 3.3 (prefetch); the rows of fms-acceleration under FSDP.
    """
    if case.stack.keeps_gathered:
        whole = resident.weights
        return Transients(
            loss=whole, head=whole, backward_start=whole, backward_end=whole, embedding=whole
        )
    block, root = resident.gathered_block, resident.gathered_root
    reduced = 0
    if case.method == "full":
        reduced = 3 if case.stack.reduce_dtype == "fp32" else 2
    return Transients(
        loss=root,
        head=root + _new_table(case, resident),
        backward_start=root + 2 * block + reduced * block,
        # At the first block there is none left to prefetch.
        backward_end=root + block + reduced * block,
        embedding=root + reduced * root,
    )


def _fsdp2(case: Case, resident: Resident) -> Transients:
    """The same for `fully_shard`, whose buffers outlive the copy-out of the unit before.

    Counts: at the start the root's gather buffer beside its parameters, and the first block's; at
        the loss the root and the last block; in backward the root, its head's unsharded gradient,
        this block, the next one's buffer and the last one's reduce-scatter input; at the end the
        root's gradients and their reduce-scatter input, its parameters being gone.
    Source: S-TRACKER, live tensors of FSDP2 on 2, 4 and 8 ranks, exact for its largest instants.
    """
    block, root = resident.gathered_block, resident.gathered_root
    if case.stack.separate_tables:
        root = min(root, HALF_BYTES * case.model.vocab_size * case.model.hidden_size)
    scatter = head = 0
    if case.method == "full":
        scatter = 2 if case.stack.reduce_dtype == "fp32" else 1
        head = _new_table(case, resident)
    gathered = root + head + 2 * block
    return Transients(
        forward_start=2 * root + 2 * block,
        loss=root + block,
        head=root + block + head,
        backward_start=gathered,
        backward_end=gathered + scatter * block,
        # Buffer, parameters and the next buffer of three blocks are alive at once.
        last_unshard=root + head + 3 * block,
        block_end=gathered + (scatter + 1) * block if case.method == "full" else 0,
        embedding=(1 + scatter) * root if case.method == "full" else root,
    )


MAX_LIVE_PARAMETERS = 1_000_000_000
"""What DeepSpeed's ZeRO-3 keeps gathered (`stage3_max_live_parameters`, default)."""
SUB_GROUP_PARAMETERS = 1_000_000_000
"""What its ZeRO-3 steps at once (`sub_group_size`, default)."""


def _deepspeed(case: Case, resident: Resident) -> Transients:
    """Buffers of DeepSpeed's ZeRO, which exist on one GPU too.

    Counts: ZeRO-1 and 2: two gradient buckets through backward (`overlap_comm`), and at the step
        the rank's gradients in FP32. ZeRO-3: the gathered parameters, up to `MAX_LIVE_PARAMETERS`
        (on one GPU they are views of its own partition), a reduce bucket of h x h elements as
        Transformers sets it, and at the step one sub-group's gradients in FP32. The optimizer's
        own temporaries are as large as what is stepped at once.
    Source: deepspeed 0.10.3 and 0.18.2, runtime/zero/stage_1_and_2.py and stage3.py.
    """
    trained = resident.num_trainable_parameters
    own = ceil_div(trained, case.num_gpus)
    if case.strategy == "zero-3":
        own = min(own, SUB_GROUP_PARAMETERS)
    copies = 0
    if case.optimizer_implementation == "foreach" and case.optimizer.foreach_temporaries:
        copies = case.stack.foreach_copies
    # The 16-bit gradients are flattened and cast in one expression, before the optimizer's own
    # temporaries.
    step = max(HALF_BYTES + FP32_BYTES, FP32_BYTES * (1 + copies)) * own
    if case.strategy != "zero-3":
        buckets = 2 * HALF_BYTES * case.stack.bucket_elements
        return Transients(
            loss=buckets,
            head=buckets + _new_table(case, resident),
            backward_start=buckets,
            backward_end=buckets,
            embedding=buckets,
            step=step,
        )
    bucket = HALF_BYTES * case.model.hidden_size**2
    gathered = bucket
    if case.num_gpus > 1:
        # The module that passes the limit is gathered whole: the head, or the embedding.
        table = HALF_BYTES * case.model.vocab_size * case.model.hidden_size
        gathered += min(HALF_BYTES * MAX_LIVE_PARAMETERS + table, resident.weights)
    block = resident.gathered_block if case.method == "full" else 0
    return Transients(
        loss=gathered,
        head=gathered + _new_table(case, resident),
        backward_start=gathered + block,
        backward_end=gathered + block,
        embedding=gathered,
        step=bucket + step,
    )
