"""What the tools on top of the Transformers Trainer share: optimizer names, refusals, adapters."""

from generator.core.errors import TrainfitError
from generator.core.launch.reading import Reading
from generator.core.launch.records import Plan
from generator.core.optimizer import Optimizer

TRAINER_NAMES: dict[str, str] = {
    "adafactor": "adafactor",
    "adagrad": "adagrad",
    "adalomo": "adalomo",
    "adamw": "adamw_torch_fused",
    "adamw-8bit": "adamw_bnb_8bit",
    "adamw-bf16": "adamw_anyprecision",
    "ademamix": "ademamix",
    "ademamix-8bit": "ademamix_8bit",
    "ao-adamw-4bit": "adamw_torch_4bit",
    "ao-adamw-8bit": "adamw_torch_8bit",
    "apollo": "apollo_adamw",
    "apollo-mini": "apollo_adamw",
    "galore-adamw": "galore_adamw",
    "galore-adamw-8bit": "galore_adamw_8bit",
    "lion": "lion_32bit",
    "lion-8bit": "lion_8bit",
    "lomo": "lomo",
    "paged-adamw": "paged_adamw_32bit",
    "paged-adamw-8bit": "paged_adamw_8bit",
    "paged-ademamix-8bit": "paged_ademamix_8bit",
    "paged-lion": "paged_lion_32bit",
    "paged-lion-8bit": "paged_lion_8bit",
    "rmsprop": "rmsprop",
    "schedule-free-adamw": "schedule_free_adamw",
    "schedule-free-sgd": "schedule_free_sgd",
    "sgd": "sgd",
    "sgd-momentum": "sgd",
}
"""The Trainer's `optim` for each optimizer of the catalog that it has."""

TRAINER_ARGUMENTS: dict[str, str] = {
    "adamw-bf16": "use_kahan_summation=False,momentum_dtype=bfloat16,variance_dtype=bfloat16",
    "apollo": "rank=128",
    "apollo-mini": "rank=1",
    "galore-adamw": "rank=128",
    "galore-adamw-8bit": "rank=128",
    "sgd-momentum": "momentum=0.9",
}
"""The Trainer's `optim_args`, where the class alone does not say it."""

LORA_DROPOUT = 0.05
"""What is written where the request says that there is dropout, as PEFT's examples have it."""

LEARNING_RATES = {"full": 2e-5, "lora": 2e-4, "qlora": 2e-4}
"""Placeholders of the usual size (`records.placeholder_note`); memory does not depend on them."""


def refuse(field: str, message: str) -> TrainfitError:
    """The error for something that a tool cannot be told.

    Args:
        field: The request field.
        message: What is wrong and the remedy.
    """
    return TrainfitError("unsupported-combination", field, message)


def is_bitsandbytes_blockwise(optimizer: Optimizer) -> bool:
    """States in blocks of bitsandbytes, which FSDP2's sharded tensors cannot hold.

    Args:
        optimizer: The optimizer.
    """
    return optimizer.implementation.startswith("bitsandbytes.") and any(
        state.dtype == "blockwise-8bit" for state in optimizer.states
    )


def check_optimizer(plan: Plan, tool: str) -> None:
    """Refuses optimizers that no tool runs in this set-up.

    Args:
        plan: What is written.
        tool: The tool's name, for the message.

    Raises:
        TrainfitError: steps in backward meet sharding, or low-rank projections adapters (code
            `unsupported-combination`).
    """
    case = plan.case
    optimizer = case.optimizer
    sharded = case.strategy.startswith("zero")
    if case.optimizer_implementation == "in-backward":
        # torchtune alone takes it, and does not ask here.
        raise refuse(
            "optimizer_implementation",
            f"{tool} keeps all gradients until the step; torchtune steps inside backward.",
        )
    if sharded and optimizer.in_backward:
        raise refuse(
            "optimizer",
            f"{optimizer.name} steps inside backward and cannot shard its gradients; "
            f"use single or DDP with {tool}, or another optimizer.",
        )
    if plan.is_adapter and optimizer.rank is not None:
        raise refuse(
            "optimizer",
            f"{optimizer.name} projects whole weight matrices, which {case.method} does not "
            "train; use adamw.",
        )


def trainer_optimizer(plan: Plan, tool: str) -> dict[str, str]:
    """`optim`, and `optim_args` and `optim_target_modules` where the class needs them.

    Args:
        plan: What is written.
        tool: The tool's name, for the message.

    Raises:
        TrainfitError: the Trainer has no such optimizer (code `unsupported-combination`).
    """
    check_optimizer(plan, tool)
    optimizer = plan.case.optimizer
    name = TRAINER_NAMES.get(optimizer.id)
    if name is None:
        raise refuse(
            "optimizer",
            f"{tool} has no {optimizer.name}; choose another optimizer, such as adamw.",
        )
    if optimizer.id == "adamw" and plan.case.optimizer_implementation == "foreach":
        name = "adamw_torch"
    found = {"optim": name}
    if optimizer.id in TRAINER_ARGUMENTS:
        found["optim_args"] = TRAINER_ARGUMENTS[optimizer.id]
    if optimizer.rank is not None:
        found["optim_target_modules"] = "all-linear"
    return found


def arguments_of(value: object) -> dict[str, str]:
    """`optim_args` as a map: the tools take `a=1,b=2` or a map.

    Args:
        value: As in the file.
    """
    if isinstance(value, dict):
        return {str(key): str(inner) for key, inner in value.items()}
    if not isinstance(value, str):
        return {}
    pairs = (each.partition("=") for each in value.replace(" ", "").split(","))
    return {key: inner for key, _, inner in pairs if key}


def read_optimizer(reading: Reading, key: str) -> None:
    """The optimizer, told apart by its arguments where two share a name; fused AdamW without one.

    Args:
        reading: The file.
        key: `optim`, or the tool's own word for it.
    """
    name = reading.word(key)
    if name is None:
        reading.imply("optimizer", "adamw")
        reading.imply("optimizer_implementation", "fused")
        return
    reading.get("optim_target_modules")
    arguments = arguments_of(reading.get("optim_args"))
    if name == "sgd" and float_of(arguments.get("momentum")) > 0:
        reading.say("optimizer", "sgd-momentum")
    elif name == "adamw_anyprecision" and arguments.get("momentum_dtype") != "bfloat16":
        reading.say("optimizer", "adamw")
    elif name == "apollo_adamw":
        reading.say("optimizer", "apollo-mini" if arguments.get("rank") == "1" else "apollo")
    else:
        reading.optimizer(name, (key,))
    rank = arguments.get("rank", "128")
    if (name.startswith("galore") and rank != "128") or (
        name.startswith("apollo") and rank not in ("1", "128")
    ):
        reading.notes.append(f"{name} is counted with rank 128, not {rank[:20]}.")
    if name in ("adamw_torch", "adamw_torch_fused"):
        reading.say("optimizer_implementation", "fused" if name.endswith("fused") else "foreach")


def float_of(text: str | None) -> float:
    """A number in text; 0 where it is none.

    Args:
        text: Up to a few digits.
    """
    try:
        return float((text or "0")[:40])
    except ValueError:
        return 0.0


def saved_module_fields(reading: Reading, names: list[str] | None) -> None:
    """Embeddings and head that are trained in full beside the adapters.

    Args:
        reading: The file.
        names: PEFT's `modules_to_save`.
    """
    present = names or []
    embeddings = {"embed_tokens", "wte", "word_embeddings", "embed_in", "embedding"}
    heads = {"lm_head", "embed_out", "output_layer", "head"}
    tell = reading.say if names else reading.imply
    tell("lora.train_embeddings", bool(embeddings & {*present}))
    tell("lora.train_head", bool(heads & {*present}))
    other = [name for name in present if name not in embeddings | heads]
    if other:
        reading.notes.append(f"Also trained in full, and not counted: {', '.join(other)[:200]}.")


def zero_stage_in_name(name: str) -> int | None:
    """The ZeRO stage that a file's name tells: `zero3_bf16.json`, `ds_z2_config.json`.

    Args:
        name: File name or path.
    """
    base = name.lower().rsplit("/", 1)[-1]
    for stage in (0, 1, 2, 3):
        if any(f"{word}{stage}" in base for word in ("zero", "zero_", "zero-", "_z", "-z")):
            return stage
    return 0 if base.startswith("z0") else None


STRATEGY_OF_STAGE = ("ddp", "zero-1", "zero-2", "zero-3")


def read_deepspeed_reference(reading: Reading) -> bool:
    """The strategy by the `deepspeed` key: a path whose name tells the stage, or the JSON itself.

    Args:
        reading: The file.

    Returns:
        Whether DeepSpeed runs the training.
    """
    value = reading.get("deepspeed")
    stage: object = None
    if isinstance(value, dict):
        section = value.get("zero_optimization")
        stage = section.get("stage", 0) if isinstance(section, dict) else 0
    elif isinstance(value, str) and value:
        stage = zero_stage_in_name(value)
        if "offload" in value.lower():
            reading.notes.append("CPU offload is not modelled: everything is counted on the GPU.")
    else:
        return False
    if isinstance(stage, int) and not isinstance(stage, bool) and 0 <= stage <= 3:
        reading.say("strategy", STRATEGY_OF_STAGE[stage])
    else:
        reading.used.discard(("deepspeed",))
        reading.notes.append("The DeepSpeed file's name tells no stage: paste that file too.")
    return True
