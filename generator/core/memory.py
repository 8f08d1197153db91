"""Memory of one GPU through a step: what is resident at each instant, and the worst of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from generator.core.dtypes import FP32_BYTES, HALF_BYTES
from generator.core.micro_batch import MicroBatch, micro_batch
from generator.core.resident import Resident, resident
from generator.core.run import Case, Strategy
from generator.core.sharding import Shard, Transients, shard, transients

Phase = Literal["forward", "loss", "backward", "step"]
Moment = tuple[Phase, int, int, int]
"""Phase, gradients, activations and buffers at one instant; everything else stays the same."""
LINES = (
    "weights",
    "master_weights",
    "gradients",
    "optimizer_states",
    "activations",
    "buffers",
    "overhead",
)
"""The lines of a `Ledger` that add up to its total, in the order of every table and sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Bytes of one GPU at one instant, by what they are for. Their sum is the total.

    `overhead` is outside PyTorch's tensors (context, communication, allocator); all else is
    tensors.
    """

    weights: int
    master_weights: int
    gradients: int
    optimizer_states: int
    activations: int
    buffers: int
    overhead: int
    paged_states: int = 0

    @property
    def total(self) -> int:
        """What the card must hold."""
        return self.allocated + self.paged_states + self.overhead

    @property
    def allocated(self) -> int:
        """Tensor bytes, comparable with `torch.cuda.max_memory_allocated`."""
        return (
            self.weights
            + self.master_weights
            + self.gradients
            + self.optimizer_states
            + self.activations
            + self.buffers
            - self.paged_states
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One instant of a steady-state step."""

    phase: Phase
    ledger: Ledger
    outside: int
    """Part of the overhead that PyTorch's allocator does not hold: context and communicator."""

    @property
    def reserved(self) -> int:
        """What the allocator holds, comparable with `torch.cuda.max_memory_reserved`."""
        return self.ledger.total - self.outside - self.ledger.paged_states


def case_resident(case: Case) -> Resident:
    """The unsharded resident state of a case.

    Shape: whole model; bytes.
    Source: `resident.resident`.
    """
    return resident(
        model=case.model,
        method=case.method,
        lora=case.lora,
        precision=case.precision,
        optimizer=case.optimizer,
        stack=case.stack,
    )


def case_micro_batch(case: Case) -> MicroBatch:
    """The micro-batch's bytes of a case.

    Shape: one GPU; bytes.
    Source: `micro_batch.micro_batch`.
    """
    return micro_batch(
        model=case.model,
        method=case.method,
        lora=case.lora,
        precision=case.precision,
        workload=case.workload,
        stack=case.stack,
        is_sharded=case.zero_stage == 3,
    )


def _autocast_copies(case: Case, state: Resident) -> int:
    """16-bit copies of FP32 weights that autocast caches until the forward pass ends.

    Source: S-AUTOCAST (weight cache); the embedding is looked up, not multiplied, so it is not
        cast.
    """
    if case.stack.is_generic and case.method != "full":
        return 0
    if case.method == "full" and case.precision == "amp" and case.zero_stage < 3:
        embedding = case.model.vocab_size * case.model.hidden_size
        cast = state.num_parameters - (0 if case.model.tie_word_embeddings else embedding)
        return HALF_BYTES * cast
    if (
        case.method != "full"
        and case.lora.adapter_dtype == "fp32"
        and case.precision != "bf16-pure"
    ):
        return HALF_BYTES * state.num_trainable_parameters
    return 0


def _head_copy(case: Case) -> int:
    """Autocast's 16-bit copy of a head that k-bit preparation cast to FP32, until its backward.

    Source: S-AUTOCAST, S-KBIT; S-TRACKER.
    """
    stack = case.stack
    upcasts = case.method == "qlora" and stack.kbit_upcast and case.zero_stage < 3
    if not upcasts or case.precision == "bf16-pure":
        return 0
    return HALF_BYTES * case.model.vocab_size * case.model.hidden_size


def _kept_by_fsdp1(case: Case, batch: MicroBatch) -> int:
    """Block inputs and their gradients that FSDP1 keeps until the backward pass ends.

    For a frozen unit FSDP1 waits for the gradients of the unit's inputs with a multi-tensor hook,
    which holds the inputs and the gradients that have arrived. At the first block both are there
    for all blocks.
    Source: torch/distributed/fsdp/_runtime_utils.py `_register_post_backward_reshard_only_hook`;
        seen in a100_80gb.csv of fms-acceleration as one more block input per layer and token
        under FSDP LoRA.
    """
    frozen_base = case.method != "full"
    if not (frozen_base and case.zero_stage == 3 and case.stack.fsdp_generation == 1):
        return 0
    layers = case.model.num_hidden_layers
    return 2 * batch.block_inputs * (layers - 1) // layers


def _accumulated(case: Case, state: Resident, own: Shard) -> int:
    """Gradients of the micro-batches before: sharded, or whole and in 16 bit under `no_sync`."""
    whole = case.zero_stage == 3 and case.stack.accumulates_unsharded and own.gradients
    if not whole:
        return own.gradients
    element_bytes = FP32_BYTES if case.precision == "fp32" else HALF_BYTES
    return max(own.gradients, element_bytes * state.num_trainable_parameters)


def _gradients_at(
    case: Case,
    state: Resident,
    own: Shard,
    *,
    share: Literal["none", "head", "most", "blocks"],
) -> int:
    """Gradients resident at an instant.

    With accumulation those of the previous micro-batch are always there. Without, they grow through
    backward from the head to the embedding. A sharded gradient counts by its shard.
    """
    views = case.stack.gradient_as_bucket_view and case.strategy == "ddp" and case.num_gpus > 1
    if case.stack.gradient_dtype == "fp32" or views:
        # Megatron's FP32 gradients, and gradients that are views of DDP's buckets, are one buffer
        # for the whole run.
        return own.gradients
    if case.workload.gradient_accumulation_steps > 1:
        return _accumulated(case, state, own)
    if share == "none" or not own.gradients:
        return 0
    tied = case.model.tie_word_embeddings
    if share == "head":
        part = state.embedding_gradient if tied else state.head_gradient
    elif share == "blocks":
        part = state.gradients - state.embedding_gradient - state.head_gradient
    else:
        # The first block's gradients are being made, the embedding's are still to come.
        to_come = state.block_gradients + (0 if tied else state.embedding_gradient)
        part = state.gradients - to_come
    return part * own.gradients // state.gradients


def _moments(case: Case, state: Resident, own: Shard, passing: Transients) -> list[Moment]:
    """What changes from instant to instant of a step."""
    stack = case.stack
    batch = case_micro_batch(case)
    copies = _autocast_copies(case, state)
    backward_copies = copies if case.workload.activation_checkpointing == "none" else 0
    kept = batch.backward_end + _kept_by_fsdp1(case, batch)
    none = _gradients_at(case, state, own, share="none")
    head = _gradients_at(case, state, own, share="head")
    most = _gradients_at(case, state, own, share="most")
    head_copy = _head_copy(case)
    moments: list[Moment] = [
        ("forward", none, batch.forward_end, passing.loss + copies + head_copy),
        ("loss", none, batch.loss_backward, passing.loss + backward_copies + head_copy),
        (
            "backward",
            head,
            batch.backward_start,
            passing.backward_start + backward_copies + batch.unpacked_block,
        ),
        ("backward", most, kept, passing.backward_end + batch.unpacked_block),
    ]
    if batch.unpacked_head:
        moments.append(("forward", none, batch.head_forward, passing.loss + batch.unpacked_head))
        moments.append(("loss", none, batch.head_backward, passing.loss + batch.unpacked_head))
    temporaries = 0
    if not stack.is_generic:
        # A new gradient exists beside the accumulated one until it is added.
        accumulates = case.workload.gradient_accumulation_steps > 1
        table = max(state.head_gradient, state.embedding_gradient)
        if case.zero_stage < 3:
            passing_head = passing.loss + (state.head_gradient or table)
        else:
            passing_head = passing.head
            moments.append(("forward", none, 0, passing.forward_start))
            moments.append(("backward", head, batch.last_unshard, passing.last_unshard))
            moments.append(("backward", most, batch.block_end, passing.block_end))
        moments.append(("backward", none, batch.head, passing_head + backward_copies))
        # A tied table gets its second gradient out of place: three of its size are alive. Under
        # autocast the head's comes through a cast and is added in place.
        new_tables = int(accumulates)
        if case.model.tie_word_embeddings:
            new_tables = 1 if case.precision == "amp" else 2
        new = 0 if case.zero_stage == 3 else new_tables * state.embedding_gradient
        last = own.gradients
        if case.zero_stage == 3 and not accumulates:
            # The root unit's gradients are not sharded yet.
            last = _gradients_at(case, state, own, share="blocks")
        moments.append(("backward", last, batch.embedding, passing.embedding + new))
        if case.optimizer_implementation == "foreach" and stack.zero_engine != "deepspeed":
            temporaries = state.foreach_temporaries * stack.foreach_copies
            temporaries //= case.num_gpus if case.zero_stage else 1
        temporaries = max(temporaries, state.largest_tensor_temporaries)
    moments.append(("step", own.gradients, 0, passing.step + temporaries))
    return moments


def _outside_bytes(case: Case) -> int:
    """Overhead that PyTorch's allocator does not hold."""
    stack = case.stack
    if stack.overhead_bytes is not None:
        return stack.overhead_bytes
    # DeepSpeed makes its communicator for a group of one, too.
    communicates = case.num_gpus > 1 or stack.zero_engine == "deepspeed"
    return stack.context_bytes + (stack.communicator_bytes if communicates else 0)


def _slack_bytes(case: Case, *, activations: int, others: int) -> int:
    """What PyTorch's caching allocator holds beyond the live tensors.

    Source: S-READINGS, allocator and driver readings of the same runs.
    """
    stack = case.stack
    permille = stack.activation_slack_permille
    if case.zero_stage == 3:
        permille = stack.sharded_slack_permille
    return (activations * permille + others * stack.static_slack_permille) // 1000


def _instant(case: Case, own: Shard, moment: Moment) -> Instant:
    phase, gradients, activations, buffers = moment
    stack = case.stack
    buffers += stack.workspace_bytes
    outside = _outside_bytes(case)
    others = own.weights + own.master_weights + own.optimizer_states + gradients + buffers
    return Instant(
        phase=phase,
        ledger=Ledger(
            weights=own.weights,
            master_weights=own.master_weights,
            gradients=gradients,
            optimizer_states=own.optimizer_states,
            activations=activations,
            buffers=buffers,
            overhead=outside + _slack_bytes(case, activations=activations, others=others),
            paged_states=own.optimizer_states
            if case.optimizer.paged and not stack.is_generic
            else 0,
        ),
        outside=outside,
    )


def _worst(case: Case, own: Shard, moments: list[Moment]) -> Moment:
    """The moment that needs the most; ties go to the earlier."""
    if case.stack.is_generic:
        return max(moments, key=_size)
    return max(moments, key=lambda moment: _instant(case, own, moment).ledger.total)


def _size(moment: Moment) -> int:
    """What the generic stack's instants differ by."""
    return moment[1] + moment[2] + moment[3]


def _shard(case: Case, state: Resident) -> Shard:
    own = shard(state, zero_stage=case.zero_stage, num_gpus=case.num_gpus)
    return replace(own, gradients=0) if case.steps_in_backward else own


def _set_up(case: Case) -> tuple[Shard, list[Moment]]:
    state = case_resident(case)
    own = _shard(case, state)
    return own, _moments(case, state, own, transients(case, state))


def instants(case: Case) -> tuple[Instant, ...]:
    """Memory of one GPU at the instants of a steady-state step that can be the worst.

    Shape: end of forward, backward of the loss, backward at the last block, at the first block and
        at the embedding, optimizer step.
    Counts: the shard of the resident state, the micro-batch, the strategy's buffers, overhead.
    Ignores: the first step (no optimizer states yet), loading, saving and evaluation.
    Source: S-TRACKER; the maximum over instants was checked against real readings within 0.6 %.
    """
    own, moments = _set_up(case)
    return tuple(_instant(case, own, moment) for moment in moments)


def peak(case: Case) -> Instant:
    """The instant of a step that needs the most memory on one GPU.

    Shape: one ledger; ties go to the earlier instant.
    Source: `instants`.
    """
    own, moments = _set_up(case)
    return _instant(case, own, _worst(case, own, moments))


def _placements(
    case: Case, placements: Iterable[tuple[Strategy, int]]
) -> Iterator[tuple[Case, Shard, list[Moment]]]:
    """The case under each strategy and GPU count; what no placement changes is computed once."""
    state = case_resident(case)
    for strategy, num_gpus in placements:
        placed = replace(case, strategy=strategy, num_gpus=num_gpus)
        own = _shard(placed, state)
        yield placed, own, _moments(placed, state, own, transients(placed, state))


def peak_totals(case: Case, placements: Iterable[tuple[Strategy, int]]) -> list[int]:
    """What the card must hold under each strategy and GPU count, as `peak` would say.

    Shape: bytes on one GPU, in the order of `placements`.
    Source: `peak`; equal to it by a test. What no placement changes is computed once.
    """
    if not case.stack.is_generic:
        return [ledger.total for ledger in peak_ledgers(case, placements)]
    return [
        own.resident + max(map(_size, moments)) + _outside_bytes(placed)
        for placed, own, moments in _placements(case, placements)
    ]


def peak_ledgers(case: Case, placements: Iterable[tuple[Strategy, int]]) -> list[Ledger]:
    """What a GPU holds at its peak under each strategy and GPU count, as `peak` would say.

    Shape: one ledger per placement, in their order.
    Source: `peak`; equal to it by a test. What no placement changes is computed once.
    """
    return [
        _instant(placed, own, _worst(placed, own, moments)).ledger
        for placed, own, moments in _placements(case, placements)
    ]
