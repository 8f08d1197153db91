"""Optimizer state by hand arithmetic: every shape, every storage, every small-tensor rule."""

import pytest

from generator.core.errors import TrainfitError
from generator.core.model import Tensor
from generator.core.optimizer import Optimizer, OptimizerState
from generator.core.states import optimizer_state_bytes, state_elements
from tests.core.records import state_bytes_per_parameter

MATRIX = Tensor(module="q_proj", shape=(4096, 1024), kind="linear")
NORM = Tensor(module="norm", shape=(4096,), kind="norm")
BIAS = Tensor(module="q_proj", shape=(4096,), kind="bias")
EMBEDDING = Tensor(module="embed_tokens", shape=(32000, 4096), kind="embedding", part="root")
EXPERTS = Tensor(module="gate_up_proj", shape=(8, 2048, 512), kind="expert")


def adam(**changes: object) -> Optimizer:
    fields: dict[str, object] = {
        "id": "adamw",
        "name": "AdamW",
        "states": (OptimizerState(name="exp_avg"), OptimizerState(name="exp_avg_sq")),
    }
    return Optimizer(**(fields | changes))  # type: ignore[arg-type]


def blockwise(dtype: str = "blockwise-8bit", **changes: object) -> Optimizer:
    states = tuple(
        OptimizerState(name=name, dtype=dtype)  # type: ignore[arg-type]
        for name in ("state1", "state2")
    )
    return adam(states=states, min_blockwise_elements=4096, **changes)


def one(shape: str, **changes: object) -> Optimizer:
    state = OptimizerState(name="state", shape=shape, **changes)  # type: ignore[arg-type]
    return adam(states=(state,), rank=128)


def test_adamw_keeps_eight_bytes_for_every_parameter() -> None:
    tensors = (MATRIX, NORM, EMBEDDING, EXPERTS)
    num_parameters = 4096 * 1024 + 4096 + 32000 * 4096 + 8 * 2048 * 512
    assert optimizer_state_bytes(adam(), tensors) == 8 * num_parameters


def test_count_multiplies_a_tensor() -> None:
    layers = Tensor(module="q_proj", shape=(4096, 1024), kind="linear", count=32)
    assert optimizer_state_bytes(adam(), (layers,)) == 32 * 8 * 4096 * 1024


def test_an_optimizer_without_states_keeps_nothing() -> None:
    assert optimizer_state_bytes(adam(states=()), (MATRIX, EMBEDDING)) == 0


def test_states_follow_16_bit_weights_only_where_the_implementation_does() -> None:
    torch_adam = adam(follows_parameter_dtype=True)
    assert optimizer_state_bytes(torch_adam, (MATRIX,), pure_16bit=True) == 4 * 4096 * 1024
    assert optimizer_state_bytes(torch_adam, (MATRIX,), pure_16bit=False) == 8 * 4096 * 1024
    assert optimizer_state_bytes(adam(), (MATRIX,), pure_16bit=True) == 8 * 4096 * 1024


def test_bf16_states_take_two_bytes_each() -> None:
    states = tuple(OptimizerState(name=name, dtype="bf16") for name in ("exp_avg", "exp_avg_sq"))
    assert optimizer_state_bytes(adam(states=states), (MATRIX,)) == 4 * 4096 * 1024


def test_8bit_states_carry_one_fp32_scale_per_256_elements() -> None:
    elements = 4096 * 1024
    expected = 2 * (elements + 4 * (elements // 256))
    assert optimizer_state_bytes(blockwise(), (MATRIX,)) == expected


def test_a_ragged_tensor_has_one_more_scale() -> None:
    ragged = Tensor(module="head", shape=(5001,), kind="other")
    # 5001 elements make 19 whole blocks and one of 137.
    assert optimizer_state_bytes(blockwise(), (ragged,)) == 2 * (5001 + 4 * 20)


def test_tensors_below_4096_elements_keep_fp32_states() -> None:
    just_below = Tensor(module="norm", shape=(4095,), kind="norm")
    assert optimizer_state_bytes(blockwise(), (just_below,)) == 2 * 4 * 4095
    # 4,096 elements are quantised: 16 blocks.
    assert optimizer_state_bytes(blockwise(), (NORM,)) == 2 * (4096 + 4 * 16)


def test_embeddings_stay_in_fp32_where_the_trainer_asks_for_it() -> None:
    elements = 32000 * 4096
    quantised = optimizer_state_bytes(blockwise(), (EMBEDDING, MATRIX))
    asked = optimizer_state_bytes(blockwise(), (EMBEDDING, MATRIX), embeddings_in_fp32=True)
    assert asked - quantised == 8 * elements - 2 * (elements + 4 * (elements // 256))


def test_embeddings_in_fp32_changes_nothing_for_a_plain_adam() -> None:
    plain = optimizer_state_bytes(adam(), (EMBEDDING,))
    assert optimizer_state_bytes(adam(), (EMBEDDING,), embeddings_in_fp32=True) == plain


def test_4bit_states_pack_two_elements_a_byte_with_a_scale_per_128() -> None:
    elements = 4096 * 1024
    optimizer = blockwise("blockwise-4bit", whole_blocks_only=True)
    assert optimizer_state_bytes(optimizer, (MATRIX,)) == 2 * (elements // 2 + 4 * elements // 128)


def test_fp8_states_have_the_size_of_8bit_states() -> None:
    fp8 = optimizer_state_bytes(blockwise("blockwise-fp8"), (MATRIX,))
    assert fp8 == optimizer_state_bytes(blockwise(), (MATRIX,))


def test_torchao_keeps_a_ragged_tensor_whole() -> None:
    ragged = Tensor(module="head", shape=(5001,), kind="other")
    optimizer = blockwise("blockwise-4bit", whole_blocks_only=True, follows_parameter_dtype=True)
    assert optimizer_state_bytes(optimizer, (ragged,)) == 2 * 4 * 5001
    assert optimizer_state_bytes(optimizer, (ragged,), pure_16bit=True) == 2 * 2 * 5001


@pytest.mark.parametrize(
    ("tensor", "elements"),
    [
        pytest.param(MATRIX, 4096 + 1024, id="one-vector-per-side"),
        pytest.param(NORM, 4096, id="a-vector-stays-whole"),
        pytest.param(EXPERTS, 8 * (2048 + 512), id="each-expert-by-itself"),
    ],
)
def test_factored(tensor: Tensor, elements: int) -> None:
    assert optimizer_state_bytes(one("factored"), (tensor,)) == 4 * elements


@pytest.mark.parametrize(
    ("tensor", "elements"),
    [
        pytest.param(MATRIX, 4096, id="one-value-per-output-row"),
        pytest.param(NORM, 1, id="one-value-for-a-norm"),
        pytest.param(BIAS, 4096, id="a-bias-is-adam"),
        pytest.param(EXPERTS, 8 * 2048, id="each-expert-by-itself"),
    ],
)
def test_row(tensor: Tensor, elements: int) -> None:
    assert optimizer_state_bytes(one("row"), (tensor,)) == 4 * elements


@pytest.mark.parametrize(
    ("shape", "tensor", "elements"),
    [
        pytest.param("low-rank", MATRIX, 128 * 4096, id="rank-times-longer-side"),
        pytest.param("projector", MATRIX, 128 * 1024, id="rank-times-shorter-side"),
        pytest.param("low-rank", EXPERTS, 8 * 128 * 2048, id="each-expert-by-itself"),
        pytest.param("projector", EXPERTS, 8 * 128 * 512, id="each-expert-projector"),
        pytest.param("low-rank", NORM, 4096, id="a-vector-stays-whole"),
    ],
)
def test_low_rank(shape: str, tensor: Tensor, elements: int) -> None:
    assert optimizer_state_bytes(one(shape), (tensor,)) == 4 * elements


def test_a_rank_above_the_shorter_side_is_cut_to_it() -> None:
    adapter = Tensor(module="q_proj", shape=(16, 4096), kind="linear")
    assert optimizer_state_bytes(one("low-rank"), (adapter,)) == 4 * 16 * 4096


def test_a_low_rank_state_without_a_rank_refuses() -> None:
    state = OptimizerState(name="exp_avg", shape="low-rank")
    with pytest.raises(TrainfitError, match="has no rank") as caught:
        optimizer_state_bytes(adam(states=(state,)), (MATRIX,))
    assert caught.value.code == "missing-fact"


def test_shape_none_keeps_nothing() -> None:
    assert state_elements(OptimizerState(name="nothing", shape="none"), MATRIX) == 0


def test_muon_splits_block_matrices_from_the_rest() -> None:
    muon = adam(
        states=(
            OptimizerState(name="momentum_buffer", only="matrices"),
            OptimizerState(name="exp_avg", only="rest"),
            OptimizerState(name="exp_avg_sq", only="rest"),
        )
    )
    matrices = 4 * (4096 * 1024 + 8 * 2048 * 512)
    rest = 8 * (32000 * 4096 + 4096)
    expected = matrices + rest
    assert optimizer_state_bytes(muon, (MATRIX, EXPERTS, EMBEDDING, NORM)) == expected


def test_bytes_per_parameter_of_adamw_and_its_8bit_form() -> None:
    assert state_bytes_per_parameter(adam()) == 8
    assert state_bytes_per_parameter(blockwise()) == 2 * (1 + 4 / 256)
    assert state_bytes_per_parameter(adam(follows_parameter_dtype=True), pure_16bit=True) == 4
