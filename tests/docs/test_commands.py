"""Commands in our texts are commands that there are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
TEXTS = [
    *sorted(REPOSITORY_DIR.glob("*.md")),
    *sorted((REPOSITORY_DIR / "catalog").rglob("*.md")),
    *sorted((REPOSITORY_DIR / ".github").rglob("*.md")),
]
COMMAND = re.compile(r"(?:`|^(?:echo .*\| )?)(?:[A-Z]+=\S+ )?make ([a-z-]+)", re.MULTILINE)
MODULE_COMMAND = re.compile(r"-m generator ([a-z]+)")


def makefile_targets() -> set[str]:
    text = (REPOSITORY_DIR / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_make_targets_in_texts_exist(path: Path) -> None:
    named = set(COMMAND.findall(path.read_text(encoding="utf-8")))

    assert named - makefile_targets() == set()


def test_commands_of_the_generator_in_texts_exist() -> None:
    texts = [*TEXTS, *(REPOSITORY_DIR / "docs").glob("*.md"), REPOSITORY_DIR / "Makefile"]
    named = {
        name for path in texts for name in MODULE_COMMAND.findall(path.read_text(encoding="utf-8"))
    }

    help_text = subprocess.run(
        [sys.executable, "-m", "generator", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY_DIR,
    ).stdout

    offered = set(re.findall(r"^    ([a-z]+)(?: |$)", help_text, re.MULTILINE))
    assert {"estimate", "build", "check"} <= offered
    assert named - offered == set()


def test_the_readme_names_the_two_commands() -> None:
    named = set(COMMAND.findall((REPOSITORY_DIR / "README.md").read_text(encoding="utf-8")))

    assert {"serve", "test", "check", "new-model", "new-card"} <= named


def test_every_target_is_phony_and_explained_or_a_step_of_another() -> None:
    text = (REPOSITORY_DIR / "Makefile").read_text(encoding="utf-8")
    explained = set(re.findall(r"^([a-z-]+):.*## \S", text, re.MULTILINE))
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)$", text, re.MULTILINE))

    assert makefile_targets() == phony
    assert phony - explained == {"checked", "free-port", "venv", "npm", "chromium", "firefox"}
