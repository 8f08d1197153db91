"""Names in a measured row are taken whole: no card, optimizer or size stands for another."""

import json

import pytest

from generator.accuracy.rows import SkippedError, measured_case
from generator.accuracy.score import score_row
from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import MEMORY
from generator.measurements.reader import read_table

ROW = read_table(MEASUREMENTS_DIR / MEMORY.name, MEMORY).sound()[0]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def test_a_card_outside_the_catalog_gives_no_verdict_and_says_why(catalog: Catalog) -> None:
    scored = score_row({**ROW, "gpu": "GH200"}, catalog, _models())
    assert scored.predicted_bytes is not None
    assert scored.verdict is None
    assert scored.unjudged == '"GH200" may be gh200-144gb or gh200-96gb; write which'


def test_a_bare_size_is_judged_as_such(catalog: Catalog) -> None:
    scored = score_row({**ROW, "gpu": "24GB class"}, catalog, _models())
    assert (scored.verdict, scored.unjudged) == ("fits", None)


@pytest.mark.parametrize(
    ("framework", "stack"),
    [
        ("trl 0.20.0; transformers 4.55", ("hf-trainer", "4.55")),
        ("trl 1.7.0; transformers 5.2", ("trl", "5.2")),
        ("trl 1.16.1; transformers 5.4", ("trl", "5.4")),
    ],
)
def test_trl_is_its_own_stack_since_it_loads_and_computes_the_loss_in_its_own_way(
    catalog: Catalog, framework: str, stack: tuple[str, str]
) -> None:
    row = {**ROW, "framework": framework, "source": "My run", "strategy": "single", "num_gpus": "1"}
    request = measured_case(row, catalog, _models()).request
    assert (request["stack"], request["stack_version"]) == stack


@pytest.mark.parametrize(
    ("words", "optimizer"),
    [
        ("AdamW", "adamw"),
        ("Adam(W)", "adamw"),
        ("bnb PagedAdamW8bit", "paged-adamw-8bit"),
        ("SGD", "sgd"),
        ("lion_8bit", "lion-8bit"),
        ("adam-mini", "adam-mini"),
        ("adamw8bit", "adamw-8bit"),
        ("AdamW 8-bit", "adamw-8bit"),
        ("paged_adamw_32bit", "paged-adamw"),
        ("adamw_4bit", "ao-adamw-4bit"),
        ("adamw_torch_8bit", "ao-adamw-8bit"),
        ("adamw_anyprecision", "adamw-bf16"),
        ("LOMO", "lomo"),
    ],
)
def test_an_optimizer_is_the_one_that_the_row_names(
    catalog: Catalog, words: str, optimizer: str
) -> None:
    case = measured_case({**ROW, "optimizer": words}, catalog, _models())
    assert case.request["optimizer"] == optimizer


@pytest.mark.parametrize(
    "words", ["dist_muon", "Adamax", "adanw", "Prodigy", "adam mini", "AdamW with 8 groups"]
)
def test_an_unknown_optimizer_is_left_out_and_not_taken_for_adamw(
    catalog: Catalog, words: str
) -> None:
    with pytest.raises(SkippedError, match="the catalog has no optimizer"):
        measured_case({**ROW, "optimizer": words}, catalog, _models())


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("adamw_9bit", "adamw_8bit"),
        ("page_adamw_8bit", "paged_adamw_8bit"),
        ("adamw_bnb_8bits", "adamw_bnb_8bit"),
    ],
)
def test_a_misspelt_optimizer_is_not_taken_for_the_one_inside_it(
    catalog: Catalog, words: str, meant: str
) -> None:
    with pytest.raises(SkippedError, match=f'no optimizer "{words}"; did you mean .*"{meant}"'):
        measured_case({**ROW, "optimizer": words}, catalog, _models())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("galore_adamw", "'galore_adamw' is not scored: no column has its rank"),
        ("torchao AdamW4bit", "is not scored: write ao-adamw-4bit if it is torchao's"),
    ],
)
def test_an_optimizer_that_the_row_cannot_describe_says_so(
    catalog: Catalog, words: str, told: str
) -> None:
    with pytest.raises(SkippedError, match=told):
        measured_case({**ROW, "optimizer": words}, catalog, _models())


def test_a_misspelt_target_is_not_left_away(catalog: Catalog) -> None:
    row = {**ROW, "method": "lora", "lora_rank": "8", "lora_targets": "q_porj,v_proj"}
    with pytest.raises(SkippedError, match='no model has a module "q_porj"; did you mean "q_proj'):
        measured_case(row, catalog, _models())


def _models() -> dict[str, dict[str, object]]:
    path = MEASUREMENTS_DIR / "memory-models.json"
    models: dict[str, dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return models
