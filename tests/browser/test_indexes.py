"""The lists of models and cards in Chromium: sorting, filters, and the address that keeps both."""

import pytest

from generator.core.params import num_parameters
from generator.load import load_catalog
from tests.browser.support import RunNode

SCRIPT = "indexes.mjs"


@pytest.mark.in_firefox
def test_models_are_sorted_and_filtered_and_the_address_keeps_it(
    browse: RunNode, site_url: str
) -> None:
    result = browse(SCRIPT, scenario="models", url=site_url)
    steps = result["steps"]
    sizes = {
        model_id: num_parameters(entry.model) for model_id, entry in load_catalog().models.items()
    }
    listed = steps["start"]["ids"]

    assert steps["start"]["sorted"] == []
    assert steps["start"]["status"] == f"{len(listed)} models"
    assert set(listed) <= set(sizes)
    assert [sizes[each] for each in steps["smallest"]["ids"]] == sorted(
        sizes[each] for each in listed
    )
    assert steps["largest"]["ids"][0] == max(listed, key=lambda model_id: sizes[model_id])
    assert steps["largest"]["sorted"] == ["Parameters descending"]
    assert steps["largest"]["search"] == "?sort=-parameters"
    assert "qwen3-30b-a3b" in steps["filtered"]["ids"]
    assert all("qwen" in each and "30b" in each for each in steps["filtered"]["ids"])
    count = len(steps["filtered"]["ids"])
    assert steps["filtered"]["status"] == f"{count} of {len(listed)} models"
    assert steps["again"] == steps["filtered"]
    assert steps["cleared"] == steps["start"]
    assert steps["none"]["status"] == f"0 of {len(listed)} models: nothing has all of this"
    assert steps["none"]["isTableSeen"] is False
    assert result["errors"] == []
    assert result["violations"] == []


def test_what_an_address_asks_of_the_cards_is_shown_and_the_unknown_stands_last(
    browse: RunNode, site_url: str
) -> None:
    result = browse(SCRIPT, scenario="cards", url=site_url)
    cards = load_catalog().cards
    known = [float(price) for price, _ in result["prices"] if price]

    assert all(cards[each].memory_marketed_gb >= 80 for each in result["byPrice"]["ids"])
    assert result["byPrice"]["sorted"] == ["USD per hour ascending"]
    assert known == sorted(known)
    assert [price for price, _ in result["prices"][len(known) :]] == [""] * (
        len(result["prices"]) - len(known)
    )
    # Money never without its date.
    assert all(cell[-7:-2].startswith("20") for price, cell in result["prices"] if price)
    assert result["errors"] == []


@pytest.mark.only_chromium
@pytest.mark.parametrize("path", ["models/", "cards/"])
def test_without_scripts_the_table_is_complete_and_nothing_pretends_to_work(
    browse: RunNode, site_url: str, path: str
) -> None:
    result = browse(SCRIPT, scenario="plain", url=site_url, path=path)

    assert result["rows"] > 1
    assert not result["areControlsSeen"]
