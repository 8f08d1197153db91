"""Tokens of a data set, with and without padding."""

from generator.core.dataset import Dataset


def test_packed_samples_are_their_content_and_epochs_repeat_it() -> None:
    samples = Dataset(
        num_tokens=None, num_samples=1000, tokens_per_sample=300, epochs=2.5, packing=True
    )
    tokens = Dataset(
        num_tokens=7000, num_samples=None, tokens_per_sample=None, epochs=1, packing=True
    )

    assert samples.processed_tokens(2048) == 1000 * 300 * 5 // 2
    assert samples.content_tokens == 1000 * 300 * 5 // 2
    assert tokens.processed_tokens(2048) == tokens.content_tokens == 7000


def test_without_packing_each_sample_fills_its_sequence() -> None:
    padded = Dataset(
        num_tokens=None, num_samples=1000, tokens_per_sample=300, epochs=1, packing=False
    )

    assert padded.processed_tokens(2048) == 1000 * 2048
    assert padded.content_tokens == 1000 * 300
    # Samples longer than the sequence are not cut here: their content counts.
    assert padded.processed_tokens(256) == 1000 * 300
