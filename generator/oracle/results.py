"""Stored results: one row of `tests/oracle/results.csv` per case. Needs no PyTorch."""

import csv
import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from generator.oracle.case import Case, Result, case_from_dict

RESULTS = Path(__file__).parents[2] / "tests" / "oracle" / "results.csv"

SETTINGS = tuple(entry.name for entry in dataclasses.fields(Case) if entry.name != "config")

CATEGORIES = (
    "weights",
    "gradients",
    "optimizer",
    "activations",
    "recomputed",
    "temporaries",
    "buckets",
    "inputs",
)

FIGURES = (
    "num_parameters",
    "num_trainable_parameters",
    "peak_bytes",
    "peak_phase",
    "peak_op",
    "workspace_bytes",
    "forward_peak_bytes",
    "backward_peak_bytes",
    "step_peak_bytes",
    "forward_end_bytes",
    "parameter_bytes",
    "gradient_bytes",
    "optimizer_bytes",
    *(f"peak_{category}_bytes" for category in CATEGORIES),
)

Row = dict[str, str]


def settings_of(case: Case) -> Row:
    """A case as cells; the key of a stored result."""
    return {name: _cell(getattr(case, name)) for name in SETTINGS}


def case_from_row(row: Row) -> Case:
    """The case of a stored result."""
    values: dict[str, Any] = {}
    for entry in dataclasses.fields(Case):
        text = row.get(entry.name, "")
        if text == "":
            continue
        if entry.name == "target_modules":
            values[entry.name] = text if text == "all-linear" else text.split()
        elif entry.name in _NUMBERS:
            values[entry.name] = _NUMBERS[entry.name](text)
        else:
            values[entry.name] = {"True": True, "False": False}.get(text, text)
    return case_from_dict(values)


_NUMBERS: dict[str, type[int] | type[float]] = {
    "num_hidden_layers": int,
    "num_gpus": int,
    "sequence_length": int,
    "micro_batch_size": int,
    "gradient_accumulation_steps": int,
    "lora_rank": int,
    "lora_dropout": float,
}


def figures_of(result: Result) -> Row:
    """A result as cells."""
    peak = result.peak
    figures: dict[str, object] = {
        "num_parameters": result.num_parameters,
        "num_trainable_parameters": result.num_trainable_parameters,
        "peak_bytes": peak.total_bytes,
        "peak_phase": result.peak_phase,
        "peak_op": peak.op,
        "workspace_bytes": peak.workspace_bytes,
        **{f"{phase}_peak_bytes": each.total_bytes for phase, each in result.phases.items()},
        "forward_end_bytes": result.forward_end_bytes,
        "parameter_bytes": result.parameter_bytes,
        "gradient_bytes": result.gradient_bytes,
        "optimizer_bytes": result.optimizer_bytes,
        **{f"peak_{category}_bytes": peak.by_category.get(category, 0) for category in CATEGORIES},
    }
    return {name: _cell(figures[name]) for name in FIGURES}


def read_rows(path: Path) -> list[Row]:
    """Stored results; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a whole results file; an interrupted run leaves the old one as it was."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, (*SETTINGS, *FIGURES), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    unfinished.replace(path)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, tuple) else str(value)
