"""The estimator and its catalog as one file that the browser fetches and Python imports as it is.

One archive holds code and data, so that the two can never be of different ages. It is named by its
content, stored uncompressed (a web server's compression does better on it than deflate would) and
the same bytes come out of the same input everywhere. It holds each module twice: as byte code of
Pyodide's Python, and as source, which any other Python takes instead (`python -I -S` imports it).
Beside them lie the methods that dataclasses would compile at each start.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.emit.pyodide_runtime import PyodideRuntime, compile_sources

GENERATOR_DIR = Path(__file__).resolve().parents[1]

BUNDLE_NAME = "bundle.json"
METHODS_NAME = "dataclass-methods.bin"
"""Methods of our dataclasses by their source, compiled; `tools/compile_sources.mjs` writes it."""
MANIFEST_NAME = "manifest.json"

_HASH_CHARACTERS = 16
"""64 bits: enough to tell any two builds apart, short enough to read."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip entry can carry. A clock would change the bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserArchive:
    """The archive's name, which holds a hash of its content, and that content."""

    name: str
    content: bytes


def read_sources(generator_dir: Path = GENERATOR_DIR) -> dict[str, bytes]:
    """The modules that the browser needs, by their path in the archive."""
    paths = [generator_dir / "__init__.py", *(generator_dir / "core").rglob("*.py")]
    return {
        f"generator/{path.relative_to(generator_dir).as_posix()}": path.read_bytes()
        for path in paths
    }


def build_archive(
    *, bundle: str, sources: Mapping[str, bytes], bytecode: Mapping[str, bytes]
) -> BrowserArchive:
    """The archive of the estimator's modules and the catalog.

    Args:
        bundle: The catalog as JSON text, as `generator.core.codec.catalog_to_dict` describes it.
        sources: What `read_sources` returns.
        bytecode: The same modules compiled by Pyodide's Python, by `compile_sources`; where it is
            empty, the browser compiles at every start.
    """
    content = stored_zip({**sources, **bytecode, BUNDLE_NAME: bundle.encode()})
    return BrowserArchive(name=f"core-{content_hash(content)}.zip", content=content)


def stored_zip(members: Mapping[str, bytes]) -> bytes:
    """A zip file without compression whose bytes depend on names and contents only."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", compression=zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.create_system = 3  # Unix, on every host
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[name])
    return output.getvalue()


def content_hash(content: bytes) -> str:
    """The part of a file's name that changes whenever its content does."""
    return hashlib.sha256(content).hexdigest()[:_HASH_CHARACTERS]


def manifest(*, archive: BrowserArchive, runtime: PyodideRuntime) -> dict[str, Any]:
    """What the calculator's worker reads first: which files to fetch and how large they are.

    `core.file` lies beside the manifest. `pyodide.folder` is relative to the manifest; in it lie
    `entry` (the module that exports `loadPyodide`), `standard_library` (for its `stdLibURL`) and
    the rest of `files`; `lock` goes to `lockFileContents`. Sizes are before compression.
    """
    return {
        "core": {
            "file": archive.name,
            "bytes": len(archive.content),
            "bundle": BUNDLE_NAME,
            "methods": METHODS_NAME,
        },
        "pyodide": {
            "version": runtime.version,
            "folder": f"../pyodide/{runtime.version}/",
            "entry": runtime.entry,
            "standard_library": runtime.standard_library,
            "files": dict(sorted(runtime.file_bytes.items())),
            "lock": dict(runtime.lock),
        },
    }


def write_archive(*, bundle: str, runtime: PyodideRuntime, folder: Path) -> BrowserArchive:
    """Writes the archive and its manifest into `folder`, and removes what an earlier build left.

    Args:
        bundle: The catalog as JSON text.
        runtime: What `pyodide_runtime.write_runtime` wrote.
        folder: `docs/assets/core`.
    """
    sources = read_sources()
    archive = build_archive(
        bundle=bundle, sources=sources, bytecode=compile_sources(stored_zip(sources))
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / archive.name).write_bytes(archive.content)
    # The manifest last: at no time does it name a file that is not there.
    text = json.dumps(manifest(archive=archive, runtime=runtime), indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in {archive.name, MANIFEST_NAME}:
            path.unlink()
    return archive
