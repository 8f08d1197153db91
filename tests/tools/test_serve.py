"""The local server behaves as a careful static host does."""

import gzip
import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tools.serve import SiteServer, main, page_policy

POLICY = "default-src 'self'"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "models" / "a").mkdir(parents=True)
    (site / "assets" / "pyodide" / "314.0.7").mkdir(parents=True)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    (site / "index.html").write_text(f"<html><head>{meta}</head>front</html>" + " " * 600)
    (site / "404.html").write_text("<html>no such page</html>")
    (site / "models" / "a" / "index.html").write_text("<html>model a</html>")
    (site / "assets" / "core-0123456789abcdef.zip").write_bytes(b"zip" * 300)
    (site / "assets" / "pyodide" / "314.0.7" / "pyodide.asm.wasm").write_bytes(b"\0asm" * 300)
    (site / "assets" / "manifest.json").write_text("{}")
    (site / "assets" / "worker.mjs").write_text("export {}")
    (tmp_path / "secret.txt").write_text("secret")
    return site


@pytest.fixture
def server(site: Path) -> Iterator[SiteServer]:
    policy = page_policy(site)
    with SiteServer(site, base="trainfit", content_security_policy=policy) as server:
        yield server


def get(
    server: SiteServer, path: str, *, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=sent)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/trainfit/", "text/html; charset=utf-8"),
        ("/trainfit/assets/pyodide/314.0.7/pyodide.asm.wasm", "application/wasm"),
        ("/trainfit/assets/worker.mjs", "text/javascript; charset=utf-8"),
        ("/trainfit/assets/manifest.json", "application/json"),
    ],
)
def test_files_have_the_content_type_that_browsers_insist_on(
    server: SiteServer, path: str, content_type: str
) -> None:
    response, _ = get(server, path)

    assert (response.status, response.headers["Content-Type"]) == (200, content_type)


@pytest.mark.parametrize(
    ("path", "forever"),
    [
        ("/trainfit/assets/core-0123456789abcdef.zip", True),
        ("/trainfit/assets/pyodide/314.0.7/pyodide.asm.wasm", True),
        ("/trainfit/assets/manifest.json", False),
        ("/trainfit/", False),
    ],
)
def test_only_what_is_named_by_its_content_is_cached_for_good(
    server: SiteServer, path: str, forever: bool
) -> None:
    response, _ = get(server, path)

    assert ("immutable" in response.headers["Cache-Control"]) is forever


def test_a_page_is_compressed_for_those_who_ask(server: SiteServer) -> None:
    plain, plain_body = get(server, "/trainfit/")
    packed, packed_body = get(server, "/trainfit/", Accept_Encoding="gzip, br")

    assert plain.headers["Content-Encoding"] is None
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed_body) == plain_body
    assert len(packed_body) < len(plain_body)


def test_an_unchanged_page_is_not_sent_again_and_a_changed_one_is(
    server: SiteServer, site: Path
) -> None:
    first, _ = get(server, "/trainfit/models/a/")
    etag = first.headers["ETag"]
    again, body = get(server, "/trainfit/models/a/", If_None_Match=etag)
    (site / "models" / "a" / "index.html").write_text("<html>model a, second edition</html>")
    changed, _ = get(server, "/trainfit/models/a/", If_None_Match=etag)

    assert (again.status, body) == (304, b"")
    assert changed.status == 200


def test_a_folder_without_its_slash_redirects_so_that_relative_links_work(
    server: SiteServer,
) -> None:
    response, _ = get(server, "/trainfit/models/a")

    assert (response.status, response.headers["Location"]) == (301, "/trainfit/models/a/")


def test_the_root_leads_to_the_sub_path(server: SiteServer) -> None:
    response, _ = get(server, "/")

    assert (response.status, response.headers["Location"]) == (301, "/trainfit/")


@pytest.mark.parametrize(
    "path",
    [
        "/trainfit/nothing",
        "/models/a/",
        "/trainfit/../secret.txt",
        "/trainfit/%2e%2e/secret.txt",
        "/trainfit/..%2fsecret.txt",
        "/trainfit//etc/passwd",
        "/trainfit/%00",
    ],
)
def test_what_is_not_in_the_site_gets_the_site_s_own_404_page(
    server: SiteServer, path: str
) -> None:
    response, body = get(server, path)

    assert (response.status, body) == (404, b"<html>no such page</html>")


def test_pages_carry_their_policy_as_a_header_too(server: SiteServer) -> None:
    page, _ = get(server, "/trainfit/")
    data, _ = get(server, "/trainfit/assets/manifest.json")

    assert page.headers["Content-Security-Policy"] == POLICY
    assert data.headers["Content-Security-Policy"] is None


def test_head_tells_the_length_without_a_body(server: SiteServer) -> None:
    response, body = get(server, "/trainfit/models/a/", method="HEAD")

    assert (response.status, response.headers["Content-Length"], body) == (200, "20", b"")


@pytest.mark.parametrize(
    ("error", "is_told"), [(ConnectionResetError("gone"), False), (ValueError("a fault"), True)]
)
def test_only_a_fault_of_the_server_itself_is_printed(
    server: SiteServer, capsys: pytest.CaptureFixture[str], error: Exception, is_told: bool
) -> None:
    try:
        raise error
    except type(error):
        server.handle_error(None, ("127.0.0.1", 1))

    assert (str(error) in capsys.readouterr().err) == is_told


def test_a_taken_port_is_told_without_a_built_site(
    server: SiteServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = server.server_address[1]
    monkeypatch.setattr("sys.argv", ["serve.py", f"--port={port}", "--try", "--directory=none"])

    assert main() == 1
    assert f"port {port} is taken" in capsys.readouterr().err


def test_a_free_port_is_only_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["serve.py", "--port=0", "--try", "--directory=none"])

    assert main() == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("port", ["99999", "-1", "abc", "8000.5"])
def test_what_is_no_port_is_refused_in_words(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["serve.py", f"--port={port}"])

    with pytest.raises(SystemExit) as refused:
        main()

    assert refused.value.code == 2
    assert f"'{port}' is no port: choose 0 to 65535" in capsys.readouterr().err
