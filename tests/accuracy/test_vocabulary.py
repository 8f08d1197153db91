"""Words of measured rows that nobody knows are told, whatever the row's other cells are."""

import pytest

from generator.accuracy.vocabulary import unknown_in_throughput_row
from generator.load import load_catalog
from generator.measurements.columns import THROUGHPUT

CATALOG = load_catalog()
ROW = dict.fromkeys(THROUGHPUT.names, "") | {
    "model": "llama-3.1-8b",
    "method": "lora",
    "precision": "bf16",
    "strategy": "single",
    "gpu": "rtx-4090-24gb",
    "num_gpus": "1",
    "packing": "yes",
    "attention": "flash_attention_2",
    "compile": "no",
}


def told(**changes: str) -> list[str]:
    return [column for column, _ in unknown_in_throughput_row({**ROW, **changes}, CATALOG, {})]


def test_known_words_are_no_findings() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("column", "word"),
    [
        ("strategy", "sinlge"),
        ("packing", "maybe"),
        ("attention", "flsh"),
        ("compile", "perhaps"),
        ("gpu", "x951-32gb"),
        ("model", "llama-3.1-8c"),
        ("method", "lroa"),
        ("optimizer", "lion"),
        ("optimizer", "AdamW 9-bit"),
    ],
)
def test_a_misspelt_word_is_told_at_its_column(column: str, word: str) -> None:
    assert told(**{column: word}) == [column]
