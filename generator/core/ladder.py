"""Who picks the GPU count: the strategy, the user, or the fewest that fit."""

from dataclasses import replace

from generator.core.card import Card
from generator.core.fit import fit_limit_bytes
from generator.core.memory import peak
from generator.core.run import Case, Strategy

RUNGS = (1, 2, 4, 8, 16, 32, 64)
DEFAULT_DDP_GPUS = 2
DEFAULT_ZERO_GPUS = 8
"""One node, where ZeRO is asked for without a count and without a card to climb on."""


def gpu_counts(card: Card) -> tuple[int, ...]:
    """The rungs of the ladder on a card.

    Shape: ascending. PCIe cards stop at one node of 8; rack-scale systems start at 16.
    Source: the card's `allowed_gpu_counts`; S-SEED-SHARDING for the rule.
    """
    return tuple(count for count in RUNGS if count in card.allowed_gpu_counts)


def usable_counts(strategy: Strategy, card: Card) -> tuple[int, ...]:
    """GPU counts that a strategy can use on a card.

    Shape: ascending; single is one GPU of any card, DDP needs two.
    Source: `gpu_counts`.
    """
    if strategy == "single":
        return (1,)
    least = 2 if strategy == "ddp" else 1
    return tuple(count for count in gpu_counts(card) if count >= least)


def fewest_gpus(case: Case, card: Card) -> int | None:
    """Fewest GPUs of the card on which the case fits under its strategy; None where no count does.

    Shape: GPUs. Single is one GPU; DDP's need does not depend on the count beyond two.
    Source: S-SEED-SHARDING (the rule of 95 %), over `usable_counts`.
    """
    limit = fit_limit_bytes(card)
    for count in usable_counts(case.strategy, card):
        if peak(replace(case, num_gpus=count)).ledger.total <= limit:
            return count
    return None


def climb(case: Case, card: Card) -> Case:
    """The case on the fewest GPUs on which it fits, else on the last rung.

    Shape: the same case with `num_gpus` set.
    Source: `fewest_gpus`.
    """
    return replace(case, num_gpus=fewest_gpus(case, card) or gpu_counts(card)[-1])


def default_gpus(strategy: Strategy) -> int:
    """GPU count where neither the user nor a ladder picks one.

    Shape: 1 for single, 2 for DDP, one node of 8 for ZeRO.
    Source: S-SEED-SHARDING.
    """
    if strategy == "single":
        return 1
    return DEFAULT_DDP_GPUS if strategy == "ddp" else DEFAULT_ZERO_GPUS
