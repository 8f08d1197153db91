"""Addresses that were published stay: the ledger holds, and a lost address is named."""

import dataclasses
from pathlib import Path

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


def test_addresses_need_no_built_site(tmp_path: Path) -> None:
    """What is generated follows from the catalog: pages that are not there yet, or no longer."""
    catalog = load_catalog()
    axes = read_axes(catalog)
    for name in ("index.md", "explain/units.md", "models/long-gone.md", "404.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    pages = [
        line for line in permalinks.published(catalog, axes, tmp_path) if line.startswith("page ")
    ]
    by_hand = [line for line in pages if not line.startswith(("page models/", "page cards/"))]

    assert by_hand == ["page ./", "page explain/units/"]
    assert len(pages) - len(by_hand) == len(catalog.models) + len(catalog.cards) + 2


def test_new_addresses_are_added_after_the_checks_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger only grows: what enters it must have passed."""
    makefile = (CATALOG_DIR.parent / "Makefile").read_text(encoding="utf-8")
    assert "\npermalinks: check " in makefile

    ledger = tmp_path / "permalinks.txt"
    lines = [f"{line}\n" for line in permalinks.read_ledger() if line != "page cards/"]
    ledger.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(permalinks, "LEDGER", ledger)
    assert permalinks.main(write=True) == 0
    assert capsys.readouterr().out == "permalinks: page cards/ is added\n"
    assert ledger.read_text(encoding="utf-8") == "".join([*lines, "page cards/\n"])
    assert permalinks.main(write=True) == 0
    assert capsys.readouterr().out == "permalinks: nothing is new\n"


def test_the_ledger_has_no_line_twice() -> None:
    ledger = permalinks.read_ledger()

    assert len(ledger) == len(set(ledger))
