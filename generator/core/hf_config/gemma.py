"""Gemma 3 with images, Gemma 3n and Gemma 4.

Sources: the configuration and modelling file of each `model_type` in `transformers` 5.24.
"""

from collections.abc import Callable, Iterable

from generator.core.hf_config import dense, towers_gemma
from generator.core.hf_config.parts import (
    attention,
    build,
    experts,
    mlp,
    sub_config,
    text_reader,
    window_pattern,
    with_towers,
)
from generator.core.hf_config.reader import Reader, grouped
from generator.core.model import Block, Model, Tensor

Tower = Callable[[Reader, int], Iterable[Tensor]]
"""Tensors of an encoder from its config and the text model's hidden size."""


def gemma3(reader: Reader, name: str) -> Model:
    """Gemma 3 with its SigLIP encoder."""
    model = dense.gemma3_text(text_reader(reader), name)
    vision = sub_config(reader, "vision_config")
    return with_towers(model, reader, towers_gemma.siglip(vision, model.hidden_size))


GEMMA4_DEFAULTS: dict[str, object] = {
    "vocab_size": 262144,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "global_head_dim": 512,
    "sliding_window": 512,
    "tie_word_embeddings": True,
    "vocab_size_per_layer_input": 262144,
}


def _gemma4_text(text: Reader, name: str) -> Model:
    count = text.num_layers()
    types = window_pattern(text, count, period=6)
    # The class makes the last layer full whatever the file says.
    types[-1] = "full_attention"
    shared_from = count - text.integer("num_kv_shared_layers", default=0, minimum=0)
    narrow = text.integer("hidden_size_per_layer_input", default=0, minimum=0)
    hidden = text.integer("hidden_size")
    key_is_value = text.boolean("attention_k_eq_v")
    has_experts = text.boolean("enable_moe_block")
    double_wide = text.boolean("use_double_wide_mlp")
    kinds = [(kind, number >= shared_from) for number, kind in enumerate(types)]
    extra: tuple[Tensor, ...] = ()
    if narrow:
        extra = (
            Tensor(module="per_layer_input_gate", shape=(narrow, hidden), kind="linear"),
            Tensor(module="per_layer_projection", shape=(hidden, narrow), kind="linear"),
        )
    if has_experts:
        num_experts = text.integer("num_experts")
        extra += (
            Tensor(module="router", shape=(hidden,), kind="other"),
            Tensor(module="router", shape=(num_experts,), kind="other"),
        )

    def make(number: int) -> Block:
        kind, shares = kinds[number]
        full = kind == "full_attention"
        changes: dict[str, int] = {}
        if full:
            changes["head_dim"] = text.integer("global_head_dim")
            key_value = text.optional_integer("num_global_key_value_heads")
            if key_is_value and key_value is not None:
                changes["num_key_value_heads"] = key_value
        mixer = attention(
            text,
            qk_norm="head",
            qk_norm_kind="rms-fp32",
            value_norm=True,
            sliding_window=None if full else text.optional_integer("sliding_window"),
            shares_key_value=shares,
            value_is_key=full and key_is_value,
            **changes,
        )
        width = text.integer("intermediate_size")
        if not has_experts:
            wide = width * 2 if double_wide and shares else width
            return Block(
                mixers=(mixer,),
                feed_forward=mlp(text, intermediate_size=wide, activation="gelu", bias=False),
                num_output_norms=3 if narrow else 2,
                extra_tensors=extra,
            )
        # The dense part runs beside the routed experts, each behind its own norms.
        routed = experts(
            text, shared_intermediate_size=width, activation="gelu", router_linear=True
        )
        return Block(
            mixers=(mixer,),
            feed_forward=routed,
            num_input_norms=3,
            num_output_norms=5 if narrow else 4,
            extra_tensors=extra,
        )

    outside: list[Tensor] = []
    if narrow:
        rows = text.integer("vocab_size_per_layer_input")
        outside = [
            Tensor(
                module="embed_tokens_per_layer",
                shape=(rows, count * narrow),
                kind="embedding",
                part="root",
            ),
            Tensor(
                module="per_layer_model_projection",
                shape=(count * narrow, hidden),
                kind="linear",
                part="root",
            ),
            Tensor(module="norm", shape=(narrow,), kind="norm", part="root"),
        ]
    return build(
        text,
        name,
        grouped(kinds, make),
        norm_kind="rms-fp32",
        extra_tensors=outside,
        final_logit_softcap=text.number("final_logit_softcapping", 0.0) > 0,
        module_names=(("gate", "proj"),),
    )


def _gemma4(text: Reader, reader: Reader, name: str, *, vision: Tower, audio: Tower) -> Model:
    model = _gemma4_text(text, name)
    parts: list[Tensor] = []
    for key, tower in (("vision_config", vision), ("audio_config", audio)):
        config = reader.nested(key)
        if config is not None:
            parts += tower(config, model.hidden_size)
    return with_towers(model, reader, parts)


def gemma4(reader: Reader, name: str) -> Model:
    """Gemma 4: wide heads in full layers, shared keys and values, per-layer embeddings, experts."""
    return _gemma4(
        text_reader(reader, {**GEMMA4_DEFAULTS, "hidden_size_per_layer_input": 256}),
        reader,
        name,
        vision=towers_gemma.gemma4_vision,
        audio=towers_gemma.gemma4_audio,
    )


def gemma4_unified(reader: Reader, name: str) -> Model:
    """Gemma 4 12B, which embeds image patches and audio without an encoder."""
    changes = {"sliding_window": 1024, "attention_k_eq_v": True}
    return _gemma4(
        text_reader(reader, {**GEMMA4_DEFAULTS, **changes}),
        reader,
        name,
        vision=towers_gemma.gemma4_unified_vision,
        audio=towers_gemma.gemma4_unified_audio,
    )


def gemma3n_text(text: Reader, name: str) -> Model:
    """Gemma 3n's text model: four residual streams (AltUp), low-rank by-pass (LAuReL)."""
    text = text.with_defaults(
        {
            "vocab_size": 262400,
            "hidden_size": 2048,
            "num_hidden_layers": 35,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "intermediate_size": 16384,
            "sliding_window": 512,
            "num_kv_shared_layers": 15,
            "vocab_size_per_layer_input": 262144,
            "hidden_size_per_layer_input": 256,
            "altup_num_inputs": 4,
            "laurel_rank": 64,
            "final_logit_softcapping": 30.0,
            "tie_word_embeddings": True,
        }
    )
    count, hidden = text.num_layers(), text.integer("hidden_size")
    types = window_pattern(text, count, period=5)
    shared_from = count - text.integer("num_kv_shared_layers", minimum=0)
    if isinstance(text.raw("intermediate_size"), list | tuple) or text.has("intermediate_size_rle"):
        widths = text.integers_pattern("intermediate_size", count, minimum=1) or []
    else:
        widths = [text.integer("intermediate_size")] * count
    streams, narrow = text.integer("altup_num_inputs"), text.integer("hidden_size_per_layer_input")
    rank = text.integer("laurel_rank")
    linears = (
        ("correction_coefs", streams, streams),
        ("prediction_coefs", streams**2, streams),
        ("modality_router", streams, hidden),
        ("linear_left", rank, hidden),
        ("linear_right", hidden, rank),
        ("per_layer_input_gate", narrow, hidden),
        ("per_layer_projection", hidden, narrow),
    )
    extra = (
        Tensor(module="altup", shape=(hidden,), kind="other"),
        *(Tensor(module=each, shape=(out, into), kind="linear") for each, out, into in linears),
    )
    kinds = [(kind, number >= shared_from, widths[number]) for number, kind in enumerate(types)]

    def make(number: int) -> Block:
        kind, shares, width = kinds[number]
        mixer = attention(
            text,
            qk_norm="head",
            qk_norm_kind="rms-fp32",
            value_norm=True,
            shares_key_value=shares,
            sliding_window=(
                text.optional_integer("sliding_window") if kind == "sliding_attention" else None
            ),
        )
        return Block(
            mixers=(mixer,),
            feed_forward=mlp(text, intermediate_size=width, activation="gelu", bias=False),
            # Beside the usual two: the AltUp router's; of the outputs: LAuReL's, per-layer input's.
            num_input_norms=3,
            num_output_norms=4,
            extra_tensors=extra,
        )

    outside = [
        Tensor(
            module="embed_tokens_per_layer",
            shape=(text.integer("vocab_size_per_layer_input"), count * narrow),
            kind="embedding",
            part="root",
        ),
        Tensor(
            module="per_layer_model_projection",
            shape=(count * narrow, hidden),
            kind="linear",
            part="root",
        ),
        Tensor(module="norm", shape=(narrow,), kind="norm", part="root"),
    ]
    if streams > 1:
        outside += [
            Tensor(
                module=module, shape=(hidden, hidden), kind="linear", part="root", count=streams - 1
            )
            for module in ("altup_projections", "altup_unembed_projections")
        ]
    return build(
        text,
        name,
        grouped(kinds, make),
        norm_kind="rms-fp32",
        extra_tensors=outside,
        num_residual_streams=streams,
        final_logit_softcap=text.number("final_logit_softcapping", 0.0) > 0,
    )


def gemma3n(reader: Reader, name: str) -> Model:
    """Gemma 3n with its image and audio encoders."""
    model = gemma3n_text(text_reader(reader), name)
    hidden = model.hidden_size
    parts = towers_gemma.gemma3n_vision(sub_config(reader, "vision_config"), hidden)
    parts += towers_gemma.gemma3n_audio(sub_config(reader, "audio_config"), hidden)
    return with_towers(model, reader, parts)
