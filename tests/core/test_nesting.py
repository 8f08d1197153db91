"""Deeply nested JSON is refused before it reaches a parser, and nothing else is."""

import json
import time
from typing import Any

import pytest

from generator.core.api import run
from generator.core.catalog import Catalog
from generator.core.nesting import MAX_NESTING, check_nesting, object_of

MILLION = 1_000_000


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [0, 1, MAX_NESTING - 1, MAX_NESTING])
def test_up_to_the_limit_it_passes(levels: int) -> None:
    check_nesting(json.dumps(nested(levels)))


@pytest.mark.parametrize(
    "text",
    [
        "[" * (MAX_NESTING + 1),
        '{"a":' * (MAX_NESTING + 1),
        json.dumps({"]": nested(MAX_NESTING)}),
        json.dumps({'\\"': nested(MAX_NESTING)}),
        json.dumps({"]]]]\\\\": nested(MAX_NESTING)}),
    ],
)
def test_beyond_the_limit_it_does_not(text: str) -> None:
    with pytest.raises(RecursionError):
        check_nesting(text)


@pytest.mark.parametrize(
    "value",
    [
        [[]] * 5000,
        {"text": "[" * 5000},
        {"text": '"[' * 5000},
        {"text": '\\"[' * 5000, "more": "\\"},
        [{"key": "]", "list": [1]}] * 3000,
    ],
)
def test_width_and_brackets_in_strings_are_no_nesting(value: Any) -> None:
    check_nesting(json.dumps(value))


def test_the_longest_request_is_checked_at_once() -> None:
    started = time.process_time()
    check_nesting("[]" * MILLION)
    check_nesting(json.dumps('"' * MILLION))

    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ['{"model":' * 50_000, '{"model":' + "[" * 50_000])
def test_a_request_nested_too_deeply_is_refused_in_words(text: str) -> None:
    result = json.loads(run(text, Catalog()))

    assert result["error"]["code"] == "bad-json"
    assert "nested too deeply" in result["error"]["message"]


@pytest.mark.parametrize("text", ['{"a":' * 30_000, '{"a":' * 30_000 + "1" + "}" * 30_000])
def test_a_file_nested_too_deeply_is_refused_in_words(text: str) -> None:
    result = json.loads(run(json.dumps({"op": "recognise", "text": text}), Catalog()))

    assert "nested too deeply" in result["error"]["message"]


def test_a_key_that_stands_twice_is_found_among_a_million() -> None:
    pairs: list[tuple[str, object]] = [(str(number), number) for number in range(MILLION)]
    assert object_of(pairs) == dict(pairs)

    start = time.perf_counter()
    with pytest.raises(ValueError, match="'999999' stands twice in one object"):
        object_of([*pairs, ("999999", 0)])

    assert time.perf_counter() - start < 5
