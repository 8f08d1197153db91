"""A thousand requests all over the field: the browser's Python answers each as this one does."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from generator.core import api
from generator.core.catalog import Catalog
from generator.core.launch import TOOLS
from generator.core.request import CHOICES
from generator.load import load_catalog
from tests.browser.support import RunNode

NUM_REQUESTS = 1000
SEED = 20261130

OPERATIONS = {"estimate": 90, "solve": 3, "curve": 2, "grid": 2, "export": 3}
"""Operations and how often each is asked for, in a hundred."""


def model(chance: random.Random, catalog: Catalog) -> Any:
    kind = chance.random()
    if kind < 0.8:
        return chance.choice(list(catalog.models))
    if kind < 0.9:
        return {"num_parameters": int(10 ** chance.uniform(6, 12))}
    heads = chance.choice([4, 8, 16, 32])
    config = {
        "model_type": chance.choice(["llama", "qwen2", "mistral"]),
        "hidden_size": heads * 64,
        "num_hidden_layers": chance.randint(1, 80),
        "num_attention_heads": heads,
        "num_key_value_heads": chance.choice([heads, heads // 4]),
        "intermediate_size": chance.randint(1, 300) * 128,
        "vocab_size": chance.randint(1000, 260_000),
        "tie_word_embeddings": chance.random() < 0.5,
    }
    return {"config": config}


def request(chance: random.Random, catalog: Catalog) -> dict[str, Any]:
    """One request; some are refused, and the refusals have to be the same too."""
    [operation] = chance.choices(list(OPERATIONS), list(OPERATIONS.values()))
    fields: dict[str, Any] = {"op": operation, "model": model(chance, catalog)}
    candidates: dict[str, Any] = {
        **{
            name: chance.choice(values)
            for name, values in CHOICES.items()
            if not name.startswith("lora.")
        },
        "optimizer": chance.choice(list(catalog.optimizers)),
        "stack": chance.choice(list(catalog.stacks)),
        "num_gpus": chance.choice([None, 1, 2, 4, 8, 16, 64, 1000]),
        "sequence_length": int(2 ** chance.uniform(0, 18)),
        "micro_batch_size": chance.randint(1, 64),
        "gradient_accumulation_steps": chance.choice([1, 2, 8, 100]),
        "lora": {
            "rank": chance.randint(1, 512),
            "target_modules": chance.choice(["all-linear", ["q_proj", "v_proj"]]),
            "adapter_dtype": chance.choice(CHOICES["lora.adapter_dtype"]),
            "base_dtype": chance.choice(CHOICES["lora.base_dtype"]),
            "dropout": chance.random() < 0.5,
            "train_embeddings": chance.random() < 0.3,
            "train_head": chance.random() < 0.3,
        },
        "card": chance.choice(
            [*catalog.cards, {"memory_gb": 20}, {"id": "rtx-4090-24gb", "reserved_gb": 1.25}]
        ),
    }
    fields |= {name: value for name, value in candidates.items() if chance.random() < 0.6}
    if operation in ("estimate", "solve") and chance.random() < 0.3:
        fields["dataset"] = {"num_tokens": chance.randint(1, 10**12), "epochs": 1.5}
    if operation == "export":
        fields["tool"] = chance.choice(list(TOOLS))
    return fields


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_a_thousand_requests_are_answered_alike_to_the_last_character(
    built_site: Path, run_node: RunNode, catalog: Catalog, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    texts = [json.dumps(request(chance, catalog)) for _ in range(NUM_REQUESTS)]
    requests = tmp_path / "requests.json"
    requests.write_text(json.dumps(texts))

    result = run_node("replay_golden.mjs", site=str(built_site), requests=str(requests))

    answers = [api.run(text, catalog) for text in texts]
    refused = sum(answer.startswith('{"error"') for answer in answers)
    differing = [
        text
        for text, answer, response in zip(texts, answers, result["responses"], strict=True)
        if answer != response
    ]
    assert differing == []
    assert 0 < refused < NUM_REQUESTS / 2
