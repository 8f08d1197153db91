"""Longest sequence that fits, for the published methods and every card.

The answer is that of `solve.longest_sequence`; a whole catalog needs it a hundred thousand times,
so this one shares its estimates between cards and walks along the nearly straight line of memory
against length.
"""

from collections.abc import Iterable
from dataclasses import replace

from generator.core.card import Card
from generator.core.catalog import CatalogModel
from generator.core.fit import fit_limit_bytes
from generator.core.memory import peak
from generator.core.optimizer import Optimizer
from generator.core.run import Case, MethodName, Strategy, Workload
from generator.core.solve import MAX_SEQUENCE_LENGTH, SEQUENCE_STEP_TOKENS
from generator.core.stack import Stack

COLUMNS: tuple[tuple[MethodName, Strategy, int], ...] = (
    ("full", "single", 1),
    ("full", "zero-3", 8),
    ("lora", "single", 1),
    ("lora", "zero-3", 8),
    ("qlora", "single", 1),
    ("qlora", "zero-3", 8),
)
"""What the page's table of longest sequences shows: one card, and a node with everything
sharded.
"""


class _Totals:
    """Bytes per GPU of a case by sequence length in steps, each computed once."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._known: dict[int, int] = {}

    def __getitem__(self, steps: int) -> int:
        if steps not in self._known:
            workload = replace(self._case.workload, sequence_length=steps * SEQUENCE_STEP_TOKENS)
            self._known[steps] = peak(replace(self._case, workload=workload)).ledger.total
        return self._known[steps]


def _largest(totals: _Totals, limit: int) -> int:
    """Most steps whose total is within `limit`; totals never fall with the length."""
    upper = MAX_SEQUENCE_LENGTH // SEQUENCE_STEP_TOKENS
    if totals[1] > limit:
        return 0
    low, high = 1, 2
    while high <= upper and totals[high] <= limit:
        low, high = high, high * 2
    if high > upper:
        high = upper + 1
    while high - low > 1:
        # Where the straight line between the two ends meets the limit, kept strictly between them.
        below = totals[low]
        above = totals[high] if high <= upper else below + 1
        guess = low + (high - low) * (limit - below) // max(above - below, 1)
        middle = min(max(guess, low + 1), high - 1)
        if totals[middle] <= limit:
            low = middle
            if low + 1 < high and totals[low + 1] > limit:
                high = low + 1
        else:
            high = middle
            if high - 1 > low and totals[high - 1] <= limit:
                low = high - 1
    return low


def longest_sequences(
    entry: CatalogModel, *, optimizer: Optimizer, stack: Stack, cards: Iterable[Card]
) -> dict[tuple[str, str, int], dict[str, int]]:
    """Longest sequence in tokens by published column, then card; 0 where not even one step fits."""
    listed = list(cards)
    found: dict[tuple[str, str, int], dict[str, int]] = {}
    for method, strategy, num_gpus in COLUMNS:
        totals = _Totals(
            Case(
                model=entry.model,
                optimizer=optimizer,
                stack=stack,
                method=method,
                strategy=strategy,
                num_gpus=num_gpus,
                workload=Workload(),
            )
        )
        by_limit: dict[int, int] = {}
        answers: dict[str, int] = {}
        for card in listed:
            if strategy != "single" and num_gpus not in card.allowed_gpu_counts:
                continue
            limit = fit_limit_bytes(card)
            if limit not in by_limit:
                by_limit[limit] = _largest(totals, limit) * SEQUENCE_STEP_TOKENS
            answers[card.id] = by_limit[limit]
        found[method, strategy, num_gpus] = answers
    return found
