"""Pieces that most architectures share: heads, rotary embedding, activations, layer patterns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from generator.core.hf_config.reader import Reader
from generator.core.model import (
    Activation,
    Attention,
    BlockGroup,
    LatentAttention,
    MixtureOfExperts,
    Mlp,
    Model,
    Tensor,
)

ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "swiglu": "silu",
    "swigluoai": "silu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_fast": "gelu-new",
    "gelu_new": "gelu-new",
    "relu2": "relu2",
    "xielu": "xielu",
}
"""Names of config files. `gelu_pytorch_tanh` is one kernel like `gelu`; `gelu_new` is several."""

LOSS_IN_LOGITS_DTYPE = frozenset(
    ("gpt2", "gpt_bigcode", "gpt_neox", "falcon", "bloom", "mpt", "opt", "persimmon", "qwen")
)
"""Classes whose forward method called cross-entropy without casting the logits to FP32
(transformers 4.44; for Qwen its own code on the Hub)."""


def activation(reader: Reader, default: Activation = "silu") -> Activation:
    """The activation function of the feed-forward parts."""
    for name in ("hidden_activation", "hidden_act", "mlp_hidden_act", "activation_function"):
        text = reader.text(name)
        if text:
            if text not in ACTIVATIONS:
                reader.unknown_value(name, text, ACTIVATIONS)
            return ACTIVATIONS[text]
    return default


def head_counts(reader: Reader) -> tuple[int, int]:
    """Query heads and key/value heads; without the latter every query head has its own.

    Raises:
        TrainfitError: query heads are no multiple of key/value heads (`inconsistent-config`).
    """
    heads = reader.integer("num_attention_heads")
    key_value = reader.integer("num_key_value_heads", default=heads)
    check_heads(reader, heads, key_value)
    return heads, key_value


def check_heads(reader: Reader, heads: int, key_value: int) -> None:
    """Refuses query heads that do not divide evenly over the key/value heads."""
    if heads % key_value:
        reader.fail(
            "inconsistent-config",
            "num_key_value_heads",
            f"num_attention_heads is {heads}, which is no multiple of num_key_value_heads, "
            f"{key_value}; correct one of them.",
        )


def head_size(reader: Reader, heads: int) -> int:
    """Size of one head: `head_dim`, or the hidden size split evenly.

    Raises:
        TrainfitError: no `head_dim`, and the heads do not divide the hidden size
            (`inconsistent-config`).
    """
    given = reader.optional_integer("head_dim")
    if given is not None:
        return given
    hidden = reader.integer("hidden_size")
    if hidden % heads:
        reader.fail(
            "inconsistent-config",
            "hidden_size",
            f"hidden_size is {hidden}, which is no multiple of num_attention_heads, {heads}; "
            "correct one of them or give head_dim.",
        )
    return hidden // heads


def is_partial_rotary(reader: Reader) -> bool:
    """Whether only a part of each head is rotated."""
    for name in ("partial_rotary_factor", "rotary_pct"):
        if reader.raw(name) is not None:
            return reader.number(name, 1.0) < 1
    parameters = reader.nested("rope_parameters", "rope_scaling")
    if parameters is None:
        return False
    return parameters.number("partial_rotary_factor", 1.0) < 1


def attention(reader: Reader, **changes: Any) -> Attention:
    """Grouped-query attention as the Llama family spells it; `changes` override fields."""
    heads, key_value = head_counts(reader)
    fields: dict[str, Any] = {
        "num_attention_heads": heads,
        "num_key_value_heads": key_value,
        "head_dim": changes.get("head_dim") or head_size(reader, heads),
        "rotary": "partial" if is_partial_rotary(reader) else "full",
    }
    return Attention(**{**fields, **changes})


def latent_attention(reader: Reader, **changes: Any) -> LatentAttention:
    """Multi-head latent attention as DeepSeek's configs spell it."""
    fields: dict[str, Any] = {
        "num_attention_heads": reader.integer("num_attention_heads"),
        "q_lora_rank": reader.optional_integer("q_lora_rank"),
        "kv_lora_rank": reader.integer("kv_lora_rank"),
        "qk_nope_head_dim": reader.integer("qk_nope_head_dim", minimum=0),
        "qk_rope_head_dim": reader.integer("qk_rope_head_dim", minimum=0),
        "v_head_dim": reader.integer("v_head_dim"),
        "bias": reader.boolean("attention_bias"),
    }
    return LatentAttention(**{**fields, **changes})


def mlp(reader: Reader, **changes: Any) -> Mlp:
    """The dense gated feed-forward part; `changes` override fields."""
    fields: dict[str, Any] = {
        "intermediate_size": changes.get("intermediate_size")
        or reader.integer("intermediate_size"),
        "activation": changes.get("activation") or activation(reader),
        "bias": reader.boolean("mlp_bias"),
    }
    return Mlp(**{**fields, **changes})


def experts(reader: Reader, **changes: Any) -> MixtureOfExperts:
    """Routed experts; the common spellings of their counts are all understood.

    Raises:
        TrainfitError: more experts per token than there are (`inconsistent-config`).
    """
    fields: dict[str, Any] = {
        "num_experts": reader.integer(
            "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"
        ),
        "num_experts_per_token": reader.integer(
            "num_experts_per_tok", "num_experts_per_token", "moe_k", "top_k_experts"
        ),
        "moe_intermediate_size": changes.get("moe_intermediate_size")
        or reader.integer("moe_intermediate_size"),
        "activation": changes.get("activation") or activation(reader),
    }
    moe = MixtureOfExperts(**{**fields, **changes})
    if moe.num_experts_per_token > moe.num_experts:
        reader.fail(
            "inconsistent-config",
            "num_experts_per_tok",
            f"num_experts_per_tok is {moe.num_experts_per_token}, more than the "
            f"{moe.num_experts} experts; correct one of them.",
        )
    return moe


def shared_width(reader: Reader, width: int, *names: str) -> int:
    """Width of the shared expert: `n_shared_experts` experts of the routed ones' width."""
    return width * reader.integer(*names, default=0, minimum=0)


def shared_and_routed(reader: Reader, **changes: Any) -> MixtureOfExperts:
    """DeepSeek's experts: shared ones in every token's path, and a router that works in FP32."""
    width = reader.integer("moe_intermediate_size")
    shared = shared_width(reader, width, "n_shared_experts", "num_shared_experts")
    fields = {"shared_intermediate_size": shared, "router_fp32": True, **changes}
    return experts(reader, **fields)


def sparse_layers(reader: Reader, count: int, *, dense_default: int = 0) -> list[bool]:
    """Which layers have routed experts, from the spellings in use.

    `mlp_layer_types` lists them; else the first `first_k_dense_replace` layers are dense.
    """
    names = reader.names_pattern("mlp_layer_types", count)
    if names is not None:
        known = {"dense": False, "sparse": True, "moe": True, "hash_moe": True}
        for name in names:
            if name not in known:
                reader.unknown_value("mlp_layer_types", name, known)
        return [known[name] for name in names]
    dense = reader.integer(
        "first_k_dense_replace", "num_dense_layers", default=dense_default, minimum=0
    )
    return [number >= dense for number in range(count)]


def window_pattern(
    reader: Reader, count: int, *, period: int | None = None, names: Iterable[str] = ()
) -> list[str]:
    """One layer type per layer.

    Where the file lists none, every `period`-th layer is full and the rest slide. `names` are the
    types that the architecture knows beside full and sliding attention.

    Raises:
        TrainfitError: a type that the architecture does not know (`unsupported-architecture`).
    """
    types = reader.names_pattern("layer_types", count)
    if types is None:
        if period is None:
            return ["full_attention"] * count
        return [
            "full_attention" if (number + 1) % period == 0 else "sliding_attention"
            for number in range(count)
        ]
    known = {"full_attention", "sliding_attention", *names}
    for each in types:
        if each not in known:
            reader.unknown_value("layer_types", each, known)
    return types


def build(
    reader: Reader,
    name: str,
    groups: Sequence[BlockGroup],
    *,
    tie_default: bool = False,
    extra_tensors: Sequence[Tensor] = (),
    **changes: Any,
) -> Model:
    """The model around its blocks: embedding, head, final norm."""
    fields: dict[str, Any] = {
        "name": name,
        "hidden_size": reader.integer("hidden_size"),
        "vocab_size": reader.integer("vocab_size"),
        "tie_word_embeddings": reader.boolean("tie_word_embeddings", default=tie_default),
        "block_groups": tuple(groups),
        "context_length": reader.optional_integer(
            "max_position_embeddings", "model_max_length", "seq_length"
        ),
        "extra_tensors": tuple(extra_tensors),
        "model_type": reader.text("model_type"),
        "upcasts_logits": reader.text("model_type") not in LOSS_IN_LOGITS_DTYPE,
    }
    return Model(**{**fields, **changes})


def text_reader(reader: Reader, defaults: Mapping[str, object] | None = None) -> Reader:
    """The level that holds the text model's fields, with its class defaults."""
    nested = reader.nested("text_config")
    if nested is None:
        return reader.with_defaults(defaults or {})
    outer: dict[str, object] = {}
    # The whole model's switch governs; files from before transformers 5 have it inside only.
    if reader.has("tie_word_embeddings"):
        outer["tie_word_embeddings"] = reader.boolean("tie_word_embeddings")
    values = {**nested.values, **outer}
    return Reader(values, nested.path, defaults, reader.questions)


def sub_config(reader: Reader, name: str) -> Reader:
    """A nested config, empty where the file has none, so that class defaults apply."""
    return reader.nested(name) or reader.empty(name)


def with_towers(model: Model, reader: Reader, parts: Sequence[Tensor]) -> Model:
    """The text model with its encoders, under the outer model's type."""
    return replace(
        model,
        extra_tensors=(*model.extra_tensors, *parts),
        model_type=reader.text("model_type"),
    )
