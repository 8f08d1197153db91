"""The built site on a free port, and Node scripts that drive Pyodide or Chromium against it."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.support import REPOSITORY_DIR, SITE_DIR, RunNode, missing
from tools.serve import SiteServer, page_policy

BROWSER_TESTS_DIR = Path(__file__).resolve().parent

NODE_TIMEOUT_SECONDS = 300
RESULT_MARK = "RESULT "


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS_DIR):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def built_site() -> Path:
    """The folder of the built site."""
    if not (SITE_DIR / "index.html").is_file():
        missing("site/index.html is missing: run `make build`")
    return SITE_DIR


@pytest.fixture(scope="session")
def site_server(built_site: Path) -> Iterator[SiteServer]:
    """The built site below a sub-path, with the policy of its pages sent as a header too."""
    policy = page_policy(built_site)
    with SiteServer(built_site, base="/trainfit/", content_security_policy=policy) as server:
        server.warm()
        yield server


@pytest.fixture(scope="session")
def site_url(site_server: SiteServer) -> str:
    """The address of the site's front page."""
    return site_server.url


@pytest.fixture(scope="session")
def run_node() -> RunNode:
    """Runs a script of this folder with keyword arguments as its parameters; returns its report."""
    if shutil.which("node") is None or not (REPOSITORY_DIR / "node_modules").is_dir():
        missing("Node or its packages are missing: run `make npm`")

    def run(script: str, **parameters: Any) -> Any:
        result = subprocess.run(
            ["node", str(BROWSER_TESTS_DIR / script)],
            input=json.dumps(parameters),
            capture_output=True,
            text=True,
            check=False,
            timeout=NODE_TIMEOUT_SECONDS,
            cwd=REPOSITORY_DIR,
        )
        reports = [
            line.removeprefix(RESULT_MARK)
            for line in result.stdout.splitlines()
            if line.startswith(RESULT_MARK)
        ]
        if result.returncode != 0 or not reports:
            pytest.fail(f"{script} ended with {result.returncode}:\n{result.stderr[-4000:]}")
        return json.loads(reports[-1])

    return run
