"""`python -m generator.oracle.refresh`: run every listed case that has no stored result yet.

The file is written after every case, so an interrupted run goes on where it stopped. `--all` runs
all of them again. Cases run one after the other on one thread: a few seconds each, the whole list
in about an hour.
"""

import argparse
import sys
import traceback
from pathlib import Path

import torch

from generator.oracle.case import Case
from generator.oracle.cases import stored_cases
from generator.oracle.results import (
    RESULTS,
    SETTINGS,
    Row,
    figures_of,
    read_rows,
    settings_of,
    write_rows,
)
from generator.oracle.run import run_case


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in SETTINGS)


def refresh(*, path: Path, cases: list[Case], run_all: bool) -> int:
    """Bring the stored results up to the list; the number of cases that failed."""
    settings = [settings_of(case) for case in cases]
    stored = {} if run_all else {_key(row): row for row in read_rows(path)}
    missing = [
        (case, cells)
        for case, cells in zip(cases, settings, strict=True)
        if _key(cells) not in stored
    ]
    failures = 0
    for number, (case, cells) in enumerate(missing, start=1):
        label = f"{number}/{len(missing)} {case.model} {case.method} {case.strategy}"
        try:
            result = run_case(case)
        except Exception:  # noqa: BLE001  one refused case does not stop the rest
            failures += 1
            print(f"{label} FAILED {case}\n{traceback.format_exc(limit=-4)}", flush=True)
            continue
        stored[_key(cells)] = cells | figures_of(result)
        write_rows(path, (stored[_key(each)] for each in settings if _key(each) in stored))
        size = f"{result.peak.total_bytes / 2**30:.2f} GiB in {result.peak_phase}"
        print(f"{label}: {size}, {result.seconds} s", flush=True)
    return failures


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m generator.oracle.refresh", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run cases with stored results again")
    parser.add_argument("--only", default="", help="run only models whose id starts with this")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.only and arguments.output == RESULTS:
        parser.error("--only would drop the other stored results; name a file with --output")
    torch.set_num_threads(1)
    cases = [case for case in stored_cases() if case.model.startswith(arguments.only)]
    sys.exit(1 if refresh(path=arguments.output, cases=cases, run_all=arguments.all) else 0)


if __name__ == "__main__":
    main()
