"""Times the estimator, the matrix, the build and the calculator, and prints one table.

    python tools/bench.py            # everything; needs the built site, Node and Chromium
    python tools/bench.py --core     # the estimator and the matrix only

The machine is named above the table, since times from different machines do not compare. The matrix
is also set against a plain NumPy pass over as many cells in the same run, which does compare.
"""

import argparse
import gzip
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY_DIR = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY_DIR))

SITE_DIR = REPOSITORY_DIR / "site"
REQUEST = {"model": "llama-3.1-8b", "card": "h100-sxm-80gb"}
PROFILES, CHANGES = 5, 15
LINK = "v=1&model=llama-3.1-8b&strategy=zero-3&num_gpus=8"
"""The set-up whose link is followed in the browser."""


def seconds(run: Callable[[], object], *, repeat: int = 1) -> float:
    """The median duration of one call."""
    durations = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations)


def row(what: str, value: str, remark: str = "") -> None:
    """One line of the table."""
    print(f"{what:<52}{value:>16}   {remark}".rstrip(), flush=True)


def machine() -> str:
    """The processor, its load and the interpreter."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].split(":")[1].strip() if names else processor
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{processor}, {os.cpu_count()} cores{load}, Python {platform.python_version()}"


def bench_core() -> None:
    """One answer, all cards for one model, the start of the command line."""
    from generator.core.api import run
    from generator.load import load_catalog

    catalog = load_catalog()
    lengths = itertools.count(1024, 64)

    def ask(**request: object) -> None:
        # Another length each time: the same question twice would find parts of its answer kept.
        text = json.dumps({**REQUEST, **request, "sequence_length": next(lengths)})
        answer = run(text, catalog)
        if answer.startswith('{"error"'):
            raise RuntimeError(answer)

    for what, request in (("one estimate", {}), ("all cards x counts", {"op": "grid"})):
        ask(**request)
        row(
            f"{what}, text to text",
            f"{seconds(partial(ask, **request), repeat=50) * 1e3:.2f} ms",
        )
    estimate = json.dumps(REQUEST)
    command = [sys.executable, "-m", "generator", "estimate"]
    start = seconds(
        lambda: subprocess.run(
            command, input=estimate, capture_output=True, text=True, check=True, cwd=REPOSITORY_DIR
        ),
        repeat=3,
    )
    row("command line, one estimate", f"{start * 1e3:.0f} ms")


def bench_matrix() -> None:
    """The whole matrix, at three sizes of the catalog."""
    import numpy as np

    from generator import matrix
    from generator.load import load_catalog

    catalog = load_catalog()
    ids = sorted(catalog.models)
    for share in (4, 2, 1):
        chosen = ids[: max(1, len(ids) // share)]
        start = time.perf_counter()
        built = matrix.build(catalog, models=chosen)
        duration = time.perf_counter() - start
        cells = built.num_cells
        rate = cells / duration
        row(
            f"matrix, {len(chosen)} models",
            f"{duration:.2f} s",
            f"{cells:,} verdict cells, {rate / 1e6:.2f} million cells/s",
        )
    totals = np.full(cells, 70_000_000_000, dtype=np.int64)
    limits = np.full(cells, 76_000_000_000, dtype=np.int64)

    def plain_pass() -> object:
        return (totals > limits).astype(np.int8) + (totals > limits + limits // 20)

    plain = seconds(plain_pass, repeat=3)
    row(
        "plain NumPy pass over as many cells",
        f"{plain:.3f} s",
        f"matrix takes {duration / plain:.1f} times that",
    )


def bench_build() -> None:
    """Generation and the site engine at three sizes of the catalog, beside the present output."""
    from generator.emit import OUTPUT_FILES, OUTPUT_ROOTS
    from generator.load import load_catalog

    ids = sorted(load_catalog().models)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    work = REPOSITORY_DIR / ".cache" / "bench"
    docs, site = work / "docs", work / "site"
    config = REPOSITORY_DIR / "mkdocs.bench.yml"
    generated = {str(REPOSITORY_DIR / "docs" / each) for each in (*OUTPUT_ROOTS, *OUTPUT_FILES)}

    def skipped(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if str(Path(folder) / name) in generated]

    def run(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, "-m", *arguments]
        return lambda: subprocess.run(
            command, check=True, capture_output=True, cwd=REPOSITORY_DIR, env=environment
        )

    # Hand-written pages link to models that a part of the catalog lacks.
    config.write_text(f"INHERIT: mkdocs.yml\nstrict: false\ndocs_dir: {docs}\n", encoding="utf-8")
    mkdocs = ("mkdocs", "--quiet", "build", "--no-strict", "-f", str(config), "-d", str(site))
    try:
        for share in (4, 2, 1):
            chosen = ids[: max(1, len(ids) // share)]
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(REPOSITORY_DIR / "docs", docs, ignore=skipped)
            steps = {
                "generate pages, JSON and archive": run(
                    "generator", "build", "--docs", str(docs), "--models", *chosen
                ),
                "mkdocs build": run(*mkdocs),
            }
            together = 0.0
            for what, step in steps.items():
                before = os.times()
                together += (duration := seconds(step))
                after = os.times()
                # Steadier than the clock where others use the machine, too.
                used = sum(after[2:4]) - sum(before[2:4])
                row(
                    f"{what}, {len(chosen)} models",
                    f"{duration:.1f} s",
                    f"processor {used:.1f} s, {used / len(chosen) * 1e3:.0f} ms a model",
                )
            row(f"both, {len(chosen)} models", f"{together:.1f} s")
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        row("site", f"{size / 1e6:.1f} MB", f"{len(files)} files")
    finally:
        config.unlink()
        shutil.rmtree(work, ignore_errors=True)


def bench_browser() -> None:
    """Transfer, start and answers of the calculator in Chromium."""
    from tools.serve import SiteServer

    assets = SITE_DIR / "assets"
    manifest = json.loads((assets / "core" / "manifest.json").read_text(encoding="utf-8"))
    runtime = manifest["pyodide"]
    folder = assets / "core" / runtime["folder"]
    files = [
        assets / "core" / manifest["core"]["file"],
        *(folder / name for name in runtime["files"]),
    ]
    packed = [len(gzip.compress(path.read_bytes(), 9)) for path in files]
    row(
        "archive of core and catalog",
        f"{packed[0] / 1e3:.0f} kB",
        f"gzip; {manifest['core']['bytes'] / 1e3:.0f} kB raw",
    )
    row("calculator's Python in all", f"{sum(packed) / 1e6:.2f} MB", "gzip")
    with SiteServer(SITE_DIR) as server:
        server.warm()
        parameters = {
            "url": server.url,
            "profiles": PROFILES,
            "changes": CHANGES,
            "link": LINK,
        }
        result = subprocess.run(
            ["node", str(REPOSITORY_DIR / "tools" / "bench_browser.mjs")],
            input=json.dumps(parameters),
            capture_output=True,
            text=True,
            check=True,
            cwd=REPOSITORY_DIR,
        )
    visits: list[dict[str, Any]] = json.loads(result.stdout.split("RESULT ")[-1])
    for visit, name in (("cold", "cold"), ("second", "second visit")):
        chosen = [each for each in visits if each["visit"] == visit]
        span_row(f"link followed to its answer, {name}", [each["answered"] for each in chosen])
        span_row(f"first change, {name}", [each["changes"][0] for each in chosen])
    restored = sum(each["isRestored"] for each in visits if each["visit"] == "second")
    row("second visits that restored Python's memory", f"{restored} of {PROFILES}")
    span_row("change to its painted answer", [time for each in visits for time in each["changes"]])
    scripts = [each["longestScript"] for each in visits]
    span_row("longest script of ours in a visit", [each["duration"] for each in scripts])
    longest = max(scripts, key=lambda each: each["duration"])
    row("the longest of them", f"{longest['duration']:.0f} ms", longest["place"])


def span_row(what: str, milliseconds: list[float]) -> None:
    """A line with the median and the span of some times."""
    times = sorted(milliseconds)
    row(
        what,
        f"{statistics.median(times):.0f} ms",
        f"{times[0]:.0f} to {times[-1]:.0f}, n={len(times)}",
    )


def main() -> int:
    """Run the benchmarks and print the table."""
    parser = argparse.ArgumentParser(description="Time the parts of trainfit.")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--core", action="store_true", help="only the estimator and the matrix")
    parts.add_argument("--browser", action="store_true", help="only the calculator in Chromium")
    arguments = parser.parse_args()
    print(machine())
    if not arguments.browser:
        bench_core()
        bench_matrix()
    if not (arguments.core or arguments.browser):
        bench_build()
    if not arguments.core:
        bench_browser()
    return 0


if __name__ == "__main__":
    sys.exit(main())
