"""Hugging Face `config.json` to a `Model`: one small adapter per architecture.

Also understood: the flattened form of the catalog, in which the text model's fields stand at the
top and layer patterns are run-length encoded (`layer_types_rle = [["sliding_attention", 5], ...]`).
"""

from collections.abc import Callable, Mapping

from generator.core.errors import TrainfitError
from generator.core.hf_config import (
    classic,
    deepseek,
    dense,
    gemma,
    hybrid,
    inkling,
    moe,
    multimodal,
    state_space,
)
from generator.core.hf_config.bare_count import MAX_PARAMETERS, model_from_parameter_count
from generator.core.hf_config.reader import FIELD_PREFIX, Questions, Reader, check_spelling
from generator.core.model import Model
from generator.core.params import num_parameters, tensors

__all__ = ["ADAPTERS", "model_from_config", "model_from_parameter_count", "read_config"]

Adapter = Callable[[Reader, str], Model]

ADAPTERS: dict[str, Adapter] = {
    "afmoe": moe.afmoe,
    "apertus": dense.apertus,
    "arcee": dense.arcee,
    "bailing_hybrid": hybrid.bailing_hybrid,
    "bert": classic.bert,
    "chatglm": classic.chatglm,
    "cohere": classic.cohere,
    "cohere2": classic.cohere,
    "cohere2_moe": moe.cohere2_moe,
    "deepseek_v2": deepseek.deepseek,
    "deepseek_v3": deepseek.deepseek,
    "deepseek_v32": deepseek.deepseek_sparse,
    "deepseek_v4": deepseek.deepseek_v4,
    "dots1": moe.dots1,
    "ernie4_5": dense.ernie4_5,
    "ernie4_5_moe": moe.ernie4_5_moe,
    "exaone4": dense.exaone4,
    "exaone_moe": moe.exaone_moe,
    "falcon": classic.falcon,
    "falcon_h1": state_space.falcon_h1,
    "flex_olmo": moe.flex_olmo,
    "gemma": dense.gemma,
    "gemma2": dense.gemma2,
    "gemma3": gemma.gemma3,
    "gemma3_text": dense.gemma3_text,
    "gemma3n": gemma.gemma3n,
    "gemma3n_text": gemma.gemma3n_text,
    "gemma4": gemma.gemma4,
    "gemma4_unified": gemma.gemma4_unified,
    "glm": dense.glm,
    "glm4": dense.glm4,
    "glm4_moe": moe.glm4_moe,
    "glm4_moe_lite": deepseek.deepseek,
    "glm5_next": multimodal.glm5_next,
    "glm_moe_dsa": deepseek.deepseek_sparse,
    "gpt2": classic.gpt2,
    "gpt_bigcode": classic.gpt_bigcode,
    "gpt_neox": classic.gpt_neox,
    "gpt_oss": moe.gpt_oss,
    "granite": dense.llama,
    "granite_swa": dense.granite_swa,
    "granitemoe": moe.granite_moe,
    "granitemoehybrid": state_space.granite_moe_hybrid,
    "granitemoeshared": moe.granite_moe,
    "hunyuan_v1_dense": dense.hunyuan,
    "hy_v3": moe.hy_v3,
    "inkling_mm_model": inkling.inkling,
    "internlm3": dense.llama,
    "iquestcoder": dense.llama,
    "kimi_k25": multimodal.kimi_k25,
    "kimi_linear": hybrid.kimi_linear,
    "laguna": moe.laguna,
    "lfm2": state_space.lfm2,
    "lfm2_moe": state_space.lfm2_moe,
    "llama": dense.llama,
    "llama4": multimodal.llama4,
    "llama4_text": multimodal.llama4_text,
    "mellum": moe.mellum,
    "minicpmv": classic.minicpmv,
    "minimax_m2": moe.minimax_m2,
    "minimax_m3_vl": multimodal.minimax_m3,
    "ministral3": dense.mistral,
    "mistral": dense.mistral,
    "mistral3": multimodal.mistral3,
    "mistral4": deepseek.mistral4,
    "mixtral": moe.mixtral,
    "mllama": multimodal.mllama,
    "modernbert": classic.modernbert,
    "muse_glimmer": multimodal.muse_glimmer,
    "nemotron": classic.nemotron,
    "nemotron_h": state_space.nemotron_h,
    "olmo2": dense.olmo2,
    "olmo3": dense.olmo2,
    "olmo_hybrid": hybrid.olmo_hybrid,
    "olmoe": moe.olmoe,
    "phi": classic.phi,
    "phi3": dense.phi3,
    "phimoe": moe.phimoe,
    "qwen": classic.qwen1,
    "qwen2": dense.qwen2,
    "qwen2_5_vl": multimodal.qwen2_5_vl,
    "qwen2_moe": moe.qwen2_moe,
    "qwen2_vl": multimodal.qwen2_vl,
    "qwen3": dense.qwen3,
    "qwen3_5": multimodal.qwen3_5,
    "qwen3_5_moe": multimodal.qwen3_5_moe,
    "qwen3_5_moe_text": hybrid.qwen3_5_moe_text,
    "qwen3_5_text": hybrid.qwen3_5_text,
    "qwen3_moe": moe.qwen3_moe,
    "qwen3_next": hybrid.qwen3_next,
    "qwen3_vl": multimodal.qwen3_vl,
    "qwen3_vl_moe": multimodal.qwen3_vl_moe,
    "seed_oss": dense.seed_oss,
    "smollm3": dense.smollm3,
    "solar_open": moe.solar_open,
    "stablelm": classic.stablelm,
    "starcoder2": classic.starcoder2,
    "youtu": deepseek.dense_latent,
}
"""By `model_type`."""


def model_from_config(config: Mapping[str, object], name: str) -> Model:
    """The model that a Hugging Face config describes.

    Args:
        config: The parsed `config.json`, or the catalog's flattened form of it.
        name: What to call the model.

    Raises:
        TrainfitError: the architecture is not understood (`unsupported-architecture`), or a field
            is missing, of the wrong type, absurd or at odds with another.
    """
    return read_config(config, name)[0]


def read_config(config: Mapping[str, object], name: str) -> tuple[Model, Questions]:
    """As `model_from_config`, and what the config was asked for on the way.

    Args:
        config: The parsed `config.json`, or the catalog's flattened form of it.
        name: What to call the model.

    Raises:
        TrainfitError: as `model_from_config` does.
    """
    if not isinstance(config, Mapping):
        raise TrainfitError(
            "wrong-type", FIELD_PREFIX, "A config must be a JSON object, as in config.json."
        )
    reader = Reader(config)
    kind = reader.text("model_type")
    if kind not in ADAPTERS:
        # Names the architecture in whose fields a model without a class of its own is written down.
        kind = reader.text("shape_as", default=kind)
    if not kind:
        raise TrainfitError(
            "missing-field",
            f"{FIELD_PREFIX}.model_type",
            "The config has no model_type; paste the whole config.json of the model.",
        )
    adapter = ADAPTERS.get(kind)
    if adapter is None:
        raise TrainfitError(
            "unsupported-architecture",
            f"{FIELD_PREFIX}.model_type",
            f"The architecture {kind[:60]!r} is not understood. For a dense decoder write its "
            'shape by hand with "model_type": "llama" and hidden_size, num_hidden_layers, '
            "num_attention_heads, num_key_value_heads, intermediate_size and vocab_size, "
            "or give a bare num_parameters.",
        )
    model = adapter(reader, name)
    check_spelling(config, reader.questions)
    _check_sizes(model)
    return model, reader.questions


def _check_sizes(model: Model) -> None:
    """Refuses sizes that vanish by division, and totals beyond any model.

    Raises:
        TrainfitError: a tensor without elements (`inconsistent-config`), or more parameters than
            10^14 (`out-of-range`).
    """
    for tensor in tensors(model):
        if min(tensor.shape) < 1:
            raise TrainfitError(
                "inconsistent-config",
                FIELD_PREFIX,
                f"The weights of {tensor.module} would have the shape {tensor.shape}, which holds "
                "nothing; check the sizes that divide one another.",
            )
    total = num_parameters(model)
    if total > MAX_PARAMETERS:
        raise TrainfitError(
            "out-of-range",
            FIELD_PREFIX,
            f"The config describes {total:.3g} parameters, more than 10^14; check its sizes.",
        )
