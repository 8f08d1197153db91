"""Launch files as people have them: what is filled in, what is listed, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.core.api import answer, run
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.core.launch.recognise import parameter_count
from generator.core.launch.yaml_reader import MAX_CHARACTERS
from generator.load import load_catalog

CATALOG = load_catalog()
PAGE = Path(__file__).resolve().parents[2] / "docs/explain/out-of-memory.md"


def recognise(text: str) -> dict[str, Any]:
    return answer({"op": "recognise", "text": text}, CATALOG)


AXOLOTL = """\
base_model: NousResearch/Meta-Llama-3.1-8B-Instruct
# optionally might have model_type or tokenizer_type
model_type: LlamaForCausalLM
tokenizer_type: AutoTokenizer

load_in_8bit: false
load_in_4bit: true

datasets:
  - path: aaditya/alpaca_subset_1
    type: alpaca
    split: train[:10%]
dataset_prepared_path:
val_set_size: 0
output_dir: ./outputs/lora-out

adapter: qlora
lora_model_dir:

sequence_len: 4096
sample_packing: true
pad_to_sequence_len: true

lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_modules:
lora_target_linear: true

gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 4
optimizer: paged_adamw_8bit
lr_scheduler: cosine
learning_rate: 0.00001

bf16: auto
tf32: false
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: true
flash_attention: true
plugins:
  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin

warmup_ratio: 0.1
special_tokens:
  pad_token: "<|finetune_right_pad_id|>"
"""


def test_an_axolotl_file() -> None:
    found = recognise(AXOLOTL)

    assert found["tool"] == "axolotl"
    assert found["recognised"] == {
        "stack": "axolotl",
        "model": "llama-3.1-8b",
        "method": "qlora",
        "sequence_length": 4096,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "optimizer": "paged-adamw-8bit",
        "strategy": "single",
        "precision": "bf16-mixed",
        "attention": "flash",
        "loss": "fused",
        "activation_checkpointing": "full",
        "lora": {
            "base_dtype": "nf4-dq",
            "rank": 32,
            "dropout": True,
            "target_modules": "all-linear",
            "train_embeddings": False,
            "train_head": False,
            "adapter_dtype": "fp32",
        },
    }
    assert found["dataset"] == {"epochs": 4, "packing": True}
    assert {"datasets", "learning_rate", "special_tokens.pad_token"} <= set(found["ignored"])
    assert not {"adapter", "lora_r", "bf16", "optimizer"} & set(found["ignored"])
    assert {"strategy", "precision", "lora.adapter_dtype"} <= set(found["implied"])
    (note,) = found["notes"]
    assert note == (
        "NousResearch/Meta-Llama-3.1-8B-Instruct is counted as Llama 3.1 8B, which has the same "
        "shape; an exported file will name meta-llama/Llama-3.1-8B."
    )


LLAMA_FACTORY = """\
### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all

### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 2048
max_samples: 1000
preprocessing_num_workers: 16

### output
output_dir: saves/llama3-8b/lora/sft
logging_steps: 10
save_steps: 500
plot_loss: true
overwrite_output_dir: true

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
ddp_timeout: 180000000
deepspeed: examples/deepspeed/ds_z3_offload_config.json
"""


def test_a_llama_factory_file() -> None:
    found = recognise(LLAMA_FACTORY)

    assert found["tool"] == "llama-factory"
    request = found["recognised"]
    assert request["model"] == "meta-llama-3-8b"
    assert request["strategy"] == "zero-3"
    assert request["precision"] == "bf16-mixed"
    assert request["activation_checkpointing"] == "full"
    assert request["lora"]["rank"] == 8
    assert request["lora"]["target_modules"] == "all-linear"
    assert any("offload" in note for note in found["notes"])
    assert "template" in found["ignored"]
    assert found["dataset"] == {"epochs": 3, "packing": False}
    assert "dataset.packing" in found["implied"]


TRL = """\
model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: trl-lib/Capybara
bf16: true
gradient_checkpointing: true
learning_rate: 2.0e-5
packing: true
output_dir: Qwen2.5-0.5B-SFT
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
use_peft: true
lora_r: 32
lora_alpha: 16
lora_target_modules: [q_proj, v_proj]
lora_modules_to_save: [embed_tokens, lm_head]
load_in_4bit: true
attn_implementation: kernels-community/flash-attn2
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_a_trl_file_in_yaml_and_in_json(as_json: bool) -> None:
    text = TRL
    if as_json:
        pairs = (line.split(": ", 1) for line in TRL.strip().split("\n"))
        values = dict(pairs)
        text = json.dumps(
            {
                **values,
                "bf16": True,
                "use_peft": True,
                "load_in_4bit": True,
                "gradient_checkpointing": True,
                "per_device_train_batch_size": 2,
                "gradient_accumulation_steps": 8,
                "lora_r": 32,
                "lora_target_modules": ["q_proj", "v_proj"],
                "lora_modules_to_save": ["embed_tokens", "lm_head"],
            }
        )

    found = recognise(text)

    assert found["tool"] == "trl"
    request = found["recognised"]
    assert request["model"] == "qwen2.5-0.5b"
    assert request["method"] == "qlora"
    assert request["sequence_length"] == 1024
    assert request["loss"] == "chunked"
    assert request["attention"] == "flash"
    assert request["lora"] == {
        "base_dtype": "nf4",
        "rank": 32,
        "dropout": True,
        "target_modules": ["q_proj", "v_proj"],
        "train_embeddings": True,
        "train_head": True,
        "adapter_dtype": "bf16",
    }
    assert {"sequence_length", "loss", "lora.dropout"} <= set(found["implied"])


TORCHTUNE = """\
output_dir: /tmp/torchtune/llama3_1_8B/lora # /tmp may be deleted by your system

# Model Arguments
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  apply_lora_to_output: False
  lora_rank: 8  # higher increases accuracy and memory
  lora_alpha: 16
  lora_dropout: 0.0
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/Meta-Llama-3.1-8B-Instruct/original/tokenizer.model
  max_seq_len: null
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: /tmp/Meta-Llama-3.1-8B-Instruct/
  checkpoint_files: [
    model-00001-of-00004.safetensors,
    model-00002-of-00004.safetensors
  ]
  output_dir: ${output_dir}
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  fused: True
  lr: 3e-4
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
gradient_accumulation_steps: 8
dtype: bf16
enable_activation_checkpointing: True
enable_activation_offloading: False
"""


def test_a_torchtune_file() -> None:
    found = recognise(TORCHTUNE)

    assert found["tool"] == "torchtune"
    request = found["recognised"]
    assert request["model"] == "llama-3.1-8b"
    assert request["method"] == "lora"
    assert request["precision"] == "bf16-pure"
    assert request["loss"] == "chunked"
    assert request["lora"]["target_modules"] == [
        "down_proj",
        "gate_proj",
        "o_proj",
        "q_proj",
        "up_proj",
        "v_proj",
    ]
    assert "sequence_length" not in request
    assert any("max_seq_len" in note for note in found["notes"])


DEEPSPEED = """\
{
  "fp16": {"enabled": "auto", "loss_scale": 0},
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "overlap_comm": true,
    "sub_group_size": 1e9,
    "stage3_prefetch_bucket_size": "auto"
  },
  "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
  "gradient_accumulation_steps": 4,
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 2,
  "wall_clock_breakdown": false
}
"""


def test_a_deepspeed_file() -> None:
    found = recognise(DEEPSPEED)

    assert found["tool"] == "deepspeed"
    assert found["recognised"] == {
        "stack": "deepspeed",
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "strategy": "zero-3",
        "num_gpus": 8,
        "precision": "bf16-mixed",
        "optimizer": "adamw",
    }
    assert any("offload_optimizer to cpu" in note for note in found["notes"])


ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_offload_params: true
  fsdp_sharding_strategy: 2
  fsdp_activation_checkpointing: true
machine_rank: 0
mixed_precision: bf16
num_machines: 1
num_processes: 4
"""


def test_an_accelerate_file_of_the_first_fsdp() -> None:
    found = recognise(ACCELERATE)

    assert found["tool"] == "accelerate"
    assert found["recognised"] == {
        "stack": "accelerate-fsdp",
        "strategy": "zero-2",
        "num_gpus": 4,
        "activation_checkpointing": "full",
        "precision": "amp",
    }
    assert any("CPU offload" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        pytest.param("distributed_type: NO", {"strategy": "single"}, id="no-is-a-boolean"),
        pytest.param(
            "distributed_type: MULTI_GPU\nnum_processes: 2",
            {"strategy": "ddp", "num_gpus": 2},
            id="ddp",
        ),
        pytest.param(
            "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n"
            "  offload_optimizer_device: none\nmixed_precision: fp16\nnum_processes: 8",
            {"strategy": "zero-2", "num_gpus": 8, "precision": "fp16-mixed"},
            id="deepspeed",
        ),
        pytest.param(
            "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
            "  fsdp_reshard_after_forward: false\nnum_processes: 8",
            {"strategy": "zero-2", "num_gpus": 8},
            id="fsdp2",
        ),
    ],
)
def test_accelerate_files(lines: str, fields: dict[str, object]) -> None:
    recognised = recognise(f"compute_environment: LOCAL_MACHINE\n{lines}\n")["recognised"]

    assert {**recognised, "stack": None} == {**fields, "stack": None}


def test_a_model_config(catalog: Catalog) -> None:
    config = dict(catalog.models["qwen2.5-0.5b"].config)

    found = recognise(json.dumps(config))

    assert found["tool"] == "config"
    assert found["recognised"] == {"model": {"config": config}}


def test_every_config_of_the_catalog_is_taken_for_one(catalog: Catalog) -> None:
    for entry in catalog.models.values():
        found = recognise(json.dumps(dict(entry.config)))

        assert found["tool"] == "config", entry.id


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("13B", 13_000_000_000),
        ("13 billion parameters", 13_000_000_000),
        (" 8,030,261,248 ", 8_030_261_248),
        ("8_030_261_248", 8_030_261_248),
        ("13e9", 13_000_000_000),
        ("1.5b params", 1_500_000_000),
        ("0.5B", 500_000_000),
        ("270M", 270_000_000),
        ("1.05 trillion", 1_050_000_000_000),
        ("7'000'000'000", 7_000_000_000),
        ("494032768", 494_032_768),
    ],
)
def test_a_bare_parameter_count(text: str, count: int) -> None:
    assert parameter_count(text) == count
    assert recognise(text)["recognised"] == {"model": {"num_parameters": count}}


@pytest.mark.parametrize("text", ["", "B", "13X", "1e", "1e999", "-13B", "1.2.3B", "٣", "13B" * 40])
def test_what_is_no_count(text: str) -> None:
    assert parameter_count(text) is None


@pytest.mark.parametrize("text", ["0", "0.1", "1e99", "999999999999T"])
def test_counts_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        recognise(text)

    assert caught.value.code == "out-of-range"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("/data/models/Qwen3-8B/", "qwen3-8b"),
        ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("llama-3.1-8b", "llama-3.1-8b"),
    ],
)
def test_models_are_found_by_their_repository(name: str, model: str) -> None:
    found = recognise(f"base_model: {name}\nmicro_batch_size: 1\n")

    assert found["recognised"]["model"] == model


@pytest.mark.parametrize(
    ("lines", "exported"),
    [
        ("base_model: Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"),
        ("base_model: Qwen/Qwen2.5-7B-Instruct", None),
        ("base_model: qwen/qwen2.5-7b-instruct/", None),
        ("base_model: /data/models/Qwen3-8B/", "Qwen/Qwen3-8B"),
        (
            "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\ntemplate: llama3",
            "meta-llama/Meta-Llama-3-8B",
        ),
        (
            "model: {_component_: torchtune.models.qwen2_5.qwen2_5_7b_base}",
            "qwen2_5_7b_instruct",
        ),
        ("model: {_component_: torchtune.models.qwen2_5.lora_qwen2_5_7b_instruct}", None),
    ],
)
def test_another_checkpoint_than_an_export_names_is_said(lines: str, exported: str | None) -> None:
    notes = [note for note in recognise(f"{lines}\n")["notes"] if "is counted as" in note]

    if exported is None:
        assert notes == []
    else:
        (note,) = notes
        assert note.endswith(f", which has the same shape; an exported file will name {exported}.")


def test_an_unknown_model_is_said_and_listed() -> None:
    found = recognise("base_model: someone/secret-9b\nmicro_batch_size: 1\n")

    assert "model" not in found["recognised"]
    assert found["ignored"] == ["base_model"]
    assert 'no model "someone/secret-9b"' in found["notes"][0]


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [
        pytest.param("a: 1\nb: 2\n", "bad-file", "text", id="no-tool"),
        pytest.param("", "bad-file", "text", id="empty"),
        pytest.param("base_model: a\njust words", "bad-file", "line 2", id="words"),
        pytest.param('{"zero_optimization": ', "bad-json", "text", id="half-json"),
        pytest.param("{" * 100_000, "bad-json", "text", id="deep-json"),
        pytest.param('{"a":' * 50_000 + "1" + "}" * 50_000, "input-too-large", "text", id="long"),
        pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, "bad-json", "text", id="deep-object"),
        pytest.param('{"train_batch_size": NaN}', "bad-json", "text", id="nan"),
        pytest.param('{"a": 1, "vocab_size": 1, "a": 2}', "bad-json", "text", id="twice"),
        pytest.param("x" * 10_000_000, "input-too-large", "text", id="10-MB"),
        pytest.param(
            "base_model: a\nsequence_len: 99999999999\n", "out-of-range", "sequence_len", id="huge"
        ),
        pytest.param(
            f"base_model: a\nsequence_len: {'9' * 5_000}\n", "wrong-type", "sequence_len", id="vast"
        ),
        pytest.param(
            "base_model: a\nmicro_batch_size: two\n", "wrong-type", "micro_batch_size", id="word"
        ),
        pytest.param("base_model: [1]\nlora_r: 8\n", "wrong-type", "base_model", id="list"),
        pytest.param(
            "base_model: a\nadapter: lora\nlora_target_modules: [1, 2]\n",
            "wrong-type",
            "lora_target_modules",
            id="names",
        ),
        pytest.param(
            '{"zero_optimization": {"stage": 7}, "train_batch_size": 1}',
            "wrong-type",
            "zero_optimization.stage",
            id="stage",
        ),
        pytest.param('{"model_type": "perceiver"}', "unsupported-architecture", None, id="config"),
    ],
)
def test_files_that_are_refused(text: str, code: str, field: str | None) -> None:
    with pytest.raises(TrainfitError) as caught:
        recognise(text)

    assert caught.value.code == code
    if field is not None:
        assert caught.value.field == field
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        pytest.param({"op": "recognise"}, "missing-field", "text", id="missing"),
        pytest.param({"op": "recognise", "text": 13}, "wrong-type", "text", id="number"),
        pytest.param({"op": "recognise", "text": "13B", "model": "x"}, "unknown-field", "model"),
        pytest.param({"op": "export", "model": "phi-4"}, "unknown-id", "tool", id="no-tool"),
        pytest.param({"op": "export", "model": "phi-4", "tool": []}, "unknown-id", "tool", id="[]"),
    ],
)
def test_malformed_operations(request_: dict[str, object], code: str, field: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        answer(request_, CATALOG)

    assert (caught.value.code, caught.value.field) == (code, field)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a "
            "total capacity of 79.11 GiB of which 5.91 GiB is free.",
            id="cuda",
        ),
        pytest.param(
            "Traceback (most recent call last):\n"
            '  File "train.py", line 9, in <module>\n'
            "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB",
            id="hip-traceback",
        ),
        pytest.param("RuntimeError: CUDA error: out of memory\n", id="driver"),
        pytest.param("CUDA out of memory.", id="short"),
    ],
)
def test_an_out_of_memory_message_is_sent_to_its_page(text: str) -> None:
    title = PAGE.read_text("utf-8").split("title: ")[1]

    with pytest.raises(TrainfitError, match="is an out-of-memory message") as caught:
        recognise(text)

    assert (caught.value.code, caught.value.field) == ("bad-file", "text")
    assert f'"{title.splitlines()[0]}"' in caught.value.message


def test_a_file_that_speaks_of_memory_is_a_file() -> None:
    found = recognise("# out of memory above 4096\nbase_model: a\nsequence_len: 4096\n")

    assert found["tool"] == "axolotl"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("base_model: &m x\n# out of memory above 4096\nsequence_len: 4096", 1),
        ("base_model: a\njust words  # CUDA out of memory otherwise", 2),
        ("base_model: a\nout of memory", 2),
    ],
)
def test_a_broken_file_that_speaks_of_memory_is_told_where_it_is_broken(
    text: str, line: int
) -> None:
    with pytest.raises(TrainfitError) as caught:
        recognise(text)

    assert (caught.value.code, caught.value.field) == ("bad-file", f"line {line}")


@pytest.mark.parametrize(
    "text",
    ["hello", "just words", "meta-llama/Llama-3.1-8B", "trl sft --num_train_epochs 3", "a\nb", " "],
)
def test_words_are_told_what_the_field_takes(text: str) -> None:
    with pytest.raises(TrainfitError, match="launch file of a training") as caught:
        recognise(text)

    assert (caught.value.code, caught.value.field) == ("bad-file", "text")
    assert "config.json" in caught.value.message
    assert "number of parameters" in caught.value.message
    assert "Line" not in caught.value.message


HOSTILE_KEYS = st.sampled_from(
    (
        "base_model",
        "model_name_or_path",
        "micro_batch_size",
        "sequence_len",
        "adapter",
        "lora_r",
        "lora_target_modules",
        "optimizer",
        "optim",
        "optim_args",
        "plugins",
        "bf16",
        "fp16",
        "dtype",
        "deepspeed",
        "fsdp_config",
        "distributed_type",
        "mixed_precision",
        "num_processes",
        "zero_optimization",
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "finetuning_type",
        "quantization_bit",
        "cutoff_len",
        "use_peft",
        "gradient_checkpointing",
        "gradient_checkpointing_kwargs",
        "model",
        "tokenizer",
        "loss",
        "trainfit",
        "model_type",
        "hidden_size",
        "deepspeed_config",
        "_component_",
        "num_epochs",
        "num_train_epochs",
        "epochs",
        "max_steps",
        "packing",
        "neat_packing",
        "<script>alert(1)</script>",
    )
)
HOSTILE_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((0, 1, 3, 10**30, 10**4_000, -1, 1e308, "auto", "lora", "full", "x" * 500))
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(HOSTILE_KEYS | st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.mark.property
@given(keys=st.dictionaries(HOSTILE_KEYS, HOSTILE_VALUES, min_size=1, max_size=10))
@settings(max_examples=500)
def test_any_json_ends_in_a_request_or_a_coded_error(keys: dict[str, object]) -> None:
    text = json.dumps(keys)

    result = json.loads(run(json.dumps({"op": "recognise", "text": text}), CATALOG))

    if "error" in result:
        assert set(result["error"]) == {"code", "field", "message"}
        assert len(result["error"]["message"]) < 1_000
    else:
        assert set(result) == {"tool", "recognised", "dataset", "implied", "ignored", "notes"}
        assert set(result["implied"]) <= {
            *result["recognised"],
            *(f"dataset.{name}" for name in result["dataset"]),
            *(f"lora.{name}" for name in result["recognised"].get("lora", {})),
        }


@pytest.mark.property
@given(
    text=st.text(max_size=2_000) | st.binary(max_size=2_000).map(lambda raw: raw.decode("latin1"))
)
@settings(max_examples=500)
def test_any_text_ends_in_a_request_or_a_coded_error(text: str) -> None:
    result = json.loads(run(json.dumps({"op": "recognise", "text": text}), CATALOG))

    assert "error" in result or "recognised" in result


def test_the_limit_on_a_file_is_the_calculators() -> None:
    assert MAX_CHARACTERS == 200_000
