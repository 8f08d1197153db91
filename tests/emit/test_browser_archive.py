"""The archive that the browser imports: same bytes every time, usable by any bare interpreter."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from generator.emit.browser_archive import (
    BUNDLE_NAME,
    BrowserArchive,
    build_archive,
    manifest,
    read_sources,
    stored_zip,
)
from generator.emit.pyodide_runtime import PyodideRuntime

FOREIGN_BYTECODE = b"\x00\x00\r\n" + (1).to_bytes(4, "little") + bytes(8) + b"N"
"""Byte code of no Python that there is: a wrong magic number."""


def archive_of(bundle: str, *, foreign_bytecode: bool = False) -> BrowserArchive:
    sources = read_sources()
    bytecode = {f"{name}c": FOREIGN_BYTECODE for name in sources} if foreign_bytecode else {}
    return build_archive(bundle=bundle, sources=sources, bytecode=bytecode)


def test_equal_input_gives_equal_bytes_in_any_order_and_at_any_time() -> None:
    forwards = stored_zip({"a": b"1", "b": b"2"})
    backwards = stored_zip({"b": b"2", "a": b"1"})

    assert forwards == backwards
    assert archive_of("{}") == archive_of("{}")


def test_the_name_follows_the_content() -> None:
    assert archive_of("{}").name != archive_of('{"models": {}}').name


def test_members_are_stored_without_compression_and_without_a_clock() -> None:
    with zipfile.ZipFile(io.BytesIO(archive_of("{}").content)) as archive:
        entries = archive.infolist()

    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert "generator/core/errors.py" in {entry.filename for entry in entries}
    assert not any("/emit/" in entry.filename for entry in entries)


@pytest.mark.parametrize("foreign_bytecode", [False, True], ids=["source", "beside-byte-code"])
def test_a_bare_interpreter_imports_every_module_of_the_archive(
    tmp_path: Path, foreign_bytecode: bool
) -> None:
    archive = archive_of('{"answer": 42}', foreign_bytecode=foreign_bytecode)
    path = tmp_path / archive.name
    path.write_bytes(archive.content)
    program = f"""
import sys, importlib, zipfile
sys.path.insert(0, {str(path)!r})
names = [n for n in zipfile.ZipFile({str(path)!r}).namelist() if n.endswith(".py")]
for name in names:
    importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
import generator.core.errors, json
assert generator.core.errors.__file__.startswith({str(path)!r})
bundle = generator.__loader__.get_data({f"{path}/{BUNDLE_NAME}"!r})
print(json.loads(bundle)["answer"], len(names))
"""

    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert result.stderr == ""
    answer, modules = result.stdout.split()
    assert answer == "42"
    assert int(modules) == len(read_sources())


def test_the_manifest_names_the_files_and_their_sizes() -> None:
    archive = BrowserArchive(name="core-0123456789abcdef.zip", content=b"12345")
    runtime = PyodideRuntime(
        version="314.0.7",
        entry="pyodide.mjs",
        standard_library="python_stdlib-fedcba9876543210.zip",
        file_bytes={"python_stdlib-fedcba9876543210.zip": 7, "pyodide.mjs": 3},
        lock={"info": {"abi_version": "2026_0"}, "packages": {}},
    )

    assert json.loads(json.dumps(manifest(archive=archive, runtime=runtime))) == {
        "core": {
            "file": "core-0123456789abcdef.zip",
            "bytes": 5,
            "bundle": "bundle.json",
            "methods": "dataclass-methods.bin",
        },
        "pyodide": {
            "version": "314.0.7",
            "folder": "../pyodide/314.0.7/",
            "entry": "pyodide.mjs",
            "standard_library": "python_stdlib-fedcba9876543210.zip",
            "files": {"pyodide.mjs": 3, "python_stdlib-fedcba9876543210.zip": 7},
            "lock": {"info": {"abi_version": "2026_0"}, "packages": {}},
        },
    }
