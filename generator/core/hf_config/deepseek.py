"""Latent attention with shared and routed experts: DeepSeek, its kin, and their sparse attention.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24.
"""

from generator.core.hf_config.hybrid import (
    hyper_connection_tensors,
    indexer_layers,
    indexer_tensors,
)
from generator.core.hf_config.parts import (
    attention,
    build,
    latent_attention,
    mlp,
    shared_and_routed,
    sparse_layers,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, Tensor


def deepseek(reader: Reader, name: str) -> Model:
    """DeepSeek-V2, V3 and kin: latent attention, shared and routed experts after dense layers."""
    count = reader.num_layers()
    sparse = sparse_layers(reader, count)
    mixer = latent_attention(reader)

    def make(number: int) -> Block:
        if not sparse[number]:
            return Block(mixers=(mixer,), feed_forward=mlp(reader))
        moe = shared_and_routed(reader)
        return Block(mixers=(mixer,), feed_forward=moe)

    return build(reader, name, grouped(sparse, make))


DEEPSEEK_V3_DEFAULTS: dict[str, object] = {
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "n_shared_experts": 1,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "first_k_dense_replace": 3,
}
"""What the text class of a nested config assumes; a top-level config states these."""


def mistral4(reader: Reader, name: str) -> Model:
    """Mistral 4's text model: DeepSeek's shape without dense layers."""
    return deepseek(
        reader.with_defaults(
            {
                "vocab_size": 131072,
                "hidden_size": 4096,
                "intermediate_size": 12288,
                "moe_intermediate_size": 2048,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "n_shared_experts": 1,
                "n_routed_experts": 128,
                "num_experts_per_tok": 4,
                "kv_lora_rank": 256,
                "q_lora_rank": 1024,
                "qk_rope_head_dim": 64,
                "qk_nope_head_dim": 64,
                "v_head_dim": 128,
                "first_k_dense_replace": 0,
            }
        ),
        name,
    )


def dense_latent(reader: Reader, name: str) -> Model:
    """Youtu-LLM: latent attention with a dense feed-forward part in every layer."""
    block = Block(mixers=(latent_attention(reader),), feed_forward=mlp(reader))
    blocks = grouped([0] * reader.num_layers(), lambda _: block)
    return build(reader, name, blocks, tie_default=True)


def deepseek_sparse(reader: Reader, name: str) -> Model:
    """DeepSeek-V3.2 and GLM-5: latent attention whose keys an indexer picks."""
    count, hidden = reader.num_layers(), reader.integer("hidden_size")
    sparse = sparse_layers(reader, count, dense_default=3)
    kinds = list(zip(sparse, indexer_layers(reader, count), strict=True))
    mixer = latent_attention(reader)
    indexer = indexer_tensors(reader, mixer, hidden)

    def make(number: int) -> Block:
        is_sparse, has_indexer = kinds[number]
        extra = indexer if has_indexer else ()
        if not is_sparse:
            return Block(mixers=(mixer,), feed_forward=mlp(reader), extra_tensors=extra)
        moe = shared_and_routed(reader)
        return Block(mixers=(mixer,), feed_forward=moe, extra_tensors=extra)

    return build(reader, name, grouped(kinds, make))


COMPRESSION_TYPES = {
    0: "sliding_attention",
    4: "compressed_sparse_attention",
    128: "heavily_compressed_attention",
}
"""`compress_ratios` of published files, as layer types."""


def deepseek_v4(reader: Reader, name: str) -> Model:
    """DeepSeek-V4: one wide key/value head, compressed keys, hyper-connections."""
    count, hidden = reader.num_layers(), reader.integer("hidden_size")
    types = _v4_types(reader, count)
    rank = reader.integer("q_lora_rank")
    head = reader.integer("head_dim", default=512)
    mixer = attention(
        reader,
        num_key_value_heads=1,
        head_dim=head,
        q_lora_rank=rank,
        output_groups=reader.integer("o_groups"),
        output_lora_rank=reader.integer("o_lora_rank"),
        value_is_key=True,
        sinks=True,
        rotary="partial",
        sliding_window=reader.optional_integer("sliding_window"),
    )
    key_norm = Tensor(module="kv_norm", shape=(head,), kind="norm")
    streams = hyper_connection_tensors(reader, hidden)
    moe = shared_and_routed(reader)

    def make(number: int) -> Block:
        extra = (key_norm, *streams, *_v4_compressor(reader, types[number], head, hidden, rank))
        return Block(mixers=(mixer,), feed_forward=moe, extra_tensors=extra)

    mult = reader.integer("hc_mult", default=4)
    head_mixing = [
        Tensor(module="hc_head", shape=shape, kind="other", part="root")
        for shape in ((mult, mult * hidden), (mult,), (1,))
    ]
    return build(
        reader,
        name,
        grouped(types, make),
        norm_kind="rms-fp32",
        num_residual_streams=mult,
        extra_tensors=head_mixing,
        module_names=(("k_proj", "kv_proj"),),
    )


def _v4_types(reader: Reader, count: int) -> list[str]:
    types = reader.names_pattern("layer_types", count)
    ratios = reader.integers("compress_ratios")
    if types is None and ratios:
        for each in ratios:
            if each not in COMPRESSION_TYPES:
                reader.unknown_value("compress_ratios", each, map(str, COMPRESSION_TYPES))
        types = [COMPRESSION_TYPES[each] for each in ratios[:count]]
    if types is None:
        names = ("heavily_compressed_attention", "compressed_sparse_attention")
        types = [names[0] if number < 2 else names[number % 2] for number in range(count)]
    if len(types) != count:
        reader.fail(
            "inconsistent-config", "compress_ratios", "compress_ratios needs one entry a layer."
        )
    for kind in types:
        if kind not in COMPRESSION_TYPES.values():
            reader.unknown_value("layer_types", kind, COMPRESSION_TYPES.values())
    return types


def _v4_compressor(
    reader: Reader, kind: str, head: int, hidden: int, rank: int
) -> tuple[Tensor, ...]:
    if kind == "sliding_attention":
        return ()
    rates = reader.nested("compress_rates") or reader.empty("compress_rates")
    if kind == "heavily_compressed_attention":
        rate = rates.integer(kind, default=128)
        return _v4_pooling(rate, head, head, hidden)
    rate = rates.integer(kind, default=4)
    index_head, heads = reader.integer("index_head_dim"), reader.integer("index_n_heads")
    return (
        # Overlapping windows: keys and gates are twice as wide as a head.
        *_v4_pooling(rate, 2 * head, head, hidden),
        *_v4_pooling(rate, 2 * index_head, index_head, hidden),
        Tensor(module="q_b_proj", shape=(heads * index_head, rank), kind="linear"),
        Tensor(module="weights_proj", shape=(heads, hidden), kind="linear"),
    )


def _v4_pooling(rate: int, width: int, head: int, hidden: int) -> tuple[Tensor, ...]:
    return (
        Tensor(module="compressor", shape=(rate, width), kind="other"),
        Tensor(module="kv_proj", shape=(width, hidden), kind="linear"),
        Tensor(module="gate_proj", shape=(width, hidden), kind="linear"),
        Tensor(module="kv_norm", shape=(head,), kind="norm"),
    )
