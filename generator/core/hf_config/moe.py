"""Decoders with routed experts.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24. There
the routed experts of a layer are two fused tensors, and the router is a bare parameter unless said
otherwise.
"""

from generator.core.hf_config.parts import (
    attention,
    build,
    experts,
    latent_attention,
    mlp,
    shared_width,
    sparse_layers,
    window_pattern,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model


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


def deepseek(reader: Reader, name: str) -> Model:
    """DeepSeek-V2, V3 and kin: latent attention, shared and routed experts after dense layers."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count)
    mixer = latent_attention(reader)

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader))
        width = reader.integer("moe_intermediate_size")
        shared = shared_width(reader, width, "n_shared_experts", "num_shared_experts")
        moe = experts(reader, shared_intermediate_size=shared, router_fp32=True)
        return Block(mixers=(mixer,), feed_forward=moe)

    return build(reader, name, grouped(sparse, make))


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
        width = reader.integer("moe_intermediate_size")
        shared = shared_width(reader, width, "n_shared_experts")
        moe = experts(reader, shared_intermediate_size=shared, router_fp32=True)
        return Block(mixers=(mixer,), feed_forward=moe)

    return build(reader, name, grouped(sparse, make))
