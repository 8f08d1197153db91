"""Serves the built site on this machine, the way a static host does.

Right content types, compression, revalidation, long caching of files named by their content, the
site's 404 page, an optional sub-path. Only this machine can reach it, and it reads nothing outside
the folder.

    python tools/serve.py [--directory site] [--port 8000] [--base /trainfit/] [--csp] [--try]
"""

import argparse
import email.utils
import gzip
import hashlib
import html.parser
import mimetypes
import re
import sys
import threading
import urllib.parse
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
    ".zip": "application/zip",
}
"""Explicit, since Python's own table follows the machine's settings."""

ALREADY_COMPRESSED = {".gz", ".jpg", ".jpeg", ".parquet", ".png", ".webp", ".woff2"}
"""Our .zip files are stored, not deflated, and are compressed like text."""

IMMUTABLE = re.compile(r"(?:[.-][0-9a-f]{8,}\.(?:min\.)?\w+|/assets/pyodide/\d[\d.]*/[^/]+)$")
"""Names that carry a hash of their content, and Pyodide's files below their version."""

LAST_PORT = 65535
COMPRESSION_LEVEL = 6
SMALLEST_COMPRESSED_BYTES = 512
LARGE_BYTES = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """One file as it goes out, plain and compressed."""

    plain: bytes
    compressed: bytes | None
    content_type: str
    etag: str
    modified: float


class SiteServer(ThreadingHTTPServer):
    """A server of one folder; as a context manager it runs in a thread of its own.

    Args:
        directory: The built site.
        port: 0 takes any free port.
        base: The path below which the site appears, with slashes at both ends.
        content_security_policy: Sent with every page when given.
        quiet: Log no requests.
    """

    daemon_threads = True

    def __init__(
        self,
        directory: Path,
        *,
        port: int = 0,
        base: str = "/",
        content_security_policy: str | None = None,
        quiet: bool = True,
    ) -> None:
        super().__init__(("127.0.0.1", port), SiteRequestHandler)
        self.directory = directory.resolve()
        self.base = "/" + base.strip("/") + "/" if base.strip("/") else "/"
        self.content_security_policy = content_security_policy
        self.quiet = quiet
        self.requested_paths: list[str] = []
        self._representations: dict[Path, Representation] = {}
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the site's front page."""
        return f"http://127.0.0.1:{self.server_address[1]}{self.base}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()
        self.server_close()
        if self._thread is not None:
            self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it is only that a browser has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def warm(self) -> None:
        """Compress the large files now, so that no first visitor waits for it."""
        for path in sorted(self.directory.rglob("*")):
            if path.is_file() and path.stat().st_size >= LARGE_BYTES:
                self.representation(path)

    def representation(self, path: Path) -> Representation:
        """The file's content, read and compressed once per change."""
        modified = path.stat().st_mtime
        known = self._representations.get(path)
        if known is None or known.modified != modified:
            known = _represent(path, modified)
            self._representations[path] = known
        return known


def _represent(path: Path, modified: float) -> Representation:
    plain = path.read_bytes()
    suffix = path.suffix.lower()
    compressed = None
    if suffix not in ALREADY_COMPRESSED and len(plain) >= SMALLEST_COMPRESSED_BYTES:
        compressed = gzip.compress(plain, COMPRESSION_LEVEL, mtime=0)
    guessed = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Representation(
        plain=plain,
        compressed=compressed,
        content_type=CONTENT_TYPES.get(suffix, guessed),
        etag=f'"{hashlib.sha256(plain).hexdigest()[:32]}"',
        modified=modified,
    )


class SiteRequestHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD from the server's folder."""

    server: SiteServer
    protocol_version = "HTTP/1.1"
    server_version = "trainfit"
    sys_version = ""

    def do_GET(self) -> None:
        """Send a file with its content."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send a file's headers."""
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
        """Log to stderr unless the server is quiet."""
        if not self.server.quiet:
            sys.stderr.write(f"{self.log_date_time_string()} {format % args}\n")

    def _answer(self, *, with_body: bool) -> None:
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        self.server.requested_paths.append(path)
        if not path.startswith(self.server.base):
            if path in {"/", self.server.base.rstrip("/")}:
                self._redirect(self.server.base)
            else:
                self._send_missing(with_body=with_body)
            return
        target = self._locate(path)
        if target is None:
            self._send_missing(with_body=with_body)
        elif target.is_dir():
            # Relative links in a page only work below its folder.
            self._redirect(urllib.parse.quote(path) + "/")
        else:
            self._send_file(target, HTTPStatus.OK, with_body=with_body)

    def _locate(self, path: str) -> Path | None:
        """The file that a path names, or a folder that lacks its slash, or nothing."""
        if "\0" in path:
            return None
        target = (self.server.directory / path.removeprefix(self.server.base)).resolve()
        if not target.is_relative_to(self.server.directory):
            return None
        if target.is_dir() and not path.endswith("/"):
            return target
        if path.endswith("/"):
            target /= "index.html"
        return target if target.is_file() else None

    def _redirect(self, location: str) -> None:
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", location)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_missing(self, *, with_body: bool) -> None:
        page = self.server.directory / "404.html"
        if page.is_file():
            self._send_file(page, HTTPStatus.NOT_FOUND, with_body=with_body)
            return
        body = b"not found\n"
        self.send_response(HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _send_file(self, path: Path, status: HTTPStatus, *, with_body: bool) -> None:
        file = self.server.representation(path)
        if status is HTTPStatus.OK and self.headers.get("If-None-Match") == file.etag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self._send_caching(file)
            self.end_headers()
            return
        accepted = self.headers.get("Accept-Encoding", "")
        body = file.plain
        self.send_response(status)
        if file.compressed is not None:
            self.send_header("Vary", "Accept-Encoding")
            if "gzip" in accepted:
                body = file.compressed
                self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", file.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        # The published JSON is for programs everywhere, as on the public host.
        self.send_header("Access-Control-Allow-Origin", "*")
        policy = self.server.content_security_policy
        if policy is not None and file.content_type.startswith("text/html"):
            self.send_header("Content-Security-Policy", policy)
        self._send_caching(file)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _send_caching(self, file: Representation) -> None:
        path = urllib.parse.urlsplit(self.path).path
        immutable = IMMUTABLE.search(path) is not None
        self.send_header(
            "Cache-Control", "public, max-age=31536000, immutable" if immutable else "no-cache"
        )
        self.send_header("ETag", file.etag)
        self.send_header("Last-Modified", email.utils.formatdate(file.modified, usegmt=True))


class _PolicyParser(html.parser.HTMLParser):
    """Finds the policy that a page carries in its head."""

    policy: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "meta" and (attributes.get("http-equiv") or "").lower() == (
            "content-security-policy"
        ):
            self.policy = attributes.get("content")


def page_policy(directory: Path) -> str | None:
    """The Content-Security-Policy that the site's front page carries, or None."""
    parser = _PolicyParser()
    parser.feed((directory / "index.html").read_text(encoding="utf-8"))
    return parser.policy


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: choose 0 to {LAST_PORT}")
    return int(text)


def main() -> int:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve the built site on this machine.")
    parser.add_argument("--directory", type=Path, default=Path("site"), help="the built site")
    parser.add_argument("--port", type=_port, default=8000, help="0 takes any free port")
    parser.add_argument("--base", default="/", help="sub-path to serve below, as /trainfit/")
    parser.add_argument(
        "--csp", action="store_true", help="also send the pages' Content-Security-Policy as header"
    )
    parser.add_argument(
        "--try", dest="only_try", action="store_true", help="only say whether the port is free"
    )
    arguments = parser.parse_args()
    directory: Path = arguments.directory
    if not arguments.only_try and not (directory / "index.html").is_file():
        print(f"{directory}/index.html is missing: run `make build` first", file=sys.stderr)
        return 1
    policy = page_policy(directory) if arguments.csp and not arguments.only_try else None
    try:
        server = SiteServer(
            directory,
            port=arguments.port,
            base=arguments.base,
            content_security_policy=policy,
            quiet=False,
        )
    except OSError as error:
        print(
            f"port {arguments.port} is taken ({error.strerror}): choose another with PORT=8001",
            file=sys.stderr,
        )
        return 1
    if arguments.only_try:
        server.server_close()
        return 0
    print(f"trainfit is at {server.url}  (Ctrl-C ends it)", flush=True)
    threading.Thread(target=server.warm, daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
