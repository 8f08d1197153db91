"""`python -m generator.oracle.refresh`: run every listed case that has no stored result yet.

Results are appended as they come, so an interrupted run goes on where it stopped. `--all` runs all of them again.
Cases run one after the other on one thread: a few seconds each, the whole list in about an hour.
"""

import argparse
import csv
import dataclasses
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from generator.oracle.case import Case, Result, case_from_dict
from generator.oracle.cases import stored_cases
from generator.oracle.run import run_case

RESULTS = Path(__file__).parents[2] / "tests" / "oracle" / "results.csv"

SETTINGS = tuple(entry.name for entry in dataclasses.fields(Case) if entry.name != "config")

CATEGORIES = (
    "weights", "gradients", "optimizer", "activations", "recomputed", "temporaries", "buckets", "inputs"
)  # fmt: skip

FIGURES = (
    "num_parameters", "num_trainable_parameters", "peak_bytes", "peak_phase", "peak_op", "workspace_bytes",
    "forward_peak_bytes", "backward_peak_bytes", "step_peak_bytes", "forward_end_bytes", "parameter_bytes",
    "gradient_bytes", "optimizer_bytes", *(f"peak_{category}_bytes" for category in CATEGORIES),
)  # fmt: skip


def settings_of(case: Case) -> dict[str, str]:
    """A case as cells; the key of a stored result."""
    return {name: _cell(getattr(case, name)) for name in SETTINGS}


def case_from_row(row: dict[str, str]) -> Case:
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


def figures_of(result: Result) -> dict[str, str]:
    """A result as cells."""
    peak = result.peak
    figures: dict[str, object] = {
        "num_parameters": result.num_parameters,
        "num_trainable_parameters": result.num_trainable_parameters,
        "peak_bytes": peak.total_bytes,
        "peak_phase": result.peak_phase,
        "peak_op": peak.op,
        "workspace_bytes": peak.workspace_bytes,
        **{f"{phase}_peak_bytes": worst.total_bytes for phase, worst in result.phases.items()},
        "forward_end_bytes": result.forward_end_bytes,
        "parameter_bytes": result.parameter_bytes,
        "gradient_bytes": result.gradient_bytes,
        "optimizer_bytes": result.optimizer_bytes,
        **{f"peak_{category}_bytes": peak.by_category.get(category, 0) for category in CATEGORIES},
    }
    return {name: _cell(figures[name]) for name in FIGURES}


def read_rows(path: Path) -> list[dict[str, str]]:
    """Stored results; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write_rows(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, (*SETTINGS, *FIGURES), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, tuple) else str(value)


def refresh(*, path: Path, cases: list[Case], run_all: bool) -> int:
    """Bring the stored results up to the list; the number of cases that failed."""
    stored = [] if run_all else read_rows(path)
    by_settings = {tuple(row.get(name, "") for name in SETTINGS): row for row in stored}
    wanted = [tuple(settings_of(case).values()) for case in cases]
    missing = [case for case, key in zip(cases, wanted, strict=True) if key not in by_settings]
    _write_rows(path, (by_settings[key] for key in wanted if key in by_settings))
    failures = 0
    for number, case in enumerate(missing, start=1):
        try:
            result = run_case(case)
        except Exception:  # noqa: BLE001  one refused case does not stop the rest
            failures += 1
            print(f"{number}/{len(missing)} FAILED {case}\n{traceback.format_exc(limit=-4)}", flush=True)
            continue
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, (*SETTINGS, *FIGURES), lineterminator="\n")
            writer.writerow(settings_of(case) | figures_of(result))
        print(
            f"{number}/{len(missing)} {case.model} {case.method} {case.strategy} "
            f"{result.peak.total_bytes / 2**30:.2f} GiB in {result.peak_phase}, {result.seconds} s",
            flush=True,
        )
    return failures


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m generator.oracle.refresh", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run cases with stored results again too")
    parser.add_argument("--only", default="", help="run only cases of models whose id starts with this")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.only and arguments.output == RESULTS:
        parser.error("--only would drop the other stored results; name another file with --output")
    torch.set_num_threads(1)
    cases = [case for case in stored_cases() if case.model.startswith(arguments.only)]
    sys.exit(1 if refresh(path=arguments.output, cases=cases, run_all=arguments.all) else 0)


if __name__ == "__main__":
    main()
