"""From a catalog entry or a Hugging Face config to the real class on the fake card, with
adapters if asked for."""

import contextlib
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers.initialization import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from generator.oracle.case import Case
from generator.oracle.quantised import Nf4Linear, quantise_base

MODELS_DIR = Path(__file__).parents[2] / "catalog" / "models"

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

_CATALOG_ONLY = {"qk_norm", "layer_types_counts", "layer_types_rle", "sliding_window_pattern"}
"""Config entries that the catalog adds for readers and that no class knows."""

_TOWER_PARTS = ("vision", "visual", "audio")

_TOWERS = ("vision_config", "audio_config")


def catalog_config(model: str) -> dict[str, Any]:
    """The `[config]` table of a catalog model."""
    path = MODELS_DIR / f"{model}.toml"
    if not path.exists():
        raise ValueError(
            f"model {model!r} is not in the catalog; use an id of catalog/models or give a config"
        )
    with path.open("rb") as file:
        config: dict[str, Any] = tomllib.load(file)["config"]
    return config


def transformers_config(case: Case) -> Any:
    """The config object of the class under test."""
    flat = dict(case.config if case.config is not None else catalog_config(case.model))
    model_type = flat.pop("model_type")
    layer_types = flat.pop("layer_types", None) or [
        kind for kind, count in flat.get("layer_types_rle", []) for _ in range(count)
    ]
    if case.num_hidden_layers is not None:
        flat["num_hidden_layers"] = case.num_hidden_layers
        layer_types = layer_types[: case.num_hidden_layers]
    if layer_types:
        flat["layer_types"] = layer_types
    flat.setdefault("sliding_window", None)  # Mistral's class defaults to one
    if "kv_lora_rank" in flat:
        flat.setdefault(
            "q_lora_rank", None
        )  # left out where there is none, but the classes default to one
    towers = {name: flat.pop(name) for name in _TOWERS if name in flat}
    fields = {name: value for name, value in flat.items() if name not in _CATALOG_ONLY}
    config_class = CONFIG_MAPPING[model_type]
    if "text_config" in config_class.sub_configs:
        tied = fields.get("tie_word_embeddings", False)
        config = config_class(text_config=fields, tie_word_embeddings=tied, **towers)
    else:
        config = config_class(**fields)
    config.use_cache = False
    config.get_text_config().use_cache = False
    return config


def build_model(case: Case) -> nn.Module:
    """The model of a case, trainable parts marked, on the fake card."""
    config = transformers_config(case)
    holds_fp32 = case.precision == "amp" and case.method == "full"
    is_multimodal = any(hasattr(config, name) for name in _TOWERS)
    auto_class = (
        transformers.AutoModelForImageTextToText
        if is_multimodal
        else transformers.AutoModelForCausalLM
    )
    attention: Any = case.attention
    if hasattr(config, "audio_config"):
        attention = {
            "": case.attention,
            "audio_config": "eager",
        }  # the audio tower knows nothing else
    with torch.device("cuda"), no_init_weights():
        model = auto_class.from_config(
            config,
            dtype=torch.float32 if holds_fp32 else torch.bfloat16,
            attn_implementation=attention,
        )
    model.tie_weights()
    return model if case.method == "full" else _with_adapters(model, case)


def count_base_parameters(model: nn.Module) -> int:
    """Parameters of the model itself, shared ones once; adapters and packed weights left out."""
    total = 0
    for name, parameter in model.named_parameters():
        total += 0 if "lora_" in name else parameter.numel()
    for module in model.modules():
        if isinstance(module, Nf4Linear):
            total += module.in_features * module.out_features
    return total


def count_trainable_parameters(model: nn.Module) -> int:
    """Parameters that get a gradient."""
    total = 0
    for parameter in model.parameters():
        total += parameter.numel() if parameter.requires_grad else 0
    return total


def _with_adapters(model: nn.Module, case: Case) -> nn.Module:
    from peft import LoraConfig, get_peft_model

    targets: Any = case.target_modules
    if targets != "all-linear":
        # Towers have modules of the same names, which nobody means.
        targets = rf"(?!.*({'|'.join(_TOWER_PARTS)})).*\.({'|'.join(targets)})"
    lora = LoraConfig(
        r=case.lora_rank,
        lora_alpha=case.lora_rank,
        lora_dropout=case.lora_dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
    with torch.device("cuda"), _modules_stay_where_they_are():
        model = get_peft_model(model, lora, autocast_adapter_dtype=False)
    set_dtype(model, lambda name: "lora_" in name, DTYPES[case.adapter_dtype])
    if case.method == "qlora":
        quantise_base(
            model, double_quantisation=case.double_quantisation, compute_dtype=torch.bfloat16
        )
        if case.kbit_preparation:
            set_dtype(model, lambda name: "lora_" not in name, torch.float32)
    return model


@contextlib.contextmanager
def _modules_stay_where_they_are() -> Iterator[None]:
    """peft moves new layers to the base's device; they are there, and fake tensors refuse the
    swap."""
    original = nn.Module.to
    nn.Module.to = lambda self, *_, **__: self
    try:
        yield
    finally:
        nn.Module.to = original


def set_dtype(model: nn.Module, chosen: Callable[[str], bool], dtype: torch.dtype) -> None:
    """Replace chosen parameters by ones of another dtype; tied ones stay tied."""
    replaced: dict[int, nn.Parameter] = {}
    for module_name, module in model.named_modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None or parameter.dtype == dtype or not chosen(f"{module_name}.{name}"):
                continue
            if id(parameter) not in replaced:
                values = torch.empty(parameter.shape, dtype=dtype, device=parameter.device)
                replaced[id(parameter)] = nn.Parameter(
                    values, requires_grad=parameter.requires_grad
                )
            module._parameters[name] = replaced[id(parameter)]
