"""The box that decodes an out-of-memory message says what the core says, and loads it on demand."""

import json
from typing import Any

from generator.core import api
from generator.load import load_catalog
from tests.browser.support import RunNode

QUESTIONS: list[dict[str, Any]] = [
    {
        "message": "Tried to allocate 7.83 GiB",
        "fields": {
            "model": "Llama 3.1 8B Instruct",
            "method": "qlora",
            "sequence_length": "16384",
        },
    },
    {
        "message": "Tried to allocate 7.48 GiB",
        "fields": {"method": "full", "sequence_length": "512", "strategy": "zero-2",
                   "num_gpus": "4"},
    },
    {"message": "Tried to allocate 3.33 GiB", "fields": {}},
    {"message": "Tried to allocate 2.00 MiB", "fields": {}},
    {"message": "Segmentation fault", "fields": {}},
    {"message": "1.00 GiB", "fields": {"model": "<img src=x onerror=alert(1)>"}},
]  # fmt: skip


def core_s(message: str, **request: Any) -> dict[str, Any]:
    text = json.dumps({"op": "decode", "message": message, **request})
    answer: dict[str, Any] = json.loads(api.run(text, load_catalog()))
    return answer


def test_the_box_says_what_the_core_says(browse: RunNode, site_url: str) -> None:
    result = browse("oom.mjs", url=site_url, questions=QUESTIONS)
    logits, shard, nothing, small, nonsense, hostile = result["answers"]

    assert result["before"] == []
    first = core_s(
        QUESTIONS[0]["message"], model="llama-3.1-8b", method="qlora", sequence_length=16384
    )["candidates"][0]
    assert f"{first['tensor']}, made in the {first['phase']} phase" in logits["text"]
    assert f"{first['formula']} = 7.83 GiB" in logits["text"]
    assert f"{site_url}explain/loss/" in logits["links"]
    assert "model=llama-3.1-8b&" in logits["links"][-1]
    assert "sequence_length=16384" in logits["links"][-1]
    assert "the shard of one of 4 GPUs" in shard["text"]
    assert "num_gpus=4" in shard["links"][-1]
    assert nothing["text"].startswith("No tensor of this run has 3.33 GiB.")
    assert "tokens in the micro-batch, padding included" in nothing["text"]
    assert small["text"].startswith("The request is small")
    assert (
        nonsense["text"] == core_s("Segmentation fault", model="llama-3.1-8b")["error"]["message"]
    )
    assert "<img" in hostile["text"]
    assert result["models"] > 1
    assert result["errors"] == []
    assert result["violations"] == []
    assert [each for each in result["requests"] if not each.startswith(site_url)] == []
