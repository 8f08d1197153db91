"""The estimate turned round: longest sequence, largest micro-batch, and the cheapest change that
fits.

Every answer comes from running the estimate again with one thing changed; no saving is written
down.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from generator.core.card import Card
from generator.core.fit import VerdictName, fit_limit_bytes, verdict_name
from generator.core.ladder import gpu_counts
from generator.core.memory import peak
from generator.core.optimizer import Optimizer
from generator.core.run import MAX_MICRO_BATCH_SIZE, MAX_SEQUENCE_LENGTH, Case, Precision, Strategy
from generator.core.units import join_words

SEQUENCE_STEP_TOKENS = 256
"""Sequence lengths are answered in whole multiples of this."""
NEARLY_FREE = "nearly free"
SHARDED_STRATEGIES: tuple[Strategy, ...] = ("zero-1", "zero-2", "zero-3")
FP32_WEIGHTS: tuple[Precision, ...] = ("bf16-mixed", "amp", "fp32")
"""Recipes that hold the weights, or a master of them, in FP32."""
WORKLOAD_LEVERS = frozenset(("attention", "micro_batch_size", "activation_checkpointing", "loss"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the request that makes it fit.

    `settings` are the request fields to set, the one that gives the change its name first.
    `changes_training`: what is learned changes, not only how it is computed. `cost` says what is
    paid for it.
    """

    settings: tuple[tuple[str, str | int], ...]
    label: str
    cost: str
    changes_training: bool
    num_gpus: int
    total: int
    verdict: VerdictName

    @property
    def field(self) -> str:
        """The request field that gives the change its name."""
        return self.settings[0][0]

    @property
    def value(self) -> str | int:
        """What that field is set to."""
        return self.settings[0][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    case: Case
    settings: tuple[tuple[str, str | int], ...]
    label: str
    cost: str
    changes_training: bool = False


def _largest_under(
    need: Callable[[int], int], limits: Sequence[int], *, upper: int
) -> tuple[int, ...]:
    """Largest whole number up to `upper` whose need is within each limit; 0 where 1 needs more.

    Args:
        need: Bytes; never falls with the number, which is tried once for all limits.
        limits: Bytes.
        upper: A power of two.
    """
    known: dict[int, int] = {0: 0}

    def needed(number: int) -> int:
        if number not in known:
            known[number] = need(number)
        return known[number]

    found: list[int] = []
    for limit in limits:
        low = max(number for number, known_need in known.items() if known_need <= limit)
        above = [number for number, known_need in known.items() if known_need > limit]
        high = min(above) if above else max(1, low)
        while not above and high <= upper and needed(high) <= limit:
            low, high = high, high * 2
        high = min(high, upper + 1)
        while high - low > 1:
            middle = _between(low, high, known, limit)
            if needed(middle) <= limit:
                low = middle
            else:
                high = middle
        found.append(low)
    return tuple(found)


def _between(low: int, high: int, known: dict[int, int], limit: int) -> int:
    """Where to try next: on the straight line between the ends, which the need nearly follows."""
    # Both ends are known: numbers double from 1 up to the upper end, itself a power of two.
    below, above = known[low], known[high]
    guess = low + (high - low) * (limit - below) // (above - below)
    # One step aside so that both ends close in.
    return min(max(guess, low + 1), high - 1)


def _need_with(case: Case, **changes: Any) -> int:
    """Bytes per GPU with another workload."""
    return peak(replace(case, workload=replace(case.workload, **changes))).ledger.total


def longest_sequences(case: Case, limits: Sequence[int]) -> tuple[int, ...]:
    """Longest sequence under each of several limits, in multiples of 256 tokens; 0 where none fits.

    Shape: tokens, one per limit in bytes per GPU.
    Counts: memory only; the model's own context length is the caller's to compare.
    Source: bisection over `memory.peak`, which never falls with the sequence length (a property
        test); limits share the lengths already tried.
    """
    found = _largest_under(
        lambda steps: _need_with(case, sequence_length=steps * SEQUENCE_STEP_TOKENS),
        limits,
        upper=MAX_SEQUENCE_LENGTH // SEQUENCE_STEP_TOKENS,
    )
    return tuple(steps * SEQUENCE_STEP_TOKENS for steps in found)


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
    (found,) = _largest_under(
        lambda size: _need_with(case, micro_batch_size=size),
        (fit_limit_bytes(card),),
        upper=MAX_MICRO_BATCH_SIZE,
    )
    return found


def _lighter_workload(case: Case) -> Iterator[_Candidate]:
    """The levers that leave model, optimizer and objective alone, nearly free ones first."""
    workload = case.workload

    def with_workload(**changes: Any) -> Case:
        return replace(case, workload=replace(workload, **changes))

    if workload.attention == "eager":
        yield _Candidate(
            case=with_workload(attention="flash"),
            settings=(("attention", "flash"),),
            label="FlashAttention",
            cost=NEARLY_FREE,
        )
    # An optimizer that steps during backward cannot accumulate what is left out.
    if workload.micro_batch_size > 1 and not case.steps_in_backward:
        steps = workload.gradient_accumulation_steps * workload.micro_batch_size
        yield _Candidate(
            case=with_workload(micro_batch_size=1, gradient_accumulation_steps=steps),
            settings=(("micro_batch_size", 1), ("gradient_accumulation_steps", steps)),
            label=f"micro-batch 1 with {steps} accumulation steps",
            cost="smaller kernels",
        )
    if workload.activation_checkpointing != "full":
        yield _Candidate(
            case=with_workload(activation_checkpointing="full"),
            settings=(("activation_checkpointing", "full"),),
            label="full activation checkpointing",
            cost="one more forward pass",
        )
    if workload.loss == "standard":
        yield _Candidate(
            case=with_workload(loss="chunked"),
            settings=(("loss", "chunked"),),
            label="chunked loss",
            cost=NEARLY_FREE,
        )


def _all_together(case: Case) -> Iterator[_Candidate]:
    """Every lever of the workload at once, for runs that no single one helps."""
    settings: tuple[tuple[str, str | int], ...] = ()
    labels: list[str] = []
    costs: list[str] = []
    changed = case
    candidate = next(_lighter_workload(changed), None)
    while candidate is not None:
        settings += candidate.settings
        labels.append(candidate.label)
        costs.append(candidate.cost)
        changed = candidate.case
        candidate = next(_lighter_workload(changed), None)
    if len(labels) > 1:
        yield _Candidate(
            case=changed,
            settings=settings,
            label=join_words(labels),
            cost=join_words([cost for cost in dict.fromkeys(costs) if cost != NEARLY_FREE])
            or NEARLY_FREE,
        )


def _sharded(case: Case, card: Card) -> Iterator[_Candidate]:
    """ZeRO on the counts that fit, fewest GPUs first, each under the stage that sends least."""
    if not case.optimizer.shards_with_zero:
        return
    counts = [count for count in gpu_counts(card) if count > 1]
    if case.strategy != "single" and counts:
        # Never fewer GPUs than the run has already.
        counts = [count for count in counts if count >= min(case.num_gpus, counts[-1])]
    found: dict[int, _Candidate] = {}
    for strategy in SHARDED_STRATEGIES:
        for count in counts:
            if strategy == case.strategy and count <= case.num_gpus:
                continue
            changed = replace(case, strategy=strategy, num_gpus=count)
            if peak(changed).ledger.total <= fit_limit_bytes(card):
                candidate = _Candidate(
                    case=changed,
                    settings=(("strategy", strategy), ("num_gpus", count)),
                    label=f"{strategy.replace('zero', 'ZeRO')} on {count} GPUs",
                    cost="gathers every layer" if strategy == "zero-3" else "more GPUs",
                )
                found.setdefault(count, candidate)
                break
    for _, candidate in sorted(found.items()):
        yield candidate


def _other_training(case: Case) -> Iterator[_Candidate]:
    """Shorter sequences, then other methods: what is learned changes."""
    length = case.workload.sequence_length // 2
    while length >= SEQUENCE_STEP_TOKENS:
        yield _Candidate(
            case=replace(case, workload=replace(case.workload, sequence_length=length)),
            settings=(("sequence_length", length),),
            label=f"sequences of {length:,} tokens",
            cost="shorter context",
            changes_training=True,
        )
        length //= 2
    if case.method == "full":
        yield _Candidate(
            case=replace(case, method="lora"),
            settings=(("method", "lora"),),
            label="LoRA",
            cost="another training method",
            changes_training=True,
        )
    if case.method != "qlora":
        yield _Candidate(
            case=replace(case, method="qlora"),
            settings=(("method", "qlora"),),
            label="QLoRA",
            cost="another training method, 4-bit base",
            changes_training=True,
        )


def _candidates(case: Case, card: Card, eight_bit: Optimizer | None) -> Iterator[_Candidate]:
    """Changes in the order in which one would try them."""
    yield from _lighter_workload(case)
    yield from _all_together(case)
    if case.method == "full" and eight_bit is not None and case.optimizer.id != eight_bit.id:
        yield _Candidate(
            case=replace(case, optimizer=eight_bit),
            settings=(("optimizer", eight_bit.id),),
            label=eight_bit.name,
            cost="rounded states",
        )
    if case.method == "full" and case.precision in FP32_WEIGHTS and card.supports_bf16:
        yield _Candidate(
            case=replace(case, precision="bf16-pure"),
            settings=(("precision", "bf16-pure"),),
            label="pure bf16, no master",
            cost="small updates round away",
        )
    yield from _sharded(case, card)
    yield from _other_training(case)


def changes_that_fit(
    case: Case,
    card: Card,
    *,
    eight_bit: Optimizer | None = None,
    settle: Callable[[Case], Case] = lambda case: case,
) -> tuple[Change, ...]:
    """Changes that make the case fit the card, cheapest first.

    Shape: in the order of the levers: attention, micro-batch, checkpointing, loss, all of these
        together, optimizer, precision, sharding, sequence length, method. The longest sequence
        that fits stands for all shorter ones, LoRA for QLoRA, and a single lever for all together.

    Args:
        eight_bit: The optimizer to offer in place of the chosen one.
        settle: Picks the GPU count anew after a change that does not set it.

    Source: S-SEED-13B for the order of the levers.
    """
    found: list[Change] = []
    done: set[str] = set()
    for candidate in _candidates(case, card, eight_bit):
        name, value = candidate.settings[0]
        key = f"{name} {value}" if name == "strategy" else name
        is_combined = len({field for field, _ in candidate.settings} & WORKLOAD_LEVERS) > 1
        if key in done or (is_combined and found):
            continue
        sets_count = any(field == "num_gpus" for field, _ in candidate.settings)
        changed = candidate.case if sets_count else settle(candidate.case)
        total = peak(changed).ledger.total
        outcome = verdict_name(total, card)
        if outcome != "fits":
            continue
        done.add(key)
        found.append(
            Change(
                settings=candidate.settings,
                label=candidate.label,
                cost=candidate.cost,
                changes_training=candidate.changes_training,
                num_gpus=changed.num_gpus,
                total=total,
                verdict=outcome,
            )
        )
    return tuple(found)
