"""What a training step computes and moves, as its time needs it: shapes summed over a model's
blocks, adapters, and the bytes of the kernels between the matrix products.
"""

from dataclasses import dataclass
from functools import lru_cache

from generator.core import flops
from generator.core.model import (
    Attention,
    Block,
    GatedDeltaNet,
    LatentAttention,
    Mamba2,
    MixtureOfExperts,
    Mlp,
    Model,
)
from generator.core.params import block_tensors, lora_targets, num_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes that element-wise kernels read and write in a forward pass, per element, 16-bit
    streams.
    """

    rms_norm: float
    layer_norm: float
    rotary: float
    gate: float
    activation: float
    residual: float
    logit: float
    adapter_input: float
    adapter_dropout: float
    adapter_cast: float
    adapter_output: float


# One kernel per tensor operation, as Transformers and PEFT write them, in bytes read and written:
# RMS norm: to FP32 6, square 8, mean 4, times the root 8, to 16 bit 6, times the weight 4.
# Rotary: times cosine 4, rotate half 6, times sine 4, add 6. Gate: SiLU 4, product 6.
# Residual: add 6. Logit: to FP32 6, log-softmax 8, its backward 16, to 16 bit 6; a third of that,
# because a backward counts as two forwards.
# Adapters, two forwards and a backward over four: input read by A, gradients of A and of the input,
# that added to the base's, 3.5; dropout with its mask 5; copies of the input to FP32 and back, and
# of its gradient, 9; output of B, scaled and added, its gradient scaled, 8.
EAGER_TRAFFIC = Traffic(
    rms_norm=36,
    layer_norm=4,
    rotary=20,
    gate=10,
    activation=4,
    residual=6,
    logit=12,
    adapter_input=3.5,
    adapter_dropout=5,
    adapter_cast=9,
    adapter_output=8,
)
# One kernel each; the cross-entropy works in place on 16-bit logits; the adapter's products ride on
# the base's input and output.
FUSED_TRAFFIC = Traffic(
    rms_norm=4,
    layer_norm=4,
    rotary=4,
    gate=6,
    activation=4,
    residual=6,
    logit=3,
    adapter_input=2,
    adapter_dropout=1,
    adapter_cast=0,
    adapter_output=4,
)
RECURRENT_TRAFFIC = 30
"""Per element of a recurrent mixer's inner stream: convolution, gates, decay, gated norm."""
PERMUTATION_TRAFFIC = 12
"""Per routed copy of a token: gathered, scattered and added back, two bytes read and written
each."""
EAGER_SCORE_TRAFFIC = 34
"""Per score: product written 2, scaled 4, masked 6, softmax in FP32 14, to 16 bit 6, read 2."""
CAST_BYTES_PER_WEIGHT = 6
"""Autocast reads an FP32 weight and writes a 16-bit copy, once per forward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """Routed experts of equal blocks: how many, and the sides of one expert's matrices."""

    blocks: int
    num_experts: int
    num_experts_per_token: int
    weights: int
    sides: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What step time needs of a model, summed over its blocks."""

    work: flops.ForwardWork
    num_parameters: int
    num_blocks: int
    num_modules: int
    dense_weights: int
    dense_sides: int
    linear_matrices: int
    rms_elements: float
    layer_norm_elements: int
    rotary_elements: int
    gate_elements: int
    activation_elements: int
    residual_elements: int
    recurrent_elements: int
    permuted_elements: int
    experts: tuple[Experts, ...]
    eager_scores: bool


def _feed_forward_elements(block: Block) -> tuple[int, int]:
    """Gated and plain activation elements of a block's feed-forward part, per token."""
    feed_forward = block.feed_forward
    if feed_forward is None:
        return 0, 0
    if isinstance(feed_forward, Mlp):
        width, gated = feed_forward.intermediate_size, feed_forward.gated
    else:
        width = (
            feed_forward.moe_intermediate_size * feed_forward.num_experts_per_token
            + feed_forward.shared_intermediate_size
        )
        gated = feed_forward.gated
    return (width, 0) if gated else (0, width)


@lru_cache(maxsize=512)
def model_shape(model: Model) -> Shape:
    """What step time needs of a model.

    Shape: sums over all blocks; elements per token.
    Source: the tensors and mixers of `params` and `flops`.
    """
    hidden = model.hidden_size
    dense_weights = dense_sides = linear_matrices = num_modules = 0
    norms = rotary = gate = activation = residual = recurrent = permuted = 0
    qk_norms = 0.0
    eager = False
    experts: list[Experts] = []
    for group in model.block_groups:
        block, count = group.block, group.count
        expert_weights = expert_sides = 0
        moe = block.feed_forward if isinstance(block.feed_forward, MixtureOfExperts) else None
        for tensor in block_tensors(model, block):
            if tensor.kind in ("linear", "norm"):
                num_modules += tensor.count * count
            if not flops.is_multiplied(tensor):
                continue
            if tensor.kind == "expert" and moe is not None:
                expert_weights += tensor.num_parameters // moe.num_experts
                expert_sides += sum(tensor.shape[1:])
                continue
            dense_weights += tensor.num_parameters * count
            if tensor.kind != "conv":
                dense_sides += sum(tensor.shape) * tensor.count * count
            if tensor.kind == "linear":
                linear_matrices += tensor.count * count
        if moe is not None:
            experts.append(
                Experts(
                    blocks=count,
                    num_experts=moe.num_experts,
                    num_experts_per_token=moe.num_experts_per_token,
                    weights=expert_weights,
                    sides=expert_sides,
                )
            )
            permuted += count * moe.num_experts_per_token * (moe.latent_size or hidden)
        norms += count * (block.num_input_norms + block.num_output_norms) * hidden
        residual += count * 2 * hidden
        gated, plain = _feed_forward_elements(block)
        gate += count * gated
        activation += count * plain
        for mixer in block.mixers:
            if isinstance(mixer, Attention):
                heads = mixer.num_attention_heads + mixer.num_key_value_heads
                if mixer.rotary != "none":
                    rotary += count * heads * mixer.head_dim
                if mixer.qk_norm != "none":
                    qk_norms += count * heads * mixer.head_dim
                if mixer.output_gate != "none":
                    gate += count * mixer.num_attention_heads * mixer.head_dim
                eager = eager or mixer.logit_softcap or mixer.sinks
            elif isinstance(mixer, LatentAttention):
                rotary += count * (mixer.num_attention_heads + 1) * mixer.qk_rope_head_dim
                norms += count * (mixer.kv_lora_rank + (mixer.q_lora_rank or 0))
            elif isinstance(mixer, Mamba2):
                recurrent += count * 2 * mixer.inner_size
            elif isinstance(mixer, GatedDeltaNet):
                recurrent += count * 2 * mixer.num_value_heads * mixer.value_head_dim
            else:
                recurrent += count * hidden
    rms = model.norm_kind != "layer"
    return Shape(
        work=flops.forward_work(model),
        num_parameters=num_parameters(model),
        num_blocks=model.num_hidden_layers,
        num_modules=num_modules,
        dense_weights=dense_weights,
        dense_sides=dense_sides,
        linear_matrices=linear_matrices,
        rms_elements=(norms if rms else 0) + qk_norms,
        layer_norm_elements=0 if rms else norms,
        rotary_elements=rotary,
        gate_elements=gate,
        activation_elements=activation,
        residual_elements=residual,
        recurrent_elements=recurrent,
        permuted_elements=permuted,
        experts=tuple(experts),
        eager_scores=eager,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """Adapters of a run: how many, what they read and write per token, and their weights."""

    count: int
    input_elements: int
    output_elements: int
    weights: int


@lru_cache(maxsize=512)
def model_adapters(model: Model, rank: int, target_modules: str | tuple[str, ...]) -> Adapters:
    """All adapters of a model.

    Shape: A is rank x input, B output x rank, for each adapted matrix.
    Source: `params.lora_targets`.
    """
    targets = lora_targets(model, target_modules)
    inputs = sum(part.shape[1] * part.count for part in targets)
    outputs = sum(part.shape[0] * part.count for part in targets)
    return Adapters(
        count=sum(part.count for part in targets),
        input_elements=inputs,
        output_elements=outputs,
        weights=rank * (inputs + outputs),
    )


NO_ADAPTERS = Adapters(count=0, input_elements=0, output_elements=0, weights=0)
