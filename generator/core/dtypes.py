"""Storage of numbers: bits per element and, for block formats, the scales that travel with them."""

from dataclasses import dataclass

from generator.core.units import ceil_div

HALF_BYTES = 2
FP32_BYTES = 4
"""Bytes of one number. 16-bit training keeps weights and gradients in 16 bit; the master is FP32.
Source: S-MIXED (arXiv:1710.03740), S-ZERO section 3.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DType:
    """A storage format.

    A block format keeps `scale_bits` per block of `block_size` elements beside the elements;
    `nested_block_size` blocks share one FP32 constant where the scales are quantised themselves.
    """

    name: str
    bits: int
    block_size: int = 0
    scale_bits: int = 0
    nested_block_size: int = 0

    def bytes_for(self, num_elements: int) -> int:
        """Bytes of a tensor of `num_elements`, scales included, each part rounded up to whole
        bytes.
        """
        total = ceil_div(num_elements * self.bits, 8)
        if self.block_size:
            num_blocks = ceil_div(num_elements, self.block_size)
            total += ceil_div(num_blocks * self.scale_bits, 8)
            if self.nested_block_size:
                total += FP32_BYTES * ceil_div(num_blocks, self.nested_block_size)
        return total


FP32 = DType(name="fp32", bits=32)
BF16 = DType(name="bf16", bits=16)
FP16 = DType(name="fp16", bits=16)
INT8 = DType(name="int8", bits=8)
# QLoRA, arXiv:2305.14314 section 3: one FP32 constant per 64 weights; double quantisation stores
# that constant in 8 bits and one FP32 per 256 of them.
NF4 = DType(name="nf4", bits=4, block_size=64, scale_bits=32)
NF4_DOUBLE_QUANT = DType(name="nf4-dq", bits=4, block_size=64, scale_bits=8, nested_block_size=256)
# bitsandbytes' block-wise 8-bit optimizer state: one FP32 absmax per 256 elements.
BLOCKWISE_8BIT = DType(name="blockwise-8bit", bits=8, block_size=256, scale_bits=32)
# OCP microscaling: 32 four-bit elements share one 8-bit exponent.
MXFP4 = DType(name="mxfp4", bits=4, block_size=32, scale_bits=8)
# GPTQ with groups of 128: an FP16 scale and a 4-bit zero point per group.
GPTQ_INT4 = DType(name="gptq-int4", bits=4, block_size=128, scale_bits=20)

DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (FP32, BF16, FP16, INT8, NF4, NF4_DOUBLE_QUANT, BLOCKWISE_8BIT, MXFP4, GPTQ_INT4)
}
