"""accelerate's YAML: processes, FSDP2 or DeepSpeed, and the precision they compute in."""

from generator.core.launch import TOOLS, deepspeed
from generator.core.launch.reading import Reading
from generator.core.launch.records import (
    FIRST_MACHINE,
    Launch,
    LaunchFile,
    Plan,
    common_notes,
)
from generator.core.launch.trainer import (
    STRATEGY_OF_STAGE,
    check_optimizer,
    is_bitsandbytes_blockwise,
    zero_stage_in_name,
)
from generator.core.launch.yaml_writer import Value, write
from generator.core.run import ZERO_STAGE

SIGNATURE = (
    "compute_environment",
    "distributed_type",
    "machine_rank",
    "main_training_function",
    "num_machines",
    "num_processes",
    "rdzv_backend",
    "same_network",
    "mixed_precision",
    "downcast_bf16",
    "use_cpu",
)
FILENAME = "accelerate.yaml"


def uses_deepspeed(plan: Plan) -> bool:
    """ZeRO-1, which FSDP has no word for, and optimizers that FSDP2 cannot shard.

    Args:
        plan: What is written.
    """
    stage = ZERO_STAGE[plan.case.strategy]
    return stage == 1 or (stage > 1 and is_bitsandbytes_blockwise(plan.case.optimizer))


def uses_fsdp(plan: Plan) -> bool:
    """ZeRO-2 and ZeRO-3 otherwise.

    Args:
        plan: What is written.
    """
    return ZERO_STAGE[plan.case.strategy] > 1 and not uses_deepspeed(plan)


def mixed_precision(plan: Plan) -> str:
    """The word of accelerate for what is computed in where weights or adapters are FP32.

    Args:
        plan: What is written.
    """
    return "no" if plan.case.precision in ("fp32", "bf16-pure") else plan.half


def config(plan: Plan, *, checkpoints: bool) -> dict[str, Value]:
    """The keys of the YAML file.

    Args:
        plan: What is written.
        checkpoints: FSDP wraps each block in a checkpoint; False where the trainer does.
    """
    case = plan.case
    keys: dict[str, Value] = {"compute_environment": "LOCAL_MACHINE", "debug": False}
    if uses_fsdp(plan):
        full = case.workload.activation_checkpointing != "none"
        keys |= {
            "distributed_type": "FSDP",
            "fsdp_config": {
                "fsdp_version": 2,
                "fsdp_reshard_after_forward": case.strategy == "zero-3",
                "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
                "fsdp_activation_checkpointing": full and checkpoints,
                "fsdp_cpu_ram_efficient_loading": case.method != "qlora",
                "fsdp_offload_params": False,
                "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            },
        }
    elif uses_deepspeed(plan):
        inline: dict[str, Value] = {
            "zero_stage": ZERO_STAGE[case.strategy],
            "zero3_init_flag": case.strategy == "zero-3",
            "zero3_save_16bit_model": case.strategy == "zero-3",
            "offload_optimizer_device": "none",
            "offload_param_device": "none",
            "gradient_accumulation_steps": case.workload.gradient_accumulation_steps,
        }
        if needs_file(plan):
            inline = {
                "deepspeed_config_file": deepspeed.filename(plan),
                "zero3_init_flag": case.strategy == "zero-3",
            }
        keys |= {"distributed_type": "DEEPSPEED", "deepspeed_config": inline}
    else:
        keys["distributed_type"] = "NO" if case.strategy == "single" else "MULTI_GPU"
    if not (uses_deepspeed(plan) and needs_file(plan)):
        keys["mixed_precision"] = mixed_precision(plan)
    if plan.num_machines > 1:
        keys |= {"main_process_ip": FIRST_MACHINE, "main_process_port": 29500}
    keys |= {
        "num_machines": plan.num_machines,
        "num_processes": case.num_gpus,
        "machine_rank": 0,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    return keys


def needs_file(plan: Plan) -> bool:
    """Precisions that accelerate's own keys cannot tell DeepSpeed.

    Args:
        plan: What is written.
    """
    return not plan.is_adapter and plan.case.precision in ("amp", "bf16-pure")


def files(plan: Plan, *, checkpoints: bool) -> tuple[LaunchFile, ...]:
    """The YAML, and DeepSpeed's JSON where its keys are needed.

    Args:
        plan: What is written.
        checkpoints: FSDP wraps each block in a checkpoint; False where the trainer does.
    """
    own = LaunchFile(filename=FILENAME, text=write(config(plan, checkpoints=checkpoints)))
    if uses_deepspeed(plan) and needs_file(plan):
        return own, deepspeed.companion(plan)
    return (own,)


def sharding_notes(plan: Plan) -> list[str]:
    """What FSDP2 and DeepSpeed do otherwise than the request says.

    Args:
        plan: What is written.
    """
    case = plan.case
    notes: list[str] = []
    if uses_fsdp(plan) and plan.is_mixed and not plan.is_adapter:
        notes.append(
            "FSDP2 keeps one FP32 copy of the weights, which is the master, and gathers it in "
            "16 bit: 16 bytes per parameter with AdamW all the same."
        )
    if ZERO_STAGE[case.strategy] > 1 and uses_deepspeed(plan):
        notes.append(
            f"{case.optimizer.name} keeps its states in blocks, which FSDP2 cannot shard: "
            "written for DeepSpeed."
        )
    return notes


def export(plan: Plan) -> Launch:
    """A configuration for `accelerate launch`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: an optimizer that cannot be sharded (code `unsupported-combination`).
    """
    check_optimizer(plan, TOOLS["accelerate"])
    case = plan.case
    silent = (
        "accelerate's file says nothing about model, method, optimizer, sequence length, "
        "micro-batch, attention and loss: set them in your script."
    )
    notes = [
        silent,
        *common_notes(plan),
        *sharding_notes(plan),
    ]
    if not plan.is_adapter:
        if case.precision == "bf16-pure":
            notes.append("Load the model in 16 bit (dtype) in your script.")
        elif not uses_deepspeed(plan):
            notes.append("Load the model in FP32 in your script; autocast computes in 16 bit.")
    if case.workload.activation_checkpointing == "selective":
        notes.append("accelerate checkpoints whole blocks, which needs less memory than selective.")
    if not uses_fsdp(plan) and case.workload.activation_checkpointing != "none":
        notes.append("Turn gradient checkpointing on in your script.")
    return Launch(
        files=files(plan, checkpoints=True),
        command=f"accelerate launch --config_file {FILENAME} train.py",
        notes=tuple(notes),
    )


def _read_fsdp(reading: Reading) -> None:
    """Stage and checkpointing out of `fsdp_config`, of version 1 or 2."""
    reading.get("fsdp_config", "fsdp_version")
    reshard = reading.get("fsdp_config", "fsdp_reshard_after_forward")
    older = reading.get("fsdp_config", "fsdp_sharding_strategy")
    word = str(older if older is not None else reshard).upper()
    stages = {
        "TRUE": "zero-3",
        "FALSE": "zero-2",
        "FULL_SHARD": "zero-3",
        "1": "zero-3",
        "SHARD_GRAD_OP": "zero-2",
        "2": "zero-2",
        "NO_SHARD": "ddp",
        "3": "ddp",
        "NONE": "zero-3",
    }
    if word in stages:
        (reading.imply if word == "NONE" else reading.say)("strategy", stages[word])
    else:
        reading.used.discard(("fsdp_config", "fsdp_sharding_strategy"))
        reading.used.discard(("fsdp_config", "fsdp_reshard_after_forward"))
        reading.notes.append(f"Sharding {word[:40].lower()} is not modelled; choose a strategy.")
    checkpoints = reading.flag("fsdp_config", "fsdp_activation_checkpointing")
    if checkpoints:
        reading.say("activation_checkpointing", "full")
    if reading.flag("fsdp_config", "fsdp_offload_params"):
        reading.notes.append("CPU offload is not modelled: everything is counted on the GPU.")


def _read_deepspeed(reading: Reading) -> None:
    stage = reading.get("deepspeed_config", "zero_stage")
    file = reading.word("deepspeed_config", "deepspeed_config_file")
    if file is not None:
        stage = zero_stage_in_name(file)
        reading.notes.append(f"The rest is in {file[:80]}: paste that file too.")
    if isinstance(stage, int) and not isinstance(stage, bool) and 0 <= stage <= 3:
        reading.say("strategy", STRATEGY_OF_STAGE[stage])
    steps = reading.number(
        "gradient_accumulation_steps", "deepspeed_config", "gradient_accumulation_steps"
    )
    if steps is not None:
        reading.say("gradient_accumulation_steps", steps)
    for key in ("offload_optimizer_device", "offload_param_device"):
        device = reading.get("deepspeed_config", key)
        if isinstance(device, str) and device != "none":
            reading.notes.append(
                f"{key} {device[:40]} is not modelled: everything is counted on the GPU."
            )


def read(reading: Reading) -> None:
    """Request fields of an accelerate file.

    Args:
        reading: The file.
    """
    # Unquoted, NO is a boolean to YAML.
    given = reading.get("distributed_type")
    kind = "NO" if given is None or given is False else str(given).upper()
    stacks = {"FSDP": "accelerate-fsdp", "DEEPSPEED": "deepspeed"}
    reading.say("stack", stacks.get(kind, "hf-trainer"))
    if kind == "FSDP":
        _read_fsdp(reading)
    elif kind == "DEEPSPEED":
        _read_deepspeed(reading)
    elif kind in ("NO", "MULTI_GPU"):
        reading.say("strategy", "single" if kind == "NO" else "ddp")
    else:
        reading.used.discard(("distributed_type",))
        reading.notes.append(f"{kind[:40]} is not modelled; choose a strategy.")
    count = reading.number("num_gpus", "num_processes")
    if count is not None and reading.fields.get("strategy") not in (None, "single"):
        reading.say("num_gpus", count)
    autocast = reading.get("mixed_precision")
    if autocast in ("bf16", "fp16"):
        mixed = "bf16-mixed" if autocast == "bf16" else "fp16-mixed"
        reading.say("precision", mixed if kind == "DEEPSPEED" else "amp")
