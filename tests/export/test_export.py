"""What is written for each tool: names, notes, and refusals where a tool has no word."""

import json
from typing import Any

import pytest
import yaml

from generator.core.api import answer, run
from generator.core.errors import TrainfitError
from generator.core.launch import RELEASES, TOOLS
from generator.load import load_catalog

CATALOG = load_catalog()


def export(tool: str, **fields: object) -> dict[str, Any]:
    return answer({"op": "export", "tool": tool, "model": "llama-3.1-8b", **fields}, CATALOG)


def keys(launch: dict[str, Any], number: int = 0) -> dict[str, Any]:
    text = launch["files"][number]["text"]
    parsed = json.loads(text) if text.startswith("{") else yaml.safe_load(text)
    assert isinstance(parsed, dict)
    return parsed


@pytest.mark.parametrize("tool", TOOLS)
def test_the_default_request_is_written_for_every_tool(tool: str) -> None:
    launch = export(tool)

    assert launch["tool"] == tool
    assert launch["num_gpus"] == 1
    assert launch["command"].split()[0] in {
        "accelerate",
        "axolotl",
        "deepspeed",
        "llamafactory-cli",
        "tune",
        "trl",
    }
    assert all(note.endswith(".") for note in launch["notes"])
    assert (
        "meta-llama/Llama-3.1-8B" in launch["files"][0]["text"]
        or any("says nothing about" in note for note in launch["notes"])
        or tool == "torchtune"
    )


def test_the_list_of_tools_is_part_of_the_description() -> None:
    described = answer({"op": "describe"}, CATALOG)["tools"]

    assert {tool["id"]: tool["name"] for tool in described} == TOOLS


def test_axolotl_qlora_on_fsdp2() -> None:
    launch = export(
        "axolotl", method="qlora", strategy="zero-3", num_gpus=8, lora={"train_head": True}
    )

    written = keys(launch)
    assert written["adapter"] == "qlora"
    assert written["load_in_4bit"] is True
    assert written["lora_target_linear"] is True
    assert written["lora_modules_to_save"] == ["lm_head"]
    assert written["bf16"] is True
    assert written["fsdp_version"] == 2
    assert written["fsdp_config"]["reshard_after_forward"] is True
    # Quantised by rank 0 alone, FSDP2 would wait for ever.
    assert written["fsdp_config"]["cpu_ram_efficient_loading"] is False
    assert launch["command"].endswith("-- --num_processes 8")


@pytest.mark.parametrize(
    ("precision", "section"),
    [
        ("bf16-mixed", {"bf16": {"enabled": True}}),
        ("fp16-mixed", {"fp16": {"enabled": True}}),
        ("amp", {"torch_autocast": {"enabled": True, "dtype": "bfloat16"}}),
        (
            "bf16-pure",
            {
                "bf16": {
                    "enabled": True,
                    "bf16_master_weights_and_grads": True,
                    "bf16_optimizer_states": True,
                }
            },
        ),
        ("fp32", {}),
    ],
)
def test_deepspeed_writes_each_precision(precision: str, section: dict[str, object]) -> None:
    written = keys(export("deepspeed", strategy="zero-2", num_gpus=4, precision=precision))

    named = {"bf16", "fp16", "torch_autocast"}
    assert {name: value for name, value in written.items() if name in named} == section
    assert written["zero_optimization"]["stage"] == 2
    assert written["train_batch_size"] == 32


def test_a_companion_leaves_batch_and_optimizer_to_the_trainer() -> None:
    launch = export("llama-factory", strategy="zero-3", num_gpus=8)

    assert keys(launch)["deepspeed"] == launch["files"][1]["filename"] == "deepspeed_zero3.json"
    companion = keys(launch, 1)
    assert companion["train_micro_batch_size_per_gpu"] == "auto"
    assert "optimizer" not in companion
    assert launch["command"].startswith("FORCE_TORCHRUN=1 NPROC_PER_NODE=8 ")


def test_accelerate_shards_with_fsdp2_and_with_deepspeed_where_it_must() -> None:
    sharded = keys(export("accelerate", strategy="zero-3", num_gpus=8))
    kept = keys(export("accelerate", strategy="zero-2", num_gpus=8))
    first = keys(export("accelerate", strategy="zero-1", num_gpus=8))
    blocks = keys(export("accelerate", strategy="zero-3", num_gpus=8, optimizer="adamw-8bit"))

    assert sharded["fsdp_config"]["fsdp_reshard_after_forward"] is True
    assert kept["fsdp_config"]["fsdp_reshard_after_forward"] is False
    assert first["deepspeed_config"]["zero_stage"] == 1
    assert blocks["deepspeed_config"]["zero_stage"] == 3


def test_the_ladder_picks_the_number_of_processes() -> None:
    launch = export("accelerate", model="llama-3.3-70b", strategy="zero-3")

    assert launch["num_gpus"] > 8
    written = keys(launch)
    assert written["num_processes"] == launch["num_gpus"]
    assert written["num_machines"] == launch["num_gpus"] / 8
    assert written["main_process_ip"] == "FIRST-MACHINE"
    assert any(f"{written['num_machines']} machines" in note for note in launch["notes"])


def test_several_machines_share_the_gpus_evenly() -> None:
    twelve = {"strategy": "zero-3", "num_gpus": 12}

    assert "--num_processes 12 --num_machines 2" in export("axolotl", **twelve)["command"]
    assert "--nproc_per_node 6" in export("torchtune", **twelve)["command"]
    assert "num_machines" not in export("axolotl", strategy="zero-3", num_gpus=8)["command"]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_notes_name_the_release_whose_names_are_written(tool: str) -> None:
    assert export(tool)["notes"][-1] == f"Names are those of {TOOLS[tool]} {RELEASES[tool]}."


def test_a_card_without_bf16_is_written_as_fp16() -> None:
    launch = export("trl", method="lora", card="t4-16gb")

    written = keys(launch)
    assert (written["dtype"], written["bf16"], written["fp16"]) == ("float16", False, True)
    assert written["attn_implementation"] == "sdpa"
    assert any("no BF16" in note for note in launch["notes"])


def test_trl_names_one_target_module_by_a_pattern() -> None:
    # TRL makes text out of a list of one, which PEFT would match against the whole path.
    one = keys(export("trl", method="lora", lora={"target_modules": ["q_proj"]}))
    two = keys(export("trl", method="lora", lora={"target_modules": ["q_proj", "v_proj"]}))

    assert one["lora_target_modules"] == [".*\\.q_proj"]
    assert two["lora_target_modules"] == ["q_proj", "v_proj"]


def test_torchtune_adapts_the_head_by_a_key_of_its_own() -> None:
    targets = ["lm_head", "q_proj"]
    model = keys(export("torchtune", method="lora", lora={"target_modules": targets}))["model"]

    assert model["lora_attn_modules"] == ["q_proj"]
    assert (model["apply_lora_to_output"], model["apply_lora_to_mlp"]) == (True, False)


@pytest.mark.parametrize("model", [f"qwen2.5-{size}b" for size in ("1.5", "7", "14", "32", "72")])
def test_torchtune_builds_the_checkpoint_that_it_says_to_download(model: str) -> None:
    launch = export("torchtune", model=model)

    # A base model's norms have another epsilon.
    component = keys(launch)["model"]["_component_"]
    is_download_instruct = "-Instruct --output-dir" in " ".join(launch["notes"])
    assert component.endswith("_instruct") == is_download_instruct
    assert component.endswith("_base") != is_download_instruct


def test_torchtune_names_builder_recipe_and_loss() -> None:
    launch = export(
        "torchtune", method="qlora", loss="chunked", strategy="zero-2", num_gpus=2, optimizer="lion"
    )

    written = keys(launch)
    assert written["model"]["_component_"] == "torchtune.models.llama3_1.lora_llama3_1_8b"
    assert written["model"]["quantize_base"] is True
    assert written["model"]["apply_lora_to_mlp"] is True
    assert written["fsdp_reshard_after_forward"] is False
    assert written["optimizer"]["_component_"] == "bitsandbytes.optim.Lion32bit"
    assert "tune run --nproc_per_node 2 lora_finetune_distributed" in launch["command"]


@pytest.mark.parametrize(
    ("tool", "also"),
    [
        ("axolotl", ""),
        ("llama-factory", "chat template, "),
        ("torchtune", ""),
        ("trl", ""),
    ],
)
def test_every_placeholder_is_named(tool: str, also: str) -> None:
    full = export(tool)["notes"][0]
    lora = export(tool, method="lora", lora={"dropout": True})["notes"][0]

    start = f"Model repository, {also}data set, learning rate"
    assert full == f"{start} and output folder are placeholders: set your own."
    assert lora == (
        f"{start}, output folder, LoRA alpha and dropout rate are placeholders: set your own."
    )


@pytest.mark.parametrize(
    ("tool", "fields", "words"),
    [
        pytest.param("axolotl", {}, "master only under DeepSpeed", id="no-master"),
        pytest.param("trl", {}, "16 bytes per parameter", id="trl-autocast"),
        pytest.param("trl", {"loss": "standard"}, "chunks of tokens", id="trl-loss"),
        pytest.param("llama-factory", {"loss": "chunked"}, "Liger", id="llama-factory-loss"),
        pytest.param(
            "llama-factory", {"activation_checkpointing": "selective"}, "whole blocks", id="blocks"
        ),
        pytest.param("torchtune", {}, "without an FP32 master", id="torchtune-pure"),
        pytest.param("deepspeed", {"optimizer": "came"}, "in your script", id="deepspeed-came"),
        pytest.param(
            "accelerate",
            {"strategy": "zero-3", "num_gpus": 8},
            "FSDP2 keeps one FP32 copy",
            id="fsdp2",
        ),
        pytest.param("axolotl", {"attention": "eager"}, "attend to each other", id="axolotl-eager"),
        pytest.param("llama-factory", {}, "neat_packing", id="llama-factory-packing"),
        pytest.param("axolotl", {"model": {"num_parameters": 10**9}}, "path/to", id="no-name"),
    ],
)
def test_what_a_tool_does_otherwise_is_said(
    tool: str, fields: dict[str, object], words: str
) -> None:
    notes = export(tool, **fields)["notes"]

    assert any(words in note for note in notes), notes


@pytest.mark.parametrize(
    ("tool", "fields", "field"),
    [
        pytest.param("torchtune", {"strategy": "zero-1"}, "strategy", id="torchtune-zero-1"),
        pytest.param("torchtune", {"strategy": "ddp"}, "strategy", id="torchtune-ddp"),
        pytest.param("torchtune", {"model": "qwen3-8b"}, "model", id="torchtune-model"),
        pytest.param("torchtune", {"loss": "fused"}, "loss", id="torchtune-loss"),
        pytest.param(
            "torchtune",
            {"method": "lora", "lora": {"train_embeddings": True}},
            "lora.train_embeddings",
            id="torchtune-embeddings",
        ),
        pytest.param(
            "torchtune",
            {"method": "qlora", "lora": {"base_dtype": "int8"}},
            "lora.base_dtype",
            id="torchtune-int8",
        ),
        pytest.param("torchtune", {"card": "t4-16gb"}, "precision", id="torchtune-fp16"),
        pytest.param(
            "torchtune",
            {"method": "lora", "lora": {"target_modules": ["gate_proj"]}},
            "lora.target_modules",
            id="torchtune-half-mlp",
        ),
        pytest.param(
            "torchtune",
            {"method": "lora", "model": "gemma-2-9b", "lora": {"target_modules": ["lm_head"]}},
            "lora.target_modules",
            id="torchtune-tied-head",
        ),
        pytest.param("trl", {"optimizer": "muon"}, "optimizer", id="trl-muon"),
        pytest.param(
            "axolotl",
            {"optimizer_implementation": "in-backward", "gradient_accumulation_steps": 1},
            "optimizer_implementation",
            id="in-backward",
        ),
        pytest.param(
            "axolotl",
            {"optimizer": "galore-adamw", "method": "lora"},
            "optimizer",
            id="galore-lora",
        ),
        pytest.param(
            "axolotl", {"optimizer": "muon", "strategy": "zero-2"}, "optimizer", id="muon-deepspeed"
        ),
        pytest.param("axolotl", {"precision": "amp"}, "precision", id="axolotl-amp"),
        pytest.param("deepspeed", {"precision": "bf16-pure"}, "precision", id="deepspeed-pure"),
        pytest.param(
            "llama-factory",
            {"method": "qlora", "lora": {"base_dtype": "gptq-int4"}},
            "lora.base_dtype",
            id="gptq",
        ),
        pytest.param(
            "llama-factory",
            {"method": "lora", "precision": "bf16-pure", "strategy": "zero-3"},
            "precision",
            id="pure-zero-3",
        ),
        pytest.param(
            "axolotl",
            {"method": "lora", "lora": {"target_modules": ["nope"]}},
            "lora.target_modules",
            id="module",
        ),
    ],
)
def test_what_a_tool_has_no_word_for_is_refused(
    tool: str, fields: dict[str, object], field: str
) -> None:
    with pytest.raises(TrainfitError) as caught:
        export(tool, **fields)

    assert caught.value.field == field
    assert caught.value.code in ("unsupported-combination", "unknown-id")
    assert caught.value.message.endswith(".")


@pytest.mark.parametrize("tool", ["axolotl", "llama-factory", "trl", "torchtune", "deepspeed"])
def test_every_optimizer_is_written_or_refused_by_name(tool: str) -> None:
    for optimizer in CATALOG.optimizers.values():
        fields = {
            "optimizer": optimizer.id,
            "gradient_accumulation_steps": 1,
            "loss": "chunked",
            "precision": "bf16-mixed",
        }
        result = json.loads(
            run(
                json.dumps({"op": "export", "tool": tool, "model": "llama-3.1-8b", **fields}),
                CATALOG,
            )
        )
        if "error" in result:
            assert result["error"]["field"] == "optimizer"
            assert optimizer.name in result["error"]["message"]
        else:
            found = answer({"op": "recognise", "text": result["files"][0]["text"]}, CATALOG)
            assert found["recognised"].get("optimizer") == optimizer.id


def test_torchtune_alone_steps_inside_backward() -> None:
    fields = {"optimizer_implementation": "in-backward", "gradient_accumulation_steps": 1}

    launch = export("torchtune", loss="chunked", **fields)

    assert keys(launch)["optimizer_in_bwd"] is True
    with pytest.raises(TrainfitError, match="steps inside backward"):
        export("trl", **fields)
    with pytest.raises(TrainfitError, match="only in full fine-tuning"):
        export("torchtune", method="lora", loss="chunked", **fields)


@pytest.mark.parametrize(
    ("tool", "epochs", "packing"),
    [
        ("axolotl", "num_epochs", "sample_packing"),
        ("llama-factory", "num_train_epochs", "packing"),
        ("torchtune", "epochs", "dataset"),
        ("trl", "num_train_epochs", "packing"),
    ],
)
def test_epochs_and_packing_are_written(tool: str, epochs: str, packing: str) -> None:
    usual = keys(export(tool))
    asked = keys(export(tool, dataset={"epochs": 3, "packing": False}))

    def packs(written: dict[str, Any]) -> bool:
        found = written[packing]
        return bool(found["packed"] if isinstance(found, dict) else found)

    assert (usual[epochs], packs(usual)) == (1, True)
    assert (asked[epochs], packs(asked)) == (3, False)


def test_torchtune_makes_whole_epochs() -> None:
    launch = export("torchtune", dataset={"epochs": 0.5})

    assert keys(launch)["epochs"] == 1
    assert "torchtune makes whole epochs: 0.5 are written as 1." in launch["notes"]


def test_a_data_set_of_an_export_is_checked() -> None:
    with pytest.raises(TrainfitError) as caught:
        export("trl", dataset={"epochs": 0})

    assert (caught.value.code, caught.value.field) == ("out-of-range", "dataset.epochs")


def test_without_flash_attention_trl_packs_into_the_rows_of_the_micro_batch() -> None:
    flash = keys(export("trl"))
    eager = keys(export("trl", attention="eager"))
    padded = keys(export("trl", attention="eager", dataset={"packing": False}))

    assert "packing_strategy" not in flash
    assert eager["packing_strategy"] == "wrapped"
    assert "packing_strategy" not in padded


def test_foreach_and_the_tokenizer_of_phi_4() -> None:
    foreach = keys(export("trl", optimizer_implementation="foreach"))
    phi = keys(export("torchtune", model="phi-4", loss="chunked"))

    assert foreach["optim"] == "adamw_torch"
    assert phi["tokenizer"]["merges_path"].endswith("merges.txt")
