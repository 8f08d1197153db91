"""Which fields of a config shape the model, which cannot, and which nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from generator.core.hf_config.reader import FIELD_PREFIX, Questions

SHAPES_NOTHING = re.compile(
    # Words and where they come from.
    r"_.*|architectures|auto_map|model_type|name_or_path|transformers_version|finetuning_task"
    r"|.*_token_id|.*_token_ids|.*_token_index|.*_token|tokenizer_class|id2label|label2id"
    r"|problem_type|task_specific_params|language"
    # How numbers are computed, not how many there are.
    r"|torch_dtype|dtype|.*dropout.*|.*pdrop|.*_(eps|epsilon)|initializer_.*|init_(std|method)"
    r"|hidden_act|hidden_activation|activation_function|rope_.*|.*rope_theta|.*_scaling"
    r"|rotary_emb_base|max_position_embeddings|original_max_position_embeddings|max_window_layers"
    r"|use_cache|cache_implementation|pretraining_tp|output_.*|return_dict|gradient_checkpointing"
    r"|attn_implementation|use_flash_attn|.*_loss_coef|.*softcap.*|.*_multiplier|logit_scale"
    r"|query_pre_attn_scalar|norm_topk_prob|routed_scaling_factor|scoring_func|topk_method"
    # How text is generated.
    r"|do_sample|temperature|top_[kp]|repetition_penalty|max_length|min_length|num_beams"
)
"""Fields of published configs that change no tensor's size, whichever architecture has them."""

SAID_TWICE = frozenset({"model_type", "num_hidden_layers"})
"""Unread where the part that it stands in, or a pattern with a value per layer, says the same."""


def _levels(
    config: Mapping[str, Any], questions: Questions, path: str = FIELD_PREFIX
) -> Iterator[tuple[str, str, Any]]:
    """Every field that nobody asked for, by the path of its level; of a table not its parts."""
    for name, value in config.items():
        if (path, name) not in questions.asked:
            yield path, name, value
        elif isinstance(value, Mapping):
            yield from _levels(value, questions, f"{path}.{name}")


def unread(config: Mapping[str, Any], questions: Questions) -> list[str]:
    """Fields of a config that nothing reads, as dotted paths below it.

    Args:
        config: The parsed `config.json`, or the catalog's form of it.
        questions: What it was asked for when a model was made of it.
    """
    return [
        f"{path}.{name}".removeprefix(f"{FIELD_PREFIX}.")
        for path, name, _ in _levels(config, questions)
        if name not in SAID_TWICE
    ]


def unknown(config: Mapping[str, Any], questions: Questions) -> list[str]:
    """Fields that nothing reads and that may shape a model all the same.

    Args:
        config: The parsed `config.json`.
        questions: What it was asked for when a model was made of it.
    """
    return [
        f"{path}.{name}".removeprefix(f"{FIELD_PREFIX}.")
        for path, name, value in _levels(config, questions)
        if name not in SAID_TWICE
        and not SHAPES_NOTHING.fullmatch(name)
        and value not in (None, False, [], {})
    ]
