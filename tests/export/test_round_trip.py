"""Every file that is written reads back as the request that it was written from."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.core.api import answer, run
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.launch import TOOLS, remainder
from generator.core.launch.recognise import read_keys
from generator.core.request import parse
from generator.load import load_catalog
from tests.export.generated import requests

CATALOG = load_catalog()
READ_AS = {
    "accelerate.yaml": "accelerate",
    "axolotl.yaml": "axolotl",
    "llama_factory.yaml": "llama-factory",
    "sft.yaml": "trl",
    "torchtune.yaml": "torchtune",
}


def read_as(filename: str) -> str:
    return "deepspeed" if filename.startswith("deepspeed") else READ_AS[filename]


def exported(request: dict[str, Any], tool: str) -> dict[str, Any] | None:
    """The export, or None where the tool has no word for a part of the request, or no estimate
    would take it either.
    """
    result: dict[str, Any] = json.loads(
        run(json.dumps({"op": "export", "tool": tool, **request}), CATALOG)
    )
    if "error" not in result:
        return result
    has_no_word = result["error"]["code"] == "unsupported-combination"
    assert has_no_word or result["error"]["field"] == "lora.target_modules"
    return None


@pytest.mark.property
@pytest.mark.parametrize("tool", TOOLS)
@given(data=st.data())
@settings(max_examples=60)
def test_each_file_alone_gives_back_the_whole_request(tool: str, data: st.DataObject) -> None:
    request = data.draw(requests(CATALOG))
    dataset = data.draw(
        st.fixed_dictionaries(
            {"epochs": st.sampled_from((1, 3, 0.5, 2.25, 1_000)), "packing": st.booleans()}
        )
    )
    expected = parse(request, CATALOG).filled
    export = exported({**request, "dataset": dataset}, tool)
    if export is None:
        return

    for file in export["files"]:
        found = answer({"op": "recognise", "text": file["text"]}, CATALOG)

        assert found["tool"] == read_as(file["filename"])
        assert parse(found["recognised"], CATALOG).filled == expected
        assert {"epochs": 1, "packing": True, **found["dataset"]} == dataset


# What each tool's own keys say, without the line that trainfit adds.
SAID_BY_KEYS = {
    "axolotl": {
        "dataset.epochs",
        "dataset.packing",
        "model",
        "method",
        "optimizer",
        "sequence_length",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "activation_checkpointing",
        "attention",
        "loss",
        "lora.rank",
        "lora.target_modules",
        "lora.dropout",
        "lora.adapter_dtype",
        "lora.base_dtype",
        "lora.train_head",
    },
    "llama-factory": {
        "dataset.epochs",
        "dataset.packing",
        "model",
        "method",
        "optimizer",
        "sequence_length",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "activation_checkpointing",
        "attention",
        "lora.rank",
        "lora.target_modules",
        "lora.dropout",
        "lora.base_dtype",
        "lora.train_head",
    },
    "trl": {
        "dataset.epochs",
        "dataset.packing",
        "model",
        "method",
        "optimizer",
        "sequence_length",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "activation_checkpointing",
        "attention",
        "lora.rank",
        "lora.target_modules",
        "lora.dropout",
        "lora.base_dtype",
        "lora.train_head",
    },
    "torchtune": {
        "dataset.epochs",
        "dataset.packing",
        "model",
        "method",
        "optimizer",
        "sequence_length",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "lora.rank",
        "lora.target_modules",
        "lora.dropout",
    },
    "deepspeed": {
        "micro_batch_size",
        "gradient_accumulation_steps",
        "strategy",
        "num_gpus",
        "precision",
    },
    "accelerate": {"strategy", "num_gpus"},
}
WRITTEN = {
    "model": "llama-3.1-8b",
    "method": "qlora",
    "optimizer": "lion",
    "sequence_length": 3_000,
    "micro_batch_size": 3,
    "gradient_accumulation_steps": 5,
    "activation_checkpointing": "none",
    "attention": "eager",
    "loss": "chunked",
    "precision": "fp16-mixed",
    "strategy": "zero-2",
    "num_gpus": 4,
    "dataset": {"epochs": 5, "packing": False},
    "lora": {
        "rank": 24,
        "target_modules": ["k_proj", "o_proj"],
        "adapter_dtype": "bf16",
        "base_dtype": "nf4",
        "dropout": True,
        "train_head": True,
    },
}
"""Nothing in it is a default of ours or of a tool's."""


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tools_own_keys_say_all_that_they_have_words_for(tool: str) -> None:
    request = {**WRITTEN}
    if tool == "torchtune":
        request |= {"lora": {**WRITTEN["lora"], "train_head": False}}  # type: ignore[dict-item]
        request |= {"precision": "bf16-mixed"}
    export = exported(request, tool)
    assert export is not None
    dataset = request.pop("dataset")
    expected = remainder.flattened({**parse(request, CATALOG).filled, "dataset": dataset})
    text = export["files"][0]["text"]
    if text.startswith("{"):
        keys = json.loads(text)
        del keys[remainder.JSON_KEY]
        text = json.dumps(keys)
    else:
        text = "".join(line + "\n" for line in text.split("\n") if not line.startswith("#"))

    found = read_keys(text, CATALOG)

    said = {name for name, value in found.fields.items() if value == expected[name]}
    assert found.carried is None
    assert said >= SAID_BY_KEYS[tool]


@pytest.mark.parametrize(
    ("tool", "old", "new", "field", "value"),
    [
        pytest.param(
            "axolotl", "sequence_len: 3000", "sequence_len: 4000", "sequence_length", 4000, id="key"
        ),
        pytest.param("axolotl", "lora_r: 24", "lora_r: 32", "rank", 32, id="adapter"),
        pytest.param(
            "llama-factory",
            "enable_liger_kernel: true",
            "enable_liger_kernel: false",
            "loss",
            "standard",
            id="what-the-line-says-otherwise",
        ),
        pytest.param("axolotl", "num_epochs: 5", "num_epochs: 2", "epochs", 2, id="epochs"),
        pytest.param("trl", "lora_r: 24", "lora_r: 32", "rank", 32, id="trl"),
        pytest.param("deepspeed", '"stage": 2', '"stage": 3', "strategy", "zero-3", id="deepspeed"),
    ],
)
def test_an_edit_of_the_file_wins_over_what_it_carries(
    tool: str, old: str, new: str, field: str, value: object
) -> None:
    export = exported(WRITTEN, tool)
    assert export is not None
    text = export["files"][0]["text"]
    assert text.count(old) == 1

    found = answer({"op": "recognise", "text": text.replace(old, new)}, CATALOG)
    recognised = found["recognised"]

    assert {**recognised, **recognised["lora"], **found["dataset"]}[field] == value


def test_without_a_remainder_nothing_is_added() -> None:
    request = {
        "model": "llama-3.1-8b",
        "stack": "axolotl",
        "loss": "chunked",
        "method": "lora",
        "optimizer_implementation": "fused",
        "precision": "bf16-mixed",
    }
    export = exported(request, "axolotl")
    assert export is not None

    assert "trainfit" not in export["files"][0]["text"]


@pytest.mark.parametrize(
    "line",
    [
        "# trainfit: {",
        "# trainfit: []",
        '# trainfit: {"card": 1}',
        '# trainfit: {"card": [1, 2, 3]}',
        '# trainfit: {"dataset.num_tokens": [null, 1]}',
        '# trainfit: {"carb": ["h100-sxm-80gb", null]}',
        "# trainfit: " + "[" * 5_000,
    ],
)
def test_a_damaged_line_is_refused(line: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        answer(
            {"op": "recognise", "text": f"{line}\nbase_model: a/b\nmicro_batch_size: 1\n"}, CATALOG
        )

    assert (caught.value.code, caught.value.field) == ("bad-file", "trainfit")


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        pytest.param('{"card":["h100-sxm-80gb","nope"]}', "unknown-id", id="card"),
        pytest.param('{"num_gpus":[null,-1]}', "out-of-range", id="range"),
        pytest.param('{"lora.rank":[8,"x"]}', "wrong-type", id="type"),
        pytest.param('{"dataset.packing":[false,1]}', "wrong-type", id="dataset"),
        pytest.param('{"model":[null,{"config":{}}]}', "unsupported-architecture", id="config"),
    ],
)
def test_what_a_line_carries_is_checked_like_any_request(pairs: str, code: str) -> None:
    text = (
        f"# trainfit: {pairs}\nbase_model: a/b\nadapter: lora\nlora_r: 8\ndeepspeed: zero2.json\n"
    )

    with pytest.raises(TrainfitError) as caught:
        answer({"op": "recognise", "text": text}, CATALOG)

    assert caught.value.code in (code, "missing-field")


def test_a_config_travels_in_the_file_or_the_notes_say_that_it_does_not(catalog: Catalog) -> None:
    config = dict(catalog.models["llama-3.1-8b"].config)
    small = {"model": {"config": config}, "method": "lora"}
    large = {"model": {"config": {**config, "note": "x" * 50_000}}, "method": "lora"}

    carried = exported(small, "trl")
    left_out = exported(large, "trl")

    assert carried is not None
    assert left_out is not None
    found = answer({"op": "recognise", "text": carried["files"][0]["text"]}, CATALOG)
    assert found["recognised"]["model"] == {"config": config}
    assert "x" * 100 not in left_out["files"][0]["text"]
    assert any("too long" in note for note in left_out["notes"])
