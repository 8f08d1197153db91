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

    def processed_tokens(self, sequence_length: int) -> int:
        """Tokens that go through the model, all epochs.

        Shape: tokens, padding included.
        Counts: without packing each sample is padded to the sequence length.
        Source: arithmetic; `cost.cost` has the same.

        Args:
            sequence_length: What a sample is padded to.
        """
        content = self.num_tokens
        if content is None:
            content = (self.num_samples or 0) * (self.tokens_per_sample or 0)
        if not self.packing:
            content = max(content, (self.num_samples or 0) * sequence_length)
        return round(content * self.epochs)
