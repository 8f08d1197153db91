"""Launch files against the tools themselves: their parsers where `.venv-tools` is built, and the
keys that they accept, stored with their versions, everywhere else.
"""

import json
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings

from generator.core.api import answer
from generator.core.errors import TrainfitError
from generator.core.launch import TOOLS
from generator.core.launch.remainder import JSON_KEY
from generator.core.request import CHOICES
from generator.load import load_catalog
from tests.export.generated import requests

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
TOOLS_PYTHON = REPOSITORY_DIR / ".venv-tools/bin/python"
PARSERS = Path(__file__).with_name("real_parsers.py")
CATALOG = load_catalog()
KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("known_keys.json").read_text("utf-8"))
GENERATED = 150

needs_tools = pytest.mark.skipif(
    not (TOOLS_PYTHON.parent.parent / ".installed").is_file(),
    reason="the training tools are not installed in .venv-tools",
)


def walk() -> Iterator[dict[str, Any]]:
    """Requests that meet each pair of method and strategy with each other choice in turn."""
    optimizers = ("adamw", "adamw-8bit", "paged-adamw-8bit", "adafactor", "muon", "lion", "sgd")
    step = 0
    for method in CHOICES["method"]:
        for strategy in CHOICES["strategy"]:
            for precision in CHOICES["precision"]:
                yield {
                    "model": ("llama-3.1-8b", "qwen2.5-7b", "gemma-2-9b")[step % 3],
                    "method": method,
                    "strategy": strategy,
                    "num_gpus": None if strategy == "single" else (2, 8, 16)[step % 3],
                    "precision": precision,
                    "optimizer": optimizers[step % len(optimizers)],
                    "loss": CHOICES["loss"][step % 3],
                    "attention": CHOICES["attention"][step // 2 % 3],
                    "activation_checkpointing": CHOICES["activation_checkpointing"][step // 3 % 3],
                    "lora": {
                        "target_modules": ("all-linear", ["q_proj"], ["q_proj", "v_proj"])[
                            step % 3
                        ],
                        "base_dtype": CHOICES["lora.base_dtype"][step % 4],
                        "dropout": step % 2 == 0,
                        "train_head": step % 5 == 0,
                    },
                }
                step += 1


def generated() -> list[dict[str, Any]]:
    """Requests over all choices at once, the same in every run."""
    found: list[dict[str, Any]] = []

    @given(request=requests(CATALOG))
    @settings(
        max_examples=GENERATED,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(request: dict[str, Any]) -> None:
        found.append(request)

    collect()
    return found


@lru_cache
def launches(tool: str) -> list[dict[str, Any]]:
    """What is written of all requests that the tool has words for."""
    found = []
    for request in [*walk(), *generated()]:
        try:
            launch = answer({"op": "export", "tool": tool, **request}, CATALOG)
        except TrainfitError:
            continue
        files = {file["filename"]: file["text"] for file in launch["files"]}
        found.append({**launch, "files": files})
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_every_key_is_one_that_the_tool_knows(tool: str) -> None:
    written = launches(tool)
    assert len(written) >= 10
    for launch in written:
        for filename, text in launch["files"].items():
            if filename.endswith(".json"):
                keys = json.loads(text)
                assert set(keys) - {JSON_KEY} <= set(KNOWN["deepspeed"]["keys"])
                assert set(keys["zero_optimization"]) <= set(KNOWN["deepspeed"]["zero_keys"])
            elif filename == "accelerate.yaml":
                keys = yaml.safe_load(text)
                assert set(keys) <= set(KNOWN["accelerate"]["keys"])
                sections = {**keys.get("fsdp_config", {}), **keys.get("deepspeed_config", {})}
                assert set(sections) <= set(KNOWN["accelerate"]["plugin_keys"])
            else:
                keys = yaml.safe_load(text)
                assert set(keys) <= set(KNOWN[tool]["keys"])
                optimizer = keys.get("optimizer", keys.get("optim"))
                if "optimizers" in KNOWN[tool]:
                    assert optimizer in KNOWN[tool]["optimizers"]


def said_by_the_tools(cases: list[dict[str, Any]]) -> list[str | None]:
    """What each tool's parser says against a case; None where it takes it."""
    names = ("tool", "num_gpus", "command", "files")
    process = subprocess.run(
        # -P: this folder's modules are not the tools' own.
        [str(TOOLS_PYTHON), "-P", str(PARSERS)],
        input="".join(json.dumps({name: case[name] for name in names}) + "\n" for case in cases),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    assert len(answers) == len(cases), process.stderr[-2_000:]
    return answers


@needs_tools
def test_the_tools_own_parsers_take_every_file() -> None:
    cases = [launch for tool in TOOLS for launch in launches(tool)]

    answers = said_by_the_tools(cases)

    refused = [
        (said, case["files"]) for said, case in zip(answers, cases, strict=True) if said is not None
    ]
    assert refused == []


WRONG = {
    "accelerate": ("accelerate.yaml", "distributed_typo: FSDP\n"),
    "axolotl": ("axolotl.yaml", "base_model: a/b\nmicro_batch_size: many\n"),
    "deepspeed": ("deepspeed.json", '{"zero_optimization": {"stage": 9}}'),
    "llama-factory": ("llama_factory.yaml", "model_name_or_path: a/b\ncutoff: 3\n"),
    "torchtune": ("torchtune.yaml", "model: {_component_: torchtune.models.nope}\n"),
    "trl": ("sft.yaml", "model_name_or_path: a/b\nmax_len: 3\n"),
}


@needs_tools
def test_each_parser_refuses_a_file_that_is_wrong_for_it() -> None:
    cases = [
        {
            "tool": tool,
            "num_gpus": 1,
            "command": "tune run full_finetune_single_device",
            "files": {name: text},
        }
        for tool, (name, text) in WRONG.items()
    ]

    assert None not in said_by_the_tools(cases)


@needs_tools
def test_the_stored_keys_are_those_of_the_installed_tools() -> None:
    process = subprocess.run(
        [str(TOOLS_PYTHON), "-P", str(PARSERS), "--known"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )

    assert json.loads(process.stdout) == KNOWN
