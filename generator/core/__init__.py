"""The estimator: pure functions from a case to its memory."""
