"""The suites of the site's own scripts, run by Node's test runner."""

import re
import subprocess
from pathlib import Path

import pytest

from generator.core.catalog import STAGE_SUFFIXES
from generator.emit.bars import COMPONENTS
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


CALCULATOR_DIR = REPOSITORY_DIR / "docs" / "assets" / "calculator"


def test_the_page_announces_every_module_of_the_calculator() -> None:
    page = (REPOSITORY_DIR / "docs" / "calculator.md").read_text(encoding="utf-8")

    announced = re.findall(r'rel="modulepreload" href="\.\./assets/calculator/([^"]+)"', page)
    classic = re.findall(r'<script src="\.\./assets/calculator/([^"]+)"', page)

    assert sorted(announced + classic) == sorted(path.name for path in CALCULATOR_DIR.glob("*.js"))
    assert announced == sorted(announced)


def test_scripts_leave_the_stages_out_of_names_that_the_core_does() -> None:
    text = (CALCULATOR_DIR.parent / "javascripts" / "names.js").read_text(encoding="utf-8")

    listed = re.findall(r'"(\w+)"', text[text.index("STAGES = ") :].split(";")[0])

    assert listed == [suffix.removeprefix("-") for suffix in STAGE_SUFFIXES]


@pytest.mark.parametrize(
    ("script", "pattern"),
    [
        (CALCULATOR_DIR / "fields.js", r'\["(\w+)", "([^"]+)", "\w+"\]'),
        (CALCULATOR_DIR.parent / "javascripts" / "breakdown.js", r'^  (\w+): "([^"]+)",$'),
    ],
    ids=["calculator", "tables"],
)
def test_scripts_name_the_parts_of_memory_as_the_pages_do(script: Path, pattern: str) -> None:
    text = script.read_text(encoding="utf-8")
    listed = text[text.index("COMPONENTS = ") :].split(";")[0]

    named = re.findall(pattern, listed, flags=re.MULTILINE)

    assert named == [(key, label) for key, (label, _) in COMPONENTS.items()]


@pytest.mark.parametrize(
    "script",
    [*CALCULATOR_DIR.glob("*.js"), *(REPOSITORY_DIR / "docs" / "calculator").glob("*.js")],
    ids=lambda path: path.name,
)
def test_lines_of_the_calculator_have_at_most_100_columns(script: Path) -> None:
    lines = script.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > 100] == []
