"""The estimator: pure functions from a request to memory, verdict, time and cost."""
