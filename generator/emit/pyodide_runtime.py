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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY_DIR = Path(__file__).resolve().parents[2]
PACKAGE_DIR = REPOSITORY_DIR / "node_modules" / "pyodide"
CACHE_DIR = REPOSITORY_DIR / ".cache" / "pyodide"
STDLIB_SCRIPT = REPOSITORY_DIR / "tools" / "build_stdlib.mjs"

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


def trimmed_stdlib(*, package_dir: Path = PACKAGE_DIR, cache_dir: Path = CACHE_DIR) -> bytes:
    """The standard library that the site serves, compiled once per Pyodide release and script."""
    fingerprint = hashlib.sha256()
    for path in (package_dir / FULL_STDLIB, package_dir / "pyodide.asm.wasm", STDLIB_SCRIPT):
        fingerprint.update(hashlib.sha256(path.read_bytes()).digest())
    cached = cache_dir / f"stdlib-{fingerprint.hexdigest()}.zip"
    if not cached.is_file():
        cache_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_dir) as scratch:
            output = Path(scratch) / "stdlib.zip"
            _run_node(str(STDLIB_SCRIPT), str(package_dir), str(output))
            # Renamed when complete, so that an interrupted build leaves no half a library behind.
            output.replace(cached)
    return cached.read_bytes()


def _run_node(*arguments: str) -> None:
    if shutil.which("node") is None:
        raise FileNotFoundError("node is not on the PATH: install Node.js 20 or newer")
    result = subprocess.run(["node", *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"node {' '.join(arguments)} failed:\n{result.stdout}{result.stderr}")


def _copy_if_changed(source: Path, target: Path) -> None:
    if not target.is_file() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)
