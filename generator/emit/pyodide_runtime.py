"""Python for the browser: Pyodide from the npm package, with a standard library of our own.

Everything is served from the site itself. Compiling the standard library is most of Pyodide's
start, so the site ships the modules that the estimator reaches as byte code (see
`tools/build_stdlib.mjs`).
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
PACKAGE_DIR = REPOSITORY_DIR / "node_modules" / "pyodide"
CACHE_DIR = REPOSITORY_DIR / ".cache" / "pyodide"
STDLIB_SCRIPT = REPOSITORY_DIR / "tools" / "build_stdlib.mjs"
COMPILE_SCRIPT = REPOSITORY_DIR / "tools" / "compile_sources.mjs"

ENTRY = "pyodide.mjs"
COPIED_FILES = (ENTRY, "pyodide.asm.mjs", "pyodide.asm.wasm")
FULL_STDLIB = "python_stdlib.zip"
NOTICE_NAME = "NOTICE.txt"

NOTICE = """\
pyodide.mjs, pyodide.asm.mjs, pyodide.asm.wasm: Pyodide {version}, unchanged, under the Mozilla
Public License 2.0. Source: the Pyodide project on GitHub, tag {version}.
python_stdlib-*.zip: part of CPython's standard library (Python Software Foundation License 2.0)
and of Pyodide's own modules, compiled to byte code without docstrings.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PyodideRuntime:
    """The files of one Pyodide release as the site serves them."""

    version: str
    entry: str
    standard_library: str
    file_bytes: Mapping[str, int]
    lock: Mapping[str, Any]
    """For `lockFileContents`: the release itself and no packages, so that none is asked for."""


def write_runtime(
    folder: Path, *, package_dir: Path = PACKAGE_DIR, cache_dir: Path = CACHE_DIR
) -> PyodideRuntime:
    """Writes the release into `folder/<version>/` and removes other releases from `folder`.

    Args:
        folder: `docs/assets/pyodide`.
        package_dir: The unpacked npm package.
        cache_dir: Where compiled standard libraries are kept between builds.

    Raises:
        FileNotFoundError: The npm packages are not installed.
    """
    version = package_version(package_dir)
    library = trimmed_stdlib(package_dir=package_dir, cache_dir=cache_dir)
    digest = hashlib.sha256(library).hexdigest()[:16]
    library_name = f"python_stdlib-{digest}.zip"

    target = folder / version
    target.mkdir(parents=True, exist_ok=True)
    for name in COPIED_FILES:
        _copy_if_changed(package_dir / name, target / name)
    (target / library_name).write_bytes(library)
    (target / NOTICE_NAME).write_text(NOTICE.format(version=version), encoding="utf-8")

    served = (*COPIED_FILES, library_name)
    for path in target.iterdir():
        if path.name not in {*served, NOTICE_NAME}:
            path.unlink()
    for path in folder.iterdir():
        if path.name != version:
            shutil.rmtree(path)
    return PyodideRuntime(
        version=version,
        entry=ENTRY,
        standard_library=library_name,
        file_bytes={name: (target / name).stat().st_size for name in served},
        lock=empty_lock(package_dir),
    )


def package_version(package_dir: Path = PACKAGE_DIR) -> str:
    """The release of the installed npm package."""
    description = package_dir / "package.json"
    if not description.is_file():
        raise FileNotFoundError(
            f"{description} is missing: run `npm ci` (or `make serve`, which does it) first"
        )
    version: str = json.loads(description.read_text(encoding="utf-8"))["version"]
    return version


def empty_lock(package_dir: Path = PACKAGE_DIR) -> dict[str, Any]:
    """A package list of the installed release without a package in it."""
    lock = json.loads((package_dir / "pyodide-lock.json").read_text(encoding="utf-8"))
    return {"info": lock["info"], "packages": {}}


def trimmed_stdlib(*, package_dir: Path = PACKAGE_DIR, cache_dir: Path = CACHE_DIR) -> bytes:
    """The standard library that the site serves, compiled once per Pyodide release and script."""
    key = _fingerprint(
        [(package_dir / FULL_STDLIB).read_bytes(), *_compiler_inputs(package_dir, STDLIB_SCRIPT)]
    )
    cached = cache_dir / f"stdlib-{key}.zip"
    if not cached.is_file():
        _run_node_into(cached, STDLIB_SCRIPT, package_dir)
    return cached.read_bytes()


def compile_sources(
    sources: bytes, *, package_dir: Path = PACKAGE_DIR, cache_dir: Path = CACHE_DIR
) -> dict[str, bytes]:
    """The byte code of every `.py` in a zip file, under its name with a `c` appended, and the
    methods of its dataclasses.

    Args:
        sources: The zip file's content.
        package_dir: The unpacked npm package, whose Python compiles.
        cache_dir: Where results are kept between builds.
    """
    key = _fingerprint([sources, *_compiler_inputs(package_dir, COMPILE_SCRIPT)])
    cached = cache_dir / f"core-{key}.zip"
    if not cached.is_file():
        library = trimmed_stdlib(package_dir=package_dir, cache_dir=cache_dir)
        with tempfile.TemporaryDirectory(dir=cache_dir) as scratch:
            source_file, library_file = Path(scratch) / "sources.zip", Path(scratch) / "library.zip"
            source_file.write_bytes(sources)
            library_file.write_bytes(library)
            _run_node_into(cached, COMPILE_SCRIPT, package_dir, library_file, source_file)
    with zipfile.ZipFile(cached) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _compiler_inputs(package_dir: Path, script: Path) -> list[bytes]:
    return [(package_dir / "pyodide.asm.wasm").read_bytes(), script.read_bytes()]


def _fingerprint(inputs: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for content in inputs:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def _run_node_into(target: Path, script: Path, *arguments: Path) -> None:
    """Runs a script whose last argument is the file to write; the file appears when complete."""
    if shutil.which("node") is None:
        raise FileNotFoundError("node is not on the PATH: install Node.js 20 or newer")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = Path(scratch) / "output"
        command = ["node", *map(str, (script, *arguments, output))]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
        output.replace(target)


def _copy_if_changed(source: Path, target: Path) -> None:
    if not target.is_file() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)
