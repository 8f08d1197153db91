"""The parameter ledger by hand arithmetic, and what LoRA and quantisation reach."""

import pytest

from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config, model_from_parameter_count
from generator.core.model import Block, Model, Tensor
from generator.core.params import (
    linear_tensors,
    lora_targets,
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
