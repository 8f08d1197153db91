"""Encoders of the Gemma family: SigLIP, MobileNet, patch embedders and conformers.

Sources: the vision and audio classes of each `model_type` in `transformers` 5.24.
"""

from generator.core.hf_config.reader import Reader
from generator.core.hf_config.tower_parts import (
    Tensors,
    conv,
    encoder_layers,
    layer_norm,
    layers_and_widths,
    linear,
    num_patches,
    tensor,
    two_numbers,
    vector,
)


def siglip(vision: Reader, text_hidden: int) -> Tensors:
    """SigLIP with Gemma's projection matrix; published files switch its pooling head off."""
    vision = vision.with_defaults(
        {
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 12,
            "num_channels": 3,
            "image_size": 224,
            "patch_size": 16,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    patch = vision.integer("patch_size")
    parts = conv(
        "patch_embedding", (hidden, vision.integer("num_channels"), patch, patch), bias=True
    )
    parts.append(tensor("position_embedding", (num_patches(vision), hidden), kind="embedding"))
    parts += encoder_layers(count=count, hidden=hidden, intermediate=intermediate)
    parts += layer_norm("norm", hidden)
    if vision.boolean("vision_use_head", default=True):
        parts += _pooling_head(hidden, intermediate)
    parts.append(tensor("mm_input_projection_weight", (hidden, text_hidden)))
    return parts + vector("norm", hidden)


def _pooling_head(hidden: int, intermediate: int) -> Tensors:
    parts = [tensor("probe", (1, 1, hidden)), tensor("in_proj_weight", (3 * hidden, hidden))]
    parts += vector("in_proj_bias", 3 * hidden, kind="bias")
    parts += linear("out_proj", hidden, hidden) + layer_norm("norm", hidden)
    return parts + linear("fc1", intermediate, hidden) + linear("fc2", hidden, intermediate)


def gemma4_vision(vision: Reader, text_hidden: int) -> Tensors:
    """Gemma 4's vision encoder and the projection of its output."""
    vision = vision.with_defaults(
        {
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_hidden_layers": 16,
            "num_attention_heads": 12,
            "num_key_value_heads": 12,
            "head_dim": 64,
            "patch_size": 16,
            "position_embedding_size": 10240,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    parts = [
        tensor("position_embedding_table", (2, vision.integer("position_embedding_size"), hidden))
    ]
    parts += linear("input_proj", hidden, 3 * vision.integer("patch_size") ** 2, bias=False)
    head = vision.integer("head_dim")
    query = vision.integer("num_attention_heads") * head
    key_value = vision.integer("num_key_value_heads") * head
    # Each projection sits in a clipping wrapper, whose inner module is called `linear`.
    for out_size, in_size, times in (
        (query, hidden, 1),
        (key_value, hidden, 2),
        (hidden, query, 1),
        (intermediate, hidden, 2),
        (hidden, intermediate, 1),
    ):
        parts += linear("linear", out_size, in_size, bias=False, count=times * count)
    parts += vector("norm", hidden, count=4 * count)
    parts += vector("qk_norm", head, count=2 * count)
    return parts + linear("embedding_projection", text_hidden, hidden, bias=False)


def gemma4_audio(audio: Reader, text_hidden: int) -> Tensors:
    """Gemma 4's audio encoder (a conformer) and the projection of its output."""
    audio = audio.with_defaults(
        {
            "hidden_size": 1024,
            "num_hidden_layers": 12,
            "num_attention_heads": 8,
            "conv_kernel_size": 5,
            "output_proj_dims": 1536,
        }
    )
    count, hidden = audio.num_layers(), audio.integer("hidden_size")
    first, second = two_numbers(audio, "subsampling_conv_channels", (128, 32))
    out = audio.integer("output_proj_dims")
    parts = conv("conv", (first, 1, 3, 3)) + vector("norm", first)
    parts += conv("conv", (second, first, 3, 3)) + vector("norm", second)
    # Two strides of two leave a quarter of the 128 mel bins.
    parts += linear("input_proj_linear", hidden, second * 32, bias=False)
    parts += linear("linear", 4 * hidden, hidden, bias=False, count=2 * count)
    parts += linear("linear", hidden, 4 * hidden, bias=False, count=2 * count)
    parts += vector("per_dim_scale", hidden // audio.integer("num_attention_heads"), count=count)
    parts += linear("linear", hidden, hidden, bias=False, count=5 * count)
    parts += linear("relative_k_proj", hidden, hidden, bias=False, count=count)
    parts += linear("linear", 2 * hidden, hidden, bias=False, count=count)
    kernel = (hidden, 1, audio.integer("conv_kernel_size"))
    parts.append(tensor("depthwise_conv1d", kernel, kind="conv", count=count))
    parts += vector("norm", hidden, count=9 * count)
    parts += linear("output_proj", out, hidden)
    return parts + linear("embedding_projection", text_hidden, out, bias=False)


def gemma4_unified_vision(vision: Reader, text_hidden: int) -> Tensors:
    """Gemma 4 12B's patch embedder, which takes the place of an encoder."""
    vision = vision.with_defaults(
        {
            "patch_size": 16,
            "pooling_kernel_size": 3,
            "mm_embed_dim": 3840,
            "mm_posemb_size": 1120,
            "output_proj_dims": 3840,
        }
    )
    width, out = vision.integer("mm_embed_dim"), vision.integer("output_proj_dims")
    side = vision.integer("patch_size") * vision.integer("pooling_kernel_size")
    patch = 3 * side**2
    parts = [tensor("pos_embedding", (vision.integer("mm_posemb_size"), 2, width))]
    parts += layer_norm("patch_ln1", patch) + linear("patch_dense", width, patch)
    parts += layer_norm("norm", width, count=2)
    return parts + linear("embedding_projection", text_hidden, out, bias=False)


def gemma4_unified_audio(audio: Reader, text_hidden: int) -> Tensors:
    """Gemma 4 12B's projection of audio features."""
    width = audio.integer("audio_embed_dim", default=640)
    return linear("embedding_projection", text_hidden, width, bias=False)


MOBILENET_V5_300M = 294_126_912
"""Parameters of `mobilenetv5_300m_enc` in timm 1.0.31, the image encoder of every Gemma 3n."""


def gemma3n_vision(vision: Reader, text_hidden: int) -> Tensors:
    """Gemma 3n's MobileNet encoder and the embedder of its output.

    Raises:
        TrainfitError: another timm architecture, whose size the config does not tell
            (`unsupported-architecture`).
    """
    known = "mobilenetv5_300m_enc"
    architecture = vision.text("architecture", default=known)
    if architecture != known:
        vision.unknown_value("architecture", architecture, [known])
    parts = [tensor("timm_model", (MOBILENET_V5_300M,), kind="conv")]
    vision = vision.with_defaults({"vocab_size": 128, "hidden_size": 2048})
    return parts + _gemma3n_embedder(vision, text_hidden)


def _gemma3n_embedder(tower: Reader, text_hidden: int) -> Tensors:
    hidden = tower.integer("hidden_size")
    parts = [tensor("embedding", (tower.integer("vocab_size"), hidden), kind="embedding")]
    parts += vector("norm", hidden, count=2)
    return parts + linear("embedding_projection", text_hidden, hidden, bias=False)


def gemma3n_audio(audio: Reader, text_hidden: int) -> Tensors:
    """Gemma 3n's audio encoder (a conformer) and the embedder of its output."""
    audio = audio.with_defaults(
        {
            "vocab_size": 128,
            "hidden_size": 1536,
            "input_feat_size": 128,
            "conf_num_hidden_layers": 12,
            "conf_num_attention_heads": 8,
            "conf_conv_kernel_size": 5,
        }
    )
    hidden = audio.integer("hidden_size")
    count = audio.num_layers("conf_num_hidden_layers")
    heads = audio.integer("conf_num_attention_heads")
    first, second = two_numbers(audio, "sscp_conv_channel_size", (128, 32))
    # Two strides of two leave a quarter of the mel bins.
    bins = audio.integer("input_feat_size") // 4
    parts = conv("conv", (first, 1, 3, 3)) + vector("norm", first)
    parts += conv("conv", (second, first, 3, 3)) + vector("norm", second)
    parts += linear("input_proj_linear", hidden, second * bins, bias=False)
    parts += linear("ffw_layer_1", 4 * hidden, hidden, bias=False, count=2 * count)
    parts += linear("ffw_layer_2", hidden, 4 * hidden, bias=False, count=2 * count)
    for module in ("q_proj", "k_proj", "v_proj", "pos_proj", "post", "linear_end"):
        parts += linear(module, hidden, hidden, bias=False, count=count)
    parts += linear("linear_start", 2 * hidden, hidden, bias=False, count=count)
    parts += vector("per_dim_scale", hidden // heads, kind="other", count=count)
    kernel = (hidden, 1, audio.integer("conf_conv_kernel_size"))
    parts.append(tensor("depthwise_conv1d", kernel, kind="conv", count=count))
    parts += vector("norm", hidden, count=9 * count)
    return parts + _gemma3n_embedder(audio, text_hidden)
