"""Saved tensors of single blocks, counted by hand, where no measured model or oracle case goes."""

from dataclasses import replace

from generator.core.activations import Tape, TapeMode, block_tape
from generator.core.micro_batch import MicroBatch, micro_batch
from generator.core.model import Attention, Block, BlockGroup, Mamba2, Mixer, Mlp, Model
from generator.core.run import Lora, Workload
from tests.core.records import GENERIC

FULL = TapeMode(trains_base=True, autocast=False)
FROZEN = TapeMode(trains_base=False, autocast=False)
HIDDEN = 64
ATTENTION = Attention(num_attention_heads=4, num_key_value_heads=2, head_dim=16)


def tape(mixer: Mixer, mode: TapeMode) -> Tape:
    """The mixer alone: no norm and no feed-forward part."""
    block = Block(mixers=(mixer,), feed_forward=None, num_input_norms=0)
    return block_tape(block, HIDDEN, "rms", mode)


def test_a_layer_norm_written_out_in_fp32_keeps_three_copies_to_train_and_two_frozen() -> None:
    norm_only = Block(mixers=(), feed_forward=None, num_input_norms=1)

    assert block_tape(norm_only, HIDDEN, "layer-fp32", FULL).saved == 3 * 4 * HIDDEN
    assert block_tape(norm_only, HIDDEN, "layer-fp32", FROZEN).saved == 2 * 4 * HIDDEN


def test_norms_of_queries_and_keys_in_classes_of_their_own_keep_fp32_copies() -> None:
    # LitGPT: the input in FP32, and what is normalised to train the norm's weight. Queries have
    # 4 x 16 columns, keys 2 x 16.
    normed = replace(ATTENTION, qk_norm="head")
    for mode, copies in ((FULL, 2), (FROZEN, 1)):
        own = replace(mode, fused_classes=True)

        assert tape(normed, own).saved - tape(ATTENTION, own).saved == copies * 4 * (64 + 32)


def test_a_gate_per_head_keeps_one_value_per_head_and_the_product() -> None:
    gated = replace(ATTENTION, output_gate="head", gate_module="g_proj")

    # Four heads' gates, and the gated output of 4 x 16 that the output projection reads.
    assert tape(gated, FULL).saved - tape(ATTENTION, FULL).saved == 2 * 4 + 2 * 4 * 16
    # A frozen output projection keeps no input.
    assert tape(gated, FROZEN).saved - tape(ATTENTION, FROZEN).saved == 2 * 4


def test_scores_that_are_fp32_already_need_no_16_bit_copy() -> None:
    eager = replace(FROZEN, attention="eager")
    usual, wide = tape(ATTENTION, eager), tape(ATTENTION, replace(eager, wide_outputs=True))

    # FP32 softmax and its 16-bit copy, for each of four heads; in FP32 there is no copy.
    assert usual.saved_per_pair == 4 * (4 + 2)
    assert wide.saved_per_pair == 4 * 4
    # Gradient, result and workspace, all FP32.
    assert wide.backward_per_pair == 4 * (4 + 4 + 4)


def test_the_fused_scan_keeps_projection_convolution_output_and_gate() -> None:
    mamba = Mamba2(
        num_heads=2, head_dim=4, state_size=3, num_groups=1, conv_kernel=4, chunk_size=256
    )
    inner, convolved = 8, 8 + 2 * 3
    projection = inner + convolved + 2

    # The input projection's own input comes on top, and one FP32 time step per head.
    saved = 2 * (projection + convolved + 2 * inner) + 4 * 2 + 2 * HIDDEN
    assert tape(mamba, FULL).saved == saved
    assert tape(mamba, FULL).backward == 2 * projection


def micro_batch_of(*groups: BlockGroup, checkpointing: str) -> MicroBatch:
    """100 tokens through the blocks, all parameters trained in pure 16 bit."""
    return micro_batch(
        model=Model(
            name="small",
            hidden_size=HIDDEN,
            vocab_size=1000,
            tie_word_embeddings=True,
            block_groups=groups,
        ),
        method="full",
        lora=Lora(),
        precision="bf16-pure",
        workload=Workload(
            sequence_length=100,
            activation_checkpointing=checkpointing,  # type: ignore[arg-type]
        ),
        stack=GENERIC,
    )


def test_selective_checkpointing_of_a_block_that_only_attends() -> None:
    block = Block(mixers=(ATTENTION,), feed_forward=None, num_input_norms=1)
    one, two = (
        micro_batch_of(BlockGroup(count=count, block=block), checkpointing="selective").forward_end
        for count in (1, 2)
    )

    # The block's input, query and the kernel's output of 64, values of 32, one FP32 per head.
    assert two - one == 100 * (2 * HIDDEN + 2 * (64 + 64 + 32) + 4 * 4)


def test_a_block_of_cross_attention_keeps_nothing_without_images() -> None:
    plain = BlockGroup(
        count=3, block=Block(mixers=(ATTENTION,), feed_forward=Mlp(intermediate_size=128))
    )
    cross = BlockGroup(
        count=2,
        block=Block(
            mixers=(replace(ATTENTION, cross_attention=True),),
            feed_forward=Mlp(intermediate_size=128),
        ),
    )
    for checkpointing in ("none", "full"):
        with_images = micro_batch_of(plain, cross, checkpointing=checkpointing)
        without = micro_batch_of(plain, checkpointing=checkpointing)
        assert with_images.forward_end == without.forward_end
        assert with_images.backward_start == without.backward_start
