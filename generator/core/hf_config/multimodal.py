"""Models with a vision encoder: the text adapter of the family, plus the tower.

Published files nest the text fields in `text_config`; the catalog's flattened form has them at the
top.
"""

from collections.abc import Callable

from generator.core.hf_config import deepseek, dense, hybrid, moe, towers
from generator.core.hf_config.parts import (
    attention,
    build,
    experts,
    mlp,
    sparse_layers,
    sub_config,
    text_reader,
    window_pattern,
    with_towers,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, Tensor

TextAdapter = Callable[[Reader, str], Model]


def mllama(reader: Reader, name: str) -> Model:
    """Llama 3.2 Vision: every few layers attend to the image instead of the text."""
    text = text_reader(
        reader,
        {
            "vocab_size": 128256,
            "hidden_size": 4096,
            "num_hidden_layers": 40,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "intermediate_size": 14336,
            "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
        },
    )
    crossing = set(text.integers("cross_attention_layers"))
    kinds = [number in crossing for number in range(text.num_layers())]
    feed_forward = mlp(text, bias=False)
    gates = (Tensor(module="cross_attn_gate", shape=(1,), kind="other", count=2),)

    def make(number: int) -> Block:
        if not kinds[number]:
            return Block(mixers=(attention(text),), feed_forward=feed_forward)
        mixer = attention(text, qk_norm="head", rotary="none", cross_attention=True)
        return Block(mixers=(mixer,), feed_forward=feed_forward, extra_tensors=gates)

    hidden = text.integer("hidden_size")
    # The embedding has eight more rows than the head, for image tokens.
    image_rows = Tensor(module="embed_tokens", shape=(8, hidden), kind="embedding", part="root")
    model = build(text, name, grouped(kinds, make), extra_tensors=[image_rows])
    return with_towers(model, reader, towers.mllama(sub_config(reader, "vision_config"), hidden))


LLAMA4_DEFAULTS: dict[str, object] = {
    "vocab_size": 202048,
    "hidden_size": 5120,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "num_local_experts": 16,
    "num_experts_per_tok": 1,
}


def llama4_text(reader: Reader, name: str) -> Model:
    """Llama 4's text model: chunked attention on three layers of four, experts on some or all."""
    text = reader.with_defaults(LLAMA4_DEFAULTS)
    count = text.num_layers()
    step = text.integer("interleave_moe_layer_step", default=1)
    listed = text.integers("moe_layers")
    sparse = set(listed) if listed else set(range(step - 1, count, step))
    interval = text.integer("no_rope_layer_interval", default=4)
    rotary = (
        text.integers_pattern("no_rope_layers", count) if text.list_of("no_rope_layers") else None
    )
    if rotary is None:
        rotary = [int((number + 1) % interval != 0) for number in range(count)]
    chunk = text.optional_integer("attention_chunk_size") or 8192
    bias = text.boolean("attention_bias")
    has_norm = text.boolean("use_qk_norm", default=True)
    kinds = [(number in sparse, rotary[number]) for number in range(count)]

    def make(number: int) -> Block:
        is_sparse, rotates = kinds[number]
        mixer = attention(
            text,
            qkv_bias=bias,
            output_bias=bias,
            rotary="full" if rotates else "none",
            sliding_window=chunk if rotates else None,
            qk_norm="head" if has_norm and rotates else "none",
            qk_norm_weight=False,
        )
        if not is_sparse:
            width = text.integer("intermediate_size_mlp")
            return Block(
                mixers=(mixer,), feed_forward=mlp(text, intermediate_size=width, bias=False)
            )
        width = text.integer("intermediate_size")
        routed = experts(
            text, moe_intermediate_size=width, shared_intermediate_size=width, router_linear=True
        )
        return Block(mixers=(mixer,), feed_forward=routed)

    return build(
        text, name, grouped(kinds, make), norm_kind="rms", module_names=(("gate", "router"),)
    )


def llama4(reader: Reader, name: str) -> Model:
    """Llama 4 with its image encoder."""
    model = llama4_text(text_reader(reader), name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.llama4(vision, model.hidden_size))


def muse_glimmer(reader: Reader, name: str) -> Model:
    """Muse Glimmer: gated attention, windows on three layers of four, four norms a layer."""
    text = text_reader(
        reader,
        {
            "vocab_size": 202048,
            "hidden_size": 6656,
            "intermediate_size": 19968,
            "num_hidden_layers": 52,
            "num_attention_heads": 32,
            "num_key_value_heads": 2,
            "head_dim": 128,
            "sliding_window": 2048,
            "final_logit_softcapping": 20.0,
        },
    )
    types = window_pattern(text, text.num_layers(), period=4)
    window = text.optional_integer("sliding_window")
    feed_forward = mlp(text, bias=False)

    def make(number: int) -> Block:
        slides = types[number] == "sliding_attention"
        mixer = attention(
            text,
            qk_norm="head",
            qk_norm_weight=False,
            qk_norm_kind="rms-fp32",
            output_gate="full",
            gate_module="gate_proj",
            sliding_window=window if slides else None,
            rotary="full" if slides else "none",
        )
        return Block(mixers=(mixer,), feed_forward=feed_forward, num_output_norms=2)

    model = build(
        text,
        name,
        grouped(types, make),
        norm_kind="rms-fp32",
        final_logit_softcap=text.number("final_logit_softcapping", 0.0) > 0,
    )
    vision = sub_config(reader, "vision_config")
    parts = towers.muse_glimmer(vision, model.hidden_size, outer=reader)
    return with_towers(model, reader, parts)


def qwen2_5_vl(reader: Reader, name: str) -> Model:
    """Qwen2.5-VL: the text fields of published files stand at the top."""
    model = dense.qwen2(text_reader(reader), name)
    return with_towers(model, reader, towers.qwen2_5_vl(sub_config(reader, "vision_config")))


def qwen2_vl(reader: Reader, name: str) -> Model:
    """Qwen2-VL: the text fields of published files stand at the top."""
    model = dense.qwen2(text_reader(reader), name)
    return with_towers(model, reader, towers.qwen2_vl(sub_config(reader, "vision_config")))


def qwen3_vl(reader: Reader, name: str) -> Model:
    """Qwen3-VL."""
    defaults = {"vocab_size": 151936, "num_attention_heads": 32, "head_dim": 128}
    model = dense.qwen3(text_reader(reader, defaults), name)
    return with_towers(model, reader, towers.qwen3_vl(sub_config(reader, "vision_config")))


def qwen3_vl_moe(reader: Reader, name: str) -> Model:
    """Qwen3-VL with routed experts."""
    model = moe.qwen3_moe(text_reader(reader, {"vocab_size": 151936, "head_dim": 128}), name)
    return with_towers(model, reader, towers.qwen3_vl(sub_config(reader, "vision_config")))


def qwen3_5(reader: Reader, name: str) -> Model:
    """Qwen3.5 and 3.6, dense."""
    model = hybrid.qwen3_5_text(text_reader(reader), name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.qwen3_vl(vision, deepstack_default=0))


def qwen3_5_moe(reader: Reader, name: str) -> Model:
    """Qwen3.5 and 3.6 with routed experts."""
    model = hybrid.qwen3_5_moe_text(text_reader(reader), name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.qwen3_vl(vision, deepstack_default=0))


def mistral3(reader: Reader, name: str) -> Model:
    """Mistral 3 around a Mistral, Ministral 3 or Mistral 4 text model."""
    text = text_reader(
        reader,
        {
            "vocab_size": 131072,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
        },
    )
    adapter: TextAdapter = deepseek.mistral4 if text.has("kv_lora_rank") else dense.mistral
    if text is not reader and text.text("model_type") == "mistral4":
        adapter = deepseek.mistral4
    model = adapter(text, name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.pixtral(vision, model.hidden_size, outer=reader))


def kimi_k25(reader: Reader, name: str) -> Model:
    """Kimi K2.5 to K2.7: DeepSeek-V3's shape with a MoonViT encoder."""
    model = deepseek.deepseek(text_reader(reader, deepseek.DEEPSEEK_V3_DEFAULTS), name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.kimi_k25(vision, model.hidden_size, outer=reader))


def _minimax_m3_layers(text: Reader) -> tuple[list[bool], list[str]]:
    """Which layers have experts and which an indexer, from lists of names or of zeros and ones."""
    count = text.num_layers()
    frequency = text.integers_pattern("moe_layer_freq", count)
    listed = text.has("mlp_layer_types") or text.has("mlp_layer_types_rle")
    sparse = sparse_layers(text, count)
    if frequency is not None and not listed:
        sparse = [bool(each) for each in frequency]
    nested = text.nested("sparse_attention_config") or text.empty("sparse_attention_config")
    indexed = nested.integers_pattern("sparse_attention_freq", count)
    if indexed is not None and not (text.has("layer_types") or text.has("layer_types_rle")):
        return sparse, ["minimax_m3_sparse" if each else "full_attention" for each in indexed]
    return sparse, window_pattern(text, count, names=("minimax_m3_sparse",))


def minimax_m3(reader: Reader, name: str) -> Model:
    """MiniMax M3: sparse attention chosen by an indexer, and shared plus routed experts."""
    text = text_reader(
        reader,
        {
            "vocab_size": 200064,
            "hidden_size": 6144,
            "num_hidden_layers": 60,
            "num_attention_heads": 64,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "intermediate_size": 3072,
            "dense_intermediate_size": 12288,
            "shared_intermediate_size": 3072,
            "num_local_experts": 128,
            "num_experts_per_tok": 4,
            "index_n_heads": 4,
            "index_head_dim": 128,
        },
    )
    sparse, types = _minimax_m3_layers(text)
    kinds = list(zip(sparse, types, strict=True))
    hidden = text.integer("hidden_size")
    # Published files nest the indexer's sizes under names of their own.
    sparse_attention = text.nested("sparse_attention_config") or text.empty(
        "sparse_attention_config"
    )
    head = sparse_attention.optional_integer("sparse_index_dim") or text.integer("index_head_dim")
    heads = sparse_attention.optional_integer("sparse_num_index_heads") or text.integer(
        "index_n_heads"
    )
    indexer = (
        Tensor(module="q_proj", shape=(heads * head, hidden), kind="linear"),
        Tensor(module="k_proj", shape=(head, hidden), kind="linear"),
        Tensor(module="norm", shape=(head,), kind="norm", count=2),
    )
    mixer = attention(text, qk_norm="head", qk_norm_kind="rms-fp32", rotary="partial")

    def make(number: int) -> Block:
        is_sparse, kind = kinds[number]
        extra = indexer if kind == "minimax_m3_sparse" else ()
        if not is_sparse:
            width = text.integer("dense_intermediate_size")
            feed_forward = mlp(text, intermediate_size=width, fused_gate_up=True, bias=False)
            return Block(mixers=(mixer,), feed_forward=feed_forward, extra_tensors=extra)
        routed = experts(
            text,
            moe_intermediate_size=text.integer("intermediate_size"),
            shared_intermediate_size=text.integer("shared_intermediate_size", minimum=0),
            shared_fused_gate_up=True,
        )
        return Block(mixers=(mixer,), feed_forward=routed, extra_tensors=extra)

    model = build(text, name, grouped(kinds, make), norm_kind="rms-fp32")
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers.minimax_m3(vision, hidden, outer=reader))


def glm5_next(reader: Reader, name: str) -> Model:
    """GLM-5.3-Flash: Kimi delta attention, indexed latent attention and hyper-connections."""
    model = hybrid.glm5_next_text(text_reader(reader, hybrid.GLM5_NEXT_DEFAULTS), name)
    return with_towers(model, reader, towers.glm5_next(sub_config(reader, "vision_config")))
