"""A field of a config with a slip in its name is refused; what nobody reads otherwise is not."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from generator.core.catalog import CatalogModel
from generator.core.errors import TrainfitError
from generator.core.hf_config import model_from_config
from generator.core.hf_config.known_keys import KNOWN_KEYS
from generator.core.nearest import is_misspelling
from generator.core.params import num_parameters
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR

MODELS = load_catalog().models
LLAMA = dict(MODELS["llama-3.1-8b"].config)


def renamed(old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in LLAMA.items()}


@pytest.mark.parametrize(
    ("field", "slip"),
    [
        ("num_key_value_heads", "num_key_value_head"),
        ("num_key_value_heads", "num_key_values_heads"),
        ("num_key_value_heads", "num_value_key_heads"),
        ("num_key_value_heads", "numKeyValueHeads"),
        ("num_key_value_heads", "num-key-value-heads"),
        ("num_key_value_heads", "Num_Key_Value_Heads"),
        ("num_key_value_heads", "num_kv_heads"),
        ("num_key_value_heads", "n_head_kv"),
        ("head_dim", "kv_channels"),
        ("intermediate_size", "ffn_dim"),
        ("intermediate_size", "d_ff"),
        ("hidden_size", "d_model"),
        ("num_hidden_layers", "n_layers"),
        ("num_attention_heads", "n_heads"),
        ("tie_word_embeddings", "tie_word_embedings"),
        ("attention_bias", "atention_bais"),
        ("head_dim", "head_dims"),
        ("hidden_size", "hiden_size"),
        ("num_hidden_layers", "num_hidden_layer"),
    ],
)
def test_a_slip_in_an_optional_or_needed_field_is_refused(field: str, slip: str) -> None:
    with pytest.raises(TrainfitError) as refused:
        model_from_config(renamed(field, slip), name="x")
    assert refused.value.code == "unknown-field"
    assert refused.value.field == f"model.config.{slip}"
    assert f"write it as {field}, or delete it" in str(refused.value)


def test_a_slip_in_a_nested_config_says_where() -> None:
    text = {**renamed("head_dim", "head_dims"), "model_type": "mistral"}
    config = {"model_type": "mistral3", "text_config": text}
    with pytest.raises(TrainfitError) as refused:
        model_from_config(config, name="x")
    assert refused.value.field == "model.config.text_config.head_dims"


@pytest.mark.parametrize(
    "extra",
    [
        {"_num_key_value_head": 1},
        {"num_kv_channels": 1},
        {"n_layers": 3, "n_heads": 2},
        {"": 1, "x" * 5000: 1, "\x00": 1, "ключ": 1},
        {"num_key_value_head": 1},
    ],
    ids=["private", "other", "another family's", "odd", "the right one is there too"],
)
def test_other_fields_are_no_slips(extra: dict[str, Any]) -> None:
    expected = num_parameters(model_from_config(LLAMA, name="x"))
    assert num_parameters(model_from_config({**LLAMA, **extra}, name="x")) == expected


def test_a_field_of_null_is_given() -> None:
    config = {**LLAMA, "num_key_value_heads": None, "num_key_value_head": 8}
    assert model_from_config(config, name="x").hidden_size == LLAMA["hidden_size"]


@pytest.mark.parametrize("entry", MODELS.values(), ids=lambda entry: entry.id)
def test_no_catalog_config_is_refused_and_none_loses_a_field_in_silence(
    entry: CatalogModel,
) -> None:
    """Each field in turn with its last letter gone or two swapped: refused, or of no weight."""
    expected = num_parameters(model_from_config(entry.config, name="x"))
    for number, (place, field) in enumerate(fields(entry.config)):
        slip = field[:-1] if number % 2 else field[:2] + field[3:1:-1] + field[4:]
        config = deepcopy(dict(entry.config))
        level: dict[str, Any] = config
        for part in place:
            level = level[part]
        if len(field) < 6 or slip in level:
            continue
        level[slip] = level.pop(field)
        try:
            found = num_parameters(model_from_config(config, name="x"))
        except TrainfitError:
            continue
        assert found == expected, (place, field, slip)


def fields(config: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in config.items():
        yield place, name
        if isinstance(value, dict):
            yield from fields(value, (*place, name))


@pytest.mark.parametrize("file", ["memory-models.json", "throughput-models.json"])
def test_no_measured_model_is_refused(file: str) -> None:
    entries = json.loads((MEASUREMENTS_DIR / file).read_text(encoding="utf-8"))
    for name, entry in entries.items():
        if "config" in entry:
            model_from_config(entry["config"], name=name)


def test_known_keys_are_names_that_would_else_be_slips() -> None:
    assert {"num_experts_per_tok", "n_layers"} <= KNOWN_KEYS
    assert "num_key_value_heads" not in KNOWN_KEYS


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("head_dim", "head_dim", False),
        ("head_dims", "head_dim", True),
        ("haed_dim", "head_dim", True),
        ("head_dmi", "head_dim", True),
        ("haed_dmi", "head_dim", False),
        ("num_hiden_layer", "num_hidden_layers", True),
        ("num_layers", "num_hidden_layers", False),
        ("bias", "mias", False),
        ("", "head_dim", False),
        ("HeadDim", "head_dim", True),
    ],
)
def test_what_a_misspelling_is(name: str, wanted: str, expected: bool) -> None:
    assert is_misspelling(name, wanted) is expected
