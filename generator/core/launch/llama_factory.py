"""LLaMA-Factory's YAML."""

from generator.core.launch import TOOLS, accelerate, deepspeed
from generator.core.launch.reading import Reading
from generator.core.launch.records import Launch, LaunchFile, Plan, common_notes, placeholder_note
from generator.core.launch.trainer import (
    LEARNING_RATES,
    LORA_DROPOUT,
    check_optimizer,
    read_deepspeed_reference,
    read_optimizer,
    refuse,
    saved_module_fields,
    trainer_optimizer,
)
from generator.core.launch.yaml_writer import Value, write
from generator.core.run import ZERO_STAGE

SIGNATURE = (
    "stage",
    "finetuning_type",
    "cutoff_len",
    "template",
    "lora_target",
    "lora_rank",
    "quantization_bit",
    "do_train",
    "model_name_or_path",
    "dataset",
    "flash_attn",
    "enable_liger_kernel",
    "pure_bf16",
    "disable_gradient_checkpointing",
    "per_device_train_batch_size",
    "preprocessing_num_workers",
    "plot_loss",
)
FILENAME = "llama_factory.yaml"

_ATTENTIONS = {
    "fa2": "flash",
    "fa3": "flash",
    "sdpa": "sdpa",
    "auto": "sdpa",
    "disabled": "eager",
}


def _uses_accelerate(plan: Plan) -> bool:
    """FSDP2 where LLaMA-Factory or DeepSpeed refuses the precision."""
    if plan.is_adapter or ZERO_STAGE[plan.case.strategy] < 2:
        return False
    return plan.case.precision in ("amp", "bf16-pure") and accelerate.uses_fsdp(plan)


def _precision(plan: Plan, notes: list[str]) -> dict[str, Value]:
    case = plan.case
    sharded = ZERO_STAGE[case.strategy] > 0
    if case.precision == "fp32":
        return {}
    if case.precision == "bf16-pure":
        if plan.half == "fp16":
            raise refuse(
                "precision",
                "LLaMA-Factory trains in pure 16 bit only on cards with BF16; use amp or fp32.",
            )
        if plan.is_adapter and case.strategy == "zero-3":
            raise refuse(
                "precision",
                "LLaMA-Factory does not combine pure_bf16 with DeepSpeed ZeRO-3; use bf16-mixed.",
            )
        if plan.is_adapter and case.lora.adapter_dtype == "fp32":
            notes.append("pure_bf16 keeps adapters in BF16, which takes less than this request.")
        return {"pure_bf16": True}
    if case.precision == "amp" and not plan.is_adapter and sharded and not _uses_accelerate(plan):
        raise refuse(
            "precision",
            "Under DeepSpeed, LLaMA-Factory trains 16-bit weights with an FP32 master; "
            "use bf16-mixed.",
        )
    if plan.is_mixed and not plan.is_adapter and not sharded:
        notes.append(
            "Outside DeepSpeed, LLaMA-Factory trains FP32 weights under autocast, which are the "
            "master: 16 bytes per parameter with AdamW all the same."
        )
    if plan.is_adapter and case.lora.adapter_dtype == "bf16":
        notes.append("LLaMA-Factory keeps adapters in FP32, which takes more than this request.")
    return {plan.half: True}


def _adapter(plan: Plan) -> dict[str, Value]:
    case = plan.case
    if not plan.is_adapter:
        return {"finetuning_type": "full"}
    lora = case.lora
    keys: dict[str, Value] = {"finetuning_type": "lora"}
    if case.method == "qlora":
        if lora.base_dtype == "gptq-int4":
            raise refuse(
                "lora.base_dtype",
                "LLaMA-Factory quantises to NF4 or 8 bit; use nf4-dq, or train LoRA on a GPTQ "
                "checkpoint.",
            )
        if lora.base_dtype == "int8" and case.strategy == "zero-3":
            raise refuse(
                "lora.base_dtype",
                "LLaMA-Factory shards quantised weights only in 4 bit; use nf4-dq or ZeRO-2.",
            )
        keys |= {
            "quantization_method": "bnb",
            "quantization_bit": 8 if lora.base_dtype == "int8" else 4,
        }
        if lora.base_dtype != "int8":
            keys["double_quantization"] = lora.base_dtype == "nf4-dq"
    keys |= {
        "lora_rank": lora.rank,
        "lora_alpha": 2 * lora.rank,
        "lora_dropout": LORA_DROPOUT if lora.dropout else 0.0,
        "lora_target": "all"
        if lora.target_modules == "all-linear"
        else ",".join(lora.target_modules),
    }
    saved = plan.modules_to_save()
    if saved:
        keys["additional_target"] = ",".join(saved)
    return keys


def _optimizer(plan: Plan) -> dict[str, Value]:
    optimizer = plan.case.optimizer
    if optimizer.id in ("muon", "adam-mini"):
        check_optimizer(plan, TOOLS["llama-factory"])
        switch = "use_muon" if optimizer.id == "muon" else "use_adam_mini"
        return {"optim": "adamw_torch", switch: True}
    if optimizer.rank is not None:
        check_optimizer(plan, TOOLS["llama-factory"])
        kind = "galore" if optimizer.id.startswith("galore") else "apollo"
        return {
            "optim": "adamw_8bit" if optimizer.id.endswith("8bit") else "adamw_torch",
            f"use_{kind}": True,
            f"{kind}_target": "all",
            f"{kind}_rank": optimizer.rank,
        }
    return {**trainer_optimizer(plan, TOOLS["llama-factory"])}


def _loss(plan: Plan, notes: list[str]) -> dict[str, Value]:
    loss = plan.case.workload.loss
    if loss == "chunked":
        notes.append("LLaMA-Factory has no chunked loss: Liger's fused one needs less.")
    return {} if loss == "standard" else {"enable_liger_kernel": True}


def export(plan: Plan) -> Launch:
    """A configuration for `llamafactory-cli train`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: LLaMA-Factory has no word for a part of it (code
            `unsupported-combination`).
    """
    case = plan.case
    workload = case.workload
    notes = [placeholder_note(plan, "chat template"), *common_notes(plan)]
    if workload.activation_checkpointing == "selective":
        notes.append("LLaMA-Factory checkpoints whole blocks, which needs less than selective.")
    if plan.dataset.packing:
        notes.append(
            "LLaMA-Factory lets packed samples attend to each other; neat_packing keeps them apart."
        )
    attentions = {"flash_attention_2": "fa2", "sdpa": "sdpa", "eager": "disabled"}
    keys: dict[str, Value] = {
        "model_name_or_path": plan.model_name,
        "stage": "sft",
        "do_train": True,
        **_adapter(plan),
        "dataset": "alpaca_en_demo",
        "template": "default",
        "packing": plan.dataset.packing,
        "output_dir": "./outputs",
        "cutoff_len": workload.sequence_length,
        "per_device_train_batch_size": workload.micro_batch_size,
        "gradient_accumulation_steps": workload.gradient_accumulation_steps,
        "num_train_epochs": float(plan.epochs),
        "learning_rate": LEARNING_RATES[case.method],
        **_optimizer(plan),
        **_precision(plan, notes),
        "flash_attn": attentions[plan.attention],
        "disable_gradient_checkpointing": workload.activation_checkpointing == "none",
        **_loss(plan, notes),
    }
    command = f"llamafactory-cli train {FILENAME}"
    files: tuple[LaunchFile, ...] = ()
    if _uses_accelerate(plan):
        files = accelerate.files(plan, checkpoints=False)
        notes += accelerate.sharding_notes(plan)
        command = f"accelerate launch --config_file {accelerate.FILENAME} src/train.py {FILENAME}"
    else:
        if ZERO_STAGE[case.strategy] > 0:
            files = (deepspeed.companion(plan),)
            keys["deepspeed"] = deepspeed.filename(plan)
        if case.num_gpus > 1 or files:
            command = f"FORCE_TORCHRUN=1 NPROC_PER_NODE={plan.gpus_per_machine} {command}"
    if keys.get("pure_bf16") and "deepspeed" in keys:
        raise refuse(
            "precision",
            "LLaMA-Factory's pure_bf16 and DeepSpeed's own precision contradict each other; "
            "use bf16-mixed, or zero-3 with an optimizer that FSDP shards.",
        )
    return Launch(
        files=(LaunchFile(filename=FILENAME, text=write(keys)), *files),
        command=command,
        notes=tuple(notes),
    )


def _read_adapter(reading: Reading) -> None:
    kind = reading.word("finetuning_type")
    bits = reading.get("quantization_bit")
    if kind == "full":
        reading.say("method", "full")
        return
    method = "lora" if bits is None else "qlora"
    (reading.imply if kind is None else reading.say)("method", method)
    if kind not in (None, "lora"):
        reading.notes.append(f"The method {str(kind)[:40]} is counted as LoRA.")
    if bits is not None:
        quantiser = reading.word("quantization_method")
        if bits not in (4, 8) or quantiser not in (None, "bnb", "bitsandbytes"):
            reading.notes.append("This quantisation is counted as that of bitsandbytes.")
        double = reading.flag("double_quantization")
        four = "nf4" if double is False else "nf4-dq"
        reading.say("lora.base_dtype", "int8" if bits == 8 else four)
        reading.get("quantization_type")
    reading.integer("lora.rank", 8, "lora_rank")
    reading.get("lora_alpha")
    dropout = reading.is_positive("lora_dropout")
    (reading.imply if dropout is None else reading.say)("lora.dropout", bool(dropout))
    targets = reading.names("lora_target")
    if targets is None:
        reading.imply("lora.target_modules", "all-linear")
    elif targets in (["all"], ["all-linear"]):
        reading.say("lora.target_modules", "all-linear")
    elif targets:
        reading.say("lora.target_modules", sorted(set(targets)))
    saved_module_fields(reading, reading.names("additional_target"))
    if reading.flag("use_dora"):
        reading.notes.append("DoRA is counted as LoRA: its magnitudes are not.")


def _read_precision(reading: Reading, *, has_deepspeed: bool) -> None:
    pure = reading.flag("pure_bf16") or False
    bf16 = reading.flag("bf16")
    fp16 = reading.flag("fp16")
    half = "fp16" if fp16 else "bf16"
    is_adapter = reading.fields.get("method") != "full"
    if is_adapter:
        reading.imply("lora.adapter_dtype", "bf16" if pure else "fp32")
    if pure:
        reading.say("precision", "bf16-pure")
    elif bf16 or fp16:
        mixed = is_adapter or has_deepspeed
        reading.say("precision", f"{half}-mixed" if mixed else "amp")
    else:
        (reading.imply if bf16 is None else reading.say)("precision", "fp32")


def _read_optimizer(reading: Reading) -> None:
    switches = {"use_muon": "muon", "use_adam_mini": "adam-mini"}
    for switch, optimizer in switches.items():
        if reading.flag(switch):
            reading.get("optim")
            reading.say("optimizer", optimizer)
            return
    if reading.flag("use_galore"):
        is_8bit = "8bit" in (reading.word("optim") or "")
        reading.say("optimizer", "galore-adamw-8bit" if is_8bit else "galore-adamw")
        rank = reading.get("galore_rank")
        reading.get("galore_target")
    elif reading.flag("use_apollo"):
        reading.get("optim")
        rank = reading.get("apollo_rank")
        reading.say("optimizer", "apollo-mini" if rank == 1 else "apollo")
        reading.get("apollo_target")
    else:
        read_optimizer(reading, "optim")
        return
    if rank not in (1, 128):
        reading.notes.append("GaLore and APOLLO are counted with rank 128.")


def read(reading: Reading) -> None:
    """Request fields of a LLaMA-Factory file.

    Args:
        reading: The file.
    """
    reading.say("stack", "llama-factory")
    reading.model("model_name_or_path")
    _read_adapter(reading)
    reading.integer("sequence_length", 2048, "cutoff_len")
    reading.integer("micro_batch_size", 8, "per_device_train_batch_size")
    reading.integer("gradient_accumulation_steps", 1, "gradient_accumulation_steps")
    reading.epochs("num_train_epochs", 3)
    if reading.flag("neat_packing"):
        reading.get("packing")
        reading.say("dataset.packing", True)
    else:
        # Before pre-training it packs by itself.
        reading.packing("packing", default=reading.word("stage") == "pt")
    _read_optimizer(reading)
    has_deepspeed = read_deepspeed_reference(reading)
    if not has_deepspeed:
        reading.imply("strategy", "single")
    _read_precision(reading, has_deepspeed=has_deepspeed)
    reading.get("flash_attn")
    word = reading.keys.get("flash_attn")
    kernel = _ATTENTIONS.get(str(word)) if word is not None else None
    if kernel is None:
        reading.imply("attention", "sdpa")
    else:
        reading.say("attention", kernel)
    off = reading.flag("disable_gradient_checkpointing")
    say = reading.imply if off is None else reading.say
    say("activation_checkpointing", "none" if off else "full")
    liger = reading.flag("enable_liger_kernel")
    (reading.imply if liger is None else reading.say)("loss", "fused" if liger else "standard")
    if reading.word("stage") not in (None, "sft", "pt"):
        reading.notes.append("Only supervised training is modelled: no reference or reward model.")
