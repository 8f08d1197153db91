"""Compares the parameter ledger with the classes that `transformers` builds, model by model.

`python -m generator.verify_models` builds every class of the catalog on the meta device (no
weights, little memory), counts its parameters, and writes `catalog/verification.csv`; with ids as
arguments it writes the lines of those models alone. Needs the requirements of the oracle; the image
encoder of Gemma 3n needs timm and torchvision besides, that of Inkling scipy: without them the line
of such a model stays as it was.

Three figures are compared: all parameters, those of the linear layers inside the decoder blocks by
name and shape (what LoRA adapts), and those of every linear layer but the head (what bitsandbytes
quantises).
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.core.catalog import CatalogModel
from generator.core.errors import TrainfitError
from generator.core.params import linear_tensors, num_parameters, tensors
from generator.load import CATALOG_DIR, load_catalog

VERIFICATION_CSV = CATALOG_DIR / "verification.csv"
COLUMNS = ("model", "class", "ours", "theirs", "linear_layers", "quantisable", "note")

TEXT_ONLY_KEYS = ("vision_config", "audio_config")
BLOCK_NAME = re.compile(r"(^|\.)(layers|layer|h|blocks)\.\d+\.")
TOWER_NAME = re.compile(r"vision|visual|audio|projector|mm_|embed_|adapter")

LinearLayers = Counter[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """One line of the result file; `theirs` is None where no class could be built."""

    model: str
    class_name: str
    ours: int
    theirs: int | None
    linear_layers: str
    quantisable: str
    note: str
    needs: str = ""
    """Packages without which the class cannot be built here; the line says nothing then."""

    @property
    def agrees(self) -> bool:
        """Whether the total and both sets of linear layers are the same."""
        return (
            self.theirs == self.ours and self.linear_layers == "same" and self.quantisable == "same"
        )

    def row(self) -> tuple[str, ...]:
        """The line as CSV fields."""
        theirs = "" if self.theirs is None else str(self.theirs)
        return (
            self.model,
            self.class_name,
            str(self.ours),
            theirs,
            self.linear_layers,
            self.quantisable,
            self.note,
        )


def class_fields(config: dict[str, Any]) -> dict[str, Any]:
    """The catalog's fields as a configuration class takes them: run-length lists written out."""
    fields: dict[str, Any] = {}
    for key, value in config.items():
        if key.endswith("_rle"):
            fields[key.removesuffix("_rle")] = [kind for kind, count in value for _ in range(count)]
        else:
            fields[key] = value
    return fields


def build(entry: CatalogModel) -> Any:
    """The model class of one catalog entry, on the meta device."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = class_fields(dict(entry.config))
    model_type = str(fields.pop("model_type"))
    config_class = CONFIG_MAPPING[model_type]
    if "text_config" in (getattr(config_class, "sub_configs", None) or {}):
        text = {key: value for key, value in fields.items() if key not in TEXT_ONLY_KEYS}
        if model_type == "mistral3":
            text["model_type"] = "mistral4" if "kv_lora_rank" in text else "mistral"
        nested = {key: value for key, value in fields.items() if key in TEXT_ONLY_KEYS}
        if "tie_word_embeddings" in fields:
            nested["tie_word_embeddings"] = fields["tie_word_embeddings"]
        config = config_class(text_config=text, **nested)
    else:
        # Latent attention without a narrow query projection says so with null, which TOML lacks.
        if "kv_lora_rank" in fields:
            fields.setdefault("q_lora_rank", None)
        config = config_class(**fields)
    for mapping in (
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
        modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING,
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING,
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING,
    ):
        if type(config) in mapping:
            with torch.device("meta"):
                return mapping[type(config)](config)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def _linear_layers(model: Any) -> tuple[LinearLayers, int]:
    """Linear layers of the blocks by name and shape, and the size of all of them but the head."""
    import torch
    from transformers.pytorch_utils import Conv1D

    head = model.get_output_embeddings()
    layers: LinearLayers = Counter()
    size = 0
    for name, module in model.named_modules():
        if module is head or not isinstance(module, torch.nn.Linear | Conv1D):
            continue
        shape = tuple(module.weight.shape)
        shape = shape[::-1] if isinstance(module, Conv1D) else shape
        size += module.weight.numel()
        if BLOCK_NAME.search(name) and not TOWER_NAME.search(name):
            layers[name.rsplit(".", 1)[-1], shape] += 1
    return layers, size


def _difference(ours: LinearLayers, theirs: LinearLayers) -> str:
    if ours == theirs:
        return "same"
    missing = [f"{name} {shape} x{count}" for (name, shape), count in (theirs - ours).items()]
    surplus = [f"{name} {shape} x{count}" for (name, shape), count in (ours - theirs).items()]
    return f"only theirs: {'; '.join(missing) or '-'} | only ours: {'; '.join(surplus) or '-'}"


def verify(entry: CatalogModel) -> Verification:
    """Builds the class of one catalog entry and compares."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    ours = num_parameters(entry.model)
    model_type = str(entry.config["model_type"])

    def unbuilt(note: str = "", needs: str = "") -> Verification:
        return Verification(
            model=entry.id,
            class_name="",
            ours=ours,
            theirs=None,
            linear_layers="",
            quantisable="",
            note=note,
            needs=needs,
        )

    if model_type not in CONFIG_MAPPING:
        return unbuilt(f"transformers has no class for {model_type}")
    try:
        model = build(entry)
    except ImportError as error:
        needed = re.findall(r"`?(timm|torchvision)`?", str(error))
        return unbuilt(needs=" and ".join(sorted(set(needed))) or str(error).splitlines()[0])
    theirs = sum(parameter.numel() for parameter in model.parameters())
    their_layers, their_size = _linear_layers(model)
    our_layers: LinearLayers = Counter()
    for tensor in linear_tensors(entry.model):
        our_layers[tensor.module, tensor.shape] += tensor.count
    our_size = sum(
        tensor.num_parameters for tensor in tensors(entry.model) if tensor.kind == "linear"
    )
    return Verification(
        model=entry.id,
        class_name=type(model).__name__,
        ours=ours,
        theirs=theirs,
        linear_layers=_difference(our_layers, their_layers),
        quantisable="same" if our_size == their_size else f"ours {our_size}, theirs {their_size}",
        note=_packages(model),
    )


def _packages(model: Any) -> str:
    """The version of timm, where a part of the model is its work."""
    if not any(type(module).__module__.startswith("timm.") for module in model.modules()):
        return ""
    return f"with timm {sys.modules['timm'].__version__}"


def lines_with(
    present: Iterable[Sequence[str]], results: Iterable[Verification], order: Sequence[str]
) -> list[Sequence[str]]:
    """The result file's lines with some of them new: one per model, in the catalog's order.

    Args:
        present: The lines that the file has, without its header.
        results: What is new; takes the place of a model's present line.
        order: The catalog's ids. A line of a model that has left it goes too.
    """
    lines = {line[0]: line for line in present}
    lines.update((result.model, result.row()) for result in results)
    return [lines[name] for name in order if name in lines]


def read_lines(path: Path) -> list[list[str]]:
    """The lines of a result file without its header, none where there is no file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def main(arguments: list[str] | None = None, path: Path = VERIFICATION_CSV) -> int:
    """Verifies the named models, or all of them, and writes their lines into the result file."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    parser = argparse.ArgumentParser(prog="python -m generator.verify_models", description=__doc__)
    parser.add_argument("models", nargs="*", help="catalog ids; all when left out")
    names = parser.parse_args(arguments).models
    catalog = load_catalog()
    try:
        entries = [catalog.model(name) for name in names] or list(catalog.models.values())
    except TrainfitError as error:
        sys.stderr.write(f"verify-models: {error}\n")
        return 2
    found = [verify(entry) for entry in entries]
    results = [result for result in found if not result.needs]
    lines = lines_with(read_lines(path), results, list(catalog.models))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])
    for result in found:
        if result.needs:
            sys.stderr.write(
                f"{result.model}: the class needs {result.needs}; install it beside Transformers "
                "and run this again. Its line stays as it was.\n"
            )
    for result in results if names else ():
        sys.stdout.write(f"{', '.join(result.row())}\n")
    sys.stdout.write(f"{path}: {len(results)} of {len(lines)} lines written anew\n")
    differing = [result for result in results if result.theirs is not None and not result.agrees]
    for result in differing:
        sys.stderr.write(f"{result.model}: differs: {', '.join(result.row()[2:])}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
