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
from generator.core.resident import weight_bytes_per_parameter
from generator.core.run import Precision
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
from generator.core.time_constants import CardClass, CardRates
from generator.core.timed_run import TimedRun

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


# The two records below are never changed, yet not frozen: frozen ones take three times as long to
# make, and each step of each card in a list makes them.
@dataclass(slots=True, kw_only=True)
class _Work:
    """What the parts of a step's time share: the run's shapes and passes, and its card's rates."""

    run: TimedRun
    shape: Shape
    adapters: Adapters
    card_class: CardClass
    rates: CardRates
    peak: float
    matmul_rate: float
    """FLOPs per second of matrix products."""
    bandwidth: float
    num_tokens: int
    forwards: float
    """Passes through the blocks from their input to their output, recomputed ones included."""

    @property
    def block_products(self) -> float:
        """Products per weight of the blocks: forward, its recompute, the input's gradient, the
        weight's gradient.
        """
        return self.forwards + 1 + (1 if self.run.method == "full" else 0)

    @property
    def elementwise_passes(self) -> float:
        """Passes of the element-wise kernels, counted in forwards."""
        return self.forwards + constants.BACKWARD_ELEMENTWISE_FORWARDS

    @property
    def num_trainable_parameters(self) -> int:
        """What is reduced and updated in each step."""
        if self.run.method == "full":
            return self.shape.num_parameters
        head = self.shape.work.head_weights if self.run.trains_head else 0
        return self.adapters.weights + head


@dataclass(slots=True, kw_only=True)
class _MicroBatch:
    """Seconds of one micro-batch on one GPU, by cause."""

    matmul: float
    attention: float
    elementwise: float
    adapters: float
    dequantisation: float
    experts: float
    device: float
    """All of these."""
    total: float
    """With what the host adds."""


def step_time(run: TimedRun) -> StepTime:
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
        run: The set-up and its card.

    Raises:
        TrainfitError: the card lacks a fact (code `missing-fact`).

    Source: S-KAPLAN and S-PALM for the FLOPs, S-FLASH2 for attention, S-THROUGHPUT for the
        constants; checked by tests/core/test_step_time.py and tests/accuracy/test_throughput.py.
    """
    work = _work(run)
    micro = _micro_batch(work)
    exposed, hidden = _communication_seconds(work, micro.total)
    steps = run.gradient_accumulation_steps
    seconds = StepSeconds(
        matmul=steps * micro.matmul,
        attention=steps * micro.attention,
        elementwise=steps * micro.elementwise,
        adapters=steps * micro.adapters,
        dequantisation=steps * micro.dequantisation,
        experts=steps * micro.experts,
        launch=steps * (micro.total - micro.device),
        communication=exposed,
        optimizer=_optimizer_seconds(work),
    )
    return _step_of(work, seconds, hidden)


def _work(run: TimedRun) -> _Work:
    shape = model_shape(run.model)
    card_class = constants.card_class(run.card)
    rates = constants.CARD_RATES[card_class]
    peak = peak_flops_per_second(run.card, run.precision)
    bandwidth = _bandwidth(run.card)
    adapters = NO_ADAPTERS
    if run.method != "full":
        adapters = model_adapters(run.model, run.lora_rank, run.target_modules)
    return _Work(
        run=run,
        shape=shape,
        adapters=adapters,
        card_class=card_class,
        rates=rates,
        peak=peak,
        matmul_rate=rates.matmul * peak,
        bandwidth=bandwidth,
        num_tokens=run.sequence_length * run.micro_batch_size,
        forwards=1 + flops.recompute_share(run.activation_checkpointing),
    )


def _micro_batch(work: _Work) -> _MicroBatch:
    """Seconds of a micro-batch: the device's, or nearly the host's where those are more."""
    matmul = _matmul_seconds(work)
    experts = _routed_seconds(work)
    attention = _attention_seconds(work)
    elementwise = _elementwise_seconds(work)
    adapters = _adapter_seconds(work)
    dequantisation = _dequantisation_seconds(work)
    device = matmul + experts + attention + elementwise + adapters + dequantisation
    host = _host_seconds(work)
    exponent = constants.OVERLAP_EXPONENT
    return _MicroBatch(
        matmul=matmul,
        attention=attention,
        elementwise=elementwise,
        adapters=adapters,
        dequantisation=dequantisation,
        experts=experts,
        device=device,
        total=(device**exponent + host**exponent) ** (1 / exponent),
    )


def _step_of(work: _Work, seconds: StepSeconds, hidden: float) -> StepTime:
    """The step with tokens per second, their band, and the shares of the card's peak.

    Args:
        work: What the parts share.
        seconds: Of the step.
        hidden: Seconds of traffic that run beside compute.
    """
    run = work.run
    total = seconds.total
    tokens = work.num_tokens * run.gradient_accumulation_steps
    per_gpu = tokens / total
    counted = flops.training_flops(
        model=run.model,
        sequence_length=run.sequence_length,
        method=run.method,
        lora_rank=run.lora_rank,
        target_modules=run.target_modules,
        trains_head=run.trains_head,
        activation_checkpointing=run.activation_checkpointing,
    )
    model_flops = counted.model_flops
    wide = _is_wide(work)
    return StepTime(
        seconds=seconds,
        step_seconds=total,
        tokens_per_step=tokens * run.num_gpus,
        tokens_per_second_per_gpu=per_gpu,
        low=per_gpu * (constants.WIDE_LOW_SHARE if wide else constants.LOW_SHARE),
        high=per_gpu * (constants.WIDE_HIGH_SHARE if wide else constants.HIGH_SHARE),
        tokens_per_second=per_gpu * run.num_gpus,
        model_flops_per_token=model_flops,
        mfu=per_gpu * model_flops / work.peak,
        hfu=per_gpu * counted.hardware_flops / work.peak,
        hidden_communication_seconds=hidden,
        assumptions=_assumptions(run, wide=wide),
    )


def _is_wide(work: _Work) -> bool:
    """Whether few published rows are of this kind, and the band is wide for it."""
    run = work.run
    pcie_sharded = (
        run.num_gpus > 1
        and run.strategy == "zero-3"
        and (run.card.link_bytes_per_second or 0) < constants.FAST_LINK_BYTES_PER_SECOND
    )
    return bool(work.shape.experts) or pcie_sharded or work.card_class in ("other", "instinct")


def _matmul_seconds(work: _Work) -> float:
    """Seconds of all dense matrix products of a micro-batch.

    Arithmetic and the operands' bytes add up: that is what makes thin products (small models, few
    tokens) slow, and more so the faster the card.
    """
    run, shape, num_tokens = work.run, work.shape, work.num_tokens
    block_products = work.block_products
    # The head has no recompute.
    head_products = 2 + (1 if run.method == "full" or run.trains_head else 0)
    head = shape.work.head_weights
    recurrent = shape.work.recurrent_flops / 2
    arithmetic = (
        2 * num_tokens * ((shape.dense_weights + recurrent) * block_products + head * head_products)
    )
    block_bytes = 2 * (shape.dense_sides * num_tokens + shape.dense_weights)
    head_bytes = 2 * ((run.model.hidden_size + run.model.vocab_size) * num_tokens + head)
    moved = block_bytes * block_products + head_bytes * head_products
    seconds = arithmetic / work.matmul_rate + moved / work.bandwidth
    if run.precision == "amp":
        weights = shape.dense_weights + head
        seconds += CAST_BYTES_PER_WEIGHT * weights * work.forwards / work.bandwidth
    return seconds


def _routed_seconds(work: _Work) -> float:
    """Seconds of all routed experts of a micro-batch, with the tokens' way to them and back."""
    permuted = PERMUTATION_TRAFFIC * work.shape.permuted_elements * work.num_tokens
    return (
        sum(_expert_seconds(work, experts) for experts in work.shape.experts)
        + permuted * work.elementwise_passes / work.bandwidth
    )


def _expert_seconds(work: _Work, experts: Experts) -> float:
    """Seconds of the products of equal blocks' routed experts in a micro-batch.

    Every expert's weights are read in each pass however few tokens it gets, and the last tile of
    each expert's rows is half empty.
    """
    rows = work.num_tokens * experts.num_experts_per_token
    busy = min(experts.num_experts, rows)
    padded = rows + busy * constants.EXPERT_TILE_ROWS
    arithmetic = 2 * experts.weights * padded
    moved = 2 * (experts.sides * rows + experts.weights * busy)
    grouped_rate = work.matmul_rate * constants.GROUPED_MATMUL_SHARE
    per_product = arithmetic / grouped_rate + moved / work.bandwidth
    return experts.blocks * work.block_products * per_product


def _attention_seconds(work: _Work) -> float:
    """Seconds of all attention scores of a micro-batch, their products and what is written out."""
    run, shape, rates, flash = work.run, work.shape, work.rates, work.run.software.flash
    kernel = "eager" if shape.eager_scores and flash != "vendor" else run.attention
    products = flops.score_flops_per_token(
        shape.work,
        sequence_length=run.sequence_length,
        attention="causal" if kernel == "flash" else "full",
    )
    if kernel == "eager":
        scores = sum(each.count * each.num_attention_heads for each in shape.work.scores)
        moved = EAGER_SCORE_TRAFFIC * scores * run.sequence_length
        per_token = (
            products * (work.forwards + 2) / work.matmul_rate
            + moved * work.elementwise_passes / work.bandwidth
        )
        return per_token * work.num_tokens
    if kernel == "sdpa":
        share = rates.masked_attention
    elif flash == "vendor":
        share = rates.vendor_flash
    else:
        share = rates.flash_1 if flash == "flash-1" else rates.flash_2
    passes = work.forwards + constants.FLASH_BACKWARD_FORWARDS
    return products * work.num_tokens * passes / (share * work.peak)


def _elementwise_seconds(work: _Work) -> float:
    """Seconds of a micro-batch's norms, rotary, activations, residuals and cross-entropy."""
    run, num_tokens = work.run, work.num_tokens
    traffic = FUSED_TRAFFIC if run.software.fused_blocks else EAGER_TRAFFIC
    per_pass = _elementwise_bytes(work.shape, traffic) * (2 if run.software.kbit_upcast else 1)
    seconds = per_pass * num_tokens * work.elementwise_passes / work.bandwidth
    logit = FUSED_TRAFFIC.logit if run.loss != "standard" else traffic.logit
    return seconds + logit * 3 * run.model.vocab_size * num_tokens / work.bandwidth


def _adapter_seconds(work: _Work) -> float:
    """Seconds of all adapters of a micro-batch: their streams, and their thin products."""
    run, adapters = work.run, work.adapters
    if not adapters.count:
        return 0.0
    habits = FUSED_TRAFFIC if run.software.fused_adapters else EAGER_TRAFFIC
    cast = habits.adapter_cast if run.adapter_dtype == "fp32" else 0.0
    dropped = habits.adapter_dropout if run.adapter_dropout else 0.0
    per_token = (
        habits.adapter_input + cast + dropped
    ) * adapters.input_elements + habits.adapter_output * adapters.output_elements
    if run.software.kbit_upcast:
        per_token *= constants.KBIT_UPCAST_ADAPTER_PASSES
    moved = per_token * work.num_tokens * work.elementwise_passes
    arithmetic = 2 * adapters.weights * (work.forwards + 2) * work.num_tokens
    thin_rate = work.matmul_rate * constants.THIN_PRODUCT_SHARE
    return moved / work.bandwidth + arithmetic / thin_rate


def _dequantisation_seconds(work: _Work) -> float:
    """Seconds in which a micro-batch's passes unpack 4-bit weights."""
    if work.run.method != "qlora":
        return 0.0
    per_weight = (
        constants.FUSED_DEQUANTISATION_BYTES
        if work.run.software.fused_dequantisation
        else constants.UNFUSED_DEQUANTISATION_BYTES
    )
    return work.shape.dense_weights * per_weight * (work.forwards + 1) / work.bandwidth


def _host_seconds(work: _Work) -> float:
    """Seconds in which the host launches the kernels of a micro-batch."""
    shape, software = work.shape, work.run.software
    quantised = shape.linear_matrices if work.run.method == "qlora" else 0
    looped = (
        sum(each.blocks * each.num_experts for each in shape.experts) if software.expert_loop else 0
    )
    per_pass = (
        constants.HOST_SECONDS_PER_BLOCK_PASS * shape.num_blocks
        + constants.HOST_SECONDS_PER_ADAPTER_PASS * work.adapters.count
        + constants.HOST_SECONDS_PER_DEQUANTISATION_PASS * quantised
        + constants.HOST_SECONDS_PER_EXPERT_PASS * looped
    )
    return software.host_share * (work.forwards + 2) * per_pass


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


def _communication_seconds(work: _Work, micro_seconds: float) -> tuple[float, float]:
    """Exposed and hidden seconds of a step's collectives.

    Args:
        work: What the parts share.
        micro_seconds: Of a micro-batch, behind which they hide.
    """
    run = work.run
    if run.num_gpus == 1 or run.strategy == "single":
        return 0.0, 0.0
    rate = link_rate(run.card, work.rates, run.num_gpus)
    gradient = ring_bytes(2 * work.num_trainable_parameters, run.num_gpus) / rate
    if run.strategy == "zero-3":
        weights = ring_bytes(_gathered_bytes(work), run.num_gpus) / rate
        exposed, hidden = _sharded_seconds(work, 2 * weights + gradient, micro_seconds)
        steps = run.gradient_accumulation_steps
        return steps * exposed, steps * hidden
    # Reduced during the last backward (two thirds of a pass); ZeRO-2 in every backward. The
    # updated weights come back after the optimizer, with nothing to hide behind, except under DDP.
    reduced = gradient * (2 if run.strategy == "ddp" else 1)
    times = run.gradient_accumulation_steps if run.strategy == "zero-2" else 1
    exposed, hidden = _overlap(reduced, micro_seconds * 2 / 3)
    gathered = 0.0 if run.strategy == "ddp" else gradient
    return times * exposed + gathered, times * hidden


def _gathered_bytes(work: _Work) -> int:
    """Bytes of all weights as ZeRO-3 gathers them for a pass."""
    num_parameters = work.shape.num_parameters
    if work.run.method != "qlora":
        return 2 * num_parameters
    quantised = work.shape.dense_weights
    return round(QUANTISED_BYTES_PER_WEIGHT * quantised + 2 * (num_parameters - quantised))


def _sharded_seconds(work: _Work, traffic: float, micro_seconds: float) -> tuple[float, float]:
    """Exposed and hidden seconds of ZeRO-3's collectives in a micro-batch.

    Args:
        work: What the parts share.
        traffic: Seconds that the link needs.
        micro_seconds: Of the micro-batch.
    """
    exposed, hidden = _overlap(traffic, micro_seconds)
    # FSDP wraps each trained adapter matrix apart from its frozen block; three collectives each.
    units, latency = work.shape.num_blocks, constants.SHARD_LATENCY_SECONDS
    if work.run.software.gathers_per_module:
        units, latency = work.shape.num_modules, constants.MODULE_LATENCY_SECONDS
    exposed += 3 * (units + 2 * work.adapters.count) * latency
    exposed += constants.SHARDED_SLOWDOWN * micro_seconds
    return exposed, hidden


def _overlap(traffic: float, compute: float) -> tuple[float, float]:
    hideable = min(traffic, compute)
    hidden = hideable * (1 - constants.EXPOSED_SHARE)
    return traffic - hidden, hidden


def _optimizer_seconds(work: _Work) -> float:
    """Seconds of the update: states and master read and written, gradients read and cleared,
    weights.
    """
    run = work.run
    full = run.method == "full"
    has_master = run.precision in ("bf16-mixed", "fp16-mixed") and full
    weight_bytes = weight_bytes_per_parameter(run.precision) if full else FP32_BYTES
    state_bytes = run.optimizer_state_bytes_per_parameter
    per_parameter = 2 * state_bytes + (8 if has_master else weight_bytes) + 2 + 2 + weight_bytes
    foreach = run.optimizer_implementation == "foreach"
    passes = constants.FOREACH_OPTIMIZER_PASSES if foreach else 1.0
    shards = run.num_gpus if run.strategy.startswith("zero") else 1
    return work.num_trainable_parameters * per_parameter * passes / shards / work.bandwidth


def _assumptions(run: TimedRun, *, wide: bool) -> tuple[str, ...]:
    notes = [
        "Training steps only: no data loading, evaluation, saving or restarts.",
        "Every token of a sequence counts, padding too.",
    ]
    if run.num_gpus > 1 and run.strategy == "zero-3":
        notes.append(
            "ZeRO-3: both gathers and the scatter of every micro-batch are counted against the "
            "link; what compute hides is left out."
        )
    if run.precision == "fp32":
        notes.append("FP32 matrix products run as TF32.")
    if wide:
        notes.append("Few published rows for this kind of set-up: the band is wide.")
    return tuple(notes)
