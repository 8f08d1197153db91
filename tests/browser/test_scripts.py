"""The suites of the site's own scripts, run by Node's test runner."""

import subprocess
from pathlib import Path

import pytest

from tests.browser.support import REPOSITORY_DIR, RunNode

SUITES = sorted(Path(__file__).resolve().parent.glob("*.test.mjs"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.name)
def test_script_suite(run_node: RunNode, suite: Path) -> None:
    result = subprocess.run(
        ["node", "--test", str(suite)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=REPOSITORY_DIR,
    )

    assert result.returncode == 0, result.stdout[-6000:]
