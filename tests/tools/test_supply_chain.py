"""What we build from is pinned, and names nobody's mirror."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((REPOSITORY_DIR / ".github" / "workflows").glob("*.yml"))
HASHED_REQUIREMENTS = [
    REPOSITORY_DIR / "requirements" / name for name in ("site.txt", "dev.txt", "mutation.txt")
]
ALL_REQUIREMENTS = sorted((REPOSITORY_DIR / "requirements").glob("*.txt"))


def workflow(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("path", ALL_REQUIREMENTS, ids=lambda path: path.name)
def test_requirements_name_exact_versions_and_no_index(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]

    assert "://" not in text
    assert [line for line in lines if not re.match(r"[\w.-]+==[\w.]+( |$)", line)] == []


@pytest.mark.parametrize("path", HASHED_REQUIREMENTS, ids=lambda path: path.name)
def test_every_requirement_has_its_hashes(path: Path) -> None:
    entries = re.split(r"\n(?=[\w.-]+==)", path.read_text(encoding="utf-8"))[1:]

    assert len(entries) > 10
    assert [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_nothing_installed_or_generated_is_committed() -> None:
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]

    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY_DIR)

    assert result.stdout.splitlines() == []


def test_the_npm_lock_has_hashes_and_no_addresses() -> None:
    lock = json.loads((REPOSITORY_DIR / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}

    assert {name for name, entry in packages.items() if "resolved" in entry} == set()
    assert {name for name, entry in packages.items() if "integrity" not in entry} == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_their_version_beside(path: Path) -> None:
    uses = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))

    loose = [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", use)]
    assert loose == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_and_a_job_says_what_more_it_needs(path: Path) -> None:
    content = workflow(path)
    more = {
        f"{name}: {scope}"
        for name, job in content["jobs"].items()
        for scope, access in job.get("permissions", {}).items()
        if access == "write"
    }

    assert content["permissions"] == {"contents": "read"}
    assert more == ({"deploy: pages", "deploy: id-token"} if path.name == "site.yml" else set())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_by_itself_and_calls_make(path: Path) -> None:
    for name, job in workflow(path)["jobs"].items():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        others = [command for command in commands if not command.startswith("make ")]
        assert job["timeout-minutes"] <= 60, name
        assert others in ([], ["exit 1"]), name
