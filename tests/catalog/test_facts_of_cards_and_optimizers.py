"""Facts that the catalog must not lose: the rules for forms, and sizes that papers print."""

import pytest

from generator.core.card import GPU_COUNTS_BY_FORM, Card
from generator.core.optimizer import Optimizer
from generator.core.params import num_parameters, tensors
from generator.core.states import optimizer_state_bytes
from generator.core.units import GIB
from generator.load import load_catalog
from tests.core.records import state_bytes_per_parameter

CATALOG = load_catalog()
LLAMA = CATALOG.models["llama-3.1-8b"].model


@pytest.mark.parametrize("card", CATALOG.cards.values(), ids=lambda card: card.id)
def test_pcie_cards_stop_at_one_node_and_racks_start_above(card: Card) -> None:
    if card.form in {"consumer", "workstation", "pcie"}:
        assert card.allowed_gpu_counts == (1, 2, 4, 8)
    elif card.form == "rack":
        assert card.allowed_gpu_counts == (16, 32, 64)
    elif card.form == "unified":
        assert max(card.allowed_gpu_counts) <= 2
    else:
        assert card.allowed_gpu_counts == GPU_COUNTS_BY_FORM["sxm"]


@pytest.mark.parametrize("card", CATALOG.cards.values(), ids=lambda card: card.id)
def test_eight_bit_runs_at_least_as_fast_as_sixteen_and_at_most_twice(card: Card) -> None:
    eight, sixteen = card.peak_dense_fp8_flops_per_second, card.peak_dense_bf16_flops_per_second
    if eight is not None and sixteen is not None:
        # A sparse figure beside a dense one would show as four times.
        assert 1 <= eight / sixteen <= 2.06


def test_cards_without_bf16_have_an_fp16_rate_and_no_flash_attention() -> None:
    old = {card.id for card in CATALOG.cards.values() if not card.supports_bf16}
    assert old == {
        "t4-16gb",
        "rtx-2080-ti-11gb",
        "v100-sxm-16gb",
        "v100-sxm-32gb",
        "v100-pcie-16gb",
        "v100-pcie-32gb",
    }
    for name in old:
        card = CATALOG.cards[name]
        assert card.peak_dense_fp16_flops_per_second is not None
        assert not card.supports_flash_attention
        assert card.status == "legacy"


def test_announced_cards_are_marked() -> None:
    announced = {card.id for card in CATALOG.cards.values() if card.status == "announced"}
    assert announced == {"vr200-nvl72-288gb", "mi455x-432gb"}


@pytest.mark.parametrize(
    ("card_id", "gib"),
    [("h100-sxm-80gb", 79.10), ("rtx-4090-24gb", 23.51), ("t4-16gb", 14.56), ("l40s-48gb", 44.39)],
)
def test_usable_memory_is_the_low_end_of_the_readings(card_id: str, gib: float) -> None:
    assert CATALOG.cards[card_id].memory_usable_bytes == round(gib * GIB)


def test_links_count_one_direction() -> None:
    links = {
        "h100-sxm-80gb": 450e9,
        "a100-sxm-80gb": 300e9,
        "b200-sxm-180gb": 900e9,
        "h100-pcie-80gb": 64e9,
        "l40s-48gb": 32e9,
        "t4-16gb": 16e9,
    }
    assert {name: CATALOG.cards[name].link_bytes_per_second for name in links} == links


BYTES_PER_PARAMETER = {
    "sgd": 0,
    "lomo": 0,
    "sgd-momentum": 4,
    "lion": 4,
    "adamw": 8,
    "paged-adamw": 8,
    "adamw-bf16": 4,
    "adamw-8bit": 2 * (1 + 4 / 256),
    "paged-adamw-8bit": 2 * (1 + 4 / 256),
    "lion-8bit": 1 + 4 / 256,
    "ao-adamw-4bit": 2 * (1 / 2 + 4 / 128),
    "ademamix": 12,
    "ademamix-8bit": 3 * (1 + 4 / 256),
    "schedule-free-adamw": 8,
    "sophia": 8,
    # Momentum for a matrix, nothing else.
    "muon": 4,
    # Two vectors of 4,096 for 4,096 x 4,096.
    "adafactor": 4 * 2 / 4096,
    # One full moment and one value per row.
    "adam-mini": 4 + 4 / 4096,
    # GaLore, table 1: m r + 2 n r, here with r = 128.
    "galore-adamw": 4 * 3 * 128 / 4096,
    "apollo-mini": 4 * 3 * 1 / 4096,
}


@pytest.mark.parametrize(("name", "expected"), BYTES_PER_PARAMETER.items())
def test_bytes_per_parameter_of_a_square_matrix(name: str, expected: float) -> None:
    assert state_bytes_per_parameter(CATALOG.optimizers[name]) == pytest.approx(expected, rel=1e-12)


def test_states_of_a_whole_model() -> None:
    count = num_parameters(LLAMA)
    own = tensors(LLAMA)
    adamw = optimizer_state_bytes(CATALOG.optimizers["adamw"], own)
    assert adamw == 8 * count
    eight_bit = optimizer_state_bytes(CATALOG.optimizers["adamw-8bit"], own)
    # Every tensor of the model has 4,096 elements or more, in whole blocks of 256.
    assert eight_bit == 2 * (count + 4 * count // 256)
    muon = optimizer_state_bytes(CATALOG.optimizers["muon"], own)
    rest = 2 * 128256 * 4096 + 65 * 4096
    assert muon == 4 * (count - rest) + 8 * rest


@pytest.mark.parametrize("optimizer", CATALOG.optimizers.values(), ids=lambda entry: entry.id)
def test_16_bit_weights_never_raise_the_states(optimizer: Optimizer) -> None:
    own = tensors(LLAMA)
    pure = optimizer_state_bytes(optimizer, own, pure_16bit=True)
    assert pure <= optimizer_state_bytes(optimizer, own)


def test_each_trainer_name_leads_to_one_optimizer() -> None:
    names = {
        "adamw_torch": "adamw",
        "adamw_torch_fused": "adamw",
        "adamw_bnb_8bit": "adamw-8bit",
        "adamw_8bit": "adamw-8bit",
        "paged_adamw_8bit": "paged-adamw-8bit",
        "paged_adamw_32bit": "paged-adamw",
        "lion_8bit": "lion-8bit",
        "adafactor": "adafactor",
        "galore_adamw": "galore-adamw",
        "apollo_adamw": "apollo",
        "ademamix_8bit": "ademamix-8bit",
        "schedule_free_adamw": "schedule-free-adamw",
        "ao_adamw_4bit": "ao-adamw-4bit",
    }
    assert {name: CATALOG.optimizer(name).id for name in names} == names
