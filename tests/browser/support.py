"""What the browser tests share besides fixtures."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
SITE_DIR = REPOSITORY_DIR / "site"

RunNode = Callable[..., Any]
"""`run_node("script.mjs", key=value, ...)` returns what the script reports."""


BROWSER_PATHS = {
    "chromium": ("CHROME_PATH", "chromium", "chromium-browser", "google-chrome"),
    "firefox": ("FIREFOX_PATH", "firefox-esr", "firefox"),
}
"""For each browser the variable that names it, then where it may lie; as in browsers.mjs."""


def browser_path(name: str) -> str | None:
    """Where a browser is, or None."""
    variable, *names = BROWSER_PATHS[name]
    candidates = [os.environ.get(variable, ""), *(f"/usr/bin/{each}" for each in names)]
    return next((path for path in candidates if path and Path(path).is_file()), None)


def missing(reason: str) -> None:
    """Skips where a developer has not built everything; in CI what is missing is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
