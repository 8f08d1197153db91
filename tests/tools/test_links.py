"""The scheduled look at the catalog's sources finds what is gone, and only that."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.links import dead_links

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


def catalog_with(tmp_path: Path, **sources: str) -> Path:
    folder = tmp_path / "catalog"
    (folder / "cards").mkdir(parents=True)
    text = "".join(f'[sources.{key}]\nurl = "{url}"\n' for key, url in sources.items())
    (folder / "cards" / "a.toml").write_text(text)
    return folder


def test_a_page_that_is_gone_is_named_with_the_places_that_cite_it(
    tmp_path: Path, host: str
) -> None:
    catalog = catalog_with(
        tmp_path,
        paper=f"{host}/alive",
        datasheet=f"{host}/gone",
        forum=f"{host}/shy",
    )

    found = dead_links(catalog)

    expected = f"{host}/gone answers 404\n    cited by catalog/cards/a.toml: sources.datasheet"
    assert found == [expected]
