"""The calibrated constants of the memory estimate: the few figures that no source code gives."""

from dataclasses import dataclass

from generator.core import band
from generator.core.catalog import Catalog
from generator.core.units import GB, MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One figure, where it acts and where it comes from."""

    name: str
    value: str
    origin: str


def constants(catalog: Catalog) -> list[Constant]:
    """All calibrated constants, with the values that are in force.

    Args:
        catalog: Where the stacks are.
    """
    stacks = [stack for stack in catalog.stacks.values() if not stack.is_generic]

    def shared(name: str) -> str:
        values = sorted({int(getattr(stack, name)) for stack in stacks})
        return ", ".join(f"{value / 10:g} %" for value in values)

    usual = stacks[0]
    low, high = band.OVERHEAD_LOW_PERMILLE, band.OVERHEAD_HIGH_PERMILLE
    single, sharded = band.GENERIC_PERMILLE["single"], band.GENERIC_PERMILLE["sharded"]
    paired = "driver and allocator readings of the same runs in three benchmark files (A100)"
    return [
        Constant(
            name="Generic stack: everything that a named stack itemises",
            value=f"{(catalog.stack('generic').overhead_bytes or 0) / GB:g} GB",
            origin="convention of the published tables, no measurement",
        ),
        Constant(
            name="CUDA context, kernels and caches outside the allocator",
            value=f"{usual.context_bytes / GB:g} GB",
            origin=f"0.75 GB in {paired}; 1.3 GB on a V100, 2 GB under PyTorch 2.0 elsewhere",
        ),
        Constant(
            name="Communicator of a process in a group",
            value=f"{usual.communicator_bytes / GB:g} GB",
            origin=paired,
        ),
        Constant(
            name="cuBLAS workspaces",
            value=f"{usual.workspace_bytes / MIB:g} MiB",
            origin="PyTorch's default of two, seen as 16 to 23 MiB in readings of known scripts",
        ),
        Constant(
            name="Allocator's slack on activations, one GPU",
            value=shared("activation_slack_permille"),
            origin=f"11 % in {paired}; PyTorch gives the last of it back before it runs out",
        ),
        Constant(
            name="Allocator's slack on activations under FSDP2, FSDP1 and ZeRO-3",
            value=shared("sharded_slack_permille"),
            origin=f"20 % under FSDP1 in {paired}; FSDP2 frees in stream order",
        ),
        Constant(
            name="Allocator's slack on everything else",
            value=shared("static_slack_permille"),
            origin="1 to 4 % of weights and states in readings of full copies",
        ),
        Constant(
            name="Low to high, named stack",
            value=f"tensors ±{band.TENSORS_PERMILLE / 10:g} %, "
            f"overhead -{low / 10:g} to +{high / 10:g} %",
            origin="spread of the readings on this page",
        ),
        Constant(
            name="Low to high, generic stack",
            value=f"-{single[0] / 10:g} to +{single[1] / 10:g} % on one GPU, "
            f"-{sharded[0] / 10:g} to +{sharded[1] / 10:g} % sharded",
            origin="four in five readings of all tools, set against the generic total",
        ),
    ]
