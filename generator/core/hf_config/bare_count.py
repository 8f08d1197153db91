"""A plausible dense model for a bare parameter count.

Symbols: n parameters, H hidden, L layers, F feed-forward width, V vocabulary.
"""

from generator.core.errors import TrainfitError
from generator.core.model import Attention, Block, BlockGroup, Mlp, Model, Tensor

MIN_PARAMETERS = 10_000_000
MAX_PARAMETERS = 10**14

VOCAB_SIZE = 32_000
"""Llama 2's; a larger vocabulary makes the logits larger."""
HEAD_DIM = 128
HIDDEN_PER_LAYER = 128
"""Llama's width to depth: 4096 to 32, 5120 to 40, 8192 to 80 (arXiv:2302.13971 table 2)."""
HIDDEN_STEP = 128


def _with_width(hidden: int, layers: int, width: int) -> int:
    # Embedding, head; per layer four square projections, three feed-forward matrices, two norms.
    return (
        2 * VOCAB_SIZE * hidden
        + hidden
        + layers * (4 * hidden * hidden + 3 * hidden * width + 2 * hidden)
    )


def model_from_parameter_count(num_parameters: int) -> Model:
    """A Llama-2-like model of exactly `num_parameters` parameters.

    The width is the multiple of 128 at which a Llama of the usual proportions (L = H / 128,
    F = 8 H / 3) comes closest to the count; F then takes up the difference, and what is left, less
    than one row of F in every layer, is kept as one further vector. 13e9 gives H 5120, L 40,
    F 13798 (Llama 2 13B: 13824). Attention is multi-head, the vocabulary is 32,000: where the real
    model has fewer key/value heads it needs less memory, where its vocabulary is larger it needs
    more.

    Shape: n = 2 V H + H + L (4 H^2 + 3 H F + 2 H) + rest.

    Raises:
        TrainfitError: not a whole number (`wrong-type`) or outside 10^7 to 10^14 (`out-of-range`).

    Source: arXiv:2302.13971 table 2, arXiv:2307.09288 table 1.
    """
    if isinstance(num_parameters, bool) or not isinstance(num_parameters, int):
        raise TrainfitError(
            "wrong-type",
            "model.num_parameters",
            "num_parameters must be a whole number, such as 13000000000; write it without quotes.",
        )
    if not MIN_PARAMETERS <= num_parameters <= MAX_PARAMETERS:
        raise TrainfitError(
            "out-of-range",
            "model.num_parameters",
            f"model.num_parameters is {num_parameters:,}; use {MIN_PARAMETERS:,} to "
            f"{MAX_PARAMETERS:,}. It counts parameters, not billions of them.",
        )
    hidden = HIDDEN_STEP

    def usual(size: int) -> int:
        return _with_width(size, max(1, size // HIDDEN_PER_LAYER), 8 * size // 3)

    while usual(hidden + HIDDEN_STEP) <= num_parameters:
        hidden += HIDDEN_STEP
    if usual(hidden + HIDDEN_STEP) - num_parameters < num_parameters - usual(hidden):
        hidden += HIDDEN_STEP
    layers = max(1, hidden // HIDDEN_PER_LAYER)
    per_unit_of_width = 3 * hidden * layers
    width = max(1, (num_parameters - _with_width(hidden, layers, 0)) // per_unit_of_width)
    rest = num_parameters - _with_width(hidden, layers, width)
    heads = hidden // HEAD_DIM
    block = Block(
        mixers=(
            Attention(num_attention_heads=heads, num_key_value_heads=heads, head_dim=HEAD_DIM),
        ),
        feed_forward=Mlp(intermediate_size=width),
    )
    remainder = (Tensor(module="rest", shape=(rest,), kind="other", part="root"),) if rest else ()
    note = (
        f"The count says nothing about the shape: taken as a Llama-2-like decoder of "
        f"{layers} layers, hidden size {hidden}, vocabulary {VOCAB_SIZE:,}."
    )
    return Model(
        name=f"{num_parameters:,} parameters",
        hidden_size=hidden,
        vocab_size=VOCAB_SIZE,
        tie_word_embeddings=False,
        block_groups=(BlockGroup(count=layers, block=block),),
        extra_tensors=remainder,
        notes=(note,),
    )
