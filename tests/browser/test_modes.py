"""Readers who see, move or wait differently: a phone, less motion, own colours, a slow line."""

import io
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generator.core import api
from generator.core.units import format_gb
from generator.load import load_catalog
from generator.tables.base import VERDICT_SIGNS
from tests.browser.support import REPOSITORY_DIR, RunNode
from tests.browser.test_pyodide_runtime import LARGEST_TRANSFER_BYTES
from tools.serve import SiteRequestHandler, SiteServer, page_policy

SCRIPT = "modes.mjs"
ROW = "full--adamw--zero-3--h100-sxm-80gb"
SLOW_BYTES_PER_SECOND = 50_000
SLOW_LATENCY_SECONDS = 0.4
"""Slow 3G, as the browsers' tools have it: 400 kbit/s."""


def total(**request: Any) -> int:
    answer = json.loads(api.run(json.dumps(request), load_catalog()))
    total_bytes: int = answer["per_gpu"]["total"]
    return total_bytes


def number(num_bytes: int) -> str:
    return format_gb(num_bytes).removesuffix(" GB")


@pytest.mark.only_chromium
def test_a_phone_shows_and_asks_everything(browse: RunNode, site_url: str) -> None:
    changed = "v=1&model=llama-3.1-8b&method=qlora&strategy=zero-3&num_gpus=8"
    seen = browse(SCRIPT, scenario="phone", url=site_url, row=ROW, changed=changed)

    answered = seen["answered"]
    expected = total(model="llama-3.1-8b", method="qlora", strategy="zero-3", num_gpus=8)
    assert answered["totalBytes"] == expected
    assert answered["overflow"] == seen["tables"] == 0
    assert f"fits: {number(expected)}" in answered["strip"].lower()
    assert answered["isStripInView"]
    assert answered["small"] == []
    assert seen["errors"] == []


@pytest.mark.only_chromium
def test_nothing_moves_for_who_asked_for_less_motion(browse: RunNode, site_url: str) -> None:
    moving = browse(SCRIPT, scenario="less_motion", url=site_url)

    assert len(moving) > 1
    assert {path: found for path, found in moving.items() if found} == {}


@pytest.mark.only_chromium
def test_everything_is_told_in_the_reader_s_own_colours(browse: RunNode, site_url: str) -> None:
    seen = browse(SCRIPT, scenario="own_colours", url=site_url, row=ROW)

    calculator, tables = seen["calculator"], seen["tables"]
    signs = tuple(VERDICT_SIGNS.values())
    assert calculator["verdict"] == f"{VERDICT_SIGNS['fits']} Fits"
    assert all(text.strip().startswith(signs) for text in calculator["cells"])
    assert all(text.strip().startswith(signs) for text in tables["cells"])
    assert calculator["chosenCell"] != "none"
    assert tables["mark"] != "none"
    assert calculator["checked"] != calculator["unchecked"]
    assert calculator["selected"] != calculator["unselected"]
    assert len(calculator["swatches"]) > 1
    assert calculator["page"] not in calculator["swatches"]
    assert calculator["unseen"] == []
    assert tables["unseen"] == []


class _SlowWriter(io.RawIOBase):
    """What goes out through one line that all connections share."""

    line = threading.Lock()

    def __init__(self, file: Any) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        for start in range(0, len(data), 1400):
            piece = data[start : start + 1400]
            with self.line:
                time.sleep(len(piece) / SLOW_BYTES_PER_SECOND)
            self._file.write(piece)
        return len(data)


class _SlowRequestHandler(SiteRequestHandler):
    def setup(self) -> None:
        super().setup()
        self.wfile = _SlowWriter(self.wfile)  # type: ignore[assignment]

    def do_GET(self) -> None:  # noqa: N802  http.server's name
        time.sleep(SLOW_LATENCY_SECONDS)
        try:
            super().do_GET()
        except ConnectionError:
            self.close_connection = True  # the page has gone before everything was there


@pytest.fixture
def slow_url(built_site: Path) -> Iterator[str]:
    """The site's address over a slow line."""
    policy = page_policy(built_site)
    with SiteServer(built_site, base="/trainfit/", content_security_policy=policy) as server:
        server.RequestHandlerClass = _SlowRequestHandler
        yield server.url


def test_over_a_slow_line_the_answer_is_there_before_python(browse: RunNode, slow_url: str) -> None:
    seen = browse(SCRIPT, scenario="slow_line", url=slow_url)

    assert number(total(model="llama-3.1-8b")) in seen["first"]["text"]
    assert re.match("(Start|Load|Read)ing", seen["waiting"]["text"])
    assert seen["waiting"]["isBusy"] == "true"
    assert seen["waiting"]["isChecked"]
    assert not seen["waiting"]["isAnswered"]
    assert seen["errors"] == []


def test_a_slow_line_has_time_enough_to_bring_python() -> None:
    engine = REPOSITORY_DIR / "docs" / "assets" / "calculator" / "engine.js"
    found = re.search(r"START_LIMIT_MS = ([\d_]+)", engine.read_text(encoding="utf-8"))

    assert found is not None
    assert int(found[1]) / 1000 >= 2 * LARGEST_TRANSFER_BYTES / SLOW_BYTES_PER_SECOND
