"""Build and load the library that lets a CPU-only PyTorch hold fake CUDA tensors.

`load()` has to run before the first `import torch` of the process, so nothing here imports it.
"""

import ctypes
import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("fake_cuda_guard.cpp")
BUILD_DIR = Path(__file__).with_name("_build")


def _torch_dir() -> Path:
    """Where the installed PyTorch lies, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise RuntimeError(
            "the oracle needs PyTorch, which is not installed here; "
            "install requirements/oracle.txt into an environment of its own"
        )
    return Path(spec.origin).parent


def build() -> Path:
    """Compile the library for the installed PyTorch, unless that was done before."""
    torch_dir = _torch_dir()
    if (torch_dir / "lib" / "libtorch_cuda.so").exists():
        raise RuntimeError(
            "the oracle needs a CPU-only build of PyTorch, and this one brings CUDA, whose hooks "
            "would clash with the fake ones; install the CPU build of the same release from "
            "PyTorch's own package index into the oracle's environment"
        )
    version = importlib.metadata.version("torch")
    library = BUILD_DIR / f"fake_cuda_guard-{version}.so"
    if library.exists() and library.stat().st_mtime >= SOURCE.stat().st_mtime:
        return library
    BUILD_DIR.mkdir(exist_ok=True)
    include, libraries = torch_dir / "include", torch_dir / "lib"
    command = ["g++", "-shared", "-fPIC", "-O1", "-std=c++17", f"-I{include}", str(SOURCE)]
    command += ["-o", str(library), f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    command += ["-ltorch_cpu", "-lc10"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"g++ could not build {SOURCE.name}; it says:\n{result.stderr[-2000:]}")
    return library


def load() -> None:
    """Register the fake CUDA device. Does nothing when it is registered already."""
    if "torch" in sys.modules:
        if hasattr(sys.modules["torch"], "_trainfit_fake_cuda"):
            return
        raise RuntimeError(
            "generator.oracle has to be imported before torch; change the order of the imports"
        )
    ctypes.CDLL(str(build()))
    import torch

    torch._trainfit_fake_cuda = True
