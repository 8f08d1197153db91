"""Hugging Face `config.json` to a `Model`: one small adapter per architecture.

Also understood: the flattened form of the catalog, in which the text model's fields stand at the
top and layer patterns are run-length encoded (`layer_types_rle = [["sliding_attention", 5], ...]`).
"""

from collections.abc import Callable, Mapping

from generator.core.errors import TrainfitError
from generator.core.hf_config import dense, moe
from generator.core.hf_config.bare_count import model_from_parameter_count
from generator.core.hf_config.reader import FIELD_PREFIX, Reader
from generator.core.model import Model

__all__ = ["ADAPTERS", "model_from_config", "model_from_parameter_count"]

Adapter = Callable[[Reader, str], Model]

ADAPTERS: dict[str, Adapter] = {
    "apertus": dense.apertus,
    "deepseek_v2": moe.deepseek,
    "deepseek_v3": moe.deepseek,
    "gemma": dense.gemma,
    "gemma2": dense.gemma2,
    "gemma3_text": dense.gemma3_text,
    "glm4": dense.glm4,
    "glm4_moe": moe.glm4_moe,
    "glm4_moe_lite": moe.deepseek,
    "gpt_oss": moe.gpt_oss,
    "granite": dense.llama,
    "llama": dense.llama,
    "mistral": dense.mistral,
    "mixtral": moe.mixtral,
    "olmo2": dense.olmo2,
    "olmo3": dense.olmo2,
    "phi3": dense.phi3,
    "qwen2": dense.qwen2,
    "qwen3": dense.qwen3,
    "qwen3_moe": moe.qwen3_moe,
    "seed_oss": dense.seed_oss,
    "smollm3": dense.smollm3,
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
    if not isinstance(config, Mapping):
        raise TrainfitError(
            "wrong-type", FIELD_PREFIX, "A config must be a JSON object, as in config.json."
        )
    reader = Reader(config)
    # `shape_as` names the architecture whose config fields a remote-code model is written in.
    kind = reader.text("shape_as", "model_type")
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
    return adapter(reader, name)
