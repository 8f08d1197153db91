"""The verification page: every line of the result, and the figures that it says of them."""

import csv
import re

import pytest

from generator import macros_verification as macros
from generator.load import load_catalog
from tests.site.html import Page, plain


def test_the_summary_counts_the_lines_of_the_result() -> None:
    with macros.RESULT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = macros.verification()

    assert found["num_models"] == len(load_catalog().models)
    assert found["num_unverified"] == found["num_models"] - len(rows)
    assert found["num_built"] + found["num_unbuilt"] == len(rows)
    assert found["num_equal"] == sum(row["ours"] == row["theirs"] for row in rows)
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["transformers"])


def test_the_table_holds_each_model_with_both_counts() -> None:
    page = Page(path="", text=macros.verification_table())
    lines = {plain(header): [text for _, text in cells] for header, cells in page.rows()}
    rows = {row["model"]: row for row in macros.verification_rows()}
    catalog = load_catalog()

    assert len(lines) == len(catalog.models)
    for model_id, row in rows.items():
        cells = lines[catalog.models[model_id].name]
        assert cells[0].replace(",", "") == row["ours"]
        assert cells[1].replace(",", "") == (row["theirs"] + row["class"] or "–")
        assert cells[2] == ("0" if row["ours"] == row["theirs"] else "–")


def test_a_model_that_nobody_verified_is_counted_and_called_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [row for row in macros.verification_rows() if row["model"] != "llama-3.1-8b"]
    before = macros.verification()
    monkeypatch.setattr(macros, "verification_rows", lambda: rows)
    found = macros.verification()
    line = macros.verification_table().split('<tr id="llama-3.1-8b">')[1].split("</tr>")[0]

    assert found["num_unverified"] == before["num_unverified"] + 1
    assert found["num_equal"] == before["num_equal"] - 1
    assert "8,030,261,248" in line
    assert "Not verified yet." in line
    assert "same" not in line


def test_a_larger_checkpoint_is_explained() -> None:
    text = macros.verification_table()
    catalog = load_catalog()
    for entry in catalog.models.values():
        expected = entry.expected
        if expected and expected.checkpoint_parameters not in (None, expected.num_parameters):
            row = text.split(f'<tr id="{entry.id}">')[1].split("</tr>")[0]
            assert len(plain(row.split('class="tf-prose">')[-1])) > 20, entry.id


def test_a_difference_would_be_shown() -> None:
    row = {"model": "x", "ours": "7", "theirs": "5", "note": "the class: has less"}
    entry = load_catalog().models["llama-3.1-8b"]

    assert macros._note(row, entry) == "The class: has less."
