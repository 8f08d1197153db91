"""Counts every CUDA storage from its creation to its death.

PyTorch's `MemTracker` does the same and agreed to the byte on five cases; this one also keeps the
history, so that the live set of any instant can be told apart by purpose.
"""

import contextlib
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import active_fake_mode
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from generator.oracle.case import LiveTensor, PhasePeak
from generator.oracle.workspaces import workspace_bytes

ALLOCATION_GRANULE_BYTES = 512
"""The CUDA caching allocator rounds every request up to this
(c10/cuda/CUDACachingAllocator.cpp)."""

aten = torch.ops.aten


def local_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a sharded tensor; a plain tensor as it is."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


@dataclass(slots=True)
class Allocation:
    """One storage and the instants between which it lived."""

    size_bytes: int
    category: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    module: str
    born: int
    died: int | None = None


@dataclass(slots=True)
class Instant:
    """The worst moment of a phase so far."""

    time: int
    live_bytes: int
    workspace_bytes: int
    op: str


class Tracker(TorchDispatchMode):  # type: ignore[misc]  # torch is untyped where it is not installed
    """Dispatch mode under which a step runs. Set `phase` as the step goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.phase = "setup"
        self.module_stack: list[str] = []
        self.allocations: list[Allocation] = []
        self.live_bytes = 0
        self.peaks: dict[str, Instant] = {}
        self.time = 0
        self._known = WeakIdKeyDictionary()
        self._mode = active_fake_mode()

    def track(self, tensor: torch.Tensor, category: str, op: str = "given") -> Allocation | None:
        """Count a tensor's storage unless it is known; None for tensors that are not on the
        card."""
        if tensor.device.type != "cuda":
            return None
        storage = tensor.untyped_storage()
        known = self._known.get(storage)
        if known is not None:
            allocation: Allocation = known[0]
            size_bytes = _granules(storage.nbytes())
            self.live_bytes += size_bytes - allocation.size_bytes
            allocation.size_bytes = size_bytes
            return allocation
        return self._remember(
            storage,
            Allocation(
                size_bytes=_granules(storage.nbytes()),
                category=category,
                op=op,
                shape=tuple(tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
                module=self.module_stack[-1] if self.module_stack else "",
                born=self.time,
            ),
        )

    def retag(self, tensor: torch.Tensor, category: str) -> None:
        """Say what a tensor turned out to be for."""
        allocation = self.track(local_tensor(tensor), category)
        if allocation is not None:
            allocation.category = category

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if DTensor in types:
            return NotImplemented
        if func is torch.ops._c10d_functional.wait_tensor.default:
            return args[0]
        if active_fake_mode() is not self._mode:
            # DTensor works out shardings on global-size fakes of its own, which no card would hold.
            return func(*args, **(kwargs or {}))
        if self._accumulates_in_place(func, args, kwargs):
            self.time += 1
            return args[0]
        result = func(*args, **(kwargs or {}))
        self.time += 1
        op = func._schema.name.removeprefix("aten::")
        category = self._category()
        for leaf in [result] if isinstance(result, torch.Tensor) else tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.track(leaf, category, op)
        self._note_peak(op, workspace_bytes(op, args))
        return result

    def live_at(self, time: int) -> list[Allocation]:
        """Everything that lived at an instant."""
        return [
            allocation
            for allocation in self.allocations
            if allocation.born <= time and (allocation.died is None or allocation.died >= time)
        ]

    def phase_peak(self, phase: str) -> PhasePeak:
        """The worst instant of a phase, told apart by category."""
        instant = self.peaks[phase]
        by_category: Counter[str] = Counter()
        for allocation in self.live_at(instant.time):
            by_category[allocation.category] += allocation.size_bytes
        if by_category.total() != instant.live_bytes:
            raise AssertionError(
                f"categories of {phase} sum to {by_category.total()}, "
                f"the counter says {instant.live_bytes}"
            )
        return PhasePeak(
            total_bytes=instant.live_bytes + instant.workspace_bytes,
            workspace_bytes=instant.workspace_bytes,
            op=instant.op,
            by_category=dict(by_category),
        )

    def largest_at_peak(self, phase: str, count: int) -> list[LiveTensor]:
        """The largest storages of a phase's worst instant."""
        live = sorted(
            self.live_at(self.peaks[phase].time), key=lambda allocation: -allocation.size_bytes
        )
        return [
            LiveTensor(
                size_bytes=allocation.size_bytes,
                category=allocation.category,
                op=allocation.op,
                shape=allocation.shape,
                dtype=allocation.dtype,
                module=allocation.module,
            )
            for allocation in live[:count]
        ]

    @contextlib.contextmanager
    def watching_resizes(self) -> Iterator[None]:
        """Follow `UntypedStorage.resize_`, by which FSDP frees and refills its gathered
        parameters."""
        original = torch.UntypedStorage.resize_

        def resize(storage: Any, size: int) -> None:
            original(storage, size)
            known = self._known.get(storage)
            size_bytes = _granules(storage.nbytes())
            if known is None or known[0].size_bytes == size_bytes:
                return
            before: Allocation = known[0]
            self._free(before)
            after = Allocation(
                size_bytes=size_bytes,
                category=before.category,
                op="resize_",
                shape=before.shape,
                dtype=before.dtype,
                module=before.module,
                born=self.time + 1,
            )
            self._remember(storage, after)

        torch.UntypedStorage.resize_ = resize
        try:
            yield
        finally:
            torch.UntypedStorage.resize_ = original

    def _remember(self, storage: Any, allocation: Allocation) -> Allocation:
        self.allocations.append(allocation)

        def died(_: Any) -> None:
            self._free(allocation)

        reference = weakref.ref(storage, died)
        self._known[storage] = (allocation, reference)
        self.live_bytes += allocation.size_bytes
        return allocation

    def _free(self, allocation: Allocation) -> None:
        if allocation.died is None:
            allocation.died = self.time
            self.live_bytes -= allocation.size_bytes

    def _note_peak(self, op: str, workspace: int) -> None:
        peak = self.peaks.get(self.phase)
        if peak is None or self.live_bytes + workspace > peak.live_bytes + peak.workspace_bytes:
            self.peaks[self.phase] = Instant(self.time, self.live_bytes, workspace, op)

    def _category(self) -> str:
        if self.phase.startswith("forward"):
            return "activations"
        if self.phase.startswith("backward"):
            return "recomputed" if torch.is_grad_enabled() else "temporaries"
        return "buckets" if self.phase == "wrapping" else "temporaries"

    def _accumulates_in_place(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> bool:
        """Whether autograd would add two gradients into the first of them.

        Its InputBuffer does so when it holds the last reference to a plain tensor, but never for a
        tensor subclass such as a fake tensor. A view keeps its base alive and is added out of place
        in both.
        """
        return (
            func is aten.add.Tensor
            and not kwargs
            and len(args) == 2
            and self.phase.startswith("backward")
            and not torch.is_grad_enabled()
            and isinstance(args[1], torch.Tensor)
            and args[0].shape == args[1].shape
            and args[0].dtype == args[1].dtype
            and not args[0]._is_view()
        )


def _granules(size_bytes: int) -> int:
    return -(-size_bytes // ALLOCATION_GRANULE_BYTES) * ALLOCATION_GRANULE_BYTES
