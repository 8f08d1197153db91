"""Decoders with routed experts.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24. There
the routed experts of a layer are two fused tensors, and the router is a bare parameter unless said
otherwise.
"""

from generator.core.hf_config.parts import (
    attention,
    build,
    check_heads,
    experts,
    mlp,
    shared_and_routed,
    shared_width,
    sparse_layers,
    window_pattern,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, Tensor


def mixtral(reader: Reader, name: str) -> Model:
    """Mixtral: `num_local_experts` of the full feed-forward width in every layer."""
    window = reader.optional_integer("sliding_window")
    moe = experts(reader, moe_intermediate_size=reader.integer("intermediate_size"))
    block = Block(mixers=(attention(reader, sliding_window=window),), feed_forward=moe)
    return build(reader, name, grouped([0] * reader.num_layers(), lambda _: block))


def qwen3_moe(reader: Reader, name: str) -> Model:
    """Qwen3 with routed experts, every `decoder_sparse_step`-th layer."""
    count = reader.num_layers()
    step = reader.integer("decoder_sparse_step", default=1)
    dense = set(reader.integers("mlp_only_layers"))
    sparse = [number not in dense and (number + 1) % step == 0 for number in range(count)]
    bias = reader.boolean("attention_bias")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, qk_norm="head")

    def make(number: int) -> Block:
        return Block(
            mixers=(mixer,),
            feed_forward=experts(reader) if sparse[number] else mlp(reader, bias=False),
        )

    return build(reader, name, grouped(sparse, make))


def gpt_oss(reader: Reader, name: str) -> Model:
    """gpt-oss: alternating windows, attention sinks, experts with biases."""
    count = reader.num_layers()
    window = reader.optional_integer("sliding_window")
    types = window_pattern(reader, count, period=2)
    bias = reader.boolean("attention_bias", default=True)
    moe = experts(
        reader,
        moe_intermediate_size=reader.integer("intermediate_size"),
        expert_bias=True,
        router_bias=True,
        activation="clamped-swiglu",
    )

    def make(number: int) -> Block:
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            sinks=True,
            head_dim=reader.integer("head_dim", default=64),
            sliding_window=window if types[number] == "sliding_attention" else None,
        )
        return Block(mixers=(mixer,), feed_forward=moe)

    return build(
        reader,
        name,
        grouped(types, make),
        norm_kind="rms-fp32",
        module_names=(("gate", "router"),),
    )


def glm4_moe(reader: Reader, name: str) -> Model:
    """GLM-4.5 to 4.7: grouped-query attention with DeepSeek's experts."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count, dense_default=1)
    mixer = attention(
        reader,
        qkv_bias=reader.boolean("attention_bias"),
        head_dim=reader.integer("head_dim", default=128),
        qk_norm="head" if reader.boolean("use_qk_norm") else "none",
        rotary="partial",
    )

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False))
        return Block(mixers=(mixer,), feed_forward=shared_and_routed(reader))

    return build(reader, name, grouped(sparse, make))


def minimax_m2(reader: Reader, name: str) -> Model:
    """MiniMax M2: norms over the whole query and key projections, experts in every layer."""
    moe = experts(reader, moe_intermediate_size=reader.integer("intermediate_size"))
    mixer = attention(
        reader,
        head_dim=reader.integer("head_dim", default=128),
        qk_norm="full",
        rotary="partial",
    )
    block = Block(mixers=(mixer,), feed_forward=moe)
    return build(reader, name, grouped([0] * reader.num_layers(), lambda _: block))


def ernie4_5_moe(reader: Reader, name: str) -> Model:
    """ERNIE 4.5: experts on a range of layers; the router's correction is a parameter here."""
    count = reader.num_layers()
    start = reader.integer("moe_layer_start_index", default=1, minimum=0)
    last = reader.integer("moe_layer_end_index", default=count - 1, minimum=-1)
    last = count - 1 if last == -1 else last
    interval = reader.integer("moe_layer_interval", default=1)
    sparse = [(number + 1) % interval == 0 and start <= number <= last for number in range(count)]
    bias = reader.boolean("use_bias")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias)

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=bias))
        width = reader.integer("moe_intermediate_size")
        shared = shared_width(reader, width, "moe_num_shared_experts")
        moe = experts(reader, shared_intermediate_size=shared, router_fp32=True)
        correction = Tensor(module="moe_statics", shape=(1, moe.num_experts), kind="other")
        return Block(mixers=(mixer,), feed_forward=moe, extra_tensors=(correction,))

    return build(reader, name, grouped(sparse, make), tie_default=True)


def afmoe(reader: Reader, name: str) -> Model:
    """Trinity: gated attention, four norms a layer, windows on three layers of four."""
    count = reader.num_layers()
    period = reader.integer("global_attn_every_n_layers", default=4)
    types = window_pattern(reader, count, period=period)
    sparse = sparse_layers(reader, count, dense_default=1)
    kinds = list(zip(types, sparse, strict=True))
    window = reader.optional_integer("sliding_window")

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        slides = kind == "sliding_attention"
        mixer = attention(
            reader,
            qk_norm="head",
            qk_norm_kind="rms-fp32",
            output_gate="full",
            gate_module="gate_proj",
            sliding_window=window if slides else None,
            rotary="full" if slides else "none",
        )
        if not is_sparse:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False), num_output_norms=2)
        width = reader.integer("moe_intermediate_size")
        shared = shared_width(reader, width, "num_shared_experts")
        moe = experts(reader, shared_intermediate_size=shared, router_linear=True)
        correction = Tensor(module="expert_bias", shape=(moe.num_experts,), kind="other")
        return Block(
            mixers=(mixer,),
            feed_forward=moe,
            num_output_norms=2,
            extra_tensors=(correction,),
        )

    return build(reader, name, grouped(kinds, make), norm_kind="rms-fp32")


def laguna(reader: Reader, name: str) -> Model:
    """Laguna: query heads by layer, one gate value per head, shared and routed experts."""
    count = reader.num_layers()
    types = window_pattern(reader, count)
    sparse = sparse_layers(reader, count, dense_default=1)
    default_heads = reader.integer("num_attention_heads")
    heads = reader.integers_pattern("num_attention_heads_per_layer", count, minimum=1)
    kinds = list(zip(types, sparse, heads or [default_heads] * count, strict=True))
    window = reader.optional_integer("sliding_window")
    gated = reader.boolean("gating", default=True)
    bias = reader.boolean("attention_bias")

    def make(number: int) -> Block:
        kind, is_sparse, num_heads = kinds[number]
        key_value = reader.integer("num_key_value_heads", default=num_heads)
        check_heads(reader, num_heads, key_value)
        mixer = attention(
            reader,
            num_attention_heads=num_heads,
            head_dim=reader.integer("head_dim", default=128),
            qkv_bias=bias,
            output_bias=bias,
            qk_norm="head",
            output_gate="head" if gated else "none",
            gate_module="g_proj" if gated else "",
            sliding_window=window if kind == "sliding_attention" else None,
            rotary="full" if kind == "sliding_attention" else "partial",
        )
        if not is_sparse:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False))
        moe = experts(
            reader,
            shared_intermediate_size=reader.integer(
                "shared_expert_intermediate_size", default=0, minimum=0
            ),
        )
        correction = Tensor(module="gate", shape=(moe.num_experts,), kind="other")
        return Block(mixers=(mixer,), feed_forward=moe, extra_tensors=(correction,))

    return build(reader, name, grouped(kinds, make))


def mellum(reader: Reader, name: str) -> Model:
    """Mellum 2: Qwen3's experts with windows by layer."""
    count = reader.num_layers()
    kinds = list(zip(window_pattern(reader, count), sparse_layers(reader, count), strict=True))
    window = reader.optional_integer("sliding_window")
    bias = reader.boolean("attention_bias")

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            qk_norm="head",
            sliding_window=window if kind == "sliding_attention" else None,
        )
        return Block(
            mixers=(mixer,),
            feed_forward=experts(reader) if is_sparse else mlp(reader, bias=False),
        )

    return build(reader, name, grouped(kinds, make))


def hy_v3(reader: Reader, name: str) -> Model:
    """Hy3: one dense layer, then shared and routed experts."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count, dense_default=1)
    bias = reader.boolean("attention_bias")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, qk_norm="head")

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader))
        return Block(mixers=(mixer,), feed_forward=shared_and_routed(reader))

    return build(reader, name, grouped(sparse, make))


def cohere2_moe(reader: Reader, name: str) -> Model:
    """Cohere's experts: attention and experts read one norm; full layers have no rotation."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count)
    types = window_pattern(
        reader, count, period=reader.integer("sliding_window_pattern", default=4)
    )
    kinds = list(zip(types, sparse, strict=True))
    window = reader.optional_integer("sliding_window")
    bias = reader.boolean("attention_bias")

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        slides = kind == "sliding_attention"
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            sliding_window=window if slides else None,
            rotary="full" if slides else "none",
        )
        width = reader.integer("intermediate_size")
        if is_sparse:
            shared = shared_width(reader, width, "num_shared_experts")
            moe = experts(reader, moe_intermediate_size=width, shared_intermediate_size=shared)
            return Block(mixers=(mixer,), feed_forward=moe, num_input_norms=1, parallel=True)
        width = reader.integer("prefix_dense_intermediate_size", default=width)
        dense = mlp(reader, intermediate_size=width, bias=False)
        return Block(mixers=(mixer,), feed_forward=dense, num_input_norms=1, parallel=True)

    return build(reader, name, grouped(kinds, make), norm_kind="layer-fp32", tie_default=True)


def olmoe(reader: Reader, name: str) -> Model:
    """OLMoE: norms over the whole query and key projections, experts of the full width."""
    bias = reader.boolean("attention_bias")
    moe = experts(reader, moe_intermediate_size=reader.integer("intermediate_size"))
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, qk_norm="full")
    block = Block(mixers=(mixer,), feed_forward=moe)
    return build(reader, name, grouped([0] * reader.num_layers(), lambda _: block))


def qwen2_moe(reader: Reader, name: str) -> Model:
    """Qwen1.5 and Qwen2 with experts: a gated shared expert beside the routed ones."""
    count = reader.num_layers()
    step = reader.integer("decoder_sparse_step", default=1)
    dense = set(reader.integers("mlp_only_layers"))
    sparse = [number not in dense and (number + 1) % step == 0 for number in range(count)]
    mixer = attention(reader, qkv_bias=reader.boolean("qkv_bias", default=True))

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False))
        moe = experts(
            reader,
            shared_intermediate_size=reader.integer("shared_expert_intermediate_size"),
            shared_expert_gate=True,
        )
        return Block(mixers=(mixer,), feed_forward=moe)

    return build(reader, name, grouped(sparse, make))


def granite_moe(reader: Reader, name: str) -> Model:
    """Granite 3 with experts of the full width, and a shared one in the newer form."""
    bias = reader.boolean("attention_bias")
    moe = experts(
        reader,
        moe_intermediate_size=reader.integer("intermediate_size"),
        shared_intermediate_size=reader.integer("shared_intermediate_size", default=0, minimum=0),
        shared_fused_gate_up=True,
    )
    mixer = attention(reader, qkv_bias=bias, output_bias=bias)
    block = Block(mixers=(mixer,), feed_forward=moe)
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        module_names=(
            ("gate", "router"),
            ("gate_up_proj", "input_linear"),
            ("down_proj", "output_linear"),
        ),
    )


def phimoe(reader: Reader, name: str) -> Model:
    """Phi-3.5-MoE: Mixtral with LayerNorm."""
    bias = reader.boolean("attention_bias")
    moe = experts(
        reader, moe_intermediate_size=reader.integer("intermediate_size"), router_linear=True
    )
    window = reader.optional_integer("sliding_window")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, sliding_window=window)
    block = Block(mixers=(mixer,), feed_forward=moe)
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        head_bias=reader.boolean("lm_head_bias"),
        module_names=(("gate", "router"),),
    )


def dots1(reader: Reader, name: str) -> Model:
    """dots.llm1: grouped-query attention with head norms, DeepSeek's experts."""
    count = reader.num_layers()
    window = reader.optional_integer("sliding_window")
    first = reader.integer("max_window_layers", default=62, minimum=0)
    types = reader.names_pattern("layer_types", count) or [
        "full_attention" if window is None or number < first else "sliding_attention"
        for number in range(count)
    ]
    kinds = list(zip(types, sparse_layers(reader, count), strict=True))
    bias = reader.boolean("attention_bias")

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            qk_norm="head",
            sliding_window=window if kind == "sliding_attention" else None,
        )
        if not is_sparse:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False))
        return Block(mixers=(mixer,), feed_forward=shared_and_routed(reader))

    return build(reader, name, grouped(kinds, make))


def solar_open(reader: Reader, name: str) -> Model:
    """Solar Open: grouped-query attention, shared and routed experts in every layer."""
    mixer = attention(
        reader,
        qkv_bias=reader.boolean("attention_bias"),
        head_dim=reader.integer("head_dim", default=128),
    )
    block = Block(mixers=(mixer,), feed_forward=shared_and_routed(reader))
    return build(reader, name, grouped([0] * reader.num_layers(), lambda _: block))


def exaone_moe(reader: Reader, name: str) -> Model:
    """K-EXAONE: head norms, windows on three layers of four, DeepSeek's experts."""
    count = reader.num_layers()
    window = reader.optional_integer("sliding_window")
    period = None if window is None else reader.integer("sliding_window_pattern", default=4)
    types = window_pattern(reader, count, period=period)
    sparse = sparse_layers(reader, count, dense_default=1)
    kinds = list(zip(types, sparse, strict=True))

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        slides = kind == "sliding_attention"
        mixer = attention(reader, qk_norm="head", sliding_window=window if slides else None)
        if not is_sparse:
            return Block(mixers=(mixer,), feed_forward=mlp(reader, bias=False))
        return Block(mixers=(mixer,), feed_forward=shared_and_routed(reader))

    return build(reader, name, grouped(kinds, make))


def flex_olmo(reader: Reader, name: str) -> Model:
    """FlexOlmo: OLMo 2's norms around experts of the full width."""
    bias = reader.boolean("attention_bias")
    moe = experts(reader, moe_intermediate_size=reader.integer("intermediate_size"))
    mixer = attention(
        reader, qkv_bias=bias, output_bias=bias, qk_norm="full", qk_norm_kind="rms-fp32"
    )
    block = Block(mixers=(mixer,), feed_forward=moe, num_input_norms=0, num_output_norms=2)
    return build(
        reader, name, grouped([0] * reader.num_layers(), lambda _: block), norm_kind="rms-fp32"
    )
