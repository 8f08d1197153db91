"""What a model is: a stack of blocks, each a token mixer and a feed-forward part.

The records describe shapes only; `params` counts them, `activations` says what they keep for
backward. Names are those of Hugging Face configs (`hidden_size`, `num_key_value_heads`, ...).
"""

from dataclasses import dataclass, field
from typing import Literal

NormKind = Literal["rms", "rms-fp32", "layer", "layer-fp32"]
"""`rms`: Llama-style, weight applied in 16 bit. `rms-fp32`: weight applied in FP32 (Gemma, OLMo 2).
`layer`: the native LayerNorm kernel. `layer-fp32`: LayerNorm written out in FP32 (Cohere)."""

QkNorm = Literal["none", "head", "full"]
"""`head`: one norm vector of `head_dim` shared by all heads. `full`: over the whole projection."""

Activation = Literal["silu", "gelu", "gelu-new", "relu2", "xielu", "clamped-swiglu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Softmax attention with grouped key/value heads (MHA, GQA and MQA are its cases)."""

    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    fused_qkv: bool = False
    qk_norm: QkNorm = "none"
    qk_norm_kind: NormKind = "rms"
    qk_norm_weight: bool = True
    """False where the norm has no weight (Llama 4)."""
    value_norm: bool = False
    """A norm without weight on the values (Gemma 4)."""
    rotary: Literal["full", "partial", "none"] = "full"
    sliding_window: int | None = None
    logit_softcap: bool = False
    """Scores go through tanh, which forces the eager implementation."""
    sinks: bool = False
    """A learned extra logit per head, which forces the eager implementation in Transformers."""
    output_gate: Literal["none", "full", "head"] = "none"
    """A sigmoid gate on the output: as wide as the query projection, or one value per head."""
    gate_module: str = ""
    """Name of the gate's own projection; empty where the query projection holds it (Qwen3-Next)."""
    shares_key_value: bool = False
    """The layer reads the keys and values of an earlier layer and has no projections for them."""
    value_is_key: bool = False
    """One projection serves as key and value."""
    q_lora_rank: int | None = None
    """Queries come through a narrow pair of projections (DeepSeek-V4)."""
    output_groups: int = 0
    """The output goes through a narrow pair too: a matrix per group of heads, then a joint one."""
    output_lora_rank: int = 0
    """Width of the output's narrow part for each group."""
    cross_attention: bool = False
    """Reads an image encoder's states; skipped for batches without images (Llama 3.2 Vision)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434)."""

    num_attention_heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """State-space mixer (arXiv:2405.21060) with `num_heads` heads of `head_dim`."""

    num_heads: int
    head_dim: int
    state_size: int
    num_groups: int
    conv_kernel: int
    chunk_size: int
    conv_bias: bool = True
    projection_bias: bool = False
    gated_norm: bool = True

    @property
    def inner_size(self) -> int:
        """Width of the mixer's inner stream."""
        return self.num_heads * self.head_dim


DELTA_NET_CHUNK = 64
"""Chunk length of the gated delta rule's kernels (flash-linear-attention, arXiv:2406.06484)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet:
    """Linear attention with a gated delta rule (arXiv:2412.06464), as in Qwen3-Next."""

    num_key_heads: int
    num_value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int
    projections: Literal["fused", "split", "separate"] = "fused"
    """Input projections: two (Qwen3-Next), four (Qwen3.5) or six (OLMo Hybrid)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDeltaAttention:
    """Linear attention with a gate per channel of the state (arXiv:2510.26692)."""

    num_heads: int
    head_dim: int
    conv_kernel: int
    low_rank_gates: bool = True
    """Forget and output gates come through `head_dim` channels; else through one matrix each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConv:
    """Gated short convolution (LFM2)."""

    conv_kernel: int
    bias: bool = False


Mixer = Attention | LatentAttention | Mamba2 | GatedDeltaNet | KimiDeltaAttention | ShortConv


@dataclass(frozen=True, slots=True, kw_only=True)
class Mlp:
    """Dense feed-forward part: `down(act(gate(x)) * up(x))` when gated, else `down(act(up(x)))`."""

    intermediate_size: int
    gated: bool = True
    activation: Activation = "silu"
    bias: bool = False
    fused_gate_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOfExperts:
    """Routed experts of width `moe_intermediate_size`, with an optional shared expert."""

    num_experts: int
    num_experts_per_token: int
    moe_intermediate_size: int
    shared_intermediate_size: int = 0
    shared_expert_gate: bool = False
    shared_fused_gate_up: bool = False
    shared_linear: bool = True
    """False where the shared experts are bare 3-D parameters too (Inkling)."""
    gated: bool = True
    activation: Activation = "silu"
    expert_bias: bool = False
    router_bias: bool = False
    router_fp32: bool = False
    """The router's input is cast to FP32."""
    router_linear: bool = False
    """The router is an `nn.Linear`, so that LoRA on all linear layers and bitsandbytes reach it."""
    latent_size: int | None = None
    """Width in which the experts work, where it differs from `hidden_size`."""


FeedForward = Mlp | MixtureOfExperts


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """`count` identical weight tensors of one shape.

    `module` is the leaf module's name as target lists spell it (`q_proj`, `embed_tokens`).
    """

    module: str
    shape: tuple[int, ...]
    kind: Literal["embedding", "head", "linear", "expert", "bias", "norm", "conv", "other"]
    """`linear`: the matrix of an `nn.Linear` as (out, in), which LoRA and bitsandbytes reach.
    `expert`: a fused 3-D tensor of all routed experts, which neither reaches by default."""
    count: int = 1
    part: Literal["block", "root", "tower"] = "block"
    """`root`: embedding, head, final norm. `tower`: vision and audio encoders and projectors."""

    @property
    def size(self) -> int:
        """Elements of one of the tensors."""
        elements = 1
        for side in self.shape:
            elements *= side
        return elements

    @property
    def num_parameters(self) -> int:
        """Elements of all `count` tensors."""
        return self.size * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One decoder layer; `mixers` holds two where attention and state space run side by side."""

    mixers: tuple[Mixer, ...]
    feed_forward: FeedForward | None
    num_input_norms: int = 2
    """Norms whose output feeds a projection."""
    num_output_norms: int = 0
    """Norms whose output is only added to the residual stream (Gemma, GLM-4, OLMo-2)."""
    parallel: bool = False
    """Attention and feed-forward part read the same input (GPT-NeoX, Cohere, phi-2)."""
    extra_tensors: tuple[Tensor, ...] = ()
    """Weights that none of the records above describe: counted, but without activations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGroup:
    """`count` equal blocks in a row."""

    count: int
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A checkpoint family member, as a fine-tune loads it.

    Models compare and hash by identity: every cached quantity is looked up by model, and hashing a
    hundred nested blocks would cost more than the quantity.
    """

    name: str
    hidden_size: int
    vocab_size: int
    tie_word_embeddings: bool
    block_groups: tuple[BlockGroup, ...]
    norm_kind: NormKind = "rms"
    norm_bias: bool = False
    final_norm: bool = True
    num_residual_streams: int = 1
    """Copies of the residual stream between blocks (hyper-connections, arXiv:2409.19606)."""
    final_logit_softcap: bool = False
    upcasts_logits: bool = True
    """False where the class of its time computed cross-entropy in the dtype of the logits."""
    head_bias: bool = False
    extra_tensors: tuple[Tensor, ...] = ()
    """Everything else outside the blocks: position and per-layer embeddings, towers, projectors."""
    context_length: int | None = None
    model_type: str = ""
    """The architecture by its Hugging Face name; empty where the shape comes from a bare count."""
    module_names: tuple[tuple[str, str], ...] = ()
    """Where this architecture's module names differ from the usual ones: (usual, own)."""
    notes: tuple[str, ...] = field(default=())
    """What an importer could not represent exactly, in words."""

    @property
    def num_hidden_layers(self) -> int:
        """Decoder layers."""
        return sum(group.count for group in self.block_groups)
