"""The Python that the site ships: complete, small, and the same bytes from every build."""

import gzip
import json
from pathlib import Path

from generator.emit.browser_archive import METHODS_NAME, read_sources, stored_zip
from generator.emit.pyodide_runtime import compile_sources, trimmed_stdlib
from tests.browser.support import RunNode

LARGEST_TRANSFER_BYTES = 6_000_000


def test_two_builds_of_the_byte_code_give_the_same_bytes(run_node: RunNode, tmp_path: Path) -> None:
    sources = stored_zip(read_sources())

    first_library = trimmed_stdlib(cache_dir=tmp_path / "first")
    second_library = trimmed_stdlib(cache_dir=tmp_path / "second")
    first_core = compile_sources(sources, cache_dir=tmp_path / "first")
    second_core = compile_sources(sources, cache_dir=tmp_path / "second")

    assert first_library == second_library
    assert first_core == second_core
    assert set(first_core) == {METHODS_NAME, *(f"{name}c" for name in read_sources())}


def test_the_calculator_s_python_stays_within_its_transfer_budget(built_site: Path) -> None:
    assets = built_site / "assets"
    manifest = json.loads((assets / "core" / "manifest.json").read_text(encoding="utf-8"))
    pyodide = assets / "core" / manifest["pyodide"]["folder"]
    files = [
        assets / "core" / manifest["core"]["file"],
        *map(pyodide.joinpath, manifest["pyodide"]["files"]),
    ]

    transferred = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in files}

    assert sum(transferred.values()) <= LARGEST_TRANSFER_BYTES, transferred


def test_sizes_in_the_manifest_are_those_of_the_files(built_site: Path) -> None:
    folder = built_site / "assets" / "core"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    pyodide = folder / manifest["pyodide"]["folder"]

    sizes = {name: (pyodide / name).stat().st_size for name in manifest["pyodide"]["files"]}

    assert sizes == manifest["pyodide"]["files"]
    assert (folder / manifest["core"]["file"]).stat().st_size == manifest["core"]["bytes"]
