"""bitsandbytes' 4-bit linear layer, as far as its tensors go.

An approximation: the packed weight, its scales and the 16-bit weight that exists while a product
runs are there; the real kernels are not.
"""

from typing import Any

import torch
from peft.tuners.lora import Linear as LoraLinear
from torch import nn

NF4_BLOCK_SIZE = 64
"""Weights that share one scale (QLoRA, arXiv:2305.14314)."""

DOUBLE_QUANTISATION_BLOCK_SIZE = 256
"""Scales that share one scale of their own (ibid.)."""


class _DequantisedProduct(torch.autograd.Function):  # type: ignore[misc]  # torch is untyped where it is not installed
    """Saves the packed weight only and dequantises it in forward and again in backward, as
    `MatMul4Bit` does."""

    @staticmethod
    def forward(ctx: Any, inputs: Any, packed: Any, scales: Any, shape: Any, dtype: Any) -> Any:
        weight = torch.empty(shape, dtype=dtype, device=packed.device)
        ctx.save_for_backward(packed, scales)
        ctx.weight_shape, ctx.weight_dtype = shape, dtype
        return nn.functional.linear(inputs, weight.to(inputs.dtype))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        packed, _ = ctx.saved_tensors
        weight = torch.empty(ctx.weight_shape, dtype=ctx.weight_dtype, device=packed.device)
        return torch.matmul(gradient, weight.to(gradient.dtype)), None, None, None, None


class Nf4Linear(nn.Module):  # type: ignore[misc]  # torch is untyped where it is not installed
    """A linear layer whose weight is stored in NF4."""

    def __init__(
        self, linear: nn.Linear, *, double_quantisation: bool, compute_dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.out_features, self.in_features = linear.weight.shape
        self.compute_dtype = compute_dtype
        self.bias = linear.bias
        device = linear.weight.device
        num_blocks = -(-linear.weight.numel() // NF4_BLOCK_SIZE)
        packed = torch.empty((linear.weight.numel() + 1) // 2, 1, dtype=torch.uint8, device=device)
        self.register_buffer("packed", packed)
        scale_dtype = torch.uint8 if double_quantisation else torch.float32
        self.register_buffer("scales", torch.empty(num_blocks, dtype=scale_dtype, device=device))
        if double_quantisation:
            num_outer = -(-num_blocks // DOUBLE_QUANTISATION_BLOCK_SIZE)
            self.register_buffer(
                "outer_scales", torch.empty(num_outer, dtype=torch.float32, device=device)
            )

    def forward(self, inputs: torch.Tensor) -> Any:
        """The product with the dequantised weight, handed back in the dtype of the inputs."""
        shape = (self.out_features, self.in_features)
        output = _DequantisedProduct.apply(
            inputs.to(self.compute_dtype), self.packed, self.scales, shape, self.compute_dtype
        )
        if self.bias is not None:
            output = output + self.bias.to(output.dtype)
        return output.to(inputs.dtype)


class Nf4LoraLinear(LoraLinear):  # type: ignore[misc]  # peft is untyped where it is not installed
    """An adapter on a 4-bit layer, with the forward of peft's own `Linear4bit`.

    Under autocast it does not cast its input to the adapter's dtype, as other adapters do.
    """

    def forward(self, inputs: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Base output plus the adapters'."""
        result = self.base_layer(inputs).clone()
        converts = not torch.is_autocast_enabled()
        for name in self.active_adapters:
            lora_a, lora_b = self.lora_A[name], self.lora_B[name]
            if converts:
                inputs = self._cast_input_dtype(inputs, lora_a.weight.dtype)
            output = lora_b(lora_a(self.lora_dropout[name](inputs))) * self.scaling[name]
            result = result + (output.to(result.dtype) if converts else output)
        return result


def quantise_base(
    model: nn.Module, *, double_quantisation: bool, compute_dtype: torch.dtype
) -> None:
    """Replace every linear layer but the head and the adapters."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            is_adapter = name.startswith("lora_") or name == "default"
            if isinstance(child, nn.Linear) and name != "lm_head" and not is_adapter:
                quantised = Nf4Linear(
                    child, double_quantisation=double_quantisation, compute_dtype=compute_dtype
                )
                setattr(module, name, quantised)
    for module in model.modules():
        if isinstance(module, LoraLinear) and isinstance(module.base_layer, Nf4Linear):
            module.__class__ = Nf4LoraLinear
