"""A row's model is found by any of its names, in the file beside the rows or in the catalog."""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.accuracy.score import score_row
from generator.accuracy.throughput_rows import Models
from generator.accuracy.vocabulary import unknown_in_memory_row
from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import MEMORY
from generator.measurements.models import find_shape, read_models
from generator.measurements.reader import read_table

ROW = read_table(MEASUREMENTS_DIR / MEMORY.name, MEMORY).sound()[0]
CONFIG = {"hidden_size": 64}
ENTRIES: dict[str, dict[str, Any]] = {
    "Nobody-1B": {"config": CONFIG},
    "Llama-2-7B": {"catalog": "Llama-2-7B"},
    "Gone-1B": {"catalog": "gone-1b"},
    "llama-2-13b": {"config": CONFIG},
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("Nobody-1B", CONFIG, id="config"),
        pytest.param("NOBODY-1b", CONFIG, id="config-any-case"),
        pytest.param("Llama-2-7B", "llama-2-7b", id="entry-of-the-catalog"),
        pytest.param("LLAMA-2-7B", "llama-2-7b", id="entry-of-the-catalog-any-case"),
        pytest.param("llama-2-70B", "llama-2-70b", id="id"),
        pytest.param("Llama-2-7b-HF", "llama-2-7b", id="alias"),
        pytest.param("Meta-llama/Llama-2-7B-hf", "llama-2-7b", id="hugging-face-name"),
        pytest.param("Llama-2-13B", CONFIG, id="file-before-catalog"),
        pytest.param("Gone-1B", None, id="entry-of-a-model-that-is-gone"),
        pytest.param("Other-1B", None, id="unknown"),
    ],
)
def test_a_model_is_found_by_any_of_its_names(
    catalog: Catalog, name: str, expected: object
) -> None:
    assert find_shape(name, catalog, ENTRIES) == expected


def test_a_memory_row_may_name_a_model_of_the_catalog_by_another_name(
    catalog: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "memory-models.json"
    path.write_text(json.dumps({"our llama": {"catalog": "llama-2-7b"}}), encoding="utf-8")
    models = read_models(path).sound()
    row = {
        **ROW,
        "method": "lora",
        "lora_rank": "8",
        "lora_targets": "q_proj,v_proj",
        "optimizer": "adamw",
        "base_dtype": "bf16",
    }

    ours = score_row({**row, "model": "our llama"}, catalog, models)
    theirs = score_row({**row, "model": "llama-2-7b"}, catalog, {})

    assert ours.skipped is None
    assert ours.predicted_bytes == theirs.predicted_bytes
    assert list(unknown_in_memory_row({**row, "model": "our llama"}, catalog, models)) == []


def test_that_only_a_size_is_published_is_known_by_a_name_in_any_case(
    catalog: Catalog, tmp_path: Path
) -> None:
    path = tmp_path / "models.json"
    entry = {"catalog": "llama-2-7b", "approximate": True}
    path.write_text(json.dumps({"Shape-7B": entry}), encoding="utf-8")
    models = Models(catalog, [path])

    assert [models.approximate(name) for name in ("Shape-7B", "shape-7b", "other")] == [
        True,
        True,
        False,
    ]
