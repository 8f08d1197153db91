"""Decoders that mix attention with linear attention (delta rules).

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24.
"""

from generator.core.hf_config.parts import (
    attention,
    build,
    experts,
    latent_attention,
    mlp,
    shared_and_routed,
    sparse_layers,
    window_pattern,
)
from generator.core.hf_config.reader import MAX_LAYERS, Reader, grouped
from generator.core.model import (
    Block,
    FeedForward,
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    Mixer,
    Model,
    Tensor,
)

QWEN_DELTA_DEFAULTS: dict[str, object] = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "head_dim": 256,
}


def _linear_types(reader: Reader, count: int, *, every: int) -> list[str]:
    """Layer types where every `every`-th layer is full attention unless the file lists them."""
    if reader.raw("layer_types") is None and reader.raw("layer_types_rle") is None:
        return [
            "full_attention" if (number + 1) % every == 0 else "linear_attention"
            for number in range(count)
        ]
    return window_pattern(reader, count, names=("linear_attention",))


def _qwen_delta(reader: Reader, name: str, *, fused: bool, has_experts: bool) -> Model:
    defaults: dict[str, object] = {**QWEN_DELTA_DEFAULTS, "vocab_size": 248320}
    if fused:
        defaults["vocab_size"] = 151936
    reader = reader.with_defaults(defaults)
    count = reader.num_layers()
    interval = reader.integer("full_attention_interval", default=4)
    types = _linear_types(reader, count, every=interval)
    linear = GatedDeltaNet(
        num_key_heads=reader.integer("linear_num_key_heads"),
        num_value_heads=reader.integer("linear_num_value_heads"),
        key_head_dim=reader.integer("linear_key_head_dim"),
        value_head_dim=reader.integer("linear_value_head_dim"),
        conv_kernel=reader.integer("linear_conv_kernel_dim"),
        projections="fused" if fused else "split",
    )
    bias = reader.boolean("attention_bias")
    full = attention(
        reader,
        qkv_bias=bias,
        output_bias=bias,
        qk_norm="head",
        qk_norm_kind="rms-fp32",
        output_gate="full",
        # A quarter of each head turns; published files nest the factor in rope_parameters.
        rotary="partial",
    )
    step = reader.integer("decoder_sparse_step", default=1)
    dense = set(reader.integers("mlp_only_layers"))
    kinds = [
        (kind, has_experts and number not in dense and (number + 1) % step == 0)
        for number, kind in enumerate(types)
    ]

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        feed_forward: FeedForward
        if is_sparse:
            feed_forward = experts(
                reader,
                shared_intermediate_size=reader.integer("shared_expert_intermediate_size"),
                shared_expert_gate=True,
            )
        else:
            feed_forward = mlp(reader, bias=False)
        mixer: Mixer = full if kind == "full_attention" else linear
        return Block(mixers=(mixer,), feed_forward=feed_forward)

    return build(reader, name, grouped(kinds, make), norm_kind="rms-fp32")


def qwen3_next(reader: Reader, name: str) -> Model:
    """Qwen3-Next: three gated delta layers to one of gated attention, experts everywhere."""
    return _qwen_delta(reader, name, fused=True, has_experts=True)


def qwen3_5_text(reader: Reader, name: str) -> Model:
    """Qwen3.5's dense text model: as Qwen3-Next, with four input projections."""
    return _qwen_delta(reader, name, fused=False, has_experts=False)


def qwen3_5_moe_text(reader: Reader, name: str) -> Model:
    """Qwen3.5's text model with experts."""
    return _qwen_delta(reader, name, fused=False, has_experts=True)


def olmo_hybrid(reader: Reader, name: str) -> Model:
    """OLMo Hybrid: gated delta layers with norms before, attention layers with norms after."""
    count = reader.num_layers()
    types = _linear_types(reader, count, every=4)
    heads = reader.integer("num_attention_heads")
    key_heads = reader.integer("linear_num_key_heads", default=heads)
    hidden = reader.integer("hidden_size")
    key_dim = reader.integer("linear_key_head_dim", default=3 * hidden // (4 * key_heads) or 1)
    linear = GatedDeltaNet(
        num_key_heads=key_heads,
        num_value_heads=reader.integer("linear_num_value_heads", default=heads),
        key_head_dim=key_dim,
        value_head_dim=reader.integer("linear_value_head_dim", default=2 * key_dim),
        conv_kernel=reader.integer("linear_conv_kernel_dim", default=4),
        projections="separate",
    )
    bias = reader.boolean("attention_bias")
    full = attention(
        reader, qkv_bias=bias, output_bias=bias, qk_norm="full", qk_norm_kind="rms-fp32"
    )
    feed_forward = mlp(reader, bias=False)

    def make(number: int) -> Block:
        if types[number] == "linear_attention":
            return Block(mixers=(linear,), feed_forward=feed_forward)
        return Block(
            mixers=(full,), feed_forward=feed_forward, num_input_norms=0, num_output_norms=2
        )

    return build(reader, name, grouped(types, make), norm_kind="rms-fp32")


def _kimi_types(reader: Reader, count: int, *, every: int) -> list[str]:
    nested = reader.nested("linear_attn_config")
    listed = nested.integers("kda_layers") if nested is not None else []
    if listed and not reader.has("layer_types"):
        # Published files count layers from one.
        return [
            "linear_attention" if number + 1 in listed else "full_attention"
            for number in range(count)
        ]
    return _linear_types(reader, count, every=every)


def _kimi_delta(reader: Reader, *, low_rank: bool) -> KimiDeltaAttention:
    nested = reader.nested("linear_attn_config") or reader
    heads = reader.optional_integer("linear_num_heads")
    head_dim = reader.optional_integer("linear_head_dim")
    kernel = reader.optional_integer("linear_conv_kernel_dim", "short_conv_kernel_size")
    return KimiDeltaAttention(
        num_heads=heads or nested.integer("num_heads", "num_attention_heads"),
        head_dim=head_dim or nested.integer("head_dim", default=128),
        conv_kernel=kernel or nested.integer("short_conv_kernel_size", default=4),
        low_rank_gates=low_rank,
    )


def kimi_linear(reader: Reader, name: str) -> Model:
    """Kimi Linear: Kimi delta attention with latent attention in between, DeepSeek's experts."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count)
    kinds = list(zip(_kimi_types(reader, count, every=4), sparse, strict=True))
    linear = _kimi_delta(reader, low_rank=True)
    latent = latent_attention(reader)

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        return Block(
            mixers=(linear if kind == "linear_attention" else latent,),
            feed_forward=shared_and_routed(reader) if is_sparse else mlp(reader, bias=False),
        )

    return build(reader, name, grouped(kinds, make))


def bailing_hybrid(reader: Reader, name: str) -> Model:
    """Ling 3.0: as Kimi Linear, with one full matrix per gate and a gate per latent head."""
    count = reader.num_layers()
    every = reader.integer("layer_group_size", default=6)
    sparse = sparse_layers(reader, count)
    kinds = list(zip(_kimi_types(reader, count, every=every), sparse, strict=True))
    linear = _kimi_delta(reader, low_rank=False)
    latent = latent_attention(reader)
    hidden = reader.integer("hidden_size")
    gate = Tensor(module="g_proj", shape=(latent.num_attention_heads, hidden), kind="linear")

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        is_linear = kind == "linear_attention"
        return Block(
            mixers=(linear if is_linear else latent,),
            feed_forward=shared_and_routed(reader) if is_sparse else mlp(reader, bias=False),
            extra_tensors=() if is_linear else (gate,),
        )

    return build(reader, name, grouped(kinds, make))


def indexer_tensors(reader: Reader, mixer: LatentAttention, hidden: int) -> tuple[Tensor, ...]:
    """DeepSeek's sparse-attention indexer (arXiv:2512.02556): scores which keys a query reads."""
    heads, head = reader.integer("index_n_heads"), reader.integer("index_head_dim")
    query_input = hidden if mixer.q_lora_rank is None else mixer.q_lora_rank
    return (
        Tensor(module="wq_b", shape=(heads * head, query_input), kind="linear"),
        Tensor(module="wk", shape=(head, hidden), kind="linear"),
        Tensor(module="weights_proj", shape=(heads, hidden), kind="linear"),
        Tensor(module="k_norm", shape=(head,), kind="norm"),
        Tensor(module="k_norm", shape=(head,), kind="bias"),
    )


def indexer_layers(reader: Reader, count: int) -> list[bool]:
    """Which layers have an indexer of their own; the others reuse the last one's choice."""
    listed = reader.names_pattern("indexer_types", count)
    if listed is not None:
        return [each == "full" for each in listed]
    pattern = reader.raw("index_topk_pattern")
    if isinstance(pattern, str):
        pattern = [{"F": "full", "S": "shared"}.get(letter, "") for letter in pattern[:MAX_LAYERS]]
        reader = reader.with_values({"index_topk_pattern": pattern})
    listed = reader.names_pattern("index_topk_pattern", count)
    if listed is not None:
        return [each == "full" for each in listed]
    frequency = reader.integer("index_topk_freq", default=1)
    offset = reader.integer("index_skip_topk_offset", default=2, minimum=0)
    return [max(number - offset + 1, 0) % frequency == 0 for number in range(count)]


def hyper_connection_tensors(reader: Reader, hidden: int) -> tuple[Tensor, ...]:
    """The mixing weights of a block's residual streams, one set per part (arXiv:2409.19606)."""
    streams = reader.integer("hc_mult", default=4)
    outputs = streams * (streams + 2)
    return (
        Tensor(module="hc", shape=(outputs, streams * hidden), kind="other", count=2),
        Tensor(module="hc", shape=(outputs,), kind="other", count=2),
        Tensor(module="hc", shape=(3,), kind="other", count=2),
    )


GLM5_NEXT_DEFAULTS: dict[str, object] = {
    "vocab_size": 154880,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 45,
    "num_attention_heads": 64,
    "n_shared_experts": 1,
    "n_routed_experts": 288,
    "num_experts_per_tok": 8,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 0,
    "qk_nope_head_dim": 256,
    "v_head_dim": 256,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_kpool": 16,
    "first_k_dense_replace": 3,
    "hc_mult": 4,
}


def glm5_next_text(reader: Reader, name: str) -> Model:
    """GLM-5.3-Flash's text model."""
    count, hidden = reader.num_layers(), reader.integer("hidden_size")
    types = reader.names_pattern("layer_types", count) or [
        "indexed_attention" if number % 4 == 3 else "linear_attention" for number in range(count)
    ]
    known = {"indexed_attention", "full_attention", "linear_attention"}
    for each in types:
        if each not in known:
            reader.unknown_value("layer_types", each, known)
    sparse = sparse_layers(reader, count)
    kinds = list(zip(types, sparse, indexer_layers(reader, count), strict=True))
    linear = _kimi_delta(reader, low_rank=True)
    latent = latent_attention(reader)
    head, pool = reader.integer("index_head_dim"), reader.integer("index_kpool")
    indexer = (
        *indexer_tensors(reader, latent, hidden),
        Tensor(module="index_kpool_compress_ape", shape=(pool, head), kind="other"),
        Tensor(module="index_kpool_compress_gate", shape=(head, hidden), kind="other"),
    )
    streams = hyper_connection_tensors(reader, hidden)

    def make(number: int) -> Block:
        kind, is_sparse, has_indexer = kinds[number]
        is_linear = kind == "linear_attention"
        return Block(
            mixers=(linear if is_linear else latent,),
            feed_forward=shared_and_routed(reader) if is_sparse else mlp(reader, bias=False),
            extra_tensors=(*streams, *(indexer if has_indexer and not is_linear else ())),
        )

    return build(
        reader,
        name,
        grouped(kinds, make),
        num_residual_streams=reader.integer("hc_mult"),
    )
