"""`python -m generator.oracle CASE.json` (or `-`): run one case and print what it allocates.

`python -m generator.oracle.refresh` brings the stored results up to date,
`python -m generator.oracle.layers CASE.json` tells single layers apart.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from generator.oracle.case import case_from_json


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m generator.oracle", description=__doc__)
    parser.add_argument("case", help="file with one JSON object, or - for standard input")
    parser.add_argument("--top", type=int, default=0, help="name the largest tensors at the peak")
    arguments = parser.parse_args()
    try:
        text = sys.stdin.read() if arguments.case == "-" else Path(arguments.case).read_text()
        case = case_from_json(text)
    except (OSError, ValueError) as error:
        sys.exit(f"oracle: {error}")
    from generator.oracle.run import run_case

    result = run_case(case, top=arguments.top)
    report = dataclasses.asdict(result)
    report["peak_phase"] = result.peak_phase
    report["peak_bytes"] = result.peak.total_bytes
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
