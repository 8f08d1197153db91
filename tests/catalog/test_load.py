"""TOML files become records; whatever is wrong with them is told at once, by place and remedy."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.core.optimizer import OptimizerState
from generator.load import CATALOG_DIR, Document, load_catalog, read_documents
from generator.problem import CatalogProblems
from tests.catalog.small import damage

DOCUMENTS, PROBLEMS = read_documents()


def lines(root: Path) -> list[str]:
    """The messages of a catalog that does not load."""
    with pytest.raises(CatalogProblems) as caught:
        load_catalog(root)
    return [str(problem) for problem in caught.value.problems]


def test_the_small_catalog_loads(root: Path) -> None:
    catalog = load_catalog(root)
    card = catalog.cards["test-card-24gb"]
    assert card.allowed_gpu_counts == (1, 2, 4, 8)
    assert card.gpus_per_node == 8
    assert card.price_usd_per_hour == 1.0
    assert isinstance(card.price_usd_per_hour, float)
    assert card.peak_dense_fp8_flops_per_second is None
    assert catalog.optimizers["test-adam"].states == (
        OptimizerState(name="exp_avg"),
        OptimizerState(name="exp_avg_sq", dtype="bf16"),
    )
    assert catalog.methods["test-lora"].quantized_dtype == "nf4"
    assert catalog.stacks["test-stack"].context_bytes == 500_000_000
    model = catalog.models["test-1b"]
    assert model.expected is not None
    assert model.expected.num_parameters == 256_911_360
    assert model.model.num_hidden_layers == 2
    assert model.model is model.model


def test_a_card_may_state_its_own_counts(root: Path) -> None:
    damage(
        root,
        "cards/test-card-24gb.toml",
        "memory_usable",
        "allowed_gpu_counts = [1, 2]\nmemory_usable",
    )
    assert load_catalog(root).cards["test-card-24gb"].allowed_gpu_counts == (1, 2)


def test_a_table_stands_for_a_list_of_pairs(root: Path) -> None:
    old = "context_bytes = 500_000_000\n"
    new = old + 'defaults = { precision = "amp", "lora.rank" = 8 }\n'
    damage(root, "stacks/test-stack.toml", old, new)
    stack = load_catalog(root).stacks["test-stack"]
    assert stack.defaults == (("precision", "amp"), ("lora.rank", 8))


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        pytest.param(
            "cards/test-card-24gb.toml",
            "memory_marketed_gb = 24",
            "memory_marketed_gb = ",
            "catalog/cards/test-card-24gb.toml: no TOML: Invalid value (at line 10, column 22)"
            " [bad-toml]",
            id="no-toml",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            "memory_bandwidth_bytes",
            "memory_bandwith_bytes",
            "catalog/cards/test-card-24gb.toml: facts.memory_bandwith_bytes_per_second:"
            ' unknown key; did you mean "memory_bandwidth_bytes_per_second"? [unknown-field]',
            id="misspelt-fact",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            'vendor = "Test"\n',
            'vendor = "Test"\nvendr = "x"\n',
            "catalog/cards/test-card-24gb.toml: vendr: unknown key;"
            ' did you mean "vendor"? [unknown-field]',
            id="misspelt-key-at-the-top",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            "memory_marketed_gb = 24\n",
            "",
            "catalog/cards/test-card-24gb.toml: facts.memory_marketed_gb: missing; add it"
            " (expected an integer) [missing-field]",
            id="missing-fact",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            "memory_marketed_gb = 24",
            "memory_marketed_gb = 24.0",
            "catalog/cards/test-card-24gb.toml: facts.memory_marketed_gb: wrong value"
            " (expected an integer, got 24.0) [wrong-type]",
            id="float-for-integer",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            "memory_marketed_gb = 24",
            "memory_marketed_gb = true",
            "catalog/cards/test-card-24gb.toml: facts.memory_marketed_gb: wrong value"
            " (expected an integer, got true) [wrong-type]",
            id="bool-for-integer",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            'form = "pcie"',
            'form = "pci"',
            "catalog/cards/test-card-24gb.toml: form: wrong value (expected one of"
            ' "consumer", "workstation", "pcie", "sxm", "superchip", "rack", "unified", got "pci")'
            " [wrong-type]",
            id="unknown-choice",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            'aliases = ["tc-24gb"]',
            'aliases = ["tc-24gb", 3]',
            "catalog/cards/test-card-24gb.toml: aliases[1]: wrong value"
            " (expected a text, got 3) [wrong-type]",
            id="wrong-item",
        ),
        pytest.param(
            "cards/test-card-24gb.toml",
            'aliases = ["tc-24gb"]',
            'aliases = "tc-24gb"',
            "catalog/cards/test-card-24gb.toml: aliases: wrong value"
            ' (expected a list of items, each a text, got "tc-24gb") [wrong-type]',
            id="text-for-list",
        ),
        pytest.param(
            "optimizers/test-adam.toml",
            'dtype = "bf16"',
            'dtype = "bf17"',
            "catalog/optimizers/test-adam.toml: states[1].dtype: wrong value (expected one of"
            ' "fp32", "bf16", "blockwise-8bit", "blockwise-4bit", "blockwise-fp8", got "bf17")'
            " [wrong-type]",
            id="wrong-value-in-a-table",
        ),
        pytest.param(
            "optimizers/test-adam.toml",
            'dtype = "bf16"',
            'dtyp = "bf16"',
            "catalog/optimizers/test-adam.toml: states[1].dtyp: unknown key;"
            ' did you mean "dtype"? [unknown-field]',
            id="misspelt-key-in-a-table",
        ),
        pytest.param(
            "models/test-1b.toml",
            "[config]",
            "[konfig]",
            "catalog/models/test-1b.toml: config: missing; add it (expected a table)"
            " [missing-field]",
            id="missing-table",
        ),
        pytest.param(
            "models/test-1b.toml",
            "num_parameters = 256_911_360",
            'num_parameters = "1B"',
            "catalog/models/test-1b.toml: expected.num_parameters: wrong value"
            ' (expected an integer, got "1B") [wrong-type]',
            id="wrong-value-in-a-record",
        ),
        pytest.param(
            "stacks/test-stack.toml",
            "[facts]\ncontext_bytes = 500_000_000\n",
            'facts = "none"\n',
            "catalog/stacks/test-stack.toml: facts: wrong value"
            ' (expected a table, got "none") [wrong-type]',
            id="facts-that-are-no-table",
        ),
    ],
)
def test_damage_ends_in_a_precise_message(
    root: Path, name: str, old: str, new: str, expected: str
) -> None:
    damage(root, name, old, new)
    assert expected in lines(root)


def test_bytes_that_are_no_text_are_reported(root: Path) -> None:
    path = root / "cards" / "test-card-24gb.toml"
    path.write_bytes(b"\xff\xfe")
    (line,) = lines(root)
    assert line.startswith("catalog/cards/test-card-24gb.toml: no TOML: ")
    assert line.endswith("[bad-toml]")


def test_all_damage_is_told_at_once_and_in_order(root: Path) -> None:
    damage(root, "cards/test-card-24gb.toml", "= 24\n", '= "24"\n')
    damage(root, "cards/test-card-24gb.toml", 'form = "pcie"', 'form = "box"')
    damage(root, "optimizers/test-adam.toml", "paged = true", "paged = 1")
    damage(root, "models/test-1b.toml", "[config]", "[config")
    told = lines(root)
    places = [line.split(": ")[0] + " " + line.split(": ")[1] for line in told]
    assert places == [
        "catalog/cards/test-card-24gb.toml facts.memory_marketed_gb",
        "catalog/cards/test-card-24gb.toml form",
        "catalog/models/test-1b.toml no TOML",
        "catalog/optimizers/test-adam.toml paged",
    ]


def test_the_exception_prints_every_problem_and_is_a_group(root: Path) -> None:
    damage(root, "cards/test-card-24gb.toml", "= 24\n", '= "24"\n')
    damage(root, "optimizers/test-adam.toml", "paged = true", "paged = 1")
    with pytest.raises(CatalogProblems) as caught:
        load_catalog(root)
    assert isinstance(caught.value, ExceptionGroup)
    assert len(caught.value.exceptions) == 2
    text = str(caught.value).splitlines()
    assert text[0] == "2 problems in the catalog:"
    assert text[1:] == [str(error) for error in caught.value.exceptions]


def test_a_change_of_a_file_is_seen(root: Path) -> None:
    assert load_catalog(root).cards["test-card-24gb"].name == "Test Card 24 GB"
    damage(root, "cards/test-card-24gb.toml", "Test Card 24 GB", "Another Card")
    assert load_catalog(root).cards["test-card-24gb"].name == "Another Card"


def test_the_catalog_has_no_problems() -> None:
    assert PROBLEMS == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_every_file_becomes_a_record_that_is_called_like_the_file(document: Document) -> None:
    assert document.record is not None
    assert document.record.id == document.stem


def test_the_catalog_has_the_promised_size() -> None:
    catalog = load_catalog()
    assert len(catalog.models) >= 80
    assert len(catalog.cards) >= 60
    assert len(catalog.optimizers) >= 18
    assert set(catalog.methods) == {"full", "lora", "qlora"}
    assert "generic" in catalog.stacks


def test_loading_takes_less_than_a_second_of_processor_time() -> None:
    start = time.process_time()
    load_catalog()
    assert time.process_time() - start < 1.0


def test_loading_needs_no_installed_package() -> None:
    program = f"import sys; sys.path.insert(0, {str(CATALOG_DIR.parent)!r})\n"
    program += "from generator.load import load_catalog; print(len(load_catalog().cards))"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert int(run.stdout) == len(load_catalog().cards)
