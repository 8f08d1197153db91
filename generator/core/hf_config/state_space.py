"""Decoders that mix attention with state spaces (Mamba-2) or short convolutions.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24.
"""

from generator.core.hf_config.parts import attention, build, experts, mlp, sparse_layers
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import (
    Attention,
    Block,
    FeedForward,
    Mamba2,
    Mixer,
    MixtureOfExperts,
    Mlp,
    Model,
    ShortConv,
    Tensor,
)


def _mamba_head(reader: Reader, inner: int, heads: int) -> int:
    # "auto", or nothing, in published files: the inner width split over the heads.
    given = reader.raw("mamba_d_head")
    is_auto = given is None or (isinstance(given, str) and given == "auto")
    return inner // heads if is_auto else reader.integer("mamba_d_head")


def granite_moe_hybrid(reader: Reader, name: str) -> Model:
    """Granite 4.0: Mamba-2 with a few attention layers, shared MLP plus routed experts."""
    count = reader.num_layers()
    types = reader.names_pattern("layer_types", count) or ["linear_attention"] * count
    alias = {
        "mamba": "linear_attention",
        "attention": "full_attention",
        "linear_attention": "linear_attention",
        "full_attention": "full_attention",
    }
    for each in types:
        if each not in alias:
            reader.unknown_value("layer_types", each, alias)
    types = [alias[each] for each in types]
    hidden = reader.integer("hidden_size")
    heads = reader.integer("mamba_n_heads", default=128)
    inner = hidden * reader.integer("mamba_expand", default=2)
    head = _mamba_head(reader, inner, heads)
    mamba = Mamba2(
        num_heads=heads,
        head_dim=head,
        state_size=reader.integer("mamba_d_state", default=256),
        num_groups=reader.integer("mamba_n_groups", default=1),
        conv_kernel=reader.integer("mamba_d_conv", default=4),
        chunk_size=reader.integer("mamba_chunk_size", default=256),
        conv_bias=reader.boolean("mamba_conv_bias", default=True),
        projection_bias=reader.boolean("mamba_proj_bias"),
    )
    bias = reader.boolean("attention_bias")
    rotary = "full" if reader.text("position_embedding_type") == "rope" else "none"
    full = attention(reader, qkv_bias=bias, output_bias=bias, rotary=rotary)
    shared = reader.integer("shared_intermediate_size", default=1024)
    feed_forward: FeedForward
    if reader.integer("num_local_experts", default=8, minimum=0):
        feed_forward = experts(
            reader,
            moe_intermediate_size=reader.integer("intermediate_size"),
            shared_intermediate_size=shared,
            shared_fused_gate_up=True,
        )
    else:
        feed_forward = mlp(reader, intermediate_size=shared, fused_gate_up=True, bias=False)

    def make(number: int) -> Block:
        mixer: Mixer = full if types[number] == "full_attention" else mamba
        return Block(mixers=(mixer,), feed_forward=feed_forward)

    return build(
        reader,
        name,
        grouped(types, make),
        module_names=(
            ("gate", "router"),
            ("gate_up_proj", "input_linear"),
            ("down_proj", "output_linear"),
        ),
    )


def falcon_h1(reader: Reader, name: str) -> Model:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    hidden = reader.integer("hidden_size")
    inner = reader.integer(
        "mamba_d_ssm", default=hidden * reader.integer("mamba_expand", default=2)
    )
    heads = reader.integer("mamba_n_heads", default=128)
    head = _mamba_head(reader, inner, heads)
    in_bias, out_bias = reader.boolean("mamba_proj_bias"), reader.boolean("projectors_bias")
    mamba = Mamba2(
        num_heads=heads,
        head_dim=head,
        state_size=reader.integer("mamba_d_state", default=256),
        num_groups=reader.integer("mamba_n_groups", default=1),
        conv_kernel=reader.integer("mamba_d_conv", default=4),
        chunk_size=reader.integer("mamba_chunk_size", default=256),
        conv_bias=reader.boolean("mamba_conv_bias", default=True),
        gated_norm=reader.boolean("mamba_rms_norm"),
    )
    projection = 2 * mamba.inner_size + 2 * mamba.num_groups * mamba.state_size + heads
    biases = (("in_proj", projection, in_bias), ("out_proj", hidden, out_bias))
    extra = tuple(
        Tensor(module=module, shape=(size,), kind="bias") for module, size, has in biases if has
    )
    bias = reader.boolean("attention_bias")
    block = Block(
        mixers=(attention(reader, qkv_bias=bias, output_bias=bias), mamba),
        feed_forward=mlp(reader),
        extra_tensors=extra,
    )
    return build(reader, name, grouped([0] * reader.num_layers(), lambda _: block))


NEMOTRON_LETTERS = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
"""The letters of `hybrid_override_pattern`."""


def _nemotron_types(reader: Reader) -> list[str]:
    pattern = reader.text("hybrid_override_pattern")
    if pattern and not reader.has("layers_block_type") and not reader.has("layers_block_type_rle"):
        if len(pattern) > 4096:
            reader.fail("out-of-range", "hybrid_override_pattern", "The pattern is too long.")
        for letter in pattern:
            if letter not in NEMOTRON_LETTERS:
                reader.unknown_value("hybrid_override_pattern", letter, NEMOTRON_LETTERS)
        return [NEMOTRON_LETTERS[letter] for letter in pattern]
    count = reader.num_layers()
    for field in ("layers_block_type", "layer_types"):
        types = reader.names_pattern(field, count)
        if types is None:
            continue
        alias = {"mamba": "linear_attention", "attention": "full_attention"}
        types = [alias.get(each, each) for each in types]
        for each in types:
            if each not in NEMOTRON_LETTERS.values():
                reader.unknown_value(field, each, NEMOTRON_LETTERS.values())
        return types
    return reader.fail(
        "missing-field",
        "layers_block_type",
        "The config does not say what each layer is; add layers_block_type or "
        "hybrid_override_pattern, or paste the whole config.json.",
    )


def nemotron_h(reader: Reader, name: str) -> Model:
    """Nemotron-H: each layer is one part only - Mamba-2, attention, feed-forward or experts."""
    types = _nemotron_types(reader)
    bias = reader.boolean("use_bias")

    def mamba() -> Mamba2:
        return Mamba2(
            num_heads=reader.integer("mamba_num_heads", default=128),
            head_dim=reader.integer("mamba_head_dim", default=64),
            state_size=reader.integer("ssm_state_size", default=128),
            num_groups=reader.integer("n_groups", "mamba_n_groups", default=8),
            conv_kernel=reader.integer("conv_kernel", "mamba_d_conv", default=4),
            chunk_size=reader.integer("chunk_size", "mamba_chunk_size", default=128),
            conv_bias=reader.boolean("use_conv_bias", "mamba_conv_bias", default=True),
            projection_bias=bias or reader.boolean("mamba_proj_bias"),
        )

    def full() -> Attention:
        attention_bias = reader.boolean("attention_bias")
        return attention(reader, qkv_bias=attention_bias, output_bias=attention_bias, rotary="none")

    def plain_mlp() -> Mlp:
        return mlp(reader, gated=False, activation="relu2")

    def routed() -> MixtureOfExperts:
        shared = reader.integer("n_shared_experts", default=1, minimum=0)
        width = reader.integer("moe_shared_expert_intermediate_size", default=0, minimum=0)
        return experts(
            reader,
            gated=False,
            activation="relu2",
            shared_intermediate_size=shared * width,
            latent_size=reader.optional_integer("moe_latent_size"),
            router_fp32=True,
        )

    def make(number: int) -> Block:
        kind = types[number]
        if kind == "linear_attention":
            return Block(mixers=(mamba(),), feed_forward=None, num_input_norms=1)
        if kind == "full_attention":
            return Block(mixers=(full(),), feed_forward=None, num_input_norms=1)
        feed_forward = plain_mlp() if kind == "mlp" else routed()
        return Block(mixers=(), feed_forward=feed_forward, num_input_norms=1)

    return build(
        reader,
        name,
        grouped(types, make),
        norm_kind="rms-fp32",
        module_names=(("embed_tokens", "embeddings"),),
    )


def _lfm_types(reader: Reader, count: int) -> list[str]:
    types = reader.names_pattern("layer_types", count)
    if types is None:
        full = set(reader.integers("full_attn_idxs")) or set(range(count))
        types = ["full_attention" if number in full else "conv" for number in range(count)]
    for each in types:
        if each not in {"conv", "full_attention"}:
            reader.unknown_value("layer_types", each, ("conv", "full_attention"))
    return types


LFM_NAMES = (
    ("gate_proj", "w1"),
    ("up_proj", "w3"),
    ("down_proj", "w2"),
    ("o_proj", "out_proj"),
)


def _lfm_mixers(reader: Reader) -> tuple[Attention, ShortConv]:
    conv = ShortConv(
        conv_kernel=reader.integer("conv_L_cache", default=3), bias=reader.boolean("conv_bias")
    )
    return attention(reader, qk_norm="head"), conv


def lfm2(reader: Reader, name: str) -> Model:
    """LFM2: short convolutions with a few attention layers."""
    types = _lfm_types(reader, reader.num_layers())
    full, conv = _lfm_mixers(reader)
    width = reader.integer("block_ff_dim", "intermediate_size")
    if reader.boolean("block_auto_adjust_ff_dim", default=True):
        width = 2 * width // 3
        width = int(reader.number("block_ffn_dim_multiplier", 1.0) * width)
        multiple = reader.integer("block_multiple_of", default=256)
        width = max(multiple * -(-width // multiple), multiple)
    feed_forward = mlp(reader, intermediate_size=width, bias=False)

    def make(number: int) -> Block:
        mixer: Mixer = conv if types[number] == "conv" else full
        return Block(mixers=(mixer,), feed_forward=feed_forward)

    tied = reader.boolean("tie_word_embeddings", "tie_embedding", default=True)
    return build(
        reader, name, grouped(types, make), tie_word_embeddings=tied, module_names=LFM_NAMES
    )


def lfm2_moe(reader: Reader, name: str) -> Model:
    """LFM2 with routed experts after the first, dense layers."""
    count = reader.num_layers()
    types = _lfm_types(reader, count)
    sparse = sparse_layers(reader, count, dense_default=2)
    kinds = list(zip(types, sparse, strict=True))
    full, conv = _lfm_mixers(reader)

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        mixer: Mixer = conv if kind == "conv" else full
        feed_forward: FeedForward = experts(reader) if is_sparse else mlp(reader, bias=False)
        return Block(mixers=(mixer,), feed_forward=feed_forward)

    tied = reader.boolean("tie_word_embeddings", "tie_embedding", default=True)
    return build(
        reader, name, grouped(kinds, make), tie_word_embeddings=tied, module_names=LFM_NAMES
    )
