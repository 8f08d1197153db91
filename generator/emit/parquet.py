"""The whole matrix as one Parquet file: one row per set-up, what a card does not change once."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from generator.tables.view import ModelView


def _named(positions: npt.NDArray[np.intp], names: Sequence[str]) -> "pd.Categorical[str]":
    """Each name once, and where it stands as a number."""
    return pd.Categorical.from_codes(positions, categories=pd.Index(list(names)))


def matrix_parquet(views: Mapping[str, ModelView]) -> bytes:
    """Columns model, method, optimizer, strategy, num_gpus, sequence_length, total_bytes_per_gpu.

    A verdict is a comparison of the last with a card's limits (`cards.csv`).
    """
    axes = next(iter(views.values())).axes
    totals = np.stack([view.matrix.total_bytes for view in views.values()])
    model, method, optimizer, strategy, count, workload = np.nonzero(totals > 0)
    counts = np.array(axes.gpu_counts, dtype=np.int16)
    lengths = np.array([each.workload.sequence_length for each in axes.workloads], dtype=np.int32)
    table = pd.DataFrame(
        {
            "model": _named(model, list(views)),
            "method": _named(method, axes.methods),
            "optimizer": _named(optimizer, [each.id for each in axes.optimizers]),
            "strategy": _named(strategy, axes.strategies),
            "num_gpus": counts[count],
            "sequence_length": lengths[workload],
            "total_bytes_per_gpu": totals[totals > 0],
        }
    )
    buffer = io.BytesIO()
    table.to_parquet(buffer, compression="zstd", index=False)
    return buffer.getvalue()
