"""The table of a mutation run, from files as mutmut leaves them."""

import json
from collections.abc import Sequence
from pathlib import Path

from tools.mutation import report


def write(folder: Path, module: str, statuses: Sequence[int | None]) -> None:
    keys = {f"{module}.f__mutmut_{number}": status for number, status in enumerate(statuses, 1)}
    text = json.dumps({"exit_code_by_key": keys})
    (folder / f"{module}.py.meta").write_text(text, encoding="utf-8")


def test_survivors_are_named_and_untried_mutants_do_not_count(tmp_path: Path) -> None:
    # Killed by a failing test or by the clock; alive where all passed, or no test goes there.
    write(tmp_path, "fit", [1, 1, -24, 0, 33, None])
    write(tmp_path, "memory", [1] * 20)
    write(tmp_path, "params", [None, None])

    lines, is_enough = report(tmp_path)

    assert lines == [
        "module          tried  killed  share",
        "fit.py              5       3  60.0%",
        "memory.py          20      20  100.0%",
        "survived: fit.f__mutmut_4",
        "survived: fit.f__mutmut_5",
    ]
    assert not is_enough


def test_the_bar_is_85_of_100(tmp_path: Path) -> None:
    write(tmp_path, "fit", [1] * 85 + [0] * 15)
    assert report(tmp_path)[1]

    write(tmp_path, "fit", [1] * 84 + [0] * 16)
    assert not report(tmp_path)[1]
