"""axolotl's YAML."""

from generator.core.launch import TOOLS, deepspeed
from generator.core.launch.reading import Reading
from generator.core.launch.records import (
    FIRST_MACHINE,
    Launch,
    LaunchFile,
    Plan,
    common_notes,
    placeholder_note,
)
from generator.core.launch.trainer import (
    LEARNING_RATES,
    LORA_DROPOUT,
    check_optimizer,
    is_bitsandbytes_blockwise,
    read_deepspeed_reference,
    read_optimizer,
    refuse,
    saved_module_fields,
    trainer_optimizer,
)
from generator.core.launch.yaml_writer import Value, write
from generator.core.run import ZERO_STAGE

SIGNATURE = (
    "base_model",
    "micro_batch_size",
    "sequence_len",
    "adapter",
    "lora_target_linear",
    "sample_packing",
    "pad_to_sequence_len",
    "flash_attention",
    "val_set_size",
    "num_epochs",
    "train_on_inputs",
    "datasets",
    "special_tokens",
    "lora_r",
    "optimizer",
    "load_in_4bit",
    "gradient_checkpointing",
)
FILENAME = "axolotl.yaml"

_OWN_OPTIMIZERS = {
    "ao-adamw-4bit": "ao_adamw_4bit",
    "ao-adamw-8bit": "ao_adamw_8bit",
    "ao-adamw-fp8": "ao_adamw_fp8",
    "came": "came_pytorch",
    "muon": "muon",
}
_CUT_CROSS_ENTROPY = "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin"
_LIGER = "axolotl.integrations.liger.LigerPlugin"
_ATTENTION_FLAGS = {
    "flash_attention": "flash",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
    "xformers_attention": "flash",
    "flex_attention": "flash",
}
_ATTENTIONS = {
    "eager": "eager",
    "sdpa": "sdpa",
    "flash_attention_2": "flash",
    "flash_attention_3": "flash",
    "flash_attention_4": "flash",
    "flash_attention_torch": "flash",
    "flex_attention": "flash",
    "xformers": "flash",
}


def _uses_fsdp(plan: Plan) -> bool:
    """FSDP2 for what it trains in one dtype; DeepSpeed keeps masters and shards in any stage."""
    case = plan.case
    if case.strategy != "zero-3" or is_bitsandbytes_blockwise(case.optimizer):
        return False
    return plan.is_adapter or case.precision in ("bf16-pure", "fp32")


def _precision(plan: Plan, notes: list[str]) -> dict[str, Value]:
    case = plan.case
    precision = case.precision
    if precision == "fp32":
        return {"bf16": False, "float32": True}
    if plan.is_adapter:
        if precision == "bf16-pure" and plan.half == "bf16":
            return {"bf16": False, "bfloat16": True}
        return {plan.half: True}
    if precision == "amp":
        if ZERO_STAGE[case.strategy] == 0:
            raise refuse(
                "precision",
                "axolotl loads trained weights in 16 bit or in FP32 throughout, not in FP32 under "
                "autocast; use bf16-pure, or bf16-mixed with ZeRO.",
            )
        return {"bf16": False, "float32": True}
    if plan.half == "fp16" and (precision == "bf16-pure" or ZERO_STAGE[case.strategy] == 0):
        raise refuse(
            "precision",
            "axolotl cannot scale the gradients of FP16 weights without DeepSpeed; use fp32, "
            "ZeRO, or a card with BF16.",
        )
    if plan.is_mixed and ZERO_STAGE[case.strategy] == 0:
        notes.append(
            "axolotl keeps an FP32 master only under DeepSpeed: this run trains BF16 weights and "
            "states without one and needs less; choose bf16-pure to see how much."
        )
    return {plan.half: True}


def _loss(plan: Plan) -> dict[str, Value]:
    loss = plan.case.workload.loss
    if loss == "chunked":
        return {"chunked_cross_entropy": True}
    if loss == "fused":
        # Cut cross-entropy asks for 16 bit by axolotl's own switches.
        if plan.case.precision in ("fp32", "amp", "bf16-pure"):
            return {"plugins": [_LIGER], "liger_fused_linear_cross_entropy": True}
        return {"plugins": [_CUT_CROSS_ENTROPY], "cut_cross_entropy": True}
    return {}


def _adapter(plan: Plan, notes: list[str]) -> dict[str, Value]:
    case = plan.case
    if not plan.is_adapter:
        return {}
    lora = case.lora
    is_four_bit = case.method == "qlora" and lora.base_dtype in ("nf4", "nf4-dq")
    keys: dict[str, Value] = {"adapter": "qlora" if is_four_bit else "lora"}
    if is_four_bit:
        keys["load_in_4bit"] = True
        if lora.base_dtype == "nf4":
            keys["bnb_config_kwargs"] = {"bnb_4bit_use_double_quant": False}
    elif case.method == "qlora" and lora.base_dtype == "int8":
        keys["load_in_8bit"] = True
    elif case.method == "qlora":
        keys["gptq"] = True
        notes.append("Point base_model at a GPTQ checkpoint: axolotl does not quantise to GPTQ.")
    keys |= {"lora_r": lora.rank, "lora_alpha": 2 * lora.rank}
    keys["lora_dropout"] = LORA_DROPOUT if lora.dropout else 0.0
    if lora.target_modules == "all-linear":
        keys["lora_target_linear"] = True
    else:
        keys["lora_target_modules"] = list(lora.target_modules)
    saved = plan.modules_to_save()
    if saved:
        keys["lora_modules_to_save"] = saved
    if lora.adapter_dtype == "bf16":
        keys["peft_autocast_adapter_dtype"] = False
    return keys


def _optimizer(plan: Plan) -> dict[str, Value]:
    optimizer = plan.case.optimizer
    own = _OWN_OPTIMIZERS.get(optimizer.id)
    if own is None:
        found = trainer_optimizer(plan, TOOLS["axolotl"])
        keys: dict[str, Value] = {"optimizer": found["optim"]}
        if "optim_args" in found:
            pairs = (each.partition("=") for each in found["optim_args"].split(","))
            keys["optim_args"] = {key: value for key, _, value in pairs}
        if "optim_target_modules" in found:
            keys["optim_target_modules"] = "all_linear"
        return keys
    check_optimizer(plan, TOOLS["axolotl"])
    if own == "muon" and ZERO_STAGE[plan.case.strategy] > 0 and not _uses_fsdp(plan):
        raise refuse(
            "optimizer",
            "axolotl runs Muon with FSDP2, not with DeepSpeed; use bf16-pure or fp32 with zero-3.",
        )
    return {"optimizer": own}


def export(plan: Plan) -> Launch:
    """A configuration for `axolotl train`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: axolotl has no word for a part of it (code `unsupported-combination`).
    """
    case = plan.case
    workload = case.workload
    notes = [placeholder_note(plan), *common_notes(plan)]
    checkpointing = workload.activation_checkpointing
    keys: dict[str, Value] = {"base_model": plan.model_name}
    keys |= _adapter(plan, notes)
    keys |= {
        "datasets": [{"path": "tatsu-lab/alpaca", "type": "alpaca"}],
        "sample_packing": plan.dataset.packing,
        "val_set_size": 0.0,
        "output_dir": "./outputs",
        "sequence_len": workload.sequence_length,
        "micro_batch_size": workload.micro_batch_size,
        "gradient_accumulation_steps": workload.gradient_accumulation_steps,
        "num_epochs": plan.epochs,
        "learning_rate": LEARNING_RATES[case.method],
        **_optimizer(plan),
        **_precision(plan, notes),
        "attn_implementation": plan.attention,
        "gradient_checkpointing": checkpointing != "none",
    }
    if checkpointing == "selective":
        keys["selective_checkpointing"] = True
        notes.append("axolotl's selective checkpointing keeps attention only and needs less.")
    if plan.dataset.packing and plan.attention == "eager":
        notes.append("With eager attention, axolotl lets packed samples attend to each other.")
    keys |= _loss(plan)
    files: tuple[LaunchFile, ...] = ()
    if _uses_fsdp(plan):
        keys["fsdp_version"] = 2
        keys["fsdp_config"] = {
            "reshard_after_forward": True,
            "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "state_dict_type": "SHARDED_STATE_DICT",
            "offload_params": False,
            "cpu_ram_efficient_loading": case.method != "qlora",
        }
    elif ZERO_STAGE[case.strategy] > 0:
        files = (deepspeed.companion(plan),)
        keys["deepspeed"] = deepspeed.filename(plan)
    command = f"axolotl train {FILENAME}"
    if case.num_gpus > 1:
        command += f" --launcher accelerate -- --num_processes {case.num_gpus}"
    if plan.num_machines > 1:
        command += f" --num_machines {plan.num_machines} --machine_rank 0"
        command += f" --main_process_ip {FIRST_MACHINE} --main_process_port 29500"
    return Launch(
        files=(LaunchFile(filename=FILENAME, text=write(keys)), *files),
        command=command,
        notes=tuple(notes),
    )


def _read_adapter(reading: Reading) -> None:
    adapter = reading.word("adapter")
    if not adapter:
        reading.imply("method", "full")
        return
    four = reading.flag("load_in_4bit") or False
    eight = reading.flag("load_in_8bit") or False
    gptq = reading.flag("gptq") or False
    reading.say("method", "qlora" if adapter == "qlora" or four or eight or gptq else "lora")
    if adapter not in ("lora", "qlora"):
        reading.notes.append(f"The adapter {adapter[:40]} is counted as LoRA.")
    if eight:
        reading.say("lora.base_dtype", "int8")
    elif gptq:
        reading.say("lora.base_dtype", "gptq-int4")
    elif reading.fields["method"] == "qlora":
        double = reading.get("bnb_config_kwargs", "bnb_4bit_use_double_quant")
        reading.say("lora.base_dtype", "nf4" if double is False else "nf4-dq")
    reading.integer("lora.rank", 8, "lora_r")
    dropout = reading.is_positive("lora_dropout")
    reading.get("lora_alpha")
    (reading.imply if dropout is None else reading.say)("lora.dropout", bool(dropout))
    targets = reading.names("lora_target_modules")
    if reading.flag("lora_target_linear") or targets == ["all-linear"]:
        reading.say("lora.target_modules", "all-linear")
    elif targets:
        reading.say("lora.target_modules", sorted(set(targets)))
    saved_module_fields(reading, reading.names("lora_modules_to_save"))
    upcasts = reading.flag("peft_autocast_adapter_dtype")
    dtype = "bf16" if upcasts is False else "fp32"
    (reading.imply if upcasts is None else reading.say)("lora.adapter_dtype", dtype)
    if reading.flag("peft_use_dora"):
        reading.notes.append("DoRA is counted as LoRA: its magnitudes are not.")


def _read_precision(reading: Reading, *, has_deepspeed: bool) -> None:
    given = {name: reading.flag(name) for name in ("bf16", "bfloat16", "fp16", "float16")}
    wide = reading.flag("float32") or False
    is_adapter = reading.fields.get("method") != "full"
    is_auto = reading.keys.get("bf16", "auto") in ("auto", None)
    say = reading.imply if all(value is None for value in given.values()) else reading.say
    halves = given["bf16"] or given["bfloat16"] or (is_auto and not given["fp16"] and not wide)
    if not halves and not given["fp16"] and not given["float16"]:
        say("precision", "amp" if has_deepspeed and wide and not is_adapter else "fp32")
    elif given["fp16"] and not given["bf16"]:
        mixed = is_adapter or has_deepspeed
        say("precision", "fp16-mixed" if mixed else "bf16-pure")
    elif is_adapter:
        autocasts = given["bf16"] or (is_auto and not given["bfloat16"])
        say("precision", "bf16-mixed" if autocasts else "bf16-pure")
    else:
        say("precision", "bf16-mixed" if has_deepspeed else "bf16-pure")


def _read_loss(reading: Reading) -> None:
    plugins = reading.names("plugins") or []
    cuts = reading.flag("cut_cross_entropy")
    is_cut = cuts is True or (cuts is None and any("CutCrossEntropy" in each for each in plugins))
    if is_cut or reading.flag("liger_fused_linear_cross_entropy"):
        reading.say("loss", "fused")
    elif reading.flag("chunked_cross_entropy"):
        reading.say("loss", "chunked")
    else:
        reading.imply("loss", "standard")


def _read_sharding(reading: Reading) -> bool:
    """The strategy; True where DeepSpeed runs it."""
    if read_deepspeed_reference(reading):
        return True
    reading.get("fsdp_version")
    older = reading.get("fsdp")
    config = reading.get("fsdp_config")
    if config is not None or older:
        reading.used.discard(("fsdp_config",))
        for name in ("reshard_after_forward", "fsdp_reshard_after_forward"):
            if reading.get("fsdp_config", name) is False:
                reading.say("strategy", "zero-2")
        for name in ("offload_params", "fsdp_offload_params"):
            if reading.get("fsdp_config", name) is True:
                reading.notes.append(
                    "CPU offload is not modelled: everything is counted on the GPU."
                )
        if "strategy" not in reading.fields:
            reading.say("strategy", "zero-3")
    else:
        reading.imply("strategy", "single")
    return False


def _read_attention(reading: Reading) -> None:
    name = reading.word("attn_implementation")
    if name is not None:
        base = name.split("@", 1)[0].split(":", 1)[0]
        kernel = _ATTENTIONS.get(base, "flash" if "flash" in base else None)
        if kernel is None:
            reading.used.discard(("attn_implementation",))
            reading.notes.append(f"The attention {name[:40]} is not modelled; choose one.")
        else:
            reading.say("attention", kernel)
        return
    for flag, kernel in _ATTENTION_FLAGS.items():
        if reading.flag(flag):
            reading.say("attention", kernel)
            return
    reading.imply("attention", "sdpa")


def read(reading: Reading) -> None:
    """Request fields of an axolotl file.

    Args:
        reading: The file.
    """
    reading.say("stack", "axolotl")
    reading.model("base_model")
    _read_adapter(reading)
    reading.integer("sequence_length", 512, "sequence_len")
    reading.integer("micro_batch_size", 1, "micro_batch_size")
    reading.integer("gradient_accumulation_steps", 1, "gradient_accumulation_steps")
    reading.epochs("num_epochs", 1)
    reading.packing("sample_packing")
    read_optimizer(reading, "optimizer")
    has_deepspeed = _read_sharding(reading)
    _read_precision(reading, has_deepspeed=has_deepspeed)
    _read_attention(reading)
    _read_loss(reading)
    checkpoints = reading.get("gradient_checkpointing")
    selective = reading.get("selective_checkpointing")
    if checkpoints is None:
        reading.imply("activation_checkpointing", "none")
    elif checkpoints is False:
        reading.say("activation_checkpointing", "none")
    else:
        reading.say("activation_checkpointing", "selective" if selective else "full")
        if checkpoints in ("offload", "offload_disk"):
            reading.notes.append("Offloaded checkpoints are counted on the GPU.")
    if reading.get("activation_offloading"):
        reading.used.discard(("activation_offloading",))
        reading.notes.append("Activation offload is not modelled.")
