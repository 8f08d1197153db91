"""The parameter ledger by hand arithmetic, and what LoRA and quantisation reach."""

from collections.abc import Iterable
from typing import Any

import pytest

from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config, model_from_parameter_count
from generator.core.model import (
    Attention,
    Block,
    BlockGroup,
    FeedForward,
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    Mamba2,
    Mixer,
    MixtureOfExperts,
    Mlp,
    Model,
    ShortConv,
    Tensor,
)
from generator.core.params import (
    block_tensors,
    feed_forward_tensors,
    linear_tensors,
    lora_targets,
    mixer_tensors,
    num_active_parameters,
    num_lora_parameters,
    num_parameters,
    tensors,
    usual_module_names,
)

LLAMA_8B: dict[str, object] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
GPT2: dict[str, object] = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}
MIXTRAL: dict[str, object] = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


def llama(**changes: object) -> Model:
    return model_from_config({**LLAMA_8B, **changes}, "llama")


def total(parts: tuple[Tensor, ...], kind: str) -> int:
    return sum(part.num_parameters for part in parts if part.kind == kind)


def test_each_part_of_a_small_llama_has_the_shape_that_its_config_says() -> None:
    small = model_from_config(
        {
            "model_type": "llama",
            "hidden_size": 8,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 20,
            "vocab_size": 100,
        },
        "small",
    )
    shapes = {(part.module, part.shape): part.count for part in tensors(small)}
    expected = {
        ("embed_tokens", (100, 8)): 1,
        ("lm_head", (100, 8)): 1,
        ("final_norm", (8,)): 1,
        ("q_proj", (8, 8)): 3,
        ("k_proj", (4, 8)): 3,
        ("v_proj", (4, 8)): 3,
        ("o_proj", (8, 8)): 3,
        ("gate_proj", (20, 8)): 3,
        ("up_proj", (20, 8)): 3,
        ("down_proj", (8, 20)): 3,
        ("layernorm", (8,)): 6,
    }
    assert expected == shapes
    blocks = 3 * (8 * 8 + 4 * 8 + 4 * 8 + 8 * 8 + 3 * 20 * 8 + 2 * 8)
    assert 100 * 8 * 2 + 8 + blocks == num_parameters(small)


def test_tied_embeddings_count_once() -> None:
    tied, untied = llama(tie_word_embeddings=True), llama()
    assert num_parameters(untied) - num_parameters(tied) == 128256 * 4096
    assert not [part for part in tensors(tied) if part.kind == "head"]


def test_biases_follow_their_switches() -> None:
    plain = num_parameters(llama())
    attention = 32 * (4096 + 2 * 1024 + 4096)
    assert plain + attention == num_parameters(llama(attention_bias=True))
    mlp = 32 * (2 * 14336 + 4096)
    assert plain + mlp == num_parameters(llama(mlp_bias=True))


def test_equal_blocks_far_apart_are_merged() -> None:
    model = model_from_config(
        {
            **LLAMA_8B,
            "model_type": "gemma3_text",
            "head_dim": 128,
            "sliding_window": 512,
            "tie_word_embeddings": True,
        },
        "gemma",
    )
    assert len(model.block_groups) == 11  # five sliding and one full, in turn, for 32 layers
    counts = {part.count for part in tensors(model) if part.module == "q_proj"}
    assert {32} == counts


@pytest.mark.parametrize(
    ("rank", "target_modules", "expected"),
    [
        pytest.param(16, "all-linear", 41_943_040, id="all-linear"),
        pytest.param(8, ("q_proj", "v_proj"), 3_407_872, id="the-paper's-two"),
        pytest.param(16, ("q_proj", "k_proj", "v_proj", "o_proj"), 13_631_488, id="attention"),
    ],
)
def test_lora_on_llama_8b_has_the_count_that_peft_prints(
    rank: int, target_modules: str | tuple[str, ...], expected: int
) -> None:
    assert expected == num_lora_parameters(llama(), rank, target_modules)


def test_lora_adapts_no_head_tower_or_fused_expert() -> None:
    mixtral = model_from_config(MIXTRAL, "mixtral")
    modules = {part.module for part in linear_tensors(mixtral)}
    assert {"q_proj", "k_proj", "v_proj", "o_proj"} == modules
    assert {"expert"} == {part.kind for part in tensors(mixtral) if part.module == "down_proj"}


def test_lora_on_the_head_or_the_embedding_is_possible_by_name() -> None:
    only_head = lora_targets(llama(), ("lm_head",))
    assert [part.shape for part in only_head] == [(128256, 4096)]
    assert num_lora_parameters(llama(), 16, ("embed_tokens",)) == 16 * (128256 + 4096)


def test_an_unknown_target_names_what_exists() -> None:
    with pytest.raises(TrainfitError) as caught:
        lora_targets(llama(), ("q_proj", "c_attn"))
    assert caught.value.code == "unknown-id"
    assert caught.value.field == "lora.target_modules"
    assert "'c_attn'" in caught.value.message
    assert "down_proj, embed_tokens, gate_proj, k_proj, lm_head, o_proj" in caught.value.message


def test_modules_carry_the_architecture_s_own_names() -> None:
    gpt2 = model_from_config(GPT2, "gpt2")
    assert {"c_attn", "c_proj", "c_fc"} == {part.module for part in linear_tensors(gpt2)}
    # Both the attention's and the feed-forward part's output are called c_proj.
    assert frozenset({"o_proj", "down_proj"}) == usual_module_names(gpt2, ("c_proj",))
    assert frozenset({"q_proj", "v_proj"}) == usual_module_names(llama(), ("q_proj", "v_proj"))


def test_the_quantisable_part_of_llama_8b_is_its_block_matrices() -> None:
    per_block = 2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336 * 4096
    assert 32 * per_block == total(tensors(llama()), "linear")


def test_active_parameters_take_the_top_experts_only() -> None:
    mixtral = model_from_config(MIXTRAL, "mixtral")
    one_expert = 3 * 4096 * 14336
    assert num_parameters(mixtral) == 46_702_792_704
    assert 46_702_792_704 - 32 * 6 * one_expert == num_active_parameters(mixtral)
    assert num_parameters(llama()) == num_active_parameters(llama())


@pytest.mark.parametrize("count", [10_000_000, 12_345_678, 124_439_808, 7 * 10**9, 10**14])
def test_a_bare_count_gives_exactly_that_many_parameters(count: int) -> None:
    model = model_from_parameter_count(count)
    assert count == num_parameters(model)
    rest = [part.size for part in model.extra_tensors]
    width = model.hidden_size * model.num_hidden_layers
    assert sum(rest) < 3 * width  # less than one row of the feed-forward width in every layer


def test_thirteen_billion_has_the_shape_of_llama_2_13b_almost() -> None:
    model = model_from_parameter_count(13_000_000_000)
    assert (model.hidden_size, model.num_hidden_layers) == (5120, 40)
    assert num_parameters(model) == 13_000_000_000
    (group,) = model.block_groups
    assert group.block.feed_forward is not None
    assert getattr(group.block.feed_forward, "intermediate_size", 0) == 13798
    assert "vocabulary 32,000" in model.notes[0]


@pytest.mark.parametrize(
    ("count", "code"),
    [
        pytest.param(13, "out-of-range", id="billions"),
        pytest.param(-5, "out-of-range", id="negative"),
        pytest.param(10**15, "out-of-range", id="too-many"),
        pytest.param("13e9", "wrong-type", id="text"),
        pytest.param(13e9, "wrong-type", id="float"),
        pytest.param(True, "wrong-type", id="bool"),
    ],
)
def test_a_bare_count_that_is_none_is_refused(count: int, code: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        model_from_parameter_count(count)
    assert (code, "model.num_parameters") == (caught.value.code, caught.value.field)


def test_a_block_without_parts_holds_its_norms_only() -> None:
    (group,) = model_from_config(LLAMA_8B, "llama").block_groups
    empty = Block(mixers=(), feed_forward=None, num_input_norms=1)
    assert group.block != empty
    model = Model(
        name="norms",
        hidden_size=4,
        vocab_size=10,
        tie_word_embeddings=True,
        block_groups=(type(group)(count=5, block=empty),),
    )
    assert num_parameters(model) == 10 * 4 + 4 + 5 * 4


HIDDEN = 10
# Four query heads and two key/value heads of 3: 12 and 6 wide.
ATTENTION: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 3}
USUAL = [
    ("q_proj", (12, 10), "linear"),
    ("k_proj", (6, 10), "linear"),
    ("v_proj", (6, 10), "linear"),
    ("o_proj", (10, 12), "linear"),
]


def listed(parts: Iterable[Tensor]) -> list[tuple[str, tuple[int, ...], str]]:
    """Module, shape and kind, of tensors that all stand in a block once."""
    parts = list(parts)
    assert {(part.count, part.part) for part in parts} <= {(1, "block")}
    return [(part.module, part.shape, part.kind) for part in parts]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, USUAL, id="plain"),
        pytest.param(
            {"qkv_bias": True, "output_bias": True},
            [
                ("q_proj", (12, 10), "linear"),
                ("q_proj", (12,), "bias"),
                ("k_proj", (6, 10), "linear"),
                ("k_proj", (6,), "bias"),
                ("v_proj", (6, 10), "linear"),
                ("v_proj", (6,), "bias"),
                ("o_proj", (10, 12), "linear"),
                ("o_proj", (10,), "bias"),
            ],
            id="biases",
        ),
        pytest.param(
            {"fused_qkv": True, "qkv_bias": True},
            [
                ("qkv_proj", (12 + 2 * 6, 10), "linear"),
                ("qkv_proj", (24,), "bias"),
                ("o_proj", (10, 12), "linear"),
            ],
            id="fused",
        ),
        pytest.param(
            {"qk_norm": "head"},
            [*USUAL, ("q_norm", (3,), "norm"), ("k_norm", (3,), "norm")],
            id="norm-per-head",
        ),
        pytest.param(
            {"qk_norm": "full"},
            [*USUAL, ("q_norm", (12,), "norm"), ("k_norm", (6,), "norm")],
            id="norm-of-all-heads",
        ),
        pytest.param({"qk_norm": "head", "qk_norm_weight": False}, USUAL, id="norm-no-weight"),
        pytest.param({"qk_norm_weight": True, "value_norm": True}, USUAL, id="no-norm"),
        pytest.param(
            {"shares_key_value": True, "qk_norm": "full"},
            [USUAL[0], USUAL[3], ("q_norm", (12,), "norm")],
            id="shared-key-and-value",
        ),
        pytest.param({"value_is_key": True}, [*USUAL[:2], USUAL[3]], id="value-is-key"),
        pytest.param(
            {"output_gate": "full"},
            [("q_proj", (24, 10), "linear"), *USUAL[1:]],
            id="gate-in-the-query-projection",
        ),
        pytest.param(
            {"output_gate": "full", "gate_module": "g_proj"},
            [*USUAL, ("g_proj", (12, 10), "linear")],
            id="gate-by-itself",
        ),
        pytest.param(
            {"output_gate": "head", "gate_module": "g_proj"},
            [*USUAL, ("g_proj", (4, 10), "linear")],
            id="gate-per-head",
        ),
        pytest.param({"sinks": True}, [*USUAL, ("sinks", (4,), "other")], id="sinks"),
        pytest.param(
            {"q_lora_rank": 5, "qkv_bias": True, "shares_key_value": True},
            [
                ("q_a_proj", (5, 10), "linear"),
                ("q_a_norm", (5,), "norm"),
                ("q_b_proj", (12, 5), "linear"),
                USUAL[3],
            ],
            id="narrow-query",
        ),
        pytest.param(
            {"output_groups": 2, "output_lora_rank": 7, "output_bias": True},
            [*USUAL[:3], ("o_a_proj", (14, 6), "linear"), ("o_b_proj", (10, 14), "linear")],
            id="narrow-output",
        ),
    ],
)
def test_attention_has_these_tensors(
    changes: dict[str, Any], expected: list[tuple[str, tuple[int, ...], str]]
) -> None:
    assert listed(mixer_tensors(Attention(**{**ATTENTION, **changes}), HIDDEN)) == expected


LATENT: dict[str, Any] = {
    "num_attention_heads": 2,
    "kv_lora_rank": 5,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
}
NARROW_KEY_VALUE = [
    ("kv_a_proj_with_mqa", (5 + 4, 10), "linear"),
    ("kv_a_layernorm", (5,), "norm"),
    ("kv_b_proj", (2 * (3 + 6), 5), "linear"),
    ("o_proj", (10, 2 * 6), "linear"),
]
STATE_SPACE: dict[str, Any] = {
    "num_heads": 2,
    "head_dim": 4,
    "state_size": 3,
    "num_groups": 2,
    "conv_kernel": 5,
    "chunk_size": 256,
}
DELTA: dict[str, Any] = {
    "num_key_heads": 1,
    "num_value_heads": 2,
    "key_head_dim": 3,
    "value_head_dim": 4,
    "conv_kernel": 5,
}
# Queries and keys of 3, values of 8 go through the convolution; two heads have a step and a decay.
DELTA_INSIDE = [
    ("conv1d", (3 + 3 + 8, 1, 5), "conv"),
    ("dt_bias", (2,), "other"),
    ("A_log", (2,), "other"),
    ("norm", (4,), "norm"),
]
KIMI_START = [
    ("q_proj", (8, 10), "linear"),
    ("k_proj", (8, 10), "linear"),
    ("v_proj", (8, 10), "linear"),
    ("conv1d", (3 * 8, 1, 5), "conv"),
    ("forget_gate", (8,), "other"),
    ("forget_gate", (2,), "other"),
]
KIMI_END = [("b_proj", (2, 10), "linear"), ("o_norm", (4,), "norm"), ("o_proj", (10, 8), "linear")]


@pytest.mark.parametrize(
    ("mixer", "expected"),
    [
        pytest.param(
            LatentAttention(q_lora_rank=None, **LATENT),
            [("q_proj", (2 * (3 + 4), 10), "linear"), *NARROW_KEY_VALUE],
            id="latent-attention",
        ),
        pytest.param(
            LatentAttention(q_lora_rank=7, bias=True, **LATENT),
            [
                ("q_a_proj", (7, 10), "linear"),
                ("q_a_proj", (7,), "bias"),
                ("q_a_layernorm", (7,), "norm"),
                ("q_b_proj", (14, 7), "linear"),
                ("kv_a_proj_with_mqa", (9, 10), "linear"),
                ("kv_a_proj_with_mqa", (9,), "bias"),
                *NARROW_KEY_VALUE[1:],
                ("o_proj", (10,), "bias"),
            ],
            id="latent-attention-with-a-narrow-query-and-biases",
        ),
        pytest.param(
            Mamba2(**STATE_SPACE),
            [
                # Gate and stream of 8, two groups of B and C of 3, a time step for each head.
                ("in_proj", (8 + 8 + 2 * 2 * 3 + 2, 10), "linear"),
                ("conv1d", (8 + 12, 1, 5), "conv"),
                ("conv1d", (20,), "bias"),
                ("dt_bias", (2,), "other"),
                ("A_log", (2,), "other"),
                ("D", (2,), "other"),
                ("norm", (8,), "norm"),
                ("out_proj", (10, 8), "linear"),
            ],
            id="mamba-2",
        ),
        pytest.param(
            Mamba2(conv_bias=False, projection_bias=True, gated_norm=False, **STATE_SPACE),
            [
                ("in_proj", (30, 10), "linear"),
                ("in_proj", (30,), "bias"),
                ("conv1d", (20, 1, 5), "conv"),
                ("dt_bias", (2,), "other"),
                ("A_log", (2,), "other"),
                ("D", (2,), "other"),
                ("out_proj", (10, 8), "linear"),
                ("out_proj", (10,), "bias"),
            ],
            id="mamba-2-the-other-way-round",
        ),
        pytest.param(
            GatedDeltaNet(**DELTA),
            [
                ("in_proj_qkvz", (3 + 3 + 8 + 8, 10), "linear"),
                ("in_proj_ba", (2 + 2, 10), "linear"),
                *DELTA_INSIDE,
                ("out_proj", (10, 8), "linear"),
            ],
            id="delta-rule-fused",
        ),
        pytest.param(
            GatedDeltaNet(projections="split", **DELTA),
            [
                ("in_proj_qkv", (3 + 3 + 8, 10), "linear"),
                ("in_proj_z", (8, 10), "linear"),
                ("in_proj_b", (2, 10), "linear"),
                ("in_proj_a", (2, 10), "linear"),
                *DELTA_INSIDE,
                ("out_proj", (10, 8), "linear"),
            ],
            id="delta-rule-split",
        ),
        pytest.param(
            GatedDeltaNet(projections="separate", **DELTA),
            [
                ("q_proj", (3, 10), "linear"),
                ("k_proj", (3, 10), "linear"),
                ("v_proj", (8, 10), "linear"),
                ("a_proj", (2, 10), "linear"),
                ("b_proj", (2, 10), "linear"),
                ("g_proj", (8, 10), "linear"),
                *DELTA_INSIDE,
                ("o_proj", (10, 8), "linear"),
            ],
            id="delta-rule-separate",
        ),
        pytest.param(
            KimiDeltaAttention(num_heads=2, head_dim=4, conv_kernel=5),
            [
                *KIMI_START,
                ("f_a_proj", (4, 10), "linear"),
                ("f_b_proj", (8, 4), "linear"),
                ("g_a_proj", (4, 10), "linear"),
                ("g_b_proj", (8, 4), "linear"),
                *KIMI_END,
            ],
            id="kimi-delta-attention",
        ),
        pytest.param(
            KimiDeltaAttention(num_heads=2, head_dim=4, conv_kernel=5, low_rank_gates=False),
            [
                *KIMI_START,
                ("f_proj", (8, 10), "linear"),
                ("g_proj", (8, 10), "linear"),
                *KIMI_END,
            ],
            id="kimi-delta-attention-with-whole-gates",
        ),
        pytest.param(
            ShortConv(conv_kernel=3),
            [
                ("in_proj", (30, 10), "linear"),
                ("conv", (10, 1, 3), "conv"),
                ("out_proj", (10, 10), "linear"),
            ],
            id="short-convolution",
        ),
        pytest.param(
            ShortConv(conv_kernel=3, bias=True),
            [
                ("in_proj", (30, 10), "linear"),
                ("in_proj", (30,), "bias"),
                ("conv", (10, 1, 3), "conv"),
                ("conv", (10,), "bias"),
                ("out_proj", (10, 10), "linear"),
                ("out_proj", (10,), "bias"),
            ],
            id="short-convolution-with-biases",
        ),
    ],
)
def test_a_mixer_has_these_tensors(
    mixer: Mixer, expected: list[tuple[str, tuple[int, ...], str]]
) -> None:
    assert listed(mixer_tensors(mixer, HIDDEN)) == expected


# Three experts of 6: gate and up together, and down.
EXPERTS: dict[str, Any] = {
    "num_experts": 3,
    "num_experts_per_token": 2,
    "moe_intermediate_size": 6,
}
ROUTED = [("gate_up_proj", (3, 12, 10), "expert"), ("down_proj", (3, 10, 6), "expert")]
ROUTER = ("gate", (3, 10), "other")


@pytest.mark.parametrize(
    ("feed_forward", "expected"),
    [
        pytest.param(
            Mlp(intermediate_size=7, bias=True),
            [
                ("gate_proj", (7, 10), "linear"),
                ("gate_proj", (7,), "bias"),
                ("up_proj", (7, 10), "linear"),
                ("up_proj", (7,), "bias"),
                ("down_proj", (10, 7), "linear"),
                ("down_proj", (10,), "bias"),
            ],
            id="gated",
        ),
        pytest.param(
            Mlp(intermediate_size=7, fused_gate_up=True, bias=True),
            [
                ("gate_up_proj", (14, 10), "linear"),
                ("gate_up_proj", (14,), "bias"),
                ("down_proj", (10, 7), "linear"),
                ("down_proj", (10,), "bias"),
            ],
            id="fused",
        ),
        pytest.param(
            Mlp(intermediate_size=7, gated=False, fused_gate_up=True),
            [("up_proj", (7, 10), "linear"), ("down_proj", (10, 7), "linear")],
            id="no-gate-to-fuse",
        ),
        pytest.param(MixtureOfExperts(**EXPERTS), [ROUTER, *ROUTED], id="experts"),
        pytest.param(
            MixtureOfExperts(
                router_linear=True, router_bias=True, expert_bias=True, gated=False, **EXPERTS
            ),
            [
                ("gate", (3, 10), "linear"),
                ("gate", (3,), "bias"),
                ("up_proj", (3, 6, 10), "expert"),
                ("down_proj", (3, 10, 6), "expert"),
                ("up_proj", (3, 6), "expert"),
                ("down_proj", (3, 10), "expert"),
            ],
            id="experts-with-biases-and-no-gate",
        ),
        pytest.param(
            MixtureOfExperts(latent_size=4, expert_bias=True, **EXPERTS),
            [
                ROUTER,
                ("gate_up_proj", (3, 12, 4), "expert"),
                ("down_proj", (3, 4, 6), "expert"),
                ("gate_up_proj", (3, 12), "expert"),
                ("down_proj", (3, 4), "expert"),
                ("fc1_latent_proj", (4, 10), "linear"),
                ("fc2_latent_proj", (10, 4), "linear"),
            ],
            id="experts-in-a-width-of-their-own",
        ),
        pytest.param(
            MixtureOfExperts(shared_intermediate_size=5, shared_expert_gate=True, **EXPERTS),
            [
                ROUTER,
                *ROUTED,
                ("gate_proj", (5, 10), "linear"),
                ("up_proj", (5, 10), "linear"),
                ("down_proj", (10, 5), "linear"),
                ("shared_expert_gate", (1, 10), "linear"),
            ],
            id="shared-expert-with-a-gate",
        ),
        pytest.param(
            MixtureOfExperts(
                shared_intermediate_size=5,
                shared_fused_gate_up=True,
                shared_linear=False,
                **EXPERTS,
            ),
            [
                ROUTER,
                *ROUTED,
                ("gate_up_proj", (10, 10), "other"),
                ("down_proj", (10, 5), "other"),
            ],
            id="shared-expert-of-bare-parameters",
        ),
        pytest.param(
            MixtureOfExperts(shared_intermediate_size=5, gated=False, **EXPERTS),
            [
                ROUTER,
                ("up_proj", (3, 6, 10), "expert"),
                ("down_proj", (3, 10, 6), "expert"),
                ("up_proj", (5, 10), "linear"),
                ("down_proj", (10, 5), "linear"),
            ],
            id="shared-expert-without-a-gate",
        ),
    ],
)
def test_a_feed_forward_part_has_these_tensors(
    feed_forward: FeedForward, expected: list[tuple[str, tuple[int, ...], str]]
) -> None:
    assert listed(feed_forward_tensors(feed_forward, HIDDEN)) == expected


def tiny(*groups: BlockGroup, **changes: Any) -> Model:
    fields: dict[str, Any] = {
        "name": "tiny",
        "hidden_size": HIDDEN,
        "vocab_size": 50,
        "tie_word_embeddings": True,
        "block_groups": groups,
    }
    return Model(**{**fields, **changes})


def test_a_block_has_its_parts_its_norms_and_its_own_extras_under_its_own_names() -> None:
    gate = Tensor(module="o_proj", shape=(9,), kind="other")
    block = Block(
        mixers=(Attention(**ATTENTION), ShortConv(conv_kernel=3)),
        feed_forward=MixtureOfExperts(**EXPERTS),
        num_input_norms=1,
        num_output_norms=2,
        extra_tensors=(gate,),
    )
    names = (("o_proj", "c_proj"), ("layernorm", "ln"), ("down_proj", "w2"))
    model = tiny(BlockGroup(count=1, block=block), norm_bias=True, module_names=names)
    norm = [("ln", (10,), "norm"), ("ln", (10,), "bias")]

    assert listed(block_tensors(model, block)) == [
        *USUAL[:3],
        ("c_proj", (10, 12), "linear"),
        ("in_proj", (30, 10), "linear"),
        ("conv", (10, 1, 3), "conv"),
        ("out_proj", (10, 10), "linear"),
        # Fused experts keep the name that all architectures share, and extras their own.
        ROUTER,
        *ROUTED,
        *norm,
        *norm,
        *norm,
        ("o_proj", (9,), "other"),
    ]


def test_outside_the_blocks_are_embedding_head_and_final_norm() -> None:
    def roots(**changes: Any) -> list[tuple[str, tuple[int, ...], str]]:
        parts = tensors(tiny(**changes))
        assert {(part.count, part.part) for part in parts} == {(1, "root")}
        return [(part.module, part.shape, part.kind) for part in parts]

    table = (50, 10)
    embedding, norm = ("embed_tokens", table, "embedding"), ("final_norm", (10,), "norm")
    assert roots() == [embedding, norm]
    assert roots(final_norm=False, norm_bias=True) == [embedding]
    assert roots(tie_word_embeddings=False, head_bias=True, norm_bias=True) == [
        embedding,
        ("lm_head", table, "head"),
        ("lm_head", (50,), "bias"),
        norm,
        ("final_norm", (10,), "bias"),
    ]
    own = (("embed_tokens", "wte"), ("lm_head", "output"))
    renamed = roots(tie_word_embeddings=False, head_bias=True, module_names=own)
    assert [module for module, _, _ in renamed] == ["wte", "output", "output", "final_norm"]


def test_a_block_that_comes_back_is_counted_each_time() -> None:
    wide = Block(mixers=(), feed_forward=Mlp(intermediate_size=7), num_input_norms=1)
    narrow = Block(mixers=(), feed_forward=Mlp(intermediate_size=3), num_input_norms=1)
    model = tiny(
        BlockGroup(count=2, block=wide),
        BlockGroup(count=3, block=narrow),
        BlockGroup(count=4, block=wide),
    )
    counts = {(part.module, part.shape): part.count for part in tensors(model)}

    assert counts["up_proj", (7, 10)] == 2 + 4
    assert counts["up_proj", (3, 10)] == 3
    assert counts["layernorm", (10,)] == 2 + 3 + 4


def test_equal_tensors_of_a_tower_and_a_block_stay_apart() -> None:
    tower = Tensor(module="q_proj", shape=(12, 10), kind="linear", part="tower", count=5)
    block = Block(mixers=(Attention(**ATTENTION),), feed_forward=None)
    model = tiny(BlockGroup(count=2, block=block), extra_tensors=(tower, tower))
    queries = {part.part: part.count for part in tensors(model) if part.module == "q_proj"}

    assert queries == {"block": 2, "tower": 10}
    assert {part.part for part in linear_tensors(model)} == {"block"}
    assert {part.part for part in lora_targets(model, ("q_proj",))} == {"block"}
    # Neither is a tower on the way of a token of text.
    assert num_parameters(model) - num_active_parameters(model) == 10 * 12 * 10


def test_a_token_passes_through_its_top_experts_in_every_block() -> None:
    block = Block(mixers=(), feed_forward=MixtureOfExperts(**EXPERTS, expert_bias=True))
    dense = Block(mixers=(), feed_forward=Mlp(intermediate_size=7))
    model = tiny(BlockGroup(count=4, block=block), BlockGroup(count=1, block=dense))
    one_expert = 12 * 10 + 10 * 6 + 12 + 10

    assert num_parameters(model) - num_active_parameters(model) == 4 * (3 - 2) * one_expert


def test_one_target_may_be_named_without_a_list() -> None:
    (only,) = lora_targets(llama(), "q_proj")

    assert (only.module, only.count) == ("q_proj", 32)
    assert lora_targets(llama(), "all-linear") == linear_tensors(llama())


def test_the_whole_sentence_about_an_unknown_target() -> None:
    block = Block(mixers=(ShortConv(conv_kernel=3),), feed_forward=None)
    with pytest.raises(TrainfitError) as caught:
        lora_targets(tiny(BlockGroup(count=1, block=block)), ("x" * 100,))

    assert caught.value.message == (
        f"The model has no linear layer called {'x' * 80!r}; "
        "use 'all-linear' or names out of: embed_tokens, in_proj, out_proj."
    )
