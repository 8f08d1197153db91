"""Requests: cards of one's own, data sets and prices, and what is wrong with them."""

import json
import re
from typing import Any

import pytest

from generator.core.api import OWN_FIELDS, answer, run
from generator.core.catalog import Catalog
from generator.core.other_words import (
    CHOICE_WORDS,
    FIELD_WORDS,
    NO_CHOICE_WORDS,
    STACK_WORDS,
    WITHOUT_EFFECT,
)
from generator.core.request import CHOICES, DATASET_DEFAULTS, DEFAULTS, NUMBER_RANGES, RANGES
from generator.load import CATALOG_DIR, load_catalog

HOUR_SECONDS = 3600
LLAMA: dict[str, Any] = {"model": "llama-3.1-8b", "method": "lora"}
CARD = "rtx-4090-24gb"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def cost(catalog: Catalog, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer({**LLAMA, "card": CARD, **fields}, catalog)["throughput"]["cost"]
    return found


def test_a_card_of_ones_own_is_judged_by_its_size(catalog: Catalog) -> None:
    roomy = answer({**LLAMA, "card": {"memory_gb": 24}}, catalog)
    small = answer({**LLAMA, "card": {"memory_gb": 16}}, catalog)

    assert roomy["card"]["memory_marketed_bytes"] == 24_000_000_000
    assert roomy["card"]["verdict"] == "fits"
    assert small["card"]["verdict"] == "no"
    assert roomy["per_gpu"] == small["per_gpu"]
    assert roomy["request"]["card"] == {"memory_gb": 24}
    assert roomy["throughput"]["tokens_per_second"] is None


def test_what_other_programs_hold_is_taken_from_what_the_driver_offers(catalog: Catalog) -> None:
    whole = answer({**LLAMA, "card": CARD}, catalog)["card"]
    result = answer({**LLAMA, "card": {"id": CARD, "reserved_gb": 2.5}}, catalog)
    left = result["card"]

    assert whole["memory_usable_bytes"] - left["memory_usable_bytes"] == 2_500_000_000
    assert left["memory_marketed_bytes"] == whole["memory_marketed_bytes"]
    assert "Other programs hold 2.5 GB of the card." in result["assumptions"]


def test_a_reserve_shortens_the_longest_sequence(catalog: Catalog) -> None:
    request = {**LLAMA, "op": "solve"}
    whole = answer({**request, "card": CARD}, catalog)
    less = answer({**request, "card": {"id": CARD, "reserved_gb": 4}}, catalog)

    assert 0 < less["longest_sequence"] < whole["longest_sequence"]


def test_the_table_judges_the_request_s_card_as_the_request_has_it(catalog: Catalog) -> None:
    card = {"id": CARD, "reserved_gb": 4}
    request = {**LLAMA, "card": card, "op": "page", "sequence_lengths": [2048]}
    page = answer({**request, "sequence_length": 1024}, catalog)
    row = next(row for row in page["grid"]["cards"] if row["id"] == CARD)
    own = answer({**LLAMA, "card": {"memory_gb": 24}, "op": "grid"}, catalog)

    assert row["cells"][0]["verdict"] == page["estimate"]["card"]["verdict"]
    assert own["cards"][-1]["name"] == "Card with 24 GB"
    assert len(own["cards"]) == len(catalog.cards) + 1


def test_a_reserve_of_nothing_is_no_reserve(catalog: Catalog) -> None:
    plain = answer({**LLAMA, "card": CARD}, catalog)

    assert answer({**LLAMA, "card": {"id": CARD, "reserved_gb": 0}}, catalog) == plain
    assert answer({**LLAMA, "card": {"id": CARD}}, catalog) == plain


def test_hours_and_money_are_those_of_the_data_set(catalog: Catalog) -> None:
    usual = cost(catalog)
    three = cost(catalog, dataset={"num_tokens": 100_000_000, "epochs": 3})
    samples = cost(catalog, dataset={"num_samples": 250_000, "tokens_per_sample": 400})

    assert usual["num_tokens"] == samples["num_tokens"] == 100_000_000
    assert three["num_tokens"] == 300_000_000
    assert three["hours"] == pytest.approx(3 * usual["hours"], rel=1e-3)
    assert usual["hours_low"] <= usual["hours"] <= usual["hours_high"]
    assert samples["hours"] == usual["hours"]


def test_without_packing_every_sample_costs_its_padding(catalog: Catalog) -> None:
    dataset = {"num_samples": 1_000_000, "tokens_per_sample": 512, "packing": False}
    padded = cost(catalog, dataset=dataset, sequence_length=2048)
    speed = answer({**LLAMA, "card": CARD}, catalog)["throughput"]["tokens_per_second"]

    assert padded["num_tokens"] == 512_000_000
    assert padded["num_processed_tokens"] == 2_048_000_000
    assert padded["hours"] == pytest.approx(2_048_000_000 / speed / HOUR_SECONDS, rel=1e-3)


def test_a_price_of_ones_own_replaces_the_card_s(catalog: Catalog) -> None:
    own = cost(catalog, price_usd_per_hour=0.25)

    assert own["usd"] == pytest.approx(own["gpu_hours"] * 0.25, abs=0.01)
    assert own["price_date"] == "given"
    assert cost(catalog)["price_date"] != "given"


def test_a_card_without_a_price_says_why_there_is_no_money(catalog: Catalog) -> None:
    request = {**LLAMA, "card": "a40-48gb"}
    without = answer(request, catalog)
    priced = answer({**request, "price_usd_per_hour": 0.5}, catalog)
    said = (
        "No rental price of NVIDIA A40 is known, so there is no money; give "
        "price_usd_per_hour for it."
    )

    assert without["throughput"]["cost"]["usd"] is None
    assert set(without["assumptions"]) - set(priced["assumptions"]) == {said}
    assert said not in answer({**LLAMA, "card": CARD}, catalog)["assumptions"]
    own = answer({**LLAMA, "card": {"memory_gb": 24}}, catalog)
    assert not any("price" in note for note in own["assumptions"])


def test_a_price_of_a_card_of_unknown_speed_is_told_to_be_of_no_use(catalog: Catalog) -> None:
    request = {**LLAMA, "card": {"memory_gb": 24}, "price_usd_per_hour": 2}

    notes = answer(request, catalog)["assumptions"]

    assert any("is not known, so its price_usd_per_hour gives no money" in note for note in notes)


@pytest.mark.parametrize(("num_tokens", "is_told"), [(131_071, True), (131_072, False)])
def test_a_data_set_of_less_than_a_step_is_told(
    catalog: Catalog, num_tokens: int, is_told: bool
) -> None:
    shape = {"strategy": "zero-3", "num_gpus": 8, "sequence_length": 2048}
    request = {**LLAMA, **shape, "card": CARD, "dataset": {"num_tokens": num_tokens}}

    notes = answer(request, catalog)["assumptions"]

    assert is_told == any("One optimizer step takes 131,072 tokens" in note for note in notes)


def test_the_cheapest_hour_knows_ones_own_price(catalog: Catalog) -> None:
    request = {**LLAMA, "card": "h100-sxm-80gb", "op": "solve"}
    cheapest = answer({**request, "price_usd_per_hour": 0.01}, catalog)["cheapest"]

    assert (cheapest["card"], cheapest["usd_per_hour"]) == ("h100-sxm-80gb", 0.01)


def test_the_cheapest_run_counts_the_data_set(catalog: Catalog) -> None:
    request = {**LLAMA, "op": "solve"}
    once = answer(request, catalog)["cheapest_run"]
    twice = answer({**request, "dataset": {"num_tokens": 200_000_000}}, catalog)["cheapest_run"]

    assert twice["num_tokens"] == 200_000_000
    assert twice["hours"] == pytest.approx(2 * once["hours"], rel=1e-2)


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "card-two-ways": ({"card": {"id": CARD, "memory_gb": 24}}, "bad-request", "card"),
    "card-no-way": ({"card": {"reserved_gb": 1}}, "bad-request", "card"),
    "card-key": ({"card": {"memory": 24}}, "unknown-field", "card.memory"),
    "card-type": ({"card": 24}, "wrong-type", "card"),
    "card-list": ({"card": [24]}, "wrong-type", "card"),
    "card-fraction": ({"card": {"memory_gb": 24.5}}, "wrong-type", "card.memory_gb"),
    "card-zero": ({"card": {"memory_gb": 0}}, "out-of-range", "card.memory_gb"),
    "card-id": ({"card": {"id": 7}}, "wrong-type", "card.id"),
    "reserve-all": (
        {"card": {"id": CARD, "reserved_gb": 99}},
        "out-of-range",
        "card.reserved_gb",
    ),
    "reserve-text": (
        {"card": {"id": CARD, "reserved_gb": "1"}},
        "wrong-type",
        "card.reserved_gb",
    ),
    "reserve-flag": (
        {"card": {"id": CARD, "reserved_gb": True}},
        "wrong-type",
        "card.reserved_gb",
    ),
    "set-type": ({"dataset": "alpaca"}, "wrong-type", "dataset"),
    "set-key": ({"dataset": {"tokens": 1}}, "unknown-field", "dataset.tokens"),
    "set-negative": ({"dataset": {"num_tokens": -1}}, "out-of-range", "dataset.num_tokens"),
    "set-two-ways": (
        {"dataset": {"num_tokens": 1, "num_samples": 1, "tokens_per_sample": 1}},
        "bad-request",
        "dataset.num_tokens",
    ),
    "set-no-length": (
        {"dataset": {"num_samples": 1}},
        "missing-field",
        "dataset.tokens_per_sample",
    ),
    "set-no-samples": (
        {"dataset": {"tokens_per_sample": 1}},
        "missing-field",
        "dataset.num_samples",
    ),
    "set-less-than-a-token": (
        {"dataset": {"num_tokens": 5, "num_samples": 6}},
        "bad-request",
        "dataset.num_tokens",
    ),
    "set-no-padding": ({"dataset": {"packing": False}}, "missing-field", "dataset.num_samples"),
    "set-epochs": ({"dataset": {"epochs": 0}}, "out-of-range", "dataset.epochs"),
    "price-text": ({"price_usd_per_hour": "2"}, "wrong-type", "price_usd_per_hour"),
    "price-zero": ({"price_usd_per_hour": 0}, "out-of-range", "price_usd_per_hour"),
    "price-no-card": ({"price_usd_per_hour": 2, "card": None}, "missing-field", "card"),
    "single-gpus": (
        {"strategy": "single", "num_gpus": 2},
        "unsupported-combination",
        "num_gpus",
    ),
    "in-backward": (
        {"optimizer": "lomo", "gradient_accumulation_steps": 2},
        "unsupported-combination",
        "gradient_accumulation_steps",
    ),
    "whole-matrices": (
        {"optimizer": "galore-adamw", "strategy": "zero-2"},
        "unsupported-combination",
        "strategy",
    ),
    "choice-type": ({"method": 5}, "wrong-type", "method"),
    "id-length": ({"stack": "x" * 201}, "unknown-id", "stack"),
    "lora-type": ({"lora": [16]}, "wrong-type", "lora"),
    "lora-flag": ({"lora": {"dropout": "yes"}}, "wrong-type", "lora.dropout"),
    "targets-none": ({"lora": {"target_modules": []}}, "wrong-type", "lora.target_modules"),
    "targets-types": ({"lora": {"target_modules": [1]}}, "wrong-type", "lora.target_modules"),
    "targets-text": ({"lora": {"target_modules": "q_proj"}}, "wrong-type", "lora.target_modules"),
    "model-type": ({"model": 8}, "wrong-type", "model"),
    "model-key": ({"model": {"name": "x"}}, "unknown-field", "model.name"),
    "model-no-way": ({"model": {}}, "bad-request", "model"),
    "model-two-ways": (
        {"model": {"num_parameters": 10**9, "config": {}}},
        "bad-request",
        "model",
    ),
    "config-type": ({"model": {"config": "gpt2"}}, "wrong-type", "model.config"),
    "count-text": ({"model": {"num_parameters": "8B"}}, "wrong-type", "model.num_parameters"),
    "count-flag": ({"model": {"num_parameters": True}}, "wrong-type", "model.num_parameters"),
    "count-fraction": ({"model": {"num_parameters": 1.5}}, "wrong-type", "model.num_parameters"),
    "count-small": (
        {"model": {"num_parameters": 9_999_999}},
        "out-of-range",
        "model.num_parameters",
    ),
    "count-zero": ({"model": {"num_parameters": 0}}, "out-of-range", "model.num_parameters"),
    "count-huge": ({"model": {"num_parameters": 10**15}}, "out-of-range", "model.num_parameters"),
    "elsewhere": ({"op": "grid", "dataset": {}}, "unknown-field", "dataset"),
}


@pytest.mark.parametrize(("fields", "code", "field"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_its_field(
    catalog: Catalog, fields: dict[str, Any], code: str, field: str
) -> None:
    result = json.loads(run(json.dumps({**LLAMA, **fields}), catalog))

    assert (result["error"]["code"], result["error"]["field"]) == (code, field)
    assert result["error"]["message"].endswith((".", "?"))


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"lora": {"r": 8}}, "lora.r", "no field 'r'; here it is called lora.rank."),
        ({"architectures": ["x"]}, "architectures", 'stands in the request as {"model": {"config"'),
        ({"model": {"model_type": "x"}}, "model.model_type", "is a field of a config.json"),
        ({"lora_rank": 8}, "lora_rank", "here it is called lora.rank."),
        ({"model": "a/config.json"}, "model", "put what is in it into the request as"),
        ({"model": "Mistral 7B"}, "model", 'did you mean "mistral-7b-v0.1" or'),
        ({"model": "Llama_3_8B"}, "model", 'did you mean "meta-llama-3-8b" or'),
        ({"Batch_Size": 8}, "Batch_Size", "here it is called micro_batch_size."),
        ({"lora": {"rnk": 8}}, "lora.rnk", 'did you mean "rank"?'),
        ({"dataset": {"packing_": 1}}, "dataset.packing_", 'did you mean "packing"?'),
        ({"lora": {"packing": True}}, "lora.packing", "here it is called dataset.packing."),
        ({"stack_version": 4.48}, "stack_version", 'write it as text, such as "4.48.1".'),
        (
            {"strategy": "FSDP"},
            "strategy",
            "'FSDP' means zero-3, or zero-2 with SHARD_GRAD_OP; use one",
        ),
        ({"strategy": "pipeline"}, "strategy", "'pipeline' is unknown; use one of single, ddp"),
        ({"precision": "bf16"}, "precision", "means bf16-mixed, or bf16-pure without an FP32"),
        ({"strategy": "1"}, "strategy", "'1' means single, or zero-1 if it is the ZeRO stage; use"),
        (
            {"method": "SFT"},
            "method",
            "'SFT' is a task and does not say which weights train; use one",
        ),
        ({"lora": {"alpha": 16}}, "lora.alpha", "neither memory nor time, so leave it out."),
        ({"lora_alpha": 16}, "lora_alpha", "neither memory nor time, so leave it out."),
        ({"Learning_Rate": 1e-4}, "Learning_Rate", "no field 'Learning_Rate'; it changes neither"),
        ({"method": "sft"}, "method", "; use one of full, lora, qlora."),
        ({"stack": "Transformers"}, "stack", '"Transformers"; here it is hf-trainer, or trl'),
        ({"stack": "llamafactory"}, "stack", "here it is llama-factory. All stacks are in"),
        ({"stack": "x" * 130}, "stack", f'no stack "{"x" * 120}"; it has'),
        ({"card": "RTX 4090"}, "card", 'no card "RTX 4090"; did you mean "rtx-4090'),
        ({"sequence_length": True}, "sequence_length", "is true; use a whole number"),
        ({"sequence_length": None}, "sequence_length", "is null; use a whole number"),
        ({"sequence_length": [1]}, "sequence_length", "is a JSON array; use a whole number"),
        ({"lora": {"dropout": None}}, "lora.dropout", "is null; use true or false."),
        ({"price_usd_per_hour": False}, "price_usd_per_hour", "is false; use a number"),
    ],
)
def test_a_tool_s_word_is_answered_with_ours(
    catalog: Catalog, fields: dict[str, Any], field: str, said: str
) -> None:
    error = json.loads(run(json.dumps({**LLAMA, **fields}), catalog))["error"]

    assert error["field"] == field
    assert said in error["message"]


@pytest.mark.parametrize("operation", OWN_FIELDS)
def test_an_unknown_field_is_answered_with_every_field_that_there_is(
    catalog: Catalog, operation: str
) -> None:
    request = {**LLAMA, "op": operation, "foo": 2}
    error = json.loads(run(json.dumps(request), catalog))["error"]
    listed = error["message"].partition("; known are ")[2].rstrip(".").split(", ")

    assert set(listed) == {"op", "model", *DEFAULTS, *OWN_FIELDS[operation]}
    for name in listed:
        answered = run(json.dumps({**LLAMA, "op": operation, name: None}), catalog)
        assert '"code":"unknown-field"' not in answered


def test_a_price_under_another_name_is_answered_with_ours(catalog: Catalog) -> None:
    error = json.loads(run(json.dumps({**LLAMA, "price": 2}), catalog))["error"]

    assert error["message"] == ("There is no field 'price'; did you mean \"price_usd_per_hour\"?")


def test_the_words_of_tools_lead_to_fields_and_choices_that_there_are(catalog: Catalog) -> None:
    fields = {"model", *CHOICES, *RANGES, *NUMBER_RANGES, *DEFAULTS}
    fields |= {f"lora.{name}" for name in dict(DEFAULTS["lora"])}  # type: ignore[call-overload]
    fields |= {f"dataset.{name}" for name in DATASET_DEFAULTS}
    named = {target for word in FIELD_WORDS.values() for target in word.split(" and ")}

    ids = set(catalog.stacks)
    for word, stacks in STACK_WORDS.items():
        assert stacks.split(",")[0] in ids
        assert word not in ids
    assert WITHOUT_EFFECT & set(FIELD_WORDS) == set()
    assert WITHOUT_EFFECT & {name.rpartition(".")[2] for name in fields} == set()
    assert named - fields == set()
    assert set(DEFAULTS) & set(FIELD_WORDS) == set()
    for name, words in CHOICE_WORDS.items():
        assert {word.split(",")[0] for word in words.values()} <= set(CHOICES[name])
        assert not set(words) & set(CHOICES[name])
        assert not set(words) & set(NO_CHOICE_WORDS.get(name, {}))


def test_the_words_that_the_calculator_shows_are_known() -> None:
    text = (CATALOG_DIR.parent / "docs/assets/calculator/fields.js").read_text(encoding="utf-8")
    shown: dict[str, set[str]] = {}
    for part in text.split('key: "')[1:]:
        key = part.partition('"')[0]
        names = part.partition("names: {")[2].partition("}")[0]
        for words in re.findall(r': "([^":]*)"', names):
            for word in words.split(", "):
                if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", word):
                    shown.setdefault(word, set()).add(key)
    own = {"model", *DEFAULTS} | {"epochs"}

    assert len(shown) > 30
    for word in set(shown) - own:
        assert shown[word] & set(FIELD_WORDS.get(word, "").split(" and ")), word


def test_upper_and_lower_case_are_alike(catalog: Catalog) -> None:
    names = {
        "method": "LoRA",
        "strategy": "ZeRO-3",
        "precision": "BF16-Mixed",
        "loss": " Fused",
        "stack": "HF-Trainer",
        "optimizer": "AdamW",
        "card": "H100-SXM-80GB",
    }
    loose = answer({**LLAMA, **names}, catalog)
    strict = answer({**LLAMA, **{key: own.lower().strip() for key, own in names.items()}}, catalog)

    assert loose == strict
    assert loose["request"]["method"] == "lora"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        pytest.param("x" * 2_000_001, "input-too-large", "2,000,001 characters", id="too-long"),
        pytest.param('{"model": NaN}', "bad-json", "NaN is no JSON number", id="nan"),
        pytest.param("[" * 101, "bad-json", "nested too deeply", id="nested"),
        pytest.param('{"model"}', "bad-json", "Expecting ':' delimiter", id="broken"),
        pytest.param(
            '{"model": "gpt2", "model": "phi-4"}', "bad-json", "'model' stands twice", id="twice"
        ),
        pytest.param(
            '{"model": {"config": {"a": {}, "b": 1, "b": 1}}}',
            "bad-json",
            "'b' stands twice in one object. Send",
            id="twice-inside",
        ),
        pytest.param("null", "bad-request", "a JSON null", id="null"),
        pytest.param("true", "bad-request", "a JSON boolean", id="boolean"),
        pytest.param("13e9", "bad-request", "a JSON number", id="number"),
        pytest.param('"llama-3.1-8b"', "bad-request", "a JSON string", id="string"),
        pytest.param("[{}]", "bad-request", "a JSON array", id="array"),
        pytest.param("[{}]", "bad-request", "several on a line each", id="several"),
        pytest.param(" ", "bad-json", "The request is empty; send", id="nothing"),
        pytest.param('{"op": "describe", "model": 1}', "unknown-field", "'model'", id="describe"),
        pytest.param("{}", "missing-field", "names no model", id="empty"),
    ],
)
def test_a_text_that_is_no_request_says_what_it_is(
    catalog: Catalog, text: str, code: str, said: str
) -> None:
    error = json.loads(run(text, catalog))["error"]

    assert error["code"] == code
    assert said in error["message"]


def test_a_count_may_be_written_as_a_whole_float(catalog: Catalog) -> None:
    whole, power = (
        json.loads(run(f'{{"model": {{"num_parameters": {count}}}}}', catalog))
        for count in ("13000000000", "13e9")
    )

    assert power["num_parameters"] == 13_000_000_000
    assert power["per_gpu"] == whole["per_gpu"]


def test_a_whole_number_may_be_written_as_a_float(catalog: Catalog) -> None:
    fields = {
        "sequence_length": 4096,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "num_gpus": 8,
        "lora": {"rank": 32},
        "card": {"memory_gb": 24},
        "dataset": {"num_samples": 1000, "tokens_per_sample": 512},
    }
    request = {**LLAMA, "strategy": "zero-3", **fields}
    text = json.dumps(request)
    floats = re.sub(r"(\d+)([,}])", r"\1.0\2", text)

    assert floats.count(".0") == 8
    assert run(floats, catalog) == run(text, catalog)
    assert answer(json.loads(floats), catalog)["request"]["sequence_length"] == 4096
    assert cost(catalog, dataset={"num_tokens": 1e8}) == cost(catalog)
    by_count = answer({"model": {"num_parameters": 8e9}}, catalog)
    assert repr(by_count["request"]["model"]) == "{'num_parameters': 8000000000}"
    curve = {**LLAMA, "op": "curve"}
    assert repr(answer({**curve, "sequence_lengths": [1024.0]}, catalog)) == repr(
        answer({**curve, "sequence_lengths": [1024]}, catalog)
    )


@pytest.mark.parametrize("length", ["4096.5", "1e999", "-0.5"])
def test_a_fraction_is_no_whole_number(catalog: Catalog, length: str) -> None:
    text = f'{{"model": "llama-3.1-8b", "sequence_length": {length}}}'
    error = json.loads(run(text, catalog))["error"]

    assert (error["code"], error["field"]) == ("wrong-type", "sequence_length")
    assert "use a whole number" in error["message"]


def test_the_answer_says_for_which_releases_a_stack_version_stands(catalog: Catalog) -> None:
    request = {**LLAMA, "stack": "axolotl"}
    versioned = answer({**request, "stack_version": "99"}, catalog)
    plain = answer(request, catalog)

    said = "stack_version 99 changes nothing: releases of axolotl are not told apart."
    assert set(versioned["assumptions"]) - set(plain["assumptions"]) == {said}
    assert versioned["per_gpu"] == plain["per_gpu"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ["loss fused, optimizer adamw-8bit, lora.rank 32"]),
        ({"lora": {"rank": 32}}, ["loss fused, optimizer adamw-8bit"]),
        # No adapter, no rank of it.
        ({"method": "full"}, ["loss fused, optimizer adamw-8bit"]),
        ({"loss": "fused", "optimizer": "adamw", "lora": {"rank": 16}}, []),
        # What it sets as it is set without it.
        ({"stack": "unsloth"}, ["loss fused, optimizer adamw-8bit"]),
        ({"stack": "generic"}, []),
    ],
)
def test_a_named_stack_says_which_defaults_are_its_own(
    given: dict[str, object], said: list[str], catalog: Catalog
) -> None:
    found = answer({**LLAMA, "stack": "axolotl", **given}, catalog)
    name = "Unsloth" if given.get("stack") == "unsloth" else "axolotl"

    assert [note for note in found["assumptions"] if note.startswith("Own defaults")] == [
        f"Own defaults of {name}: {each}." for each in said
    ]
    again = answer(found["request"], catalog)
    assert again["per_gpu"] == found["per_gpu"]
    assert not any(note.startswith("Own defaults") for note in again["assumptions"])


def test_adapter_settings_of_a_full_fine_tune_are_said_to_have_no_effect(catalog: Catalog) -> None:
    full = {"model": "llama-3.1-8b"}
    plain = answer(full, catalog)
    given = answer({**full, "lora": {"rank": 64}}, catalog)

    assert set(given["assumptions"]) - set(plain["assumptions"]) == {
        'The lora settings have no effect: method is "full".'
    }
    assert given["per_gpu"] == plain["per_gpu"]
    assert answer({**full, "lora": {}}, catalog) == plain
    adapted = answer({**LLAMA, "lora": {"rank": 64}}, catalog)
    assert not any("no effect" in note for note in adapted["assumptions"])


def test_all_linear_in_a_list_is_all_linear(catalog: Catalog) -> None:
    listed = answer({**LLAMA, "lora": {"target_modules": ["all-linear"]}}, catalog)

    assert listed == answer(LLAMA, catalog)
    assert listed["request"]["lora"]["target_modules"] == "all-linear"


def test_targets_are_sorted_and_named_once(catalog: Catalog) -> None:
    targets = ["v_proj", "q_proj", "v_proj"]
    listed = answer({**LLAMA, "lora": {"target_modules": targets}}, catalog)

    assert listed["request"]["lora"]["target_modules"] == ["q_proj", "v_proj"]
