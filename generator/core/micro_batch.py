"""What belongs to the micro-batch: activations, logits and loss, per instant of a step.

None of it is sharded by data parallelism: every GPU holds it for its own micro-batch.
T tokens, h hidden size, V vocabulary.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from generator.core import loss, params
from generator.core.activations import (
    LOG_SUM_EXP_BYTES,
    TapeMode,
    block_tape,
    tail_bytes_per_token,
)
from generator.core.dtypes import FP32_BYTES, HALF_BYTES
from generator.core.model import Attention, Block, MixtureOfExperts, Mlp, Model
from generator.core.run import Lora, MethodName, Precision, Workload
from generator.core.stack import Stack

# `embedding_dense_backward` sorts the tokens above this many and keeps workspaces of about 4.4 h
# bytes per token, in tenths of a byte. Source: S-TRACKER, read from aten/native/cuda/Embedding.cu.
EMBEDDING_SORT_MIN_TOKENS = 3072
EMBEDDING_SORT_TENTHS_PER_ELEMENT = 44
LAST_UNSHARD_INPUTS = 5
"""Tensors as wide as a block's input that are alive when the last block is gathered again:
the final norm's and the head's. Source: S-TRACKER."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Bytes of one micro-batch at each instant of a step.

    `forward_end`: all blocks' saved tensors, the final norm, logits and the loss being computed.
    `loss_backward`: the same while the loss is differentiated. `head`: the gradient of the logits
    while the head's own gradient is made. `backward_start`: the last block's backward.
    `backward_end`: the first block's. `last_unshard`: the last block is being gathered for its
    backward. `block_end`: the first block's gradients are complete.
    `embedding`: the embedding's backward.
    """

    forward_end: int
    loss_backward: int
    head: int
    backward_start: int
    backward_end: int
    last_unshard: int
    block_end: int
    embedding: int
    block_inputs: int
    """The inputs of all blocks together, which are also the size of their gradients."""
    head_forward: int = 0
    """All but the loss, with what the loop holds of the micro-batch before; 0 where it holds
    nothing."""
    head_backward: int = 0
    """All that is kept, while the first chunk's logits reach the head; 0 where no chunk is kept."""
    unpacked_block: int = 0
    """The largest quantised matrix of a block while it is unpacked."""
    unpacked_head: int = 0
    """The head's, where it is quantised."""


def _autocasts(method: MethodName, precision: Precision, stack: Stack) -> bool:
    """FP32 weights or adapters run under 16-bit autocast unless all is 16 bit or all FP32."""
    if method == "full":
        return precision == "amp"
    return stack.autocasts and precision not in ("bf16-pure", "fp32")


def tape_mode(
    *,
    model: Model,
    method: MethodName,
    lora: Lora,
    precision: Precision,
    workload: Workload,
    stack: Stack,
    is_sharded: bool,
) -> TapeMode:
    """Dtypes and trained parts that decide what backward keeps, for one set-up.

    Shape: one record for all blocks of the model.
    Source: S-AUTOCAST for the casts, S-PEFT for FP32 adapters, S-KBIT for the FP32 residual stream.
    """
    trains_base = method == "full"
    element_bytes = FP32_BYTES if precision == "fp32" else HALF_BYTES
    targets: frozenset[str] = frozenset()
    residual_bytes = element_bytes
    upcasts = method == "qlora" and stack.kbit_upcast and not is_sharded
    if trains_base:
        if precision == "amp" and not is_sharded:
            # FSDP's mixed precision gathers 16-bit weights, so the blocks run in 16 bit throughout.
            residual_bytes = FP32_BYTES
    else:
        targets = params.usual_module_names(model, lora.target_modules)
        if upcasts:
            residual_bytes = FP32_BYTES
    autocast = _autocasts(method, precision, stack)
    # Under autocast PEFT's 4-bit adapters leave the cast to it, and FSDP2 gathers adapters in
    # 16 bit; both read their input as it is.
    casts_adapters = autocast and (method == "qlora" or (is_sharded and stack.fsdp_generation == 2))
    keeps_fp32_adapters = lora.adapter_dtype == "fp32" and not casts_adapters
    return TapeMode(
        trains_base=trains_base,
        targets=targets,
        lora_rank=0 if trains_base else lora.rank,
        lora_dropout=lora.dropout and not trains_base,
        adapter_bytes=FP32_BYTES if keeps_fp32_adapters else HALF_BYTES,
        autocast=autocast,
        element_bytes=element_bytes,
        residual_bytes=residual_bytes,
        wide_outputs=upcasts,
        kernel_norms=stack.kernel_norms,
        fused_classes=stack.model_classes == "litgpt",
        keeps_inputs=method == "qlora" and stack.keeps_quantised_inputs,
        attention=workload.attention,
        sdpa_length=workload.sequence_length if workload.attention == "sdpa" else 0,
    )


def _selective_bytes_per_token(block: Block, model: Model, mode: TapeMode) -> int:
    """Bytes per token that op-level selective checkpointing keeps of one block.

    Counts: the block's input, the attention kernel's output and log-sum-exp, and every second
        matrix product in the order of the forward pass: query, value, gate and down projection.
    Source: S-TORCHTITAN (activation checkpointing `selective`, policy `op`).
    """
    element = mode.element_bytes
    kept = model.hidden_size * mode.residual_bytes
    for mixer in block.mixers:
        if isinstance(mixer, Attention):
            query = mixer.num_attention_heads * mixer.head_dim
            kept += element * (2 * query + mixer.num_key_value_heads * mixer.head_dim)
            kept += LOG_SUM_EXP_BYTES * mixer.num_attention_heads
        else:
            kept += element * 2 * model.hidden_size
    feed_forward = block.feed_forward
    if isinstance(feed_forward, Mlp):
        kept += element * (feed_forward.intermediate_size + model.hidden_size)
    elif isinstance(feed_forward, MixtureOfExperts):
        routed = feed_forward.moe_intermediate_size + model.hidden_size
        kept += element * (
            feed_forward.num_experts_per_token * routed + feed_forward.shared_intermediate_size
        )
    return kept


@lru_cache(maxsize=512)
def _largest_linear(model: Model) -> int:
    """Elements of the largest matrix of a linear layer in a block."""
    return max((tensor.size for tensor in params.linear_tensors(model)), default=0)


def _has_adapter(model: Model, block: Block, lora: Lora) -> bool:
    """Whether the block has a matrix that the adapter configuration names."""
    targets = {tensor.module for tensor in params.lora_targets(model, lora.target_modules)}
    return any(
        tensor.kind == "linear" and tensor.module in targets
        for tensor in params.block_tensors(model, block)
    )


def _is_skipped(block: Block) -> bool:
    """A block of cross-attention does nothing in a batch without images."""
    return any(isinstance(mixer, Attention) and mixer.cross_attention for mixer in block.mixers)


@lru_cache(maxsize=8192)
def micro_batch(
    *,
    model: Model,
    method: MethodName,
    lora: Lora,
    precision: Precision,
    workload: Workload,
    stack: Stack,
    is_sharded: bool = False,
) -> MicroBatch:
    """Activations, logits and loss of one micro-batch at each instant.

    Shape: bytes on one GPU.
    Counts: per block its saved tensors, or with full checkpointing its input, and during backward
        one block's recomputed tensors and temporaries; the final norm; logits and cross-entropy.
    Ignores: weight gradients (`memory`), kernel workspaces except the embedding's sort.
    Source: S-TRACKER.
    """
    mode = tape_mode(
        model=model,
        method=method,
        lora=lora,
        precision=precision,
        workload=workload,
        stack=stack,
        is_sharded=is_sharded,
    )
    tokens = workload.num_tokens
    sequence = workload.sequence_length
    # Hyper-connections carry several copies of the residual stream from block to block.
    residual_width = model.hidden_size * model.num_residual_streams
    block_input = tokens * residual_width * mode.residual_bytes
    stored = worst_block = first_stored = previous_inputs = 0
    seen: dict[int, tuple[int, int]] = {}
    inputs: dict[int, int] = {}
    backward: dict[int, int] = {}
    temporaries = 0
    # Without checkpoints, blocks before the first adapter need no backward and keep nothing.
    adapted = method == "full" or workload.activation_checkpointing != "none"
    for group in model.block_groups:
        adapted = adapted or _has_adapter(model, group.block, lora)
        if not adapted:
            continue
        key = id(group.block)
        if key not in seen:
            tape = block_tape(group.block, model.hidden_size, model.norm_kind, mode)
            inputs[key] = tape.linear_inputs
            backward[key] = tape.backward
            saved = tape.saved_bytes(num_tokens=tokens, sequence_length=sequence)
            recompute = tape.recompute_bytes(num_tokens=tokens, sequence_length=sequence)
            if mode.kernel_norms and workload.activation_checkpointing == "full":
                # The first norm's input is the checkpoint itself.
                recompute -= block_input
            if _is_skipped(group.block):
                seen[key] = (0, 0)
            elif workload.activation_checkpointing == "none":
                seen[key] = (saved, recompute - saved)
            elif workload.activation_checkpointing == "full":
                seen[key] = (block_input, recompute)
            else:
                kept = min(saved, tokens * _selective_bytes_per_token(group.block, model, mode))
                seen[key] = (kept, recompute - kept)
        kept, transient = seen[key]
        stored += group.count * kept
        if mode.keeps_inputs and workload.activation_checkpointing == "none":
            previous_inputs += group.count * tokens * inputs[key]
        first_stored = first_stored or kept
        if transient > worst_block:
            worst_block = transient
            temporaries = tokens * backward[key]
    tail = tokens * tail_bytes_per_token(model, mode)
    loss_bytes = loss.loss_bytes(
        num_tokens=tokens,
        micro_batch_size=workload.micro_batch_size,
        vocab_size=model.vocab_size,
        hidden_size=model.hidden_size,
        loss=workload.loss,
        stack=stack,
        softcap=model.final_logit_softcap,
        upcasts=model.upcasts_logits,
        autocast=mode.autocast,
        logit_bytes=FP32_BYTES if mode.wide_outputs and not mode.autocast else mode.element_bytes,
    )
    logit_gradient = 0
    if workload.loss == "standard":
        logit_gradient = mode.element_bytes * tokens * model.vocab_size
    sort = 0
    if method == "full" and tokens > EMBEDDING_SORT_MIN_TOKENS:
        sort = tokens * model.hidden_size * EMBEDDING_SORT_TENTHS_PER_ELEMENT // 10
    head_forward = head_backward = 0
    if loss_bytes.head:
        head_backward = stored + tail + loss_bytes.forward
    if loss_bytes.held:
        # The loop's variables still hold the logits before, and with them the graph that made them.
        stored_before = stored + tail + loss_bytes.held + previous_inputs
        head_forward = stored_before + loss_bytes.head
        loss_bytes = replace(
            loss_bytes,
            forward=max(loss_bytes.forward, loss_bytes.returned + stored_before - stored - tail),
        )
    unpacked_block = unpacked_head = 0
    if method == "qlora" and not stack.is_generic:
        # A matrix is unpacked while its own product is differentiated, before or after the instant
        # at which the activation function's temporaries are alive.
        unpacked_block = stack.dequantised_bytes * _largest_linear(model)
        unpacked_block = max(0, unpacked_block - temporaries // 2)
        if stack.quantises_head:
            unpacked_head = stack.dequantised_bytes * model.vocab_size * model.hidden_size
    return MicroBatch(
        head_forward=head_forward,
        head_backward=head_backward,
        unpacked_block=unpacked_block,
        unpacked_head=unpacked_head,
        forward_end=stored + tail + loss_bytes.forward,
        loss_backward=stored + tail + loss_bytes.backward,
        head=stored + tail + logit_gradient + block_input,
        backward_start=stored + block_input + worst_block,
        backward_end=first_stored + block_input + worst_block,
        last_unshard=stored + LAST_UNSHARD_INPUTS * block_input,
        block_end=first_stored + block_input,
        embedding=block_input + sort,
        block_inputs=block_input * model.num_hidden_layers,
    )
