"""Inkling: relative positions, short convolutions everywhere, and folding encoders.

Source: `transformers` 5.24, models/inkling.
"""

from math import log

from generator.core.hf_config.parts import (
    attention,
    build,
    experts,
    mlp,
    sparse_layers,
    sub_config,
    text_reader,
    with_towers,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.hf_config.tower_parts import Tensors, linear, tensor, vector
from generator.core.model import Attention, Block, Model, Tensor


def inkling(reader: Reader, name: str) -> Model:
    """Inkling: learned relative positions, short convolutions around attention and experts."""
    text = text_reader(
        reader,
        {
            "vocab_size": 201024,
            "hidden_size": 6144,
            "num_hidden_layers": 66,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "swa_num_attention_heads": 64,
            "swa_num_key_value_heads": 16,
            "swa_head_dim": 128,
            "sliding_window_size": 512,
            "d_rel": 16,
            "rel_extent": 1024,
            "conv_kernel_size": 4,
            "intermediate_size": 24576,
            "moe_intermediate_size": 3072,
            "n_routed_experts": 256,
            "n_shared_experts": 2,
            "num_experts_per_tok": 6,
        },
    )
    count, hidden = text.num_layers(), text.integer("hidden_size")
    local = text.integers("local_layer_ids") or [
        number for number in range(count) if (number + 1) % 6
    ]
    types = text.names_pattern("layer_types", count) or [
        "hybrid_sliding" if number in local else "hybrid" for number in range(count)
    ]
    for each in types:
        if each not in {"hybrid", "hybrid_sliding"}:
            text.unknown_value("layer_types", each, ("hybrid", "hybrid_sliding"))
    sparse = sparse_layers(
        text, count, dense_default=text.integer("dense_mlp_idx", default=0, minimum=0)
    )
    kinds = list(zip(types, sparse, strict=True))
    kernel = text.integer("sconv_kernel_size", "conv_kernel_size")
    relative, extent = text.integer("d_rel"), text.integer("rel_extent")
    window = text.integer("sliding_window_size")

    def mixer_of(*, slides: bool) -> Attention:
        prefix = "swa_" if slides else ""
        return attention(
            text,
            num_attention_heads=text.integer(f"{prefix}num_attention_heads"),
            num_key_value_heads=text.integer(f"{prefix}num_key_value_heads"),
            head_dim=text.integer(f"{prefix}head_dim"),
            qk_norm="head",
            rotary="none",
            sliding_window=window if slides else None,
        )

    def make(number: int) -> Block:
        kind, is_sparse = kinds[number]
        slides = kind == "hybrid_sliding"
        mixer = mixer_of(slides=slides)
        key_value = mixer.num_key_value_heads * mixer.head_dim
        extra = [
            Tensor(
                module="r_proj",
                shape=(mixer.num_attention_heads * relative, hidden),
                kind="linear",
            ),
            Tensor(
                module="rel_logits", shape=(relative, window if slides else extent), kind="other"
            ),
            Tensor(module="conv1d", shape=(key_value, 1, kernel), kind="conv", count=2),
            Tensor(module="conv1d", shape=(hidden, 1, kernel), kind="conv", count=2),
            Tensor(module="global_scale", shape=(1,), kind="other"),
        ]
        if not is_sparse:
            width = text.integer("dense_intermediate_size", "intermediate_size")
            feed_forward = mlp(text, intermediate_size=width, bias=False)
            return Block(mixers=(mixer,), feed_forward=feed_forward, extra_tensors=tuple(extra))
        shared = text.integer("n_shared_experts", minimum=0)
        # Files that give the dense width apart mean the experts' by the plain name.
        apart = text.has("dense_intermediate_size")
        width = text.integer("intermediate_size" if apart else "moe_intermediate_size")
        # The router scores the shared experts too.
        if shared:
            extra.append(Tensor(module="gate", shape=(shared, hidden), kind="other"))
        routed = experts(
            text,
            moe_intermediate_size=width,
            shared_intermediate_size=shared * width,
            shared_linear=False,
            router_fp32=True,
        )
        return Block(mixers=(mixer,), feed_forward=routed, extra_tensors=tuple(extra))

    norm = Tensor(module="embed_norm", shape=(hidden,), kind="norm", part="root")
    model = build(text, name, grouped(kinds, make), extra_tensors=[norm])
    vision = sub_config(reader, "vision_config").with_defaults({"text_hidden_size": hidden})
    audio = sub_config(reader, "audio_config").with_defaults({"text_hidden_size": hidden})
    parts = inkling_vision(vision) + inkling_audio(audio)
    return with_towers(model, reader, parts)


MAX_PATCH = 4096
"""Far beyond any image patch; bounds the search for prime factors."""


def inkling_vision(vision: Reader) -> Tensors:
    """Inkling's patch encoder: linear layers that fold space and time step by step."""
    vision = vision.with_defaults(
        {
            "patch_size": 40,
            "temporal_patch_size": 2,
            "num_channels": 3,
            "n_layers": 4,
            "text_hidden_size": 6144,
        }
    )
    out = vision.integer("text_hidden_size")
    scales = _inkling_scales(vision)
    parts: Tensors = []
    for number in range(len(scales) - 1):
        start, end = scales[number], scales[number + 1]
        fold = (end[0] // start[0]) * (end[1] // start[1]) ** 2
        last = number == len(scales) - 2
        width = out if last else end[2]
        parts += linear("projection", width, start[2] * fold, bias=False)
        if not last:
            parts += vector("norm", width)
    return parts + vector("norm", out)


def _inkling_scales(vision: Reader) -> list[tuple[int, int, int]]:
    """The (time, side, channels) after each layer: prime factors, in even steps of the log size."""
    channels = vision.integer("num_channels")
    side = time = 1
    scales = [(1, 1, channels)]
    for factor in _prime_factors(_folded(vision, "patch_size")):
        side *= factor
        scales.append((1, side, -(-(side**2 * channels) // 64) * 64))
    for factor in _prime_factors(_folded(vision, "temporal_patch_size")):
        time *= factor
        # The class multiplies by 64 here, where before it rounds up to a multiple of 64.
        scales.append((time, side, side**2 * channels * time * 64))
    layers = vision.num_layers("n_layers")
    if layers >= len(scales):
        vision.fail(
            "unsupported-architecture",
            "n_layers",
            f"n_layers is {layers}; an encoder for this patch size has at most {len(scales) - 1}.",
        )
    return _closest(scales, layers + 1)


def _folded(vision: Reader, name: str) -> int:
    size = vision.integer(name)
    if size > MAX_PATCH:
        vision.fail("out-of-range", name, f"{name} is {size}, more than {MAX_PATCH}.")
    return size


def _closest(scales: list[tuple[int, int, int]], wanted: int) -> list[tuple[int, int, int]]:
    # Drops the scales that lie furthest from even steps on a log axis, keeping both ends.
    total = log(scales[-1][0] * scales[-1][1] ** 2 * scales[0][2])
    ideal = [total * step / (wanted - 1) for step in range(wanted)]
    sizes = [log(time * side * side) for time, side, _ in scales]

    def cost(picked: tuple[int, ...]) -> float:
        return sum(abs(ideal[row] - sizes[column]) for row, column in enumerate(picked))

    best: tuple[int, ...] = tuple(range(wanted))
    for picked in _subsets(len(scales), wanted):
        if cost(picked) < cost(best):
            best = picked
    chosen = [scales[column] for column in best]
    chosen[0], chosen[-1] = scales[0], scales[-1]
    return chosen


def _subsets(size: int, wanted: int) -> list[tuple[int, ...]]:
    subsets: list[tuple[int, ...]] = [()]
    for number in range(size):
        subsets += [(*each, number) for each in subsets if len(each) < wanted]
    return [each for each in subsets if len(each) == wanted]


def _prime_factors(number: int) -> list[int]:
    """Largest first, as the class folds them."""
    factors: list[int] = []
    for divisor in range(2, number + 1):
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
    return factors[::-1]


def inkling_audio(audio: Reader) -> Tensors:
    """Inkling's audio codes: one embedding table, one norm."""
    audio = audio.with_defaults({"n_mel_bins": 80, "mel_vocab_size": 256, "text_hidden_size": 6144})
    rows = audio.integer("n_mel_bins") * audio.integer("mel_vocab_size")
    width = audio.integer("text_hidden_size")
    parts = [tensor("embed_audio_tokens", (rows, width), kind="embedding")]
    return parts + vector("norm", width)
