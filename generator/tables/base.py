"""What all tables share: words and signs of verdicts, number formats, names of cards, row ids."""

import re
from dataclasses import dataclass

from generator.core.card import Card
from generator.core.fit import VerdictName

Verdict = VerdictName
VERDICT_SIGNS: dict[str, str] = {"fits": "✓", "tight": "≈", "no": "✕"}
VERDICT_WORDS: dict[Verdict, str] = {"fits": "fits", "tight": "tight", "no": "does not fit"}

METHOD_NAMES = {"full": "Full fine-tuning", "lora": "LoRA", "qlora": "QLoRA"}
STRATEGY_NAMES = {
    "single": "Single GPU",
    "ddp": "DDP",
    "zero-1": "ZeRO-1",
    "zero-2": "ZeRO-2",
    "zero-3": "ZeRO-3 / FSDP",
}
STRATEGY_SHORT = {
    "single": "one GPU",
    "ddp": "DDP",
    "zero-1": "ZeRO-1",
    "zero-2": "ZeRO-2",
    "zero-3": "ZeRO-3",
}
STRATEGY_NOTES = {
    "single": "Everything on one card.",
    "ddp": "Every GPU holds everything: more GPUs give speed, not room.",
    "zero-1": "Optimizer states and master weights are sharded; gradients and weights are not.",
    "zero-2": "Optimizer states, master weights and gradients are sharded; weights are not.",
    "zero-3": "Everything but activations and overhead is sharded; FSDP full shard is the same.",
}

_VENDOR_WORDS = re.compile(
    r"^(NVIDIA|AMD|Intel|Apple|Google)\s+|(GeForce|Radeon|Instinct|Data Center GPU)\s+"
)
_SIZE_WORDS = re.compile(r"\s*\(?\b\d+\s?GB\b\)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One answer: so many GPUs, so many bytes on each, and whether that fits."""

    num_gpus: int
    total_bytes: int
    verdict: Verdict
    strategy: str = ""

    @property
    def sign(self) -> str:
        """The verdict's sign."""
        return VERDICT_SIGNS[self.verdict]

    @property
    def word(self) -> str:
        """The verdict in words."""
        return VERDICT_WORDS[self.verdict]

    @property
    def gb(self) -> str:
        """Gigabytes per GPU, without the unit."""
        return gb_figure(self.total_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRef:
    """A card as a table row names it."""

    id: str
    name: str
    memory_marketed_gb: int


def row_id(method: str, optimizer: str, strategy: str, card: str) -> str:
    """Address of one row on a model page."""
    return f"{method}--{optimizer}--{strategy}--{card}"


def table_id(method: str, optimizer: str, strategy: str) -> str:
    """Address of one table on a model page."""
    return f"{method}--{optimizer}--{strategy}"


def gb_figure(num_bytes: int) -> str:
    """Decimal gigabytes with one decimal, none from a thousand up; the unit stands in the
    header.
    """
    gigabytes = num_bytes / 10**9
    return f"{gigabytes:,.0f}" if gigabytes >= 999.95 else f"{gigabytes:.1f}"


def format_count(value: int) -> str:
    """An integer with its thousands grouped."""
    return f"{value:,}"


def format_parameters(count: int) -> str:
    """A parameter count as people say it: `8.03 B`, `494 M`."""
    if count >= 10**12:
        return f"{count / 10**12:.2f} T"
    if count >= 10**9:
        billions = count / 10**9
        return f"{billions:.1f} B" if billions >= 100 else f"{billions:.2f} B"
    return f"{count / 10**6:.0f} M"


def short_card_name(name: str) -> str:
    """A card's name without vendor, series and size, which the row says already."""
    short = _SIZE_WORDS.sub("", _VENDOR_WORDS.sub("", _VENDOR_WORDS.sub("", name))).strip(" ,")
    return short or name


def full_card_name(card: Card) -> str:
    """A card's name with its size, which some vendors leave out."""
    size = f"{card.memory_marketed_gb} GB"
    return card.name if size in card.name else f"{card.name} {size}"


def card_order(card: Card) -> tuple[int, int, str]:
    """Cards by size, then those that scale further, then by name."""
    return (card.memory_marketed_gb, -max(card.allowed_gpu_counts), card.name)
