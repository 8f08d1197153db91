"""Vision encoders beside the text model, as tensors.

A text-only fine-tune never runs them, but their weights are loaded, so they are counted to the last
parameter. Sources: the vision classes of each `model_type` in `transformers` 5.24, whose defaults
stand where published configs leave a field out.
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
    vector,
    video_patch,
)


def mllama(vision: Reader, text_hidden: int) -> Tensors:
    """Llama 3.2's vision encoder: local and gated global layers over tiles, and the projector."""
    vision = vision.with_defaults(
        {
            "hidden_size": 1280,
            "intermediate_size": 5120,
            "num_hidden_layers": 32,
            "num_global_layers": 8,
            "vision_output_dim": 7680,
            "image_size": 448,
            "patch_size": 14,
            "num_channels": 3,
            "max_num_tiles": 4,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    tiles, patch = vision.integer("max_num_tiles"), vision.integer("patch_size")
    # Eight tile arrangements unless the file lists others, and one for padding.
    ratios = (len(vision.list_of("supported_aspect_ratios")) or 8) + 1
    positions = num_patches(vision) + 1
    global_count = vision.integer("num_global_layers")
    parts = vector("class_embedding", hidden, kind="other")
    parts += conv("patch_embedding", (hidden, vision.integer("num_channels"), patch, patch))
    parts += vector("gate", 1, kind="other", count=3 + 2 * global_count)
    parts.append(tensor("gated_positional_embedding", (positions, hidden)))
    for module, size in (
        ("tile_embedding", tiles * positions * hidden),
        ("pre_tile_positional_embedding", tiles * hidden),
        ("post_tile_positional_embedding", tiles * hidden),
    ):
        parts.append(tensor(module, (ratios, size), kind="embedding"))
    parts += layer_norm("norm", hidden, count=2)
    for layers in (count, global_count):
        parts += encoder_layers(
            count=layers,
            hidden=hidden,
            intermediate=intermediate,
            attention=("q_proj", "k_proj", "v_proj", "o_proj"),
            attention_bias=False,
        )
    return parts + linear("multi_modal_projector", text_hidden, vision.integer("vision_output_dim"))


def llama4(vision: Reader, text_hidden: int) -> Tensors:
    """Llama 4's vision encoder, pixel-shuffle adapter and projector."""
    vision = vision.with_defaults(
        {
            "hidden_size": 768,
            "intermediate_size": 5632,
            "num_hidden_layers": 34,
            "image_size": 448,
            "patch_size": 14,
            "num_channels": 3,
            "projector_input_dim": 4096,
            "projector_output_dim": 4096,
            "vision_output_dim": 7680,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    patch = vision.integer("patch_size")
    wide, out = vision.integer("projector_input_dim"), vision.integer("projector_output_dim")
    parts = vector("class_embedding", hidden, kind="other")
    parts.append(tensor("positional_embedding_vlm", (num_patches(vision) + 1, hidden)))
    parts += linear("linear", hidden, vision.integer("num_channels") * patch**2, bias=False)
    parts += layer_norm("norm", hidden, count=2)
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        attention=("q_proj", "k_proj", "v_proj", "o_proj"),
    )
    parts += linear("fc1", wide, intermediate, bias=False)
    parts += linear("fc2", out, wide, bias=False)
    return parts + linear("linear_1", text_hidden, vision.integer("vision_output_dim"), bias=False)


def muse_glimmer(vision: Reader, text_hidden: int, *, outer: Reader) -> Tensors:
    """Muse Glimmer's vision encoder with its adapter and projection."""
    vision = vision.with_defaults(
        {
            "hidden_size": 1536,
            "intermediate_size": 8960,
            "num_hidden_layers": 50,
            "patch_size": 14,
            "patch_temporal": 2,
            "pos_emb_height": 32,
            "pos_emb_width": 32,
            "merge_size": 2,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    patch = 3 * vision.integer("patch_temporal") * vision.integer("patch_size") ** 2
    positions = vision.integer("pos_emb_height") * vision.integer("pos_emb_width")
    merged = hidden * vision.integer("merge_size") ** 2
    adapter = outer.integer("projector_hidden_size", default=4096)
    parts = linear("patch_embedding", hidden, patch, bias=False)
    parts.append(tensor("position_embedding_table", (positions, hidden), kind="embedding"))
    parts += layer_norm("norm", hidden, count=2)
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        attention=("q_proj", "k_proj", "v_proj", "proj"),
    )
    parts += linear("fc1", adapter, merged, bias=False) + linear(
        "fc2", adapter, adapter, bias=False
    )
    return parts + linear("vision_projection", text_hidden, adapter, bias=False)


def qwen2_5_vl(vision: Reader) -> Tensors:
    """Qwen2.5-VL's vision encoder: RMSNorm, gated feed-forward part, one merger."""
    vision = vision.with_defaults(
        {
            "depth": 32,
            "hidden_size": 1280,
            "intermediate_size": 3420,
            "in_channels": 3,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "out_hidden_size": 3584,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision, "depth")
    merged = hidden * vision.integer("spatial_merge_size") ** 2
    parts = conv("proj", video_patch(vision, hidden))
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        fused_qkv=True,
        feed_forward=("gate_proj", "up_proj", "down_proj"),
        layer_norms=0,
        rms_norms=2,
    )
    parts += vector("ln_q", hidden)
    parts += linear("0", merged, merged)
    return parts + linear("2", vision.integer("out_hidden_size"), merged)


def qwen2_vl(vision: Reader) -> Tensors:
    """Qwen2-VL's vision encoder: LayerNorm, plain feed-forward part, one merger."""
    vision = vision.with_defaults(
        {
            "depth": 32,
            "embed_dim": 1280,
            "hidden_size": 3584,
            "mlp_ratio": 4,
            "in_channels": 3,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
        }
    )
    # Here hidden_size is the text model's width.
    width = vision.integer("embed_dim")
    merged = width * vision.integer("spatial_merge_size") ** 2
    parts = conv("proj", video_patch(vision, width))
    parts += encoder_layers(
        count=vision.num_layers("depth"),
        hidden=width,
        intermediate=vision.integer("mlp_ratio") * width,
        fused_qkv=True,
    )
    parts += layer_norm("ln_q", width) + linear("0", merged, merged)
    return parts + linear("2", vision.integer("hidden_size"), merged)


def qwen3_vl(vision: Reader, *, deepstack_default: int = 3) -> Tensors:
    """Qwen3-VL's vision encoder; one more merger for each layer that feeds the text model."""
    vision = vision.with_defaults(
        {
            "depth": 27,
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "in_channels": 3,
            "patch_size": 16,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "out_hidden_size": 3584,
            "num_position_embeddings": 2304,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision, "depth")
    merged = hidden * vision.integer("spatial_merge_size") ** 2
    deepstack = deepstack_default
    if vision.has("deepstack_visual_indexes"):
        deepstack = len(vision.list_of("deepstack_visual_indexes"))
    parts = conv("proj", video_patch(vision, hidden), bias=True)
    positions = vision.integer("num_position_embeddings")
    parts.append(tensor("pos_embed", (positions, hidden), kind="embedding"))
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        fused_qkv=True,
        feed_forward=("linear_fc1", "linear_fc2"),
    )
    parts += layer_norm("norm", hidden)
    mergers = 1 + deepstack
    if deepstack:
        parts += layer_norm("norm", merged, count=deepstack)
    parts += linear("linear_fc1", merged, merged, count=mergers)
    return parts + linear("linear_fc2", vision.integer("out_hidden_size"), merged, count=mergers)


def pixtral(vision: Reader, text_hidden: int, *, outer: Reader) -> Tensors:
    """Pixtral's encoder with Mistral 3's patch merger and projector."""
    vision = vision.with_defaults(
        {
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_channels": 3,
            "patch_size": 14,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    patch = vision.integer("patch_size")
    merged = hidden * outer.integer("spatial_merge_size", default=2) ** 2
    bias = outer.boolean("multimodal_projector_bias")
    parts = conv("patch_conv", (hidden, vision.integer("num_channels"), patch, patch))
    parts += vector("ln_pre", hidden)
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        attention=("q_proj", "k_proj", "v_proj", "o_proj"),
        attention_bias=False,
        feed_forward=("gate_proj", "up_proj", "down_proj"),
        mlp_bias=False,
        layer_norms=0,
        rms_norms=2,
    )
    parts += vector("norm", hidden)
    parts += linear("merging_layer", hidden, merged, bias=False)
    parts += linear("linear_1", text_hidden, hidden, bias=bias)
    return parts + linear("linear_2", text_hidden, text_hidden, bias=bias)


def kimi_k25(vision: Reader, text_hidden: int, *, outer: Reader) -> Tensors:
    """Kimi K2.5's encoder (MoonViT) and patch-merging projector."""
    vision = vision.with_defaults(
        {
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "num_hidden_layers": 27,
            "patch_size": 14,
            "pos_emb_height": 64,
            "pos_emb_width": 64,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    patch = vision.integer("patch_size")
    height, width = vision.integer("pos_emb_height"), vision.integer("pos_emb_width")
    kernel = vision.integers("merge_kernel_size", minimum=1) or [2, 2]
    inner = outer.integer("projection_hidden_size", default=hidden)
    merged = inner
    for side in kernel:
        merged *= side
    parts = conv("proj", (hidden, 3, patch, patch), bias=True)
    parts.append(tensor("position_embeddings", (height, width, hidden)))
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        attention=("q_proj", "k_proj", "v_proj", "proj"),
    )
    parts += layer_norm("norm", hidden) + layer_norm("norm", inner)
    return parts + linear("in_proj", merged, merged) + linear("out_proj", text_hidden, merged)


def minimax_m3(vision: Reader, text_hidden: int, *, outer: Reader) -> Tensors:
    """MiniMax M3's encoder with its two-step projector."""
    vision = vision.with_defaults(
        {
            "hidden_size": 1280,
            "intermediate_size": 5120,
            "num_hidden_layers": 32,
            "num_channels": 3,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision)
    inner = outer.integer("projector_hidden_size", default=text_hidden)
    merged = text_hidden * vision.integer("spatial_merge_size") ** 2
    parts = conv("proj", video_patch(vision, hidden))
    parts += layer_norm("pre_layrnorm", hidden)
    parts += encoder_layers(count=count, hidden=hidden, intermediate=intermediate)
    parts += linear("linear_1", inner, hidden) + linear("linear_2", text_hidden, inner)
    parts += linear("merge_linear_1", inner, merged)
    return parts + linear("merge_linear_2", text_hidden, inner)


def glm5_next(vision: Reader) -> Tensors:
    """GLM-5.3-Flash's encoder: head norms, gated feed-forward part, downsampling merger."""
    vision = vision.with_defaults(
        {
            "depth": 24,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_heads": 16,
            "in_channels": 3,
            "patch_size": 14,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "out_hidden_size": 1536,
            "projection_intermediate_size": 10240,
        }
    )
    count, hidden, intermediate = layers_and_widths(vision, "depth")
    merge, out = vision.integer("spatial_merge_size"), vision.integer("out_hidden_size")
    wide = vision.integer("projection_intermediate_size")
    parts = conv("proj", video_patch(vision, hidden), bias=True)
    parts += encoder_layers(
        count=count,
        hidden=hidden,
        intermediate=intermediate,
        fused_qkv=True,
        attention_bias=vision.boolean("attention_bias", default=True),
        feed_forward=("gate_proj", "up_proj", "down_proj"),
        layer_norms=0,
        rms_norms=2,
    )
    parts += vector("qk_norm", hidden // vision.integer("num_heads"), count=2 * count)
    parts += linear("proj", out, out, bias=False) + layer_norm("post_projection_norm", out)
    parts += linear("gate_proj", wide, out, bias=False) + linear("up_proj", wide, out, bias=False)
    parts += linear("down_proj", out, wide, bias=False)
    parts += conv("downsample", (out, hidden, merge, merge), bias=True)
    return parts + vector("post_layernorm", hidden)
