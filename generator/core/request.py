"""The request of an estimate: its fields, their defaults, and what makes each of them valid.

A request is a plain JSON object. `parse` checks it field by field and fills the defaults in; every
fault is a `TrainfitError` that names the field and the remedy.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from generator.core.card import GPU_COUNTS_BY_FORM, GPUS_PER_NODE_BY_FORM, Card
from generator.core.catalog import Catalog
from generator.core.dataset import Dataset
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_parameter_count, read_config
from generator.core.hf_config.unread import unknown_note
from generator.core.model import Model
from generator.core.nearest import did_you_mean
from generator.core.nesting import check_nesting, object_of
from generator.core.other_words import CHOICE_WORDS, FIELD_WORDS, NO_CHOICE_WORDS, WITHOUT_EFFECT
from generator.core.run import (
    ADAPTER_DTYPES,
    ATTENTION_KERNELS,
    BASE_DTYPES,
    CHECKPOINTINGS,
    LOSSES,
    MAX_ACCUMULATION_STEPS,
    MAX_GPUS,
    MAX_LORA_RANK,
    MAX_MICRO_BATCH_SIZE,
    MAX_SEQUENCE_LENGTH,
    METHODS,
    OPTIMIZER_IMPLEMENTATIONS,
    PRECISIONS,
    STRATEGIES,
    Case,
    Lora,
    Workload,
)
from generator.core.stack import Stack

MAX_REQUEST_CHARACTERS = 2_000_000

LORA_DEFAULTS: dict[str, object] = asdict(Lora())
DEFAULTS: dict[str, object] = {
    "method": "full",
    "precision": "bf16-mixed",
    "optimizer": "adamw",
    "optimizer_implementation": "fused",
    "strategy": "single",
    "num_gpus": None,
    **asdict(Workload()),
    "stack": "generic",
    "stack_version": None,
    "lora": LORA_DEFAULTS,
    "card": "h100-sxm-80gb",
}
"""What a request leaves out. `num_gpus` null lets the strategy pick: one, two, or the ladder."""

CHOICES: dict[str, tuple[str, ...]] = {
    "method": METHODS,
    "precision": PRECISIONS,
    "optimizer_implementation": OPTIMIZER_IMPLEMENTATIONS,
    "strategy": STRATEGIES,
    "activation_checkpointing": CHECKPOINTINGS,
    "attention": ATTENTION_KERNELS,
    "loss": LOSSES,
    "lora.adapter_dtype": ADAPTER_DTYPES,
    "lora.base_dtype": BASE_DTYPES,
}

RANGES: dict[str, tuple[int, int]] = {
    "num_gpus": (1, MAX_GPUS),
    "sequence_length": (1, MAX_SEQUENCE_LENGTH),
    "micro_batch_size": (1, MAX_MICRO_BATCH_SIZE),
    "gradient_accumulation_steps": (1, MAX_ACCUMULATION_STEPS),
    "lora.rank": (1, MAX_LORA_RANK),
    "card.memory_gb": (1, 10_000),
    "dataset.num_tokens": (1, 10**15),
    "dataset.num_samples": (1, 10**12),
    "dataset.tokens_per_sample": (1, MAX_SEQUENCE_LENGTH),
}

NUMBER_RANGES: dict[str, tuple[float, float]] = {
    "card.reserved_gb": (0.0, 10_000.0),
    "dataset.epochs": (0.001, 1_000.0),
    "price_usd_per_hour": (0.001, 10_000.0),
}
"""As `RANGES`, for numbers that need not be whole."""

DATASET_DEFAULTS: dict[str, object] = {
    "num_tokens": None,
    "num_samples": None,
    "tokens_per_sample": None,
    "epochs": 1,
    "packing": True,
}
"""What a data set leaves out; without any size it has `DEFAULT_NUM_TOKENS`."""
DEFAULT_NUM_TOKENS = 100_000_000

PRICE_GIVEN = "given"
"""Stands where the month of a price would, when the price came with the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A checked request: the case, the card to judge it on, and whether the count is still open."""

    case: Case
    card: Card | None
    picks_gpus: bool
    model_id: str | None
    filled: dict[str, object]
    """The request with every default filled in, for echo and links."""
    notes: tuple[str, ...] = ()
    """What of the request has no effect, or another one than its words say."""


def parse_json(text: str) -> dict[str, object]:
    """One JSON object out of text, with the limits that keep hostile input harmless.

    Args:
        text: One JSON object; NaN and infinities are no JSON.

    Raises:
        TrainfitError: too long, no JSON, nested too deeply, a key twice, or no object.
    """
    if len(text) > MAX_REQUEST_CHARACTERS:
        raise TrainfitError(
            "input-too-large",
            "request",
            f"The request has {len(text):,} characters; {MAX_REQUEST_CHARACTERS:,} are the limit. "
            "Send one JSON object per line, and of a config only its config.json.",
        )

    if not text.strip():
        raise TrainfitError(
            "bad-json",
            "request",
            'The request is empty; send an object like {"model": "llama-3.1-8b"}.',
        )

    def no_constant(name: str) -> float:
        raise TrainfitError("bad-json", "request", f"{name} is no JSON number; write a finite one.")

    try:
        check_nesting(text)
        value = json.loads(text, parse_constant=no_constant, object_pairs_hook=object_of)
    except TrainfitError:
        raise
    except RecursionError:
        raise TrainfitError(
            "bad-json", "request", "The request is nested too deeply to be a request; flatten it."
        ) from None
    except ValueError as problem:
        reason = str(problem)[:120]
        raise TrainfitError(
            "bad-json",
            "request",
            f"The request cannot be read as JSON: {reason}. Send one JSON object per line.",
        ) from None
    if not isinstance(value, dict):
        raise TrainfitError(
            "bad-request",
            "request",
            f"The request is a JSON {_json_type(value)}; "
            'send an object like {"model": "llama-3.1-8b"}, and several on a line each.',
        )
    return value


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _shown(value: object) -> str:
    """A value as an error message quotes it, never longer than a line."""
    if isinstance(value, dict | list):
        return f"a JSON {_json_type(value)}"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_fields(
    given: Mapping[str, object], known: tuple[str, ...], prefix: str, beside: tuple[str, ...] = ()
) -> None:
    """Refuses a field that is not among `known`; `beside` are those that stood there, too."""
    for name in given:
        if name not in known:
            key = str(name)[:80]
            word = FIELD_WORDS.get(key.lower(), "")
            names = (*known, *beside)
            if key in ("architectures", "model_type"):
                raise TrainfitError(
                    "unknown-field",
                    prefix + key,
                    f"{key} is a field of a config.json, which stands in the request as "
                    '{"model": {"config": {...}}}.',
                )
            if word not in ("", prefix + key):
                hint = f"; here it is called {word}."
            elif key.lower() in WITHOUT_EFFECT:
                hint = "; it changes neither memory nor time, so leave it out."
            else:
                hint = did_you_mean(key, names) or f"; known are {', '.join(names)}."
            raise TrainfitError(
                "unknown-field",
                prefix + str(name)[:80],
                f"There is no field {_shown(name)}{hint}",
            )


def _choice(name: str, value: object) -> str:
    choices = CHOICES[name]
    if not isinstance(value, str):
        raise TrainfitError(
            "wrong-type",
            name,
            f"{name} is a JSON {_json_type(value)}; use one of {', '.join(choices)}.",
        )
    # Upper and lower case are alike, as in the catalog's ids.
    text = value.strip().lower()
    if text not in choices:
        word = CHOICE_WORDS.get(name, {}).get(text)
        why = NO_CHOICE_WORDS.get(name, {}).get(text, "is unknown")
        told = f"means {word}" if word else why
        raise TrainfitError(
            "unknown-id", name, f"{name} {_shown(value)} {told}; use one of {', '.join(choices)}."
        )
    return text


def whole(value: object) -> object:
    """A number as the integer that it is, as `1e8`: JSON has one type of numbers; else as given.

    Args:
        value: Of any JSON type.
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _integer(name: str, value: object) -> int:
    low, high = RANGES[name]
    value = whole(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TrainfitError(
            "wrong-type",
            name,
            f"{name} is {_shown(value)}; use a whole number from {low} to {high:,}.",
        )
    if not low <= value <= high:
        raise TrainfitError(
            "out-of-range",
            name,
            f"{name} is {_shown(value)}; use a whole number from {low} to {high:,}.",
        )
    return value


def _number(name: str, value: object) -> float:
    low, high = NUMBER_RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TrainfitError(
            "wrong-type",
            name,
            f"{name} is {_shown(value)}; use a number from {low:g} to {high:,g}.",
        )
    if not low <= value <= high:
        raise TrainfitError(
            "out-of-range",
            name,
            f"{name} is {_shown(value)}; use a number from {low:g} to {high:,g}.",
        )
    return float(value)


def _boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TrainfitError("wrong-type", name, f"{name} is {_shown(value)}; use true or false.")
    return value


def _name(name: str, value: object, remedy: str = "use an id of the catalog") -> str:
    if not isinstance(value, str):
        raise TrainfitError("wrong-type", name, f"{name} is a JSON {_json_type(value)}; {remedy}.")
    if len(value) > 200:
        raise TrainfitError(
            "unknown-id", name, f"{name} has {len(value):,} characters and is no id."
        )
    return value


def _model(value: object, catalog: Catalog) -> tuple[Model, str | None, object, tuple[str, ...]]:
    """The model, its id in the catalog, how the request names it, and notes on what it says."""
    if isinstance(value, str):
        if value.strip().lower().endswith(".json"):
            raise TrainfitError(
                "unknown-id",
                "model",
                f"model names a file, {_shown(value)}, and none is read here; put what is in it "
                'into the request as {"model": {"config": {...}}}.',
            )
        entry = catalog.model(_name("model", value))
        return entry.model, entry.id, entry.id, ()
    if not isinstance(value, dict):
        raise TrainfitError(
            "wrong-type",
            "model",
            f"model is a JSON {_json_type(value)}; use a catalog id, "
            '{"num_parameters": N} or {"config": {...}}.',
        )
    _check_fields(value, ("num_parameters", "config"), "model.")
    if len(value) != 1:
        raise TrainfitError(
            "bad-request", "model", "Give the model either num_parameters or config, and only one."
        )
    if "config" in value:
        config = value["config"]
        if not isinstance(config, dict):
            raise TrainfitError(
                "wrong-type",
                "model.config",
                f"model.config is a JSON {_json_type(config)}; paste the object of a config.json.",
            )
        model, questions = read_config(config, name="custom model")
        note = unknown_note(config, questions)
        return model, None, value, (note,) if note else ()
    count = whole(value["num_parameters"])
    if isinstance(count, bool) or not isinstance(count, int):
        raise TrainfitError(
            "wrong-type",
            "model.num_parameters",
            f"model.num_parameters is {_shown(count)}; use a whole number such as 13000000000.",
        )
    return model_from_parameter_count(count), None, {"num_parameters": count}, ()


def _lora(value: Mapping[str, object]) -> Lora:
    _check_fields(value, tuple(LORA_DEFAULTS), "lora.")
    filled = {**LORA_DEFAULTS, **value}
    targets = filled["target_modules"]
    if isinstance(targets, list):
        if not targets or not all(isinstance(each, str) and len(each) <= 200 for each in targets):
            raise TrainfitError(
                "wrong-type",
                "lora.target_modules",
                'lora.target_modules must be "all-linear" or a list of module names.',
            )
        targets = tuple(sorted(set(targets)))
        if targets == ("all-linear",):
            targets = "all-linear"
    elif targets != "all-linear":
        raise TrainfitError(
            "wrong-type",
            "lora.target_modules",
            f"lora.target_modules is {_shown(targets)}; "
            'use "all-linear" or a list of module names.',
        )
    return Lora(
        rank=_integer("lora.rank", filled["rank"]),
        target_modules=targets,  # type: ignore[arg-type]
        adapter_dtype=_choice("lora.adapter_dtype", filled["adapter_dtype"]),  # type: ignore[arg-type]
        base_dtype=_choice("lora.base_dtype", filled["base_dtype"]),  # type: ignore[arg-type]
        dropout=_boolean("lora.dropout", filled["dropout"]),
        train_embeddings=_boolean("lora.train_embeddings", filled["train_embeddings"]),
        train_head=_boolean("lora.train_head", filled["train_head"]),
    )


def _card(value: object, catalog: Catalog) -> tuple[Card | None, object]:
    """The card to judge on, and how the request names it: null, an id, or an object with the size
    of one's own card or with what other programs hold of one.
    """
    if value is None:
        return None, None
    if isinstance(value, str):
        card = catalog.card(_name("card", value))
        return card, card.id
    if not isinstance(value, dict):
        raise TrainfitError(
            "wrong-type",
            "card",
            f"card is a JSON {_json_type(value)}; use a catalog id, null or an object like "
            '{"memory_gb": 24}.',
        )
    _check_fields(value, ("id", "memory_gb", "reserved_gb"), "card.")
    if ("id" in value) == ("memory_gb" in value):
        raise TrainfitError(
            "bad-request",
            "card",
            "A card is either one of the catalog, with id, or of a size, with memory_gb; give "
            "one of the two.",
        )
    named: dict[str, object]
    if "id" in value:
        card = catalog.card(_name("card.id", value["id"]))
        named = {"id": card.id}
    else:
        size = _integer("card.memory_gb", value["memory_gb"])
        card = Card(
            id="own",
            name=f"Card with {size:,} GB",
            vendor="",
            form="pcie",
            memory_marketed_gb=size,
            allowed_gpu_counts=GPU_COUNTS_BY_FORM["pcie"],
            gpus_per_node=GPUS_PER_NODE_BY_FORM["pcie"],
        )
        named = {"memory_gb": size}
    reserved = _number("card.reserved_gb", value.get("reserved_gb", 0))
    if not reserved:
        return card, named.get("id", named)
    offered = card.memory_usable_bytes or card.memory_marketed_bytes
    left = offered - round(reserved * 10**9)
    if left <= 0:
        raise TrainfitError(
            "out-of-range",
            "card.reserved_gb",
            f"card.reserved_gb is {reserved:g}, which leaves nothing of {card.name}; use what "
            "other programs hold of it, such as 0.5.",
        )
    return replace(card, memory_usable_bytes=left), {**named, "reserved_gb": reserved}


def parse_dataset(value: object, *, is_counted: bool = True) -> Dataset:
    """The data set that hours and money are asked for, or that a launch file is written for.

    Args:
        value: An object with fields of `DATASET_DEFAULTS`, or None.
        is_counted: Hours follow from it, so that padding needs the number of samples.

    Raises:
        TrainfitError: a field that is unknown, of the wrong type or out of range; two sizes; or a
            size that lacks a part.
    """
    given = {} if value is None else _as_dict("dataset", value)
    _check_fields(given, tuple(DATASET_DEFAULTS), "dataset.")
    filled = {**DATASET_DEFAULTS, **given}
    sizes = {
        name: None if filled[name] is None else _integer(f"dataset.{name}", filled[name])
        for name in ("num_tokens", "num_samples", "tokens_per_sample")
    }
    packing = _boolean("dataset.packing", filled["packing"])
    has_tokens, has_samples, has_length = (size is not None for size in sizes.values())
    if has_tokens and has_length:
        raise TrainfitError(
            "bad-request",
            "dataset.num_tokens",
            "A data set has num_tokens, or num_samples with tokens_per_sample; give one of the "
            "two.",
        )
    if not has_samples and (has_length or (is_counted and not packing)):
        reason = "A mean length goes with" if has_length else "Padding depends on"
        raise TrainfitError(
            "missing-field",
            "dataset.num_samples",
            f"{reason} the number of samples; give dataset.num_samples.",
        )
    if has_samples and not has_tokens and not has_length:
        raise TrainfitError(
            "missing-field",
            "dataset.tokens_per_sample",
            "Samples need their mean length; give dataset.tokens_per_sample, or num_tokens.",
        )
    num_tokens, num_samples = sizes["num_tokens"], sizes["num_samples"]
    if num_tokens is not None and num_samples is not None and num_tokens < num_samples:
        raise TrainfitError(
            "bad-request",
            "dataset.num_tokens",
            f"{num_samples:,} samples cannot have {num_tokens:,} tokens, less than one each; "
            "num_tokens counts the tokens of all samples.",
        )
    if not has_samples and not has_tokens:
        sizes["num_tokens"] = DEFAULT_NUM_TOKENS
    return Dataset(**sizes, packing=packing, epochs=_number("dataset.epochs", filled["epochs"]))


def with_price(request: Request, value: object) -> Request:
    """The request with its card at a price of one's own.

    Args:
        request: A checked request.
        value: US dollars per GPU and hour, or None for the card's own price.

    Raises:
        TrainfitError: not a number, out of range, or no card to have that price.
    """
    if value is None:
        return request
    price = _number("price_usd_per_hour", value)
    if request.card is None:
        raise TrainfitError(
            "missing-field", "card", "A price needs a card to pay for; name one by its id."
        )
    return replace(
        request,
        card=replace(
            request.card,
            price_usd_per_hour=price,
            price_usd_per_hour_high=None,
            price_date=PRICE_GIVEN,
        ),
    )


def parse(
    given: Mapping[str, object], catalog: Catalog, *, beside: tuple[str, ...] = ()
) -> Request:
    """A checked request with every default filled in.

    Args:
        given: The JSON object; fields of `DEFAULTS` and `model`.
        catalog: Where ids are looked up.
        beside: Fields that the caller has taken out, for the message about an unknown one.

    Raises:
        TrainfitError: the first field that is missing, unknown, of the wrong type or out of range.
    """
    _check_fields(given, ("model", *DEFAULTS), "", beside)
    if "model" not in given:
        raise TrainfitError(
            "missing-field",
            "model",
            'The request names no model; add "model": a catalog id, {"num_parameters": N} or '
            '{"config": {...}}.',
        )
    filled: dict[str, object] = {**DEFAULTS, **given}
    stack = catalog.stack(_name("stack", filled["stack"]))
    if "stack" in given:
        # A named tool brings its own settings; what the request says still wins.
        filled = {**DEFAULTS, **stack.request_defaults(), **given}
    model, model_id, model_named, model_notes = _model(given["model"], catalog)
    lora = _lora({**stack.lora_defaults(), **_as_dict("lora", given.get("lora", {}))})
    notes = list(model_notes)
    version = filled["stack_version"]
    if version is not None:
        release = _name("stack_version", version, 'write it as text, such as "4.48.1"')
        told = stack.releases_like(release)
        stack = stack.at_version(release)
        notes.append(told)
    method = _choice("method", filled["method"])
    if own_defaults := _own_defaults(stack, given, method):
        notes.append(own_defaults)
    if method == "full" and given.get("lora"):
        notes.append('The lora settings have no effect: method is "full".')
    strategy = _choice("strategy", filled["strategy"])
    num_gpus = filled["num_gpus"]
    count = 1 if num_gpus is None else _integer("num_gpus", num_gpus)
    num_gpus = None if num_gpus is None else count
    card, card_named = _card(filled["card"], catalog)
    optimizer = catalog.optimizer(_name("optimizer", filled["optimizer"]))
    case = Case(
        model=model,
        optimizer=optimizer,
        stack=stack,
        method=method,  # type: ignore[arg-type]
        lora=lora,
        precision=_choice("precision", filled["precision"]),  # type: ignore[arg-type]
        optimizer_implementation=_choice(  # type: ignore[arg-type]
            "optimizer_implementation", filled["optimizer_implementation"]
        ),
        strategy=strategy,  # type: ignore[arg-type]
        num_gpus=count,
        workload=Workload(
            sequence_length=_integer("sequence_length", filled["sequence_length"]),
            micro_batch_size=_integer("micro_batch_size", filled["micro_batch_size"]),
            gradient_accumulation_steps=_integer(
                "gradient_accumulation_steps", filled["gradient_accumulation_steps"]
            ),
            activation_checkpointing=_choice(  # type: ignore[arg-type]
                "activation_checkpointing", filled["activation_checkpointing"]
            ),
            attention=_choice("attention", filled["attention"]),  # type: ignore[arg-type]
            loss=_choice("loss", filled["loss"]),  # type: ignore[arg-type]
        ),
    )
    _refuse_conflicts(case)
    targets = lora.target_modules
    filled |= {
        "model": model_named,
        "method": case.method,
        "precision": case.precision,
        "optimizer": optimizer.id,
        "optimizer_implementation": case.optimizer_implementation,
        "strategy": case.strategy,
        "num_gpus": num_gpus,
        **asdict(case.workload),
        "stack": stack.id,
        # JSON has lists, no tuples.
        "lora": {
            **asdict(lora),
            "target_modules": targets if isinstance(targets, str) else list(targets),
        },
        "card": card_named,
    }
    return Request(
        case=case,
        card=card,
        picks_gpus=num_gpus is None,
        model_id=model_id,
        filled=filled,
        notes=tuple(notes),
    )


def _refuse_conflicts(case: Case) -> None:
    """Settings that are sound alone and cannot go together."""
    if case.strategy == "single" and case.num_gpus != 1:
        raise TrainfitError(
            "unsupported-combination",
            "num_gpus",
            f"Strategy single evaluates one GPU, but num_gpus is {case.num_gpus}; "
            "use ddp, zero-1, zero-2 or zero-3 for several.",
        )
    steps = case.workload.gradient_accumulation_steps
    if case.steps_in_backward and steps > 1:
        raise TrainfitError(
            "unsupported-combination",
            "gradient_accumulation_steps",
            f"{case.optimizer.name} updates during backward and cannot accumulate gradients over "
            f"{steps} steps; use 1.",
        )
    if case.strategy.startswith("zero") and not case.optimizer.shards_with_zero:
        raise TrainfitError(
            "unsupported-combination",
            "strategy",
            f"{case.optimizer.name} works on whole gradient matrices, which no GPU of a "
            f"{case.strategy} run has; use strategy single or ddp, or another optimizer.",
        )


def _own_defaults(stack: Stack, given: Mapping[str, object], method: str) -> str:
    """What a named tool sets in place of the usual default, in a sentence; empty where nothing."""
    usual: Mapping[str, object] = {**DEFAULTS, **_dotted("lora", LORA_DEFAULTS)}
    told = {*given, *_dotted("lora", given.get("lora", {}))}
    own = [
        f"{name} {json.dumps(value).strip(chr(34))}"
        for name, value in stack.defaults
        if name not in told
        and value != usual.get(name)
        and not (method == "full" and name.startswith("lora."))
    ]
    return f"Own defaults of {stack.name}: {', '.join(own)}." if own else ""


def _dotted(group: str, value: object) -> dict[str, object]:
    """The fields of a group by their whole names: `lora.rank`."""
    return {f"{group}.{name}": own for name, own in _as_dict(group, value).items()}


def _as_dict(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TrainfitError(
            "wrong-type", name, f"{name} is a JSON {_json_type(value)}; use an object."
        )
    return value
