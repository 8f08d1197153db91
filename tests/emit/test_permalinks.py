"""Addresses that were published stay: the ledger holds, and a lost address is named."""

import dataclasses
import re
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


def ledger_without_the_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A ledger of what is published now, so that nothing else is new, in place of the real one."""
    catalog = load_catalog()
    now = permalinks.published(catalog, read_axes(catalog), CATALOG_DIR.parent / "docs")
    lines = [f"{line}\n" for line in now if line != "page cards/"]
    ledger = tmp_path / "permalinks.txt"
    ledger.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(permalinks, "LEDGER", ledger)
    return lines


def test_a_forgotten_address_fails_the_check_and_names_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    makefile = (CATALOG_DIR.parent / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^check: checked .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe == "\t@$(PY) -m generator permalinks\n"

    ledger_without_the_cards(tmp_path, monkeypatch)
    assert permalinks.main(write=False) == 1
    assert capsys.readouterr().err == "permalinks: page cards/ is new; run `make permalinks`\n"


def test_new_addresses_are_added_after_the_checks_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger only grows: what enters it must have passed."""
    makefile = (CATALOG_DIR.parent / "Makefile").read_text(encoding="utf-8")
    assert "\npermalinks: checked " in makefile
    assert "\nchecked: venv\n\t@$(PY) -m generator check\n" in makefile

    lines = ledger_without_the_cards(tmp_path, monkeypatch)
    ledger = permalinks.LEDGER
    assert permalinks.main(write=True) == 0
    assert capsys.readouterr().out == "permalinks: page cards/ is added\n"
    assert ledger.read_text(encoding="utf-8") == "".join([*lines, "page cards/\n"])
    assert permalinks.main(write=True) == 0
    assert capsys.readouterr().out == "permalinks: nothing is new\n"


def test_the_ledger_has_no_line_twice() -> None:
    ledger = permalinks.read_ledger()

    assert len(ledger) == len(set(ledger))
