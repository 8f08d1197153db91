"""Verifying a few models changes their lines in the result file and no other."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from generator import verify_models
from generator.core.catalog import CatalogModel
from generator.core.params import num_parameters
from generator.load import load_catalog
from generator.verify_models import COLUMNS, Verification, main

OLD = ["qwen3-8b", "Qwen3ForCausalLM", "1", "1", "same", "same", ""]


def counted(entry: CatalogModel) -> Verification:
    """What the class of a model would give if it agreed."""
    ours = num_parameters(entry.model)
    return Verification(
        model=entry.id,
        class_name="Class",
        ours=ours,
        theirs=ours,
        linear_layers="same",
        quantisable="same",
        note="",
    )


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result file with a line of a model that exists and of one that has left."""
    file = tmp_path / "verification.csv"
    lines = [COLUMNS, ["gone-1b", *OLD[1:]], OLD]
    file.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    monkeypatch.setattr(verify_models, "verify", counted)
    return file


def lines_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert tuple(header) == COLUMNS
    return lines


def test_a_new_model_gets_its_line_in_the_catalog_s_order(path: Path) -> None:
    assert main(["llama-3.1-8b"], path) == 0
    assert lines_of(path) == [
        ["llama-3.1-8b", "Class", "8030261248", "8030261248", "same", "same", ""],
        OLD,
    ]


def test_a_changed_model_s_line_is_replaced(path: Path) -> None:
    assert main(["qwen3-8b"], path) == 0
    (line,) = lines_of(path)
    assert line[:4] == ["qwen3-8b", "Class", "8190735360", "8190735360"]


def test_without_ids_every_model_has_a_line(path: Path) -> None:
    assert main([], path) == 0
    assert [line[0] for line in lines_of(path)] == list(load_catalog().models)


def test_a_class_that_needs_a_package_leaves_its_line_and_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        verify_models, "verify", lambda entry: replace(counted(entry), theirs=None, needs="timm")
    )
    assert main(["qwen3-8b"], path) == 0
    assert lines_of(path) == [OLD]
    assert "qwen3-8b: the class needs timm; install it" in capsys.readouterr().err


def test_a_difference_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify_models, "verify", lambda entry: replace(counted(entry), theirs=5))
    assert main(["qwen3-8b"], path) == 1
    assert "qwen3-8b: differs: 8190735360, 5" in capsys.readouterr().err


def test_an_unknown_id_is_refused_and_the_file_left_alone(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = path.read_text(encoding="utf-8")
    assert main(["llama-3.1-9b"], path) == 2
    assert "did you mean" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == before
