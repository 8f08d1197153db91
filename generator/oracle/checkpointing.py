"""Activation checkpointing per decoder block, all of it or by operator."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    create_selective_checkpoint_contexts,
)

from generator.oracle.case import Checkpointing

aten = torch.ops.aten

KEPT_OPERATORS = frozenset(
    {
        aten.mm.default,
        aten._scaled_dot_product_efficient_attention.default,
        aten._scaled_dot_product_flash_attention.default,
    }
)
"""Operators whose output selective checkpointing keeps; of matrix products every second one."""


def enable_checkpointing(model: nn.Module, mode: Checkpointing) -> None:
    """Switch the blocks of a transformers model to `mode`."""
    if mode == "none":
        return
    options: dict[str, Any] = {"use_reentrant": False}
    if mode == "selective":
        options["context_fn"] = _selective_contexts
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)


def _selective_contexts() -> Any:
    """torchtitan's policy `op`: keep the attention kernels and the first of every two products."""
    return create_selective_checkpoint_contexts(partial(_policy, _ProductCounter()))


class _ProductCounter:
    """Matrix products seen so far, told apart by pass."""

    def __init__(self) -> None:
        self.counts = {False: 0, True: 0}


def _policy(
    counter: _ProductCounter, context: Any, operator: Callable[..., Any], *_: Any, **__: Any
) -> Any:
    keeps = operator in KEPT_OPERATORS
    if operator is aten.mm.default:
        counter.counts[context.is_recompute] += 1
        keeps = counter.counts[context.is_recompute] % 2 == 1
    return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE
