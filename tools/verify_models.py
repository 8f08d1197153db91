"""Counts every catalog model's parameters with its real Transformers class, and compares the core.

    .venv-oracle/bin/python tools/verify_models.py [id ...]

No weights are loaded: the classes are built on the meta device. Needs `requirements/oracle.txt`.
The catalog keeps configs flat, which loses entries that only a class reads (a vision tower's, say);
where class and core differ, the published total decides, and only a disagreement with it fails.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# Before torch: it prepares PyTorch for cards that are not there.
from generator.oracle import models as oracle_models  # isort: skip
import torch
import transformers
from transformers.initialization import no_init_weights

from generator.core.errors import TrainfitError
from generator.core.params import num_parameters
from generator.load import load_catalog
from generator.oracle.case import case_from_dict


def class_count(model_id: str) -> int:
    """Parameters of the Transformers class, shared ones once."""
    config = oracle_models.transformers_config(case_from_dict({"model": model_id}))
    has_tower = any(hasattr(config, name) for name in ("vision_config", "audio_config"))
    auto_class = (
        transformers.AutoModelForImageTextToText if has_tower else transformers.AutoModelForCausalLM
    )
    with torch.device("meta"), no_init_weights():
        model = auto_class.from_config(config)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


def main() -> int:
    """Compare and print one line per model that differs or could not be built."""
    parser = argparse.ArgumentParser(description="Compare parameter counts with Transformers.")
    parser.add_argument("ids", nargs="*", help="catalog ids; all by default")
    arguments = parser.parse_args()
    # Warnings about entries that a class ignores say nothing about its size.
    transformers.logging.set_verbosity_error()
    catalog = load_catalog()
    equal, published, different, unbuilt = 0, 0, 0, 0
    for model_id in arguments.ids or sorted(catalog.models):
        entry = catalog.model(model_id)
        try:
            ours = num_parameters(entry.model)
        except TrainfitError as error:
            unbuilt += 1
            print(f"{model_id}: the core refuses it: {error.message}")
            continue
        try:
            theirs = class_count(model_id)
        except Exception as error:  # noqa: BLE001  whatever a class raises, the other models follow
            unbuilt += 1
            print(
                f"{model_id}: not built: {type(error).__name__}: {str(error).splitlines()[0][:120]}"
            )
            continue
        line = f"{model_id}: core {ours:,}, class {theirs:,}, difference {ours - theirs:,}"
        if ours == theirs:
            equal += 1
        elif entry.expected is not None and ours == entry.expected.num_parameters:
            published += 1
            print(f"{line}; the published total agrees with the core")
        else:
            different += 1
            print(f"{line}; NO PUBLISHED TOTAL AGREES")
    print(
        f"{equal} equal to the class, {published} to the published total only, "
        f"{different} to neither, {unbuilt} not compared"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
