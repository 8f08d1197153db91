"""Constants of the step-time estimate, each with its origin, and the table that lists them all.

Two kinds: rates of a card class (what its kernels sustain, as a share of the card's own peaks) and
habits of a software class (which kernels a training stack uses). Nothing here belongs to one card,
model or source. `calibrated` means: set on the published rows outside the part kept apart
(`accuracy.throughput_score`), inside the bounds that the named measurement gives.
"""

from dataclasses import dataclass
from typing import Literal

from generator.core.card import Card

CardClass = Literal[
    "datacenter-ampere",
    "datacenter-hopper",
    "datacenter-blackwell",
    "geforce",
    "workstation",
    "instinct",
    "other",
]
FlashGeneration = Literal["flash-1", "flash-2", "vendor"]
"""`flash-1`: the kernels of 2022. `flash-2`: those that PyTorch, Transformers and Unsloth use.
`vendor`: written for the chip (FlashAttention-3 and -4, cuDNN in Transformer Engine)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRates:
    """What the kernels of a card class sustain in training, as shares of the card's dense 16-bit
    peak.

    Attention rates count the causal half, backward as 2.5 forwards (the scores are computed again);
    masked attention counts the full square.
    """

    matmul: float
    flash_1: float
    flash_2: float
    vendor_flash: float
    masked_attention: float
    network_bytes_per_second_per_gpu: float
    """One direction, out of the node."""
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """Kernels of a training stack.

    `fused_blocks`: norms, rotary, activation and cross-entropy are one kernel each.
    `fused_adapters`: the same for LoRA. `host_share`: time to launch a kernel against PyTorch from
    Python. `kbit_upcast`: `prepare_model_for_kbit_training` keeps the residual stream in FP32.
    `fused_dequantisation`: one kernel unpacks 4-bit weights. `gathers_per_module`: ZeRO-3 gathers
    every linear layer and norm on its own (DeepSpeed), not a block at a time (FSDP). `expert_loop`:
    experts run one after another.
    """

    id: str
    fused_blocks: bool = False
    fused_adapters: bool = False
    fused_dequantisation: bool = True
    flash: FlashGeneration = "flash-2"
    kbit_upcast: bool = False
    gathers_per_module: bool = False
    expert_loop: bool = False
    host_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRow:
    """One line of the table of constants."""

    name: str
    value: str
    origin: str


CARD_RATES: dict[CardClass, CardRates] = {
    "datacenter-ampere": CardRates(
        matmul=0.81,
        flash_1=0.33,
        flash_2=0.60,
        vendor_flash=0.60,
        masked_attention=0.17,
        network_bytes_per_second_per_gpu=25e9,
        origin="Matmul: calibrated, under the 0.87 of S-MLENG's best shape. Attention: S-FLASH2, "
        "abstract (25 to 40 % of this chip's peak for FlashAttention 1, 50 to 73 % for 2), set "
        "inside those by calibration. Masked: calibrated. Network: 200 Gb/s per GPU, as in the "
        "1,600 Gb/s nodes of S-THROUGHPUT's MosaicML rows.",
    ),
    "datacenter-hopper": CardRates(
        matmul=0.64,
        flash_1=0.20,
        flash_2=0.35,
        vendor_flash=0.52,
        masked_attention=0.12,
        network_bytes_per_second_per_gpu=50e9,
        origin="Matmul: calibrated, under the 0.80 of S-MLENG's best shape (700 W lower the "
        "clock under load). Attention: S-FLASH2 section 4 (335 TFLOPS of 989 for FlashAttention "
        "2), S-MLENG for FlashAttention-3 in a step (447 TFLOPS). FlashAttention 1 and masked: "
        "calibrated. Network: 400 Gb/s per GPU.",
    ),
    "datacenter-blackwell": CardRates(
        matmul=0.55,
        flash_1=0.10,
        flash_2=0.18,
        vendor_flash=0.43,
        masked_attention=0.06,
        network_bytes_per_second_per_gpu=50e9,
        origin="Matmul: calibrated, under the 0.78 of S-MLENG's best shape. Attention: S-MLENG for "
        "FlashAttention-4 in a step (834 TFLOPS of 2250); FlashAttention 2 reaches Hopper's "
        "absolute rate, FlashAttention 1 and masked scaled like it. Network: 400 Gb/s per "
        "GPU.",
    ),
    "geforce": CardRates(
        matmul=1.1,
        flash_1=0.40,
        flash_2=0.75,
        vendor_flash=0.75,
        masked_attention=0.22,
        network_bytes_per_second_per_gpu=1.5e9,
        origin="Calibrated. Above 1 because the peak is stated at the specified boost clock, and "
        "these cards run 5 to 10 % above it; against the FP32-accumulate peak, half the "
        "FP16-accumulate one. Attention: Ampere's ratio to matmul. Network: 100 Gb/s per node "
        "of eight.",
    ),
    "workstation": CardRates(
        matmul=0.78,
        flash_1=0.30,
        flash_2=0.55,
        vendor_flash=0.55,
        masked_attention=0.08,
        network_bytes_per_second_per_gpu=1.5e9,
        origin="Calibrated on 70 to 600 W cards from L4 to RTX PRO 6000; the wide spread of power "
        "limits stays in the band. Attention: Ampere's ratio to matmul. Network: 100 Gb/s per "
        "node of eight.",
    ),
    "instinct": CardRates(
        matmul=0.47,
        flash_1=0.14,
        flash_2=0.25,
        vendor_flash=0.25,
        masked_attention=0.08,
        network_bytes_per_second_per_gpu=50e9,
        origin="Matmul: S-MLENG's best shapes reach 0.51 (MI300X) to 0.68 (MI355X), less a tenth "
        "for ordinary shapes. Attention: half of matmul; few rows to check it. Network: 400 Gb/s "
        "per GPU.",
    ),
    "other": CardRates(
        matmul=0.65,
        flash_1=0.24,
        flash_2=0.44,
        vendor_flash=0.44,
        masked_attention=0.13,
        network_bytes_per_second_per_gpu=1.5e9,
        origin="No published training rows: 0.8 of Ampere's shares, and a wider band.",
    ),
}

EAGER = Software(id="eager")
"""Transformers and PEFT as they come: one kernel per tensor operation."""
FUSED_BLOCKS = Software(id="fused-blocks", fused_blocks=True)
"""Liger or hand-written kernels in the blocks, adapters as PEFT has them."""
FUSED = Software(id="fused", fused_blocks=True, fused_adapters=True)
"""`torch.compile`, or Unsloth's Triton kernels: blocks and adapters, launched from Python."""
NATIVE = Software(id="native", fused_blocks=True, fused_adapters=True, host_share=0.1)
"""C++ and CUDA throughout (llm.c, Surogate)."""
MEGATRON = Software(id="megatron", fused_blocks=True, flash="vendor")
"""Megatron with Transformer Engine."""
DEEPSPEED = Software(id="deepspeed", gathers_per_module=True)
"""Transformers under DeepSpeed."""

SOFTWARE_BY_STACK: dict[str, Software] = {
    "generic": EAGER,
    "hf-trainer": EAGER,
    "trl": EAGER,
    "llama-factory": EAGER,
    "axolotl": EAGER,
    "litgpt": EAGER,
    "accelerate-fsdp": EAGER,
    "torch-fsdp2": EAGER,
    "deepspeed": DEEPSPEED,
    "torchtune": FUSED,
    "torchtitan": FUSED,
    "unsloth": FUSED,
    "megatron": MEGATRON,
}
"""Stack ids of the catalog; torchtune and torchtitan with their usual `compile`."""

BANDWIDTH_SHARE = 0.8
"""Of the card's memory bandwidth, in large element-wise kernels."""
BACKWARD_ELEMENTWISE_FORWARDS = 2.0
"""Backward of an element-wise operation reads its input and the incoming gradient and writes one:
twice the forward's traffic."""
FLASH_BACKWARD_FORWARDS = 2.5
"""A flash kernel's backward: five products against two, scores computed again (S-FLASH2 section
4.1)."""
OVERLAP_EXPONENT = 3.0
"""How host and device time join: (device^p + host^p)^(1/p). Infinity is perfect overlap, 1 is
none."""
HOST_SECONDS_PER_BLOCK_PASS = 0.65e-3
"""Launching one block's forward, about 35 kernels of 20 us from Python; backward takes two
passes."""
HOST_SECONDS_PER_ADAPTER_PASS = 0.14e-3
"""Launching one LoRA adapter, about six kernels."""
HOST_SECONDS_PER_DEQUANTISATION_PASS = 0.06e-3
"""Launching the unpacking of one 4-bit matrix."""
HOST_SECONDS_PER_EXPERT_PASS = 0.1e-3
"""Launching one expert of a loop over experts."""
SHARD_LATENCY_SECONDS = 0.2e-3
"""Start-up of one gather or scatter of ZeRO-3, per sharded unit and pass."""
MODULE_LATENCY_SECONDS = 0.35e-3
"""The same per module and pass where each module gathers its own weights from a Python hook
(DeepSpeed)."""
SHARDED_SLOWDOWN = 0.04
"""Compute beside ZeRO-3's collectives: they take multiprocessors and memory bandwidth."""
EXPOSED_SHARE = 0.25
"""Of the traffic that compute could hide: the first gather, the last scatter, uneven layers."""
FAST_LINK_SHARE = 0.8
"""Ring collectives on NVLink or Infinity Fabric against one direction's specification."""
PCIE_LINK_SHARE = 0.4
"""The same through host memory, which the data crosses twice."""
FAST_LINK_BYTES_PER_SECOND = 100e9
"""Links above this are NVLink or Infinity Fabric."""
NETWORK_SHARE = 0.9
"""Ring collectives between nodes against the sum of a node's network cards."""
FUSED_DEQUANTISATION_BYTES = 4.0
"""Traffic per weight to unpack 4 bits to 16: half a byte and its scales read, two bytes written, at
two thirds of the element-wise rate."""
UNFUSED_DEQUANTISATION_BYTES = 20.0
"""The same as tensor operations on 32-bit integers (GPTQ in 2023)."""
EXPERT_TILE_ROWS = 64
"""Half a tile of 128 rows is empty on average at the end of each expert's tokens."""
GROUPED_MATMUL_SHARE = 0.85
"""Grouped products of experts against one dense product."""
KBIT_UPCAST_ADAPTER_PASSES = 1.5
"""Traffic of the adapters beside a residual stream in FP32: about half of it is their inputs, which
are twice as wide."""
THIN_PRODUCT_SHARE = 1 / 3
"""Products with a side of R against square ones, beside the traffic of their operands."""
FOREACH_OPTIMIZER_PASSES = 2.4
"""Traffic of the multi-tensor Adam against the fused kernel: about 18 reads and writes against
7."""
LOW_SHARE = 0.75
HIGH_SHARE = 1.25
"""The band around the tokens per second; it must hold 80 % of the published rows of every class."""
WIDE_LOW_SHARE = 0.55
WIDE_HIGH_SHARE = 1.35
"""The band where rows are few or scattered: experts, PCIe sharding, card classes without rows."""

_SCALAR_ORIGINS: tuple[tuple[str, float, str], ...] = (
    ("BANDWIDTH_SHARE", BANDWIDTH_SHARE, "calibrated; STREAM-like kernels reach 0.8 to 0.9"),
    ("BACKWARD_ELEMENTWISE_FORWARDS", BACKWARD_ELEMENTWISE_FORWARDS, "counted"),
    ("FLASH_BACKWARD_FORWARDS", FLASH_BACKWARD_FORWARDS, "S-FLASH2 section 4.1"),
    ("OVERLAP_EXPONENT", OVERLAP_EXPONENT, "calibrated"),
    (
        "HOST_SECONDS_PER_BLOCK_PASS",
        HOST_SECONDS_PER_BLOCK_PASS,
        "calibrated on launch-bound rows: Qwen LoRA at 256 tokens, Unsloth on H100, H200 and B200",
    ),
    ("HOST_SECONDS_PER_ADAPTER_PASS", HOST_SECONDS_PER_ADAPTER_PASS, "calibrated on the same rows"),
    (
        "HOST_SECONDS_PER_DEQUANTISATION_PASS",
        HOST_SECONDS_PER_DEQUANTISATION_PASS,
        "calibrated: Unsloth's QLoRA against its LoRA",
    ),
    (
        "HOST_SECONDS_PER_EXPERT_PASS",
        HOST_SECONDS_PER_EXPERT_PASS,
        "five kernels at the block's rate",
    ),
    ("SHARD_LATENCY_SECONDS", SHARD_LATENCY_SECONDS, "calibrated: IBM FSDP rows against one GPU"),
    ("MODULE_LATENCY_SECONDS", MODULE_LATENCY_SECONDS, "calibrated: Qwen ZeRO-3 rows"),
    ("SHARDED_SLOWDOWN", SHARDED_SLOWDOWN, "calibrated: the same rows at large batches"),
    ("EXPOSED_SHARE", EXPOSED_SHARE, "assumed; small beside the slowdown inside a node"),
    ("FAST_LINK_SHARE", FAST_LINK_SHARE, "S-MLENG: 0.78 on A100, 0.80 to 0.82 on H200"),
    ("PCIE_LINK_SHARE", PCIE_LINK_SHARE, "half of FAST_LINK_SHARE"),
    ("NETWORK_SHARE", NETWORK_SHARE, "S-MLENG: 365 of 400 GB/s over four H200 nodes"),
    (
        "FUSED_DEQUANTISATION_BYTES",
        FUSED_DEQUANTISATION_BYTES,
        "2.6 bytes counted; two thirds of the rate assumed",
    ),
    (
        "UNFUSED_DEQUANTISATION_BYTES",
        UNFUSED_DEQUANTISATION_BYTES,
        "calibrated: Qwen GPTQ rows at 256 tokens, 40 ms per 10^9 weights and step on A100",
    ),
    ("EXPERT_TILE_ROWS", EXPERT_TILE_ROWS, "counted"),
    ("GROUPED_MATMUL_SHARE", GROUPED_MATMUL_SHARE, "calibrated: IBM Mixtral rows"),
    (
        "KBIT_UPCAST_ADAPTER_PASSES",
        KBIT_UPCAST_ADAPTER_PASSES,
        "assumed: half of an adapter's traffic is its inputs",
    ),
    ("THIN_PRODUCT_SHARE", THIN_PRODUCT_SHARE, "assumed; their operands' bytes decide"),
    ("FOREACH_OPTIMIZER_PASSES", FOREACH_OPTIMIZER_PASSES, "counted"),
    ("LOW_SHARE", LOW_SHARE, "calibrated"),
    ("HIGH_SHARE", HIGH_SHARE, "calibrated"),
    ("WIDE_LOW_SHARE", WIDE_LOW_SHARE, "calibrated on rows with experts"),
    ("WIDE_HIGH_SHARE", WIDE_HIGH_SHARE, "calibrated on rows with experts"),
)


def constant_table() -> tuple[ConstantRow, ...]:
    """Every constant of the step-time estimate with its origin, as the accuracy page lists it.

    Shape: one row per scalar and one per card class.
    Source: this module.
    """
    scalars = [
        ConstantRow(name=name, value=f"{value:g}", origin=origin)
        for name, value, origin in _SCALAR_ORIGINS
    ]
    classes = [
        ConstantRow(
            name=name,
            value=(
                f"matmul {rates.matmul:g}, FlashAttention 1 {rates.flash_1:g}, "
                f"2 {rates.flash_2:g}, vendor {rates.vendor_flash:g}, "
                f"masked {rates.masked_attention:g}"
            ),
            origin=rates.origin,
        )
        for name, rates in CARD_RATES.items()
    ]
    return (*scalars, *classes)


_CLASS_BY_ID_PREFIX: tuple[tuple[str, CardClass], ...] = (
    ("a100", "datacenter-ampere"),
    ("a800", "datacenter-ampere"),
    ("a30", "datacenter-ampere"),
    ("h100", "datacenter-hopper"),
    ("h200", "datacenter-hopper"),
    ("h800", "datacenter-hopper"),
    ("h20", "datacenter-hopper"),
    ("gh200", "datacenter-hopper"),
    ("b100", "datacenter-blackwell"),
    ("b200", "datacenter-blackwell"),
    ("b300", "datacenter-blackwell"),
    ("gb200", "datacenter-blackwell"),
    ("gb300", "datacenter-blackwell"),
    ("mi", "instinct"),
)


def card_class(card: Card) -> CardClass:
    """The class whose rates a card shares.

    Shape: one word.
    Counts: NVIDIA data-centre chips by name; other NVIDIA cards by form (the PCIe inference cards
        share the workstation chips). Chips before Ampere and other vendors have no rows: `other`.
    Source: the vendors' architecture names.
    """
    for prefix, name in _CLASS_BY_ID_PREFIX:
        if card.id.startswith(prefix):
            return name
    if card.vendor.lower() != "nvidia" or not card.supports_bf16:
        return "other"
    if card.form == "consumer":
        return "geforce"
    return "workstation" if card.form in ("workstation", "pcie") else "other"
