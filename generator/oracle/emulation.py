"""What makes a CPU-only PyTorch take the decisions that it would take on a card."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any, Self

import torch
import torch.cuda.amp.common
import torch.distributed.device_mesh
import torch.distributed.fsdp._fully_shard._fsdp_collectives
import torch.distributed.fsdp._fully_shard._fsdp_init
import torch.distributed.fsdp._fully_shard._fsdp_param_group
import transformers.masking_utils

FLASH_MAX_HEAD_DIM = 256
"""PyTorch's flash kernel takes no wider heads (sdp_utils.cpp)."""

HOPPER_CAPABILITY = (9, 0)
"""Compute capability that the code under test sees: grouped matrix products ask for it."""

aten = torch.ops.aten
_kernels: Any = None


def install() -> None:
    """Patch what has to be patched once per process."""
    global _kernels  # noqa: PLW0603  a Library unregisters its kernels when it is collected
    if _kernels is not None:
        return
    _kernels = torch.library.Library("aten", "IMPL")
    # Without a CUDA kernel the dispatcher would decompose the operator into pieces that no card
    # materialises.
    _kernels.impl("silu_backward", _never_called, "CUDA")
    # Otherwise autocast for CUDA turns itself off.
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    torch.cuda.get_device_capability = lambda *_, **__: HOPPER_CAPABILITY
    # It looks at data, which fake tensors do not have; without packing it answers None.
    transformers.masking_utils.find_packed_sequence_indices = lambda *_, **__: None
    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention
    _install_streams()


def _never_called(*_: Any, **__: Any) -> None:
    raise RuntimeError("fake tensors answer before any kernel runs")


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """The kernel that a card would pick: flash without a mask, else memory-efficient attention.

    A CPU-only build would fall back to plain matrix products for a CUDA tensor.
    """
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        query, key, value = (
            tensor.to(dtype) if tensor.dtype == torch.float32 else tensor
            for tensor in (query, key, value)
        )
    head_dim = query.shape[-1]
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    is_half = query.dtype in (torch.bfloat16, torch.float16)
    if (
        attn_mask is None
        and is_half
        and head_dim <= FLASH_MAX_HEAD_DIM
        and value.shape[-1] == head_dim
    ):
        output = aten._scaled_dot_product_flash_attention(
            query, key, value, dropout_p, is_causal, return_debug_mask=False, scale=scale
        )
        return output[0]
    if enable_gqa and key.shape[1] != query.shape[1]:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    bias = attn_mask
    if bias is not None:
        if bias.dtype == torch.bool:
            nothing = torch.zeros((), dtype=query.dtype, device=query.device)
            minus_infinity = torch.full((), -math.inf, dtype=query.dtype, device=query.device)
            bias = torch.where(bias, nothing, minus_infinity)
        bias = bias.expand(*query.shape[:3], key.shape[2])
    output = aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, torch.is_grad_enabled(), dropout_p, is_causal, scale=scale
    )
    return output[0]


class _Event:
    """A CUDA event of a device on which everything has already happened."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def record(self, *_: Any, **__: Any) -> "_Event":
        return self

    def wait(self, *_: Any, **__: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True


class _Stream:
    """A CUDA stream that does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device = torch.device("cuda", 0)

    def wait_event(self, *_: Any) -> None:
        pass

    def wait_stream(self, *_: Any) -> None:
        pass

    def record_event(self, *_: Any) -> _Event:
        return _Event()

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


_CURRENT_STREAM = _Stream()


class _Device:
    """The module `torch.cuda` as far as FSDP asks for it."""

    Stream = _Stream
    Event = _Event

    @staticmethod
    def current_stream(*_: Any) -> _Stream:
        return _CURRENT_STREAM

    @staticmethod
    def stream(_: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 8

    @staticmethod
    def set_device(*_: Any) -> None:
        pass

    @staticmethod
    def synchronize(*_: Any) -> None:
        pass


def _install_streams() -> None:
    fully_shard = torch.distributed.fsdp._fully_shard
    for module in (
        torch.distributed.device_mesh,
        fully_shard._fsdp_collectives,
        fully_shard._fsdp_init,
        fully_shard._fsdp_param_group,
    ):
        module._get_device_handle = lambda *_: _Device
    torch.cuda.current_stream = _Device.current_stream
    torch.cuda.current_device = _Device.current_device
    torch.cuda.stream = _Device.stream
    torch.cuda.Stream = _Stream
    torch.cuda.Event = _Event


@contextlib.contextmanager
def old_loss() -> Iterator[None]:
    """The loss of transformers up to 4.48: FP32 logits, shifted by a copy."""
    from transformers.loss import loss_utils

    def causal_loss(logits: torch.Tensor, labels: torch.Tensor, vocab_size: int, **_: Any) -> Any:
        logits = logits.float()
        shifted = logits[..., :-1, :].contiguous()
        targets = labels[..., 1:].contiguous()
        return torch.nn.functional.cross_entropy(shifted.view(-1, vocab_size), targets.view(-1))

    original = loss_utils.LOSS_MAPPING["ForCausalLM"]
    loss_utils.LOSS_MAPPING["ForCausalLM"] = causal_loss
    try:
        yield
    finally:
        loss_utils.LOSS_MAPPING["ForCausalLM"] = original
