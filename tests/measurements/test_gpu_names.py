"""A source's words name one card of the catalog as a whole, or none; nothing is matched in part."""

from dataclasses import replace

import pytest

from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.measurements.gpu_names import FORMS, USUAL, FoundCard, find_card


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.mark.parametrize(
    ("words", "card"),
    [
        ("H200", "h200-sxm-141gb"),
        ("GB200", "gb200-nvl72-186gb"),
        ("B200 (power limited)", "b200-sxm-180gb"),
        ("B200 192GB", "b200-sxm-180gb"),
        ("GH200 96GB", "gh200-96gb"),
        ("NVIDIA GH200 Grace Hopper Superchip 144 GB", "gh200-144gb"),
        ("A100-SXM4-40GB", "a100-sxm-40gb"),
        ("A100", "a100-sxm-80gb"),
        ("A800-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("A10G-24GB", "a10g-24gb"),
        ("A10", "a10-24gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"),
        ("H100 95GiB (inferred from the percentage)", "h100-nvl-94gb"),
        ("RTX A6000", "rtx-a6000-48gb"),
        ("A6000 Ada 48GB", "rtx-6000-ada-48gb"),
        ("2x GeForce RTX 4090", "rtx-4090-24gb"),
        ("L40S", "l40s-48gb"),
        ("L4", "l4-24gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm-16gb"),
        ("RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server-96gb"),
        ("h100_pcie_80gb", "h100-pcie-80gb"),
    ],
)
def test_a_whole_name_is_its_card(catalog: Catalog, words: str, card: str) -> None:
    assert find_card(words, catalog.cards) == FoundCard(id=card)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("GH200", '"GH200" may be gh200-144gb or gh200-96gb; write which'),
        ("A100/H100", "the catalog has no card"),
        ("H20 96GB", "the catalog has no card"),
        ("A100 24GB", "the catalog has no card"),
        ("RTX A4500", "the catalog has no card"),
        ("MI250", 'did you mean "mi250x-64gb"?'),
        ("GTX 4090", "the catalog has no card"),
        ("RTX 4090 Laptop GPU", "the catalog has no card"),
        ("NVIDIA", "the catalog has no card"),
        ("", "the card is not stated"),
        ("A100 " + "9" * 400 + "GB", "the catalog has no card"),
    ],
)
def test_another_name_is_no_card_and_says_why(catalog: Catalog, words: str, reason: str) -> None:
    found = find_card(words, catalog.cards)
    assert (found.id, found.memory_gb) == (None, None)
    assert reason in found.reason
    assert len(found.reason) < 250


def test_a_size_without_a_name_is_a_card_of_that_size(catalog: Catalog) -> None:
    assert find_card("48GB class", catalog.cards).request == {"memory_gb": 48}
    assert find_card("24GB GPU (2x)", catalog.cards).request == {"memory_gb": 24}


@pytest.mark.parametrize(
    "card_id", ["phi-x1-48gb", "phi-4x-48gb", "rtx-blackwell-48gb", "grace-pcie-48gb"]
)
def test_words_that_tell_nothing_elsewhere_may_be_part_of_an_id(
    catalog: Catalog, card_id: str
) -> None:
    cards = {**catalog.cards, card_id: replace(catalog.cards["l4-24gb"], id=card_id, aliases=())}
    cards[card_id] = replace(cards[card_id], memory_marketed_gb=48)
    plain = card_id.replace("-", " ")
    for name in (card_id, plain, f"NVIDIA {plain.upper()}", f"2x {plain}", f"{plain} card"):
        assert find_card(name, cards).id == card_id, name
    assert find_card("NVIDIA GH200 Grace Hopper Superchip 144 GB", cards).id == "gh200-144gb"
    assert find_card("2x GeForce RTX 4090", cards).id == "rtx-4090-24gb"
    assert find_card("48GB class (2x)", cards).request == {"memory_gb": 48}


def test_every_id_alias_and_printed_name_is_its_own_card(catalog: Catalog) -> None:
    for card in catalog.cards.values():
        for name in (card.id, *card.aliases, card.id.upper(), card.id.replace("-", " ")):
            assert find_card(name, catalog.cards).id == card.id, name


def test_what_is_usual_exists(catalog: Catalog) -> None:
    assert set(USUAL) <= set(catalog.cards)
    assert set(FORMS.values()) - {""} <= set(FORMS)


def test_a_card_whose_size_is_still_to_be_filled_in_is_no_stumbling_block(catalog: Catalog) -> None:
    draft = replace(catalog.cards["h100-sxm-80gb"], memory_marketed_gb=0)
    assert find_card("H100 80GB", {draft.id: draft}).id is None
