"""The table of a mutation run: mutants and how many the tests killed, by module.

    make mutation

mutmut leaves one exit status for each mutant below `mutants/`. Prints the table and the survivors;
fails where a module's tests kill less than `MIN_SHARE` of those that were tried.
"""

import json
import sys
from pathlib import Path

FOLDER = Path("mutants/generator/core")
MIN_SHARE = 0.85
SURVIVED = frozenset({0, 5, 33})
"""Exit statuses of pytest and mutmut: all tests passed, none was collected, none goes there."""


def statuses(path: Path) -> dict[str, int | None]:
    """Each mutant of a module and the exit status of its tests; None where it was not tried."""
    found: dict[str, int | None] = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def report(folder: Path) -> tuple[list[str], bool]:
    """Lines to print, and whether each module's tests kill enough."""
    table, survivors, is_enough = ["module          tried  killed  share"], [], True
    for path in sorted(folder.glob("*.meta")):
        tried = {name: status for name, status in statuses(path).items() if status is not None}
        if not tried:
            continue
        alive = [name for name, status in tried.items() if status in SURVIVED]
        share = 1 - len(alive) / len(tried)
        is_enough = is_enough and share >= MIN_SHARE
        module = path.name.removesuffix(".meta")
        table.append(f"{module:15} {len(tried):5}  {len(tried) - len(alive):6}  {share:5.1%}")
        survivors += alive
    return [*table, *(f"survived: {name}" for name in survivors)], is_enough


if __name__ == "__main__":
    lines, is_enough = report(FOLDER)
    print("\n".join(lines))
    sys.exit(not is_enough)
