"""DeepSpeed's JSON: stage, precision, batch and, where it makes it itself, the optimizer."""

import json

from generator.core.launch import TOOLS
from generator.core.launch.reading import Reading
from generator.core.launch.records import Launch, LaunchFile, Plan, common_notes
from generator.core.launch.trainer import (
    LEARNING_RATES,
    STRATEGY_OF_STAGE,
    check_optimizer,
    float_of,
    refuse,
)
from generator.core.launch.yaml_writer import Value
from generator.core.run import ZERO_STAGE
from generator.core.sharding import DEEPSPEED_BUCKET_ELEMENTS

SIGNATURE = (
    "zero_optimization",
    "train_micro_batch_size_per_gpu",
    "train_batch_size",
    "zero_allow_untested_optimizer",
    "bf16",
    "fp16",
    "torch_autocast",
    "wall_clock_breakdown",
    "steps_per_print",
    "gradient_accumulation_steps",
)
IGNORED_HERE = (
    "model, method, sequence length, checkpointing, attention and loss are set in your script"
)

_OPTIMIZERS: dict[str, dict[str, Value]] = {
    "adamw": {"type": "AdamW", "params": {"lr": 2e-5}},
    "adagrad": {"type": "Adagrad", "params": {"lr": 1e-3}},
    "lion": {"type": "Lion", "params": {"lr": 2e-6}},
    "muon": {"type": "Muon", "params": {"lr": 2e-2}},
    "rmsprop": {"type": "RMSprop", "params": {"lr": 1e-5}},
    "sgd": {"type": "SGD", "params": {"lr": 1e-2}},
    "sgd-momentum": {"type": "SGD", "params": {"lr": 1e-2, "momentum": 0.9}},
}
"""Optimizers that DeepSpeed makes by itself with the states that the catalog counts."""


def precision_sections(plan: Plan) -> dict[str, Value]:
    """`bf16`, `fp16` or `torch_autocast`, or nothing for FP32.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: 16-bit training without a master at a stage that always keeps one (code
            `unsupported-combination`).
    """
    case = plan.case
    precision = case.precision
    if precision == "fp32":
        return {}
    if precision == "amp" and not plan.is_adapter:
        dtype = "bfloat16" if plan.half == "bf16" else "float16"
        return {"torch_autocast": {"enabled": True, "dtype": dtype}}
    if precision == "bf16-pure" and not plan.is_adapter:
        if ZERO_STAGE[case.strategy] == 0 or plan.half == "fp16":
            raise refuse(
                "precision",
                "DeepSpeed trains 16-bit weights without an FP32 master only in BF16 and from "
                "ZeRO-1 on; use bf16-mixed, or another strategy or card.",
            )
        return {
            "bf16": {
                "enabled": True,
                "bf16_master_weights_and_grads": True,
                "bf16_optimizer_states": True,
            }
        }
    return {plan.half: {"enabled": True}}


def config(plan: Plan, *, companion: bool) -> dict[str, Value]:
    """The keys of the JSON file.

    Args:
        plan: What is written.
        companion: The file goes with another tool's, which fills in batch and optimizer.
    """
    case = plan.case
    workload = case.workload
    stage = ZERO_STAGE[case.strategy]
    zero: dict[str, Value] = {"stage": stage}
    if stage:
        zero |= {
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": DEEPSPEED_BUCKET_ELEMENTS,
        }
    if stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    keys: dict[str, Value] = {}
    if companion:
        keys |= {
            "train_batch_size": "auto",
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
        }
    else:
        per_gpu = workload.micro_batch_size * workload.gradient_accumulation_steps
        keys |= {
            "train_batch_size": per_gpu * case.num_gpus,
            "train_micro_batch_size_per_gpu": workload.micro_batch_size,
            "gradient_accumulation_steps": workload.gradient_accumulation_steps,
        }
    keys |= {"gradient_clipping": 1.0, **precision_sections(plan), "zero_optimization": zero}
    section = _OPTIMIZERS.get(case.optimizer.id)
    if section is None or companion:
        keys["zero_allow_untested_optimizer"] = True
    else:
        keys["optimizer"] = section
    return keys


def text(keys: dict[str, Value]) -> str:
    """The JSON file.

    Args:
        keys: Its keys.
    """
    return json.dumps(keys, indent=2) + "\n"


def filename(plan: Plan) -> str:
    """A name that tells the stage, as the tools' own examples have it.

    Args:
        plan: What is written.
    """
    return f"deepspeed_zero{ZERO_STAGE[plan.case.strategy]}.json"


def companion(plan: Plan) -> LaunchFile:
    """The file that another tool's configuration refers to.

    Args:
        plan: What is written.
    """
    return LaunchFile(filename=filename(plan), text=text(config(plan, companion=True)))


def export(plan: Plan) -> Launch:
    """A configuration for `deepspeed.initialize`.

    Args:
        plan: What is written.

    Raises:
        TrainfitError: a precision or optimizer that DeepSpeed does not run (code
            `unsupported-combination`).
    """
    check_optimizer(plan, TOOLS["deepspeed"])
    case = plan.case
    notes = [
        f"DeepSpeed's file says nothing about the model: {IGNORED_HERE}.",
        *common_notes(plan),
    ]
    if case.optimizer.id not in _OPTIMIZERS:
        notes.append(
            f"DeepSpeed does not make {case.optimizer.name} itself: create it in your script."
        )
    else:
        rate = LEARNING_RATES[case.method]
        notes.append(f"The learning rate is a placeholder; {rate:g} is usual for {case.method}.")
    if case.precision == "bf16-mixed" and plan.is_adapter and case.lora.adapter_dtype == "fp32":
        notes.append("DeepSpeed casts adapters to 16 bit and keeps an FP32 master of them.")
    return Launch(
        files=(LaunchFile(filename=filename(plan), text=text(config(plan, companion=False))),),
        command=(
            f"deepspeed --num_gpus {plan.gpus_per_machine} train.py "
            f"--deepspeed_config {filename(plan)}"
        ),
        notes=tuple(notes),
    )


def read_precision(reading: Reading) -> None:
    """The precision recipe of a DeepSpeed file.

    Args:
        reading: The file.
    """
    sections = ("bf16", "bfloat16", "fp16", "torch_autocast")
    enabled = {name: reading.get(name, "enabled") for name in sections}
    is_auto = any(
        isinstance(section, dict) and section.get("enabled") == "auto"
        for section in (reading.keys.get(name) for name in sections)
    )
    bf16 = "bf16" if enabled["bf16"] is True else "bfloat16"
    if enabled[bf16] is True:
        master = reading.get(bf16, "bf16_master_weights_and_grads") is True
        states = reading.get(bf16, "bf16_optimizer_states") is True
        reading.say("precision", "bf16-pure" if master and states else "bf16-mixed")
        if master != states:
            reading.notes.append("Masters in BF16 with states in FP32 are counted as bf16-mixed.")
    elif enabled["fp16"] is True:
        reading.say("precision", "fp16-mixed")
    elif enabled["torch_autocast"] is True:
        reading.get("torch_autocast", "dtype")
        reading.say("precision", "amp")
    elif not is_auto:
        reading.imply("precision", "fp32")


def read(reading: Reading) -> None:
    """Request fields of a DeepSpeed file.

    Args:
        reading: The file.
    """
    reading.say("stack", "deepspeed")
    micro = reading.number("micro_batch_size", "train_micro_batch_size_per_gpu")
    steps = reading.number("gradient_accumulation_steps", "gradient_accumulation_steps")
    if micro is not None:
        reading.say("micro_batch_size", micro)
    if steps is not None:
        reading.say("gradient_accumulation_steps", steps)
    count = None
    total = reading.get("train_batch_size")
    if "train_batch_size" not in reading.keys and "gradient_accumulation_steps" not in reading.keys:
        reading.imply("gradient_accumulation_steps", 1)
    if isinstance(total, int) and not isinstance(total, bool) and micro is not None:
        per_gpu = micro * (steps or 1)
        count = total // per_gpu if total > 0 and total % per_gpu == 0 else None
        if count is not None and not 1 <= count <= 65_536:
            count = None
        if steps is None:
            # Without accumulation DeepSpeed derives it from the GPU count, which no file knows.
            count = None
    stage = reading.get("zero_optimization", "stage")
    if stage is None:
        stage = 0
    if not isinstance(stage, int) or isinstance(stage, bool) or not 0 <= stage <= 3:
        raise reading.wrong(("zero_optimization", "stage"), stage, "0, 1, 2 or 3")
    strategy = STRATEGY_OF_STAGE[stage]
    if stage == 0 and count == 1:
        strategy = "single"
    reading.say("strategy", strategy)
    if count is not None and strategy != "single":
        reading.say("num_gpus", count)
    read_precision(reading)
    kind = reading.word("optimizer", "type")
    if kind is not None:
        momentum = reading.get("optimizer", "params", "momentum")
        if kind.lower() == "sgd" and float_of(str(momentum) if momentum else None) > 0:
            reading.say("optimizer", "sgd-momentum")
        else:
            reading.optimizer(kind, ("optimizer", "type"))
    for section in ("offload_optimizer", "offload_param"):
        device = reading.get("zero_optimization", section, "device")
        if isinstance(device, str) and device != "none":
            reading.notes.append(
                f"{section} to {device[:40]} is not modelled: everything is counted on the GPU."
            )
