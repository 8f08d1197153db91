"""Time of a training step from its physics.

Symbols: T tokens of a micro-batch, k micro-batches per step, L layers, N GPUs, V vocabulary.

A step is k micro-batches, the traffic that compute cannot hide, and the optimizer. A micro-batch is
the matrix products and attention at the rate of the card class, everything else by the bytes that
it moves through memory, and never less than the host needs to launch its kernels. The constants are
in `time_constants`, each with its origin. Not counted: data loading, evaluation, checkpoint saving,
restarts, offloading to host memory.
"""

from dataclasses import dataclass

from generator.core import flops
from generator.core import time_constants as constants
from generator.core.card import Card
from generator.core.communication import ring_bytes
from generator.core.dtypes import FP32_BYTES
from generator.core.errors import TrainfitError
from generator.core.model import Model
from generator.core.params import ALL_LINEAR
from generator.core.resident import weight_bytes_per_parameter
from generator.core.run import (
    AdapterDType,
    AttentionKernel,
    Checkpointing,
    Loss,
    MethodName,
    OptimizerImplementation,
    Precision,
    Strategy,
)
from generator.core.step_work import (
    CAST_BYTES_PER_WEIGHT,
    EAGER_SCORE_TRAFFIC,
    EAGER_TRAFFIC,
    FUSED_TRAFFIC,
    NO_ADAPTERS,
    PERMUTATION_TRAFFIC,
    RECURRENT_TRAFFIC,
    Adapters,
    Experts,
    Shape,
    Traffic,
    model_adapters,
    model_shape,
)
from generator.core.time_constants import CardRates, Software

ADAMW_STATE_BYTES = 8.0
"""Two FP32 moments."""
FP32_PEAK_SHARE = 0.5
"""TF32 on the matrix units runs at half the 16-bit rate."""
QUANTISED_BYTES_PER_WEIGHT = 0.516
"""NF4 with double quantisation: half a byte and its scales (S-QLORA section 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSeconds:
    """Seconds of one optimizer step on one GPU, by cause. `launch` is what the host adds beyond the
    device's own time; `communication` only what compute does not hide.
    """

    matmul: float
    attention: float
    elementwise: float
    adapters: float
    dequantisation: float
    experts: float
    launch: float
    communication: float
    optimizer: float

    @property
    def total(self) -> float:
        """The whole step."""
        return (
            self.matmul
            + self.attention
            + self.elementwise
            + self.adapters
            + self.dequantisation
            + self.experts
            + self.launch
            + self.communication
            + self.optimizer
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Step time with its parts, and the rates that follow from it."""

    seconds: StepSeconds
    step_seconds: float
    tokens_per_step: int
    """Of all GPUs together."""
    tokens_per_second_per_gpu: float
    low: float
    high: float
    """Band around `tokens_per_second_per_gpu`."""
    tokens_per_second: float
    """Of all GPUs together."""
    model_flops_per_token: float
    mfu: float
    hfu: float
    hidden_communication_seconds: float
    """Traffic that runs beside compute."""
    assumptions: tuple[str, ...]


def peak_flops_per_second(card: Card, precision: Precision) -> float:
    """Dense matrix peak of a card in the precision that its matrix products run in.

    Shape: FLOPs per second; FP32 as half the 16-bit peak.

    Args:
        card: The card.
        precision: The recipe; all but `fp32` multiply in 16 bit.

    Raises:
        TrainfitError: the card has no such peak (code `missing-fact`).

    Source: the card's own sources; `FP32_PEAK_SHARE` for TF32.
    """
    half = card.peak_dense_bf16_flops_per_second
    if precision == "fp16-mixed" or half is None:
        half = card.peak_dense_fp16_flops_per_second or half
    if half is None:
        raise TrainfitError(
            "missing-fact",
            "card",
            f"No dense 16-bit matrix peak is known for {card.name}; choose another card.",
        )
    return half * FP32_PEAK_SHARE if precision == "fp32" else float(half)


def _bandwidth(card: Card) -> float:
    if card.memory_bandwidth_bytes_per_second is None:
        raise TrainfitError(
            "missing-fact",
            "card",
            f"No memory bandwidth is known for {card.name}; choose another card.",
        )
    return card.memory_bandwidth_bytes_per_second * constants.BANDWIDTH_SHARE


def link_rate(card: Card, rates: CardRates, num_gpus: int) -> float:
    """Bytes per second that one GPU sends in a ring over `num_gpus` of a card.

    Shape: the link inside a node; beyond it, the slower of that and all network cards of a node
        together, because a ring leaves each node once and the rings spread over its cards.
    Ignores: topologies between nodes.

    Args:
        card: The card, with its link and its GPUs per node.
        rates: The class's network rate.
        num_gpus: GPUs in the ring.

    Raises:
        TrainfitError: the card's link is not known (code `missing-fact`).

    Source: S-MLENG, network chapter: 0.8 of NVLink in a node, 365 of 400 GB/s over four.
    """
    link = card.link_bytes_per_second
    if link is None:
        raise TrainfitError(
            "missing-fact",
            "card",
            f"No link rate is known for {card.name}; choose another card or one GPU.",
        )
    fast = link >= constants.FAST_LINK_BYTES_PER_SECOND
    inside = link * (constants.FAST_LINK_SHARE if fast else constants.PCIE_LINK_SHARE)
    if num_gpus <= card.gpus_per_node or card.form == "rack":
        return inside
    network = rates.network_bytes_per_second_per_gpu * card.gpus_per_node
    return min(inside, network * constants.NETWORK_SHARE)


def step_time(
    *,
    model: Model,
    card: Card,
    method: MethodName = "full",
    precision: Precision = "bf16-mixed",
    strategy: Strategy = "single",
    num_gpus: int = 1,
    sequence_length: int = 2048,
    micro_batch_size: int = 1,
    gradient_accumulation_steps: int = 8,
    activation_checkpointing: Checkpointing = "full",
    attention: AttentionKernel = "flash",
    loss: Loss = "standard",
    lora_rank: int = 16,
    target_modules: str | tuple[str, ...] = ALL_LINEAR,
    adapter_dtype: AdapterDType = "fp32",
    adapter_dropout: bool = False,
    trains_head: bool = False,
    optimizer_state_bytes_per_parameter: float = ADAMW_STATE_BYTES,
    optimizer_implementation: OptimizerImplementation = "fused",
    software: Software = constants.EAGER,
) -> StepTime:
    """Time of one optimizer step and the rates that follow from it.

    Shape: k micro-batches; each (device^p + host^p)^(1/p); then exposed traffic and the optimizer.
    Counts: matrix products at the class's rate plus the bytes of their operands; causal attention;
        norms, rotary, activations, residuals and cross-entropy by bytes; recompute of
        checkpointing; adapters; unpacking of 4-bit weights once per pass; experts with their partly
        filled tiles and permutation; launches; the optimizer's traffic. ZeRO-3: both gathers and
        the scatter of each micro-batch, against compute; DDP and ZeRO-1 once per step; ZeRO-2's
        scatter per micro-batch.
    Ignores: data loading, evaluation, saving, offloading, tensor and pipeline parallelism.

    Args:
        model: Shapes of the model.
        card: The card, with its peaks, bandwidth, link and GPUs per node.
        method: What is trained.
        precision: The recipe; matrix products run in 16 bit except under `fp32` (TF32).
        strategy: Data-parallel strategy.
        num_gpus: GPUs that share the batch.
        sequence_length: Tokens per packed sequence.
        micro_batch_size: Sequences per GPU and pass.
        gradient_accumulation_steps: Micro-batches per optimizer step.
        activation_checkpointing: What is computed a second time.
        attention: `flash` computes the causal half. `sdpa` is PyTorch's kernel with a mask, over
            the square. `eager` writes the scores out; soft caps and sinks force it, except in a
            vendor's kernel.
        loss: `fused` and `chunked` cross-entropy never write all logits in FP32.
        lora_rank: Adapter rank, for LoRA and QLoRA.
        target_modules: Adapted matrices.
        adapter_dtype: FP32 adapters cast their input.
        adapter_dropout: Dropout in front of each adapter.
        trains_head: The head is trained beside the adapters.
        optimizer_state_bytes_per_parameter: What the optimizer keeps and rewrites each step.
        optimizer_implementation: One kernel, or several passes over the states.
        software: Kernels of the stack (`time_constants.SOFTWARE_BY_STACK`).

    Raises:
        TrainfitError: the card lacks a fact (code `missing-fact`), or a count is below 1
            (`out-of-range`).

    Source: S-KAPLAN and S-PALM for the FLOPs, S-FLASH2 for attention, S-THROUGHPUT for the
        constants; checked by tests/core/test_step_time.py and tests/accuracy/test_throughput.py.
    """
    for field, value in (
        ("num_gpus", num_gpus),
        ("sequence_length", sequence_length),
        ("micro_batch_size", micro_batch_size),
        ("gradient_accumulation_steps", gradient_accumulation_steps),
    ):
        if value < 1:
            raise TrainfitError("out-of-range", field, f"{field} is {value}; use 1 or more.")
    shape = model_shape(model)
    name = constants.card_class(card)
    rates = constants.CARD_RATES[name]
    peak = peak_flops_per_second(card, precision)
    bandwidth = _bandwidth(card)
    matmul_rate = rates.matmul * peak
    full = method == "full"
    num_tokens = sequence_length * micro_batch_size
    steps = gradient_accumulation_steps
    recompute = flops.recompute_share(activation_checkpointing)
    forwards = 1 + recompute
    # Products per weight and pass: forward, its recompute, the input's gradient, the weight's
    # gradient.
    block_products = forwards + 1 + (1 if full else 0)
    head_products = 2 + (1 if full or trains_head else 0)
    elementwise_passes = forwards + constants.BACKWARD_ELEMENTWISE_FORWARDS
    traffic = FUSED_TRAFFIC if software.fused_blocks else EAGER_TRAFFIC
    adapters = NO_ADAPTERS if full else model_adapters(model, lora_rank, target_modules)

    matmul = _matmul_seconds(
        model=model,
        shape=shape,
        num_tokens=num_tokens,
        block_products=block_products,
        head_products=head_products,
        matmul_rate=matmul_rate,
        bandwidth=bandwidth,
    )
    if precision == "amp":
        weights = shape.dense_weights + shape.work.head_weights
        matmul += CAST_BYTES_PER_WEIGHT * weights * forwards / bandwidth
    expert_seconds = sum(
        _expert_seconds(
            experts=each,
            num_tokens=num_tokens,
            products=block_products,
            matmul_rate=matmul_rate,
            bandwidth=bandwidth,
        )
        for each in shape.experts
    )
    expert_seconds += (
        PERMUTATION_TRAFFIC * shape.permuted_elements * num_tokens * elementwise_passes / bandwidth
    )
    if shape.eager_scores and software.flash != "vendor":
        attention = "eager"
    attention_seconds = _attention_seconds(
        shape=shape,
        attention=attention,
        sequence_length=sequence_length,
        num_tokens=num_tokens,
        forwards=forwards,
        peak=peak,
        bandwidth=bandwidth,
        rates=rates,
        software=software,
    )
    elementwise = _elementwise_bytes(shape, traffic) * (2 if software.kbit_upcast else 1)
    elementwise_seconds = elementwise * num_tokens * elementwise_passes / bandwidth
    logit = FUSED_TRAFFIC.logit if loss != "standard" else traffic.logit
    elementwise_seconds += logit * 3 * model.vocab_size * num_tokens / bandwidth

    adapter_seconds = _adapter_seconds(
        adapters=adapters,
        num_tokens=num_tokens,
        forwards=forwards,
        elementwise_passes=elementwise_passes,
        adapter_dtype=adapter_dtype,
        adapter_dropout=adapter_dropout,
        matmul_rate=matmul_rate,
        bandwidth=bandwidth,
        software=software,
    )
    dequantisation = 0.0
    quantised_matrices = 0
    if method == "qlora":
        per_weight = (
            constants.FUSED_DEQUANTISATION_BYTES
            if software.fused_dequantisation
            else constants.UNFUSED_DEQUANTISATION_BYTES
        )
        dequantisation = shape.dense_weights * per_weight * (forwards + 1) / bandwidth
        quantised_matrices = shape.linear_matrices

    device = (
        matmul
        + expert_seconds
        + attention_seconds
        + elementwise_seconds
        + adapter_seconds
        + dequantisation
    )
    host = _host_seconds(
        shape=shape,
        adapters=adapters,
        quantised_matrices=quantised_matrices,
        passes=forwards + 2,
        software=software,
    )
    exponent = constants.OVERLAP_EXPONENT
    micro = (device**exponent + host**exponent) ** (1 / exponent)

    trained = shape.num_parameters if full else adapters.weights
    if trains_head and not full:
        trained += shape.work.head_weights
    exposed, hidden = _communication_seconds(
        shape=shape,
        adapters=adapters,
        card=card,
        rates=rates,
        software=software,
        method=method,
        strategy=strategy,
        num_gpus=num_gpus,
        num_trainable_parameters=trained,
        steps=steps,
        micro_seconds=micro,
    )
    optimizer = _optimizer_seconds(
        num_parameters=trained,
        state_bytes=optimizer_state_bytes_per_parameter,
        has_master=precision in ("bf16-mixed", "fp16-mixed") and full,
        weight_bytes=weight_bytes_per_parameter(precision) if full else FP32_BYTES,
        shards=num_gpus if strategy.startswith("zero") else 1,
        foreach=optimizer_implementation == "foreach",
        bandwidth=bandwidth,
    )
    seconds = StepSeconds(
        matmul=steps * matmul,
        attention=steps * attention_seconds,
        elementwise=steps * elementwise_seconds,
        adapters=steps * adapter_seconds,
        dequantisation=steps * dequantisation,
        experts=steps * expert_seconds,
        launch=steps * (micro - device),
        communication=exposed,
        optimizer=optimizer,
    )
    total = seconds.total
    per_gpu = num_tokens * steps / total
    counted = flops.training_flops(
        model=model,
        sequence_length=sequence_length,
        method=method,
        lora_rank=lora_rank,
        target_modules=target_modules,
        trains_head=trains_head,
        activation_checkpointing=activation_checkpointing,
    )
    pcie_sharded = (
        num_gpus > 1
        and strategy == "zero-3"
        and (card.link_bytes_per_second or 0) < constants.FAST_LINK_BYTES_PER_SECOND
    )
    wide = bool(shape.experts) or pcie_sharded or name in ("other", "instinct")
    return StepTime(
        seconds=seconds,
        step_seconds=total,
        tokens_per_step=num_tokens * steps * num_gpus,
        tokens_per_second_per_gpu=per_gpu,
        low=per_gpu * (constants.WIDE_LOW_SHARE if wide else constants.LOW_SHARE),
        high=per_gpu * (constants.WIDE_HIGH_SHARE if wide else constants.HIGH_SHARE),
        tokens_per_second=per_gpu * num_gpus,
        model_flops_per_token=counted.model_flops,
        mfu=per_gpu * counted.model_flops / peak,
        hfu=per_gpu * counted.hardware_flops / peak,
        hidden_communication_seconds=hidden,
        assumptions=_assumptions(
            strategy=strategy, num_gpus=num_gpus, wide=wide, precision=precision
        ),
    )


def _matmul_seconds(
    *,
    model: Model,
    shape: Shape,
    num_tokens: int,
    block_products: float,
    head_products: float,
    matmul_rate: float,
    bandwidth: float,
) -> float:
    """Seconds of all dense matrix products of a micro-batch.

    Arithmetic and the operands' bytes add up: that is what makes thin products (small models, few
    tokens) slow, and more so the faster the card.
    """
    head = shape.work.head_weights
    recurrent = shape.work.recurrent_flops / 2
    arithmetic = (
        2 * num_tokens * ((shape.dense_weights + recurrent) * block_products + head * head_products)
    )
    block_bytes = 2 * (shape.dense_sides * num_tokens + shape.dense_weights)
    head_bytes = 2 * ((model.hidden_size + model.vocab_size) * num_tokens + head)
    moved = block_bytes * block_products + head_bytes * head_products
    return arithmetic / matmul_rate + moved / bandwidth


def _expert_seconds(
    *,
    experts: Experts,
    num_tokens: int,
    products: float,
    matmul_rate: float,
    bandwidth: float,
) -> float:
    """Seconds of the routed experts' products of a micro-batch.

    Every expert's weights are read in each pass however few tokens it gets, and the last tile of
    each expert's rows is half empty.
    """
    rows = num_tokens * experts.num_experts_per_token
    busy = min(experts.num_experts, rows)
    padded = rows + busy * constants.EXPERT_TILE_ROWS
    arithmetic = 2 * experts.weights * padded
    moved = 2 * (experts.sides * rows + experts.weights * busy)
    grouped_rate = matmul_rate * constants.GROUPED_MATMUL_SHARE
    return experts.blocks * products * (arithmetic / grouped_rate + moved / bandwidth)


def _attention_seconds(
    *,
    shape: Shape,
    attention: AttentionKernel,
    sequence_length: int,
    num_tokens: int,
    forwards: float,
    peak: float,
    bandwidth: float,
    rates: CardRates,
    software: Software,
) -> float:
    """Seconds of all attention scores of a micro-batch, their products and what is written out."""
    products = flops.score_flops_per_token(
        shape.work,
        sequence_length=sequence_length,
        attention="causal" if attention == "flash" else "full",
    )
    if attention == "eager":
        scores = sum(each.count * each.num_attention_heads for each in shape.work.scores)
        moved = EAGER_SCORE_TRAFFIC * scores * sequence_length
        passes = forwards + constants.BACKWARD_ELEMENTWISE_FORWARDS
        per_token = products * (forwards + 2) / (rates.matmul * peak) + moved * passes / bandwidth
        return per_token * num_tokens
    if attention == "sdpa":
        share = rates.masked_attention
    elif software.flash == "vendor":
        share = rates.vendor_flash
    else:
        share = rates.flash_1 if software.flash == "flash-1" else rates.flash_2
    passes = forwards + constants.FLASH_BACKWARD_FORWARDS
    return products * num_tokens * passes / (share * peak)


def _adapter_seconds(
    *,
    adapters: Adapters,
    num_tokens: int,
    forwards: float,
    elementwise_passes: float,
    adapter_dtype: AdapterDType,
    adapter_dropout: bool,
    matmul_rate: float,
    bandwidth: float,
    software: Software,
) -> float:
    """Seconds of all adapters of a micro-batch: their streams, and their thin products."""
    if not adapters.count:
        return 0.0
    habits = FUSED_TRAFFIC if software.fused_adapters else EAGER_TRAFFIC
    cast = habits.adapter_cast if adapter_dtype == "fp32" else 0.0
    dropped = habits.adapter_dropout if adapter_dropout else 0.0
    per_token = (
        habits.adapter_input + cast + dropped
    ) * adapters.input_elements + habits.adapter_output * adapters.output_elements
    if software.kbit_upcast:
        per_token *= constants.KBIT_UPCAST_ADAPTER_PASSES
    moved = per_token * num_tokens * elementwise_passes
    arithmetic = 2 * adapters.weights * (forwards + 2) * num_tokens
    return moved / bandwidth + arithmetic / (matmul_rate * constants.THIN_PRODUCT_SHARE)


def _host_seconds(
    *,
    shape: Shape,
    adapters: Adapters,
    quantised_matrices: int,
    passes: float,
    software: Software,
) -> float:
    """Seconds in which the host launches the kernels of a micro-batch."""
    looped = (
        sum(each.blocks * each.num_experts for each in shape.experts) if software.expert_loop else 0
    )
    per_pass = (
        constants.HOST_SECONDS_PER_BLOCK_PASS * shape.num_blocks
        + constants.HOST_SECONDS_PER_ADAPTER_PASS * adapters.count
        + constants.HOST_SECONDS_PER_DEQUANTISATION_PASS * quantised_matrices
        + constants.HOST_SECONDS_PER_EXPERT_PASS * looped
    )
    return software.host_share * passes * per_pass


def _elementwise_bytes(shape: Shape, traffic: Traffic) -> float:
    """Bytes per token of the blocks' element-wise kernels in one forward pass."""
    return (
        traffic.rms_norm * shape.rms_elements
        + traffic.layer_norm * shape.layer_norm_elements
        + traffic.rotary * shape.rotary_elements
        + traffic.gate * shape.gate_elements
        + traffic.activation * shape.activation_elements
        + traffic.residual * shape.residual_elements
        + RECURRENT_TRAFFIC * shape.recurrent_elements
    )


def _communication_seconds(
    *,
    shape: Shape,
    adapters: Adapters,
    card: Card,
    rates: CardRates,
    software: Software,
    method: MethodName,
    strategy: Strategy,
    num_gpus: int,
    num_trainable_parameters: int,
    steps: int,
    micro_seconds: float,
) -> tuple[float, float]:
    """Exposed and hidden seconds of a step's collectives."""
    if num_gpus == 1 or strategy == "single":
        return 0.0, 0.0
    rate = link_rate(card, rates, num_gpus)
    gradient = ring_bytes(2 * num_trainable_parameters, num_gpus) / rate
    if strategy in ("ddp", "zero-1", "zero-2"):
        # Reduced during the last backward (two thirds of a pass); ZeRO-2 in every backward. The
        # updated weights come back after the optimizer, with nothing to hide behind, except under
        # DDP.
        reduced = gradient * (2 if strategy == "ddp" else 1)
        times = steps if strategy == "zero-2" else 1
        exposed, hidden = _overlap(reduced, micro_seconds * 2 / 3)
        gathered = 0.0 if strategy == "ddp" else gradient
        return times * exposed + gathered, times * hidden
    weights = 2 * shape.num_parameters
    if method == "qlora":
        quantised = shape.dense_weights
        weights = round(
            QUANTISED_BYTES_PER_WEIGHT * quantised + 2 * (shape.num_parameters - quantised)
        )
    traffic = 2 * ring_bytes(weights, num_gpus) / rate + gradient
    exposed, hidden = _overlap(traffic, micro_seconds)
    # FSDP wraps each trained adapter matrix apart from its frozen block; three collectives each.
    units, latency = shape.num_blocks, constants.SHARD_LATENCY_SECONDS
    if software.gathers_per_module:
        units, latency = shape.num_modules, constants.MODULE_LATENCY_SECONDS
    exposed += 3 * (units + 2 * adapters.count) * latency
    exposed += constants.SHARDED_SLOWDOWN * micro_seconds
    return steps * exposed, steps * hidden


def _overlap(traffic: float, compute: float) -> tuple[float, float]:
    hideable = min(traffic, compute)
    hidden = hideable * (1 - constants.EXPOSED_SHARE)
    return traffic - hidden, hidden


def _optimizer_seconds(
    *,
    num_parameters: int,
    state_bytes: float,
    has_master: bool,
    weight_bytes: int,
    shards: int,
    foreach: bool,
    bandwidth: float,
) -> float:
    """Seconds of the update: states and master read and written, gradients read and cleared,
    weights.
    """
    per_parameter = 2 * state_bytes + (8 if has_master else weight_bytes) + 2 + 2 + weight_bytes
    passes = constants.FOREACH_OPTIMIZER_PASSES if foreach else 1.0
    return num_parameters * per_parameter * passes / shards / bandwidth


def _assumptions(
    *, strategy: Strategy, num_gpus: int, wide: bool, precision: Precision
) -> tuple[str, ...]:
    notes = [
        "Training steps only: no data loading, evaluation, saving or restarts.",
        "Packed sequences without padding.",
    ]
    if num_gpus > 1 and strategy == "zero-3":
        notes.append(
            "ZeRO-3: both gathers and the scatter of every micro-batch are counted against the "
            "link; what compute hides is left out."
        )
    if precision == "fp32":
        notes.append("FP32 matrix products run as TF32.")
    if wide:
        notes.append("Few published rows for this kind of set-up: the band is wide.")
    return tuple(notes)
