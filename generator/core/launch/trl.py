"""TRL's YAML for `trl sft`, with accelerate's where several GPUs run."""

from generator.core.launch import TOOLS, accelerate
from generator.core.launch.reading import Reading
from generator.core.launch.records import Launch, LaunchFile, Plan, common_notes, placeholder_note
from generator.core.launch.trainer import (
    LEARNING_RATES,
    LORA_DROPOUT,
    read_deepspeed_reference,
    read_optimizer,
    refuse,
    saved_module_fields,
    trainer_optimizer,
)
from generator.core.launch.yaml_writer import Value, write
from generator.core.run import ZERO_STAGE

SIGNATURE = (
    "model_name_or_path",
    "max_length",
    "use_peft",
    "per_device_train_batch_size",
    "dataset_name",
    "lora_target_modules",
    "use_bnb_nested_quant",
    "attn_implementation",
    "loss_type",
    "gradient_checkpointing",
    "gradient_accumulation_steps",
    "optim",
    "dtype",
    "torch_dtype",
    "packing",
    "num_train_epochs",
    "lora_modules_to_save",
    "max_seq_length",
    "assistant_only_loss",
    "dataset_text_field",
)
FILENAME = "sft.yaml"

_HALF_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
_LONE_MODULE = ".*\\."
"""TRL turns a list of one name into text, which PEFT matches against whole module paths."""


def _precision(plan: Plan) -> dict[str, Value]:
    """`dtype` for the weights, `bf16` or `fp16` for autocast."""
    case = plan.case
    off: dict[str, Value] = {"bf16": False, "fp16": False}
    if case.precision == "fp32":
        return {"dtype": "float32", **off}
    half = _HALF_DTYPES[plan.half]
    on: dict[str, Value] = {**off, plan.half: True}
    by_deepspeed = accelerate.uses_deepspeed(plan)
    if plan.is_adapter:
        return {"dtype": half, **(off if case.precision == "bf16-pure" else on)}
    if case.precision == "bf16-pure":
        if plan.half == "fp16":
            raise refuse(
                "precision",
                "TRL cannot scale the gradients of FP16 weights; use amp, fp32, or a card with "
                "BF16.",
            )
        return {"dtype": half, **(on if by_deepspeed else off)}
    if case.precision == "amp" and by_deepspeed:
        return {"dtype": "float32", **off}
    return {"dtype": half if plan.is_mixed and by_deepspeed else "float32", **on}


def _adapter(plan: Plan, notes: list[str]) -> dict[str, Value]:
    case = plan.case
    if not plan.is_adapter:
        return {}
    lora = case.lora
    keys: dict[str, Value] = {"use_peft": True}
    if case.method == "qlora":
        if lora.base_dtype == "gptq-int4":
            raise refuse(
                "lora.base_dtype",
                "TRL quantises to NF4 or 8 bit; use nf4-dq, or train LoRA on a GPTQ checkpoint.",
            )
        if lora.base_dtype == "int8":
            keys["load_in_8bit"] = True
        else:
            keys |= {
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "use_bnb_nested_quant": lora.base_dtype == "nf4-dq",
            }
            if accelerate.uses_fsdp(plan):
                keys["bnb_4bit_quant_storage"] = _HALF_DTYPES[plan.half]
    keys |= {
        "lora_r": lora.rank,
        "lora_alpha": 2 * lora.rank,
        "lora_dropout": LORA_DROPOUT if lora.dropout else 0.0,
    }
    targets = list(lora.target_modules)
    if lora.target_modules == "all-linear":
        targets = ["all-linear"]
    elif len(targets) == 1:
        targets = [_LONE_MODULE + targets[0]]
    keys["lora_target_modules"] = targets
    saved = plan.modules_to_save()
    if saved:
        keys["lora_modules_to_save"] = saved
    if (lora.adapter_dtype == "bf16") != (case.method == "qlora"):
        held = "BF16" if case.method == "qlora" else "FP32"
        than = "less" if case.method == "qlora" else "more"
        notes.append(
            f"TRL keeps {case.method} adapters in {held}, which takes {than} than this request."
        )
    return keys


def export(plan: Plan) -> Launch:
    """A configuration for `trl sft`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: TRL has no word for a part of it (code `unsupported-combination`).
    """
    case = plan.case
    workload = case.workload
    notes = [placeholder_note(plan), *common_notes(plan)]
    checkpointing = workload.activation_checkpointing
    keys: dict[str, Value] = {
        "model_name_or_path": plan.model_name,
        **_precision(plan),
        "attn_implementation": plan.attention,
        **_adapter(plan, notes),
        "dataset_name": "trl-lib/Capybara",
        "packing": plan.dataset.packing,
        "output_dir": "./outputs",
        "max_length": workload.sequence_length,
        "per_device_train_batch_size": workload.micro_batch_size,
        "gradient_accumulation_steps": workload.gradient_accumulation_steps,
        "num_train_epochs": plan.epochs,
        "learning_rate": LEARNING_RATES[case.method],
        **trainer_optimizer(plan, TOOLS["trl"]),
        "gradient_checkpointing": checkpointing != "none",
    }
    if plan.dataset.packing and plan.attention != "flash_attention_2":
        # The default would make one row of the micro-batch, with the scores of its square.
        keys["packing_strategy"] = "wrapped"
        notes.append("Without FlashAttention, TRL lets packed samples attend to each other.")
    if checkpointing != "none":
        keys["gradient_checkpointing_kwargs"] = {"use_reentrant": False}
    if checkpointing == "selective":
        keys["gradient_checkpointing_kwargs"] = {"selective": True, "use_reentrant": False}
        notes.append("TRL's selective checkpointing keeps attention only and needs less.")
    keys["loss_type"] = "nll"
    if workload.loss == "fused":
        keys["use_liger_kernel"] = True
    elif workload.loss == "standard":
        notes.append(
            "TRL computes this loss in chunks of tokens and never holds the full logits: "
            "choose chunked to see what that needs."
        )
    if plan.is_mixed and not plan.is_adapter and ZERO_STAGE[case.strategy] == 0:
        notes.append(
            "Outside DeepSpeed, TRL trains FP32 weights under autocast, which are the master: "
            "16 bytes per parameter with AdamW all the same."
        )
    notes += accelerate.sharding_notes(plan)
    command = f"trl sft --config {FILENAME}"
    files: tuple[LaunchFile, ...] = ()
    if case.strategy != "single":
        files = accelerate.files(plan, checkpoints=False)
        command += f" --accelerate_config {accelerate.FILENAME}"
    return Launch(
        files=(LaunchFile(filename=FILENAME, text=write(keys)), *files),
        command=command,
        notes=tuple(notes),
    )


def _read_adapter(reading: Reading) -> None:
    uses = reading.flag("use_peft")
    four = reading.flag("load_in_4bit") or False
    eight = reading.flag("load_in_8bit") or False
    if not uses:
        (reading.imply if uses is None else reading.say)("method", "full")
        if four or eight:
            reading.notes.append("A quantised base without use_peft trains nothing.")
        return
    reading.say("method", "qlora" if four or eight else "lora")
    if eight:
        reading.say("lora.base_dtype", "int8")
    elif four:
        nested = reading.flag("use_bnb_nested_quant")
        say = reading.imply if nested is None else reading.say
        say("lora.base_dtype", "nf4-dq" if nested else "nf4")
        if reading.word("bnb_4bit_quant_type") == "fp4":
            reading.notes.append("FP4 is counted as NF4: the bytes are the same.")
        reading.get("bnb_4bit_quant_storage")
    reading.integer("lora.rank", 16, "lora_r")
    reading.get("lora_alpha")
    dropout = reading.is_positive("lora_dropout")
    if dropout is None:
        reading.imply("lora.dropout", True)
    else:
        reading.say("lora.dropout", dropout)
    targets = reading.names("lora_target_modules")
    if targets == ["all-linear"]:
        reading.say("lora.target_modules", "all-linear")
    elif targets:
        plain = {each.removeprefix(_LONE_MODULE) for each in targets}
        reading.say("lora.target_modules", sorted(plain))
    else:
        reading.notes.append(
            "Without lora_target_modules PEFT picks them by architecture: choose them."
        )
    saved_module_fields(reading, reading.names("lora_modules_to_save"))
    reading.imply("lora.adapter_dtype", "bf16" if four or eight else "fp32")
    if reading.flag("use_dora"):
        reading.notes.append("DoRA is counted as LoRA: its magnitudes are not.")


def _read_loss(reading: Reading) -> None:
    """`nll`, the default, is computed in chunks of tokens, and `chunked_nll` is its older name;
    `dft` needs the logits of all tokens; Liger's kernel takes the place of either.
    """
    kind = reading.word("loss_type")
    if reading.flag("use_liger_kernel"):
        reading.say("loss", "fused")
    elif kind is None:
        reading.imply("loss", "chunked")
    else:
        reading.say("loss", "standard" if kind == "dft" else "chunked")


def _read_precision(reading: Reading, *, has_deepspeed: bool) -> None:
    dtype = reading.word("dtype") or reading.word("torch_dtype")
    fp16 = reading.flag("fp16") or False
    bf16 = reading.flag("bf16")
    autocasts = fp16 or (bf16 if bf16 is not None else True)
    # `trl sft` loads in FP32 unless told; `auto` means the checkpoint's dtype, 16 bit today.
    is_half = dtype in ("bfloat16", "float16", "torch.bfloat16", "torch.float16")
    is_half = is_half or "auto" in (reading.keys.get("dtype"), reading.keys.get("torch_dtype"))
    say = reading.say if dtype is not None or bf16 is not None or fp16 else reading.imply
    mixed = "fp16-mixed" if fp16 else "bf16-mixed"
    if reading.fields.get("method") != "full":
        half_base = is_half or reading.fields.get("method") == "qlora"
        say("precision", (mixed if autocasts else "bf16-pure") if half_base else "fp32")
        if not half_base:
            reading.notes.append("The frozen base is loaded in FP32: set dtype to bfloat16.")
    elif has_deepspeed:
        say("precision", mixed if autocasts else "fp32")
    elif is_half:
        say("precision", "bf16-pure")
    else:
        say("precision", "amp" if autocasts else "fp32")


def read(reading: Reading) -> None:
    """Request fields of a TRL file.

    Args:
        reading: The file.
    """
    reading.say("stack", "trl")
    reading.model("model_name_or_path")
    _read_adapter(reading)
    older = "max_seq_length" in reading.keys and "max_length" not in reading.keys
    reading.integer("sequence_length", 1024, "max_seq_length" if older else "max_length")
    reading.integer("micro_batch_size", 8, "per_device_train_batch_size")
    reading.integer("gradient_accumulation_steps", 1, "gradient_accumulation_steps")
    reading.epochs("num_train_epochs", 3)
    reading.packing("packing")
    reading.get("packing_strategy")
    read_optimizer(reading, "optim")
    has_deepspeed = read_deepspeed_reference(reading)
    if not has_deepspeed:
        reading.imply("strategy", "single")
    _read_precision(reading, has_deepspeed=has_deepspeed)
    attention = reading.word("attn_implementation")
    if attention is None:
        reading.imply("attention", "sdpa")
    elif attention in ("eager", "sdpa"):
        reading.say("attention", attention)
    elif "flash" in attention or attention == "flex_attention":
        reading.say("attention", "flash")
    else:
        reading.used.discard(("attn_implementation",))
        reading.notes.append(f"The attention {attention[:40]} is not modelled; choose one.")
    _read_loss(reading)
    checkpoints = reading.flag("gradient_checkpointing")
    selective = reading.get("gradient_checkpointing_kwargs", "selective") is True
    reading.get("gradient_checkpointing_kwargs", "use_reentrant")
    if checkpoints is None:
        reading.imply("activation_checkpointing", "full")
    else:
        wanted = "selective" if selective else "full"
        reading.say("activation_checkpointing", wanted if checkpoints else "none")
    if reading.flag("activation_offloading"):
        reading.used.discard(("activation_offloading",))
        reading.notes.append("Activation offload is not modelled.")
