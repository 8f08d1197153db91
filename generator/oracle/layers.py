"""`python -m generator.oracle.layers CASE.json`: what single layers keep for backward and need
while it runs.

The closed forms of the core are checked against these tables layer by layer. A case should be cut
to a few layers (`num_hidden_layers`); without checkpointing `saved_bytes` is the interesting
figure, with it `backward_extra_bytes`.
"""

import argparse
import dataclasses
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from generator.oracle.case import Case, case_from_json
from generator.oracle.run import StepRun, run_steps

_LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.(\d+)(?:\.|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One decoder layer of the second step."""

    layer: int
    saved_bytes: int
    """Activations alive at the end of the forward pass that this layer made."""
    backward_extra_bytes: int
    """Most that is alive during the layer's backward, its recomputation included, above what was
    alive when that began; gradients of weights are left out. Without checkpointing, 0."""
    peak_op: str
    saved_by_op: dict[str, int]
    """`saved_bytes` by submodule, operator and dtype."""


def layer_rows(case: Case) -> list[LayerRow]:
    """The table of a case."""
    run = run_steps(case)
    saved = _saved(run)
    backward = _backward_extra(run)
    return [
        LayerRow(
            layer=layer,
            saved_bytes=by_op.total(),
            backward_extra_bytes=backward.get(layer, (0, ""))[0],
            peak_op=backward.get(layer, (0, ""))[1],
            saved_by_op=dict(by_op.most_common()),
        )
        for layer, by_op in sorted(saved.items())
    ]


def _saved(run: StepRun) -> dict[int, Counter[str]]:
    by_layer: dict[int, Counter[str]] = {}
    for allocation in run.tracker.live_at(run.forward_end_time):
        match = _LAYER.search(allocation.module)
        if match is None or allocation.category != "activations":
            continue
        part = allocation.module[match.end() :]
        counter = by_layer.setdefault(int(match.group(1)), Counter())
        counter[f"{part} {allocation.op} {allocation.dtype}"] += allocation.size_bytes
    return by_layer


def _backward_extra(run: StepRun) -> dict[int, tuple[int, str]]:
    """By layer: extra bytes at the worst instant between its recomputation and the next layer's."""
    tracker = run.tracker
    changes = [0] * (tracker.time + 3)
    starts: dict[int, int] = {}
    for allocation in tracker.allocations:
        if allocation.category in ("gradients", "optimizer"):
            continue
        changes[allocation.born] += allocation.size_bytes
        if allocation.died is not None:
            changes[allocation.died + 1] -= allocation.size_bytes
        match = _LAYER.search(allocation.module)
        if match and allocation.category == "recomputed" and allocation.born > run.forward_end_time:
            starts.setdefault(int(match.group(1)), allocation.born)
    live = list(accumulate(changes))
    ordered = sorted(starts.items(), key=lambda item: item[1])
    extra: dict[int, tuple[int, str]] = {}
    for index, (layer, start) in enumerate(ordered):
        end = ordered[index + 1][1] if index + 1 < len(ordered) else tracker.time
        before = live[start - 1]
        worst = max(range(start, end), key=lambda time: live[time])
        op = next((a.op for a in tracker.allocations if a.born == worst), "")
        extra[layer] = (live[worst] - before, op)
    return extra


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m generator.oracle.layers", description=__doc__)
    parser.add_argument("case", help="file with one JSON object, or - for standard input")
    arguments = parser.parse_args()
    text = sys.stdin.read() if arguments.case == "-" else Path(arguments.case).read_text()
    rows = layer_rows(case_from_json(text))
    print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
