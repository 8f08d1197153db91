"""Does it fit: the verdict of a total against a card, and the reason in words."""

from dataclasses import dataclass
from typing import Literal, get_args

from generator.core.card import Card
from generator.core.memory import Ledger
from generator.core.params import tensors
from generator.core.run import SHARDED_FROM_STAGE, ZERO_STAGE, Case
from generator.core.units import format_gb, join_words

VerdictName = Literal["fits", "tight", "no"]
VERDICTS: tuple[VerdictName, ...] = get_args(VerdictName)

# A run fits when it leaves 5 % of the marketed size free. In percent, so that the limit is an
# integer.
FIT_PERCENT = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer for one GPU of one card."""

    name: VerdictName
    share: float
    """Total over the marketed size."""
    reason: str


def fit_limit_bytes(card: Card) -> int:
    """Largest total that fits: 95 % of the marketed size, and never more than the driver offers.

    Shape: one GPU; bytes.
    Source: S-SEED-SHARDING (the rule of 95 %).
    """
    limit = card.memory_marketed_bytes * FIT_PERCENT // 100
    usable = card.memory_usable_bytes
    return limit if usable is None else min(limit, usable)


def tight_limit_bytes(card: Card) -> int:
    """Largest total that can run at all: what the driver reports as usable.

    Shape: one GPU; bytes. Where no reading is published, the limit of `fits`, so that nothing is
        tight.
    Source: the card's `memory_usable_bytes`.
    """
    usable = card.memory_usable_bytes
    return fit_limit_bytes(card) if usable is None else usable


def verdict_name(total_bytes: int, card: Card) -> VerdictName:
    """`fits`, `tight` or `no` for a total on one GPU of a card.

    Shape: one GPU.
    Source: `fit_limit_bytes` and `tight_limit_bytes`.
    """
    if total_bytes <= fit_limit_bytes(card):
        return "fits"
    return "tight" if total_bytes <= tight_limit_bytes(card) else "no"


LINE_WORDS = {
    "weights": "weights",
    "master_weights": "FP32 master weights",
    "gradients": "gradients",
    "optimizer_states": "optimizer state",
    "activations": "activations and loss",
    "buffers": "buffers",
    "overhead": "overhead",
}
SINGULAR_LINES = ("optimizer_states", "overhead")
"""Lines whose words are one thing in a sentence."""
EXPERTS_IN_16_BIT = "since fused experts stay in 16 bit"


def _what_more_would_share(case: Case, ledger: Ledger) -> str:
    """What a sharded strategy splits as soon as there is a second GPU."""
    stage = ZERO_STAGE[case.strategy]
    words = [
        LINE_WORDS[line]
        for line, least in SHARDED_FROM_STAGE.items()
        if stage >= least and getattr(ledger, line)
    ]
    return f"more GPUs would share {join_words(words) or 'nothing of it'}"


def _what_more_gpus_do(case: Case, ledger: Ledger) -> str:
    """What adding GPUs changes under the chosen strategy, said where the run does not fit."""
    if case.strategy == "single":
        return "a single GPU has to hold all of it"
    if case.strategy == "ddp":
        return "adding GPUs does not help under DDP, which adds throughput and not capacity"
    if case.num_gpus == 1:
        return _what_more_would_share(case, ledger)
    stage = case.zero_stage
    replicated = ledger.activations + ledger.buffers + ledger.overhead
    words = "activations"
    if stage < SHARDED_FROM_STAGE["weights"]:
        replicated += ledger.weights
        words = "weights and activations"
    if stage < SHARDED_FROM_STAGE["gradients"]:
        replicated += ledger.gradients
        words = "weights, gradients and activations"
    return f"every GPU keeps {format_gb(replicated)} of {words} and overhead however many there are"


def _has_16_bit_experts(case: Case) -> bool:
    """Whether a 4-bit base holds experts that stay as they are, which is most of its bytes."""
    if case.method != "qlora" or case.stack.quantises_experts:
        return False
    return any(tensor.kind == "expert" for tensor in tensors(case.model))


def _what_is_left(card: Card) -> str:
    """What can be used of a card of which other programs, or the driver, hold so much that less
    than the usual share is left.
    """
    usable = card.memory_usable_bytes
    if usable is None or usable >= card.memory_marketed_bytes * FIT_PERCENT // 100:
        return ""
    return f", of which {format_gb(usable)} can be used"


def verdict(case: Case, ledger: Ledger, card: Card) -> Verdict:
    """The verdict for a case on one GPU of a card, with its reason.

    Shape: one GPU.
    Source: `verdict_name`.
    """
    total = ledger.total
    name = verdict_name(total, card)
    share = total / card.memory_marketed_bytes
    of_card = f"{format_gb(total)} of {card.memory_marketed_gb:,} GB per GPU ({share * 100:.0f} %)"
    left = _what_is_left(card)
    if name == "fits":
        return Verdict(
            name=name, share=share, reason=f"{of_card}{left or f', within {FIT_PERCENT} %'}."
        )
    if name == "tight":
        offered = format_gb(tight_limit_bytes(card))
        return Verdict(
            name=name,
            share=share,
            reason=f"{of_card}: above {FIT_PERCENT} %, under the {offered} that the driver offers; "
            "fragmentation or a longer sample can end it.",
        )
    lines = {line: getattr(ledger, line) for line in LINE_WORDS}
    largest = max(lines, key=lambda line: lines[line])
    alone = " alone" if lines[largest] > fit_limit_bytes(card) else ""
    why = f", {EXPERTS_IN_16_BIT}" if largest == "weights" and _has_16_bit_experts(case) else ""
    verb = "is" if largest in SINGULAR_LINES else "are"
    return Verdict(
        name=name,
        share=share,
        reason=f"{of_card}{left}: {LINE_WORDS[largest]}{alone} {verb} "
        f"{format_gb(lines[largest])}{why}; {_what_more_gpus_do(case, ledger)}.",
    )
