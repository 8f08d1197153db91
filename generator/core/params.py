"""Parameter ledger: every weight tensor of a model, from its shapes.

Symbols: H hidden, V vocabulary, A query heads, K key/value heads, D head size, F feed-forward
width, E experts, R rank of a LoRA adapter.

Which tensors bitsandbytes quantises (QLoRA) is told by `kind`: it replaces every `nn.Linear`, in
the blocks and in the towers, except the output head. `kind == "linear"` is that set; it also holds
two subclasses that bitsandbytes passes over, Llama 4's router and DeepSeek-V4's `o_a_proj`. Fused
expert tensors (`expert`), embeddings, norms, convolutions and biases stay in 16 bit.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from generator.core.errors import TrainfitError
from generator.core.model import (
    Attention,
    Block,
    FeedForward,
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    Mamba2,
    Mixer,
    MixtureOfExperts,
    Mlp,
    Model,
    ShortConv,
    Tensor,
)

ALL_LINEAR = "all-linear"
"""Every linear layer of the decoder blocks."""


def _linear(module: str, out_size: int, in_size: int, *, bias: bool = False) -> list[Tensor]:
    parts = [Tensor(module=module, shape=(out_size, in_size), kind="linear")]
    if bias:
        parts.append(Tensor(module=module, shape=(out_size,), kind="bias"))
    return parts


def _norm(module: str, size: int, *, bias: bool = False) -> list[Tensor]:
    parts = [Tensor(module=module, shape=(size,), kind="norm")]
    if bias:
        parts.append(Tensor(module=module, shape=(size,), kind="bias"))
    return parts


def _attention_tensors(mixer: Attention, hidden: int) -> list[Tensor]:
    query = mixer.num_attention_heads * mixer.head_dim
    key_value = mixer.num_key_value_heads * mixer.head_dim
    gate_in_query = mixer.output_gate == "full" and not mixer.gate_module
    query_out = 2 * query if gate_in_query else query
    bias = mixer.qkv_bias
    parts: list[Tensor] = []
    if mixer.fused_qkv:
        parts += _linear("qkv_proj", query_out + 2 * key_value, hidden, bias=bias)
    else:
        if mixer.q_lora_rank is None:
            parts += _linear("q_proj", query_out, hidden, bias=bias)
        else:
            parts += _linear("q_a_proj", mixer.q_lora_rank, hidden)
            parts += _norm("q_a_norm", mixer.q_lora_rank)
            parts += _linear("q_b_proj", query_out, mixer.q_lora_rank)
        if not mixer.shares_key_value:
            parts += _linear("k_proj", key_value, hidden, bias=bias)
            if not mixer.value_is_key:
                parts += _linear("v_proj", key_value, hidden, bias=bias)
    if mixer.output_groups:
        groups, narrow = mixer.output_groups, mixer.output_groups * mixer.output_lora_rank
        parts += _linear("o_a_proj", narrow, query // groups)
        parts += _linear("o_b_proj", hidden, narrow)
    else:
        parts += _linear("o_proj", hidden, query, bias=mixer.output_bias)
    if mixer.gate_module:
        gate = query if mixer.output_gate == "full" else mixer.num_attention_heads
        parts += _linear(mixer.gate_module, gate, hidden)
    if mixer.qk_norm != "none" and mixer.qk_norm_weight:
        per_head = mixer.qk_norm == "head"
        parts += _norm("q_norm", mixer.head_dim if per_head else query)
        if not mixer.shares_key_value:
            parts += _norm("k_norm", mixer.head_dim if per_head else key_value)
    if mixer.sinks:
        parts.append(Tensor(module="sinks", shape=(mixer.num_attention_heads,), kind="other"))
    return parts


def _latent_attention_tensors(mixer: LatentAttention, hidden: int) -> list[Tensor]:
    heads = mixer.num_attention_heads
    query = heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
    parts: list[Tensor] = []
    if mixer.q_lora_rank is None:
        parts += _linear("q_proj", query, hidden)
    else:
        parts += _linear("q_a_proj", mixer.q_lora_rank, hidden, bias=mixer.bias)
        parts += _norm("q_a_layernorm", mixer.q_lora_rank)
        parts += _linear("q_b_proj", query, mixer.q_lora_rank)
    latent = mixer.kv_lora_rank
    parts += _linear("kv_a_proj_with_mqa", latent + mixer.qk_rope_head_dim, hidden, bias=mixer.bias)
    parts += _norm("kv_a_layernorm", latent)
    parts += _linear("kv_b_proj", heads * (mixer.qk_nope_head_dim + mixer.v_head_dim), latent)
    parts += _linear("o_proj", hidden, heads * mixer.v_head_dim, bias=mixer.bias)
    return parts


def _mamba2_tensors(mixer: Mamba2, hidden: int) -> list[Tensor]:
    inner, heads = mixer.inner_size, mixer.num_heads
    conv = inner + 2 * mixer.num_groups * mixer.state_size
    parts = _linear("in_proj", inner + conv + heads, hidden, bias=mixer.projection_bias)
    parts.append(Tensor(module="conv1d", shape=(conv, 1, mixer.conv_kernel), kind="conv"))
    if mixer.conv_bias:
        parts.append(Tensor(module="conv1d", shape=(conv,), kind="bias"))
    parts += [
        Tensor(module=name, shape=(heads,), kind="other") for name in ("dt_bias", "A_log", "D")
    ]
    if mixer.gated_norm:
        parts += _norm("norm", inner)
    parts += _linear("out_proj", hidden, inner, bias=mixer.projection_bias)
    return parts


def _gated_delta_net_tensors(mixer: GatedDeltaNet, hidden: int) -> list[Tensor]:
    key = mixer.num_key_heads * mixer.key_head_dim
    value = mixer.num_value_heads * mixer.value_head_dim
    heads = mixer.num_value_heads
    widths = {
        "fused": {"in_proj_qkvz": 2 * key + 2 * value, "in_proj_ba": 2 * heads},
        "split": {
            "in_proj_qkv": 2 * key + value,
            "in_proj_z": value,
            "in_proj_b": heads,
            "in_proj_a": heads,
        },
        "separate": {
            "q_proj": key,
            "k_proj": key,
            "v_proj": value,
            "a_proj": heads,
            "b_proj": heads,
            "g_proj": value,
        },
    }
    parts: list[Tensor] = []
    for module, width in widths[mixer.projections].items():
        parts += _linear(module, width, hidden)
    conv_shape = (2 * key + value, 1, mixer.conv_kernel)
    parts.append(Tensor(module="conv1d", shape=conv_shape, kind="conv"))
    parts += [Tensor(module=name, shape=(heads,), kind="other") for name in ("dt_bias", "A_log")]
    parts += _norm("norm", mixer.value_head_dim)
    output = "o_proj" if mixer.projections == "separate" else "out_proj"
    parts += _linear(output, hidden, value)
    return parts


def _kimi_delta_attention_tensors(mixer: KimiDeltaAttention, hidden: int) -> list[Tensor]:
    heads, head_dim = mixer.num_heads, mixer.head_dim
    width = heads * head_dim
    parts: list[Tensor] = []
    for module in ("q_proj", "k_proj", "v_proj"):
        parts += _linear(module, width, hidden)
    parts.append(Tensor(module="conv1d", shape=(3 * width, 1, mixer.conv_kernel), kind="conv"))
    parts.append(Tensor(module="forget_gate", shape=(width,), kind="other"))
    parts.append(Tensor(module="forget_gate", shape=(heads,), kind="other"))
    for gate in ("f", "g"):
        if mixer.low_rank_gates:
            parts += _linear(f"{gate}_a_proj", head_dim, hidden)
            parts += _linear(f"{gate}_b_proj", width, head_dim)
        else:
            parts += _linear(f"{gate}_proj", width, hidden)
    parts += _linear("b_proj", heads, hidden)
    parts += _norm("o_norm", head_dim)
    parts += _linear("o_proj", hidden, width)
    return parts


def _short_conv_tensors(mixer: ShortConv, hidden: int) -> list[Tensor]:
    parts = _linear("in_proj", 3 * hidden, hidden, bias=mixer.bias)
    parts.append(Tensor(module="conv", shape=(hidden, 1, mixer.conv_kernel), kind="conv"))
    if mixer.bias:
        parts.append(Tensor(module="conv", shape=(hidden,), kind="bias"))
    parts += _linear("out_proj", hidden, hidden, bias=mixer.bias)
    return parts


def mixer_tensors(mixer: Mixer, hidden_size: int) -> list[Tensor]:
    """Weight tensors of one token mixer, under the usual module names.

    Shape: matrices as (out, in).
    Source: https://github.com/huggingface/transformers, the modelling file of each architecture.
    """
    if isinstance(mixer, Attention):
        return _attention_tensors(mixer, hidden_size)
    if isinstance(mixer, LatentAttention):
        return _latent_attention_tensors(mixer, hidden_size)
    if isinstance(mixer, Mamba2):
        return _mamba2_tensors(mixer, hidden_size)
    if isinstance(mixer, GatedDeltaNet):
        return _gated_delta_net_tensors(mixer, hidden_size)
    if isinstance(mixer, KimiDeltaAttention):
        return _kimi_delta_attention_tensors(mixer, hidden_size)
    return _short_conv_tensors(mixer, hidden_size)


def _mlp_tensors(
    hidden: int, width: int, *, gated: bool, fused: bool, bias: bool = False
) -> list[Tensor]:
    parts: list[Tensor] = []
    if gated and fused:
        parts += _linear("gate_up_proj", 2 * width, hidden, bias=bias)
    else:
        if gated:
            parts += _linear("gate_proj", width, hidden, bias=bias)
        parts += _linear("up_proj", width, hidden, bias=bias)
    parts += _linear("down_proj", hidden, width, bias=bias)
    return parts


def routed_expert_tensors(moe: MixtureOfExperts, hidden_size: int) -> list[Tensor]:
    """Fused tensors of all routed experts of one block.

    Shape: [E, 2F or F, H] and [E, H, F]; H is `latent_size` where experts work in another width.
    Source: transformers 5, `MixtralExperts` and its kin.
    """
    width = moe.moe_intermediate_size
    inner = moe.latent_size or hidden_size
    up_width, up_name = (2 * width, "gate_up_proj") if moe.gated else (width, "up_proj")
    shapes: list[tuple[str, tuple[int, ...]]] = [
        (up_name, (moe.num_experts, up_width, inner)),
        ("down_proj", (moe.num_experts, inner, width)),
    ]
    if moe.expert_bias:
        shapes += [(up_name, (moe.num_experts, up_width)), ("down_proj", (moe.num_experts, inner))]
    return [Tensor(module=name, shape=shape, kind="expert") for name, shape in shapes]


def feed_forward_tensors(feed_forward: FeedForward, hidden_size: int) -> list[Tensor]:
    """Weight tensors of one feed-forward part, under the usual module names.

    Shape: matrices as (out, in), experts fused (`routed_expert_tensors`).
    Source: https://github.com/huggingface/transformers, the modelling file of each architecture.
    """
    if isinstance(feed_forward, Mlp):
        return _mlp_tensors(
            hidden_size,
            feed_forward.intermediate_size,
            gated=feed_forward.gated,
            bias=feed_forward.bias,
            fused=feed_forward.fused_gate_up,
        )
    moe = feed_forward
    parts = [
        Tensor(
            module="gate",
            shape=(moe.num_experts, hidden_size),
            kind="linear" if moe.router_linear else "other",
        )
    ]
    if moe.router_bias:
        parts.append(Tensor(module="gate", shape=(moe.num_experts,), kind="bias"))
    parts += routed_expert_tensors(moe, hidden_size)
    if moe.latent_size is not None:
        parts += _linear("fc1_latent_proj", moe.latent_size, hidden_size)
        parts += _linear("fc2_latent_proj", hidden_size, moe.latent_size)
    if moe.shared_intermediate_size:
        shared = _mlp_tensors(
            hidden_size,
            moe.shared_intermediate_size,
            gated=moe.gated,
            fused=moe.shared_fused_gate_up,
        )
        if not moe.shared_linear:
            shared = [replace(part, kind="other") for part in shared]
        parts += shared
    if moe.shared_expert_gate:
        parts += _linear("shared_expert_gate", 1, hidden_size)
    return parts


def block_tensors(model: Model, block: Block) -> list[Tensor]:
    """Weight tensors of one decoder block, norms included, under the architecture's own names.

    Shape: matrices as (out, in).
    Source: https://github.com/huggingface/transformers, the modelling file of each architecture.
    """
    parts: list[Tensor] = []
    for mixer in block.mixers:
        parts += mixer_tensors(mixer, model.hidden_size)
    if block.feed_forward is not None:
        parts += feed_forward_tensors(block.feed_forward, model.hidden_size)
    for _ in range(block.num_input_norms + block.num_output_norms):
        parts += _norm("layernorm", model.hidden_size, bias=model.norm_bias)
    own = dict(model.module_names)
    if own:
        parts = [
            Tensor(module=own[part.module], shape=part.shape, kind=part.kind)
            if part.module in own and part.kind != "expert"
            else part
            for part in parts
        ]
    return [*parts, *block.extra_tensors]


def _root_tensors(model: Model) -> list[Tensor]:
    own = dict(model.module_names)
    table = (model.vocab_size, model.hidden_size)
    parts = [
        Tensor(
            module=own.get("embed_tokens", "embed_tokens"),
            shape=table,
            kind="embedding",
            part="root",
        )
    ]
    head = own.get("lm_head", "lm_head")
    if not model.tie_word_embeddings:
        parts.append(Tensor(module=head, shape=table, kind="head", part="root"))
    if model.head_bias:
        parts.append(Tensor(module=head, shape=(model.vocab_size,), kind="bias", part="root"))
    if model.final_norm:
        parts.append(
            Tensor(module="final_norm", shape=(model.hidden_size,), kind="norm", part="root")
        )
        if model.norm_bias:
            parts.append(
                Tensor(module="final_norm", shape=(model.hidden_size,), kind="bias", part="root")
            )
    return parts


def _blocks_with_counts(model: Model) -> list[tuple[Block, int]]:
    counts: dict[int, list[int]] = {}
    blocks: dict[int, Block] = {}
    # By identity, not by value: importers reuse one Block object, and hashing a block costs more
    # than building its tensors.
    for group in model.block_groups:
        key = id(group.block)
        blocks[key] = group.block
        counts.setdefault(key, []).append(group.count)
    return [(blocks[key], sum(each)) for key, each in counts.items()]


@lru_cache(maxsize=512)
def tensors(model: Model) -> tuple[Tensor, ...]:
    """Every weight tensor of the model: embedding, blocks, final norm, head, towers.

    Shape: matrices as (out, in); experts fused; equal tensors merged under `count`.
    Counts: parameters, tied ones once. Ignores: buffers (rotary tables, router correction biases).
    Source: the class that `transformers` builds; checked by tests/core/test_known_totals.py.
    """
    merged: dict[tuple[str, tuple[int, ...], str, str], int] = {}
    samples: dict[tuple[str, tuple[int, ...], str, str], Tensor] = {}

    def add(parts: Iterable[Tensor], times: int) -> None:
        for part in parts:
            key = (part.module, part.shape, part.kind, part.part)
            samples.setdefault(key, part)
            merged[key] = merged.get(key, 0) + part.count * times

    add(_root_tensors(model), 1)
    for block, count in _blocks_with_counts(model):
        add(block_tensors(model, block), count)
    add(model.extra_tensors, 1)
    return tuple(
        Tensor(
            module=part.module, shape=part.shape, kind=part.kind, part=part.part, count=merged[key]
        )
        for key, part in samples.items()
    )


@lru_cache(maxsize=512)
def num_parameters(model: Model) -> int:
    """Parameters of the whole model, tied tensors counted once.

    Shape: the sum over `tensors`.
    Source: tests/core/test_known_totals.py.
    """
    return sum(tensor.num_parameters for tensor in tensors(model))


@lru_cache(maxsize=512)
def num_active_parameters(model: Model) -> int:
    """Parameters that one token passes through: the text model with its top-k routed experts.

    Shape: total - towers - (E - k) / E of the routed experts.
    Counts: embeddings, norms, shared experts and the head.
    Ignores: vision and audio towers.
    Source: arXiv:2101.03961 section 2 for the notion; tests/core/test_known_totals.py.
    """
    total = sum(tensor.num_parameters for tensor in tensors(model) if tensor.part != "tower")
    for block, count in _blocks_with_counts(model):
        moe = block.feed_forward
        if isinstance(moe, MixtureOfExperts):
            routed = sum(part.size for part in routed_expert_tensors(moe, model.hidden_size))
            idle = moe.num_experts - moe.num_experts_per_token
            total -= count * (routed // moe.num_experts) * idle
    return total


def linear_tensors(model: Model) -> tuple[Tensor, ...]:
    """Matrices of the linear layers inside the decoder blocks.

    Shape: (out, in). Ignores: the head, towers and fused expert tensors.
    Source: peft 0.21, `target_modules="all-linear"`.
    """
    return tuple(part for part in tensors(model) if part.kind == "linear" and part.part == "block")


def lora_targets(model: Model, target_modules: str | tuple[str, ...]) -> tuple[Tensor, ...]:
    """The matrices that a LoRA configuration adapts.

    Shape: (out, in).
    Ignores: towers, and routed experts that are one fused tensor, which peft reaches only through
        `target_parameters`.

    Args:
        model: The model to adapt.
        target_modules: `all-linear`, or leaf names of linear layers of the decoder blocks
            (`q_proj`, ...). `lm_head` and the embedding may be named too.

    Raises:
        TrainfitError: a name is in no module of the model (code `unknown-id`).

    Source: arXiv:2106.09685 section 4.2; peft 0.21.
    """
    if target_modules == ALL_LINEAR:
        return linear_tensors(model)
    names = (target_modules,) if isinstance(target_modules, str) else target_modules
    candidates = [
        part
        for part in tensors(model)
        if (part.kind == "linear" and part.part == "block") or part.kind in ("head", "embedding")
    ]
    known = {part.module for part in candidates}
    for name in names:
        if name not in known:
            existing = ", ".join(sorted(known))
            raise TrainfitError(
                "unknown-id",
                "lora.target_modules",
                f"The model has no linear layer called {name[:80]!r}; "
                f"use {ALL_LINEAR!r} or names out of: {existing}.",
            )
    wanted = set(names)
    return tuple(part for part in candidates if part.module in wanted)


def usual_module_names(model: Model, target_modules: str | tuple[str, ...]) -> frozenset[str]:
    """The adapted linear layers under the names that the block records use (`q_proj`, `down_proj`).

    Shape: a set of names.
    Source: `Model.module_names`; GPT-2's `c_attn` is our `qkv_proj`.
    """
    adapted = {part.module for part in lora_targets(model, target_modules)}
    usual = {common for common, own in model.module_names if own in adapted}
    renamed = {own for _, own in model.module_names}
    return frozenset(usual | {name for name in adapted if name not in renamed})


def num_lora_parameters(model: Model, rank: int, target_modules: str | tuple[str, ...]) -> int:
    """Parameters of the LoRA adapters.

    Shape: R * (in + out) per adapted matrix.
    Source: arXiv:2106.09685 section 4.2.
    """
    return sum(rank * sum(part.shape) * part.count for part in lora_targets(model, target_modules))
