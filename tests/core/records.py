"""What several tests of the core start from: a Llama-shaped 8B, its optimizer, the lump stack."""

from generator.core.model import Attention, Block, BlockGroup, Mlp, Model, Tensor
from generator.core.optimizer import Optimizer, OptimizerState
from generator.core.stack import Stack
from generator.core.states import optimizer_state_bytes

HIDDEN, LAYERS, VOCAB, WIDTH = 4096, 32, 128_256, 14_336
ATTENTION = Attention(num_attention_heads=32, num_key_value_heads=8, head_dim=128)
BLOCK = Block(mixers=(ATTENTION,), feed_forward=Mlp(intermediate_size=WIDTH))
LLAMA_8B = Model(
    name="Llama-shaped 8B",
    hidden_size=HIDDEN,
    vocab_size=VOCAB,
    tie_word_embeddings=False,
    block_groups=(BlockGroup(count=LAYERS, block=BLOCK),),
)
ADAMW = Optimizer(
    id="adamw",
    name="AdamW",
    states=(OptimizerState(name="exp_avg"), OptimizerState(name="exp_avg_sq")),
    follows_parameter_dtype=True,
    foreach_temporaries=True,
)
# As in catalog/stacks/generic.toml.
GENERIC = Stack(
    id="generic", name="Generic", overhead_bytes=1_500_000_000, masters_16bit_adapters=True
)


def state_bytes_per_parameter(optimizer: Optimizer, *, pure_16bit: bool = False) -> float:
    """What an optimizer keeps for one square matrix of an 8B model, over its elements."""
    matrix = Tensor(module="linear", shape=(HIDDEN, HIDDEN), kind="linear")
    return optimizer_state_bytes(optimizer, (matrix,), pure_16bit=pure_16bit) / matrix.size
