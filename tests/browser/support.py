"""What the browser tests share besides fixtures."""

import os
import random
import statistics
import time
import zlib
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


REFERENCE_COMPRESSION_SECONDS = 0.008
"""What `slowdown` times, on an idle two-core machine on which `make bench` met every limit of time
in this folder."""


def slowdown() -> float:
    """How many times slower this machine is at present than the one that limits of time are for.

    At least 1. A host that other guests keep busy halves every speed without a mistake of ours. The
    work that is timed is nobody's here, so that nothing of ours becomes its own measure.
    """
    data = bytes(random.Random(0).choices(range(64), k=300_000))
    durations = []
    for _ in range(15):
        begun = time.perf_counter()
        zlib.compress(data, 9)
        durations.append(time.perf_counter() - begun)
    return max(1.0, statistics.median(durations) / REFERENCE_COMPRESSION_SECONDS)


def missing(reason: str) -> None:
    """Skips where a developer has not built everything; in CI what is missing is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def built_site_dir() -> Path:
    """The folder of the built site; whoever asks is skipped where it has not been built."""
    if not (SITE_DIR / "index.html").is_file():
        missing("site/index.html is missing: run `make build`")
    return SITE_DIR
