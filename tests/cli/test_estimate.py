"""The command line as its users call it: a process, JSON in, JSON out, exit status."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from generator.core.api import run
from generator.core.request import (
    CHOICES,
    DATASET_DEFAULTS,
    DEFAULTS,
    NUMBER_RANGES,
    RANGES,
)
from generator.load import load_catalog
from generator.request_fields import STACK_DEFAULTS, RequestField, request_fields

ROOT = Path(__file__).resolve().parents[2]
CONFIG_WITHOUT_HIDDEN_SIZE = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 9,
    "intermediate_size": 4,
}


def estimate(text: str, *options: str) -> tuple[list[dict[str, Any]], int]:
    """Answers and exit status of `python -m generator estimate` on a bare interpreter."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "generator", "estimate", *options],
        input=text.encode("utf-8", errors="surrogatepass"),
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_one_object_over_several_lines_is_one_request() -> None:
    answers, status = estimate('{\n "model": "llama-3.1-8b",\n "method": "lora"\n}\n')
    assert status == 0
    assert [answer["card"]["verdict"] for answer in answers] == ["fits"]


def test_result_has_every_field_of_the_contract() -> None:
    (answer,), status = estimate('{"model": "llama-3.1-8b", "strategy": "zero-3", "num_gpus": 8}')
    assert status == 0
    lines = answer["per_gpu"]
    assert set(lines) == {
        "weights",
        "master_weights",
        "gradients",
        "optimizer_states",
        "activations",
        "buffers",
        "overhead",
        "total",
    }
    assert all(isinstance(value, int) for value in lines.values())
    assert lines["total"] == sum(value for name, value in lines.items() if name != "total")
    for name in ("allocated", "low", "high", "num_gpus", "num_parameters"):
        assert isinstance(answer[name], int)
    assert answer["low"] <= lines["total"] <= answer["high"]
    assert answer["num_trainable_parameters"] == answer["num_parameters"] == 8_030_261_248
    assert answer["communication"]["relative_to_ddp"] == 1.5
    assert int(answer["throughput"]["model_flops_per_token"]) > 6 * 7_000_000_000
    assert answer["assumptions"]


def test_bad_lines_get_an_error_in_their_place_and_the_others_an_answer() -> None:
    lines = [
        '{"model": "llama-3.1-8b"}',
        "not json",
        '{"model": "llama-9"}',
        '{"model": "qwen3-8b", "method": "qlora"}',
    ]
    answers, status = estimate("\n".join(lines))
    assert status == 2
    assert ["error" in answer for answer in answers] == [False, True, True, False]
    assert answers[2]["error"]["field"] == "model"


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [
        pytest.param("", "bad-json", "request", id="empty"),
        pytest.param("[" * 100_000, "bad-json", "request", id="deep-nesting"),
        pytest.param("x" * 10_000_000, "input-too-large", "request", id="ten-megabytes"),
        pytest.param(
            '{"model": "llama-3.1-8b", "sequence_length": NaN}', "bad-json", "request", id="nan"
        ),
        pytest.param(
            '{"model": "llama-3.1-8b", "sequence_length": 1e400}',
            "wrong-type",
            "sequence_length",
            id="inf",
        ),
        pytest.param(
            '{"model": "llama-3.1-8b", "sequence_length": -5}',
            "out-of-range",
            "sequence_length",
            id="negative",
        ),
        pytest.param(
            '{"model": "llama-3.1-8b", "sequence_length": 2048.5}',
            "wrong-type",
            "sequence_length",
            id="fraction",
        ),
        pytest.param('{"model": "no-such-model"}', "unknown-id", "model", id="unknown-model"),
        pytest.param(
            json.dumps({"model": {"config": CONFIG_WITHOUT_HIDDEN_SIZE}}),
            "missing-field",
            "model.config.hidden_size",
            id="no-hidden-size",
        ),
        pytest.param(
            '{"model": {"num_parameters": ' + "9" * 5000 + "}}",
            "bad-json",
            "request",
            id="huge-number",
        ),
        pytest.param('"llama-3.1-8b"', "bad-request", "request", id="a-string"),
        pytest.param('{"model": "\\ud800"}', "unknown-id", "model", id="lone-surrogate"),
        pytest.param("\x00\x01\xff", "bad-json", "request", id="binary"),
    ],
)
def test_bad_input_gets_a_coded_error_that_names_the_field(
    text: str, code: str, field: str
) -> None:
    answers, status = estimate(text)
    assert status == 2
    assert (answers[0]["error"]["code"], answers[0]["error"]["field"]) == (code, field)
    assert len(answers[0]["error"]["message"]) < 500


@pytest.mark.parametrize(
    ("name", "told"), [("none.json", "there is no file none.json"), ("docs", "docs is a folder")]
)
def test_what_is_no_file_is_said_on_standard_error(name: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "generator", "estimate", name],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == f"estimate: {told}; give a JSON file or -.\n"


def test_lines_end_where_json_lines_do_and_may_begin_with_a_byte_order_mark() -> None:
    """U+2028 is no end of a line inside a JSON string; editors on Windows write the mark."""
    first = '{"model": "llama-3.1-8b", "optimizer": "a\u2028b\x85c"}'
    answers, status = estimate(f'\ufeff{first}\r\n{{"model": "llama-3.1-8b"}}\r\n')
    assert status == 2
    assert answers[0]["error"]["field"] == "optimizer"
    assert "per_gpu" in answers[1]


def test_an_unknown_model_of_a_build_is_told_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from generator.__main__ import main

    words = ["build", "--quiet", "--docs", str(tmp_path / "docs"), "--models", "llama-3.1-9b"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith('build: model: The catalog has no model "llama-3.1-9b"; did you mean')
    assert "Traceback" not in error


def test_the_help_lists_every_field_of_a_request() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "generator", "estimate", "--help"],
        capture_output=True,
        cwd=ROOT,
        check=True,
        text=True,
    )
    lines = {
        words[0]: " ".join(words[1:])
        for line in done.stdout.splitlines()
        if (words := line.split())
    }
    assert lines["method"] == "full | lora | qlora [full]"
    assert lines["lora.rank"] == "a whole number from 1 to 65,536 [16]"
    assert lines["num_gpus"].endswith("[null, and the strategy picks]")
    assert STACK_DEFAULTS in " ".join(done.stdout.split())
    given = {"dataset": DATASET_DEFAULTS, **DEFAULTS, **CHOICES, **RANGES, **NUMBER_RANGES}
    for name, own in given.items():
        for field in [f"{name}.{part}" for part in own] if isinstance(own, dict) else [name]:
            assert field in lines, field


@pytest.mark.parametrize("field", request_fields(), ids=lambda field: field.name)
def test_every_field_of_the_help_is_understood(field: RequestField) -> None:
    group, _, name = field.name.rpartition(".")
    wrong = {name: {"x": 1}}
    request = {"model": "llama-3.1-8b", **({group: wrong} if group else wrong)}
    told = json.loads(run(json.dumps(request), load_catalog()))["error"]
    assert told["field"] in {field.name, f"{field.name}.x", group}
    assert told["field"].endswith(".x") or told["code"] != "unknown-field"
