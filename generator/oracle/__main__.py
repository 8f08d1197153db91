"""`python -m generator.oracle CASE.json` or `-`: run one case and print what it allocates."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from generator.oracle.case import case_from_json
from generator.oracle.run import run_case


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m generator.oracle", description=__doc__)
    parser.add_argument("case", help="file with one JSON object, or - for standard input")
    parser.add_argument("--top", type=int, default=0, help="name this many of the largest tensors at the peak")
    arguments = parser.parse_args()
    text = sys.stdin.read() if arguments.case == "-" else Path(arguments.case).read_text()
    try:
        case = case_from_json(text)
    except ValueError as error:
        sys.exit(f"oracle: {error}")
    result = run_case(case, top=arguments.top)
    report = dataclasses.asdict(result)
    report["peak_phase"] = result.peak_phase
    report["peak_bytes"] = result.peak.total_bytes
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
