"""torchtune's YAML and the recipe that runs it."""

from math import ceil

from generator.core.launch import TOOLS
from generator.core.launch.reading import Reading
from generator.core.launch.records import Launch, LaunchFile, Plan, common_notes, placeholder_note
from generator.core.launch.trainer import (
    LEARNING_RATES,
    LORA_DROPOUT,
    check_optimizer,
    float_of,
    is_bitsandbytes_blockwise,
    refuse,
)
from generator.core.launch.yaml_writer import Value, write

SIGNATURE = (
    "tokenizer",
    "checkpointer",
    "model",
    "optimizer",
    "loss",
    "enable_activation_checkpointing",
    "enable_activation_offloading",
    "optimizer_in_bwd",
    "batch_size",
    "metric_logger",
    "profiler",
    "log_peak_memory_stats",
    "dataset",
    "dtype",
    "compile",
)
FILENAME = "torchtune.yaml"

_MODELS: dict[str, tuple[str, str, str, str]] = {
    "llama-2-7b": ("llama2", "llama2_7b", "llama2.llama2_tokenizer", "LLAMA2"),
    "llama-2-13b": ("llama2", "llama2_13b", "llama2.llama2_tokenizer", "LLAMA2"),
    "llama-2-70b": ("llama2", "llama2_70b", "llama2.llama2_tokenizer", "LLAMA2"),
    "meta-llama-3-8b": ("llama3", "llama3_8b", "llama3.llama3_tokenizer", "LLAMA3"),
    "llama-3.1-8b": ("llama3_1", "llama3_1_8b", "llama3.llama3_tokenizer", "LLAMA3"),
    "llama-3.1-70b": ("llama3_1", "llama3_1_70b", "llama3.llama3_tokenizer", "LLAMA3"),
    "llama-3.1-405b": ("llama3_1", "llama3_1_405b", "llama3.llama3_tokenizer", "LLAMA3"),
    "llama-3.2-1b": ("llama3_2", "llama3_2_1b", "llama3.llama3_tokenizer", "LLAMA3_2"),
    "llama-3.2-3b": ("llama3_2", "llama3_2_3b", "llama3.llama3_tokenizer", "LLAMA3_2"),
    "llama-3.3-70b": ("llama3_3", "llama3_3_70b", "llama3.llama3_tokenizer", "LLAMA3"),
    "mistral-7b-v0.1": ("mistral", "mistral_7b", "mistral.mistral_tokenizer", "MISTRAL"),
    "gemma-2b": ("gemma", "gemma_2b", "gemma.gemma_tokenizer", "GEMMA"),
    "gemma-7b": ("gemma", "gemma_7b", "gemma.gemma_tokenizer", "GEMMA"),
    "gemma-2-2b": ("gemma2", "gemma2_2b", "gemma.gemma_tokenizer", "GEMMA2"),
    "gemma-2-9b": ("gemma2", "gemma2_9b", "gemma.gemma_tokenizer", "GEMMA2"),
    "gemma-2-27b": ("gemma2", "gemma2_27b", "gemma.gemma_tokenizer", "GEMMA2"),
    "phi-3-mini-4k": ("phi3", "phi3_mini", "phi3.phi3_mini_tokenizer", "PHI3_MINI"),
    "phi-4": ("phi4", "phi4_14b", "phi4.phi4_tokenizer", "PHI4"),
    "qwen2.5-0.5b": ("qwen2_5", "qwen2_5_0_5b", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-1.5b": ("qwen2_5", "qwen2_5_1_5b_instruct", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-3b": ("qwen2_5", "qwen2_5_3b", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-7b": ("qwen2_5", "qwen2_5_7b_instruct", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-14b": ("qwen2_5", "qwen2_5_14b_instruct", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-32b": ("qwen2_5", "qwen2_5_32b_instruct", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
    "qwen2.5-72b": ("qwen2_5", "qwen2_5_72b_instruct", "qwen2_5.qwen2_5_tokenizer", "QWEN2"),
}
"""Catalog id to torchtune's package, builder, tokenizer and checkpoint format: the builder of the
checkpoint that the catalog names, since base models differ in the epsilon of their norms."""

_ATTENTION_MODULES = {
    "q_proj": "q_proj",
    "k_proj": "k_proj",
    "v_proj": "v_proj",
    "o_proj": "output_proj",
}
_MLP_MODULES = frozenset(("gate_proj", "up_proj", "down_proj"))
_CHUNKED_LOSS = "torchtune.modules.loss.CEWithChunkedOutputLoss"
_STANDARD_LOSS = "torch.nn.CrossEntropyLoss"
_IMPORTABLE = ("torch.optim.", "torchao.optim.", "bitsandbytes.optim.")
_CHECKPOINT_DIR = "./checkpoint"


def _adapter(plan: Plan, notes: list[str]) -> dict[str, Value]:
    case = plan.case
    if not plan.is_adapter:
        return {}
    lora = case.lora
    if lora.train_embeddings or lora.train_head:
        field = "lora.train_embeddings" if lora.train_embeddings else "lora.train_head"
        raise refuse(
            field,
            "torchtune trains no full copy of embeddings or head beside adapters; leave it out.",
        )
    if lora.target_modules == "all-linear":
        attention = list(_ATTENTION_MODULES.values())
        has_mlp, has_head = True, False
    else:
        targets = set(lora.target_modules)
        attention = [own for name, own in _ATTENTION_MODULES.items() if name in targets]
        has_mlp, has_head = targets >= _MLP_MODULES, "lm_head" in targets
        unknown = targets - {*_ATTENTION_MODULES, *_MLP_MODULES, "lm_head"}
        if unknown or (targets & _MLP_MODULES and not has_mlp):
            raise refuse(
                "lora.target_modules",
                "torchtune adapts q_proj, k_proj, v_proj, o_proj, lm_head and the whole MLP "
                "(gate_proj, up_proj and down_proj together); name those.",
            )
    keys: dict[str, Value] = {"lora_attn_modules": attention, "apply_lora_to_mlp": has_mlp}
    if has_head:
        keys["apply_lora_to_output"] = True
    keys |= {
        "lora_rank": lora.rank,
        "lora_alpha": 2 * lora.rank,
        "lora_dropout": LORA_DROPOUT if lora.dropout else 0.0,
    }
    if case.method == "qlora":
        if lora.base_dtype not in ("nf4", "nf4-dq"):
            raise refuse("lora.base_dtype", "torchtune quantises to NF4 only; use nf4-dq.")
        if lora.base_dtype == "nf4":
            notes.append("torchtune quantises the scales of NF4 too, which needs less.")
        keys["quantize_base"] = True
    if lora.adapter_dtype == "fp32" and case.precision != "fp32":
        notes.append("torchtune keeps adapters in BF16, which takes less than this request.")
    return keys


def _optimizer(plan: Plan) -> dict[str, Value]:
    in_backward = plan.case.optimizer_implementation == "in-backward"
    if in_backward and plan.is_adapter:
        raise refuse(
            "optimizer_implementation",
            "torchtune steps inside backward only in full fine-tuning; use fused.",
        )
    if not in_backward:
        check_optimizer(plan, TOOLS["torchtune"])
    optimizer = plan.case.optimizer
    component = optimizer.implementation
    if not component.startswith(_IMPORTABLE) or " " in component:
        raise refuse(
            "optimizer", f"torchtune has no {optimizer.name}; choose another, such as adamw."
        )
    if plan.case.strategy != "single" and is_bitsandbytes_blockwise(optimizer):
        raise refuse(
            "optimizer",
            f"{optimizer.name} keeps its states in blocks, which torchtune's FSDP2 cannot shard; "
            "use ao-adamw-8bit.",
        )
    name, _, argument = component.partition("(")
    keys: dict[str, Value] = {"_component_": name, "lr": LEARNING_RATES[plan.case.method]}
    if argument:
        keys["momentum"] = float_of(argument.removeprefix("momentum=").removesuffix(")"))
    if optimizer.id == "adamw":
        keys["fused"] = plan.case.optimizer_implementation != "foreach"
    return keys


def _tokenizer(component: str, plan: Plan) -> dict[str, Value]:
    length = plan.case.workload.sequence_length
    keys: dict[str, Value] = {"_component_": f"torchtune.models.{component}"}
    if component.startswith("qwen"):
        keys |= {
            "path": f"{_CHECKPOINT_DIR}/vocab.json",
            "merges_file": f"{_CHECKPOINT_DIR}/merges.txt",
        }
    elif component.startswith("phi4"):
        keys |= {
            "vocab_path": f"{_CHECKPOINT_DIR}/vocab.json",
            "merges_path": f"{_CHECKPOINT_DIR}/merges.txt",
        }
    else:
        folder = "original/" if component.startswith("llama3") else ""
        keys["path"] = f"{_CHECKPOINT_DIR}/{folder}tokenizer.model"
    return {**keys, "max_seq_len": length}


def _precision(plan: Plan, notes: list[str]) -> str:
    precision = plan.case.precision
    if precision == "fp32":
        return "fp32"
    if plan.half == "fp16":
        raise refuse("precision", "torchtune trains in BF16 or FP32; use fp32 or a card with BF16.")
    if not plan.is_adapter and precision != "bf16-pure":
        notes.append(
            "torchtune trains BF16 weights and states without an FP32 master and needs less: "
            "choose bf16-pure to see how much."
        )
    return "bf16"


def export(plan: Plan) -> Launch:
    """A configuration for `tune run`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: torchtune has no such model, strategy, optimizer or loss (code
            `unsupported-combination`).
    """
    case = plan.case
    workload = case.workload
    known = _MODELS.get(plan.model_id or "")
    if known is None:
        raise refuse(
            "model",
            "torchtune 0.6 has no builder for this model; it has Llama 2 to 3.3, Mistral 7B, "
            "Gemma 1 and 2, Phi 3 and 4 and Qwen2.5. Use another tool.",
        )
    if case.strategy in ("ddp", "zero-1"):
        raise refuse(
            "strategy",
            f"torchtune has no {case.strategy}: its distributed recipes run FSDP2; "
            "use single, zero-2 or zero-3.",
        )
    if workload.loss == "fused":
        raise refuse("loss", "torchtune 0.6 has no fused loss; use chunked.")
    package, builder, tokenizer, model_type = known
    notes = [placeholder_note(plan), *common_notes(plan)]
    if workload.activation_checkpointing == "selective":
        notes.append("Written as full checkpointing, which needs less than selective.")
    if workload.attention == "eager":
        notes.append("torchtune has no eager attention: PyTorch's SDPA needs less.")
    notes.append(
        f"Put the checkpoint in {_CHECKPOINT_DIR} and name its files: "
        f"tune download {plan.model_name} --output-dir {_CHECKPOINT_DIR}."
    )
    prefix = "lora_" if plan.is_adapter else ""
    epochs = ceil(plan.epochs)
    if epochs != plan.epochs:
        notes.append(f"torchtune makes whole epochs: {plan.epochs:g} are written as {epochs}.")
    keys: dict[str, Value] = {
        "output_dir": "./outputs",
        "model": {
            "_component_": f"torchtune.models.{package}.{prefix}{builder}",
            **_adapter(plan, notes),
        },
        "tokenizer": _tokenizer(tokenizer, plan),
        "checkpointer": {
            "_component_": "torchtune.training.FullModelHFCheckpointer",
            "checkpoint_dir": _CHECKPOINT_DIR,
            "checkpoint_files": ["model.safetensors"],
            "recipe_checkpoint": None,
            "output_dir": "./outputs",
            "model_type": model_type,
        },
        "resume_from_checkpoint": False,
        "dataset": {
            "_component_": "torchtune.datasets.alpaca_cleaned_dataset",
            "packed": plan.dataset.packing,
        },
        "seed": None,
        "shuffle": True,
        "batch_size": workload.micro_batch_size,
        "gradient_accumulation_steps": workload.gradient_accumulation_steps,
        "epochs": epochs,
        "max_steps_per_epoch": None,
        "optimizer": _optimizer(plan),
    }
    if plan.is_adapter:
        keys["lr_scheduler"] = {
            "_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
            "num_warmup_steps": 100,
        }
        keys["save_adapter_weights_only"] = True
    else:
        keys["optimizer_in_bwd"] = case.optimizer_implementation == "in-backward"
    keys |= {
        "loss": {"_component_": _CHUNKED_LOSS if workload.loss == "chunked" else _STANDARD_LOSS},
        "clip_grad_norm": None,
        "compile": False,
        "device": "cuda",
        "dtype": _precision(plan, notes),
        "enable_activation_checkpointing": workload.activation_checkpointing != "none",
        "enable_activation_offloading": False,
        "metric_logger": {
            "_component_": "torchtune.training.metric_logging.DiskLogger",
            "log_dir": "./outputs/logs",
        },
        "log_every_n_steps": 1,
        "log_peak_memory_stats": True,
    }
    method = "lora" if plan.is_adapter else "full"
    if case.strategy == "single":
        command = f"tune run {method}_finetune_single_device --config {FILENAME}"
    else:
        keys["fsdp_reshard_after_forward"] = case.strategy == "zero-3"
        command = (
            f"tune run --nproc_per_node {plan.gpus_per_machine} "
            f"{method}_finetune_distributed --config {FILENAME}"
        )
    return Launch(
        files=(LaunchFile(filename=FILENAME, text=write(keys)),),
        command=command,
        notes=tuple(notes),
    )


def _read_model(reading: Reading) -> None:
    component = reading.word("model", "_component_") or ""
    name = component.rsplit(".", 1)[-1]
    plain = name.removeprefix("qlora_").removeprefix("lora_")
    builders = {builder: own for own, (_, builder, _, _) in _MODELS.items()}
    builders |= {
        builder.removesuffix("_instruct") + "_base": own for builder, own in builders.items()
    }
    model = builders.get(plain)
    if model is not None and model in reading.catalog.models:
        reading.say("model", model)
        reading.counted_as(plain, model, _MODELS[model][1])
    elif component:
        reading.used.discard(("model", "_component_"))
        reading.notes.append(f'The catalog has no model "{name[:80]}": choose one.')
    quantises = name.startswith("qlora_") or reading.flag("model", "quantize_base")
    if not name.startswith(("lora_", "qlora_")):
        reading.say("method", "full")
        return
    reading.say("method", "qlora" if quantises else "lora")
    if quantises:
        reading.imply("lora.base_dtype", "nf4-dq")
    reading.integer("lora.rank", 8, "model", "lora_rank")
    reading.get("model", "lora_alpha")
    dropout = reading.is_positive("model", "lora_dropout")
    (reading.imply if dropout is None else reading.say)("lora.dropout", bool(dropout))
    own_names = {own: ours for ours, own in _ATTENTION_MODULES.items()}
    adapted = reading.names("model", "lora_attn_modules") or []
    targets = {own_names.get(each, each) for each in adapted}
    if reading.flag("model", "apply_lora_to_mlp"):
        targets |= _MLP_MODULES
    everything = targets == {*_ATTENTION_MODULES, *_MLP_MODULES}
    if reading.flag("model", "apply_lora_to_output"):
        targets.add("lm_head")
        everything = False
    if targets:
        reading.say("lora.target_modules", "all-linear" if everything else sorted(targets))
    if reading.flag("model", "use_dora"):
        reading.notes.append("DoRA is counted as LoRA: its magnitudes are not.")


def _read_optimizer(reading: Reading) -> None:
    component = reading.word("optimizer", "_component_")
    if component is None:
        return
    plain = component.replace("torchao.prototype.low_bit_optim.", "torchao.optim.")
    if plain == "torch.optim.SGD" and float_of(str(reading.get("optimizer", "momentum"))) > 0:
        reading.say("optimizer", "sgd-momentum")
    else:
        found = [
            optimizer.id
            for optimizer in reading.catalog.optimizers.values()
            if optimizer.implementation == plain
        ]
        if found:
            reading.say("optimizer", found[0])
        else:
            reading.used.discard(("optimizer", "_component_"))
            reading.notes.append(
                f'The catalog has no optimizer "{component[:80]}": choose the nearest.'
            )
    fused = reading.flag("optimizer", "fused")
    if fused is not None:
        reading.say("optimizer_implementation", "fused" if fused else "foreach")


def read(reading: Reading) -> None:
    """Request fields of a torchtune file.

    Args:
        reading: The file.
    """
    reading.say("stack", "torchtune")
    _read_model(reading)
    length = reading.number("sequence_length", "tokenizer", "max_seq_len")
    if length is None:
        reading.notes.append("Without tokenizer.max_seq_len the data decides: choose a length.")
    else:
        reading.say("sequence_length", length)
    reading.integer("micro_batch_size", None, "batch_size")
    reading.integer("gradient_accumulation_steps", 1, "gradient_accumulation_steps")
    reading.epochs("epochs", None, limit="max_steps_per_epoch")
    reading.packing("dataset", "packed")
    _read_optimizer(reading)
    dtype = reading.word("dtype")
    if dtype is not None:
        reading.say("precision", "fp32" if dtype == "fp32" else "bf16-pure")
    if reading.fields.get("method") != "full":
        reading.imply("lora.adapter_dtype", "fp32" if dtype == "fp32" else "bf16")
    loss = reading.word("loss", "_component_")
    if loss is not None:
        chunked = "Chunked" in loss or "Linear" in loss
        reading.say("loss", "chunked" if chunked else "standard")
    checkpoints = reading.flag("enable_activation_checkpointing")
    if checkpoints is not None:
        reading.say("activation_checkpointing", "full" if checkpoints else "none")
    if reading.word("ac_mode") == "selective" and not checkpoints:
        reading.say("activation_checkpointing", "selective")
    reading.imply("attention", "flash")
    reshard = reading.flag("fsdp_reshard_after_forward")
    if reshard is None:
        # The recipe, which the file does not name, decides.
        reading.imply("strategy", "single")
    else:
        reading.say("strategy", "zero-3" if reshard else "zero-2")
    if reading.flag("enable_activation_offloading"):
        reading.used.discard(("enable_activation_offloading",))
        reading.notes.append("Activation offload is not modelled.")
    if reading.flag("optimizer_in_bwd"):
        reading.say("optimizer_implementation", "in-backward")
