"""Parameter totals of published checkpoints: every model of the catalog, to the parameter."""

import csv
from functools import cache
from pathlib import Path

import pytest

from generator.core.catalog import CatalogModel
from generator.core.model import Attention, GatedDeltaNet, Mamba2
from generator.core.params import mixer_tensors, num_active_parameters, num_parameters, tensors
from generator.load import CATALOG_DIR, load_catalog

MODELS = sorted(path.stem for path in (CATALOG_DIR / "models").glob("*.toml"))
VERIFICATION = Path(CATALOG_DIR / "verification.csv")

BUFFER_SHARE = 0.0002
"""Router corrections, rotary tables and clipping values never reach 0.02 % of a checkpoint."""


@cache
def catalog() -> dict[str, CatalogModel]:
    return load_catalog().models


@cache
def verification() -> dict[str, dict[str, str]]:
    with VERIFICATION.open(encoding="utf-8", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def matching(*kinds: str) -> list[str]:
    found = []
    for stem in MODELS:
        expected = catalog()[stem].expected
        if expected is not None and expected.match in kinds:
            found.append(stem)
    return found


def totals(stem: str) -> tuple[int, int]:
    """Our total and the checkpoint's."""
    entry = catalog()[stem]
    assert entry.expected is not None
    assert entry.expected.checkpoint_parameters is not None
    return num_parameters(entry.model), entry.expected.checkpoint_parameters


def test_the_catalog_is_large_enough() -> None:
    assert len(MODELS) >= 143


@pytest.mark.parametrize("stem", MODELS)
def test_derived_total_is_the_class_s_total(stem: str) -> None:
    entry = catalog()[stem]
    assert entry.expected is not None
    assert entry.expected.num_parameters == num_parameters(entry.model)


@pytest.mark.parametrize("stem", sorted(verification()))
def test_the_class_was_built_and_agrees(stem: str) -> None:
    """A model without a line is one that the site calls not verified yet."""
    row = verification()[stem]
    assert stem in catalog(), f"no model is called so; delete its line in {VERIFICATION.name}"
    assert str(num_parameters(catalog()[stem].model)) == row["ours"], (
        f"the count of {stem} has changed since its class was built. Run `make verify-models "
        f"ARGS={stem}`, which installs PyTorch (1 GB), or delete its line in catalog/"
        f"{VERIFICATION.name}: the site then calls it not verified yet"
    )
    if row["theirs"]:
        assert (row["theirs"], "same", "same") == (
            row["ours"],
            row["linear_layers"],
            row["quantisable"],
        )
    else:
        assert row["note"].startswith("transformers has no class")


def test_most_models_are_verified() -> None:
    assert len(verification()) >= 0.9 * len(MODELS)


def test_only_remote_code_models_have_no_class() -> None:
    unbuilt = {stem for stem, row in verification().items() if not row["theirs"]}
    types = {catalog()[stem].config["model_type"] for stem in unbuilt}
    assert {"qwen", "chatglm"} == types


@pytest.mark.parametrize("stem", matching("exact"))
def test_exact_models_equal_their_checkpoint(stem: str) -> None:
    ours, checkpoint = totals(stem)
    assert checkpoint == ours


@pytest.mark.parametrize("stem", matching("exact_with_mtp"))
def test_what_qwen_s_checkpoints_hold_beyond_is_one_prediction_layer(stem: str) -> None:
    ours, checkpoint = totals(stem)
    model = catalog()[stem].model
    hidden = model.hidden_size
    full = next(
        group.block
        for group in model.block_groups
        if any(isinstance(mixer, Attention) for mixer in group.block.mixers)
    )
    # One more full-attention block, a projection of embedding and state, and three norms.
    alone = type(model)(
        name="prediction",
        hidden_size=hidden,
        vocab_size=1,
        tie_word_embeddings=True,
        block_groups=(type(model.block_groups[0])(count=1, block=full),),
    )
    block = num_parameters(alone) - hidden - hidden  # less the one-word table and the final norm
    assert checkpoint - ours == block + 2 * hidden * hidden + 3 * hidden


@pytest.mark.parametrize("stem", matching("exact_minus_buffers"))
def test_what_is_left_besides_buffers_is_nothing(stem: str) -> None:
    ours, checkpoint = totals(stem)
    assert 0 < checkpoint - ours < BUFFER_SHARE * checkpoint


def test_gpt2_s_surplus_is_its_causal_masks() -> None:
    ours, checkpoint = totals("gpt2")
    assert checkpoint - ours == 12 * 1024 * 1024


@pytest.mark.parametrize(
    ("stem", "layers"), [pytest.param("pythia-410m", 24), pytest.param("pythia-1.4b", 24)]
)
def test_pythia_s_surplus_is_masks_and_rotary_tables(stem: str, layers: int) -> None:
    ours, checkpoint = totals(stem)
    head = 64 if stem == "pythia-410m" else 128
    # A 2048 x 2048 mask, and the frequencies of the rotated quarter of a head.
    assert checkpoint - ours == layers * (2048 * 2048 + head // 4 // 2)


@pytest.mark.parametrize("stem", ["gemma-3n-e2b", "gemma-3n-e4b"])
def test_gemma_3n_s_surplus_is_the_keys_and_values_of_sharing_layers(stem: str) -> None:
    ours, checkpoint = totals(stem)
    model = catalog()[stem].model
    sharing = sum(
        group.count
        for group in model.block_groups
        for mixer in group.block.mixers
        if isinstance(mixer, Attention) and mixer.shares_key_value
    )
    # Two projections of 2 heads of 256, and the key norm; what remains are buffers.
    surplus = sharing * (2 * 512 * model.hidden_size + 256)
    assert 0 <= checkpoint - ours - surplus < BUFFER_SHARE * checkpoint


@pytest.mark.parametrize("stem", ["gemma-4-e2b", "gemma-4-e4b"])
def test_gemma_4_s_surplus_is_the_keys_and_values_of_sharing_layers(stem: str) -> None:
    ours, checkpoint = totals(stem)
    model = catalog()[stem].model
    surplus = 0
    for group in model.block_groups:
        for mixer in group.block.mixers:
            if isinstance(mixer, Attention) and mixer.shares_key_value:
                width = mixer.num_key_value_heads * mixer.head_dim
                surplus += group.count * (2 * width * model.hidden_size + mixer.head_dim)
    assert 0 <= checkpoint - ours - surplus < BUFFER_SHARE * checkpoint


@pytest.mark.parametrize("stem", matching("checkpoint_larger_mtp_or_scales"))
def test_larger_checkpoints_stay_within_what_prediction_layers_and_scales_explain(
    stem: str,
) -> None:
    ours, checkpoint = totals(stem)
    assert 0.003 < (checkpoint - ours) / checkpoint < 0.042


@pytest.mark.parametrize(
    ("stem", "active"),
    [
        pytest.param("qwen3-30b-a3b", 3_353_032_704),
        pytest.param("gpt-oss-20b", 4_187_440_704),
        pytest.param("deepseek-v3", 37_552_282_624),
        pytest.param("glm-4.5-air", 13_424_123_904),
        pytest.param("gemma-4-26b-a4b", 3_822_530_560),
        pytest.param("nvidia-nemotron-3-super-120b-a12b-bf16", 12_770_216_960),
        pytest.param("llama-4-scout-17b-16e", 17_172_894_720),
    ],
)
def test_active_parameters_match_an_independent_count(stem: str, active: int) -> None:
    assert active == num_active_parameters(catalog()[stem].model)


@pytest.mark.parametrize("stem", MODELS)
def test_the_tensors_add_up_and_none_is_empty(stem: str) -> None:
    parts = tensors(catalog()[stem].model)
    assert all(min(part.shape) >= 1 and part.count >= 1 for part in parts)
    assert sum(part.size * part.count for part in parts) == num_parameters(catalog()[stem].model)


def test_recurrent_mixers_have_the_sizes_of_their_papers() -> None:
    mamba = Mamba2(
        num_heads=2, head_dim=4, state_size=3, num_groups=1, conv_kernel=4, chunk_size=256
    )
    # in 2x8+6+2 by H; conv (8+6)x4 and bias; dt, A, D; norm 8; out 8 by H.
    expected = 24 * 10 + 14 * 4 + 14 + 3 * 2 + 8 + 8 * 10
    assert expected == sum(part.size for part in mixer_tensors(mamba, 10))
    delta = GatedDeltaNet(
        num_key_heads=1, num_value_heads=2, key_head_dim=3, value_head_dim=4, conv_kernel=4
    )
    # qkvz 2x3+2x8, ba 2x2 by H; conv (6+8)x4; dt, A; norm 4; out 8 by H.
    expected = (22 + 4) * 10 + 14 * 4 + 4 + 4 + 8 * 10
    assert expected == sum(part.size for part in mixer_tensors(delta, 10))
