"""What the browser tests share besides fixtures."""

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generator.core import api
from generator.load import load_catalog

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


REFERENCE_ESTIMATE_SECONDS = 0.00053
"""One estimate, text to text, by `tools/bench.py` on the idle two-core machine that the limits of
time are for."""


def slowdown() -> float:
    """How many times slower this machine is at present than the one that limits of time are for.

    At least 1. A host that other guests keep busy halves every speed without a mistake of ours.
    """
    catalog = load_catalog()
    durations = []
    for turn in range(60):
        # Another length each time: the same question twice would find parts of its answer kept.
        request = {"model": "llama-3.1-8b", "card": "h100-sxm-80gb"}
        text = json.dumps({**request, "sequence_length": 1024 + 64 * turn})
        begun = time.perf_counter()
        api.run(text, catalog)
        durations.append(time.perf_counter() - begun)
    return max(1.0, statistics.median(durations[20:]) / REFERENCE_ESTIMATE_SECONDS)


def missing(reason: str) -> None:
    """Skips where a developer has not built everything; in CI what is missing is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
