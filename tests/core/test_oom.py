"""Out-of-memory messages: real sizes of public threads are named, and nothing is made up."""

import json
from typing import Any

import pytest

from generator.core import api, oom
from generator.core.errors import TrainfitError
from generator.core.units import GIB, MIB
from generator.load import load_catalog

NEW_STYLE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total "
    "capacity of 14.75 GiB of which 2.34 GiB is free. Process 1234 has 12.40 GiB memory in use. "
    "Of the allocated memory 11.93 GiB is allocated by PyTorch, and 310.51 MiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
OLD_STYLE = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.32 GiB (GPU 0; 23.69 GiB total "
    "capacity; 20.87 GiB already allocated; 1.56 GiB free; 21.35 GiB reserved in total by PyTorch)"
)


def decode(message: str, **request: Any) -> dict[str, Any]:
    text = json.dumps({"op": "decode", "message": message, **request})
    answer: dict[str, Any] = json.loads(api.run(text, load_catalog()))
    return answer


def tensors(message: str, **request: Any) -> list[str]:
    return [each["tensor"] for each in decode(message, **request)["candidates"]]


def test_the_new_style_s_sizes_are_read() -> None:
    message = oom.parse_message(NEW_STYLE)

    assert message.requested == int(7.83 * GIB)
    assert message.rounding == pytest.approx(0.005 * GIB, abs=2)
    assert message.capacity == int(14.75 * GIB)
    assert message.free == int(2.34 * GIB)
    assert message.in_use == int(12.40 * GIB)
    assert message.allocated == int(11.93 * GIB)
    assert message.unallocated == int(310.51 * MIB)


def test_the_old_style_s_sizes_are_read() -> None:
    message = oom.parse_message(OLD_STYLE)

    assert message.requested == int(2.32 * GIB)
    assert message.capacity == int(23.69 * GIB)
    assert message.free == int(1.56 * GIB)
    assert message.allocated == int(20.87 * GIB)
    assert message.unallocated == pytest.approx(0.48 * GIB, abs=2)
    assert message.in_use is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7.83 GiB", int(7.83 * GIB)),
        ("7.83GiB", int(7.83 * GIB)),
        ("it says 462.00 MiB.", 462 * MIB),
        ("HIP out of memory. Tried to allocate 1,002.00 MiB.", 1002 * MIB),
        ("Tried to allocate 512 bytes", 512),
    ],
)
def test_a_size_alone_is_enough(text: str, expected: int) -> None:
    assert oom.parse_message(text).requested == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad-request"),
        ("Segmentation fault", "bad-request"),
        ("between 1 GiB and 2 GiB", "bad-request"),
        ("Tried to allocate . GiB", "bad-request"),
        ("Tried to allocate 1.2.3 GiB", "bad-request"),
        ("Tried to allocate 99999999999999999999 GiB", "bad-request"),
        ("7.83 GiB " * 4000, "input-too-large"),
    ],
)
def test_what_is_no_message_is_refused(text: str, code: str) -> None:
    with pytest.raises(TrainfitError) as refused:
        oom.parse_message(text)

    assert refused.value.code == code
    assert refused.value.field == "message"


@pytest.mark.parametrize(
    ("message", "request_", "tensor", "formula"),
    [
        # The threads are those of docs/explain/out-of-memory.md.
        (
            NEW_STYLE,
            {"model": "llama-3.1-8b", "method": "qlora", "sequence_length": 16384},
            "FP32 logits",
            "16,384 tokens × 128,256 vocabulary × 4 B",
        ),
        (
            "9.47 GiB",
            {"model": "llama-3.1-8b", "sequence_length": 9910, "micro_batch_size": 2},
            "FP32 logits",
            "19,820 tokens × 128,256 vocabulary × 4 B",
        ),
        (
            OLD_STYLE,
            {"model": "qwen2.5-0.5b", "sequence_length": 4096},
            "FP32 shifted logits",
            "4,095 tokens × 151,936 vocabulary × 4 B",
        ),
        (
            "12.94 GiB",
            {"model": {"num_parameters": 13_896_668_160}, "strategy": "zero-2", "num_gpus": 4},
            "one FP32 optimizer state, or the master weights: the shard of one of 4 GPUs",
            "13,896,668,160 parameters × 4 B / 4 GPUs",
        ),
        (
            "14.96 GiB",
            {"model": "llama-3.1-8b", "strategy": "zero-2", "num_gpus": 8},
            "all weights in 16 bit, or a flat buffer of them",
            "8,030,261,248 parameters × 2 B",
        ),
        (
            "462.00 MiB",
            {"model": "qwen2.5-72b", "sequence_length": 512},
            "one 16-bit matrix, or its gradient: gate_proj or up_proj or down_proj",
            "29,568 × 8,192 × 2 B",
        ),
        (
            "448.00 MiB",
            {"model": "llama-3.3-70b", "sequence_length": 512},
            "one 16-bit matrix, or its gradient: gate_proj or up_proj or down_proj",
            "28,672 × 8,192 × 2 B",
        ),
        (
            "32.00 GiB",
            {"model": "llama-3.1-8b", "sequence_length": 16384, "attention": "eager"},
            "FP32 attention scores",
            "1 sequences × 32 heads × 16,384 tokens × 16,384 tokens × 4 B",
        ),
        (
            "954.00 MiB",
            {"model": "llama-3.1-8b", "strategy": "zero-2"},
            "a 16-bit bucket of DeepSpeed",
            "500,000,000 elements × 2 B",
        ),
    ],
)
def test_the_tensor_of_a_real_message_is_named(
    message: str, request_: dict[str, Any], tensor: str, formula: str
) -> None:
    found = decode(message, **request_)["candidates"]

    (match,) = [each for each in found if each["tensor"] == tensor]
    assert match["formula"] == formula
    assert match["is_exact"]
    assert found.index(match) <= 1


def test_the_run_s_own_gpu_count_comes_first() -> None:
    size = {"model": {"num_parameters": 13_896_668_160}, "strategy": "zero-2"}

    assert tensors("12.94 GiB", **size, num_gpus=4)[0].endswith("one of 4 GPUs")
    assert all("of 4 GPUs" not in each for each in tensors("6.47 GiB", **size, num_gpus=8)[:1])


@pytest.mark.parametrize(("optimizer", "is_named"), [("adamw-8bit", True), ("adamw", False)])
def test_an_8_bit_state_is_named_where_there_is_one(optimizer: str, is_named: bool) -> None:
    found = tensors("7.48 GiB", model="llama-3.1-8b", optimizer=optimizer)

    assert ("one 8-bit optimizer state" in found) == is_named


def test_a_small_request_names_no_tensor() -> None:
    found = decode("Tried to allocate 20.00 MiB", model="llama-3.3-70b")

    assert not found["names_a_tensor"]
    assert found["candidates"] == found["tokens_of_logits"] == []
    assert found["observations"][0].startswith("The request is small")


def test_a_size_that_is_nothing_finds_nothing() -> None:
    assert tensors("Tried to allocate 3.33 GiB", model="llama-3.1-8b") == []


def test_what_is_only_near_says_so() -> None:
    # 65,536 tokens of a vocabulary of 262,144, asked with one of 262,208.
    found = decode("64.00 GiB", model="gemma-3-27b", sequence_length=65536)["candidates"]

    assert found[0]["tensor"].endswith("logits")
    assert not any(each["is_exact"] for each in found)


def test_tokens_are_told_where_the_length_is_unknown() -> None:
    found = decode("9.47 GiB", model="llama-3.1-8b")

    (fp32,) = [each for each in found["tokens_of_logits"] if each["dtype"] == "FP32"]
    assert fp32["fewest"] <= 19_820 <= fp32["most"]
    assert fp32["most"] - fp32["fewest"] < 30


def test_tokens_are_not_told_where_no_whole_number_of_them_fits() -> None:
    model = load_catalog().models["llama-3.1-8b"].model
    row = model.vocab_size * 4

    # A request of 50 MiB is one of 48 to 50 MiB: 98 to 102 rows of FP32 logits.
    between = oom.parse_message("Tried to allocate 50.00 MiB")
    assert oom.tokens_of_logits(model, between)[0] == ("FP32", 48 * MIB // row + 1, 50 * MIB // row)
    # A row is 513 kB, so nothing below that holds one.
    below = oom.parse_message("Tried to allocate 200 bytes")
    assert oom.tokens_of_logits(model, below) == []


@pytest.mark.parametrize(
    ("num_bytes", "asked"),
    [
        (1, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 1, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
        (500_000_000 * 2, 954 * MIB),
    ],
)
def test_the_allocator_asks_in_steps(num_bytes: int, asked: int) -> None:
    assert oom.driver_bytes(num_bytes) == asked


def test_other_memory_and_fragmentation_are_noticed() -> None:
    notes = " ".join(
        decode(
            "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.50 GiB of which 1.00 GiB "
            "is free. Process 7 has 18.50 GiB memory in use. Of the allocated memory 12.00 GiB is "
            "allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated.",
            model="llama-3.1-8b",
        )["observations"]
    )

    assert "6.00 GiB lay reserved but unallocated" in notes
    assert "512.00 MiB of the process is outside PyTorch's allocator" in notes
    assert "4.00 GiB of the card belong to other processes" in notes


def test_without_the_card_s_size_nothing_is_said_of_other_processes() -> None:
    notes = " ".join(
        decode(
            "Tried to allocate 2.00 GiB. Process 7 has 18.50 GiB memory in use. Of the allocated "
            "memory 18.00 GiB is allocated by PyTorch.",
            model="llama-3.1-8b",
        )["observations"]
    )

    assert "512.00 MiB of the process is outside PyTorch's allocator" in notes
    assert "other processes" not in notes


def test_a_request_larger_than_the_card_is_noticed() -> None:
    notes = decode(OLD_STYLE.replace("2.32", "64.00"), model="qwen2.5-7b")["observations"]

    assert notes == ["The request alone is larger than the card."]


@pytest.mark.parametrize(("message", "code"), [(None, "missing-field"), (7, "wrong-type")])
def test_the_message_must_be_text(message: object, code: str) -> None:
    text = json.dumps({"op": "decode", "message": message, "model": "llama-3.1-8b"})

    assert json.loads(api.run(text, load_catalog()))["error"]["code"] == code


@pytest.mark.parametrize("model_id", sorted(load_catalog().models))
def test_every_model_s_logits_are_recognised(model_id: str) -> None:
    vocabulary = load_catalog().models[model_id].model.vocab_size
    size = oom.format_gib(oom.driver_bytes(8192 * vocabulary * 4))

    assert any(
        "FP32 logits" in each for each in tensors(size, model=model_id, sequence_length=8192)
    )
