"""Building blocks of vision and audio encoders, as tensors outside the text model."""

from collections.abc import Sequence

from generator.core.hf_config.reader import Reader
from generator.core.model import Tensor

Tensors = list[Tensor]


def linear(
    module: str, out_size: int, in_size: int, *, bias: bool = True, count: int = 1
) -> Tensors:
    """An `nn.Linear` of a tower."""
    parts = [
        Tensor(module=module, shape=(out_size, in_size), kind="linear", part="tower", count=count)
    ]
    return parts + (vector(module, out_size, kind="bias", count=count) if bias else [])


def vector(module: str, size: int, *, kind: str = "norm", count: int = 1) -> Tensors:
    """A one-dimensional weight of a tower."""
    return [tensor(module, (size,), kind=kind, count=count)]


def tensor(module: str, shape: tuple[int, ...], *, kind: str = "other", count: int = 1) -> Tensor:
    """Any other weight of a tower."""
    kinds: dict[str, Tensor] = {
        "norm": Tensor(module=module, shape=shape, kind="norm", part="tower", count=count),
        "bias": Tensor(module=module, shape=shape, kind="bias", part="tower", count=count),
        "conv": Tensor(module=module, shape=shape, kind="conv", part="tower", count=count),
        "embedding": Tensor(
            module=module, shape=shape, kind="embedding", part="tower", count=count
        ),
    }
    return kinds.get(
        kind, Tensor(module=module, shape=shape, kind="other", part="tower", count=count)
    )


def layer_norm(module: str, size: int, *, count: int = 1) -> Tensors:
    """A LayerNorm: weight and bias."""
    return vector(module, size, count=count) + vector(module, size, kind="bias", count=count)


def conv(module: str, shape: tuple[int, ...], *, bias: bool = False) -> Tensors:
    """A convolution, bias by choice."""
    parts = [tensor(module, shape, kind="conv")]
    return parts + (vector(module, shape[0], kind="bias") if bias else [])


def encoder_layers(
    *,
    count: int,
    hidden: int,
    intermediate: int,
    attention: Sequence[str] = ("q_proj", "k_proj", "v_proj", "out_proj"),
    attention_bias: bool = True,
    fused_qkv: bool = False,
    feed_forward: Sequence[str] = ("fc1", "fc2"),
    mlp_bias: bool = True,
    layer_norms: int = 2,
    rms_norms: int = 0,
) -> Tensors:
    """The layers of a vision transformer; a third feed-forward name makes it a gated one."""
    parts: Tensors = []
    if fused_qkv:
        parts += linear("qkv", 3 * hidden, hidden, bias=attention_bias, count=count)
        parts += linear("proj", hidden, hidden, bias=attention_bias, count=count)
    else:
        for module in attention:
            parts += linear(module, hidden, hidden, bias=attention_bias, count=count)
    *rising, falling = feed_forward
    for module in rising:
        parts += linear(module, intermediate, hidden, bias=mlp_bias, count=count)
    parts += linear(falling, hidden, intermediate, bias=mlp_bias, count=count)
    if layer_norms:
        parts += layer_norm("norm", hidden, count=layer_norms * count)
    if rms_norms:
        parts += vector("norm", hidden, count=rms_norms * count)
    return parts


def layers_and_widths(vision: Reader, layers: str = "num_hidden_layers") -> tuple[int, int, int]:
    """Layers, width and feed-forward width of an encoder."""
    return (
        vision.num_layers(layers),
        vision.integer("hidden_size"),
        vision.integer("intermediate_size"),
    )


def num_patches(vision: Reader) -> int:
    """Patches of one square image."""
    image, patch = vision.integer("image_size"), vision.integer("patch_size")
    return (image // patch) ** 2


def video_patch(vision: Reader, hidden: int) -> tuple[int, ...]:
    """Shape of a patch embedding that folds frames too."""
    patch = vision.integer("patch_size")
    channels = vision.integer("in_channels", "num_channels")
    return (hidden, channels, vision.integer("temporal_patch_size"), patch, patch)


def two_numbers(reader: Reader, name: str, default: tuple[int, int]) -> tuple[int, int]:
    """A list of exactly two positive numbers."""
    values = reader.integers(name, minimum=1) or list(default)
    if len(values) != 2:
        reader.fail("inconsistent-config", name, f"{name} must hold two numbers.")
    return values[0], values[1]
