"""Model and hardware FLOPs per token of a training step, by part and by pass.

Symbols: L layers, H hidden, V vocabulary, A query heads, D head size, S sequence length, w window,
k routed experts per token, R rank of a LoRA adapter, C chunk length of a recurrent mixer.

One multiply-add is two FLOPs. Matrix products, convolutions, attention scores and the chunked
products of recurrent mixers count; element-wise work (norms, activations, rotary, softmax) does
not, as in every published MFU: `step_time` charges it by bytes. The input embedding is a look-up
and counts nothing; the output head counts, tied or not.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from generator.core.model import (
    DELTA_NET_CHUNK,
    Attention,
    Block,
    GatedDeltaNet,
    LatentAttention,
    Mamba2,
    Mixer,
    MixtureOfExperts,
    Model,
    Tensor,
)
from generator.core.params import ALL_LINEAR, block_tensors, num_lora_parameters
from generator.core.run import Checkpointing, MethodName

AttentionCount = Literal["full", "causal"]
"""`full`: every token sees all S tokens, as PaLM's MFU counts. `causal`: only those before it,
which is what a flash kernel computes."""

FLOPS_PER_WEIGHT = 2
"""A forward pass multiplies each weight with one activation and adds it up."""
SELECTIVE_RECOMPUTE_SHARE = 0.5
"""`selective` recomputes every second block, or half of the matrix products of each (torchtitan's
two ways, fms-fsdp's default): half of what `full` recomputes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWork:
    """Softmax attention of `count` layers: widths over all query heads, and the window if there is
    one.
    """

    count: int
    num_attention_heads: int
    query_key_size: int
    value_size: int
    window: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardWork:
    """What one token is multiplied with in a forward pass; sequence length apart.

    `block_weights` holds the active weights of the decoder blocks' matrices and convolutions; of
    routed experts k.
    """

    block_weights: int
    head_weights: int
    recurrent_flops: int
    scores: tuple[ScoreWork, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFlops:
    """FLOPs per token of one pass, by part."""

    blocks: float
    attention: float
    head: float
    adapters: float = 0.0

    @property
    def total(self) -> float:
        """All parts together."""
        return self.blocks + self.attention + self.head + self.adapters


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlops:
    """FLOPs per token of a training step: what the model needs, and what is computed a second
    time.
    """

    forward: PassFlops
    backward: PassFlops
    recompute: PassFlops

    @property
    def model_flops(self) -> float:
        """Forward and backward: the numerator of MFU."""
        return self.forward.total + self.backward.total

    @property
    def hardware_flops(self) -> float:
        """With the recomputed forward of activation checkpointing: the numerator of HFU."""
        return self.model_flops + self.recompute.total


def attended_tokens(
    *, sequence_length: int, window: int | None = None, attention: AttentionCount = "causal"
) -> float:
    """Mean number of tokens that a token attends to.

    Shape: one number; S full, (S + 1) / 2 causal, at most w under a sliding window.
    Counts: the token itself.

    Args:
        window: Sliding window in tokens; None for attention over the whole sequence.

    Source: S-PALM appendix B for the full count; S-FLASH2 section 4.1 for the causal half.
    """
    reach = sequence_length if window is None else min(window, sequence_length)
    if attention == "full":
        return float(reach)
    # The first `reach` tokens see 1, 2, ..., reach tokens, all later ones `reach`.
    ramp = reach * (reach + 1) / 2
    return (ramp + (sequence_length - reach) * reach) / sequence_length


def is_multiplied(tensor: Tensor) -> bool:
    """Whether a token is multiplied with this tensor of a block (a matrix, a convolution, an
    expert).
    """
    if tensor.kind in ("linear", "conv"):
        return len(tensor.shape) > 1
    if tensor.kind == "expert":
        return len(tensor.shape) == 3
    return tensor.kind == "other" and len(tensor.shape) == 2


def active_weights(tensor: Tensor, block: Block) -> int:
    """Weights of one block's tensor that one token meets: all, or k of E experts."""
    moe = block.feed_forward
    if tensor.kind == "expert" and isinstance(moe, MixtureOfExperts):
        return tensor.num_parameters // moe.num_experts * moe.num_experts_per_token
    return tensor.num_parameters


def _score_work(mixer: Mixer, count: int) -> ScoreWork | None:
    if isinstance(mixer, Attention):
        size = mixer.num_attention_heads * mixer.head_dim
        return ScoreWork(
            count=count,
            num_attention_heads=mixer.num_attention_heads,
            query_key_size=size,
            value_size=size,
            window=mixer.sliding_window,
        )
    if isinstance(mixer, LatentAttention):
        heads = mixer.num_attention_heads
        return ScoreWork(
            count=count,
            num_attention_heads=heads,
            query_key_size=heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim),
            value_size=heads * mixer.v_head_dim,
            window=None,
        )
    return None


def recurrent_flops_per_token(mixer: Mixer) -> int:
    """Forward FLOPs per token of a recurrent mixer's chunked scan, beside its projections.

    Shape: per token, independent of S.
    Counts: Mamba-2: scores inside a chunk (causal half of C x C, per group), their product with the
        values, states built and read. Gated delta rule: the same, with the triangular solve's two
        products on keys and values.
    Ignores: decay factors, gates and the short convolution (a weight tensor, counted with the
        weights).

    Source: arXiv:2405.21060 section 6 (state-space duality), arXiv:2406.06484 section 3 (delta
        rule).
    """
    if isinstance(mixer, Mamba2):
        half_chunk = mixer.chunk_size // 2
        inner = mixer.inner_size
        scores = 2 * half_chunk * mixer.num_groups * mixer.state_size
        values = 2 * half_chunk * inner
        states = 2 * 2 * inner * mixer.state_size
        return scores + values + states
    if isinstance(mixer, GatedDeltaNet):
        key, value = mixer.key_head_dim, mixer.value_head_dim
        half_chunk = DELTA_NET_CHUNK // 2
        # Inside a chunk: key-key and query-key scores, the solve applied to keys and values, and
        # the scores' product with the values. Across chunks: the state read twice and written once.
        inside = 2 * half_chunk * (2 * key + (key + value) + value)
        across = 3 * 2 * key * value
        return mixer.num_value_heads * (inside + across)
    return 0


@lru_cache(maxsize=512)
def forward_work(model: Model) -> ForwardWork:
    """Everything that one token is multiplied with in a forward pass of the text model.

    Shape: weights, and widths of the attention scores.
    Counts: matrices and convolutions of the blocks, routed experts k of E, root projections, the
        head.
    Ignores: embeddings, norms, biases; vision and audio towers, whose tokens are not text.

    Source: S-KAPLAN section 2.1 for the weights, S-PALM appendix B for the scores.
    """
    block_weights = 0
    recurrent = 0
    scores: list[ScoreWork] = []
    for group in model.block_groups:
        block = group.block
        for tensor in block_tensors(model, block):
            if is_multiplied(tensor):
                block_weights += active_weights(tensor, block) * group.count
        for mixer in block.mixers:
            recurrent += recurrent_flops_per_token(mixer) * group.count
            work = _score_work(mixer, group.count)
            if work is not None:
                scores.append(work)
    for tensor in model.extra_tensors:
        if tensor.part == "root" and tensor.kind == "linear":
            block_weights += tensor.num_parameters
    return ForwardWork(
        block_weights=block_weights,
        head_weights=model.hidden_size * model.vocab_size,
        recurrent_flops=recurrent,
        scores=tuple(scores),
    )


def score_flops_per_token(
    work: ForwardWork, *, sequence_length: int, attention: AttentionCount = "causal"
) -> float:
    """Forward FLOPs per token of all attention scores: query-key and score-value products.

    Shape: 2 * (A D + A D_v) * attended tokens, summed over the layers.
    Counts: grouped key/value heads as their query heads (grouping saves memory, not products).

    Source: S-PALM appendix B; checked by tests/core/test_flops.py::test_palm_mfu_term.
    """
    flops = 0.0
    for layer in work.scores:
        tokens = attended_tokens(
            sequence_length=sequence_length, window=layer.window, attention=attention
        )
        flops += layer.count * 2 * (layer.query_key_size + layer.value_size) * tokens
    return flops


def forward_flops(
    *, model: Model, sequence_length: int, attention: AttentionCount = "full"
) -> PassFlops:
    """FLOPs per token of a forward pass without adapters.

    Shape: 2 N_active for the weights (input embedding left out), 4 A D S per attention layer.

    Source: S-KAPLAN section 2.1; checked by tests/core/test_flops.py.
    """
    work = forward_work(model)
    return PassFlops(
        blocks=float(FLOPS_PER_WEIGHT * work.block_weights + work.recurrent_flops),
        attention=score_flops_per_token(work, sequence_length=sequence_length, attention=attention),
        head=float(FLOPS_PER_WEIGHT * work.head_weights),
    )


@lru_cache(maxsize=512)
def _adapter_flops(model: Model, rank: int, target_modules: str | tuple[str, ...]) -> float:
    """FLOPs per token of the adapters' forward pass."""
    return float(FLOPS_PER_WEIGHT * num_lora_parameters(model, rank, target_modules))


@lru_cache(maxsize=512)
def training_flops(
    *,
    model: Model,
    sequence_length: int,
    method: MethodName = "full",
    lora_rank: int = 16,
    target_modules: str | tuple[str, ...] = ALL_LINEAR,
    trains_head: bool = False,
    activation_checkpointing: Checkpointing = "none",
    attention: AttentionCount = "full",
) -> TrainingFlops:
    """FLOPs per token of a training step, forward, backward and recomputed.

    Shape: full 6 N + 12 L A D S; a frozen base 4 N + 12 L A D S + 6 per adapter weight; `full`
    checkpointing adds one more forward of the blocks.
    Counts: backward of a trained matrix as two products (input and weight gradient), of a frozen
        one as one (input gradient); attention's backward as twice its forward. A QLoRA base
        computes in 16 bit, so it counts as LoRA's; its dequantisation is time, not FLOPs.
    Ignores: the scores that a flash kernel computes again in its backward (half a forward of
        attention), which no published HFU counts; `step_time` charges them to the kernel's rate.

    Args:
        trains_head: The head is trained beside the adapters (PEFT's `modules_to_save`).

    Source: S-KAPLAN section 2.1, S-PALM appendix B, arXiv:2205.05198 for recomputation; checked by
        tests/core/test_flops.py.
    """
    forward = forward_flops(model=model, sequence_length=sequence_length, attention=attention)
    is_full = method == "full"
    adapters = 0.0
    if not is_full:
        adapters = _adapter_flops(model, lora_rank, target_modules)
    forward = PassFlops(
        blocks=forward.blocks, attention=forward.attention, head=forward.head, adapters=adapters
    )
    backward = PassFlops(
        blocks=(2 if is_full else 1) * forward.blocks,
        attention=2 * forward.attention,
        head=(2 if is_full or trains_head else 1) * forward.head,
        adapters=2 * adapters,
    )
    share = recompute_share(activation_checkpointing)
    recompute = PassFlops(
        blocks=share * forward.blocks,
        attention=share * forward.attention,
        head=0.0,
        adapters=share * adapters,
    )
    return TrainingFlops(forward=forward, backward=backward, recompute=recompute)


def recompute_share(activation_checkpointing: Checkpointing) -> float:
    """Part of the blocks' forward pass that is computed a second time.

    Shape: 0 none, 1/2 selective, 1 full.
    Source: arXiv:1604.06174 for `full`; `SELECTIVE_RECOMPUTE_SHARE` for `selective`.
    """
    if activation_checkpointing == "full":
        return 1.0
    return SELECTIVE_RECOMPUTE_SHARE if activation_checkpointing == "selective" else 0.0
