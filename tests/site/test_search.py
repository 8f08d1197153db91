"""The first hit of what people type, asked of the built index with the theme's own search."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from generator.load import load_catalog
from generator.tables.reference_cards import REFERENCE_CARD_IDS
from generator.tables.reference_models import REFERENCE_MODEL_IDS
from tests.browser.support import REPOSITORY_DIR, missing
from tests.site.html import Page

FIRST_HITS = {
    "8b qlora 4090": "models/llama-3.1-8b/",
    "zero-3 70b": "models/llama-3.3-70b/",
    "ZeRO 3 70B": "models/llama-3.3-70b/",
    "13b zero-2": "models/llama-2-13b/",
    "llama 3.1 8b": "models/llama-3.1-8b/",
    "meta-llama/Llama-3.1-8B": "models/llama-3.1-8b/",
    "qwen2.5 7b lora": "models/qwen2.5-7b/",
    "mixtral 8x7b": "models/mixtral-8x7b-v0.1/",
    "gemma 3 27b": "models/gemma-3-27b/",
    "qwen3 30b a3b": "models/qwen3-30b-a3b/",
    "QLoRA Llama 3 8B RTX 3090": "models/meta-llama-3-8b/",
    "llama 3 8b qlora t4": "models/meta-llama-3-8b/",
    "deepseek r1 distill llama 8b": "models/deepseek-r1-distill-llama-8b/",
    "70b qlora 48gb": "models/llama-3.3-70b/",
    "4090": "cards/rtx-4090-24gb/",
    "rtx 4090": "cards/rtx-4090-24gb/",
    "h100": "cards/h100-sxm-80gb/",
    "h100 80gb": "cards/h100-sxm-80gb/",
    "a100 40gb": "cards/a100-sxm-40gb/",
    "rtx4090": "cards/rtx-4090-24gb/",
    "2 x h100": "cards/h100-sxm-80gb/",
    "8xH100": "cards/h100-sxm-80gb/",
    "2x 4090": "cards/rtx-4090-24gb/",
    "qwen 2.5 14b": "models/qwen2.5-14b/",
    "qwen25 14b": "models/qwen2.5-14b/",
    "gptoss 20b": "models/gpt-oss-20b/",
    "phi4": "models/phi-4/",
    "gemma 3": "models/gemma-3-27b/",
    "adamw_bnb_8bit": "explain/optimizers/",
    "mi300x": "cards/mi300x-192gb/",
    "zero-3": "explain/sharding/",
    "fsdp": "explain/sharding/",
    "qlora": "explain/lora-and-qlora/",
    "oom": "explain/out-of-memory/",
    "tried to allocate": "explain/out-of-memory/",
    "cuda out of memory tried to allocate": "explain/out-of-memory/",
    "out of memory": "explain/out-of-memory/",
    "adafactor": "explain/optimizers/",
    "chunked loss": "explain/loss/",
    "gradient checkpointing": "explain/activations/",
    "usable memory": "explain/units/",
    "calculator": "calculator/",
}


@pytest.fixture(scope="module")
def hits(site: Path, pages: dict[str, Page]) -> dict[str, list[str]]:
    if shutil.which("node") is None:
        missing("Node is missing: install Node.js 20 or newer")
    catalog = load_catalog()
    queries = [*FIRST_HITS, *(model.name for model in catalog.models.values())]
    queries += [card.name for card in catalog.cards.values()]
    (worker,) = re.findall(r'"search": ?"([^"]+)"', pages["index.html"].text)
    result = subprocess.run(
        ["node", str(Path(__file__).with_name("search_worker.mjs"))],
        input=json.dumps({"site": str(site), "worker": worker, "queries": queries}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=REPOSITORY_DIR,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    found: dict[str, list[str]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("query", FIRST_HITS)
def test_the_right_page_comes_first(hits: dict[str, list[str]], query: str) -> None:
    assert hits[query][:1] == [FIRST_HITS[query]]


def test_each_model_s_name_finds_its_page_first(hits: dict[str, list[str]]) -> None:
    names = {entry.name: f"models/{entry.id}/" for entry in load_catalog().models.values()}

    assert {name: hits[name][:2] for name, page in names.items() if hits[name][:1] != [page]} == {}


def test_each_card_s_name_finds_its_page_among_the_first(hits: dict[str, list[str]]) -> None:
    names = {card.name: f"cards/{card.id}/" for card in load_catalog().cards.values()}

    assert {name: hits[name] for name, page in names.items() if page not in hits[name][:3]} == {}


def test_well_known_models_and_cards_are_in_the_catalog_one_per_size() -> None:
    catalog = load_catalog()
    models = [catalog.models[model_id] for model_id in REFERENCE_MODEL_IDS]
    sizes = [re.findall(r"\d+(?:\.\d+)?B\b", model.name)[0] for model in models]

    assert len(set(sizes)) == len(sizes)
    assert set(REFERENCE_CARD_IDS) <= set(catalog.cards)
