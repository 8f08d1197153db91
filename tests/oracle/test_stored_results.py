"""The oracle's cases and its stored results; nothing here needs PyTorch."""

import pytest

from generator.oracle.case import Case, case_from_dict, case_from_json
from generator.oracle.cases import stored_cases
from generator.oracle.results import RESULTS, SETTINGS, case_from_row, read_rows, settings_of
from tests.oracle.mapping import label

ROWS = read_rows(RESULTS)


def test_a_case_survives_the_way_into_a_row_and_back() -> None:
    cases = stored_cases()

    assert [case_from_row(settings_of(case)) for case in cases] == cases


def test_no_case_is_stored_twice() -> None:
    keys = [tuple(row[name] for name in SETTINGS) for row in ROWS]

    assert len(set(keys)) == len(keys)


def test_listed_and_stored_cases_are_the_same() -> None:
    listed = {label(case) for case in stored_cases()}
    stored = {label(case_from_row(row)) for row in ROWS}

    assert stored == listed


def test_every_result_adds_up() -> None:
    for row in ROWS:
        parts = [int(row[name]) for name in row if name.startswith("peak_") and name not in _TEXT]
        phases = [int(row[f"{phase}_peak_bytes"]) for phase in ("forward", "backward", "step")]

        assert sum(parts[1:]) + int(row["workspace_bytes"]) == parts[0], row
        assert max(phases) == int(row["peak_bytes"]), row
        assert int(row[f"{row['peak_phase']}_peak_bytes"]) == int(row["peak_bytes"]), row


_TEXT = ("peak_phase", "peak_op")


def test_pure_bf16_adamw_holds_two_two_and_four_bytes_a_parameter() -> None:
    case = Case(model="llama-3.1-8b", sequence_length=2048, micro_batch_size=2)
    row = next(row for row in ROWS if case_from_row(row) == case)
    parameters = int(row["num_parameters"])

    assert parameters == 8_030_261_248
    assert int(row["gradient_bytes"]) == 2 * parameters
    # One FP32 step counter per tensor, rounded up to 512 bytes, and rotary frequencies.
    assert 0 <= int(row["optimizer_bytes"]) - 4 * parameters <= 300 * 512
    assert 0 <= int(row["parameter_bytes"]) - 2 * parameters <= 4 * 512


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"model": "m", "methode": "lora"}, "unknown setting methode", id="name"),
        pytest.param({"model": "m", "method": "dora"}, "use one of full, lora", id="choice"),
        pytest.param({"model": "m", "num_gpus": 2}, "use fsdp2 or ddp", id="single on two"),
        pytest.param({"model": "m", "strategy": "ddp"}, "num_gpus of 2 or more", id="ddp on one"),
        pytest.param(
            {"model": "m", "strategy": "fsdp2", "num_gpus": 2, "method": "qlora"},
            "use lora under fsdp2",
            id="sharded qlora",
        ),
        pytest.param(
            {"model": "m", "method": "lora", "precision": "bf16-mixed"},
            "adapters take bf16-pure or amp",
            id="mixed adapters",
        ),
    ],
)
def test_a_case_that_cannot_run_says_what_to_do(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        case_from_dict(values)


def test_a_case_is_one_json_object() -> None:
    assert case_from_json('{"model": "m"}') == Case(model="m")
    with pytest.raises(ValueError, match="one JSON object, not list"):
        case_from_json("[]")
