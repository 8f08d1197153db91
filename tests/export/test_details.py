"""Keys one by one: what each says, and what is noted where the estimate cannot follow it."""

import json
from typing import Any

import pytest

from generator.core.api import answer
from generator.core.errors import TrainfitError
from generator.core.launch.reading import MAX_LISTED
from generator.core.launch.trainer import zero_stage_in_name
from generator.load import load_catalog

CATALOG = load_catalog()
HEADS = {
    "axolotl": "base_model: a\nmicro_batch_size: 1\nsequence_len: 9\n",
    "trl": "model_name_or_path: a\nmax_length: 9\nuse_peft: false\ndataset_name: a\n",
    "peft": "model_name_or_path: a\nmax_length: 9\nuse_peft: true\ndataset_name: a\n",
    "llama-factory": "model_name_or_path: a\ncutoff_len: 9\ntemplate: b\n",
    "torchtune": "loss:\n  _component_: torch.nn.CrossEntropyLoss\n",
    "accelerate": "compute_environment: LOCAL_MACHINE\nnum_machines: 1\n",
    "deepspeed": "zero_allow_untested_optimizer: true\nsteps_per_print: 1\n",
}


def read(tool: str, lines: str) -> dict[str, Any]:
    found = answer({"op": "recognise", "text": HEADS[tool] + lines + "\n"}, CATALOG)
    assert found["tool"] == {"peft": "trl"}.get(tool, tool)
    for group, fields in (
        ("lora", found["recognised"].pop("lora", {})),
        ("dataset", found["dataset"]),
    ):
        found["recognised"] |= {f"{group}.{name}": value for name, value in fields.items()}
    return found


@pytest.mark.parametrize(
    ("tool", "lines", "fields"),
    [
        ("axolotl", "", {"method": "full", "precision": "bf16-pure", "optimizer": "adamw"}),
        ("axolotl", "bf16: false", {"precision": "fp32"}),
        ("axolotl", "float32: true", {"precision": "fp32"}),
        ("axolotl", "fp16: true", {"precision": "bf16-pure"}),
        ("axolotl", "fp16: true\ndeepspeed: zero1.json", {"precision": "fp16-mixed"}),
        ("axolotl", "bf16: true\ndeepspeed: zero1.json", {"precision": "bf16-mixed"}),
        ("axolotl", "bf16: 'true'", {"precision": "bf16-pure"}),
        ("axolotl", "adapter: lora\nbfloat16: true\nbf16: false", {"precision": "bf16-pure"}),
        ("axolotl", "adapter: lora\nload_in_8bit: true", {"lora.base_dtype": "int8"}),
        ("axolotl", "adapter: lora\ngptq: true", {"lora.base_dtype": "gptq-int4"}),
        ("axolotl", "adapter: lora", {"method": "lora", "lora.rank": 8, "lora.dropout": False}),
        ("axolotl", "adapter: lora\nlora_r: '64'", {"lora.rank": 64}),
        ("axolotl", "adapter: lora\nlora_r: 64.0", {"lora.rank": 64}),
        (
            "axolotl",
            "adapter: lora\nlora_target_modules: all-linear",
            {"lora.target_modules": "all-linear"},
        ),
        ("axolotl", "fsdp:\n  - full_shard\n  - auto_wrap", {"strategy": "zero-3"}),
        (
            "axolotl",
            "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: false",
            {"strategy": "zero-2"},
        ),
        ("axolotl", "deepspeed: {zero_optimization: {stage: 1}}", {"strategy": "zero-1"}),
        ("axolotl", "deepspeed: {train_batch_size: 1}", {"strategy": "ddp"}),
        ("axolotl", "attn_implementation: kernels-community/flash-attn3", {"attention": "flash"}),
        ("axolotl", "sdp_attention: true", {"attention": "sdpa"}),
        ("axolotl", "chunked_cross_entropy: true", {"loss": "chunked"}),
        ("axolotl", "liger_fused_linear_cross_entropy: true", {"loss": "fused"}),
        ("axolotl", "optimizer: sgd", {"optimizer": "sgd"}),
        ("axolotl", "optimizer: sgd\noptim_args: {momentum: 0.9}", {"optimizer": "sgd-momentum"}),
        ("axolotl", "optimizer: sgd\noptim_args: momentum=x", {"optimizer": "sgd"}),
        ("axolotl", "optimizer: adamw_anyprecision", {"optimizer": "adamw"}),
        ("axolotl", "optimizer: ao_adamw_4bit", {"optimizer": "ao-adamw-4bit"}),
        ("axolotl", "gradient_checkpointing: false", {"activation_checkpointing": "none"}),
        ("axolotl", "num_epochs: 2", {"dataset.epochs": 2, "dataset.packing": False}),
        ("axolotl", "sample_packing: true", {"dataset.epochs": 1, "dataset.packing": True}),
        ("llama-factory", "num_train_epochs: 3.0", {"dataset.epochs": 3}),
        ("llama-factory", "neat_packing: true", {"dataset.packing": True}),
        ("llama-factory", "neat_packing: false\npacking: true", {"dataset.packing": True}),
        ("llama-factory", "stage: pt", {"dataset.epochs": 3, "dataset.packing": True}),
        ("trl", "num_train_epochs: 0.5", {"dataset.epochs": 0.5, "dataset.packing": False}),
        ("trl", "num_train_epochs: '2'\nmax_steps: -1", {"dataset.epochs": 2}),
        ("trl", "", {"loss": "chunked"}),
        ("trl", "loss_type: nll", {"loss": "chunked"}),
        ("trl", "loss_type: chunked_nll", {"loss": "chunked"}),
        ("trl", "loss_type: dft", {"loss": "standard"}),
        ("trl", "loss_type: nll\nuse_liger_kernel: true", {"loss": "fused"}),
        ("trl", "num_train_epochs: 2\nmax_steps: true", {"dataset.epochs": 2}),
        ("trl", "num_train_epochs: auto\npacking: true", {"dataset.epochs": 3}),
        ("torchtune", "epochs: 4\nmax_steps_per_epoch: null", {"dataset.epochs": 4}),
        ("torchtune", "dataset: {packed: true}", {"dataset.epochs": None, "dataset.packing": True}),
        ("deepspeed", "", {"dataset.epochs": None, "dataset.packing": None}),
        ("llama-factory", "", {"method": "lora", "lora.rank": 8, "precision": "fp32"}),
        ("llama-factory", "bf16: false", {"method": "lora", "precision": "fp32"}),
        ("llama-factory", "finetuning_type: full\nbf16: true", {"precision": "amp"}),
        ("llama-factory", "finetuning_type: full\nfp16: true", {"precision": "amp"}),
        ("llama-factory", "finetuning_type: full\npure_bf16: true", {"precision": "bf16-pure"}),
        ("llama-factory", "pure_bf16: true", {"lora.adapter_dtype": "bf16"}),
        ("llama-factory", "quantization_bit: 8", {"lora.base_dtype": "int8", "method": "qlora"}),
        ("llama-factory", "lora_target: ''", {"method": "lora"}),
        ("llama-factory", "flash_attn: disabled", {"attention": "eager"}),
        (
            "llama-factory",
            "finetuning_type: full\nuse_apollo: true\napollo_rank: 1",
            {"optimizer": "apollo-mini"},
        ),
        (
            "llama-factory",
            "finetuning_type: full\nuse_galore: true\noptim: adamw_8bit\ngalore_rank: 128",
            {"optimizer": "galore-adamw-8bit"},
        ),
        ("llama-factory", "use_adam_mini: true", {"optimizer": "adam-mini"}),
        ("trl", "", {"method": "full", "precision": "amp", "micro_batch_size": 8}),
        ("trl", "dtype: auto", {"precision": "bf16-pure"}),
        ("trl", "torch_dtype: bfloat16", {"precision": "bf16-pure"}),
        ("trl", "bf16: false", {"precision": "fp32"}),
        ("trl", "fp16: true\ndeepspeed: ds_z2.json", {"precision": "fp16-mixed"}),
        ("trl", "bf16: false\ndeepspeed: ds_z2.json", {"precision": "fp32"}),
        ("trl", "gradient_checkpointing: false", {"activation_checkpointing": "none"}),
        ("trl", "optim: adamw_torch", {"optimizer_implementation": "foreach"}),
        ("trl", "optim: apollo_adamw\noptim_args: rank=1", {"optimizer": "apollo-mini"}),
        ("peft", "dtype: bfloat16\nfp16: true", {"precision": "fp16-mixed"}),
        ("peft", "dtype: bfloat16\nbf16: false", {"precision": "bf16-pure"}),
        ("peft", "load_in_8bit: true", {"method": "qlora", "lora.base_dtype": "int8"}),
        ("peft", "lora_target_modules: [q_proj]", {"lora.target_modules": ["q_proj"]}),
        ("torchtune", "fsdp_reshard_after_forward: true", {"strategy": "zero-3"}),
        ("torchtune", "ac_mode: selective", {"activation_checkpointing": "selective"}),
        ("torchtune", "dtype: fp32", {"precision": "fp32"}),
        (
            "torchtune",
            (
                "model: {_component_: torchtune.models.qwen2_5.lora_qwen2_5_7b_instruct,"
                " lora_attn_modules: [q_proj], apply_lora_to_output: true}"
            ),
            {"model": "qwen2.5-7b", "lora.target_modules": ["lm_head", "q_proj"]},
        ),
        (
            "torchtune",
            "model: {_component_: torchtune.models.llama2.qlora_llama2_7b}",
            {"model": "llama-2-7b", "method": "qlora", "lora.base_dtype": "nf4-dq"},
        ),
        (
            "torchtune",
            "optimizer: {_component_: torch.optim.SGD, momentum: 0.9}",
            {"optimizer": "sgd-momentum"},
        ),
        (
            "torchtune",
            "optimizer: {_component_: torchao.prototype.low_bit_optim.AdamW8bit}",
            {"optimizer": "ao-adamw-8bit"},
        ),
        ("torchtune", "optimizer: {lr: 1.0}", {"stack": "torchtune"}),
        ("accelerate", "distributed_type: FSDP\nfsdp_config: {}", {"strategy": "zero-3"}),
        (
            "accelerate",
            "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: NO_SHARD}",
            {"strategy": "ddp"},
        ),
        (
            "accelerate",
            (
                "distributed_type: DEEPSPEED\n"
                "deepspeed_config: {deepspeed_config_file: ds_z1.json}\nnum_processes: 2"
            ),
            {"strategy": "zero-1", "num_gpus": 2, "stack": "deepspeed"},
        ),
        ("deepspeed", "", {"strategy": "ddp", "precision": "fp32"}),
        (
            "deepspeed",
            (
                "train_batch_size: 4\ntrain_micro_batch_size_per_gpu: 2\n"
                "gradient_accumulation_steps: 2"
            ),
            {"strategy": "single"},
        ),
        (
            "deepspeed",
            (
                "train_batch_size: 5\ntrain_micro_batch_size_per_gpu: 2\n"
                "gradient_accumulation_steps: 2"
            ),
            {"strategy": "ddp", "micro_batch_size": 2},
        ),
        (
            "deepspeed",
            (
                "train_batch_size: 100000000\ntrain_micro_batch_size_per_gpu: 1\n"
                "gradient_accumulation_steps: 1"
            ),
            {"strategy": "ddp"},
        ),
        (
            "deepspeed",
            "train_batch_size: 8\ntrain_micro_batch_size_per_gpu: 2",
            {"strategy": "ddp", "micro_batch_size": 2},
        ),
        ("deepspeed", "bfloat16: {enabled: true}", {"precision": "bf16-mixed"}),
        ("deepspeed", "fp16: {enabled: true}", {"precision": "fp16-mixed"}),
        ("deepspeed", "torch_autocast: {enabled: true}", {"precision": "amp"}),
        (
            "deepspeed",
            "optimizer: {type: SGD, params: {momentum: 0.9}}",
            {"optimizer": "sgd-momentum"},
        ),
    ],
)
def test_what_keys_say(tool: str, lines: str, fields: dict[str, object]) -> None:
    recognised = read(tool, lines)["recognised"]

    assert {name: recognised.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("tool", "lines", "words", "listed"),
    [
        ("axolotl", "adapter: mora", "counted as LoRA", None),
        ("axolotl", "adapter: lora\npeft_use_dora: true", "DoRA", None),
        ("axolotl", "fsdp_config: {offload_params: true}", "CPU offload", None),
        ("axolotl", "attn_implementation: sage", "not modelled", "attn_implementation"),
        ("axolotl", "gradient_checkpointing: offload", "Offloaded checkpoints", None),
        ("axolotl", "activation_offloading: true", "offload", "activation_offloading"),
        ("axolotl", "optimizer: dion", "no optimizer", "optimizer"),
        ("axolotl", "optimizer: galore_adamw\noptim_args: rank=64", "rank 128, not 64", None),
        ("axolotl", "adapter: lora\nlora_modules_to_save: [norm]", "not counted: norm", None),
        ("axolotl", "deepspeed: my_config.json", "tells no stage", "deepspeed"),
        ("llama-factory", "finetuning_type: freeze", "counted as LoRA", None),
        ("llama-factory", "quantization_bit: 3", "counted as that of bitsandbytes", None),
        ("llama-factory", "use_dora: true", "DoRA", None),
        ("llama-factory", "stage: dpo", "Only supervised", None),
        ("llama-factory", "use_galore: true\ngalore_rank: 7", "rank 128", None),
        ("trl", "load_in_4bit: true", "trains nothing", None),
        ("trl", "attn_implementation: paged", "not modelled", "attn_implementation"),
        ("trl", "activation_offloading: true", "offload", "activation_offloading"),
        ("trl", "max_steps: 100\nnum_train_epochs: 3", "max_steps ends", "num_train_epochs"),
        ("trl", "max_steps: '100'\nnum_train_epochs: 3", "max_steps ends", "num_train_epochs"),
        ("trl", "max_steps: 100.0\nnum_train_epochs: 3", "max_steps ends", "num_train_epochs"),
        ("torchtune", "epochs: 1\nmax_steps_per_epoch: 9", "max_steps_per_epoch ends", "epochs"),
        ("peft", "load_in_4bit: true\nbnb_4bit_quant_type: fp4", "FP4", None),
        ("peft", "bf16: true", "loaded in FP32", None),
        ("peft", "use_dora: true", "DoRA", None),
        ("peft", "lora_r: 8", "by architecture", None),
        (
            "torchtune",
            "model: {_component_: torchtune.models.lora_nope, use_dora: true}",
            "no model",
            "model._component_",
        ),
        ("torchtune", "model: {_component_: x.lora_y, use_dora: true}", "DoRA", None),
        (
            "torchtune",
            "optimizer: {_component_: torch.optim.LBFGS}",
            "no optimizer",
            "optimizer._component_",
        ),
        ("torchtune", "enable_activation_offloading: true", "offload", None),
        (
            "accelerate",
            "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}",
            "hybrid_shard is not modelled",
            "fsdp_config.fsdp_sharding_strategy",
        ),
        ("accelerate", "distributed_type: MEGATRON_LM", "not modelled", "distributed_type"),
        (
            "accelerate",
            (
                "distributed_type: DEEPSPEED\n"
                "deepspeed_config: {zero_stage: 3, offload_param_device: cpu}"
            ),
            "offload_param_device cpu",
            None,
        ),
        (
            "accelerate",
            "distributed_type: DEEPSPEED\ndeepspeed_config: {deepspeed_config_file: mine.json}",
            "The rest is in mine.json",
            None,
        ),
        (
            "deepspeed",
            "bf16: {enabled: true, bf16_master_weights_and_grads: true}",
            "Masters in BF16",
            None,
        ),
    ],
)
def test_what_the_estimate_cannot_follow_is_noted(
    tool: str, lines: str, words: str, listed: str | None
) -> None:
    found = read(tool, lines)

    assert any(words in note for note in found["notes"]), found["notes"]
    assert listed is None or listed in found["ignored"]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ("gradient_accumulation_steps: true", "gradient_accumulation_steps"),
        ("adapter: lora\nlora_dropout: much", "lora_dropout"),
        ("adapter: lora\nload_in_4bit: 3", "load_in_4bit"),
        ("optimizer: 3", "optimizer"),
        ("num_epochs: many", "num_epochs"),
        ("num_epochs: true", "num_epochs"),
        ("sample_packing: some", "sample_packing"),
    ],
)
def test_values_of_the_wrong_type_are_refused_by_their_key(lines: str, key: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        read("axolotl", lines)

    assert (caught.value.code, caught.value.field) == ("wrong-type", key)


@pytest.mark.parametrize("epochs", ["1001", "1.0e-5", "1000000000000000000000", "'inf'", "'nan'"])
def test_epochs_out_of_range_are_refused_by_their_key(epochs: str) -> None:
    with pytest.raises(TrainfitError, match=r"should be 0\.001 to 1,000") as caught:
        read("axolotl", f"num_epochs: {epochs}")

    assert (caught.value.code, caught.value.field) == ("out-of-range", "num_epochs")


@pytest.mark.parametrize("epochs", ["-1", "0", "'-1'"])
def test_no_epochs_are_no_number_of_epochs(epochs: str) -> None:
    found = read("trl", f"num_train_epochs: {epochs}")

    assert "epochs" not in found["dataset"]
    assert "num_train_epochs" in found["ignored"]


def test_auto_leaves_precision_and_batch_to_the_trainer() -> None:
    text = {
        "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto"},
        "zero_optimization": {"stage": 2},
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
    }

    found = answer({"op": "recognise", "text": json.dumps(text)}, CATALOG)

    assert found["recognised"] == {"stack": "deepspeed", "strategy": "zero-2"}


def test_a_long_list_of_other_keys_is_cut() -> None:
    lines = "\n".join(f"key_{'x' * 150}_{number}: 1" for number in range(2 * MAX_LISTED))

    ignored = read("axolotl", lines)["ignored"]

    assert len(ignored) == MAX_LISTED + 1
    assert ignored[-1] == "..."
    assert max(map(len, ignored)) <= 120


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("deepspeed_configs/zero3_bf16.json", 3),
        ("examples/deepspeed/ds_z2_offload_config.json", 2),
        ("zero_1.json", 1),
        ("z0.json", 0),
        ("zero9/config.json", None),
    ],
)
def test_the_stage_in_a_name(name: str, stage: int | None) -> None:
    assert zero_stage_in_name(name) == stage


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("micro_batch_size: 1\nsequence_len: 9\n", "model", id="axolotl-no-model"),
        pytest.param(
            "tokenizer: {max_seq_len: 9}\n"
            "model: {_component_: torchtune.models.llama2.lora_llama2_7b}\n",
            "loss",
            id="torchtune-no-loss",
        ),
    ],
)
def test_what_a_file_does_not_say_stays_open(text: str, missing: str) -> None:
    recognised = answer({"op": "recognise", "text": text}, CATALOG)["recognised"]

    assert missing not in recognised
    assert recognised["sequence_length"] == 9
