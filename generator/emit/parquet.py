"""The whole matrix as one Parquet file: one row per set-up, what a card does not change once."""

import io
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from generator.tables.view import ModelView


def matrix_parquet(views: Mapping[str, ModelView]) -> bytes:
    """Columns model, method, optimizer, strategy, num_gpus, sequence_length, total_bytes_per_gpu.

    A verdict is a comparison of the last with a card's limits (`cards.csv`).
    """
    axes = next(iter(views.values())).axes
    totals = np.stack([view.matrix.total_bytes for view in views.values()])
    positions = np.nonzero(totals > 0)
    names = (
        list(views),
        list(axes.methods),
        [optimizer.id for optimizer in axes.optimizers],
        list(axes.strategies),
    )
    columns: dict[str, pa.Array] = {}
    for name, position, values in zip(
        ("model", "method", "optimizer", "strategy"), positions, names, strict=False
    ):
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array(position.astype(np.int32)), pa.array(values)
        )
    counts = np.array(axes.gpu_counts, dtype=np.int16)
    lengths = np.array([each.workload.sequence_length for each in axes.workloads], dtype=np.int32)
    columns["num_gpus"] = pa.array(counts[positions[4]])
    columns["sequence_length"] = pa.array(lengths[positions[5]])
    columns["total_bytes_per_gpu"] = pa.array(totals[positions])
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()
