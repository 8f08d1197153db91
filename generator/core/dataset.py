"""What is trained on: hours and money follow from it, memory does not."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A data set by its tokens, or by its samples and their mean length."""

    num_tokens: int | None
    num_samples: int | None
    tokens_per_sample: int | None
    epochs: float
    """Passes over the data set."""
    packing: bool
    """Samples share sequences, so that nothing is padded."""

    @property
    def _size(self) -> int:
        """Tokens of one pass, without padding."""
        if self.num_tokens is not None:
            return self.num_tokens
        return (self.num_samples or 0) * (self.tokens_per_sample or 0)

    @property
    def content_tokens(self) -> int:
        """Tokens with content, all epochs."""
        return round(self._size * self.epochs)

    def processed_tokens(self, sequence_length: int) -> int:
        """Tokens that go through the model, all epochs.

        Shape: tokens, padding included.
        Counts: without packing each sample is padded to the sequence length, and padding costs like
            tokens.

        Args:
            sequence_length: What a sample is padded to.

        Source: arithmetic; checked by tests/core/test_dataset.py.
        """
        size = self._size
        if not self.packing:
            size = max(size, (self.num_samples or 0) * sequence_length)
        return round(size * self.epochs)
