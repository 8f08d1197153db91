"""The estimate turned round: longest sequence, largest micro-batch, and the cheapest change that
fits.

Every answer comes from running the estimate again with one thing changed; no saving is written
down.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from generator.core.card import Card
from generator.core.fit import VerdictName, fit_limit_bytes, verdict_name
from generator.core.ladder import gpu_counts
from generator.core.memory import peak
from generator.core.optimizer import Optimizer
from generator.core.run import Case

SEQUENCE_STEP_TOKENS = 256
"""Sequence lengths are answered in whole multiples of this."""
MAX_SEQUENCE_LENGTH = 1 << 24
MAX_MICRO_BATCH_SIZE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed field of a request that makes it fit, or lowers its need.

    `changes_training`: the change alters what is learned, not only how it is computed.
    `cost` says what is paid for it.
    """

    field: str
    value: str | int
    label: str
    cost: str
    changes_training: bool
    num_gpus: int
    total: int
    verdict: VerdictName


def _largest(fits: Callable[[int], bool], *, upper: int) -> int:
    """Largest integer in 0..upper for which `fits` holds; it holds below any value for which it
    holds.
    """
    low, high = 0, 1
    while high <= upper and fits(high):
        low, high = high, high * 2
    high = min(high, upper + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def longest_sequences(case: Case, limits: Sequence[int]) -> tuple[int, ...]:
    """Longest sequence under each of several limits, in multiples of 256 tokens; 0 where none fits.

    Shape: tokens, one per limit in bytes per GPU.
    Counts: memory only; the model's own context length is the caller's to compare.
    Source: bisection over `memory.peak`, which never falls with the sequence length (a property
        test); limits share the lengths already tried.
    """
    known: dict[int, int] = {0: 0}

    def total(steps: int) -> int:
        if steps not in known:
            workload = replace(case.workload, sequence_length=steps * SEQUENCE_STEP_TOKENS)
            known[steps] = peak(replace(case, workload=workload)).ledger.total
        return known[steps]

    upper = MAX_SEQUENCE_LENGTH // SEQUENCE_STEP_TOKENS
    found: list[int] = []
    for limit in limits:
        low = max(steps for steps, need in known.items() if need <= limit)
        above = [steps for steps, need in known.items() if need > limit]
        high = min(above) if above else max(1, low)
        while not above and high <= upper and total(high) <= limit:
            low, high = high, high * 2
        high = min(high, upper + 1)
        while high - low > 1:
            middle = _between(low, high, known, limit)
            if total(middle) <= limit:
                low = middle
            else:
                high = middle
        found.append(low * SEQUENCE_STEP_TOKENS)
    return tuple(found)


def _between(low: int, high: int, known: dict[int, int], limit: int) -> int:
    """Where to try next: on the straight line between the ends, which the need nearly follows."""
    below, above = known.get(low), known.get(high)
    middle = (low + high) // 2
    if low and below is not None and above is not None and above > below:
        guess = low + (high - low) * (limit - below) // (above - below)
        # One step aside so that both ends close in.
        return min(max(guess, low + 1), high - 1)
    return middle


def longest_sequence(case: Case, card: Card) -> int:
    """Longest sequence that fits the card, in multiples of 256 tokens; 0 where not even 256 fit.

    Shape: tokens.
    Source: `longest_sequences`.
    """
    return longest_sequences(case, (fit_limit_bytes(card),))[0]


def largest_micro_batch(case: Case, card: Card) -> int:
    """Largest micro-batch that fits the card; 0 where one sequence does not fit.

    Shape: sequences.
    Source: bisection over `memory.peak`.
    """
    limit = fit_limit_bytes(card)

    def fits(size: int) -> bool:
        workload = replace(case.workload, micro_batch_size=size)
        return peak(replace(case, workload=workload)).ledger.total <= limit

    return _largest(fits, upper=MAX_MICRO_BATCH_SIZE)


def fewest_gpus(case: Case, card: Card) -> int | None:
    """Fewest GPUs of the card on which the case fits under its strategy; None where no count does.

    Shape: GPUs. Single is one GPU; DDP's need does not depend on the count beyond two.
    Source: the ladder, `ladder.gpu_counts`.
    """
    limit = fit_limit_bytes(card)
    counts: tuple[int, ...] = gpu_counts(card)
    if case.strategy == "single":
        counts = tuple(count for count in counts if count == 1)
    elif case.strategy == "ddp":
        counts = tuple(count for count in counts if count > 1)
    for count in counts:
        if peak(replace(case, num_gpus=count)).ledger.total <= limit:
            return count
    return None


def _candidates(
    case: Case, card: Card, eight_bit: Optimizer | None
) -> Iterator[tuple[str, str | int, str, str, bool, Case]]:
    """Changes in the order in which one would try them: free ones first, then those that cost."""
    workload = case.workload
    if workload.attention == "eager":
        changed = replace(case, workload=replace(workload, attention="flash"))
        yield "attention", "flash", "FlashAttention", "nearly free", False, changed
    if workload.micro_batch_size > 1:
        steps = workload.gradient_accumulation_steps * workload.micro_batch_size
        smaller = replace(workload, micro_batch_size=1, gradient_accumulation_steps=steps)
        label = f"micro-batch 1 with {steps} accumulation steps"
        yield (
            "micro_batch_size",
            1,
            label,
            "smaller kernels",
            False,
            replace(case, workload=smaller),
        )
    if workload.activation_checkpointing != "full":
        changed = replace(case, workload=replace(workload, activation_checkpointing="full"))
        cost = "one more forward pass"
        yield (
            "activation_checkpointing",
            "full",
            "full activation checkpointing",
            cost,
            False,
            changed,
        )
    if workload.loss == "standard":
        changed = replace(case, workload=replace(workload, loss="chunked"))
        yield "loss", "chunked", "chunked loss", "nearly free", False, changed
    if case.method == "full" and eight_bit is not None and case.optimizer.id != eight_bit.id:
        changed = replace(case, optimizer=eight_bit)
        yield "optimizer", eight_bit.id, eight_bit.name, "rounded states", False, changed
    sharded = [count for count in gpu_counts(card) if count > 1]
    if case.strategy != "single":
        sharded = [count for count in sharded if count >= min(case.num_gpus, sharded[-1])]
    for strategy in ("zero-1", "zero-2", "zero-3"):
        for count in sharded:
            if strategy == case.strategy and count <= case.num_gpus:
                continue
            changed = replace(case, strategy=strategy, num_gpus=count)
            label = f"{strategy.replace('zero', 'ZeRO')} on {count} GPUs"
            cost = "gathers every layer" if strategy == "zero-3" else "more GPUs"
            yield "strategy", strategy, label, cost, False, changed
            if peak(changed).ledger.total <= fit_limit_bytes(card):
                break
    length = workload.sequence_length // 2
    while length >= SEQUENCE_STEP_TOKENS:
        changed = replace(case, workload=replace(workload, sequence_length=length))
        label = f"sequences of {length:,} tokens"
        yield "sequence_length", length, label, "shorter context", True, changed
        length //= 2
    if case.method == "full":
        changed = replace(case, method="lora")
        yield "method", "lora", "LoRA", "another training method", True, changed
    if case.method != "qlora":
        changed = replace(case, method="qlora")
        yield "method", "qlora", "QLoRA", "another training method, 4-bit base", True, changed


def changes_that_fit(
    case: Case, card: Card, *, eight_bit: Optimizer | None = None
) -> tuple[Change, ...]:
    """Single changes that make the case fit the card, cheapest first, at most one per field.

    Shape: changes in the order of the levers: attention, micro-batch, checkpointing, loss,
        optimizer, sharding, sequence length, method.
    Counts: each change alone; a model that needs two changes gets none here.
    Source: S-SEED-13B for the order of the levers.

    Args:
        eight_bit: The optimizer to offer in place of the chosen one.
    """
    found: list[Change] = []
    done: set[str] = set()
    for name, value, label, cost, changes_training, changed in _candidates(case, card, eight_bit):
        key = f"{name}:{value}" if name == "strategy" else name
        if key in done or (name == "method" and value == "qlora" and "method" in done):
            continue
        total = peak(changed).ledger.total
        outcome = verdict_name(total, card)
        if outcome != "fits":
            continue
        done.add(key)
        found.append(
            Change(
                field=name,
                value=value,
                label=label,
                cost=cost,
                changes_training=changes_training,
                num_gpus=changed.num_gpus,
                total=total,
                verdict=outcome,
            )
        )
    return tuple(found)
