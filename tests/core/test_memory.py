"""The step's memory: instants against hand arithmetic for a Llama block."""

import pytest

from generator.core.memory import instants, peak
from generator.core.model import Attention, Block, BlockGroup, Mlp, Model
from generator.core.optimizer import Optimizer, OptimizerState
from generator.core.run import Case, Lora, Workload
from generator.core.stack import GENERIC, Stack

HIDDEN, LAYERS, VOCAB, WIDTH = 4096, 32, 128_256, 14_336
BLOCK = Block(
    mixers=(Attention(num_attention_heads=32, num_key_value_heads=8, head_dim=128),),
    feed_forward=Mlp(intermediate_size=WIDTH),
)
LLAMA = Model(
    name="Llama-shaped 8B",
    hidden_size=HIDDEN,
    vocab_size=VOCAB,
    tie_word_embeddings=False,
    block_groups=(BlockGroup(count=LAYERS, block=BLOCK),),
)
NUM_PARAMETERS = 8_030_261_248
ADAMW = Optimizer(
    id="adamw",
    name="AdamW",
    states=(OptimizerState(name="exp_avg"), OptimizerState(name="exp_avg_sq")),
    follows_parameter_dtype=True,
    foreach_temporaries=True,
)
PLAIN = Stack(id="plain", name="No buffers at all")


def case(**changes: object) -> Case:
    """A full bf16-pure run on one GPU without accumulation unless told otherwise."""
    fields: dict[str, object] = {
        "model": LLAMA,
        "optimizer": ADAMW,
        "stack": PLAIN,
        "precision": "bf16-pure",
        "workload": Workload(sequence_length=4096, gradient_accumulation_steps=1),
    }
    return Case(**{**fields, **changes})  # type: ignore[arg-type]


def test_loss_instant_without_checkpointing_is_the_sum_of_every_saved_tensor() -> None:
    tokens = 4096
    unit = 2 * tokens * HIDDEN
    log_sum_exp = 4 * 32 * tokens
    saved = 8 * unit + 2 * unit + 2 * unit // 4 + log_sum_exp + 4 * 2 * tokens * WIDTH
    tail = 4 * unit
    resident = (2 + 4) * NUM_PARAMETERS
    expected = resident + LAYERS * saved + tail + 12 * tokens * VOCAB
    run = case(
        workload=Workload(
            sequence_length=4096, gradient_accumulation_steps=1, activation_checkpointing="none"
        )
    )
    actual = peak(run)
    assert actual.phase == "loss"
    assert expected == actual.ledger.allocated


def test_foreach_adamw_peaks_at_ten_bytes_per_parameter_in_pure_16_bit() -> None:
    actual = peak(case(optimizer_implementation="foreach"))
    assert actual.phase == "step"
    assert actual.ledger.allocated == 10 * NUM_PARAMETERS


@pytest.mark.parametrize(
    ("method", "adapter_dtype", "precision", "units"),
    [
        pytest.param("full", "fp32", "bf16-pure", 24.516, id="full"),
        pytest.param("lora", "bf16", "bf16-pure", 22.543, id="lora-bf16"),
        pytest.param("lora", "fp32", "bf16-mixed", 26.543, id="lora-fp32-autocast"),
        pytest.param("lora", "fp32", "bf16-pure", 36.07, id="lora-fp32-no-autocast"),
    ],
)
def test_saved_bytes_per_layer_match_the_traced_allocations(
    method: str, adapter_dtype: str, precision: str, units: float
) -> None:
    """In units of 2 bytes x tokens x hidden size, as PyTorch's allocations were traced."""
    tokens = 1024

    def forward_end(layers: int) -> int:
        model = Model(
            name="x",
            hidden_size=HIDDEN,
            vocab_size=VOCAB,
            tie_word_embeddings=False,
            block_groups=(BlockGroup(count=layers, block=BLOCK),),
        )
        run = case(
            model=model,
            method=method,
            precision=precision,
            lora=Lora(adapter_dtype=adapter_dtype),  # type: ignore[arg-type]
            workload=Workload(
                sequence_length=tokens,
                gradient_accumulation_steps=1,
                activation_checkpointing="none",
            ),
        )
        return instants(run)[1].ledger.activations

    per_layer = (forward_end(3) - forward_end(1)) / 2
    assert per_layer / (2 * tokens * HIDDEN) == pytest.approx(units, abs=0.01)


def test_generic_lump_is_the_only_overhead_of_the_generic_stack() -> None:
    ledger = peak(case(stack=GENERIC)).ledger
    assert ledger.overhead == 1_500_000_000
    assert ledger.total == ledger.allocated + 1_500_000_000
