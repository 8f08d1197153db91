"""Every fact of the two source texts, and F1 to F22, found on the page where a reader looks for it.

Numbers are read off the rendered page, so they are the core's; `tests/core/test_facts.py` holds the
core itself to them.
"""

import re

import pytest

from tests.docs.rendering import pages, rendered, text


def says(page: str, *phrases: str) -> None:
    """The page's words contain every phrase, upper and lower case alike."""
    words = text(page).lower()
    missing = [phrase for phrase in phrases if phrase.lower() not in words]
    assert missing == [], f"{page} does not say {missing}"


def number_in(page: str, pattern: str) -> tuple[float, ...]:
    """The numbers that a pattern's groups catch on a page."""
    match = re.search(pattern, text(page))
    assert match, f"{page} has no {pattern!r}"
    return tuple(float(group.replace(",", "")) for group in match.groups())


def row(page: str, *cells: str) -> list[str]:
    """Cells of the first table row that begins with these cells."""
    for line in rendered(page).splitlines():
        found = [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]
        if found[: len(cells)] == list(cells):
            return found
    raise AssertionError(f"{page} has no row {cells}")


def about(actual: float, printed: float) -> bool:
    """The tolerance of the "about" figures: 0.5 % below to 3 % above."""
    return printed * 0.995 - 0.5 <= actual <= printed * 1.03 + 0.5


# Model state


def test_f1_bytes_per_parameter_are_2_2_4_4_4_and_16_in_all() -> None:
    assert row("optimizers", "Weights")[2] == "2"
    assert row("optimizers", "Gradients")[2] == "2"
    assert row("optimizers", "Master weights")[2] == "4"
    assert row("optimizers", "First moment, `exp_avg`")[2] == "4"
    assert row("optimizers", "Second moment, `exp_avg_sq`")[2] == "4"
    assert row("optimizers", "Sum")[2] == "16"
    says("optimizers", "75 % of the sum")
    says("thirteen-billion", "12 of the 16 bytes, 75 %")


def test_f2_thirteen_billion_parameters_hold_208_gb_against_26_gb_of_weights() -> None:
    says("thirteen-billion", "208 GB stand against 26 GB")
    says("optimizers", "208 GB, of which 26 GB are weights")


def test_f3_only_trained_parameters_have_state_so_lora_hardly_notices() -> None:
    says("optimizers", "Only trained parameters have state", "adapter parameters")
    (saved,) = number_in("optimizers", r"8-bit form takes ([\d.]+) % off")
    assert 0 < saved < 2


def test_f4_llama_8b_state_64_to_16_gb_and_total_132_to_84_gb() -> None:
    says("optimizers", "the state falls from 64 GB to 16 GB")
    before, after = number_in("optimizers", r"from about (\d+) GB to about (\d+) GB on one GPU")
    assert about(before, 132)
    assert about(after, 84)


def test_f5_8_bit_moments_make_10_bytes_130_gb_and_32_5_gb_on_four() -> None:
    says(
        "optimizers", "10 bytes each, 130 GB in all", "does not put such a model on one 80 GB card"
    )
    says("optimizers", "combines with sharding")
    (each,) = number_in("optimizers", r"([\d.]+) GB per GPU when four GPUs share")
    assert each == pytest.approx(32.5, rel=0.005)
    says("thirteen-billion", "130 GB", "cannot hold it", "does not replace sharding")


def test_f5_block_scales_add_three_hundredths_of_a_byte() -> None:
    (exact,) = number_in("optimizers", r"The exact figure is ([\d.]+)")
    assert exact == pytest.approx(2.03, abs=0.005)


def test_f6_the_default_keeps_the_master_and_errs_on_the_safe_side() -> None:
    says("optimizers", "We keep the FP32 master by default, also with 8-bit Adam")
    says("optimizers", "4 bytes per parameter smaller", "errs on purpose", "bitsandbytes")
    assert "precision=bf16-pure" in rendered("optimizers")


def test_f7_lora_on_13b_keeps_26_gb_and_fits_one_80_gb_card() -> None:
    says("thirteen-billion", "26 GB of bf16 weights stay", "fits one 80 GB card (✓ fits)")
    says("thirteen-billion", "another training method with results of its own")
    says("lora-and-qlora", "This is a different way to train")


def test_f8_everything_else_is_seven_times_the_weights() -> None:
    says("optimizers", "Master, gradients and moments together are 7× the weights")


# Sharding


def test_f9_the_formula_with_its_stages_and_1_5_gb() -> None:
    says("sharding", "W / (N from stage 3)", "G / (N from stage 2)", "(M + O) / (N from stage 1)")
    says("sharding", "2 (weights), 4 (master), 2 (gradients) and 8 (AdamW)")
    says("sharding", "The overhead is 1.5 GB", "shared out from ZeRO-1 on, as in the ZeRO paper")
    assert "arxiv.org/abs/1910.02054" in rendered("sharding")


def test_f10_activations_and_overhead_never_shard() -> None:
    says("sharding", "Activations are never shared out", "the same on 1 GPU and on 64")


@pytest.mark.parametrize(
    ("strategy", "bytes_per_parameter", "gb"),
    [
        ("DDP", "16.0", "208.0"),
        ("ZeRO-1", "7.0", "91.0"),
        ("ZeRO-2", "5.5", "71.5"),
        ("ZeRO-3, FSDP", "4.0", "52.0"),
    ],
)
def test_f11_four_gpus_static(strategy: str, bytes_per_parameter: str, gb: str) -> None:
    assert row("thirteen-billion", strategy, bytes_per_parameter)[2] == gb
    assert row("sharding", strategy, bytes_per_parameter)[2] == gb


def test_f12_zero_2_leaves_under_9_gb_and_zero_3_28_gb() -> None:
    assert row("thirteen-billion", "DDP", "16.0")[3] == "none"
    assert row("thirteen-billion", "ZeRO-1", "7.0")[3] == "none"
    assert 0 < float(row("thirteen-billion", "ZeRO-2", "5.5")[3]) < 9
    assert row("thirteen-billion", "ZeRO-3, FSDP", "4.0")[3] == "28.0"
    says("thirteen-billion", "a few hundred megabytes each")


def test_f12_where_zero_2_stops_and_the_answer() -> None:
    cells = [row("thirteen-billion", work) for work in ("2,048 × 1", "4,096 × 1", "4,096 × 4")]
    assert "fits" in cells[0][2]
    assert "fits" not in cells[1][2]
    assert "no" in cells[2][2]
    assert all("fits" in line[4] for line in cells)
    says("thirteen-billion", "FSDP with each decoder block wrapped as its own unit")


def test_f12_why_ddp_fails_before_the_first_step_is_over() -> None:
    says("thirteen-billion", "AdamW allocates them for its first update")
    says("out-of-memory", "at the first optimizer step", "AdamW allocates its states now")


def test_f13_ddp_adds_throughput_not_capacity_and_one_more_gradient_copy() -> None:
    says("sharding", "DDP buys speed, not room", "does not fit a hundred under DDP")
    says("sharding", "about as large as the gradients")


def test_f14_five_strategies_and_who_picks_the_count() -> None:
    for strategy in ("Single", "DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3, FSDP"):
        row("sharding", strategy)
    says("sharding", "The default is 2", "1, 2, 4, 8, 16, 32, 64", "at most 95 %")


def test_f15_pcie_ends_at_8_and_racks_begin_at_16() -> None:
    says("sharding", "PCIe, workstation and consumer cards end at 8")
    says("sharding", "Rack-scale systems such as GB200 NVL72 begin at 16")


def test_f16_llama_70b_on_8_and_16() -> None:
    (eight,) = number_in("sharding", r"on 8 GPUs each needs about (\d+) GB")
    (sixteen,) = number_in("sharding", r"on 16 GPUs each needs about (\d+) GB")
    assert about(eight, 146)
    assert about(sixteen, 76)
    says("sharding", "fits a node of 180 GB B200 cards (✓ fits)", "Cards of 94 to 96 GB")
    assert not re.search(r"Cards of 80 GB do not \(✓", text("sharding"))


def test_f17_check_the_frozen_base_before_sharding_lora() -> None:
    says("lora-and-qlora", "Before you shard a LoRA run", "QLoRA may fit one GPU")
    says("sharding", "often makes sharding unnecessary")


# Activations, communication, time


def test_f18_levers_in_order_with_their_cost() -> None:
    for page, start in (("activations", "in this order"), ("thirteen-billion", "5. if")):
        words = text(page).lower()
        body = words[words.index(start) :]
        order = ["flashattention", "micro-batch", "checkpointing", "shorter sequences", "offload"]
        places = [body.index(lever) for lever in order]
        assert places == sorted(places)
    says("activations", "5as/h", "33 % more FLOPs", "HFU = 4/3 MFU", "packing")
    says("activations", "gathers the weights again for every micro-batch")
    says("thirteen-billion", "each loss is divided by the count", "several times slower")


def test_f18_checkpointing_saves_about_an_order_of_magnitude() -> None:
    (factor,) = number_in("activations", r"GB, (\d+)× less")
    assert 8 <= factor <= 20


def test_f19_bytes_sent_and_when_they_show() -> None:
    assert row("communication", "DDP")[2] == "39.0"
    assert row("communication", "ZeRO-3, FSDP")[2:4] == ["58.5", "1.5×"]
    says("communication", "2 (N - 1)/N", "3 (N - 1)/N", "hybrid sharding", "tensor parallelism")
    says("thirteen-billion", "39 GB", "58.5 GB", "gathered while the current one computes")


def test_f20_guidance_on_choosing() -> None:
    assert row("sharding", "One card is enough, with a margin")[1].startswith("Single; DDP")
    assert row("sharding", "Weights fit, optimizer state does not")[1] == "ZeRO-1 or ZeRO-2"
    assert row("sharding", "Not even the weights fit")[1].startswith("ZeRO-3 or FSDP")
    assert "gathered" in row("sharding", "Not even the weights fit")[2]


def test_f21_offload_is_outside_and_the_page_says_so() -> None:
    says("not-modelled", "Not in the base model: ZeRO-Offload", "NVMe", "Paged optimizers")
    says("not-modelled", "trade GPU memory for host memory")


def test_f22_time_and_cost_says_what_is_counted() -> None:
    says("time-and-cost", "million tokens", "USD", "ZeRO-3's gathers and scatter")
    says("time-and-cost", "as far as compute does not hide them", "Not counted")


# What the source texts say beyond F1 to F22


def test_seed_fp32_adamw_measures_4_4_8_as_well() -> None:
    says("precision", "4 + 4 + 8 = 16 bytes")


def test_seed_8_bit_states_make_7b_models_comfortable() -> None:
    says("thirteen-billion", "For 7B models it changes the picture")
    assert re.search(
        r"Llama 2 7B then needs \d+ GB on one card \(✓ fits\)", text("thirteen-billion")
    )


def test_seed_zero_1_and_2_keep_weights_local_and_traffic_light() -> None:
    assert "weights stay local" in row("sharding", "Weights fit, optimizer state does not")[2]


def test_seed_overhead_belongs_to_the_micro_batch() -> None:
    says("sharding", "belong to the micro-batch that a GPU works on")


def test_seed_lora_has_no_gradients_master_or_moments_for_the_base() -> None:
    says("lora-and-qlora", "no gradient, no master, no moments")


def test_seed_rlhf_and_dpo_are_another_matter() -> None:
    says("not-modelled", "DPO, PPO, GRPO")


def test_seed_accumulation_keeps_the_global_batch() -> None:
    says("activations", "the global batch and the FLOPs stay the same")


def test_the_pages_of_the_facts_exist() -> None:
    assert len(pages()) == 15
