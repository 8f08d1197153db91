"""Reads launch files with the training tools' own parsers; run by `.venv-tools`, not by pytest.

Standard input: one JSON object a line, `{"tool", "num_gpus", "command",
"files": {filename: text}}`.
Standard output: for each, one line of JSON, null where the tool took the files, else what it said.
`--known KEYS` prints the keys that each tool accepts instead, for the stored lists.
"""

import contextlib
import dataclasses
import importlib
import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# One process that looks like a distributed run: the tools ask for no more at this stage.
os.environ.update(
    DISABLE_VERSION_CHECK="1",
    HF_HUB_OFFLINE="1",
    ACCELERATE_USE_CPU="true",
    AXOLOTL_DO_NOT_TRACK="1",
    DS_ACCELERATOR="cpu",
    TOKENIZERS_PARALLELISM="false",
)

Files = dict[str, str]


def load(name: str) -> Any:
    """A module of a tool, untyped: none of them is installed where types are checked."""
    return importlib.import_module(name)


def pretend_bf16() -> None:
    """The Trainer refuses BF16 where it sees no GPU; what a file says does not depend on it."""
    for name in ("transformers.training_args", "llamafactory.hparams.parser"):
        load(name).is_torch_bf16_gpu_available = lambda: True


@contextlib.contextmanager
def working_directory(files: Files) -> Iterator[None]:
    """The files on disk, as the tools find them."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def yaml_keys(text: str) -> dict[str, Any]:
    keys = load("yaml").safe_load(text)
    assert isinstance(keys, dict)
    return keys


def check_deepspeed(text: str, *, num_gpus: int, micro_batch_size: int, steps: int) -> None:
    """DeepSpeed's own reading, with `auto` filled in as Transformers does."""
    config = json.loads(text)
    values = {
        "train_batch_size": micro_batch_size * steps * num_gpus,
        "train_micro_batch_size_per_gpu": micro_batch_size,
        "gradient_accumulation_steps": steps,
    }
    config = {key: values[key] if value == "auto" else value for key, value in config.items()}
    module = load("deepspeed.runtime.config")

    class Ranks:
        """Stands for the processes that DeepSpeed asks about."""

        @staticmethod
        def get_rank() -> int:
            return 0

        @staticmethod
        def get_world_size() -> int:
            return num_gpus

    module.dist = Ranks
    parsed = module.DeepSpeedConfig(config)
    assert parsed.zero_config.stage == config["zero_optimization"]["stage"]
    known = known_deepspeed()
    unknown = set(config) - set(known) - {"trainfit"}
    assert not unknown, f"DeepSpeed does not read {unknown}"


def deepspeed(files: Files, num_gpus: int) -> None:
    (text,) = files.values()
    config = json.loads(text)
    check_deepspeed(
        text,
        num_gpus=num_gpus,
        micro_batch_size=config["train_micro_batch_size_per_gpu"],
        steps=config["gradient_accumulation_steps"],
    )


def companions(files: Files, num_gpus: int, keys: dict[str, Any], micro_batch_key: str) -> None:
    """The files beside a trainer's own."""
    for name, text in files.items():
        if name.startswith("deepspeed"):
            check_deepspeed(
                text,
                num_gpus=num_gpus,
                micro_batch_size=keys[micro_batch_key],
                steps=keys["gradient_accumulation_steps"],
            )
        elif name == "accelerate.yaml":
            check_accelerate(num_gpus)


def check_accelerate(num_gpus: int) -> None:
    """accelerate's loader, then its launcher's own check and translation of the plugins' keys."""
    loaded = load("accelerate.commands.config.config_args").load_config_from_file("accelerate.yaml")
    assert loaded.num_processes == num_gpus
    launch = load("accelerate.commands.launch")
    parser = launch.launch_command_parser()
    arguments = parser.parse_args(["--config_file", "accelerate.yaml", "train.py"])
    arguments, _, _ = launch._validate_launch_command(arguments)
    assert arguments.use_fsdp == (loaded.distributed_type.value == "FSDP")
    assert arguments.use_deepspeed == (loaded.distributed_type.value == "DEEPSPEED")
    known = set(vars(arguments))
    for section in (loaded.fsdp_config, loaded.deepspeed_config):
        unknown = {key for key in section if key not in known and f"fsdp_{key}" not in known}
        assert not unknown, f"accelerate does not read {unknown}"
    if arguments.use_fsdp:
        assert str(arguments.fsdp_version) == "2"
        dataclass = load("accelerate.utils").FullyShardedDataParallelPlugin
        dataclass(
            fsdp_version=2,
            reshard_after_forward=loaded.fsdp_config["fsdp_reshard_after_forward"],
            auto_wrap_policy="transformer_based_wrap",
            state_dict_type=loaded.fsdp_config["fsdp_state_dict_type"],
            activation_checkpointing=loaded.fsdp_config["fsdp_activation_checkpointing"],
        )


def accelerate(files: Files, num_gpus: int) -> None:
    check_accelerate(num_gpus)
    for name, text in files.items():
        if name.startswith("deepspeed"):
            check_deepspeed(text, num_gpus=num_gpus, micro_batch_size=1, steps=1)


def axolotl(files: Files, num_gpus: int) -> None:
    config = load("axolotl.utils.config")
    dictionary = load("axolotl.utils.dict").DictDefault
    keys = yaml_keys(files["axolotl.yaml"])
    plain = dictionary(keys)
    config.prepare_plugins(plain)
    checked = config.validate_config(
        plain,
        capabilities={
            "bf16": bool(keys.get("bf16") or keys.get("bfloat16")),
            "n_gpu": num_gpus,
            "n_node": 1,
            "compute_capability": "sm_90",
        },
        env_capabilities={"torch_version": "2.11.0"},
    )
    assert checked.base_model == keys["base_model"]
    unknown = set(keys) - set(known_axolotl())
    assert not unknown, f"axolotl does not read {unknown}"
    fields = load("axolotl.utils.schemas.fsdp").FSDPConfig.model_fields
    assert set(keys.get("fsdp_config", {})) <= set(fields)
    check_optimizer(keys["optimizer"], known_axolotl_optimizers())
    companions(files, num_gpus, keys, "micro_batch_size")


def check_optimizer(name: str, known: list[str]) -> None:
    assert name in known, f"the optimizer {name} is unknown"


def trl(files: Files, num_gpus: int) -> None:
    package = load("trl")
    pretend_bf16()
    keys = yaml_keys(files["sft.yaml"])
    parser = package.TrlParser(
        (
            package.ScriptArguments,
            package.SFTConfig,
            package.ModelConfig,
            package.DatasetMixtureConfig,
        )
    )
    _, training, model, _ = parser.parse_args_and_config(
        ["--config", "sft.yaml"], fail_with_unknown_args=True
    )
    assert training.max_length == keys["max_length"]
    assert training.bf16 == keys["bf16"]
    assert training.gradient_checkpointing == keys["gradient_checkpointing"]
    assert model.model_name_or_path == keys["model_name_or_path"]
    if model.use_peft:
        lora = load("trl.trainer.utils").get_peft_config(model)
        assert lora.r == keys["lora_r"]
        check_targets(lora, keys["lora_target_modules"])
    companions(files, num_gpus, keys, "per_device_train_batch_size")


def check_targets(lora: Any, wanted: list[str]) -> None:
    """PEFT finds the modules that were meant, and no others."""
    find = load("peft.tuners.tuners_utils").check_target_module_exists
    if wanted == ["all-linear"]:
        assert lora.target_modules == "all-linear"
        return
    names = [each.removeprefix(".*\\.") for each in wanted]
    for name in ("q_proj", "v_proj", "down_proj"):
        assert bool(find(lora, f"model.layers.0.block.{name}")) == (name in names), name


def llama_factory(files: Files, num_gpus: int) -> None:
    parser = load("llamafactory.hparams.parser")
    pretend_bf16()
    keys = yaml_keys(files["llama_factory.yaml"])
    model, data, training, finetuning, _ = parser._parse_train_args(dict(keys))
    parser._verify_model_args(model, data, finetuning)
    # With packing it takes one token off, and each packed row gets it back as padding.
    assert data.cutoff_len + bool(data.packing) == keys["cutoff_len"]
    assert finetuning.finetuning_type == keys["finetuning_type"]
    assert finetuning.pure_bf16 == keys.get("pure_bf16", False)
    assert training.per_device_train_batch_size == keys["per_device_train_batch_size"]
    stage_3 = bool(keys.get("deepspeed")) and "zero3" in keys["deepspeed"]
    assert not (finetuning.pure_bf16 and stage_3)
    assert not (keys.get("deepspeed") and (finetuning.use_galore or finetuning.use_apollo))
    if finetuning.finetuning_type == "lora":
        assert finetuning.lora_rank == keys["lora_rank"]
        expected = keys["lora_target"].split(",")
        assert finetuning.lora_target == expected, finetuning.lora_target
    companions(files, num_gpus, keys, "per_device_train_batch_size")


def recipe_keys(recipe: str) -> tuple[set[str], set[str]]:
    """Keys that a recipe's source reads without a default, and those that it reads with one."""
    folder = Path(load("torchtune").__file__).parents[1] / "recipes"
    source = (folder / f"{recipe}.py").read_text(encoding="utf-8")
    # The profiler is looked up only where there is one.
    required = set(re.findall(r"\bcfg\.([a-z_]+)\b", source)) - {"get", "profiler"}
    optional = set(re.findall(r"\bcfg\.get\(\s*\"([a-z_]+)\"", source))
    return required, optional


def torchtune(files: Files, command: str) -> None:
    config = load("torchtune.config")
    parsed = load("omegaconf").OmegaConf.load("torchtune.yaml")
    config.validate(parsed)
    recipe = next(word for word in command.split() if word in RECIPES)
    required, _ = recipe_keys(recipe)
    missing = required - set(parsed)
    assert not missing, f"{recipe} needs {missing}"
    unknown = set(parsed) - set(known_torchtune())
    assert not unknown, f"torchtune does not read {unknown}"
    registered = {each.name for each in load("torchtune._recipe_registry").get_all_recipes()}
    assert recipe in registered


RECIPES = (
    "full_finetune_distributed",
    "full_finetune_single_device",
    "lora_finetune_distributed",
    "lora_finetune_single_device",
)
CHECKS: dict[str, Callable[[Files, int], None]] = {
    "accelerate": accelerate,
    "axolotl": axolotl,
    "deepspeed": deepspeed,
    "llama-factory": llama_factory,
    "trl": trl,
}


def known_axolotl() -> list[str]:
    fields = set(load("axolotl.utils.schemas.config").AxolotlInputConfig.model_fields)
    for module, name in (
        ("axolotl.integrations.cut_cross_entropy.args", "CutCrossEntropyArgs"),
        ("axolotl.integrations.liger.args", "LigerArgs"),
    ):
        fields |= set(getattr(load(module), name).model_fields)
    return sorted(fields)


def known_axolotl_optimizers() -> list[str]:
    own = {each.value for each in load("axolotl.utils.schemas.enums").CustomSupportedOptimizers}
    return sorted(own | set(known_trainer_optimizers()))


def known_trainer_optimizers() -> list[str]:
    return sorted(each.value for each in load("transformers.training_args").OptimizerNames)


def known_trl() -> list[str]:
    package = load("trl")
    classes = (package.ScriptArguments, package.SFTConfig, package.ModelConfig)
    return sorted({field.name for each in classes for field in dataclasses.fields(each)})


def known_llama_factory() -> list[str]:
    classes = load("llamafactory.hparams.parser")._TRAIN_ARGS
    return sorted({field.name for each in classes for field in dataclasses.fields(each)})


def known_accelerate() -> list[str]:
    cluster = load("accelerate.commands.config.config_args").ClusterConfig
    return sorted(field.name for field in dataclasses.fields(cluster))


def known_accelerate_plugins() -> list[str]:
    parser = load("accelerate.commands.launch").launch_command_parser()
    return sorted(action.dest for action in parser._actions)


def known_deepspeed() -> list[str]:
    """Names of DeepSpeed's top-level keys: the constants whose value is a key."""
    found: set[str] = set()
    for module in ("constants", "precision_config", "torch_autocast"):
        try:
            constants = load(f"deepspeed.runtime.{module}")
        except ModuleNotFoundError:
            continue
        found |= {
            value
            for name, value in vars(constants).items()
            if name.isupper() and isinstance(value, str) and value.isidentifier()
        }
    found |= {"zero_optimization", "torch_autocast"}
    return sorted(found)


def known_deepspeed_zero() -> list[str]:
    fields = load("deepspeed.runtime.zero.config").DeepSpeedZeroConfig.model_fields
    return sorted({field.alias or name for name, field in fields.items()})


def known_torchtune() -> list[str]:
    """Keys that the fine-tuning recipes read, and those that only other keys refer to."""
    found = {"output_dir"}
    for recipe in RECIPES:
        required, optional = recipe_keys(recipe)
        found |= required | optional
    return sorted(found)


KNOWN: dict[str, dict[str, Callable[[], list[str]]]] = {
    "accelerate": {"keys": known_accelerate, "plugin_keys": known_accelerate_plugins},
    "axolotl": {"keys": known_axolotl, "optimizers": known_axolotl_optimizers},
    "deepspeed": {"keys": known_deepspeed, "zero_keys": known_deepspeed_zero},
    "llama-factory": {"keys": known_llama_factory, "optimizers": known_trainer_optimizers},
    "torchtune": {"keys": known_torchtune},
    "trl": {"keys": known_trl, "optimizers": known_trainer_optimizers},
}
PACKAGES = {"llama-factory": "llamafactory"}


def known() -> dict[str, Any]:
    version = load("importlib.metadata").version
    return {
        tool: {
            "package": PACKAGES.get(tool, tool),
            "version": version(PACKAGES.get(tool, tool)),
            **{name: read() for name, read in lists.items()},
        }
        for tool, lists in KNOWN.items()
    }


def verdict(line: str) -> str | None:
    """What the tool said against the files of one line; None where it took them."""
    case = json.loads(line)
    with working_directory(case["files"]):
        try:
            if case["tool"] == "torchtune":
                torchtune(case["files"], case["command"])
            else:
                CHECKS[case["tool"]](case["files"], case["num_gpus"])
        except BaseException as problem:  # noqa: BLE001 -- parsers also exit
            return f"{type(problem).__name__}: {problem}"[:2_000]
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    answers = sys.stdout
    # What the tools print themselves must not get between the answers.
    with contextlib.redirect_stdout(sys.stderr):
        if sys.argv[1:] == ["--known"]:
            print(json.dumps(known(), indent=1), file=answers)
            return
        for line in sys.stdin:
            print(json.dumps(verdict(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
