"""FLOPs per token against closed forms counted by hand."""

import pytest

from generator.core import flops, params
from generator.core.model import (
    Attention,
    Block,
    BlockGroup,
    GatedDeltaNet,
    LatentAttention,
    Mamba2,
    MixtureOfExperts,
    Mlp,
    Model,
    Tensor,
)
from generator.core.run import MethodName
from tests.core.records import HIDDEN, LAYERS, LLAMA_8B, VOCAB, WIDTH

HEADS, KEY_VALUE_HEADS, HEAD_DIM = 32, 8, 128
# Per layer: query and output H x H, key and value H x 1024, three feed-forward matrices H x F.
LLAMA_8B_BLOCK_WEIGHTS = LAYERS * (
    2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEY_VALUE_HEADS * HEAD_DIM + 3 * HIDDEN * WIDTH
)
LLAMA_8B_WEIGHTS = LLAMA_8B_BLOCK_WEIGHTS + HIDDEN * VOCAB


def one_kind(block: Block, count: int = LAYERS, *, tied: bool = False, **changes: object) -> Model:
    return Model(
        name="test",
        hidden_size=HIDDEN,
        vocab_size=VOCAB,
        tie_word_embeddings=tied,
        block_groups=(BlockGroup(count=count, block=block),),
        **changes,  # type: ignore[arg-type]
    )


def dense_block(sliding_window: int | None = None) -> Block:
    return Block(
        mixers=(
            Attention(
                num_attention_heads=HEADS,
                num_key_value_heads=KEY_VALUE_HEADS,
                head_dim=HEAD_DIM,
                sliding_window=sliding_window,
            ),
        ),
        feed_forward=Mlp(intermediate_size=WIDTH),
    )


@pytest.mark.parametrize(
    ("method", "per_weight"),
    [("full", 6), ("lora", 4), ("qlora", 4)],
)
def test_weights_cost_six_flops_when_trained_and_four_when_frozen(
    method: MethodName, per_weight: int
) -> None:
    counted = flops.training_flops(model=LLAMA_8B, sequence_length=2048, method=method)
    base = counted.model_flops - counted.forward.adapters - counted.backward.adapters
    # 12 L A D S: two products of 2 A D S forward, twice that backward.
    attention = 12 * LAYERS * HEADS * HEAD_DIM * 2048
    expected = per_weight * LLAMA_8B_WEIGHTS + attention
    assert expected == base


def test_six_n_d_holds_within_the_norms_for_an_untied_model() -> None:
    counted = flops.training_flops(model=LLAMA_8B, sequence_length=1)
    embedding = HIDDEN * VOCAB
    six_n = 6 * (params.num_parameters(LLAMA_8B) - embedding)
    # Norms are parameters that no FLOPs are counted for; one token of attention is 12 L A D.
    assert counted.model_flops == pytest.approx(six_n, rel=1e-3)


def test_a_tied_head_counts_and_the_embedding_does_not() -> None:
    tied = one_kind(dense_block(), tied=True)
    assert flops.forward_work(tied) == flops.forward_work(LLAMA_8B)


def test_palm_mfu_term() -> None:
    """PaLM 540B: 238.3 thousand tokens per second on 6144 chips of 275 TFLOPS is 46.2 % MFU."""
    block = Block(
        mixers=(Attention(num_attention_heads=48, num_key_value_heads=1, head_dim=256),),
        feed_forward=Mlp(intermediate_size=4 * 18432),
        parallel=True,
        num_input_norms=1,
    )
    palm = Model(
        name="PaLM 540B",
        hidden_size=18432,
        vocab_size=256_000,
        tie_word_embeddings=True,
        block_groups=(BlockGroup(count=118, block=block),),
    )
    counted = flops.training_flops(model=palm, sequence_length=2048)
    mfu = 238_300 * counted.model_flops / (6144 * 275e12)
    assert mfu == pytest.approx(0.462, abs=0.001)


def test_recompute_is_one_more_forward_of_the_blocks_and_counts_as_hardware_flops() -> None:
    none = flops.training_flops(model=LLAMA_8B, sequence_length=4096)
    full = flops.training_flops(
        model=LLAMA_8B, sequence_length=4096, activation_checkpointing="full"
    )
    selective = flops.training_flops(
        model=LLAMA_8B, sequence_length=4096, activation_checkpointing="selective"
    )
    assert none.hardware_flops == none.model_flops == full.model_flops
    expected = full.forward.blocks + full.forward.attention
    assert expected == full.hardware_flops - full.model_flops
    assert expected / 2 == selective.hardware_flops - selective.model_flops
    # HFU = 4/3 MFU, but for the head, which is not recomputed.
    blocks = full.forward.total - full.forward.head
    assert (full.hardware_flops - full.recompute.total) / blocks > 3
    assert pytest.approx(4 / 3, rel=0.03) == full.hardware_flops / full.model_flops


def test_adapter_flops_are_six_per_weight() -> None:
    counted = flops.training_flops(
        model=LLAMA_8B, sequence_length=2048, method="lora", lora_rank=16
    )
    sides = LAYERS * (
        2 * (HIDDEN + HIDDEN) + 2 * (HIDDEN + KEY_VALUE_HEADS * HEAD_DIM) + 3 * (HIDDEN + WIDTH)
    )
    expected = 6 * 16 * sides
    assert expected == counted.forward.adapters + counted.backward.adapters


def test_a_trained_head_costs_its_weight_gradient() -> None:
    frozen = flops.training_flops(model=LLAMA_8B, sequence_length=64, method="lora")
    trained = flops.training_flops(
        model=LLAMA_8B, sequence_length=64, method="lora", trains_head=True
    )
    expected = 2 * HIDDEN * VOCAB
    assert expected == trained.model_flops - frozen.model_flops


@pytest.mark.parametrize(
    ("sequence", "window", "attention", "expected"),
    [
        pytest.param(8, None, "full", 8, id="full"),
        pytest.param(8, None, "causal", 4.5, id="causal"),
        # Tokens see 1, 2, 3, 4, 4, 4, 4, 4.
        pytest.param(8, 4, "causal", 26 / 8, id="window"),
        pytest.param(8, 4, "full", 4, id="full-window"),
        pytest.param(8, 16, "causal", 4.5, id="window-longer-than-sequence"),
    ],
)
def test_attended_tokens(
    sequence: int, window: int | None, attention: flops.AttentionCount, expected: float
) -> None:
    assert expected == flops.attended_tokens(
        sequence_length=sequence, window=window, attention=attention
    )


def test_a_window_bounds_attention() -> None:
    windowed = one_kind(dense_block(sliding_window=1024))
    counted = flops.forward_flops(model=windowed, sequence_length=8192)
    assert counted.attention == LAYERS * 4 * HEADS * HEAD_DIM * 1024
    assert counted.blocks == flops.forward_flops(model=LLAMA_8B, sequence_length=8192).blocks


def test_routed_experts_count_k_of_e_and_the_router_and_shared_expert_count_whole() -> None:
    moe = MixtureOfExperts(
        num_experts=64,
        num_experts_per_token=6,
        moe_intermediate_size=1024,
        shared_intermediate_size=2048,
    )
    block = Block(mixers=dense_block().mixers, feed_forward=moe)
    work = flops.forward_work(one_kind(block, 2))
    attention = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEY_VALUE_HEADS * HEAD_DIM
    routed = 6 * 3 * HIDDEN * 1024
    expected = 2 * (attention + HIDDEN * 64 + 3 * HIDDEN * 2048 + routed)
    assert expected == work.block_weights


def test_latent_attention_scores_are_wider_than_its_values() -> None:
    mixer = LatentAttention(
        num_attention_heads=16,
        q_lora_rank=None,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
    )
    model = one_kind(Block(mixers=(mixer,), feed_forward=Mlp(intermediate_size=1024)), 3)
    counted = flops.forward_flops(model=model, sequence_length=1000)
    assert counted.attention == 3 * 2 * 16 * (192 + 128) * 1000


def test_recurrent_mixers_cost_the_same_per_token_at_any_length() -> None:
    mamba = Mamba2(
        num_heads=64, head_dim=64, state_size=128, num_groups=8, conv_kernel=4, chunk_size=256
    )
    delta = GatedDeltaNet(
        num_key_heads=16, num_value_heads=32, key_head_dim=128, value_head_dim=128, conv_kernel=4
    )
    for mixer in (mamba, delta):
        model = one_kind(Block(mixers=(mixer,), feed_forward=None), 1)
        short = flops.forward_flops(model=model, sequence_length=1024)
        assert short == flops.forward_flops(model=model, sequence_length=131_072)
        assert short.attention == 0
        assert short.blocks > 2 * flops.forward_work(model).block_weights
    # Mamba-2: half a chunk of scores per group, their product with 4096 values, states in and out.
    expected = 2 * 128 * 8 * 128 + 2 * 128 * 4096 + 4 * 4096 * 128
    assert expected == flops.recurrent_flops_per_token(mamba)
    # Gated delta rule, per head: 2 * 32 * (2 * 128 + 256 + 128) inside a chunk, 6 * 128 * 128
    # across.
    assert flops.recurrent_flops_per_token(delta) == 32 * (64 * 640 + 98_304)


def test_towers_and_embeddings_cost_nothing_and_root_projections_count() -> None:
    extra = (
        Tensor(module="patch", shape=(64, 64), kind="linear", part="tower"),
        Tensor(module="positions", shape=(64, 64), kind="embedding", part="root"),
        Tensor(module="projection", shape=(64, 32), kind="linear", part="root"),
    )
    work = flops.forward_work(one_kind(dense_block(), extra_tensors=extra))
    assert work.block_weights == LLAMA_8B_BLOCK_WEIGHTS + 64 * 32
