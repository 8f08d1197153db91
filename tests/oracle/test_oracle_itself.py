"""The oracle on a tiny model, where PyTorch is installed (`make oracle` brings it)."""

import importlib.util
from typing import Any

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is only in the oracle's environment", allow_module_level=True)

from generator.oracle.case import Case
from generator.oracle.layers import layer_rows
from generator.oracle.run import run_case

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "intermediate_size": 512,
    "vocab_size": 4096,
    "tie_word_embeddings": False,
}

PARAMETERS = 2 * 4096 * 256 + 2 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256) + 256


def _case(**settings: Any) -> Case:
    return Case(model="tiny", config=CONFIG, sequence_length=512, **settings)


def test_state_is_counted_to_the_byte() -> None:
    result = run_case(_case())

    assert result.num_parameters == result.num_trainable_parameters == PARAMETERS
    assert result.gradient_bytes == 2 * PARAMETERS
    num_tensors = 2 + 2 * 9 + 1
    assert result.optimizer_bytes == 4 * PARAMETERS + 512 * num_tensors


def test_a_llama_block_saves_the_tensors_of_the_closed_form() -> None:
    # Norms 8, rotated queries and keys, values and output 4, gated feed-forward 4 * 512 / 256 = 8,
    # in units of 2 bytes per token and hidden element, and 4 bytes log-sum-exp per head and token.
    rows = layer_rows(_case())

    by_token = 2 * 256 * (8 + 4 + 8) + 4 * 4
    # Two FP32 values per token from the norms, and seeds of the attention kernel.
    assert rows[1].saved_bytes - 512 * by_token == 2 * 512 * 4 + 2 * 512


def test_checkpointing_keeps_one_input_per_block() -> None:
    rows = layer_rows(_case(activation_checkpointing="full"))

    # A block's output is the next one's input; the last one's belongs to the final norm.
    assert rows[0].saved_bytes == 512 * 256 * 2


def test_sharding_divides_the_state() -> None:
    case = _case(strategy="fsdp2", num_gpus=4, precision="amp", optimizer_implementation="foreach")
    result = run_case(case)

    assert 0 <= result.gradient_bytes - PARAMETERS <= 30 * 512
    assert 0 <= result.parameter_bytes - PARAMETERS <= 30 * 512
    assert 0 <= result.optimizer_bytes - 2 * PARAMETERS <= 30 * 512


def test_ddp_holds_one_more_copy_of_the_gradients() -> None:
    result = run_case(_case(strategy="ddp", num_gpus=2))

    assert 0 <= result.peak.by_category["buckets"] - 2 * PARAMETERS <= 30 * 512
