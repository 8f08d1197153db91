"""The browser's Python answers exactly as this one does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.support import REPOSITORY_DIR, RunNode, missing

GOLDEN_CASES = REPOSITORY_DIR / "tests" / "golden" / "cases.json"


@pytest.fixture(scope="module")
def golden_cases() -> list[dict[str, Any]]:
    if not GOLDEN_CASES.is_file():
        missing(f"{GOLDEN_CASES} is missing: run `make golden`")
    cases: list[dict[str, Any]] = json.loads(GOLDEN_CASES.read_text(encoding="utf-8"))
    return cases


def test_pyodide_gives_every_golden_answer_to_the_last_digit(
    built_site: Path, run_node: RunNode, golden_cases: list[dict[str, Any]], tmp_path: Path
) -> None:
    requests = tmp_path / "requests.json"
    requests.write_text(json.dumps([json.dumps(case["request"]) for case in golden_cases]))

    result = run_node("replay_golden.mjs", site=str(built_site), requests=str(requests))

    differing = [
        case["request"]
        for case, response in zip(golden_cases, result["responses"], strict=True)
        if json.loads(response) != case["response"]
    ]
    assert differing == []


def test_the_browser_imports_byte_code_and_compiles_nothing(
    built_site: Path, run_node: RunNode, tmp_path: Path
) -> None:
    requests = tmp_path / "requests.json"
    requests.write_text("[]")

    result = run_node("replay_golden.mjs", site=str(built_site), requests=str(requests))

    sources = {name: file for name, file in result["modules"].items() if not file.endswith(".pyc")}
    assert "generator.core.api" in result["modules"]
    assert result["compiledMethods"] == 0
    assert sources == {}
