"""How far the real figure may lie from the estimate: `low` and `high` around a total.

For a named stack what PyTorch allocates follows from the source, and readings of the same set-up
differ by a few per cent between releases; what lies outside its tensors differs far more. The
generic stack stands for any tool, so that its band is the spread of the tools.
"""

from typing import Literal

from generator.core.memory import Ledger
from generator.core.run import Case

TENSORS_PERMILLE = 70
"""Tensors: nine in ten allocator readings lie within 3 %, releases of one tool differ by 2 to 5
%."""
OVERHEAD_LOW_PERMILLE = 300
OVERHEAD_HIGH_PERMILLE = 500
"""Context, communicator and allocator: from 0.75 GB and tight packing to 2 GB and loose packing."""

GENERIC_PERMILLE: dict[Literal["single", "sharded"], tuple[int, int]] = {
    "single": (150, 350),
    "sharded": (100, 650),
}
"""Below and above: four in five published readings, each set against the generic stack's total for
the row's settings, lie inside. Older losses keep more copies, and FSDP's gathered units exceed the
lump where a card's shard is small."""


def band(case: Case, ledger: Ledger) -> tuple[int, int]:
    """Lowest and highest total that published readings let one expect.

    Shape: bytes on one GPU.
    Counts: for a named stack `TENSORS_PERMILLE` of the tensors both ways, and the overhead less
        `OVERHEAD_LOW_PERMILLE` or plus `OVERHEAD_HIGH_PERMILLE` of it.
    Ignores: sequences shorter than stated, and peaks while a model is loaded.
    Source: S-READINGS; the shares inside are on the accuracy page.
    """
    if case.stack.is_generic:
        below, above = GENERIC_PERMILLE["single" if case.num_gpus == 1 else "sharded"]
        return (
            ledger.total - ledger.total * below // 1000,
            ledger.total + ledger.total * above // 1000,
        )
    tensors = (ledger.total - ledger.overhead) * TENSORS_PERMILLE // 1000
    return (
        ledger.total - tensors - ledger.overhead * OVERHEAD_LOW_PERMILLE // 1000,
        ledger.total + tensors + ledger.overhead * OVERHEAD_HIGH_PERMILLE // 1000,
    )
