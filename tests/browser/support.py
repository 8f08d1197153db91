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


def missing(reason: str) -> None:
    """Skips where a developer has not built everything; in CI what is missing is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
