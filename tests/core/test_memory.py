"""The step's memory: instants against hand arithmetic for a Llama block."""

from dataclasses import replace

import pytest

from generator.core.memory import (
    Instant,
    case_micro_batch,
    case_resident,
    instants,
    peak,
    peak_ledgers,
    peak_totals,
)
from generator.core.model import Attention, Block, BlockGroup, Mlp, Model
from generator.core.run import Case, Lora, Strategy, Workload
from generator.core.sharding import transients
from generator.core.stack import Stack
from tests.core.records import (
    ADAMW,
    BLOCK,
    GENERIC,
    HIDDEN,
    LAYERS,
    LLAMA_8B,
    VOCAB,
    WIDTH,
)

NUM_PARAMETERS = 8_030_261_248
PLAIN = Stack(id="plain", name="No buffers at all")


def case(**changes: object) -> Case:
    """A full bf16-pure run on one GPU without accumulation unless told otherwise."""
    fields: dict[str, object] = {
        "model": LLAMA_8B,
        "optimizer": ADAMW,
        "stack": PLAIN,
        "precision": "bf16-pure",
        "workload": Workload(sequence_length=4096, gradient_accumulation_steps=1),
    }
    return Case(**{**fields, **changes})  # type: ignore[arg-type]


def test_loss_instant_without_checkpointing_is_the_sum_of_every_saved_tensor() -> None:
    tokens = 4096
    unit = 2 * tokens * HIDDEN
    log_sum_exp = 4 * 32 * tokens
    saved = 8 * unit + 2 * unit + 2 * unit // 4 + log_sum_exp + 4 * 2 * tokens * WIDTH
    tail = 4 * unit
    resident = (2 + 4) * NUM_PARAMETERS
    expected = resident + LAYERS * saved + tail + 12 * tokens * VOCAB
    run = case(
        workload=Workload(
            sequence_length=4096, gradient_accumulation_steps=1, activation_checkpointing="none"
        )
    )
    actual = peak(run)
    assert actual.phase == "loss"
    assert expected == actual.ledger.allocated


def test_foreach_adamw_peaks_at_ten_bytes_per_parameter_in_pure_16_bit() -> None:
    actual = peak(case(optimizer_implementation="foreach"))
    assert actual.phase == "step"
    assert actual.ledger.allocated == 10 * NUM_PARAMETERS


@pytest.mark.parametrize(
    ("method", "adapter_dtype", "precision", "units"),
    [
        pytest.param("full", "fp32", "bf16-pure", 24.516, id="full"),
        pytest.param("lora", "bf16", "bf16-pure", 22.543, id="lora-bf16"),
        pytest.param("lora", "fp32", "bf16-mixed", 26.543, id="lora-fp32-autocast"),
        pytest.param("lora", "fp32", "bf16-pure", 36.07, id="lora-fp32-no-autocast"),
    ],
)
def test_saved_bytes_per_layer_match_the_traced_allocations(
    method: str, adapter_dtype: str, precision: str, units: float
) -> None:
    """In units of 2 bytes x tokens x hidden size, as PyTorch's allocations were traced."""
    tokens = 1024

    def forward_end(layers: int) -> int:
        model = Model(
            name="x",
            hidden_size=HIDDEN,
            vocab_size=VOCAB,
            tie_word_embeddings=False,
            block_groups=(BlockGroup(count=layers, block=BLOCK),),
        )
        run = case(
            model=model,
            method=method,
            precision=precision,
            lora=Lora(adapter_dtype=adapter_dtype),  # type: ignore[arg-type]
            workload=Workload(
                sequence_length=tokens,
                gradient_accumulation_steps=1,
                activation_checkpointing="none",
            ),
        )
        return instants(run)[1].ledger.activations

    per_layer = (forward_end(3) - forward_end(1)) / 2
    assert per_layer / (2 * tokens * HIDDEN) == pytest.approx(units, abs=0.01)


def test_generic_lump_is_the_only_overhead_of_the_generic_stack() -> None:
    ledger = peak(case(stack=GENERIC)).ledger
    assert ledger.overhead == 1_500_000_000
    assert ledger.total == ledger.allocated + 1_500_000_000


# A model small enough to count: 688 parameters in each of three blocks (8 x 8, 4 x 8, 4 x 8, 8 x 8,
# three times 20 x 8, two norms of 8), two tables of 100 x 8 and the final norm.
SMALL = Model(
    name="small",
    hidden_size=8,
    vocab_size=100,
    tie_word_embeddings=False,
    block_groups=(
        BlockGroup(
            count=3,
            block=Block(
                mixers=(Attention(num_attention_heads=4, num_key_value_heads=2, head_dim=2),),
                feed_forward=Mlp(intermediate_size=20),
            ),
        ),
    ),
)
TIED = replace(SMALL, tie_word_embeddings=True)
SMALL_BLOCK, SMALL_TABLE = 688, 800
SMALL_PARAMETERS = 3 * SMALL_BLOCK + 2 * SMALL_TABLE + 8
RANK_2 = 3 * 2 * ((8 + 8) + 2 * (4 + 8) + (8 + 8) + 3 * (20 + 8))
TOKENS = 10
ONCE = Workload(sequence_length=TOKENS, gradient_accumulation_steps=1)
TWICE = replace(ONCE, gradient_accumulation_steps=2)


def small(**changes: object) -> Case:
    """The small model on one GPU in pure 16 bit, one micro-batch of ten tokens a step."""
    return case(**{"model": SMALL, "workload": ONCE, "lora": Lora(rank=2), **changes})


def column(run: Case, line: str) -> list[int]:
    return [getattr(instant.ledger, line) for instant in instants(run)]


def test_the_instants_of_a_step_come_in_this_order() -> None:
    few = ["forward", "loss", "backward", "backward"]
    assert [each.phase for each in instants(small(stack=GENERIC))] == [*few, "step"]
    # The head's and the embedding's backward, which the generic stack leaves to its lump.
    assert [each.phase for each in instants(small())] == [*few, "backward", "backward", "step"]
    sharded = instants(small(strategy="zero-3", num_gpus=2))
    # The first gather, the last block's gather for its backward, the first block's end.
    more = ["forward", "backward", "backward", "backward", "backward", "step"]
    assert [each.phase for each in sharded] == few + more


def test_gradients_grow_from_the_head_to_the_embedding() -> None:
    whole, block, table = 2 * SMALL_PARAMETERS, 2 * SMALL_BLOCK, 2 * SMALL_TABLE
    # At the first block its own gradient and the embedding's are still to come.
    assert column(small(), "gradients") == [
        0, 0, table, whole - block - table, 0, whole, whole
    ]  # fmt: skip
    # A tied table's gradient comes from the head.
    whole -= table
    assert column(small(model=TIED), "gradients") == [
        0, 0, table, whole - block, 0, whole, whole
    ]  # fmt: skip


def test_gradients_of_the_micro_batches_before_are_always_there() -> None:
    assert column(small(workload=TWICE), "gradients") == 7 * [2 * SMALL_PARAMETERS]
    assert column(small(workload=TWICE, stack=GENERIC), "gradients") == 5 * [2 * SMALL_PARAMETERS]


def test_a_gradient_that_is_stepped_at_once_is_never_kept() -> None:
    assert column(small(optimizer_implementation="in-backward"), "gradients") == 7 * [0]


def test_gradient_buffers_of_the_whole_run_never_go() -> None:
    fp32 = replace(PLAIN, gradient_dtype="fp32")
    assert column(small(stack=fp32), "gradients") == 7 * [4 * SMALL_PARAMETERS]
    views = replace(PLAIN, gradient_as_bucket_view=True)
    ddp = small(stack=views, strategy="ddp", num_gpus=2)
    assert column(ddp, "gradients") == 7 * [2 * SMALL_PARAMETERS]
    # One GPU has no bucket, and ZeRO has no DDP.
    assert column(small(stack=views), "gradients") == column(small(), "gradients")
    alone = small(stack=views, strategy="ddp")
    assert column(alone, "gradients") == column(small(), "gradients")
    zero = small(stack=views, strategy="zero-1", num_gpus=2)
    assert column(zero, "gradients") == column(small(), "gradients")


def test_a_sharded_gradient_counts_by_its_shard() -> None:
    halves = [part // 2 for part in column(small(), "gradients")]
    assert column(small(strategy="zero-2", num_gpus=2), "gradients") == halves
    start, loss, head, most, _, _, whole = halves
    # Under FSDP the root's gradients, the tables' and the last norm's, are reduced at the very end;
    # the norm's 8 parameters count with the blocks.
    blocks = 3 * SMALL_BLOCK + 8
    assert column(small(strategy="zero-3", num_gpus=2), "gradients") == [
        start, loss, head, most, 0, head, most, 0, blocks, whole
    ]  # fmt: skip


def test_a_shard_that_does_not_divide_is_rounded_up_and_its_parts_down() -> None:
    # 7,344 bytes over five GPUs are 1,468.8; the head's 1,600 of 7,344 are 320.03 of 1,469.
    assert column(small(strategy="zero-2", num_gpus=5), "gradients")[2] == 320
    assert all(isinstance(each, int) for each in column(small(strategy="zero-2"), "gradients"))
    assert column(small(strategy="zero-2", num_gpus=5), "gradients")[-1] == 1469


def test_the_head_s_gradient_comes_first_only_where_the_head_is_trained() -> None:
    adapter = Lora(rank=2, adapter_dtype="bf16")
    head = small(method="lora", lora=replace(adapter, train_head=True))
    embedding = small(method="lora", lora=replace(adapter, train_embeddings=True))
    table, adapters = 2 * SMALL_TABLE, 2 * RANK_2
    assert column(head, "gradients") == [
        0, 0, table, table + adapters * 2 // 3, 0, table + adapters, table + adapters
    ]  # fmt: skip
    # The embedding's comes last, after the first of three blocks.
    assert column(embedding, "gradients") == [
        0, 0, 0, adapters * 2 // 3, 0, table + adapters, table + adapters
    ]  # fmt: skip


@pytest.mark.parametrize(("precision", "element"), [("bf16-pure", 2), ("fp32", 4)])
def test_without_reduction_fsdp_piles_up_whole_gradients(precision: str, element: int) -> None:
    case = small(strategy="zero-3", num_gpus=2, workload=TWICE, precision=precision)
    shard = element * SMALL_PARAMETERS // 2
    assert column(case, "gradients") == 10 * [shard]
    piles = replace(case, stack=replace(PLAIN, accumulates_unsharded=True))
    assert column(piles, "gradients") == 8 * [2 * shard] + 2 * [shard]
    # Only FSDP has that switch; and what is stepped at once cannot pile up.
    stage_2 = replace(piles, strategy="zero-2")
    assert column(stage_2, "gradients") == 7 * [shard]
    stepped = replace(piles, optimizer_implementation="in-backward", workload=ONCE)
    assert column(stepped, "gradients") == 10 * [0]


def test_activations_at_each_instant_are_those_of_the_micro_batch() -> None:
    one = case_micro_batch(small())
    assert column(small(), "activations") == [
        one.forward_end, one.loss_backward, one.backward_start, one.backward_end, one.head,
        one.embedding, 0,
    ]  # fmt: skip
    run = small(strategy="zero-3", num_gpus=2)
    sharded = case_micro_batch(run)
    assert column(run, "activations") == [
        sharded.forward_end, sharded.loss_backward, sharded.backward_start, sharded.backward_end,
        0, sharded.last_unshard, sharded.block_end, sharded.head, sharded.embedding, 0,
    ]  # fmt: skip


def test_buffers_at_each_instant_are_those_of_the_strategy() -> None:
    run = small(strategy="zero-3", num_gpus=2, stack=replace(PLAIN, workspace_bytes=7))
    passing = transients(run, case_resident(run))
    assert 0 < passing.loss < passing.head < passing.embedding < passing.backward_start
    assert passing.backward_start < passing.backward_end < passing.forward_start < passing.block_end
    assert column(run, "buffers") == [
        7 + buffer
        for buffer in (
            passing.loss, passing.loss, passing.backward_start, passing.backward_end,
            passing.forward_start, passing.last_unshard, passing.block_end, passing.head,
            passing.embedding, passing.step,
        )
    ]  # fmt: skip


def test_fsdp_runs_the_blocks_in_16_bit_and_makes_no_second_table() -> None:
    alone = small(model=TIED, precision="amp", workload=TWICE)
    fsdp = replace(alone, strategy="zero-3", num_gpus=2)
    # Ten tokens of 8 through three blocks: an FP32 residual stream alone, a 16-bit one sharded.
    assert case_micro_batch(alone).block_inputs == 3 * TOKENS * 8 * 4
    assert case_micro_batch(fsdp).block_inputs == 3 * TOKENS * 8 * 2
    # The sharded table's new gradient is among the buffers of the strategy.
    assert column(fsdp, "buffers")[-2] == transients(fsdp, case_resident(fsdp)).embedding


@pytest.mark.parametrize("strategy", ["ddp", "zero-1"])
def test_buffers_of_replicas_come_on_top_of_a_new_gradient(strategy: Strategy) -> None:
    deepspeed = replace(PLAIN, zero_engine="deepspeed", bucket_elements=1000)
    run = small(strategy=strategy, num_gpus=2, stack=deepspeed)
    passing = transients(run, case_resident(run))
    assert min(passing.loss, passing.backward_start, passing.backward_end, passing.step) > 0
    assert column(run, "buffers") == [
        passing.loss, passing.loss, passing.backward_start, passing.backward_end,
        passing.loss + 2 * SMALL_TABLE, passing.embedding, passing.step,
    ]  # fmt: skip


def test_a_new_gradient_of_a_table_exists_beside_the_one_it_is_added_to() -> None:
    table = 2 * SMALL_TABLE
    assert column(small(), "buffers") == [0, 0, 0, 0, table, 0, 0]
    assert column(small(workload=TWICE), "buffers") == [0, 0, 0, 0, table, table, 0]
    # A tied table gets its second gradient out of place: three of its size with the first.
    assert column(small(model=TIED), "buffers") == [0, 0, 0, 0, table, 2 * table, 0]
    assert column(small(model=TIED, workload=TWICE), "buffers") == [
        0, 0, 0, 0, table, 2 * table, 0
    ]  # fmt: skip
    assert column(small(stack=GENERIC, model=TIED), "buffers") == 5 * [0]


@pytest.mark.parametrize(
    ("model", "cast", "new"),
    [
        # The untied embedding is looked up and not multiplied: no cast of it.
        pytest.param(SMALL, SMALL_PARAMETERS - SMALL_TABLE, 0, id="untied"),
        # The gradient that came through the cast is added in place, beside one new table.
        pytest.param(TIED, SMALL_PARAMETERS - SMALL_TABLE, 4 * SMALL_TABLE, id="tied"),
    ],
)
def test_autocast_keeps_16_bit_copies_until_the_forward_pass_ends(
    model: Model, cast: int, new: int
) -> None:
    run = small(model=model, precision="amp")
    copies, head = 2 * cast, 4 * SMALL_TABLE
    assert column(run, "buffers") == [copies, 0, 0, 0, head, new, 0]
    # Without checkpoints backward reads the copies themselves, until the blocks are done.
    stored = replace(run, workload=replace(ONCE, activation_checkpointing="none"))
    assert column(stored, "buffers") == [copies, copies, copies, 0, copies + head, new, 0]
    # The lump stands for buffers, not for copies of weights.
    assert column(replace(run, stack=GENERIC), "buffers") == [copies, 0, 0, 0, 0]
    fsdp = replace(run, strategy="zero-3", num_gpus=2)
    passing = transients(fsdp, case_resident(fsdp))
    assert column(fsdp, "buffers")[0] == passing.loss


@pytest.mark.parametrize(
    ("changes", "copies"),
    [
        pytest.param({}, 2 * RANK_2, id="fp32-adapters"),
        pytest.param({"precision": "fp16-mixed"}, 2 * RANK_2, id="fp16"),
        pytest.param({"precision": "bf16-pure"}, 0, id="no-autocast"),
        pytest.param({"lora": Lora(rank=2, adapter_dtype="bf16")}, 0, id="16-bit-adapters"),
        pytest.param({"stack": GENERIC}, 0, id="generic"),
        pytest.param({"method": "full"}, 0, id="16-bit-weights"),
    ],
)
def test_autocast_copies_fp32_adapters_only(changes: dict[str, object], copies: int) -> None:
    run = small(**{"method": "lora", "precision": "bf16-mixed", **changes})
    assert column(run, "buffers")[:2] == [copies, 0]
    stored = replace(run, workload=replace(ONCE, activation_checkpointing="none"))
    assert column(stored, "buffers")[:3] == 3 * [copies]


def test_a_head_that_k_bit_preparation_cast_up_is_copied_down_until_its_backward() -> None:
    adapter = Lora(rank=2, adapter_dtype="bf16")
    kbit = replace(PLAIN, kbit_upcast=True, dequantised_bytes=0)
    run = small(method="qlora", precision="bf16-mixed", lora=adapter, stack=kbit)
    copy = 2 * SMALL_TABLE
    assert column(run, "buffers") == [copy, copy, 0, 0, 0, 0, 0]
    for other in (
        replace(run, precision="bf16-pure"),
        replace(run, method="lora"),
        replace(run, stack=replace(kbit, kbit_upcast=False)),
    ):
        assert column(other, "buffers") == 7 * [0]
    sharded = replace(run, strategy="zero-3", num_gpus=2)
    passing = transients(sharded, case_resident(sharded))
    assert column(sharded, "buffers")[:2] == [passing.loss, passing.loss]


def test_a_quantised_matrix_is_unpacked_while_it_is_multiplied() -> None:
    adapter = Lora(rank=2, adapter_dtype="bf16")
    unpacks = replace(PLAIN, dequantised_bytes=1000)
    run = small(method="qlora", lora=adapter, stack=unpacks)
    # 20 x 8 is the largest matrix; half of the temporaries, three tensors of 20 for a down
    # projection with an adapter of 16 bit less the one that is free, are gone by then.
    matrix = 1000 * 20 * 8 - 2 * 2 * 20 * TOKENS // 2
    assert column(run, "buffers") == [0, 0, matrix, matrix, 0, 0, 0]
    head = replace(run, stack=replace(unpacks, quantises_head=True, workspace_bytes=5))
    phases = [instant.phase for instant in instants(head)]
    assert phases == ["forward", "loss", "backward", "backward", "forward", "loss", *phases[6:]]
    table = 1000 * SMALL_TABLE
    assert column(head, "buffers") == [
        buffer + 5 for buffer in (0, 0, matrix, matrix, table, table, 0, 0, 0)
    ]
    batch = case_micro_batch(head)
    assert column(head, "activations")[4:6] == [batch.head_forward, batch.head_backward]
    assert column(head, "gradients")[4:6] == [0, 0]


def test_the_step_s_temporaries_are_the_rank_s_own() -> None:
    moment = 2 * SMALL_PARAMETERS
    foreach = small(optimizer_implementation="foreach")
    assert column(foreach, "buffers")[-1] == moment
    twice = replace(foreach, stack=replace(PLAIN, foreach_copies=2))
    assert column(twice, "buffers")[-1] == 2 * moment
    # 14,688 bytes do not divide by five.
    zero = replace(twice, strategy="zero-1", num_gpus=5)
    assert column(zero, "buffers")[-1] == 2937
    ddp = replace(twice, strategy="ddp", num_gpus=4)
    assert column(ddp, "buffers")[-1] == 2 * moment + 2 * SMALL_PARAMETERS  # and the bucket
    assert column(replace(foreach, stack=GENERIC), "buffers")[-1] == 0
    # DeepSpeed's own step is counted with its buffers.
    engine = replace(foreach, stack=replace(PLAIN, zero_engine="deepspeed"))
    assert column(engine, "buffers")[-1] == 0


def test_temporaries_of_the_largest_tensor_are_whole_or_less_than_those_of_all() -> None:
    largest = replace(ADAMW, largest_tensor_temporaries=3)
    assert column(small(optimizer=largest), "buffers")[-1] == 3 * 4 * SMALL_TABLE
    both = small(optimizer=replace(largest, largest_tensor_temporaries=1))
    foreach = replace(both, optimizer_implementation="foreach")
    assert column(foreach, "buffers")[-1] == 2 * SMALL_PARAMETERS > 4 * SMALL_TABLE


def test_fsdp1_keeps_the_inputs_of_frozen_blocks_and_their_gradients() -> None:
    fsdp1 = replace(PLAIN, fsdp_generation=1)
    run = small(method="lora", strategy="zero-3", num_gpus=2, stack=fsdp1)
    # Ten tokens of 8 x 2 bytes for two of three blocks: the first block's own are counted already.
    kept = 2 * 2 * TOKENS * 8 * 2
    assert column(run, "activations")[3] == case_micro_batch(run).backward_end + kept
    for other in (
        replace(run, method="full"),
        replace(run, strategy="zero-2"),
        replace(run, stack=PLAIN),
    ):
        assert column(other, "activations")[3] == case_micro_batch(other).backward_end


def test_overhead_is_context_communicator_and_slack() -> None:
    stack = replace(
        PLAIN,
        context_bytes=1000,
        communicator_bytes=500,
        activation_slack_permille=200,
        sharded_slack_permille=300,
        static_slack_permille=100,
    )

    def slack(instant: Instant, permille: int) -> int:
        ledger = instant.ledger
        others = ledger.allocated - ledger.activations
        return (permille * ledger.activations + 100 * others) // 1000

    for precision in ("bf16-pure", "bf16-mixed"):  # without and with master weights
        for instant in instants(small(stack=stack, precision=precision)):
            assert instant.outside == 1000
            assert instant.ledger.overhead == 1000 + slack(instant, 200)
    for instant in instants(small(stack=stack, strategy="zero-3", num_gpus=2)):
        assert instant.outside == 1000 + 500
        assert instant.ledger.overhead == 1500 + slack(instant, 300)
        assert instant.reserved == instant.ledger.total - 1500
    # DeepSpeed makes a communicator for one GPU too.
    (first, *_) = instants(small(stack=replace(stack, zero_engine="deepspeed")))
    assert first.outside == 1500


def test_paged_states_are_counted_but_neither_allocated_nor_reserved() -> None:
    paged = replace(ADAMW, paged=True)
    (first, *_) = instants(small(optimizer=paged, stack=replace(PLAIN, context_bytes=1000)))
    states = 2 * 2 * SMALL_PARAMETERS
    assert first.ledger.paged_states == first.ledger.optimizer_states == states
    assert first.ledger.allocated == 2 * SMALL_PARAMETERS + first.ledger.activations
    assert first.reserved == first.ledger.allocated
    assert first.ledger.total == first.ledger.allocated + states + 1000
    (first, *_) = instants(small(optimizer=paged, stack=GENERIC))
    assert first.ledger.paged_states == 0


def test_what_is_resident_is_the_shard_of_weights_master_and_states() -> None:
    mixed = replace(ADAMW, follows_parameter_dtype=False)
    for num_gpus, strategy, parts in ((1, "single", (1, 1, 1)), (4, "zero-1", (1, 4, 4))):
        run = small(
            optimizer=mixed,
            precision="bf16-mixed",
            strategy=strategy,
            num_gpus=num_gpus,
        )
        weights, master, states = parts
        assert set(column(run, "weights")) == {2 * SMALL_PARAMETERS // weights}
        assert set(column(run, "master_weights")) == {4 * SMALL_PARAMETERS // master}
        assert set(column(run, "optimizer_states")) == {8 * SMALL_PARAMETERS // states}


@pytest.mark.parametrize("stack", [GENERIC, PLAIN], ids=["generic", "named"])
def test_the_peak_is_the_largest_instant_and_the_earlier_of_equals(stack: Stack) -> None:
    for run in (small(stack=stack), small(stack=stack, workload=replace(ONCE, sequence_length=1))):
        totals = [instant.ledger.total for instant in instants(run)]
        assert peak(run) == instants(run)[totals.index(max(totals))]
    # Nothing is stored, so the step and the embedding's end hold the same: the earlier is named.
    idle = small(stack=stack, optimizer=replace(ADAMW, states=()), workload=TWICE)
    assert peak(idle).phase in ("forward", "loss", "backward")


def test_slack_can_move_the_peak_from_the_step_to_the_activations() -> None:
    step = small(optimizer=replace(ADAMW, largest_tensor_temporaries=16))
    assert peak(step).phase == "step"
    loose = replace(step, stack=replace(PLAIN, activation_slack_permille=5000))
    assert peak(loose).phase == "loss"


@pytest.mark.parametrize(
    "stack",
    [GENERIC, PLAIN, replace(PLAIN, context_bytes=10**6, communicator_bytes=10**5)],
    ids=["generic", "named", "with-context"],
)
def test_ledgers_and_totals_of_several_placements_are_their_peaks(stack: Stack) -> None:
    placements: list[tuple[Strategy, int]] = [
        ("single", 1), ("ddp", 2), ("zero-1", 2), ("zero-2", 4), ("zero-3", 8), ("zero-3", 64),
    ]  # fmt: skip
    run = small(stack=stack, precision="bf16-mixed")
    totals = peak_totals(run, placements)
    peaks = [
        peak(replace(run, strategy=strategy, num_gpus=count)).ledger
        for strategy, count in placements
    ]
    assert totals == [ledger.total for ledger in peaks]
    assert peak_ledgers(run, placements) == peaks
    assert len(set(totals)) > 3
