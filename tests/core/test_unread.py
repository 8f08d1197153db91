"""Fields of a config that nothing reads: which of them an answer names."""

import time
from typing import Any

import pytest

from generator.core.api import answer
from generator.core.catalog import Catalog
from generator.core.hf_config import read_config
from generator.core.hf_config.unread import shapes_nothing, unknown, unread
from generator.load import load_catalog

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
}
QWEN_EXPERTS: dict[str, Any] = {
    **LLAMA,
    "model_type": "qwen3_moe",
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "head_dim": 16,
}


def notes(catalog: Catalog, **fields: Any) -> list[str]:
    """What the answer says beyond that of the config without the fields."""
    request = {"card": None, "model": {"config": LLAMA}}
    plain = answer(request, catalog)
    given = answer({**request, "model": {"config": {**LLAMA, **fields}}}, catalog)

    assert given["per_gpu"] == plain["per_gpu"]
    return [note for note in given["assumptions"] if note not in plain["assumptions"]]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_a_field_that_nobody_knows_is_named(catalog: Catalog) -> None:
    (note,) = notes(catalog, n_shared_sinks=4)

    assert note == (
        "The config's n_shared_sinks is not read; if it changes a tensor's size, the estimate "
        "misses it."
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        pytest.param("ab", "a and b", id="two"),
        pytest.param("abc", "a, b and c", id="three"),
        pytest.param("abcdef", "a, b, c and 3 more", id="six"),
    ],
)
def test_of_many_fields_the_first_three_are_named(catalog: Catalog, names: str, said: str) -> None:
    (note,) = notes(catalog, **dict.fromkeys(names, 7))

    assert note == (
        f"The config's {said} are not read; if one of them changes a tensor's size, the estimate "
        "misses it."
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("x" * 10_000, "x" * 60 + "...", id="long"),
        pytest.param("a\nb\x1b[31m\u202ec", "a b [31m c", id="unprintable"),
    ],
)
def test_a_hostile_name_stays_short_and_on_its_line(catalog: Catalog, name: str, said: str) -> None:
    assert notes(catalog, **{name: 1})[0].startswith(f"The config's {said} is not read;")


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"torch_dtype": "bfloat16", "bos_token_id": 1}, id="words"),
        pytest.param({"rope_scaling": {"factor": 8, "beta_fast": 32}}, id="part-of-a-table"),
        pytest.param({"attention_dropout": 0.1, "summary_type": "cls"}, id="computation"),
        pytest.param({"n_shared_sinks": None, "sinks": 0, "own": []}, id="nothing"),
        pytest.param({"moe_layer_freq": 1}, id="each-layer"),
        pytest.param({"layer_types": ["full_attention", "sliding_attention"]}, id="attention"),
    ],
)
def test_a_field_that_shapes_nothing_is_not_named(catalog: Catalog, fields: dict[str, Any]) -> None:
    assert notes(catalog, **fields) == []


def test_layers_and_sizes_of_another_kind_are_named(catalog: Catalog) -> None:
    assert "layer_types" in notes(catalog, layer_types=["full_attention", "mamba"])[0]
    assert "layer_types" in notes(catalog, layer_types="mamba")[0]
    assert "moe_layer_freq" in notes(catalog, moe_layer_freq=2)[0]


def test_a_size_that_its_architecture_has_no_use_for_is_unread_and_not_unknown() -> None:
    _, questions = read_config(QWEN_EXPERTS, "experts")

    assert unread(QWEN_EXPERTS, questions) == ["intermediate_size"]
    assert unknown(QWEN_EXPERTS, questions) == []


@pytest.mark.parametrize("name", ["num_experts", "sinks", "hidden_size", "mlp_bias", "qk_norm"])
def test_a_size_is_not_taken_for_harmless(name: str) -> None:
    assert not shapes_nothing(name)


def test_a_config_of_many_fields_is_looked_through_at_once() -> None:
    config = {**LLAMA, **{f"field{number}": 1 for number in range(100_000)}}
    _, questions = read_config(LLAMA, "small")

    start = time.perf_counter()
    assert len(unknown(config, questions)) == 100_000
    assert time.perf_counter() - start < 5
