"""A request as the launch configuration of a training tool."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from generator.core.catalog import Catalog
from generator.core.dataset import Dataset
from generator.core.errors import TrainfitError
from generator.core.launch import (
    RELEASES,
    TOOLS,
    accelerate,
    axolotl,
    deepspeed,
    llama_factory,
    remainder,
    torchtune,
    trl,
)
from generator.core.launch.recognise import read_keys
from generator.core.launch.records import PLACEHOLDER_MODEL, Launch, LaunchFile, Plan
from generator.core.params import lora_targets
from generator.core.request import Request, whole

_EXPORTERS: dict[str, Callable[[Plan], Launch]] = {
    "accelerate": accelerate.export,
    "axolotl": axolotl.export,
    "deepspeed": deepspeed.export,
    "llama-factory": llama_factory.export,
    "torchtune": torchtune.export,
    "trl": trl.export,
}


def _plan(request: Request, num_gpus: int, dataset: Dataset, catalog: Catalog) -> Plan:
    case = request.case
    if case.method != "full":
        # Raises where the model has no such layer: an estimate would too.
        lora_targets(case.model, case.lora.target_modules)
    entry = catalog.models.get(request.model_id or "")
    return Plan(
        case=replace(case, num_gpus=num_gpus),
        card=request.card,
        model_id=request.model_id,
        model_name=entry.hugging_face if entry is not None else PLACEHOLDER_MODEL,
        dataset=dataset,
    )


def _with_remainder(
    file: LaunchFile, meant: Mapping[str, object], catalog: Catalog
) -> LaunchFile | None:
    """The file with what its keys do not say; None where that is too long."""
    fields = read_keys(file.text, catalog).fields
    said = remainder.filled(fields, catalog)
    pairs = remainder.difference(said, remainder.flattened(meant))
    carried = remainder.encode(pairs)
    if carried is None:
        return None
    if not pairs:
        return file
    if file.filename.endswith(".json"):
        body = file.text.rstrip().removesuffix("}").rstrip()
        return replace(file, text=f'{body},\n  "{remainder.JSON_KEY}": {carried}\n}}\n')
    header = f"# {remainder.EXPLANATION}\n{remainder.MARK}{carried}\n"
    return replace(file, text=header + file.text)


def export(
    request: Request, tool: object, *, num_gpus: int, dataset: Dataset, catalog: Catalog
) -> Launch:
    """The launch configuration of a request for one tool.

    What the tool trains otherwise but with the same or less memory is said in the notes; what
    would need more, or train something else, is refused.

    Args:
        request: A checked request.
        tool: A key of `TOOLS`.
        num_gpus: The GPU count, which the request may have left open.
        dataset: Its epochs and packing are written; its size is not.
        catalog: Where names are looked up.

    Raises:
        TrainfitError: an unknown tool (code `unknown-id`), or something that the tool has no word
            for (code `unsupported-combination`).
    """
    if not isinstance(tool, str) or tool not in TOOLS:
        raise TrainfitError("unknown-id", "tool", f"tool must be one of {', '.join(TOOLS)}.")
    launch = _EXPORTERS[tool](_plan(request, num_gpus, dataset, catalog))
    data = {"epochs": whole(dataset.epochs), "packing": dataset.packing}
    meant = {**request.filled, "dataset": data}
    files = [_with_remainder(file, meant, catalog) for file in launch.files]
    notes = [*launch.notes, f"Names are those of {TOOLS[tool]} {RELEASES[tool]}."]
    if None in files:
        notes.append("The model's config is too long for the file: keep it to paste back.")
    written = (new or own for own, new in zip(launch.files, files, strict=True))
    return replace(launch, files=tuple(written), notes=tuple(notes))
