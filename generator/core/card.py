"""What a card is: memory, rates, links, and how many of it one can have."""

from dataclasses import dataclass
from typing import Literal

CardForm = Literal["consumer", "workstation", "pcie", "sxm", "superchip", "rack", "unified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card variant; form factor and memory size are part of its identity. Unknown facts are None."""

    id: str
    name: str
    vendor: str
    form: CardForm
    memory_marketed_gb: int
    allowed_gpu_counts: tuple[int, ...]
    gpus_per_node: int
    memory_usable_bytes: int | None = None
    """What the driver reports, low end of the published readings."""
    memory_bandwidth_bytes_per_second: int | None = None
    peak_dense_bf16_flops_per_second: int | None = None
    peak_dense_fp16_flops_per_second: int | None = None
    peak_dense_fp8_flops_per_second: int | None = None
    link_bytes_per_second: int | None = None
    """One direction, per GPU, to its peers in the node: NVLink where there is one, else PCIe."""
    interconnect: str = ""
    supports_bf16: bool = True
    supports_flash_attention: bool = True
    price_usd_per_hour: float | None = None
    price_usd_per_hour_high: float | None = None
    price_date: str | None = None
    status: Literal["current", "legacy", "announced"] = "current"
    released: str | None = None

    @property
    def memory_marketed_bytes(self) -> int:
        """Marketed size in bytes: decimal gigabytes, as on the box."""
        return self.memory_marketed_gb * 10**9
