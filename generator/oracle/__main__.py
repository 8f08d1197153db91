"""`python -m generator.oracle CASE.json` (or `-`): run one case and print what it allocates.

Without a case, the stored results are brought up to date (`generator.oracle.refresh`).
`verify-models` instead of a case counts the parameters of every catalog model with its real class.
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
    parser.add_argument("case", nargs="?", help="file with one JSON object, - or verify-models")
    parser.add_argument("--top", type=int, default=0, help="name the largest tensors at the peak")
    arguments = parser.parse_args()
    if arguments.case is None:
        from generator.oracle import refresh

        refresh.main()
    if arguments.case == "verify-models":
        from generator.oracle import verify_models

        verify_models.main()
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
