"""Tensor bytes of a real training step, without a GPU.

The real `transformers` class, real autograd, real checkpointing and real optimizers run for two
steps on fake CUDA tensors, which have shapes and lifetimes but no data. Every storage that
PyTorch's dispatcher creates is counted until it dies, as `torch.cuda.max_memory_allocated` would
count it on a card.

Optional: it has requirements of its own (`requirements/oracle.txt`), and neither the core nor the
site imports it.

What is approximated:

- bitsandbytes' 4-bit linear layer and 8-bit Adam (`quantised`, `optimizers`): the right tensors,
  not the real kernels.
- Mixed precision with FP32 master weights (`optimizers`): a stand-in for DeepSpeed's and Megatron's
  own optimizers.
- Workspaces inside CUDA kernels (`workspaces`): from the kernels' sources, because no dispatcher
  sees them.

What is not there: cuBLAS workspaces, the CUDA context, the allocator's rounding and fragmentation,
NCCL's buffers, FP8, fused losses, FlashAttention's own package, `torch.compile`, DeepSpeed's ZeRO
and the kernels of mamba_ssm and fla.
"""

import importlib.util

from generator.oracle import guard

if importlib.util.find_spec("torch") is not None:
    guard.load()
