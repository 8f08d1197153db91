"""CSV downloads: the same figures, one row per set-up, for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from generator.core.card import Card
from generator.core.fit import fit_limit_bytes, tight_limit_bytes
from generator.tables.base import table_id
from generator.tables.view import ModelView


def _text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()


def model_csv(view: ModelView) -> str:
    """Bytes per GPU of one model: a row per method, optimizer and strategy, a column per workload
    and count.
    """
    axes = view.axes
    header = ["row", "method", "optimizer", "strategy"]
    header += [
        f"bytes_per_gpu_{workload.id}_{count}_gpus"
        for workload in axes.workloads
        for count in axes.gpu_counts
    ]
    rows = []
    for method in axes.methods:
        for optimizer in view.optimizers:
            for strategy in axes.strategies:
                totals = view.part(method, optimizer, strategy).total_bytes
                row: list[object] = [
                    table_id(method, optimizer, strategy),
                    method,
                    optimizer,
                    strategy,
                ]
                row += [
                    totals[count][workload] or ""
                    for workload in range(len(axes.workloads))
                    for count in range(len(axes.gpu_counts))
                ]
                rows.append(row)
    return _text(header, rows)


def cards_csv(cards: Sequence[Card]) -> str:
    """Limits and rates of every card."""
    fields = (
        "id",
        "name",
        "vendor",
        "form",
        "memory_marketed_gb",
        "memory_usable_bytes",
        "memory_bandwidth_bytes_per_second",
        "peak_dense_bf16_flops_per_second",
        "price_usd_per_hour",
        "price_usd_per_hour_high",
    )
    return _text(
        [*fields, "fits_up_to_bytes", "tight_up_to_bytes", "allowed_gpu_counts"],
        (
            [
                *("" if (value := getattr(card, name)) is None else value for name in fields),
                fit_limit_bytes(card),
                tight_limit_bytes(card),
                " ".join(map(str, card.allowed_gpu_counts)),
            ]
            for card in cards
        ),
    )


def models_csv(views: Mapping[str, ModelView]) -> dict[str, str]:
    """Every model's file by its path below `docs/`."""
    return {f"api/v1/models/{model_id}.csv": model_csv(view) for model_id, view in views.items()}
