"""Tensors that a block keeps for backward, and what its backward needs on top while it runs.

One function per part of a block lists the saved tensors in the order of the forward pass.
T tokens, h hidden size, a heads, k key/value heads, d head size, I feed-forward width; all results
are bytes per token unless the name says otherwise, so that sequence and batch stay outside.

Source: S-TRACKER (PyTorch's own allocations of real Transformers classes, torch 2.13). The list for
a Llama block sums to (8 + 2ad/h + 2kd/h + 4I/h) * 2h bytes plus the log-sum-exp, as is published
there.
"""

from dataclasses import dataclass
from functools import cache

from generator.core.dtypes import FP32_BYTES
from generator.core.model import (
    DELTA_NET_CHUNK,
    Attention,
    Block,
    GatedDeltaNet,
    KimiDeltaAttention,
    LatentAttention,
    Mamba2,
    Mixer,
    MixtureOfExperts,
    Mlp,
    Model,
    NormKind,
    ShortConv,
)
from generator.core.run import AttentionKernel

LOG_SUM_EXP_BYTES = 4
"""FlashAttention and the memory-efficient kernel keep one FP32 per head and token."""
EAGER_BACKWARD_PAIR_BYTES = 8
"""Softmax backward, per head and pair: the FP32 gradient 4, the 16-bit result 2 and an FP32
workspace 4, when the 16-bit copy of the probabilities is free again."""
EAGER_SOFTCAP_PAIR_BYTES = 8
"""Per head and pair of tokens: the 16-bit tanh of a soft cap, the FP32 softmax, its 16-bit copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeMode:
    """What decides whether and in which dtype a tensor is saved.

    `targets`: modules with an adapter. `adapter_bytes`: element size of the adapters; FP32
    adapters cast their input, and each keeps its own copy. `residual_bytes`: element size of the
    residual stream.
    `wide_outputs`: quantised linears hand back the dtype of their input (bitsandbytes).
    `kernel_norms`: fused RMSNorm kernels keep their input as it came and recompute the rest.
    `fused_classes`: LitGPT's own model code. `keeps_inputs`: frozen 4-bit linears keep their input.
    """

    trains_base: bool
    targets: frozenset[str] = frozenset()
    lora_rank: int = 0
    lora_dropout: bool = False
    adapter_bytes: int = 4
    autocast: bool = True
    element_bytes: int = 2
    residual_bytes: int = 2
    wide_outputs: bool = False
    kernel_norms: bool = False
    fused_classes: bool = False
    keeps_inputs: bool = False
    attention: AttentionKernel = "flash"
    sdpa_length: int = 0
    """Sequence length, which decides about masks under `sdpa`; 0 elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """Bytes of one block: `saved` for backward, `backward` extra at the worst instant of its
    backward.

    `saved_per_pair` is multiplied by tokens and by keys per token (score matrices and masks).
    """

    saved: int
    saved_per_pair: int
    backward: int
    backward_per_pair: int
    linear_inputs: int
    """Distinct inputs of the block's linear layers, per token and 16-bit."""

    def saved_bytes(self, *, num_tokens: int, sequence_length: int) -> int:
        """Bytes kept from forward to backward when the block is not checkpointed."""
        return num_tokens * (self.saved + self.saved_per_pair * sequence_length)

    def recompute_bytes(self, *, num_tokens: int, sequence_length: int) -> int:
        """Bytes alive at the worst instant of the block's backward: all it saved, and
        temporaries.
        """
        per_token = self.saved + self.backward
        per_pair = self.saved_per_pair + self.backward_per_pair
        return num_tokens * (per_token + per_pair * sequence_length)


def _inputs(
    *, width: int, modules: tuple[str, ...], mode: TapeMode, wide: bool, saved: bool
) -> int:
    """Bytes kept of one tensor of `width` because the linears `modules` read it.

    A trained linear keeps its input for the weight gradient; a frozen one keeps nothing, unless it
    is 4-bit in older bitsandbytes; an adapter keeps the input of its A matrix (its own cast copy
    when dtypes differ) and A's output.

    Args:
        wide: The tensor is FP32 (so a 16-bit autocast copies it once per linear).
        saved: Another operation keeps the tensor already.
    """
    casts = wide and mode.element_bytes < FP32_BYTES
    if mode.trains_base:
        if casts:
            return len(modules) * width * mode.element_bytes
        return 0 if saved else width * mode.element_bytes
    frozen = 0
    if mode.keeps_inputs:
        if casts:
            frozen = len(modules) * width * mode.element_bytes
        elif not saved:
            frozen = width * mode.element_bytes
            saved = True
    num_targets = sum(module in mode.targets for module in modules)
    if not num_targets:
        return frozen
    matmul_bytes = mode.element_bytes
    if mode.adapter_bytes == FP32_BYTES and not mode.autocast:
        matmul_bytes = FP32_BYTES
    kept = frozen + num_targets * mode.lora_rank * matmul_bytes
    tensor_bytes = FP32_BYTES if wide else mode.element_bytes
    adapter_casts = mode.adapter_bytes == FP32_BYTES and mode.element_bytes < FP32_BYTES
    if mode.lora_dropout:
        # Dropout keeps a byte-wide mask per adapter, and its output is the adapter's own input.
        return kept + num_targets * width * (1 + matmul_bytes)
    if adapter_casts or tensor_bytes != matmul_bytes:
        return kept + num_targets * width * matmul_bytes
    return kept + (0 if saved else width * matmul_bytes)


def _norm(*, kind: NormKind, width: int, mode: TapeMode, wide: bool) -> int:
    """Bytes that a norm over `width` keeps, its output excluded.

    `rms` keeps an FP32 copy of its input and, to train its weight, the normalised tensor in the
    residual's dtype; `rms-fp32` keeps that in FP32; the native LayerNorm keeps its input as it
    came; `layer-fp32` is written out in FP32 with three intermediates.
    """
    input_bytes = FP32_BYTES if wide else mode.element_bytes
    if mode.kernel_norms and kind in ("rms", "rms-fp32"):
        return width * input_bytes
    if mode.fused_classes and kind == "rms":
        kind = "rms-fp32"
    if kind == "rms":
        return width * (FP32_BYTES + (input_bytes if mode.trains_base else 0))
    if kind == "rms-fp32":
        return width * (FP32_BYTES + (FP32_BYTES if mode.trains_base else 0))
    if kind == "layer":
        # Autocast runs the native LayerNorm in FP32, on a copy of its input.
        return width * (FP32_BYTES if mode.autocast else input_bytes)
    return width * FP32_BYTES * (3 if mode.trains_base else 2)


def attention_kernel(mixer: Attention, requested: AttentionKernel) -> AttentionKernel:
    """The implementation that runs: soft-capped scores and sinks have no SDPA kernel and fall to
    eager.
    """
    if requested == "sdpa" and (mixer.logit_softcap or mixer.sinks):
        return "eager"
    return requested


def _attention(mixer: Attention, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes per token, per pair, and backward extras of softmax attention."""
    query = mixer.num_attention_heads * mixer.head_dim
    key_value = mixer.num_key_value_heads * mixer.head_dim
    element = mode.element_bytes
    kernel = attention_kernel(mixer, mode.attention)
    if mode.fused_classes:
        return _fused_attention(mixer, mode)

    saved = 0
    if mixer.qk_norm != "none":
        normed = query + (0 if mixer.shares_key_value else key_value)
        saved += _norm(kind=mixer.qk_norm_kind, width=normed, mode=mode, wide=False)
    if mixer.value_norm:
        saved += key_value * FP32_BYTES
    # Rotated queries and keys, values, and the kernel's output, which is also the output
    # projection's input.
    repeated = kernel == "eager" or (kernel == "sdpa" and _needs_mask(mixer, mode))
    kept_key_value = query if repeated and key_value < query else key_value
    saved += element * (2 * query + 2 * kept_key_value)
    # Rotation by concatenation leaves another memory order, so the output projection reads a copy.
    copies_output = mixer.fused_qkv or mixer.rotary == "partial"
    if mixer.fused_qkv:
        # The whole projection stays because the values are a view of it; the separate values do
        # not.
        saved += element * (query + key_value)
    output_saved = not copies_output
    if mixer.output_gate != "none" and copies_output:
        # The gate multiplies the copy and keeps it.
        saved += element * query
    if mixer.output_gate == "full":
        saved += element * query
        output_saved = False
    elif mixer.output_gate == "head":
        saved += element * mixer.num_attention_heads
        output_saved = False
    saved += _inputs(width=query, modules=("o_proj",), mode=mode, wide=False, saved=output_saved)

    per_pair = 0
    backward_per_pair = 0
    if kernel == "eager":
        heads = mixer.num_attention_heads
        # FP32 softmax and its 16-bit copy (with sinks the softmax runs in 16 bit); tanh of a soft
        # cap.
        per_pair = heads * (2 if mixer.sinks else FP32_BYTES + 2)
        backward_per_pair = heads * EAGER_BACKWARD_PAIR_BYTES
        if mode.wide_outputs and not mode.autocast:
            # FP32 scores need no copy, and their gradient is FP32 as well.
            per_pair = heads * FP32_BYTES
            backward_per_pair = heads * 3 * FP32_BYTES
        if mixer.logit_softcap:
            per_pair += heads * 2
    else:
        saved += LOG_SUM_EXP_BYTES * mixer.num_attention_heads
        if kernel == "sdpa" and _needs_mask(mixer, mode):
            per_pair = 2
    backward = element * (query + 2 * key_value)
    return saved, per_pair, backward, backward_per_pair


def _fused_attention(mixer: Attention, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of LitGPT's attention, which has one projection for query, key and value.

    Rotated queries and keys for every query head, and the output. With as many key/value heads the
    values are a view that keeps the whole projection; with fewer they are repeated. The heads are
    put side by side by a copy, the output projection's input. An adapter on some of query, key and
    value is padded with zeros, and the padding keeps the adapter's output.
    Source: S-TRACKER over LitGPT's own classes; `litgpt/lora.py`, `LoRAQKVLinear.zero_pad`.
    """
    query = mixer.num_attention_heads * mixer.head_dim
    key_value = mixer.num_key_value_heads * mixer.head_dim
    element = mode.element_bytes
    saved = element * 3 * query
    saved += element * (query + 2 * key_value if key_value == query else query)
    if mixer.qk_norm != "none":
        saved += _norm(kind=mixer.qk_norm_kind, width=query + key_value, mode=mode, wide=False)
    saved += _inputs(width=query, modules=("o_proj",), mode=mode, wide=False, saved=False)
    widths = {"q_proj": query, "k_proj": key_value, "v_proj": key_value}
    adapted = [width for module, width in widths.items() if module in mode.targets]
    if "qkv_proj" in mode.targets:
        # LitGPT's default, queries and values, where a target list cannot tell the parts apart.
        adapted = [query, key_value]
    if len(adapted) < len(widths):
        saved += element * sum(adapted)
    backward = element * (query + 2 * key_value)
    heads = mixer.num_attention_heads
    if mixer.logit_softcap:
        backward_pair = heads * EAGER_BACKWARD_PAIR_BYTES
        return saved, heads * EAGER_SOFTCAP_PAIR_BYTES, backward, backward_pair
    return saved + LOG_SUM_EXP_BYTES * heads, 0, backward, 0


def _needs_mask(mixer: Attention, mode: TapeMode) -> bool:
    """SDPA has no window argument: a sliding layer materialises its mask once it cuts anything."""
    return mixer.sliding_window is not None and mode.sdpa_length >= mixer.sliding_window


def _latent_attention(mixer: LatentAttention, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of multi-head latent attention: queries, keys and values are rebuilt in full
    width.
    """
    heads = mixer.num_attention_heads
    element = mode.element_bytes
    head_dim = mixer.qk_nope_head_dim + mixer.qk_rope_head_dim
    # Equal query and value sizes can use the flash kernel, whose output is copied once; unequal
    # sizes cannot.
    output_copies = 2 if head_dim == mixer.v_head_dim else 1
    saved = element * (
        heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)
        + 2 * heads * head_dim
        + output_copies * heads * mixer.v_head_dim
    )
    latents = mixer.kv_lora_rank + (mixer.q_lora_rank or 0)
    saved += _norm(kind="rms", width=latents, mode=mode, wide=False)
    saved += _inputs(
        width=mixer.kv_lora_rank, modules=("kv_b_proj",), mode=mode, wide=False, saved=False
    )
    if mixer.q_lora_rank:
        saved += _inputs(
            width=mixer.q_lora_rank, modules=("q_b_proj",), mode=mode, wide=False, saved=False
        )
    saved += _inputs(
        width=heads * mixer.v_head_dim, modules=("o_proj",), mode=mode, wide=False, saved=True
    )
    per_pair = 0
    backward_per_pair = 0
    if mode.attention == "eager":
        per_pair = heads * (FP32_BYTES + 2)
        backward_per_pair = heads * EAGER_BACKWARD_PAIR_BYTES
    else:
        saved += LOG_SUM_EXP_BYTES * heads
    backward = element * heads * (2 * head_dim + mixer.v_head_dim)
    return saved, per_pair, backward, backward_per_pair


def _mamba2(mixer: Mamba2, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of a Mamba-2 mixer.

    With `flash` the fused scan kernel keeps the input projection, its convolved part and the
    output; the chunk states are recomputed. Without it the pure PyTorch scan keeps every
    intermediate, in FP32 where the scan runs in FP32 and in 16 bit where autocast runs its
    products. The gated norm keeps its FP32 input, the normalised tensor and its 16-bit output.
    """
    inner, heads, state = mixer.inner_size, mixer.num_heads, mixer.state_size
    conv_width = inner + 2 * mixer.num_groups * state
    projection = inner + conv_width + heads
    element = mode.element_bytes
    if mode.attention == "flash":
        saved = element * (projection + conv_width + 2 * inner) + FP32_BYTES * heads
    else:
        chunk = mixer.chunk_size
        product = element if mode.autocast else FP32_BYTES
        # Per channel: padded inputs, the cast and the sum of the stream, one product's result,
        # casts to 16 bit, and the gated norm (its input, the gate, and what its weight multiplies)
        # or the gate alone. Autocast pads one tensor less and casts three of them to 16 bit.
        stream = FP32_BYTES * (2 if mode.autocast else 3) + 2 * FP32_BYTES + product
        stream += element * (4 if mode.autocast else 1)
        if mixer.gated_norm:
            stream += FP32_BYTES * (4 if mode.trains_base else 3)
        else:
            stream += element
        saved = (
            stream * inner
            # B and C repeated for every head, and without autocast two FP32 products with them.
            + (3 * product + (0 if mode.autocast else 2 * FP32_BYTES)) * heads * state
            # The chunks' decays in FP32, their products twice.
            + (FP32_BYTES + 2 * product) * heads * chunk
            + 2 * product * heads * mixer.head_dim * state // chunk
            + 2 * projection
            + 2 * conv_width
            + 20 * heads
        )
    saved += _inputs(width=inner, modules=("out_proj",), mode=mode, wide=False, saved=True)
    return saved, 0, element * projection, 0


def _gated_delta_net(mixer: GatedDeltaNet, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of a gated delta rule mixer, fused kernel under `flash`, else PyTorch in FP32."""
    key = mixer.num_value_heads * mixer.key_head_dim
    value = mixer.num_value_heads * mixer.value_head_dim
    key_projection = mixer.num_key_heads * mixer.key_head_dim
    conv_width = 2 * key_projection + value
    chunk = DELTA_NET_CHUNK
    element = mode.element_bytes
    if mode.attention == "flash":
        # Projection, convolution, normalised queries and keys, values, the chunk matrix, output
        # and gate.
        saved = element * (2 * conv_width + 2 * key_projection + 4 * value) + element * (
            mixer.num_value_heads * chunk
        )
        saved += 2 * FP32_BYTES * mixer.num_value_heads
    else:
        saved = (
            32 * key
            + 26 * value
            + 4 * conv_width
            + 20 * mixer.num_value_heads * chunk
            + 4 * mixer.num_value_heads * mixer.key_head_dim * mixer.value_head_dim // chunk
        )
    saved += _inputs(width=value, modules=("out_proj",), mode=mode, wide=False, saved=True)
    return saved, 0, element * conv_width, 0


def _kimi_delta_attention(mixer: KimiDeltaAttention, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of a delta rule with one gate per channel: the gated delta rule's tensors, and
    the gate.

    Shape: queries, keys and values are equally wide, and the forget gate is as wide as the keys in
        FP32.
    """
    width = mixer.num_heads * mixer.head_dim
    saved, pair, backward, backward_pair = _gated_delta_net(
        GatedDeltaNet(
            num_key_heads=mixer.num_heads,
            num_value_heads=mixer.num_heads,
            key_head_dim=mixer.head_dim,
            value_head_dim=mixer.head_dim,
            conv_kernel=mixer.conv_kernel,
        ),
        mode,
    )
    return saved + FP32_BYTES * width, pair, backward, backward_pair


def _short_conv(hidden: int, mode: TapeMode) -> tuple[int, int, int, int]:
    """Saved bytes of a gated short convolution: projection 3 h, two products 2 h, convolution h."""
    saved = 6 * hidden * mode.element_bytes
    saved += _inputs(width=hidden, modules=("out_proj",), mode=mode, wide=False, saved=True)
    return saved, 0, 3 * hidden * mode.element_bytes, 0


FUSED_PARTS = ("qkv_proj", "q_proj", "k_proj", "v_proj")
MIXER_INPUTS: dict[type, tuple[str, ...]] = {
    Attention: ("q_proj", "k_proj", "v_proj"),
    LatentAttention: ("q_a_proj", "kv_a_proj_with_mqa", "q_proj"),
    Mamba2: ("in_proj",),
    GatedDeltaNet: ("in_proj_qkvz", "in_proj_ba"),
    KimiDeltaAttention: ("q_proj", "k_proj", "v_proj"),
    ShortConv: ("in_proj",),
}


def _mixer_inputs(mixer: Mixer, mode: TapeMode) -> tuple[str, ...]:
    """The linears that read the mixer's input."""
    if isinstance(mixer, Attention):
        if mode.fused_classes:
            adapted = (name for name in FUSED_PARTS if name in mode.targets)
            return (next(adapted, "qkv_proj"),)
        if mixer.fused_qkv:
            return ("qkv_proj",)
        if mixer.shares_key_value:
            return ("q_proj",)
        if mixer.value_is_key:
            return ("q_proj", "k_proj")
    if isinstance(mixer, GatedDeltaNet) and mixer.projections == "split":
        return ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
    if isinstance(mixer, LatentAttention):
        first = "q_a_proj" if mixer.q_lora_rank else "q_proj"
        return (first, "kv_a_proj_with_mqa")
    return MIXER_INPUTS[type(mixer)]


def _mixer(mixer: Mixer, hidden: int, mode: TapeMode) -> tuple[int, int, int, int]:
    if isinstance(mixer, Attention):
        return _attention(mixer, mode)
    if isinstance(mixer, LatentAttention):
        return _latent_attention(mixer, mode)
    if isinstance(mixer, Mamba2):
        return _mamba2(mixer, mode)
    if isinstance(mixer, GatedDeltaNet):
        return _gated_delta_net(mixer, mode)
    if isinstance(mixer, KimiDeltaAttention):
        return _kimi_delta_attention(mixer, mode)
    return _short_conv(hidden, mode)


def _output_width(mixer: Mixer) -> int:
    """Width of the tensor that an attention's output projection reads; 0 for other mixers."""
    if isinstance(mixer, Attention):
        return mixer.num_attention_heads * mixer.head_dim
    if isinstance(mixer, LatentAttention):
        return mixer.num_attention_heads * mixer.v_head_dim
    return 0


# Copies of the inner width that the activation function keeps besides the input of `down_proj`.
# `gelu-new` is a chain of pow, tanh and products; `xielu` of two branches. Source: S-TRACKER.
ACTIVATION_COPIES_HALVES = {
    "silu": 2,
    "gelu": 2,
    "gelu-new": 8,
    "relu2": 2,
    "xielu": 9,
    "clamped-swiglu": 8,
}
"""In halves of the inner width's element."""
XIELU_AUTOCAST_HALVES = 2
"""Autocast computes its powers in FP32."""


def _mlp(mlp: Mlp, mode: TapeMode, wide: bool, down: str = "down_proj") -> tuple[int, int]:
    """Saved bytes and backward temporaries of a dense feed-forward part.

    Gated: gate, activation of the gate, up, and the product that `down_proj` reads.
    """
    width = mlp.intermediate_size
    inner_bytes = FP32_BYTES if mode.wide_outputs and wide else mode.element_bytes
    inner_wide = inner_bytes == FP32_BYTES and mode.element_bytes < FP32_BYTES
    activation = mlp.activation
    if mode.fused_classes and activation == "gelu-new":
        # LitGPT calls the native kernel for the tanh form too.
        activation = "gelu"
    halves = ACTIVATION_COPIES_HALVES[activation]
    if activation == "xielu" and mode.autocast:
        halves += XIELU_AUTOCAST_HALVES
    copies = halves * width * inner_bytes // 2
    if mlp.gated:
        copies += 2 * width * inner_bytes
    saved = copies + _inputs(width=width, modules=(down,), mode=mode, wide=inner_wide, saved=False)
    return saved, _mlp_backward(width=width, inner_bytes=inner_bytes, mode=mode, down=down)


def _mlp_backward(*, width: int, inner_bytes: int, mode: TapeMode, down: str) -> int:
    """Temporaries at the worst instant of a feed-forward part's backward, beside everything saved.

    Differentiating the product needs its gradient and makes two more tensors of the inner width.
    The product itself, kept for a trained or adapted down projection, is free by then; otherwise
    nothing is. FP32 adapters hand their input's gradient back through FP32.
    Source: S-TRACKER, read from the live tensors at the peak.
    """
    if mode.trains_base:
        return 2 * width * inner_bytes
    if down not in mode.targets:
        return 3 * width * inner_bytes
    if mode.adapter_bytes < FP32_BYTES or inner_bytes == FP32_BYTES:
        return 2 * width * inner_bytes
    return 3 * width * inner_bytes + width * mode.element_bytes


def _mixture(moe: MixtureOfExperts, hidden: int, mode: TapeMode, wide: bool) -> tuple[int, int]:
    """Saved bytes and backward temporaries of routed experts, shared expert and router.

    Per routed copy of a token: the gathered input, gate and up, activation, product, and the
    output that the router's weight multiplies. Frozen experts keep neither the gathered input nor
    the product.
    """
    element = mode.element_bytes
    width = moe.moe_intermediate_size
    expert_input = moe.latent_size or hidden
    copies = 3 if moe.gated else 2
    if moe.activation == "clamped-swiglu":
        # Both halves clamped, the sigmoid, and one added to the linear half.
        copies += 3
    routed = expert_input + copies * width
    if mode.trains_base:
        routed += expert_input + width
    saved = element * moe.num_experts_per_token * routed
    saved += FP32_BYTES * moe.num_experts
    if moe.router_fp32 and mode.trains_base:
        saved += FP32_BYTES * hidden
    # Un-permuting the routed gradients holds two copies, in FP32 where the router's weights are
    # FP32.
    backward = (4 if moe.router_fp32 else 2) * moe.num_experts_per_token * expert_input * element
    if moe.shared_intermediate_size:
        shared, shared_backward = _mlp(
            Mlp(intermediate_size=moe.shared_intermediate_size, gated=moe.gated), mode, wide
        )
        saved += shared
        backward += shared_backward
    return saved, backward


def _mlp_inputs(mlp: Mlp) -> tuple[str, ...]:
    if not mlp.gated:
        return ("up_proj",)
    return ("gate_up_proj",) if mlp.fused_gate_up else ("gate_proj", "up_proj")


@cache
def block_tape(block: Block, hidden_size: int, norm_kind: NormKind, mode: TapeMode) -> Tape:
    """Everything one block saves for backward, and the extra at the worst instant of its backward.

    Shape: bytes per token, and bytes per token and key for score matrices.
    Counts: norms, projections' inputs, mixer, feed-forward part, adapters' inputs and low-rank
        outputs.
    Ignores: weights and their gradients; workspaces inside a kernel.

    Source: S-TRACKER.
    """
    wide = mode.residual_bytes == FP32_BYTES and mode.element_bytes < FP32_BYTES
    saved = per_pair = backward = backward_per_pair = 0
    num_norms = block.num_input_norms + block.num_output_norms
    if norm_kind == "layer" and block.parallel and not mode.autocast:
        # Both LayerNorms read the same residual tensor and keep it once.
        saved += hidden_size * mode.residual_bytes
    else:
        saved += num_norms * _norm(kind=norm_kind, width=hidden_size, mode=mode, wide=wide)
    input_groups: list[tuple[str, ...]] = []
    inner_widths = 0
    for mixer in block.mixers:
        mixer_saved, mixer_pair, mixer_backward, mixer_backward_pair = _mixer(
            mixer, hidden_size, mode
        )
        saved += mixer_saved
        per_pair += mixer_pair
        backward = max(backward, mixer_backward)
        backward_per_pair = max(backward_per_pair, mixer_backward_pair)
        input_groups.append(_mixer_inputs(mixer, mode))
        inner_widths += _output_width(mixer)
    if isinstance(block.feed_forward, Mlp):
        ffn_saved, ffn_backward = _mlp(block.feed_forward, mode, wide)
        input_groups.append(_mlp_inputs(block.feed_forward))
        inner_widths += block.feed_forward.intermediate_size
    elif isinstance(block.feed_forward, MixtureOfExperts):
        ffn_saved, ffn_backward = _mixture(block.feed_forward, hidden_size, mode, wide)
        shared = block.feed_forward.shared_intermediate_size
        input_groups.append(("gate", "gate_proj", "up_proj") if shared else ("gate",))
    else:
        ffn_saved = ffn_backward = 0
    saved += ffn_saved
    backward = max(backward, ffn_backward)
    if block.num_input_norms < len(input_groups):
        # One norm feeds every part of a parallel block.
        input_groups = [tuple(module for group in input_groups for module in group)]
    for modules in input_groups:
        saved += _inputs(width=hidden_size, modules=modules, mode=mode, wide=wide, saved=False)
    return Tape(
        saved=saved,
        saved_per_pair=per_pair,
        backward=backward,
        backward_per_pair=backward_per_pair,
        linear_inputs=mode.element_bytes * (hidden_size * len(input_groups) + inner_widths),
    )


def tail_bytes_per_token(model: Model, mode: TapeMode) -> int:
    """Bytes per token kept between the last block and the logits: the final norm and the head's
    input.

    Shape: per token.
    Counts: the head's input where the head is trained.
    Source: S-TRACKER.
    """
    wide = mode.residual_bytes == FP32_BYTES and mode.element_bytes < FP32_BYTES
    norm = 0
    if model.final_norm:
        norm = _norm(kind=model.norm_kind, width=model.hidden_size, mode=mode, wide=wide)
    return norm + (model.hidden_size * mode.element_bytes if mode.trains_base else 0)
