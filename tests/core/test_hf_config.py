"""Hugging Face configs: published forms, sizes outside the catalog, and hostile input."""

import math
import tomllib
from collections.abc import Iterator
from functools import cache

import pytest

from generator.core.errors import TrainfitError
from generator.core.hf_config import ADAPTERS, model_from_config
from generator.core.model import Attention, Model
from generator.core.params import num_active_parameters, num_parameters, tensors
from generator.load import CATALOG_DIR

Config = dict[str, object]


def dense(model_type: str, sizes: tuple[int, int, int, int, int, int], **more: object) -> Config:
    """Hidden, layers, heads, key/value heads, feed-forward width, vocabulary."""
    names = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
    )
    return {"model_type": model_type, **dict(zip(names, sizes, strict=True)), **more}


def gpt_neox(hidden: int, layers: int, heads: int, vocab: int = 50304) -> Config:
    sizes = (hidden, layers, heads, heads, 4 * hidden, vocab)
    return dense("gpt_neox", sizes, tie_word_embeddings=False)


def gpt2(width: int, layers: int, heads: int) -> Config:
    return {
        "model_type": "gpt2",
        "n_embd": width,
        "n_layer": layers,
        "n_head": heads,
        "n_positions": 1024,
        "vocab_size": 50257,
    }


DEEPSEEK_V2: Config = {
    **dense("deepseek_v2", (5120, 60, 128, 128, 12288, 102400)),
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 160,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 1536,
    "first_k_dense_replace": 1,
}
QWEN_25_VL_3B: Config = {
    **dense("qwen2_5_vl", (2048, 36, 16, 2, 11008, 151936), tie_word_embeddings=True),
    "vision_config": {"depth": 32, "hidden_size": 1280, "out_hidden_size": 2048},
}
QWEN3_VL_4B: Config = {
    "model_type": "qwen3_vl",
    "tie_word_embeddings": True,
    "text_config": {
        **dense("qwen3_vl_text", (2560, 36, 32, 8, 9728, 151936)),
        "head_dim": 128,
    },
    "vision_config": {
        "depth": 24,
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "out_hidden_size": 2560,
        "deepstack_visual_indexes": [5, 11, 17],
    },
}
FALCON_7B: Config = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "vocab_size": 65024,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "tie_word_embeddings": False,
}
STARCODER: Config = {
    "model_type": "gpt_bigcode",
    "n_embd": 6144,
    "n_layer": 40,
    "n_head": 48,
    "n_inner": 24576,
    "n_positions": 8192,
    "vocab_size": 49152,
}

PUBLISHED: list[tuple[str, Config, int]] = [
    (
        "qwen2-0.5b",
        dense("qwen2", (896, 24, 14, 2, 4864, 151936), tie_word_embeddings=True),
        494_032_768,
    ),
    ("qwen2.5-coder-14b", dense("qwen2", (5120, 48, 40, 8, 13824, 152064)), 14_770_033_664),
    (
        "qwen1.5-moe-a2.7b",
        {
            **dense("qwen2_moe", (2048, 24, 16, 16, 5632, 151936)),
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
            "num_experts": 60,
            "num_experts_per_tok": 4,
        },
        14_315_784_192,
    ),
    (
        "olmoe-1b-7b",
        {
            **dense("olmoe", (2048, 16, 16, 16, 1024, 50304)),
            "num_experts": 64,
            "num_experts_per_tok": 8,
        },
        6_919_161_856,
    ),
    ("olmo-2-13b", dense("olmo2", (5120, 40, 40, 40, 13824, 100352)), 13_716_198_400),
    ("olmo-2-32b", dense("olmo2", (5120, 64, 40, 8, 27648, 100352)), 32_234_279_936),
    ("olmo-2-1b", dense("olmo2", (2048, 16, 16, 16, 8192, 100352)), 1_484_916_736),
    ("phi-3-medium", dense("phi3", (5120, 40, 40, 10, 17920, 32064)), 13_960_238_080),
    ("yi-6b", dense("llama", (4096, 32, 32, 4, 11008, 64000)), 6_061_035_520),
    ("yi-9b", dense("llama", (4096, 48, 32, 4, 11008, 64000)), 8_829_407_232),
    ("codellama-34b", dense("llama", (8192, 48, 64, 8, 22016, 32000)), 33_743_970_304),
    ("deepseek-coder-33b", dense("llama", (7168, 62, 56, 8, 19200, 32256)), 33_342_991_360),
    ("deepseek-v2", DEEPSEEK_V2, 235_741_434_880),
    (
        "mistral-large-2407",
        dense("mistral", (12288, 88, 96, 8, 28672, 32768), head_dim=128),
        122_610_069_504,
    ),
    (
        "command-r",
        dense("cohere", (8192, 40, 64, 64, 22528, 256000), tie_word_embeddings=True),
        34_980_831_232,
    ),
    ("aya-expanse-8b", dense("cohere", (4096, 32, 32, 8, 14336, 256000)), 8_028_033_024),
    ("qwen2.5-vl-3b", QWEN_25_VL_3B, 3_754_622_976),
    ("qwen3-vl-4b", QWEN3_VL_4B, 4_437_815_808),
    ("falcon-7b-with-its-own-head", FALCON_7B, 7_217_189_760),
    ("starcoderbase", STARCODER, 15_517_456_384),
    ("pythia-70m", gpt_neox(512, 6, 8), 70_426_624),
    ("pythia-160m", gpt_neox(768, 12, 12), 162_322_944),
    ("pythia-2.8b", gpt_neox(2560, 32, 32), 2_775_208_960),
    ("pythia-12b", gpt_neox(5120, 36, 40, 50688), 11_846_072_320),
    ("gpt-neox-20b", gpt_neox(6144, 44, 64, 50432), 20_554_567_680),
    ("gpt2-medium", gpt2(1024, 24, 16), 354_823_168),
    ("gpt2-xl", gpt2(1600, 48, 25), 1_557_611_200),
]


@pytest.mark.parametrize(
    ("config", "published"),
    [pytest.param(config, total, id=name) for name, config, total in PUBLISHED],
)
def test_sizes_outside_the_catalog_have_their_published_totals(
    config: Config, published: int
) -> None:
    assert published == num_parameters(model_from_config(config, "model"))


# --- published forms: nested, with the class's defaults left out -------------------------------

GEMMA3_4B_AS_PUBLISHED: Config = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "eos_token_id": [1, 106],
    "mm_tokens_per_image": 256,
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
    "vision_config": {
        "hidden_size": 1152,
        "image_size": 896,
        "intermediate_size": 4304,
        "model_type": "siglip_vision_model",
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
        "vision_use_head": False,
    },
}


def test_a_nested_file_without_the_class_s_defaults_is_complete() -> None:
    model = model_from_config(GEMMA3_4B_AS_PUBLISHED, "gemma")
    assert num_parameters(model) == 4_300_079_472
    assert model.tie_word_embeddings
    first, *_ = model.block_groups
    (mixer,) = first.block.mixers
    assert isinstance(mixer, Attention)
    assert (first.count, mixer.sliding_window) == (5, 1024)


def test_the_pooling_head_of_siglip_counts_unless_switched_off() -> None:
    vision = {"vision_config": {"hidden_size": 1152, "intermediate_size": 4304}}
    with_head = model_from_config({**GEMMA3_4B_AS_PUBLISHED, **vision}, "gemma")
    off = {"vision_config": {**vision["vision_config"], "vision_use_head": False}}
    without = model_from_config({**GEMMA3_4B_AS_PUBLISHED, **off}, "gemma")
    hidden, width = 1152, 4304
    attention = hidden + 3 * hidden * hidden + 3 * hidden + hidden * hidden + hidden
    head = attention + 2 * hidden + 2 * hidden * width + hidden + width
    assert head == num_parameters(with_head) - num_parameters(without)


@cache
def catalog_configs() -> dict[str, Config]:
    """One catalog config for each architecture."""
    found: dict[str, Config] = {}
    for path in sorted((CATALOG_DIR / "models").glob("*.toml")):
        config = tomllib.loads(path.read_text(encoding="utf-8"))["config"]
        found.setdefault(config["model_type"], config)
    return found


NESTING = ("gemma3", "gemma4", "kimi_k25", "llama4", "mistral3", "mllama", "qwen3_5", "qwen3_vl")


@pytest.mark.parametrize("model_type", NESTING)
def test_nested_and_flattened_form_give_the_same_model(model_type: str) -> None:
    flat = catalog_configs()[model_type]
    towers = {"model_type", "vision_config", "audio_config", "tie_word_embeddings"}
    text = {key: value for key, value in flat.items() if key not in towers}
    outer = {key: value for key, value in flat.items() if key in towers}
    nested = model_from_config({**outer, "text_config": text}, "model")
    assert tensors(model_from_config(flat, "model")) == tensors(nested)


def test_mistral_3_may_hold_a_mistral_4() -> None:
    text = {"model_type": "mistral4", "hidden_size": 1024, "num_hidden_layers": 4}
    model = model_from_config({"model_type": "mistral3", "text_config": text}, "model")
    assert any(part.module == "kv_b_proj" for part in tensors(model))


def test_run_length_and_written_out_layer_types_are_the_same() -> None:
    base = catalog_configs()["gemma2"]
    written = ["sliding_attention", "sliding_attention", "full_attention"]
    short = {**base, "num_hidden_layers": 3, "layer_types": written}
    packed = {
        **base,
        "num_hidden_layers": 3,
        "layer_types_rle": [["sliding_attention", 2], ["full_attention", 1]],
    }
    assert windows(model_from_config(short, "model")) == [4096, 4096, None]
    assert windows(model_from_config(packed, "model")) == [4096, 4096, None]


def windows(model: Model) -> list[int | None]:
    found: list[int | None] = []
    for group in model.block_groups:
        for mixer in group.block.mixers:
            assert isinstance(mixer, Attention)
            found += [mixer.sliding_window] * group.count
    return found


def test_qwen_s_window_counts_only_when_switched_on() -> None:
    sizes = (896, 4, 14, 2, 4864, 1000)
    off = dense("qwen2", sizes, sliding_window=512, max_window_layers=2)
    assert windows(model_from_config(off, "model")) == [None] * 4
    on = {**off, "use_sliding_window": True}
    assert windows(model_from_config(on, "model")) == [None, None, 512, 512]


def test_kimi_s_own_list_of_layers_counts_from_one() -> None:
    flat = dict(catalog_configs()["kimi_linear"])
    for key in ("layer_types_rle", "linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim"):
        del flat[key]
    del flat["mlp_layer_types_rle"]
    full = {4, 8, 12, 16, 20, 24, 27}
    published = {
        **flat,
        "first_k_dense_replace": 1,
        "linear_attn_config": {
            "kda_layers": [number for number in range(1, 28) if number not in full],
            "full_attn_layers": sorted(full),
            "head_dim": 128,
            "num_heads": 32,
            "short_conv_kernel_size": 4,
        },
    }
    assert num_parameters(model_from_config(published, "model")) == 49_122_675_072


def test_nemotron_s_letters_and_list_say_the_same() -> None:
    flat = dict(catalog_configs()["nemotron_h"])
    letters = str(flat.pop("hybrid_override_pattern"))
    names = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
    listed = {**flat, "layers_block_type": [names[letter] for letter in letters]}
    original = model_from_config(catalog_configs()["nemotron_h"], "model")
    assert tensors(original) == tensors(model_from_config(listed, "model"))


def test_qwen_1_states_twice_its_feed_forward_width() -> None:
    published = {
        "model_type": "qwen",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "kv_channels": 128,
        "intermediate_size": 22016,
        "vocab_size": 151936,
    }
    assert num_parameters(model_from_config(published, "model")) == 7_721_324_544
    in_qwen2_fields = {**published, "intermediate_size": 11008, "shape_as": "qwen2"}
    assert num_parameters(model_from_config(in_qwen2_fields, "model")) == 7_721_324_544


def test_a_model_without_a_class_can_name_the_shape_it_shares() -> None:
    config = dense("my_llama", (4096, 32, 32, 8, 14336, 128256), shape_as="llama")
    assert num_parameters(model_from_config(config, "model")) == 8_030_261_248


def test_unknown_fields_are_ignored() -> None:
    config = dense("llama", (64, 2, 4, 2, 128, 100))
    more = {**config, "my_field": {"deep": [1, 2]}, "torch_dtype": "bfloat16"}
    assert tensors(model_from_config(config, "a")) == tensors(model_from_config(more, "a"))


# --- what is refused, and how -------------------------------------------------------------------

LLAMA = dense("llama", (4096, 32, 32, 8, 14336, 128256))


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        pytest.param({"model_type": None}, "missing-field", "model_type", id="no-type"),
        pytest.param({"model_type": 5}, "wrong-type", "model_type", id="type-is-a-number"),
        pytest.param(
            {"model_type": "rwkv"}, "unsupported-architecture", "model_type", id="unknown-type"
        ),
        pytest.param({"hidden_size": None}, "missing-field", "hidden_size", id="no-width"),
        pytest.param({"vocab_size": None}, "missing-field", "vocab_size", id="no-vocabulary"),
        pytest.param({"hidden_size": "4096"}, "wrong-type", "hidden_size", id="text"),
        pytest.param({"hidden_size": True}, "wrong-type", "hidden_size", id="bool"),
        pytest.param({"hidden_size": 4096.0}, "wrong-type", "hidden_size", id="float"),
        pytest.param({"hidden_size": math.nan}, "wrong-type", "hidden_size", id="nan"),
        pytest.param({"hidden_size": [4096]}, "wrong-type", "hidden_size", id="list"),
        pytest.param({"hidden_size": -4096}, "out-of-range", "hidden_size", id="negative"),
        pytest.param({"hidden_size": 0}, "out-of-range", "hidden_size", id="zero"),
        pytest.param({"hidden_size": 2**41}, "out-of-range", "hidden_size", id="huge"),
        pytest.param({"hidden_size": 10**5000}, "out-of-range", "hidden_size", id="endless"),
        pytest.param(
            {"num_hidden_layers": 10**6}, "out-of-range", "num_hidden_layers", id="layers"
        ),
        pytest.param(
            {"hidden_size": 4097}, "inconsistent-config", "hidden_size", id="heads-do-not-divide"
        ),
        pytest.param(
            {"num_key_value_heads": 5},
            "inconsistent-config",
            "num_key_value_heads",
            id="key-value-heads-do-not-divide",
        ),
        pytest.param({"tie_word_embeddings": "yes"}, "wrong-type", "tie_word_embeddings", id="yes"),
        pytest.param({"hidden_act": "snake"}, "unsupported-architecture", "hidden_act", id="snake"),
        pytest.param(
            {"partial_rotary_factor": math.nan}, "out-of-range", "partial_rotary_factor", id="nan-2"
        ),
        pytest.param(
            {"partial_rotary_factor": "half"}, "wrong-type", "partial_rotary_factor", id="half"
        ),
        pytest.param({"rope_scaling": 4}, "wrong-type", "rope_scaling", id="no-object"),
    ],
)
def test_a_bad_field_is_named_with_what_is_wrong(changes: Config, code: str, field: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        model_from_config({**LLAMA, **changes}, "model")
    assert (code, f"model.config.{field}") == (caught.value.code, caught.value.field)
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        pytest.param(
            {"layer_types": ["full_attention"]}, "inconsistent-config", "layer_types", id="short"
        ),
        pytest.param(
            {"layer_types": ["linear_attention"] * 26},
            "unsupported-architecture",
            "layer_types",
            id="another-type",
        ),
        pytest.param({"layer_types": [1] * 26}, "wrong-type", "layer_types", id="numbers"),
        pytest.param({"layer_types": "full"}, "wrong-type", "layer_types", id="text"),
        pytest.param({"layer_types": ["x"] * 10**5}, "out-of-range", "layer_types", id="endless"),
        pytest.param(
            {"layer_types_rle": [["full_attention", 10**12]]}, None, "", id="many-times-is-cut"
        ),
        pytest.param(
            {"layer_types_rle": [["full_attention", -1]]},
            "out-of-range",
            "layer_types_rle",
            id="negative",
        ),
        pytest.param(
            {"layer_types_rle": ["full_attention"]}, "wrong-type", "layer_types_rle", id="no-pairs"
        ),
    ],
)
def test_layer_patterns_are_checked(changes: Config, code: str | None, field: str) -> None:
    config = {**catalog_configs()["gemma2"], "num_hidden_layers": 26, **changes}
    if code is None:
        assert windows(model_from_config(config, "model")) == [None] * 26
        return
    with pytest.raises(TrainfitError) as caught:
        model_from_config(config, "model")
    assert (code, f"model.config.{field}") == (caught.value.code, caught.value.field)


def test_an_error_inside_a_nested_config_says_where() -> None:
    config = {**GEMMA3_4B_AS_PUBLISHED, "vision_config": {"hidden_size": "wide"}}
    with pytest.raises(TrainfitError) as caught:
        model_from_config(config, "model")
    assert caught.value.field == "model.config.vision_config.hidden_size"


def test_more_experts_per_token_than_experts_is_refused() -> None:
    config = {**catalog_configs()["mixtral"], "num_experts_per_tok": 99}
    with pytest.raises(TrainfitError) as caught:
        model_from_config(config, "model")
    assert caught.value.code == "inconsistent-config"
    assert "99" in caught.value.message


def test_an_unknown_architecture_tells_how_to_go_on() -> None:
    with pytest.raises(TrainfitError) as caught:
        model_from_config({"model_type": "rwkv"}, "model")
    assert "'rwkv'" in caught.value.message
    assert '"model_type": "llama"' in caught.value.message


def test_a_total_beyond_any_model_is_refused() -> None:
    with pytest.raises(TrainfitError) as caught:
        model_from_config({**LLAMA, "intermediate_size": 2**39}, "model")
    assert (caught.value.code, caught.value.field) == ("out-of-range", "model.config")


@pytest.mark.parametrize("config", [None, [], "llama", 5])
def test_what_is_no_object_is_refused(config: Config) -> None:
    with pytest.raises(TrainfitError) as caught:
        model_from_config(config, "model")
    assert (caught.value.code, caught.value.field) == ("wrong-type", "model.config")


def nested_without_end(make: type[dict[str, object]] | type[list[object]]) -> object:
    """Deeper than the interpreter's stack."""
    top: object = make()
    inner = top
    for _ in range(100_000):
        deeper: object = make()
        if isinstance(inner, dict):
            inner["a"] = deeper
        elif isinstance(inner, list):
            inner.append(deeper)
        inner = deeper
    return top


DEEP_OBJECT = nested_without_end(dict)
DEEP_LIST = nested_without_end(list)
# Every kind of nonsense in every field of every architecture.
NONSENSE: list[object] = [
    None,
    "x",
    "\ud800",
    -1,
    0,
    1,
    2**41,
    10**4000,
    math.nan,
    True,
    [],
    ["x"],
    [["x", 10**12]],
    {},
    {"a": 1},
    DEEP_OBJECT,
    DEEP_LIST,
    [0] * 100_000,
]


def spoilt(config: Config) -> Iterator[Config]:
    """The config with one field missing or spoilt, the nested ones' fields too."""
    extra = ("layer_types", "text_config", "mlp_layer_types", "rope_parameters", "shape_as")
    for key in (*config, *extra):
        yield {name: value for name, value in config.items() if name != key}
        for value in NONSENSE:
            yield {**config, key: value}
        inner = config.get(key)
        if isinstance(inner, dict):
            for name in inner:
                yield {**config, key: {other: inner[other] for other in inner if other != name}}
                for value in NONSENSE:
                    yield {**config, key: {**inner, name: value}}


def small(model_type: str, **more: object) -> Config:
    """Sizes at which the classes were built and counted."""
    return dense(model_type, (64, 8, 4, 2, 96, 300_000), **more)


FOUR_EXPERTS: Config = {"num_local_experts": 4, "num_experts_per_tok": 2}
ROUTED: Config = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT: Config = {
    "kv_lora_rank": 32,
    "q_lora_rank": 48,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
}
BUILT: list[tuple[str, Config, int]] = [
    ("arcee", {}, 38_597_696),
    ("exaone4", {"sliding_window": 16}, 38_647_104),
    ("glm", {}, 39_343_168),
    ("ernie4_5", {}, 20_134_976),
    ("starcoder2", {}, 19_401_600),
    ("nemotron", {}, 38_598_784),
    ("internlm3", {}, 38_646_848),
    ("iquestcoder", {}, 38_646_848),
    ("granitemoe", FOUR_EXPERTS, 39_091_264),
    ("granitemoeshared", {**FOUR_EXPERTS, "shared_intermediate_size": 32}, 39_140_416),
    ("phimoe", {**FOUR_EXPERTS, "lm_head_bias": True}, 39_392_352),
    ("solar_open", {**ROUTED, "n_routed_experts": 4, "n_shared_experts": 1}, 39_435_328),
    ("exaone_moe", {**ROUTED, "num_experts": 4, "num_shared_experts": 1}, 38_734_912),
    ("flex_olmo", {"num_experts": 4, "num_experts_per_tok": 2}, 39_092_032),
    ("youtu", LATENT, 19_496_640),
    (
        "qwen2_vl",
        {"vision_config": {"depth": 2, "embed_dim": 128, "hidden_size": 64}},
        39_490_688,
    ),
    (
        "dots1",
        {**ROUTED, "n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1},
        38_734_912,
    ),
]


@pytest.mark.parametrize(
    ("config", "built"),
    [pytest.param(small(name, **more), total, id=name) for name, more, total in BUILT],
)
def test_small_models_have_the_totals_of_their_classes(config: Config, built: int) -> None:
    """Counted on the classes of transformers 5.24.0, built from the same fields."""
    assert num_parameters(model_from_config(config, "model")) == built


SOUND: dict[str, Config] = {
    **catalog_configs(),
    **{name: small(name, **more) for name, more, _ in BUILT},
}


@pytest.mark.parametrize("config", [pytest.param(SOUND[name], id=name) for name in sorted(SOUND)])
def test_hostile_configs_give_a_model_or_an_error_that_names_a_field(config: Config) -> None:
    models: list[Model] = []
    errors: list[TrainfitError] = []
    for bad in spoilt(config):
        try:
            models.append(model_from_config(bad, "model"))
        except TrainfitError as error:
            errors.append(error)
    assert models
    assert errors
    for model in models:
        assert 0 < num_active_parameters(model) <= num_parameters(model) <= 10**14
    assert all(each.field.startswith("model.config") for each in errors)
    assert all(each.message.isprintable() for each in errors)


def test_every_architecture_is_covered_by_a_catalog_model_or_a_known_total() -> None:
    tested = {*catalog_configs(), *(str(config["model_type"]) for _, config, _ in PUBLISHED)}
    tested |= {name for name, _, _ in BUILT}
    # Variants of tested adapters: text models on their own, and the same class under a newer name.
    variants = {
        "cohere2",
        "gemma3n_text",
        "granite_swa",
        "llama4_text",
        "minicpmv",
        "ministral3",
        "mistral4",
        "qwen3_5_text",
        "qwen3_vl_moe",
    }
    assert set(ADAPTERS) - tested == variants


# --- forms of published files that the catalog does not use -------------------------------------


def without(config: Config, *keys: str) -> Config:
    return {key: value for key, value in config.items() if key not in keys}


def refused(config: Config) -> TrainfitError:
    with pytest.raises(TrainfitError) as caught:
        model_from_config(config, "model")
    return caught.value


def test_the_text_model_alone_is_the_whole_less_its_tower() -> None:
    for whole, alone in (
        ("gemma3n", "gemma3n_text"),
        ("llama4", "llama4_text"),
        ("qwen3_5", "qwen3_5_text"),
    ):
        config = catalog_configs()[whole]
        towers = sum(
            part.num_parameters
            for part in tensors(model_from_config(config, "whole"))
            if part.part == "tower"
        )
        text = {**without(config, "vision_config", "audio_config"), "model_type": alone}
        expected = num_parameters(model_from_config(config, "whole")) - towers
        assert num_parameters(model_from_config(text, "text")) == expected


def test_ministral_3_is_mistral_and_qwen3_vl_moe_is_qwen3_moe_with_a_tower() -> None:
    mistral = {**catalog_configs()["mistral"], "model_type": "ministral3"}
    expected = tensors(model_from_config(catalog_configs()["mistral"], "model"))
    assert tensors(model_from_config(mistral, "model")) == expected
    text = catalog_configs()["qwen3_moe"]
    vision = {"depth": 1, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 2048}
    both = {**text, "model_type": "qwen3_vl_moe", "vision_config": vision}
    added = num_parameters(model_from_config(both, "b")) - num_parameters(
        model_from_config(text, "t")
    )
    block = 4 * (64 * 64 + 64) + 2 * 64 * 128 + 128 + 64 + 4 * 64
    mergers = 256 * 256 + 256 + 2048 * 256 + 2048
    around = 64 * 3 * 2 * 16 * 16 + 64 + 2304 * 64 + 2 * 64 + 3 * 2 * 256
    assert added == block + 4 * mergers + around


def test_granite_with_windows_has_sinks_on_every_layer() -> None:
    config = dense("granite_swa", (64, 2, 4, 2, 128, 100), sliding_window=16)
    types = {"layer_types": ["sliding_attention", "full_attention"]}
    model = model_from_config({**config, **types}, "model")
    assert windows(model) == [16, None]
    assert [part.count for part in tensors(model) if part.module == "sinks"] == [2]


def test_command_r7b_has_windows_that_command_r_has_not() -> None:
    sizes = (64, 8, 4, 2, 128, 100)
    newer = model_from_config(dense("cohere2", sizes, sliding_window=16), "model")
    assert windows(newer) == [16, 16, 16, None, 16, 16, 16, None]
    older = model_from_config(dense("cohere", sizes), "model")
    assert windows(older) == [None] * 8
    assert num_parameters(older) == num_parameters(newer)


def test_minicpm_v_is_read_as_text_alone_and_refused_with_its_encoder() -> None:
    config = {**LLAMA, "model_type": "minicpmv"}
    assert num_parameters(model_from_config(config, "model")) == 8_030_261_248
    error = refused({**config, "vision_config": {"hidden_size": 1152}})
    assert (error.code, error.field) == ("unsupported-architecture", "model.config.vision_config")


def test_phi_s_query_norm_is_not_modelled() -> None:
    config = dense("phi", (64, 2, 4, 4, 128, 100), qk_layernorm=True)
    assert refused(config).field == "model.config.qk_layernorm"


def test_deepseek_v4_s_ratios_say_what_its_layer_types_say() -> None:
    flat = without(catalog_configs()["deepseek_v4"], "layer_types_rle", "layer_types")
    layers = int(str(flat["num_hidden_layers"]))
    ratios = [0, 0, *([4, 128] * layers)][:layers]
    names = {0: "sliding_attention", 4: "compressed_sparse_attention"}
    types = [names.get(each, "heavily_compressed_attention") for each in ratios]
    by_ratio = model_from_config({**flat, "compress_ratios": ratios}, "model")
    by_name = model_from_config({**flat, "layer_types": types}, "model")
    assert tensors(by_ratio) == tensors(by_name)
    assert refused({**flat, "compress_ratios": [5] * layers}).code == "unsupported-architecture"
    assert refused({**flat, "compress_ratios": [4]}).code == "inconsistent-config"


def test_glm_5_s_letters_say_which_layers_have_an_indexer() -> None:
    flat = without(catalog_configs()["glm_moe_dsa"], "indexer_types", "indexer_types_rle")
    small = {**flat, "num_hidden_layers": 8, "mlp_layer_types_rle": [["dense", 8]]}
    model = model_from_config({**small, "index_topk_pattern": "FSSSFSSS"}, "model")
    assert [part.count for part in tensors(model) if part.module == "wq_b"] == [2]


def test_minimax_m3_s_published_lists_of_zeros_and_ones() -> None:
    flat = without(
        catalog_configs()["minimax_m3_vl"],
        "layer_types_rle",
        "mlp_layer_types_rle",
        "index_n_heads",
    )
    published = {
        **flat,
        "hidden_act": "swigluoai",
        "moe_layer_freq": [0] * 3 + [1] * 57,
        "sparse_attention_config": {
            "sparse_attention_freq": [0] * 3 + [1] * 57,
            "sparse_index_dim": 128,
            "sparse_num_index_heads": 4,
        },
    }
    expected = model_from_config(catalog_configs()["minimax_m3_vl"], "model")
    assert tensors(model_from_config(published, "model")) == tensors(expected)
    assert refused({**published, "moe_layer_freq": [1]}).code == "inconsistent-config"


def test_inkling_s_published_names_for_widths_and_layers() -> None:
    flat = catalog_configs()["inkling_mm_model"]
    layers = int(str(flat["num_hidden_layers"]))
    published = {
        **without(flat, "mlp_layer_types_rle", "layer_types_rle", "moe_intermediate_size"),
        "dense_intermediate_size": flat["intermediate_size"],
        "intermediate_size": flat["moe_intermediate_size"],
        "dense_mlp_idx": 2,
        "local_layer_ids": [number for number in range(layers) if (number + 1) % 6],
    }
    expected = tensors(model_from_config(flat, "model"))
    assert tensors(model_from_config(published, "model")) == expected


@pytest.mark.parametrize(
    ("model_type", "changes", "field"),
    [
        pytest.param("glm5_next", {"layer_types": ["x"] * 45}, "layer_types", id="glm"),
        pytest.param("inkling_mm_model", {"layer_types": ["x"] * 42}, "layer_types", id="inkling"),
        pytest.param(
            "nemotron_h", {"hybrid_override_pattern": "MXM"}, "hybrid_override_pattern", id="letter"
        ),
        pytest.param(
            "nemotron_h", {"layers_block_type": ["x"] * 52}, "layers_block_type", id="block-type"
        ),
        pytest.param(
            "nemotron_h",
            {"hybrid_override_pattern": "M" * 5000},
            "hybrid_override_pattern",
            id="endless-letters",
        ),
    ],
)
def test_layers_of_an_unknown_kind_are_refused(
    model_type: str, changes: Config, field: str
) -> None:
    error = refused({**catalog_configs()[model_type], **changes})
    assert error.field == f"model.config.{field}"


def test_dense_layers_among_experts_are_read_from_the_step() -> None:
    config = {
        **dense("qwen2_moe", (64, 4, 4, 2, 128, 100)),
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 64,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "decoder_sparse_step": 2,
    }
    model = model_from_config(config, "model")
    assert [part.count for part in tensors(model) if part.kind == "expert"] == [2, 2]
    assert [group.count for group in model.block_groups] == [1, 1, 1, 1]


def test_rotary_factor_may_be_nested() -> None:
    nested = {**LLAMA, "rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 1e4}}
    (group,) = model_from_config(nested, "model").block_groups
    (mixer,) = group.block.mixers
    assert isinstance(mixer, Attention)
    assert mixer.rotary == "partial"


def test_a_layer_list_longer_than_the_model_is_cut() -> None:
    types = ["sliding_attention", "full_attention"] * 13
    config = {**catalog_configs()["gemma2"], "num_hidden_layers": 4, "layer_types": types}
    assert windows(model_from_config(config, "model")) == [4096, None, 4096, None]


def test_lists_of_rotating_layers_override_the_interval() -> None:
    for model_type in ("smollm3", "llama4"):
        config = {**catalog_configs()[model_type], "num_hidden_layers": 3}
        listed = model_from_config({**config, "no_rope_layers": [0, 1, 0]}, "model")
        mixers = [
            mixer.rotary
            for group in listed.block_groups
            for mixer in group.block.mixers
            if isinstance(mixer, Attention)
        ]
        assert mixers == ["none", "full", "none"]


def test_listed_layer_types_override_qwen_s_first_window_layer() -> None:
    config = {
        **dense("qwen2", (896, 2, 14, 2, 4864, 1000), sliding_window=512),
        "use_sliding_window": True,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    assert windows(model_from_config(config, "model")) == [512, None]


def test_modernbert_s_default_is_one_full_layer_in_three() -> None:
    config = without(catalog_configs()["modernbert"], "layer_types", "layer_types_rle")
    listed = {
        **config,
        "layer_types": [
            "sliding_attention" if number % 3 else "full_attention" for number in range(22)
        ],
    }
    assert windows(model_from_config(config, "m")) == windows(model_from_config(listed, "m"))


@pytest.mark.parametrize("name", ["indexer_types", "index_topk_pattern"])
def test_indexer_layers_may_be_listed(name: str) -> None:
    flat = without(catalog_configs()["glm_moe_dsa"], "indexer_types", "indexer_types_rle")
    small = {**flat, "num_hidden_layers": 3, "mlp_layer_types_rle": [["dense", 3]]}
    listed = {**small, name: ["full", "shared", "shared"]}
    parts = tensors(model_from_config(listed, "model"))
    assert [part.count for part in parts if part.module == "wq_b"] == [1]


def test_mamba_without_a_convolution_bias() -> None:
    config = {**catalog_configs()["falcon_h1"], "mamba_conv_bias": False}
    parts = tensors(model_from_config(config, "model"))
    assert not [part for part in parts if part.module == "conv1d" and part.kind == "bias"]


def test_inkling_s_encoder_folds_in_the_steps_that_its_depth_allows() -> None:
    config = catalog_configs()["inkling_mm_model"]

    def folds(layers: int) -> list[tuple[int, ...]]:
        vision = {"patch_size": 4, "temporal_patch_size": 2, "n_layers": layers}
        parts = tensors(model_from_config({**config, "vision_config": vision}, "model"))
        return [part.shape for part in parts if part.module == "projection"]

    # 3 channels; a 2 x 2 fold gives 12 values in 64 channels, the next 256 in 64, then two frames.
    assert folds(3) == [(64, 12), (64, 256), (4096, 128)]
    # With two steps, the scale furthest from even log steps is left out: the first fold is 4 x 4.
    assert folds(2) == [(64, 48), (4096, 128)]
    deeper = {"patch_size": 4, "temporal_patch_size": 2, "n_layers": 24}
    error = refused({**config, "vision_config": deeper})
    assert error.field == "model.config.vision_config.n_layers"
    large = {"patch_size": 2**30}
    assert refused({**config, "vision_config": large}).code == "out-of-range"


def test_a_pair_of_channels_must_be_a_pair() -> None:
    config = catalog_configs()["gemma4"]
    audio = {"subsampling_conv_channels": [1, 2, 3]}
    error = refused({**config, "audio_config": audio})
    assert error.field == "model.config.audio_config.subsampling_conv_channels"
    assert error.code == "inconsistent-config"
