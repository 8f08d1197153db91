"""What stays resident through a step: weights, master, gradients, optimizer states, before
sharding.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from generator.core import params, states
from generator.core.dtypes import DTYPES, FP32_BYTES, HALF_BYTES
from generator.core.model import Model, Tensor
from generator.core.optimizer import Optimizer
from generator.core.run import Lora, MethodName, Precision
from generator.core.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Unsharded bytes of everything that outlives a micro-batch, and the counts behind them.

    `frozen_weights` and `trained_weights` add up to the weights. `largest_gradient` is that of the
    largest trained tensor, `head_gradient` and `embedding_gradient` those of the two tables where
    trained.
    """

    frozen_weights: int
    trained_weights: int
    master_weights: int
    gradients: int
    optimizer_states: int
    foreach_temporaries: int
    largest_tensor_temporaries: int
    """FP32 copies of the largest trained tensor that some optimizers hold at the step."""
    num_parameters: int
    num_trainable_parameters: int
    head_gradient: int
    embedding_gradient: int
    block_gradients: int
    """Gradients of one average block."""
    gathered_block: int
    """The largest block's weights as they are gathered: in 16 bit, or quantised."""
    gathered_root: int
    """Weights outside the blocks as they are gathered."""

    @property
    def weights(self) -> int:
        """All weights, frozen and trained."""
        return self.frozen_weights + self.trained_weights


def weight_bytes_per_parameter(precision: Precision) -> int:
    """Bytes of one trained weight: 4 where the weights themselves are FP32, else 2.

    Shape: per parameter.
    Source: S-MIXED.
    """
    return FP32_BYTES if precision in ("amp", "fp32") else HALF_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """What FSDP gathers at once: the largest block, and the root unit (embedding, head, norm,
    towers).
    """

    block: tuple[Tensor, ...]
    root: tuple[Tensor, ...]


@lru_cache(maxsize=512)
def stack_tensors(model: Model, unties_head: bool) -> tuple[Tensor, ...]:
    """The model's tensors as the tool's classes hold them: with a head apart where they untie it.

    Shape: as `params.tensors`.
    Source: `litgpt/model.py`, whose `lm_head` is a matrix of its own for every model.
    """
    tensors = params.tensors(model)
    if not (unties_head and model.tie_word_embeddings):
        return tensors
    head = Tensor(
        module="lm_head", shape=(model.vocab_size, model.hidden_size), kind="head", part="root"
    )
    return (*tensors, head)


@lru_cache(maxsize=512)
def _units(model: Model) -> Units:
    """The units of per-block wrapping.

    Source: S-FSDP section 3.2.1.
    """
    largest: tuple[Tensor, ...] = ()
    for block in {id(group.block): group.block for group in model.block_groups}.values():
        own = tuple(params.block_tensors(model, block))
        if sum(part.num_parameters for part in own) > sum(part.num_parameters for part in largest):
            largest = own
    return Units(
        block=largest,
        root=tuple(tensor for tensor in params.tensors(model) if tensor.part != "block"),
    )


def _adapter_tensors(model: Model, lora: Lora) -> tuple[Tensor, ...]:
    """A and B of every adapted matrix."""
    return tuple(
        Tensor(module=target.module, shape=(lora.rank, side), kind="linear", count=target.count)
        for target in params.lora_targets(model, lora.target_modules)
        for side in reversed(target.shape)
    )


def _copied_tensors(model: Model, lora: Lora) -> tuple[Tensor, ...]:
    """Embedding and head where they are trained beside the adapters, as full copies in the base's
    dtype.

    Source: S-PEFT, `modules_to_save`: the original stays, and only adapters are cast to FP32.
    """
    return tuple(
        tensor
        for tensor in params.tensors(model)
        if (tensor.kind == "embedding" and lora.train_embeddings)
        or (tensor.kind == "head" and lora.train_head)
    )


def _quantised_bytes(tensors: Iterable[Tensor], lora: Lora, stack: Stack) -> int:
    """Bytes of a quantised base: linears in its dtype, the rest in 16 bit, or FP32 after k-bit
    preparation.

    Shape: each matrix is rounded up to whole blocks by itself.
    Ignores: the quantisation code book (64 bytes per module).
    Source: S-QLORA section 3; bitsandbytes `Linear4bit`, which replaces every `nn.Linear` but the
        head.
    """
    base = DTYPES[lora.base_dtype]
    total = 0
    for tensor in tensors:
        quantised = (
            tensor.kind == "linear"
            or (tensor.kind == "expert" and stack.quantises_experts)
            or (tensor.kind == "head" and stack.quantises_head)
        )
        if quantised:
            total += base.bytes_for(tensor.size) * tensor.count
        else:
            total += (FP32_BYTES if stack.kbit_upcast else HALF_BYTES) * tensor.num_parameters
    return total


@lru_cache(maxsize=4096)
def resident(
    *,
    model: Model,
    method: MethodName,
    lora: Lora,
    precision: Precision,
    optimizer: Optimizer,
    stack: Stack,
) -> Resident:
    """Weights, master weights, gradients and optimizer states of one replica, before any sharding.

    Shape: whole model; bytes.
    Counts: a master only where 16-bit weights are trained under a mixed recipe; LoRA's adapters
        carry their own states and the base carries none.
    Ignores: buffers of the model (rotary tables), a few megabytes at most. Named stacks count
        no gradient and no state of a tower, which batches of text do not train; the generic
        stack does.
    Source: S-ZERO section 3.1 (16 bytes per parameter), S-LORA section 4.2, S-QLORA section 3.
    """
    frozen_weights = 0
    base = stack_tensors(model, stack.model_classes == "litgpt")
    num_parameters = params.num_parameters(model)
    if len(base) > len(params.tensors(model)):
        num_parameters += model.vocab_size * model.hidden_size
    mixed = precision in ("bf16-mixed", "fp16-mixed")
    if method == "full":
        weight_bytes = weight_bytes_per_parameter(precision)
        trained = base
        if not stack.is_generic and stack.zero_engine != "deepspeed":
            # A batch of text gives a tower no gradient, and PyTorch's optimizers skip it.
            trained = tuple(tensor for tensor in base if tensor.part != "tower")
            towers = (tensor.num_parameters for tensor in base if tensor.part == "tower")
            frozen_weights = weight_bytes * sum(towers)
        groups = [(trained, weight_bytes, mixed)]
    else:
        base_bytes = FP32_BYTES if precision == "fp32" else HALF_BYTES
        frozen_weights = base_bytes * num_parameters
        if method == "qlora":
            frozen_weights = _quantised_bytes(base, lora, stack)
        adapter_bytes = FP32_BYTES if lora.adapter_dtype == "fp32" else HALF_BYTES
        has_master = mixed and stack.masters_16bit_adapters
        groups = [
            (
                _adapter_tensors(model, lora),
                adapter_bytes,
                has_master and adapter_bytes == HALF_BYTES,
            ),
            (_copied_tensors(model, lora), base_bytes, has_master and base_bytes == HALF_BYTES),
        ]
    trained_weights = master = gradients = optimizer_bytes = foreach = trainable = largest = 0
    head = embedding = in_blocks = 0
    for tensors, own_bytes, keeps_master in groups:
        count = sum(tensor.num_parameters for tensor in tensors)
        gradient_bytes = FP32_BYTES if stack.gradient_dtype == "fp32" else own_bytes
        pure = own_bytes == HALF_BYTES and not keeps_master
        trainable += count
        trained_weights += own_bytes * count
        master += FP32_BYTES * count if keeps_master else 0
        gradients += gradient_bytes * count
        optimizer_bytes += states.optimizer_state_bytes(
            optimizer,
            tensors,
            pure_16bit=pure,
            embeddings_in_fp32=stack.embeddings_keep_fp32_states,
        )
        largest = max(largest, *(tensor.size for tensor in tensors), 0)
        if optimizer.foreach_temporaries:
            state_bytes = HALF_BYTES if pure and optimizer.follows_parameter_dtype else FP32_BYTES
            foreach += state_bytes * count
        # Position and per-layer embeddings are tables of their own, never tied to the head.
        table = (model.vocab_size, model.hidden_size)
        for tensor in tensors:
            size = gradient_bytes * tensor.num_parameters
            if tensor.part == "block" and tensor.kind not in ("head", "embedding"):
                in_blocks += size
            elif tensor.kind == "head":
                head += size
            elif tensor.kind == "embedding" and tensor.shape == table:
                embedding += size
    unit = _units(model)
    if method == "qlora":
        gathered_block = _quantised_bytes(unit.block, lora, stack)
        gathered_root = _quantised_bytes(unit.root, lora, stack)
    else:
        compute_bytes = FP32_BYTES if precision == "fp32" else HALF_BYTES
        gathered_block = compute_bytes * sum(tensor.num_parameters for tensor in unit.block)
        gathered_root = compute_bytes * sum(tensor.num_parameters for tensor in unit.root)
    return Resident(
        frozen_weights=frozen_weights,
        trained_weights=trained_weights,
        master_weights=master,
        gradients=0 if optimizer.in_backward else gradients,
        optimizer_states=optimizer_bytes,
        foreach_temporaries=foreach,
        largest_tensor_temporaries=optimizer.largest_tensor_temporaries * FP32_BYTES * largest,
        num_parameters=num_parameters,
        num_trainable_parameters=trainable,
        head_gradient=head,
        embedding_gradient=embedding,
        block_gradients=in_blocks // max(1, model.num_hidden_layers),
        gathered_block=gathered_block,
        gathered_root=gathered_root,
    )
