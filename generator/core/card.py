"""What a card is: memory, rates, links, and how many of it one can have."""

from dataclasses import dataclass
from typing import Literal

from generator.core.units import GB

CardForm = Literal["consumer", "workstation", "pcie", "sxm", "superchip", "rack", "unified"]

GPU_COUNTS_BY_FORM: dict[CardForm, tuple[int, ...]] = {
    # PCIe cards stop at one node of eight, whatever their cooler.
    "consumer": (1, 2, 4, 8),
    "workstation": (1, 2, 4, 8),
    "pcie": (1, 2, 4, 8),
    # Above eight: whole nodes over the network.
    "sxm": (1, 2, 4, 8, 16, 32, 64),
    "superchip": (1, 2, 4, 8, 16, 32, 64),
    # Rack-scale systems start above eight; 64 of 72 stay one NVLink domain.
    "rack": (16, 32, 64),
    "unified": (1,),
}
"""GPU counts that the ladder climbs, by form; a card states its own only where it differs."""

GPUS_PER_NODE_BY_FORM: dict[CardForm, int] = {
    "consumer": 8,
    "workstation": 8,
    "pcie": 8,
    "sxm": 8,
    "superchip": 1,
    # A compute tray of a 72-GPU rack.
    "rack": 4,
    "unified": 1,
}
"""GPUs that share one host, by form; a card states its own only where it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card variant; form factor and memory size are part of its identity. Unknown facts are
    None.
    """

    id: str
    """Name, form where it matters, and marketed size: `h100-sxm-80gb`."""
    name: str
    """As the vendor writes it."""
    vendor: str
    """Who makes it."""
    form: CardForm
    """How it is built, which decides how many of it work together."""
    memory_marketed_gb: int
    """Decimal gigabytes as printed on the box."""
    allowed_gpu_counts: tuple[int, ...]
    """GPU counts that the ladder climbs; `GPU_COUNTS_BY_FORM` unless the card differs."""
    gpus_per_node: int
    """GPUs that share one host; `GPUS_PER_NODE_BY_FORM` unless the card differs."""
    memory_usable_bytes: int | None = None
    """What the driver reports, low end of the published readings."""
    memory_bandwidth_bytes_per_second: int | None = None
    """Peak rate of the device memory."""
    peak_dense_bf16_flops_per_second: int | None = None
    """Matrix units with FP32 accumulation, without structured sparsity."""
    peak_dense_fp16_flops_per_second: int | None = None
    """As for BF16; given where BF16 is missing or differs."""
    peak_dense_fp8_flops_per_second: int | None = None
    """As for BF16; None where the card has no FP8 units or no figure was found."""
    link_bytes_per_second: int | None = None
    """One direction, per GPU, to all its peers in the node: NVLink where it joins them all, else
    PCIe."""
    interconnect: str = ""
    """The links in words."""
    supports_bf16: bool = True
    """The matrix units take BF16."""
    supports_flash_attention: bool = True
    """FlashAttention-2 or an equal kernel runs on it: Ampere or newer, or AMD CDNA."""
    price_usd_per_hour: float | None = None
    """Lowest on-demand quote per GPU and hour."""
    price_usd_per_hour_high: float | None = None
    """Highest on-demand quote per GPU and hour."""
    price_date: str | None = None
    """Month of the newest quote."""
    status: Literal["current", "legacy", "announced"] = "current"
    """`announced`: not seen on sale. `legacy`: a generation whose matrix units do not take BF16."""
    released: str | None = None
    """Month of release: `2022-10`; `2026-H2` where only the half-year is known."""
    note: str = ""
    """What a reader must know and no field says."""
    aliases: tuple[str, ...] = ()
    """Former ids and common names."""

    @property
    def memory_marketed_bytes(self) -> int:
        """Marketed size in bytes: decimal gigabytes, as on the box."""
        return self.memory_marketed_gb * GB
