"""How a model is spread over GPUs before the step runs."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from generator.oracle.case import Case
from generator.oracle.models import DTYPES
from generator.oracle.tracker import Tracker


def apply_strategy(model: nn.Module, case: Case, tracker: Tracker) -> nn.Module:
    """Wrap `model` for the strategy of `case`."""
    match case.strategy:
        case "single":
            return model
        case "fsdp2":
            return _fully_sharded(model, case)
        case "ddp":
            return _distributed_data_parallel(model, case, tracker)


def decoder_layers(model: nn.Module) -> nn.ModuleList:
    """The list of decoder blocks, which is the longest module list."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    return max(lists, key=lambda layers: sum(p.numel() for p in layers.parameters()))


def _fully_sharded(model: nn.Module, case: Case) -> nn.Module:
    """FSDP2 with one unit per block and one for the rest, as torchtune, torchtitan and
    accelerate wrap."""
    with (
        unset_fake_temporarily()
    ):  # the mesh reads its own ranks, which fake tensors could not tell
        mesh = init_device_mesh("cuda", (case.num_gpus,))
    options: dict[str, Any] = {"mesh": mesh, "reshard_after_forward": True}
    if case.precision == "amp":
        options["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=DTYPES[case.reduce_dtype]
        )
    for layer in decoder_layers(model):
        fully_shard(layer, **options)
    return fully_shard(model, **options)


class _NoLogger:
    """DDP's own logger reads CUDA timers, which there are none of."""

    def set_runtime_stats_and_log(self) -> None:
        """Log nothing."""


class _FixedBuckets:
    """A reducer that keeps the buckets it was made with.

    The real one lays them out anew after the first step, in the order in which gradients came, and
    reads tensor data for that. The sizes add up to the same.
    """

    def __init__(self, reducer: Any) -> None:
        self._reducer = reducer

    def _rebuild_buckets(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reducer, name)


def _distributed_data_parallel(model: nn.Module, case: Case, tracker: Tracker) -> nn.Module:
    """DDP with its gradient buckets; the all-reduce itself is left out."""
    tracker.phase = "wrapping"
    with tracker:
        wrapped = nn.parallel.DistributedDataParallel(
            model,
            gradient_as_bucket_view=case.gradient_as_bucket_view,
            broadcast_buffers=False,
            init_sync=False,
        )

    def no_reduction(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    wrapped.register_comm_hook(None, no_reduction)
    wrapped.logger = _NoLogger()
    wrapped.reducer = _FixedBuckets(wrapped.reducer)
    return wrapped
