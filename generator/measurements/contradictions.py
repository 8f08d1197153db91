"""Cells of one measured row that cannot both be true, each with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NO_READING = "fits (no reading given)"
SHARED = ("ddp", "fsdp", "fsdp_qlora")
"""Strategies of several GPUs. ZeRO is none of them: DeepSpeed's engine runs on one as well."""
READINGS = ("gib_per_gpu", "gb_per_gpu_unit_unstated")
UNSEPARATED = re.compile(r"\w+(\s+\w+)+")
WORDY_TARGETS = ("all linear",)
UNQUANTISED = ("bf16", "fp16", "fp32")


def contradictions(row: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A column of each contradiction, and what it is, with the remedy.

    Args:
        row: The text by column, of a memory row or of a throughput row.
    """
    gpus = row.get("num_gpus", "")
    if row.get("strategy") == "single" and _number(gpus) > 1:
        told = (
            f"single is one GPU, and num_gpus is {gpus}; write num_gpus 1, or what the GPUs share"
        )
        yield "strategy", f"{told}, such as ddp or zero-3"
    if row.get("strategy") in SHARED and _number(gpus) == 1:
        told = f"{row['strategy']} is for several GPUs, and num_gpus is 1; write strategy single"
        yield "strategy", f"{told}, or how many there were"
    targets = re.sub(r"\(.*?\)", "", row.get("lora_targets", ""))
    for part in targets.split(","):
        if UNSEPARATED.fullmatch(part.strip()) and part.strip() not in WORDY_TARGETS:
            told = f"{part.strip()[:40]} are several modules; put commas between them"
            yield "lora_targets", told
    method = row.get("method", "").partition("+")[0]
    for column in ("lora_rank", "lora_targets"):
        if method == "full" and row.get(column):
            told = f"method full has no adapter, and {column} is {row[column][:40]}"
            yield column, f"{told}; empty the cell, or write method lora or qlora"
    if method == "qlora" and row.get("base_dtype") in UNQUANTISED:
        told = f"qlora has a quantised base, and base_dtype is {row['base_dtype']}"
        yield "base_dtype", f"{told}; write what it is stored in, such as nf4-dq, or method lora"
    for column in READINGS if row.get("metric") == NO_READING else ():
        if row.get(column):
            told = f"the metric says that there is no reading, and {column} is {row[column][:40]}"
            yield column, f"{told}; write its metric, or empty the cell"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0
