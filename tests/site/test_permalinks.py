"""Addresses that were published stay: the ledger holds, and a lost address is named."""

import dataclasses

import pytest

from generator.emit import permalinks
from generator.load import CATALOG_DIR, load_catalog
from generator.matrix import read_axes


def test_every_published_address_is_in_the_ledger_and_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = permalinks.main(write=False)

    assert capsys.readouterr().err == ""
    assert status == 0


def test_a_removed_model_is_missed() -> None:
    catalog = load_catalog()
    axes = read_axes(catalog)
    fewer = dict(catalog.models)
    del fewer["llama-3.1-8b"]
    docs = CATALOG_DIR.parent / "docs"
    now = permalinks.published(dataclasses.replace(catalog, models=fewer), axes, docs)

    assert "page models/llama-3.1-8b/" in permalinks.published(catalog, axes, docs)
    assert "page models/llama-3.1-8b/" not in now


def test_the_ledger_has_no_line_twice() -> None:
    ledger = permalinks.read_ledger()

    assert len(ledger) == len(set(ledger))
