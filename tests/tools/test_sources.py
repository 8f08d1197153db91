"""The scheduled look at the catalog's sources finds what is gone and what is old, and only that."""

import datetime
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.sources import dead_links, stale_sources

STATUS_OF_PATH = {"/alive": 200, "/gone": 404, "/shy": 403}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(STATUS_OF_PATH[self.path])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
        pass


@pytest.fixture
def host() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def catalog_with(tmp_path: Path, **sources: tuple[str, str]) -> Path:
    folder = tmp_path / "catalog"
    (folder / "cards").mkdir(parents=True)
    text = "".join(
        f'[sources.{key}]\nurl = "{url}"\naccessed = {accessed}\n'
        for key, (url, accessed) in sources.items()
    )
    (folder / "cards" / "a.toml").write_text(text)
    return folder


def test_a_page_that_is_gone_is_named_with_the_places_that_cite_it(
    tmp_path: Path, host: str
) -> None:
    catalog = catalog_with(
        tmp_path,
        paper=(f"{host}/alive", "2026-11-30"),
        datasheet=(f"{host}/gone", "2026-11-30"),
        forum=(f"{host}/shy", "2026-11-30"),
    )

    found = dead_links(catalog)

    expected = f"{host}/gone answers 404\n    cited by catalog/cards/a.toml: sources.datasheet"
    assert found == [expected]


def test_a_source_is_stale_after_eighteen_months(tmp_path: Path) -> None:
    catalog = catalog_with(
        tmp_path,
        old=("http://a.example/", "2025-05-01"),
        fresh=("http://b.example/", "2025-07-01"),
    )

    found = stale_sources(catalog, today=datetime.date(2026, 11, 30))

    assert found == ["catalog/cards/a.toml: sources.old: last read 2025-05-01"]
