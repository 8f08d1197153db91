"""The optimizers of a case: PyTorch's and transformers' own where they exist, stand-ins where
not."""

from typing import Any, Protocol

import torch
from torch import nn

from generator.oracle.case import Case
from generator.oracle.tracker import Tracker

LEARNING_RATE = 1e-4

EIGHT_BIT_BLOCK_SIZE = 256
"""Elements that share one scale in bitsandbytes' 8-bit states (arXiv:2110.02861)."""

EIGHT_BIT_MIN_SIZE = 4096
"""Smaller tensors keep FP32 states (bitsandbytes' min_8bit_size)."""


class StepOptimizer(Protocol):
    """What the step needs of an optimizer."""

    state: Any

    def step(self) -> Any: ...

    def zero_grad(self) -> None: ...


class MasterAdamW:
    """bf16 weights with FP32 master copy and moments, as DeepSpeed and Megatron keep them.

    A stand-in: with bf16 gradients the step casts one of them at a time to FP32; with FP32
    gradients they are added to buffers that live through the whole run.
    """

    def __init__(
        self, parameters: list[nn.Parameter], tracker: Tracker, *, fp32_gradients: bool
    ) -> None:
        self.parameters = parameters
        self.master = [
            parameter.detach().clone().float().requires_grad_() for parameter in parameters
        ]
        self.main_gradients: list[torch.Tensor] | None = None
        for master in self.master:
            tracker.retag(master, "optimizer")
        self._adamws = [
            torch.optim.AdamW([master], lr=LEARNING_RATE, fused=True) for master in self.master
        ]
        self.state: dict[Any, Any] = {}
        if fp32_gradients:
            self.main_gradients = [
                torch.zeros_like(master, requires_grad=False) for master in self.master
            ]
            for parameter, main in zip(parameters, self.main_gradients, strict=True):
                tracker.retag(main, "gradients")
                parameter.register_post_accumulate_grad_hook(_adder(main))

    def step(self) -> None:
        """Cast, step in FP32 and copy back, one tensor after the other."""
        for index, (master, parameter) in enumerate(zip(self.master, self.parameters, strict=True)):
            if self.main_gradients is not None:
                master.grad = self.main_gradients[index]
            elif parameter.grad is not None:
                master.grad = parameter.grad.float()
            self._adamws[index].step()
            self.state.update(self._adamws[index].state)
            parameter.data.copy_(master.data)
            master.grad = None

    def zero_grad(self) -> None:
        """Drop the bf16 gradients; zero the FP32 ones in place."""
        for parameter in self.parameters:
            parameter.grad = None
        for main in self.main_gradients or []:
            main.zero_()


def _adder(main: torch.Tensor) -> Any:
    def add(parameter: nn.Parameter) -> None:
        main.add_(parameter.grad)
        parameter.grad = None

    return add


class EightBitAdamW(torch.optim.Optimizer):  # type: ignore[misc]  # torch is untyped where it is not installed
    """The states of bitsandbytes' block-wise 8-bit AdamW; the update itself is left out."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": LEARNING_RATE})

    def step(self) -> None:
        """Create the states on first use."""
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if parameter.grad is None or state:
                    continue
                is_small = parameter.numel() < EIGHT_BIT_MIN_SIZE
                dtype = torch.float32 if is_small else torch.uint8
                num_blocks = -(-parameter.numel() // EIGHT_BIT_BLOCK_SIZE)
                for name in ("exp_avg", "exp_avg_sq"):
                    state[name] = torch.zeros_like(parameter, dtype=dtype, requires_grad=False)
                    if not is_small:
                        scales = torch.zeros(num_blocks, device=parameter.device)
                        state[f"{name}_absmax"] = scales


def make_optimizer(case: Case, parameters: list[nn.Parameter], tracker: Tracker) -> StepOptimizer:
    """The optimizer of a case over its trainable parameters."""
    if case.precision == "bf16-mixed":
        return MasterAdamW(parameters, tracker, fp32_gradients=case.gradient_dtype == "fp32")
    fused, foreach = (
        case.optimizer_implementation == "fused",
        case.optimizer_implementation == "foreach",
    )
    options: dict[str, Any] = {
        "lr": LEARNING_RATE,
        "fused": fused,
        "foreach": None if fused else foreach,
    }
    optimizer: StepOptimizer
    match case.optimizer:
        case "adamw":
            optimizer = torch.optim.AdamW(parameters, **options)
        case "sgd":
            optimizer = torch.optim.SGD(parameters, **options)
        case "sgd-momentum":
            optimizer = torch.optim.SGD(parameters, momentum=0.9, **options)
        case "adamw-8bit":
            optimizer = EightBitAdamW(parameters)
        case "adafactor":
            from transformers.optimization import Adafactor

            optimizer = Adafactor(
                parameters,
                lr=LEARNING_RATE,
                scale_parameter=False,
                relative_step=False,
                warmup_init=False,
            )
    return optimizer
