"""Set-ups on which a case fits, with speed and price: the cheapest and the fastest of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from generator.core import flops, time_constants
from generator.core.card import Card
from generator.core.cost import SECONDS_PER_HOUR
from generator.core.errors import TrainfitError
from generator.core.fit import fit_limit_bytes
from generator.core.ladder import usable_counts
from generator.core.memory import case_resident, peak_totals
from generator.core.run import Case
from generator.core.step_time import StepTime, step_time
from generator.core.timed_run import TimedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """One card and count on which a case fits. Money is None where the card has no price, speed
    where a fact of the card is unknown; money comes with the date of its price.
    """

    card: Card
    num_gpus: int
    total_bytes: int
    hours: float | None
    usd_per_hour: float | None
    usd: float | None


def case_flops(case: Case) -> flops.TrainingFlops:
    """FLOPs per token of a case's training step.

    Shape: forward, backward and recomputed.
    Source: `flops.training_flops`.
    """
    return flops.training_flops(
        model=case.model,
        sequence_length=case.workload.sequence_length,
        method=case.method,
        lora_rank=case.lora.rank,
        target_modules=case.lora.target_modules,
        trains_head=case.trains_head,
        activation_checkpointing=case.workload.activation_checkpointing,
    )


def case_step(case: Case, card: Card) -> StepTime:
    """Step time of a case on a card.

    Shape: one optimizer step of all its GPUs.

    Raises:
        TrainfitError: a fact of the card is unknown (code `missing-fact`).

    Source: `step_time.step_time`.
    """
    workload = case.workload
    state = case_resident(case)
    trained = max(1, state.num_trainable_parameters)
    run = TimedRun(
        model=case.model,
        card=card,
        method=case.method,
        precision=case.precision,
        strategy=case.strategy,
        num_gpus=case.num_gpus,
        sequence_length=workload.sequence_length,
        micro_batch_size=workload.micro_batch_size,
        gradient_accumulation_steps=workload.gradient_accumulation_steps,
        activation_checkpointing=workload.activation_checkpointing,
        attention=workload.attention,
        loss=workload.loss,
        lora_rank=case.lora.rank,
        target_modules=case.lora.target_modules,
        adapter_dtype=case.lora.adapter_dtype,
        adapter_dropout=case.lora.dropout,
        trains_head=case.trains_head,
        optimizer_state_bytes_per_parameter=state.optimizer_states / trained,
        optimizer_implementation=case.optimizer_implementation,
        software=time_constants.SOFTWARE_BY_STACK.get(case.stack.id, time_constants.EAGER),
    )
    return step_time(run)


def set_ups_that_fit(case: Case, cards: Iterable[Card], *, num_tokens: int) -> tuple[SetUp, ...]:
    """Every card and count on which the case fits under its strategy.

    Shape: in the order of `cards`, counts ascending.
    Counts: hours and money for `num_tokens` at the card's low price.

    Args:
        num_tokens: The data set.

    Source: `memory.peak_totals`, `step_time.step_time`.
    """
    found: list[SetUp] = []
    totals: dict[int, int] = {}
    for card in cards:
        # One GPU can be judged of any card, but nobody rents one of a rack.
        counts = [
            count
            for count in usable_counts(case.strategy, card)
            if count in card.allowed_gpu_counts
        ]
        new = [count for count in counts if count not in totals]
        needs = peak_totals(case, [(case.strategy, count) for count in new])
        totals.update(zip(new, needs, strict=True))
        for count in counts:
            if totals[count] > fit_limit_bytes(card):
                continue
            price = card.price_usd_per_hour
            hours: float | None
            try:
                step = case_step(replace(case, num_gpus=count), card)
                hours = num_tokens / step.tokens_per_second / SECONDS_PER_HOUR
            except TrainfitError:
                # A fact of the card is unknown; nothing else can be wrong with a case.
                hours = None
            found.append(
                SetUp(
                    card=card,
                    num_gpus=count,
                    total_bytes=totals[count],
                    hours=hours,
                    usd_per_hour=None if price is None else price * count,
                    usd=None if price is None or hours is None else price * count * hours,
                )
            )
    return tuple(found)
