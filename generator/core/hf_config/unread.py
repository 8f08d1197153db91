"""Which fields of a config nothing reads, and which of those may shape a model all the same."""

from collections.abc import Iterator, Mapping

from generator.core.hf_config.reader import FIELD_PREFIX, Questions
from generator.core.units import join_words

HARMLESS = frozenset(
    (
        # Words and where they come from.
        *("architectures", "auto_map", "model_type", "name_or_path", "transformers_version"),
        *("finetuning_task", "tokenizer_class", "id2label", "label2id", "problem_type"),
        *("task_specific_params", "language", "is_llama_config", "classifier_pooling"),
        *("sparse_pred_ignore_index", "vocab_offset"),
        # How numbers are computed and stored, not how many there are.
        *("torch_dtype", "dtype", "init_std", "init_method", "hidden_act", "activation"),
        *("mamba_ssm_cache_dtype", "rescale_prenorm_residual"),
        *("rotary_emb_base", "partial_rotary_factor", "initial_context_length"),
        *("max_position_embeddings", "original_max_position_embeddings", "n_ctx"),
        *("max_window_layers", "sliding_window", "use_sliding_window", "index_topk"),
        *("use_cache", "cache_implementation", "pretraining_tp", "return_dict", "ep_size"),
        *("gradient_checkpointing", "attn_implementation", "use_flash_attn", "logit_scale"),
        *("query_pre_attn_scalar", "scale_attn_weights", "use_mamba_kernels"),
        *("norm_topk_prob", "scoring_func", "topk_method", "n_group", "topk_group", "seq_aux"),
        *("aux_loss_alpha", "route_scale", "moe_norm_min", "expert_selection_fn"),
        *("shared_expert_combination_strategy", "moe_shared_expert_overlap"),
        *("enable_moe_fp32_combine", "experts_per_token", "swiglu_limit", "swiglu_alpha"),
        *("time_step_min", "time_step_max", "time_step_floor", "time_step_limit", "expand"),
        *("mamba_norm_before_gate", "hc_sinkhorn_iters", "kda_safe_gate", "kda_lower_bound"),
        *("linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor"),
        "linear_allow_neg_eigval",
        # How a tower cuts up what it sees and hears.
        *("image_size", "num_heads", "attention_heads", "num_attention_heads", "in_chans"),
        *("spatial_patch_size", "tokens_per_second", "window_size", "fullatt_block_indexes"),
        *("vision_feature_layer", "vision_feature_select_strategy", "pixel_shuffle_ratio"),
        *("pooling_kernel_size", "mm_tokens_per_image", "vision_soft_tokens_per_image"),
        *("audio_soft_tokens_per_image", "gradient_clipping"),
        # Sizes by their usual names: a reader that leaves them alone has no use for them.
        *("intermediate_size", "num_key_value_heads", "head_dim"),
        # How text is generated.
        *("do_sample", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty"),
        *("length_penalty", "max_length", "min_length", "num_beams", "num_beam_groups"),
        *("num_return_sequences", "num_logits_to_keep"),
    )
)
HARMLESS_STARTS = ("_", "initializer_", "rope_", "output_", "summary_")
HARMLESS_ENDS = (
    *("_token_id", "_token_ids", "_token_index", "_token", "pdrop", "_eps", "_epsilon"),
    *("rope_theta", "_scaling", "scaling_factor", "_loss_coef", "_multiplier", "_in_fp32"),
    *("_hidden_act", "_activation", "activation_function", "_logit_cap", "residual_weight"),
    *("_chunk_size", "_context_left", "_context_right"),
)
HARMLESS_PARTS = ("dropout", "softcap")
"""Fields of published configs that change no tensor's size, whichever architecture has them: by
their names, and by how names begin, end, or what is in them. `summary_` is the head of a
classifier.

Where the configuration classes of `transformers` 5.24.0 have a field that our reader leaves alone,
it is here: the totals are those of the classes. Not so extra layers that predict further tokens,
which the classes leave out and other tools train, and what only one rare class has.
"""

ATTENTION_TYPES = ("full_attention", "sliding_attention", "chunked_attention")
"""Which tokens a layer of attention sees; its tensors are the same."""

SAID_TWICE = frozenset({"model_type", "num_hidden_layers"})
"""Unread where the part that it stands in, or a pattern with a value per layer, says the same."""

NAMES_SHOWN = 3
LONGEST_NAME = 60


def shapes_nothing(name: str) -> bool:
    """Whether a field changes no tensor's size, whichever architecture has it.

    Args:
        name: As in `config.json`, without the path.
    """
    return (
        name in HARMLESS
        or name.startswith(HARMLESS_STARTS)
        or name.endswith(HARMLESS_ENDS)
        or any(part in name for part in HARMLESS_PARTS)
    )


def _changes_nothing(path: str, name: str, value: object) -> bool:
    """Whether a field says what would be so without it, by itself or as a part of a table."""
    if value in (None, False, [], {}) or (name == "moe_layer_freq" and value == 1):
        return True
    if name == "layer_types" and isinstance(value, list):
        return all(each in ATTENTION_TYPES for each in value)
    return name in SAID_TWICE or any(map(shapes_nothing, (name, *path.split("."))))


def _levels(
    config: Mapping[str, object], questions: Questions, path: str = FIELD_PREFIX
) -> Iterator[tuple[str, str, object]]:
    """Every field that nobody asked for, by the path of its level; of a table not its parts."""
    for name, value in config.items():
        if (path, name) not in questions.asked:
            yield path, name, value
        elif isinstance(value, Mapping):
            yield from _levels(value, questions, f"{path}.{name}")


def unread(config: Mapping[str, object], questions: Questions) -> list[str]:
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


def unknown(config: Mapping[str, object], questions: Questions) -> list[str]:
    """Fields that nothing reads and that may shape a model all the same.

    Args:
        config: The parsed `config.json`.
        questions: What it was asked for when a model was made of it.
    """
    return [
        f"{path}.{name}".removeprefix(f"{FIELD_PREFIX}.")
        for path, name, value in _levels(config, questions)
        if not _changes_nothing(path, name, value)
    ]


def unknown_note(config: Mapping[str, object], questions: Questions) -> str:
    """What an answer says of those fields in a sentence; nothing where there are none.

    Args:
        config: The parsed `config.json`.
        questions: What it was asked for when a model was made of it.
    """
    names = unknown(config, questions)
    if not names:
        return ""
    # A stranger's text: one line each, and never a long one.
    shown = [_shown(name) for name in names[:NAMES_SHOWN]]
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more:,} more")
    listed = join_words(shown)
    if len(names) == 1:
        return (
            f"The config's {listed} is not read; if it changes a tensor's size, the estimate "
            "misses it."
        )
    return (
        f"The config's {listed} are not read; if one of them changes a tensor's size, the "
        "estimate misses it."
    )


def _shown(name: str) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in name[:LONGEST_NAME])
    return text if len(name) <= LONGEST_NAME else f"{text}..."
