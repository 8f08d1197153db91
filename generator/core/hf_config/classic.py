"""Decoders and encoders from before the Llama shape: LayerNorm, plain feed-forward parts, biases.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24; for Qwen
1 and ChatGLM 3 the code that ships with their checkpoints.
"""

from generator.core.hf_config import dense
from generator.core.hf_config.parts import (
    activation,
    attention,
    build,
    check_heads,
    mlp,
    window_pattern,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, Tensor


def _renamed(reader: Reader, names: dict[str, str]) -> Reader:
    """The same config under the usual field names, where the file uses its own."""
    own = {usual: reader.values[old] for usual, old in names.items() if reader.has(old)}
    return reader.with_values({**own, **reader.values})


Names = tuple[tuple[str, str], ...]

GPT_NEOX_NAMES = (
    ("qkv_proj", "query_key_value"),
    ("o_proj", "dense"),
    ("up_proj", "dense_h_to_4h"),
    ("down_proj", "dense_4h_to_h"),
    ("embed_tokens", "embed_in"),
)


def gpt_neox(reader: Reader, name: str) -> Model:
    """GPT-NeoX and Pythia: attention and feed-forward part side by side, biases everywhere."""
    bias = reader.boolean("attention_bias", default=True)
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, fused_qkv=True, rotary="partial")
    width = reader.integer("intermediate_size")
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(
            reader,
            intermediate_size=width,
            gated=False,
            bias=True,
            activation=activation(reader, "gelu"),
        ),
        parallel=reader.boolean("use_parallel_residual", default=True),
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        module_names=GPT_NEOX_NAMES,
    )


GPT2_NAMES = (
    ("qkv_proj", "c_attn"),
    ("o_proj", "c_proj"),
    ("up_proj", "c_fc"),
    ("down_proj", "c_proj"),
    ("embed_tokens", "wte"),
)
GPT2_FIELDS = {
    "hidden_size": "n_embd",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "n_inner",
    "max_position_embeddings": "n_positions",
}


def _gpt2(reader: Reader, name: str, *, key_value_heads: int | None, default: str) -> Model:
    reader = _renamed(reader, GPT2_FIELDS)
    hidden = reader.integer("hidden_size")
    heads = reader.integer("num_attention_heads")
    positions = reader.integer("max_position_embeddings", "n_positions", default=1024)
    mixer = attention(
        reader,
        num_key_value_heads=key_value_heads or heads,
        qkv_bias=True,
        output_bias=True,
        fused_qkv=True,
        rotary="none",
    )
    width = reader.integer("intermediate_size", default=4 * hidden)
    feed_forward = mlp(
        reader,
        intermediate_size=width,
        gated=False,
        bias=True,
        activation=activation(reader, "gelu-new" if default == "gelu_new" else "gelu"),
    )
    block = Block(mixers=(mixer,), feed_forward=feed_forward)
    table = Tensor(module="wpe", shape=(positions, hidden), kind="embedding", part="root")
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        tie_default=True,
        extra_tensors=[table],
        module_names=GPT2_NAMES,
    )


def gpt2(reader: Reader, name: str) -> Model:
    """GPT-2: learned positions, `Conv1D` layers (linear layers stored the other way round)."""
    return _gpt2(reader, name, key_value_heads=None, default="gelu_new")


def gpt_bigcode(reader: Reader, name: str) -> Model:
    """GPT-2 with one key/value head for all (StarCoder, SantaCoder)."""
    single = reader.boolean("multi_query", default=True)
    return _gpt2(reader, name, key_value_heads=1 if single else None, default="gelu")


FALCON_NAMES = (
    ("qkv_proj", "query_key_value"),
    ("o_proj", "dense"),
    ("up_proj", "dense_h_to_4h"),
    ("down_proj", "dense_4h_to_h"),
    ("embed_tokens", "word_embeddings"),
)


def falcon(reader: Reader, name: str) -> Model:
    """Falcon: attention and feed-forward part side by side; one norm, or two in the newer form."""
    hidden = reader.integer("hidden_size")
    heads = reader.integer("num_attention_heads")
    newer = reader.boolean("new_decoder_architecture")
    single = reader.boolean("multi_query", default=True)
    if newer:
        key_value = reader.integer("num_kv_heads", "num_key_value_heads", default=heads)
    else:
        key_value = 1 if single else heads
    check_heads(reader, heads, key_value)
    bias = reader.boolean("bias")
    parallel = newer or reader.boolean("parallel_attn", default=True)
    norms = reader.integer("num_ln_in_parallel_attn", default=2 if newer else 1)
    mixer = attention(
        reader,
        num_key_value_heads=key_value,
        qkv_bias=bias,
        output_bias=bias,
        fused_qkv=True,
        rotary="none" if reader.boolean("alibi") else "full",
    )
    width = reader.integer("ffn_hidden_size", "intermediate_size", default=4 * hidden)
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(
            reader, intermediate_size=width, gated=False, bias=bias, activation="gelu"
        ),
        num_input_norms=norms if parallel else 2,
        parallel=parallel,
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        tie_default=True,
        module_names=FALCON_NAMES,
    )


def phi(reader: Reader, name: str) -> Model:
    """Phi-1 to phi-2: one norm for attention and feed-forward part, biases on everything."""
    has_norm = reader.boolean("qk_layernorm")
    if has_norm:
        reader.unknown_value("qk_layernorm", value=True, known=["false"])
    mixer = attention(reader, qkv_bias=True, output_bias=True, rotary="partial")
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(reader, gated=False, bias=True, activation=activation(reader, "gelu-new")),
        num_input_norms=1,
        parallel=True,
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        head_bias=True,
        module_names=(("o_proj", "dense"), ("up_proj", "fc1"), ("down_proj", "fc2")),
    )


def stablelm(reader: Reader, name: str) -> Model:
    """StableLM 2: Llama with LayerNorm, a quarter of each head rotated."""
    parallel = reader.boolean("use_parallel_residual")
    mixer = attention(
        reader,
        qkv_bias=reader.boolean("use_qkv_bias"),
        rotary="partial",
        # One norm per head, all of them together as wide as the projection.
        qk_norm="full" if reader.boolean("qk_layernorm") else "none",
        qk_norm_kind="layer",
    )
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(reader, bias=False),
        num_input_norms=1 if parallel else 2,
        parallel=parallel,
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
    )


def cohere(reader: Reader, name: str) -> Model:
    """Command R and R7B, Aya: attention and feed-forward part behind one norm without bias."""
    count = reader.num_layers()
    window = reader.optional_integer("sliding_window")
    period = None if window is None else reader.integer("sliding_window_pattern", default=4)
    types = window_pattern(reader, count, period=period)
    bias = reader.boolean("attention_bias")
    feed_forward = mlp(reader, bias=False)

    def make(number: int) -> Block:
        slides = types[number] == "sliding_attention"
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            sliding_window=window if slides else None,
            rotary="full" if slides or window is None else "none",
            qk_norm="full" if reader.boolean("use_qk_norm") else "none",
            qk_norm_kind="layer-fp32",
        )
        return Block(mixers=(mixer,), feed_forward=feed_forward, num_input_norms=1, parallel=True)

    return build(reader, name, grouped(types, make), norm_kind="layer-fp32", tie_default=True)


def bert(reader: Reader, name: str) -> Model:
    """BERT with its masked-language head: an encoder, norms after each part."""
    hidden = reader.integer("hidden_size")
    mixer = attention(reader, qkv_bias=True, output_bias=True, rotary="none")
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(reader, gated=False, bias=True, activation=activation(reader, "gelu")),
    )
    positions = reader.integer("max_position_embeddings", default=512)
    kinds = reader.integer("type_vocab_size", default=2)

    def root(module: str, shape: tuple[int, ...], kind: str) -> Tensor:
        tensors = {
            "embedding": Tensor(module=module, shape=shape, kind="embedding", part="root"),
            "linear": Tensor(module=module, shape=shape, kind="linear", part="root"),
            "bias": Tensor(module=module, shape=shape, kind="bias", part="root", count=1),
            "norm": Tensor(module=module, shape=shape, kind="norm", part="root", count=2),
            "norm-bias": Tensor(module=module, shape=shape, kind="bias", part="root", count=2),
        }
        return tensors[kind]

    extra = [
        root("position_embeddings", (positions, hidden), "embedding"),
        root("token_type_embeddings", (kinds, hidden), "embedding"),
        root("LayerNorm", (hidden,), "norm"),
        root("LayerNorm", (hidden,), "norm-bias"),
        root("dense", (hidden, hidden), "linear"),
        root("dense", (hidden,), "bias"),
    ]
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        final_norm=False,
        tie_default=True,
        head_bias=True,
        extra_tensors=extra,
        module_names=(
            ("q_proj", "query"),
            ("k_proj", "key"),
            ("v_proj", "value"),
            ("o_proj", "dense"),
            ("up_proj", "dense"),
            ("down_proj", "dense"),
            ("embed_tokens", "word_embeddings"),
        ),
    )


def modernbert(reader: Reader, name: str) -> Model:
    """ModernBERT with its masked-language head: rotary encoder, window on two layers of three."""
    hidden, count = reader.integer("hidden_size"), reader.num_layers()
    types = reader.names_pattern("layer_types", count)
    if types is None:
        every = reader.integer("global_attn_every_n_layers", default=3)
        types = [
            "sliding_attention" if number % every else "full_attention" for number in range(count)
        ]
    window = reader.integer("local_attention", default=128)
    bias, mlp_bias = reader.boolean("attention_bias"), reader.boolean("mlp_bias")
    norm_bias = reader.boolean("norm_bias")
    # The first layer reads the embedding's norm and has none of its own before attention.
    kinds = [(number == 0, kind) for number, kind in enumerate(types)]

    def make(number: int) -> Block:
        first, kind = kinds[number]
        mixer = attention(
            reader,
            qkv_bias=bias,
            output_bias=bias,
            fused_qkv=True,
            sliding_window=window if kind == "sliding_attention" else None,
        )
        feed_forward = mlp(reader, fused_gate_up=True, bias=mlp_bias, activation="gelu")
        return Block(mixers=(mixer,), feed_forward=feed_forward, num_input_norms=1 if first else 2)

    extra = [
        Tensor(module="norm", shape=(hidden,), kind="norm", part="root", count=2),
        Tensor(module="dense", shape=(hidden, hidden), kind="linear", part="root"),
    ]
    if norm_bias:
        extra.append(Tensor(module="norm", shape=(hidden,), kind="bias", part="root", count=2))
    if reader.boolean("classifier_bias"):
        extra.append(Tensor(module="dense", shape=(hidden,), kind="bias", part="root"))
    return build(
        reader,
        name,
        grouped(kinds, make),
        norm_kind="layer",
        norm_bias=norm_bias,
        tie_default=True,
        head_bias=reader.boolean("decoder_bias", default=True),
        extra_tensors=extra,
        module_names=(
            ("qkv_proj", "Wqkv"),
            ("o_proj", "Wo"),
            ("gate_up_proj", "Wi"),
            ("down_proj", "Wo"),
            ("embed_tokens", "tok_embeddings"),
        ),
    )


def starcoder2(reader: Reader, name: str) -> Model:
    """StarCoder2: LayerNorm, plain feed-forward part, biases by one switch, tied embeddings."""
    bias = reader.boolean("use_bias", default=True)
    window = reader.optional_integer("sliding_window")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, sliding_window=window)
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(reader, gated=False, bias=bias, activation=activation(reader, "gelu")),
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
        tie_default=True,
        module_names=(("up_proj", "c_fc"), ("down_proj", "c_proj")),
    )


def nemotron(reader: Reader, name: str) -> Model:
    """Nemotron-4 and Minitron: LayerNorm with bias, plain squared-ReLU feed-forward part."""
    bias = reader.boolean("attention_bias")
    mixer = attention(reader, qkv_bias=bias, output_bias=bias, rotary="partial")
    block = Block(
        mixers=(mixer,),
        feed_forward=mlp(reader, gated=False, activation=activation(reader, "relu2")),
    )
    return build(
        reader,
        name,
        grouped([0] * reader.num_layers(), lambda _: block),
        norm_kind="layer",
        norm_bias=True,
    )


def _fused_llama(reader: Reader, name: str, *, bias: bool, names: Names, **changes: bool) -> Model:
    block = Block(
        mixers=(attention(reader, qkv_bias=bias, fused_qkv=True),),
        feed_forward=mlp(reader, bias=False, **changes),
    )
    return build(
        reader, name, grouped([0] * reader.num_layers(), lambda _: block), module_names=names
    )


def qwen1(reader: Reader, name: str) -> Model:
    """Qwen 1: a biased query-key-value matrix; the file gives twice the feed-forward width."""
    width = reader.integer("intermediate_size")
    # A config in Qwen2's fields (`shape_as`) gives the width itself.
    halved = {} if reader.has("shape_as") else {"intermediate_size": width // 2}
    reader = reader.with_values(halved)
    reader = _renamed(reader, {"head_dim": "kv_channels", "max_position_embeddings": "seq_length"})
    names = (
        ("qkv_proj", "c_attn"),
        ("o_proj", "c_proj"),
        ("up_proj", "w1"),
        ("gate_proj", "w2"),
        ("down_proj", "c_proj"),
        ("embed_tokens", "wte"),
    )
    return _fused_llama(reader, name, bias=True, names=names)


def chatglm(reader: Reader, name: str) -> Model:
    """ChatGLM 2 and 3, GLM-4-9B: Llama's parts with fused matrices, under other field names."""
    if reader.boolean("multi_query_attention"):
        reader = _renamed(reader, {"num_key_value_heads": "multi_query_group_num"})
    reader = _renamed(
        reader,
        {
            "num_hidden_layers": "num_layers",
            "intermediate_size": "ffn_hidden_size",
            "vocab_size": "padded_vocab_size",
            "head_dim": "kv_channels",
            "max_position_embeddings": "seq_length",
        },
    )
    bias = reader.boolean("add_qkv_bias", default=True)
    names = (
        ("qkv_proj", "query_key_value"),
        ("o_proj", "dense"),
        ("gate_up_proj", "dense_h_to_4h"),
        ("down_proj", "dense_4h_to_h"),
        ("embed_tokens", "word_embeddings"),
        ("lm_head", "output_layer"),
    )
    return _fused_llama(reader, name, bias=bias, names=names, fused_gate_up=True)


def minicpmv(reader: Reader, name: str) -> Model:
    """The text model of MiniCPM-V, where the file describes nothing else.

    Raises:
        TrainfitError: the config has a vision encoder, whose size it does not tell in full
            (`unsupported-architecture`).
    """
    if reader.has("vision_config"):
        reader.fail(
            "unsupported-architecture",
            "vision_config",
            "The image encoder and resampler of MiniCPM-V are not modelled; remove vision_config "
            "to estimate the text model alone.",
        )
    return dense.llama(reader, name)
