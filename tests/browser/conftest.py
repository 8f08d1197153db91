"""The built site on a free port, and Node scripts that drive Pyodide or a browser against it."""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.support import (
    REPOSITORY_DIR,
    RunNode,
    browser_path,
    built_site_dir,
    missing,
)
from tools.serve import SiteServer, page_policy

BROWSER_TESTS_DIR = Path(__file__).resolve().parent

NODE_TIMEOUT_SECONDS = 300
RESULT_MARK = "RESULT "


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that drives a browser runs in Chromium, and in Firefox where it is marked so.

    With `FIREFOX=all` in the environment it runs in Firefox unless it is marked as Chromium's.
    """
    if "browser" not in metafunc.fixturenames:
        return
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    is_in_firefox = "in_firefox" in marks or (
        os.environ.get("FIREFOX") == "all" and "only_chromium" not in marks
    )
    browsers = ["chromium", "firefox"] if is_in_firefox else ["chromium"]
    metafunc.parametrize("browser", browsers, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS_DIR):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def built_site() -> Path:
    """The folder of the built site."""
    return built_site_dir()


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
    need_node()

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


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> str:
    """The name of the browser that a test drives."""
    name: str = request.param
    if name == "firefox" and browser_path(name) is None:
        pytest.skip("Firefox is not installed: `make firefox` installs it, or set FIREFOX_PATH")
    return name


@pytest.fixture(scope="session")
def browser_endpoint(browser: str) -> Iterator[str]:
    """Where a browser listens that all tests share, since each takes seconds to start."""
    need_node()
    with subprocess.Popen(
        ["node", str(BROWSER_TESTS_DIR / "serve_browser.mjs"), browser],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY_DIR,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            pytest.fail(f"{browser} did not start")
        yield address
        process.communicate()  # the end of its input is its end


@pytest.fixture(scope="session")
def browse(run_node: RunNode, browser: str, browser_endpoint: str) -> RunNode:
    """As `run_node`, for scripts that drive a browser: each page has a profile of its own."""
    return functools.partial(run_node, browser=browser, endpoint=browser_endpoint)


def need_node() -> None:
    if shutil.which("node") is None or not (REPOSITORY_DIR / "node_modules").is_dir():
        missing("Node or its packages are missing: run `make npm`")
