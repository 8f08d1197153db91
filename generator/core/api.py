"""The one door: JSON text in, JSON text out, for the command line, the pages and the browser.

A request is an object with `op`, the operation, and its fields:

- `estimate` (the default), `solve`: a request's fields, and for hours and money `dataset`
  (`num_tokens`, or `num_samples` with `tokens_per_sample`; `epochs`; `packing`) and
  `price_usd_per_hour` in place of the card's own.
- `grid`: a request's fields and `cards`, a list of ids. `curve`: also `sequence_lengths`.
- `page`: `estimate`, `grid` and `curve` at once, with the fields of all three.
- `export`: also `tool`, an id of `launch.TOOLS`, and `dataset` for its `epochs` and `packing`.
  Gives `files` (`filename`, `text`), the `command` that starts the run, and `notes` on what the
  tool does otherwise.
- `decode`: also `message`, an out-of-memory error of that run. Gives its sizes (`message`), the
  tensors that the failed request can be (`candidates`), and `observations`.
- `recognise`: only `text`, a launch file, a config.json or a parameter count. Gives `tool` (what
  it was taken for), `recognised` (fields of a request), `dataset` (`epochs` and `packing` as far as
  the file has them, to stand beside a size), `implied` (those of both that the file leaves to the
  tool's defaults), `ignored` (its other keys) and `notes`.
- `describe`: nothing else. Gives everything that builds a form.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from generator.core import oom, solve
from generator.core.band import band
from generator.core.card import Card
from generator.core.catalog import Catalog
from generator.core.communication import Communication, communication
from generator.core.cost import cost
from generator.core.dataset import Dataset
from generator.core.errors import TrainfitError
from generator.core.fit import tight_limit_bytes, verdict, verdict_name
from generator.core.ladder import (
    RUNGS,
    climb,
    default_gpus,
    fewest_gpus,
    gpu_counts,
    usable_counts,
)
from generator.core.launch import TOOLS
from generator.core.memory import LINES, Instant, Ledger, case_resident, instants, peak
from generator.core.request import (
    CHOICES,
    DATASET_DEFAULTS,
    DEFAULT_NUM_TOKENS,
    DEFAULTS,
    NUMBER_RANGES,
    RANGES,
    Request,
    parse,
    parse_dataset,
    parse_json,
    whole,
    with_price,
)
from generator.core.run import Case, Precision, shard_divisor
from generator.core.set_ups import SetUp, case_flops, case_step, set_ups_that_fit
from generator.core.units import GB

OPERATIONS = (
    "estimate",
    "grid",
    "curve",
    "solve",
    "page",
    "export",
    "decode",
    "recognise",
    "describe",
)
DEFAULT_CURVE_LENGTHS = tuple(512 << step for step in range(10))
MAX_CURVE_LENGTHS = 200
"""Points of one curve: more than a screen shows, and few enough that none waits long."""
EIGHT_BIT_OPTIMIZER = "adamw-8bit"
COST_TOKENS = DEFAULT_NUM_TOKENS
"""The data set that time and cost are quoted for where the request has none."""
OWN_FIELDS: Mapping[str, tuple[str, ...]] = {
    "estimate": ("dataset", "price_usd_per_hour"),
    "grid": ("cards",),
    "curve": ("sequence_lengths",),
    "solve": ("dataset", "price_usd_per_hour"),
    "page": ("dataset", "price_usd_per_hour", "cards", "sequence_lengths"),
    "export": ("tool", "dataset"),
    "decode": ("message",),
}
"""What an operation takes beside the fields of a request."""


def _lines(ledger: Ledger) -> dict[str, int]:
    return {**{line: getattr(ledger, line) for line in LINES}, "total": ledger.total}


def _settle(request: Request) -> Case:
    """The case with its GPU count: given, or picked by strategy and ladder."""
    case = request.case
    if not request.picks_gpus:
        return case
    if case.strategy.startswith("zero") and request.card is not None:
        return climb(case, request.card)
    return replace(case, num_gpus=default_gpus(case.strategy))


def _assumptions(request: Request, case: Case) -> list[str]:
    """Conditions that the numbers rest on, in words."""
    card = request.card
    notes: list[str] = []
    if case.stack.overhead_bytes is not None:
        notes.append(
            f"Generic stack: {case.stack.overhead_bytes / GB:g} GB stand for context, workspaces, "
            "communication and gather buffers."
        )
    else:
        notes.append(f"Buffers and dtypes as {case.stack.name} has them.")
        if case.stack.note:
            notes.append(case.stack.note)
    if case.method == "full" and case.precision in ("bf16-mixed", "fp16-mixed"):
        notes.append("An FP32 master copy is kept, also with 8-bit states; bf16-pure skips it.")
    if case.workload.gradient_accumulation_steps > 1:
        notes.append("Gradients of earlier micro-batches stay resident through the next forward.")
    if case.method == "qlora":
        notes.append(
            "4-bit linear layers; embeddings, head, norms and fused experts stay in 16 bit."
        )
    if case.optimizer.paged:
        notes.append("Paged optimizer states are counted in full; they can move to host memory.")
    if card is not None:
        if not card.supports_bf16 and case.precision != "fp32":
            notes.append(f"{card.name} has no BF16: FP16, with the same bytes.")
        if not card.supports_flash_attention and case.workload.attention == "flash":
            notes.append(
                f"{card.name} has no FlashAttention: PyTorch's memory-efficient kernel, "
                "which keeps the same tensors."
            )
        named = request.filled["card"]
        if isinstance(named, dict) and "reserved_gb" in named:
            notes.append(f"Other programs hold {named['reserved_gb']:g} GB of the card.")
        if case.num_gpus not in card.allowed_gpu_counts:
            counts = ", ".join(str(count) for count in gpu_counts(card))
            notes.append(f"The tables list {card.name} in counts of {counts}.")
    limit = case.model.context_length
    if limit is not None and case.workload.sequence_length > limit:
        notes.append(
            f"{case.workload.sequence_length:,} tokens are beyond the model's own context of "
            f"{limit:,}: they are counted, but the model was not made for them."
        )
    notes.extend(request.notes)
    notes.append("CPU and NVMe offload are not modelled.")
    notes.extend(case.model.notes)
    return notes


def _communication(case: Case) -> dict[str, Any]:
    state = case_resident(case)
    gradient_bytes = 2
    if state.num_trainable_parameters and state.gradients:
        gradient_bytes = state.gradients // state.num_trainable_parameters

    def sent(accumulation: int) -> Communication:
        return communication(
            num_trainable_parameters=state.num_trainable_parameters,
            weight_bytes=state.weights,
            gradient_bytes_per_parameter=gradient_bytes,
            strategy=case.strategy,
            num_gpus=case.num_gpus,
            gradient_accumulation_steps=accumulation,
        )

    once = sent(1)
    num_micro_batches = case.workload.gradient_accumulation_steps
    step = sent(num_micro_batches)
    of_what = ""
    if num_micro_batches > 1:
        of_what = (
            " Figures per step are for one micro-batch, those per optimizer step for all "
            f"{num_micro_batches:,}."
        )
    return {
        "bytes_sent_per_gpu_per_step": once.bytes_sent_per_gpu_per_step,
        "relative_to_ddp": round(once.relative_to_ddp, 4),
        "bytes_sent_per_gpu_per_optimizer_step": step.bytes_sent_per_gpu_per_step,
        "relative_to_ddp_per_optimizer_step": round(step.relative_to_ddp, 4),
        "explanation": step.explanation + of_what,
    }


def _significant(value: float) -> float:
    """Six significant digits: a run of a thousand tokens takes some time and money, too."""
    return float(f"{value:.6g}")


def _throughput(request: Request, case: Case, dataset: Dataset) -> dict[str, Any]:
    """Speed, hours and money on the request's card; only FLOPs where a fact of the card is
    unknown.
    """
    work = case_flops(case)
    result: dict[str, Any] = {
        "tokens_per_second": None,
        "model_flops_per_token": str(round(work.model_flops)),
        "hardware_flops_per_token": str(round(work.hardware_flops)),
    }
    card = request.card
    if card is None:
        result["note"] = "Speed needs a card."
        return result
    try:
        step = case_step(case, card)
    except TrainfitError as problem:
        result["note"] = problem.message
        return result
    spent = cost(
        tokens_per_second=step.tokens_per_second,
        tokens_per_second_low=step.low * case.num_gpus,
        tokens_per_second_high=step.high * case.num_gpus,
        num_gpus=case.num_gpus,
        num_tokens=dataset.content_tokens,
        num_processed_tokens=dataset.processed_tokens(case.workload.sequence_length),
        price_usd_per_hour=card.price_usd_per_hour,
        price_usd_per_hour_high=card.price_usd_per_hour_high,
        price_date=card.price_date,
    )
    return {
        **result,
        "tokens_per_second": round(step.tokens_per_second, 1),
        "tokens_per_second_per_gpu": round(step.tokens_per_second_per_gpu, 1),
        "tokens_per_second_per_gpu_low": round(step.low, 1),
        "tokens_per_second_per_gpu_high": round(step.high, 1),
        "step_seconds": round(step.step_seconds, 4),
        "mfu": round(step.mfu, 4),
        "hfu": round(step.hfu, 4),
        "cost": {
            "num_tokens": spent.num_tokens,
            "num_processed_tokens": spent.num_processed_tokens,
            "hours": _significant(spent.hours),
            "hours_low": _significant(spent.hours_low),
            "hours_high": _significant(spent.hours_high),
            "gpu_hours": _significant(spent.gpu_hours),
            "usd": None if spent.usd is None else _significant(spent.usd),
            "usd_low": None if spent.usd_low is None else _significant(spent.usd_low),
            "usd_high": None if spent.usd_high is None else _significant(spent.usd_high),
            "price_date": spent.price_date,
        },
        "assumptions": list(step.assumptions),
    }


def _formula(case: Case) -> dict[str, Any]:
    """F9 with the numbers in: unsharded bytes and divisor of each resident line."""
    state = case_resident(case)
    unsharded = {
        "weights": state.weights,
        "master_weights": state.master_weights,
        "gradients": 0 if case.steps_in_backward else state.gradients,
        "optimizer_states": state.optimizer_states,
    }
    stage, count = case.zero_stage, case.num_gpus
    return {
        line: {
            "bytes": num_bytes,
            "divisor": shard_divisor(line, zero_stage=stage, num_gpus=count),
        }
        for line, num_bytes in unsharded.items()
    }


def _cost_notes(case: Case, card: Card, throughput: Mapping[str, Any]) -> list[str]:
    """Why there is no money, and why hours may be too few."""
    spent = throughput.get("cost")
    if spent is None:
        if card.price_usd_per_hour is None:
            return []
        told = f"The speed of {card.name} is not known, so its price_usd_per_hour gives no money"
        return [f"{told}; name a card of the catalog."]
    notes = []
    if spent["usd"] is None:
        notes.append(
            f"No rental price of {card.name} is known, so there is no money; give "
            "price_usd_per_hour for it."
        )
    workload = case.workload
    tokens = workload.num_tokens * workload.gradient_accumulation_steps * case.num_gpus
    if spent["num_processed_tokens"] < tokens:
        notes.append(
            f"One optimizer step takes {tokens:,} tokens, more than the data set has; the hours "
            "are a share of that step."
        )
    return notes


def _estimate(request: Request, catalog: Catalog, dataset: Dataset) -> dict[str, Any]:
    case = _settle(request)
    found = instants(case)
    worst = max(found, key=lambda instant: instant.ledger.total)
    state = case_resident(case)
    low, high = band(case, worst.ledger)
    throughput = _throughput(request, case, dataset)
    notes = _assumptions(request, case)
    card = request.card
    if card is not None:
        notes += _cost_notes(case, card, throughput)
    result: dict[str, Any] = {
        "per_gpu": _lines(worst.ledger),
        "allocated": max(instant.ledger.allocated for instant in found),
        "reserved": worst.reserved,
        "low": low,
        "high": high,
        "peak_phase": worst.phase,
        "num_gpus": case.num_gpus,
        "num_parameters": state.num_parameters,
        "num_trainable_parameters": state.num_trainable_parameters,
        "card": None,
        "communication": _communication(case),
        "throughput": throughput,
        "phases": _phases(found),
        "formula": _formula(case),
        "assumptions": notes,
        "request": request.filled,
    }
    if card is not None:
        judged = verdict(case, worst.ledger, card)
        result["card"] = {
            "id": card.id,
            "name": card.name,
            "verdict": judged.name,
            "share": round(judged.share, 4),
            "reason": judged.reason,
            "memory_marketed_bytes": card.memory_marketed_bytes,
            "memory_usable_bytes": tight_limit_bytes(card),
            "is_in_fp16": not card.supports_bf16 and case.precision != "fp32",
            "supports_flash_attention": card.supports_flash_attention,
        }
        result["changes"] = [] if judged.name == "fits" else _changes(request, card, catalog)
    return result


def _phases(found: tuple[Instant, ...]) -> list[dict[str, Any]]:
    """The worst instant of each phase, in the order of a step."""
    by_phase: dict[str, Instant] = {}
    for instant in found:
        known = by_phase.get(instant.phase)
        if known is None or instant.ledger.total > known.ledger.total:
            by_phase[instant.phase] = instant
    return [
        {
            "phase": phase,
            "lines": {line: getattr(instant.ledger, line) for line in LINES},
            "total": instant.ledger.total,
            "allocated": instant.ledger.allocated,
        }
        for phase, instant in by_phase.items()
    ]


def _changes(request: Request, card: Card, catalog: Catalog) -> list[dict[str, Any]]:
    found = solve.changes_that_fit(
        _settle(request),
        card,
        eight_bit=catalog.optimizers.get(EIGHT_BIT_OPTIMIZER),
        settle=lambda changed: _settle(replace(request, case=changed)),
    )
    return [
        {
            "field": change.field,
            "value": change.value,
            "set": dict(change.settings),
            "label": change.label,
            "cost": change.cost,
            "changes_training": change.changes_training,
            "num_gpus": change.num_gpus,
            "total": change.total,
            "verdict": change.verdict,
        }
        for change in found
    ]


def _cards(request: Request, catalog: Catalog, ids: list[str] | None = None) -> list[Card]:
    """Cards of the catalog, the request's own as the request has it: its price, what is left."""
    own = request.card
    if ids is None:
        known = dict(catalog.cards)
        return list((known if own is None else {**known, own.id: own}).values())
    return [own if own is not None and own.id == each else catalog.cards[each] for each in ids]


def _grid(request: Request, catalog: Catalog, card_ids: object) -> dict[str, Any]:
    case = request.case
    cards = _cards(request, catalog)
    if card_ids is not None:
        if not isinstance(card_ids, list) or not all(isinstance(each, str) for each in card_ids):
            raise TrainfitError("wrong-type", "cards", "cards must be a list of card ids.")
        try:
            ids = [catalog.card(each).id for each in card_ids]
        except TrainfitError as problem:
            raise TrainfitError(problem.code, "cards", problem.message) from None
        cards = _cards(request, catalog, ids)
    totals: dict[int, int] = {}

    def total(count: int) -> int:
        if count not in totals:
            totals[count] = peak(replace(case, num_gpus=count)).ledger.total
        return totals[count]

    rows: list[dict[str, Any]] = []
    for card in cards:
        counts = usable_counts(case.strategy, card)
        cells: list[dict[str, Any] | None] = []
        for count in RUNGS:
            if count not in counts:
                cells.append(None)
                continue
            need = total(count)
            cells.append(
                {
                    "num_gpus": count,
                    "total": need,
                    "verdict": verdict_name(need, card),
                    "share": round(need / card.memory_marketed_bytes, 4),
                }
            )
        rows.append({"id": card.id, "name": card.name, "cells": cells})
    return {"gpu_counts": list(RUNGS), "cards": rows}


def _curve(request: Request, lengths: object) -> dict[str, Any]:
    case = _settle(request)
    if lengths is None:
        lengths = list(DEFAULT_CURVE_LENGTHS)
    low, high = RANGES["sequence_length"]
    lengths = list(map(whole, lengths)) if isinstance(lengths, list) else lengths
    valid = isinstance(lengths, list) and all(
        isinstance(each, int) and not isinstance(each, bool) and low <= each <= high
        for each in lengths
    )
    if not valid or not isinstance(lengths, list) or len(lengths) > MAX_CURVE_LENGTHS:
        raise TrainfitError(
            "wrong-type",
            "sequence_lengths",
            f"sequence_lengths must be a list of at most {MAX_CURVE_LENGTHS} whole numbers from "
            f"{low} to {high:,}.",
        )
    points = []
    for length in lengths:
        workload = replace(case.workload, sequence_length=length)
        ledger = peak(replace(case, workload=workload)).ledger
        low_total, high_total = band(case, ledger)
        points.append(
            {
                "sequence_length": length,
                "total": ledger.total,
                "low": low_total,
                "high": high_total,
            }
        )
    return {"num_gpus": case.num_gpus, "points": points}


def _needs_card(request: Request) -> Card:
    if request.card is None:
        raise TrainfitError(
            "missing-field", "card", "This question needs a card; name one by its id."
        )
    return request.card


def _solve(request: Request, catalog: Catalog, dataset: Dataset) -> dict[str, Any]:
    card = _needs_card(request)
    case = _settle(request)
    num_tokens = dataset.processed_tokens(case.workload.sequence_length)
    fitting = set_ups_that_fit(request.case, _cards(request, catalog), num_tokens=num_tokens)

    def best(key: Callable[[SetUp], float | None]) -> dict[str, Any] | None:
        return _best(fitting, key, num_tokens, case.precision)

    return {
        "strategy": case.strategy,
        "num_gpus": case.num_gpus,
        "longest_sequence": solve.longest_sequence(case, card),
        "context_length": case.model.context_length,
        "largest_micro_batch": solve.largest_micro_batch(case, card),
        "fewest_gpus": fewest_gpus(request.case, card),
        "cheapest": best(lambda each: each.usd_per_hour),
        "cheapest_run": best(lambda each: each.usd),
        "fastest": best(lambda each: each.hours),
        "changes": _changes(request, card, catalog),
    }


def _best(
    found: Iterable[SetUp],
    key: Callable[[SetUp], float | None],
    num_tokens: int,
    precision: Precision,
) -> dict[str, Any] | None:
    """The set-up with the least of something, among those that have it."""
    ranked = [(value, each) for each in found if (value := key(each)) is not None]
    if not ranked:
        return None
    best = min(ranked, key=lambda pair: pair[0])[1]
    return {
        "card": best.card.id,
        "num_gpus": best.num_gpus,
        "total": best.total_bytes,
        "usd_per_hour": None if best.usd_per_hour is None else round(best.usd_per_hour, 4),
        "hours": None if best.hours is None else _significant(best.hours),
        "usd": None if best.usd is None else _significant(best.usd),
        "num_tokens": num_tokens,
        "price_date": best.card.price_date,
        "is_in_fp16": not best.card.supports_bf16 and precision != "fp32",
    }


def _export(request: Request, catalog: Catalog, tool: object, dataset: Dataset) -> dict[str, Any]:
    # Imported here: the browser compiles the writers when someone first exports.
    from generator.core.launch.export import export

    case = _settle(request)
    launch = export(request, tool, num_gpus=case.num_gpus, dataset=dataset, catalog=catalog)
    return {
        "tool": tool,
        "num_gpus": case.num_gpus,
        "files": [{"filename": file.filename, "text": file.text} for file in launch.files],
        "command": launch.command,
        "notes": list(launch.notes),
    }


def _recognise(fields: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    from generator.core.launch.recognise import recognise

    unknown = sorted(str(name)[:80] for name in fields if name != "text")
    if unknown:
        raise TrainfitError(
            "unknown-field", unknown[0], f"recognise takes only text, not {unknown[0]!r}."
        )
    if "text" not in fields:
        raise TrainfitError("missing-field", "text", "recognise needs text: the file to read.")
    return recognise(fields["text"], catalog)


def _decode(request: Request, message: object) -> dict[str, Any]:
    if not isinstance(message, str):
        raise TrainfitError(
            "missing-field" if message is None else "wrong-type",
            "message",
            "decode takes the text of an out-of-memory error as message.",
        )
    return oom.decode(message, _settle(request))


def describe(catalog: Catalog) -> dict[str, Any]:
    """Everything that builds a form: ids with names, choices, ranges and defaults of every
    field.
    """
    return {
        "defaults": {**DEFAULTS, "dataset": DATASET_DEFAULTS, "price_usd_per_hour": None},
        "choices": {name: list(values) for name, values in CHOICES.items()},
        "ranges": {name: list(bounds) for name, bounds in (RANGES | NUMBER_RANGES).items()},
        "gpu_counts": list(RUNGS),
        "models": [
            {
                "id": entry.id,
                "name": entry.name,
                "family": entry.family,
                "hugging_face": entry.hugging_face,
            }
            for entry in catalog.models.values()
        ],
        "cards": [
            {
                "id": card.id,
                "name": card.name,
                "memory_marketed_gb": card.memory_marketed_gb,
                "form": card.form,
                "gpu_counts": list(gpu_counts(card)),
            }
            for card in catalog.cards.values()
        ],
        "optimizers": [{"id": each.id, "name": each.name} for each in catalog.optimizers.values()],
        "stacks": [{"id": each.id, "name": each.name} for each in catalog.stacks.values()],
        "tools": [{"id": id_, "name": name} for id_, name in TOOLS.items()],
    }


def answer(given: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The answer to one request as plain JSON types.

    Args:
        given: The request's fields, and `op` (default `estimate`) with that operation's own fields.
        catalog: Where ids are looked up.

    Raises:
        TrainfitError: whatever is wrong with the request.
    """
    fields = dict(given)
    operation = fields.pop("op", "estimate")
    if operation not in OPERATIONS:
        raise TrainfitError("unknown-id", "op", f"op must be one of {', '.join(OPERATIONS)}.")
    if operation == "describe":
        if fields:
            name = str(next(iter(fields)))[:80]
            told = f"describe takes no other field, and the request has {name!r}; leave it out."
            raise TrainfitError("unknown-field", name, told)
        return describe(catalog)
    if operation == "recognise":
        return _recognise(fields, catalog)
    own = {name: fields.pop(name, None) for name in OWN_FIELDS[operation]}
    dataset = parse_dataset(own.get("dataset"), is_counted=operation != "export")
    request = parse(fields, catalog, beside=("op", *own))
    request = with_price(request, own.get("price_usd_per_hour"))
    if operation == "estimate":
        return _estimate(request, catalog, dataset)
    if operation == "grid":
        return _grid(request, catalog, own["cards"])
    if operation == "curve":
        return _curve(request, own["sequence_lengths"])
    if operation == "solve":
        return _solve(request, catalog, dataset)
    if operation == "export":
        return _export(request, catalog, own["tool"], dataset)
    if operation == "decode":
        return _decode(request, own["message"])
    return {
        "estimate": _estimate(request, catalog, dataset),
        "grid": _grid(request, catalog, own["cards"]),
        "curve": _curve(request, own["sequence_lengths"]),
    }


def run(text: str, catalog: Catalog) -> str:
    """JSON in, JSON out; an error comes back as an object too.

    Args:
        text: One JSON object.
        catalog: Where ids are looked up.
    """
    try:
        result = answer(parse_json(text), catalog)
    except TrainfitError as problem:
        result = {"error": problem.to_dict()}
    return json.dumps(result, separators=(",", ":"))
