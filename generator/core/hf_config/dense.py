"""Dense decoders of the Llama kind: RMSNorm, rotary attention, gated feed-forward part.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24.
"""

from typing import Any

from generator.core.hf_config.parts import activation, attention, build, mlp, window_pattern
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, NormKind, Tensor


def _uniform_or_mixed(
    reader: Reader,
    name: str,
    *,
    types: list[str],
    window: int | None,
    block: dict[str, Any] | None = None,
    attention_changes: dict[str, Any] | None = None,
    mlp_changes: dict[str, Any] | None = None,
    **model_changes: Any,
) -> Model:
    feed_forward = mlp(reader, **(mlp_changes or {}))
    full = attention(reader, **(attention_changes or {}))
    sliding = attention(reader, **{**(attention_changes or {}), "sliding_window": window})

    def make(number: int) -> Block:
        mixer = sliding if types[number] == "sliding_attention" else full
        return Block(mixers=(mixer,), feed_forward=feed_forward, **(block or {}))

    return build(reader, name, grouped(types, make), **model_changes)


def llama(reader: Reader, name: str) -> Model:
    """Llama and what shares its shape: biases by `attention_bias` and `mlp_bias`."""
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={"qkv_bias": bias, "output_bias": bias},
    )


def mistral(reader: Reader, name: str) -> Model:
    """Mistral: Llama without biases, with an optional window on every layer."""
    window = reader.optional_integer("sliding_window")
    count = reader.num_layers()
    kind = "full_attention" if window is None else "sliding_attention"
    types = reader.names_pattern("layer_types", count) or [kind] * count
    return _uniform_or_mixed(reader, name, types=types, window=window, mlp_changes={"bias": False})


def _optional_window(reader: Reader, count: int) -> tuple[list[str], int | None]:
    # Qwen's switch: the window counts only with use_sliding_window, from max_window_layers on.
    if not reader.boolean("use_sliding_window"):
        return ["full_attention"] * count, None
    window = reader.optional_integer("sliding_window")
    types = reader.names_pattern("layer_types", count)
    if types is None:
        first = reader.integer("max_window_layers", default=28, minimum=0)
        types = [
            "sliding_attention" if window is not None and number >= first else "full_attention"
            for number in range(count)
        ]
    return types, window


def qwen2(reader: Reader, name: str) -> Model:
    """Qwen2 and Qwen2.5: biases on the query, key and value projections only."""
    types, window = _optional_window(reader, reader.num_layers())
    return _uniform_or_mixed(
        reader,
        name,
        types=types,
        window=window,
        attention_changes={"qkv_bias": True},
        mlp_changes={"bias": False},
    )


def qwen3(reader: Reader, name: str) -> Model:
    """Qwen3: norms on queries and keys instead of biases."""
    types, window = _optional_window(reader, reader.num_layers())
    bias = reader.boolean("attention_bias")
    head_dim = reader.integer("head_dim", default=128)
    return _uniform_or_mixed(
        reader,
        name,
        types=types,
        window=window,
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "qk_norm": "head",
            "head_dim": head_dim,
        },
        mlp_changes={"bias": False},
    )


def phi3(reader: Reader, name: str) -> Model:
    """Phi-3 and Phi-4: one matrix for query, key and value, one for gate and up."""
    window = reader.optional_integer("sliding_window")
    kind = "full_attention" if window is None else "sliding_attention"
    return _uniform_or_mixed(
        reader,
        name,
        types=[kind] * reader.num_layers(),
        window=window,
        attention_changes={"fused_qkv": True},
        mlp_changes={"fused_gate_up": True, "bias": False},
    )


GEMMA_TEXT_DEFAULTS: dict[str, object] = {
    "vocab_size": 262_208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 4096,
    "tie_word_embeddings": True,
}
"""What Gemma 3's text class assumes; published files leave these out."""


def gemma(reader: Reader, name: str) -> Model:
    """Gemma 1: tied embeddings, FP32 norms with weight 1 + w."""
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "head_dim": reader.integer("head_dim", default=256),
        },
        mlp_changes={"bias": False, "activation": "gelu"},
        norm_kind="rms-fp32",
        tie_default=True,
    )


def gemma2(reader: Reader, name: str) -> Model:
    """Gemma 2: alternating windows, score and logit caps, norms before and after each part."""
    reader = reader.with_defaults({**GEMMA_TEXT_DEFAULTS, "vocab_size": 256_000})
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=window_pattern(reader, reader.num_layers(), period=2),
        window=reader.optional_integer("sliding_window"),
        block={"num_output_norms": 2},
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "logit_softcap": reader.number("attn_logit_softcapping", 50.0) > 0,
        },
        mlp_changes={"bias": False, "activation": "gelu"},
        norm_kind="rms-fp32",
        final_logit_softcap=reader.number("final_logit_softcapping", 30.0) > 0,
    )


def gemma3_text(reader: Reader, name: str) -> Model:
    """Gemma 3's text model: five windows to one full layer, norms on queries and keys."""
    reader = reader.with_defaults(GEMMA_TEXT_DEFAULTS)
    bias = reader.boolean("attention_bias")
    period = reader.integer("sliding_window_pattern", default=6)
    return _uniform_or_mixed(
        reader,
        name,
        types=window_pattern(reader, reader.num_layers(), period=period),
        window=reader.optional_integer("sliding_window"),
        block={"num_output_norms": 2},
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "qk_norm": "head",
            "qk_norm_kind": "rms-fp32",
            "logit_softcap": reader.number("attn_logit_softcapping", 0.0) > 0,
        },
        mlp_changes={"bias": False, "activation": "gelu"},
        norm_kind="rms-fp32",
        final_logit_softcap=reader.number("final_logit_softcapping", 0.0) > 0,
    )


def olmo2(reader: Reader, name: str) -> Model:
    """OLMo 2 and 3: norms after each part only, and over the whole query and key projections."""
    bias = reader.boolean("attention_bias")
    window = reader.optional_integer("sliding_window")
    # OLMo 2 has no window; OLMo 3 slides on three layers of four.
    period = None if window is None else 4
    norm: NormKind = "rms-fp32"
    return _uniform_or_mixed(
        reader,
        name,
        types=window_pattern(reader, reader.num_layers(), period=period),
        window=window,
        block={"num_input_norms": 0, "num_output_norms": 2},
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "qk_norm": "full",
            "qk_norm_kind": norm,
        },
        mlp_changes={"bias": False},
        norm_kind=norm,
    )


def seed_oss(reader: Reader, name: str) -> Model:
    """Seed-OSS: biases on the input projections, and by choice on the output one."""
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={
            "qkv_bias": reader.boolean("attention_bias", default=True),
            "output_bias": reader.boolean("attention_out_bias"),
            "head_dim": reader.integer("head_dim", default=128),
        },
    )


def smollm3(reader: Reader, name: str) -> Model:
    """SmolLM3: Llama in which every fourth layer has no rotary embedding."""
    count = reader.num_layers()
    interval = reader.integer("no_rope_layer_interval", default=4)
    rotary = reader.integers_pattern("no_rope_layers", count)
    if rotary is None:
        rotary = [int((number + 1) % interval != 0) for number in range(count)]
    bias = reader.boolean("attention_bias")
    feed_forward = mlp(reader)

    def make(number: int) -> Block:
        kind = "full" if rotary[number] else "none"
        mixer = attention(reader, qkv_bias=bias, output_bias=bias, rotary=kind)
        return Block(mixers=(mixer,), feed_forward=feed_forward)

    return build(reader, name, grouped(rotary, make), tie_default=True)


def apertus(reader: Reader, name: str) -> Model:
    """Apertus: plain xIELU feed-forward part, whose activation has two learned scalars."""
    bias = reader.boolean("attention_bias")
    scalars = (Tensor(module="act_fn", shape=(1,), kind="other", count=2),)
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        block={"extra_tensors": scalars},
        attention_changes={"qkv_bias": bias, "output_bias": bias, "qk_norm": "head"},
        mlp_changes={"gated": False, "activation": "xielu"},
    )


def hunyuan(reader: Reader, name: str) -> Model:
    """Hunyuan dense: Qwen3's shape, its head norms named query_layernorm and key_layernorm."""
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={"qkv_bias": bias, "output_bias": bias, "qk_norm": "head"},
        mlp_changes={"bias": False},
    )


def granite_swa(reader: Reader, name: str) -> Model:
    """Granite with attention sinks and windows on some layers."""
    window = reader.optional_integer("sliding_window")
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=window_pattern(reader, reader.num_layers()),
        window=window,
        attention_changes={"qkv_bias": bias, "output_bias": bias, "sinks": True},
    )


def arcee(reader: Reader, name: str) -> Model:
    """Arcee's AFM: Llama with a plain squared-ReLU feed-forward part."""
    bias = reader.boolean("attention_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={"qkv_bias": bias, "output_bias": bias},
        mlp_changes={"gated": False, "activation": activation(reader, "relu2")},
    )


def exaone4(reader: Reader, name: str) -> Model:
    """EXAONE 4: norms after each part only, and on the heads of queries and keys."""
    window = reader.optional_integer("sliding_window")
    period = None if window is None else reader.integer("sliding_window_pattern", default=4)
    return _uniform_or_mixed(
        reader,
        name,
        types=window_pattern(reader, reader.num_layers(), period=period),
        window=window,
        block={"num_input_norms": 0, "num_output_norms": 2},
        attention_changes={"qk_norm": "head"},
        mlp_changes={"bias": False},
    )


def _glm(reader: Reader, name: str, *, default_bias: bool, block: dict[str, Any]) -> Model:
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        block=block,
        attention_changes={
            "qkv_bias": reader.boolean("attention_bias", default=default_bias),
            "head_dim": reader.integer("head_dim", default=128),
            # The class's default; published files may leave it out.
            "rotary": "partial",
        },
        mlp_changes={"fused_gate_up": True, "bias": False},
    )


def glm(reader: Reader, name: str) -> Model:
    """GLM-4 of 2024: half of each head rotated, gate and up in one matrix."""
    return _glm(reader, name, default_bias=True, block={})


def glm4(reader: Reader, name: str) -> Model:
    """GLM-4 (0414): four norms a layer, half of each head rotated, gate and up in one matrix."""
    return _glm(reader, name, default_bias=False, block={"num_output_norms": 2})


def ernie4_5(reader: Reader, name: str) -> Model:
    """ERNIE 4.5, dense: one switch for all biases, tied embeddings."""
    bias = reader.boolean("use_bias")
    return _uniform_or_mixed(
        reader,
        name,
        types=["full_attention"] * reader.num_layers(),
        window=None,
        attention_changes={
            "qkv_bias": bias,
            "output_bias": bias,
            "head_dim": reader.integer("head_dim", default=128),
        },
        mlp_changes={"bias": bias},
        tie_default=True,
    )
