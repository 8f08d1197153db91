"""The core's allocated bytes against PyTorch's own allocations, case by case."""

import json
from functools import cache

import pytest

from generator.core.api import run
from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.oracle.results import RESULTS, Row, case_from_row, read_rows
from tests.oracle.mapping import catalog_with_stack, label, request_text

TOLERANCE = 0.02
"""The bar of the specification; cases that miss it are faults of the core, not of this figure."""

ROWS = read_rows(RESULTS)

MIN_CASES = 250
MIN_FAMILIES = 14


@cache
def _catalog() -> Catalog:
    return load_catalog()


@pytest.mark.parametrize("row", [pytest.param(row, id=label(case_from_row(row))) for row in ROWS])
def test_allocated_bytes_are_within_two_percent_of_pytorchs_own(row: Row) -> None:
    case = case_from_row(row)

    answer = json.loads(run(request_text(case), catalog_with_stack(_catalog(), case)))

    assert "error" not in answer, answer["error"]["message"]
    assert answer["num_parameters"] == int(row["num_parameters"])
    error = answer["allocated"] / int(row["peak_bytes"]) - 1
    assert abs(error) <= TOLERANCE, (
        f"{error:+.1%}: {answer['allocated']:,} bytes in {answer['peak_phase']}, but PyTorch "
        f"allocates {int(row['peak_bytes']):,} in {row['peak_phase']} at {row['peak_op']}"
    )


def test_the_stored_cases_cover_what_the_bar_names() -> None:
    cases = [case_from_row(row) for row in ROWS]
    catalog = _catalog()

    assert len(cases) >= MIN_CASES
    assert len({catalog.model(case.model).family for case in cases}) >= MIN_FAMILIES
    assert {case.method for case in cases} == {"full", "lora", "qlora"}
    assert {case.activation_checkpointing for case in cases} == {"none", "selective", "full"}
    assert {case.num_gpus for case in cases if case.strategy == "fsdp2"} == {2, 4, 8}
    assert {1, 2} <= {case.gradient_accumulation_steps for case in cases}
    assert min(case.sequence_length for case in cases) <= 1024
    assert max(case.sequence_length for case in cases) >= 16_384
