"""Estimate against measurement, row by row, and what the errors look like by group."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from generator.accuracy.rows import Row, SkippedError, measured_case
from generator.core.api import answer
from generator.core.catalog import Catalog
from generator.core.errors import TrainfitError
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import MEMORY, SUSPECTS
from generator.measurements.models import read_models
from generator.measurements.reader import read_table, usable_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScore:
    """One measured row: what was predicted, what was read, or why it was left out."""

    id: str
    predicted_bytes: int | None = None
    measured_bytes: int | None = None
    error: float | None = None
    verdict: str | None = None
    unjudged: str | None = None
    """Why a scored row has no verdict: its card is not stated, unknown or one of several."""
    skipped: str | None = None
    low: int | None = None
    high: int | None = None
    is_out_of_memory: bool = False
    quality: str = ""
    metric: str = ""
    method: str = ""
    strategy: str = ""
    source: str = ""
    model: str = ""
    is_doubtful: bool = False
    """The collection lists the row among those with a known defect."""
    compared: str = ""
    """Which of the estimate's figures was compared: `allocated`, `reserved` or `total`."""
    second_measured_bytes: int | None = None
    """A second reading of the same run, by the driver."""
    second_predicted_bytes: int | None = None
    request: dict[str, Any] | None = None
    """The request behind the estimate, with the tool's own defaults filled in."""

    @property
    def second_error(self) -> float | None:
        """Error of the total against the second reading, None where there is none."""
        if self.second_measured_bytes is None or self.second_predicted_bytes is None:
            return None
        return self.second_predicted_bytes / self.second_measured_bytes - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far off a group of rows is: absolute relative errors, and the signed median."""

    num_rows: int
    median: float
    percentile_90: float
    worst: float
    median_signed: float


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile by linear interpolation between the closest ranks.

    Args:
        values: At least one number.
        share: 0.5 for the median.
    """
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def errors(rows: Iterable[RowScore]) -> Errors | None:
    """The errors of the rows that have one, None where none has.

    Args:
        rows: Scored rows.
    """
    signed = [row.error for row in rows if row.error is not None]
    if not signed:
        return None
    absolute = [abs(error) for error in signed]
    return Errors(
        num_rows=len(signed),
        median=percentile(absolute, 0.5),
        percentile_90=percentile(absolute, 0.9),
        worst=max(absolute),
        median_signed=percentile(signed, 0.5),
    )


def read_doubtful(path: Path | None = None) -> frozenset[str]:
    """Ids of rows with a known defect.

    Args:
        path: A CSV with a column `id`; the collection's own list by default.
    """
    found = path or MEASUREMENTS_DIR / SUSPECTS.name
    return frozenset(row["id"] for row in read_table(found, SUSPECTS).sound())


def score_row(
    row: Row,
    catalog: Catalog,
    extra: Mapping[str, Mapping[str, Any]],
    doubtful: frozenset[str] = frozenset(),
    damage: str = "",
) -> RowScore:
    """One row scored, or skipped with the reason.

    Args:
        row: The row's text by column.
        catalog: The catalog.
        extra: Configs of models outside the catalog.
        doubtful: Ids of rows with a known defect.
        damage: Why the row's numbers cannot be used, if so.
    """
    facts: dict[str, Any] = {
        "id": row.get("id", ""),
        "quality": row.get("quality", ""),
        "metric": row.get("metric", ""),
        "method": row.get("method", ""),
        "strategy": row.get("strategy", ""),
        "source": row.get("source", ""),
        "model": row.get("model", ""),
        "is_out_of_memory": row.get("oom", "").strip().lower() == "true",
        "is_doubtful": row.get("id", "") in doubtful,
    }
    if damage:
        return RowScore(**facts, skipped=damage)
    try:
        case = measured_case(row, catalog, extra)
        result = answer(case.request, catalog)
    except SkippedError as reason:
        return RowScore(**facts, skipped=str(reason))
    except TrainfitError as problem:
        return RowScore(**facts, skipped=f"{problem.field}: {problem.message}")
    total = result["per_gpu"]["total"]
    predicted = {
        "allocated": result["allocated"],
        "reserved": result["reserved"],
        "total": total,
    }[case.compared]
    measured = case.measured_bytes
    # The band is about the card's total; an allocator's own reading is compared with its part of
    # it.
    scale = predicted / total
    return RowScore(
        **facts,
        predicted_bytes=predicted,
        measured_bytes=measured,
        error=None if measured is None else predicted / measured - 1,
        verdict=None if result["card"] is None else result["card"]["verdict"],
        unjudged=case.unjudged,
        low=round(result["low"] * scale),
        high=round(result["high"] * scale),
        compared=case.compared,
        second_measured_bytes=case.second_measured_bytes,
        second_predicted_bytes=None if case.second_measured_bytes is None else total,
        request=result["request"],
    )


GROUPS: dict[str, Callable[[RowScore], str]] = {
    "quality": lambda row: row.quality or "none",
    "metric": lambda row: row.metric or "none",
    "method": lambda row: row.method.partition("+")[0],
    "strategy": lambda row: "single" if row.strategy == "single" else "sharded",
    "method and strategy": lambda row: (
        f"{row.method.partition('+')[0]}, {'single' if row.strategy == 'single' else 'sharded'}"
    ),
    "source": lambda row: row.source,
}


def summarise(rows: Sequence[RowScore]) -> dict[str, Any]:
    """Errors of all rows, of the bars' groups, and by quality, metric, method, strategy and source.

    Args:
        rows: All rows, skipped ones included.
    """
    scored = [row for row in rows if row.error is not None]
    good = [row for row in scored if row.quality in ("A", "B")]
    judged = [row for row in rows if row.verdict is not None and row.skipped is None]
    out = [row for row in judged if row.is_out_of_memory]
    ran = [row for row in judged if not row.is_out_of_memory]
    inside = [
        row
        for row in good
        if row.low is not None
        and row.high is not None
        and row.measured_bytes is not None
        and row.low <= row.measured_bytes <= row.high
    ]
    half_widths = [
        (row.high - row.low) / 2 / row.predicted_bytes
        for row in good
        if row.low is not None and row.high is not None and row.predicted_bytes
    ]
    summary: dict[str, Any] = {
        "num_rows": len(rows),
        "num_scored": len(scored),
        "num_skipped": sum(row.skipped is not None for row in rows),
        "all": _plain(errors(scored)),
        "quality A, allocated": _plain(
            errors(
                row for row in scored if row.quality == "A" and row.metric == "max_memory_allocated"
            )
        ),
        "quality A and B": _plain(errors(good)),
        "quality A and B, doubtful rows apart": _plain(
            errors(row for row in good if not row.is_doubtful)
        ),
        "doubtful rows": _plain(errors(row for row in good if row.is_doubtful)),
        "driver's reading beside the allocator's": _second_errors(rows),
        "out of memory": {
            "num_rows": len(out),
            "judged_fits": sum(row.verdict == "fits" for row in out),
        },
        "ran": {"num_rows": len(ran), "judged_no": sum(row.verdict == "no" for row in ran)},
        "band": {
            "num_rows": len(good),
            "share_inside": len(inside) / len(good) if good else None,
            "median_half_width": percentile(half_widths, 0.5) if half_widths else None,
        },
    }
    for name, key in GROUPS.items():
        members: dict[str, list[RowScore]] = {}
        for row in scored if name in ("quality", "metric") else good:
            members.setdefault(key(row), []).append(row)
        summary[f"by {name}"] = {
            group: _plain(errors(own)) for group, own in sorted(members.items())
        }
    reasons: dict[str, int] = {}
    for row in rows:
        if row.skipped is not None:
            reasons[row.skipped] = reasons.get(row.skipped, 0) + 1
    summary["skipped"] = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    unjudged = Counter(row.unjudged for row in rows if row.unjudged is not None)
    summary["unjudged"] = dict(sorted(unjudged.items(), key=lambda item: (-item[1], item[0])))
    return summary


def _second_errors(rows: Sequence[RowScore]) -> dict[str, Any] | None:
    """Errors of the total against the driver's reading of runs scored by their allocator's."""
    return _plain(errors(replace(row, error=row.second_error) for row in rows))


def _plain(found: Errors | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in asdict(found).items()
    }


def score(
    path: Path, catalog: Catalog, *, models: Path | None = None
) -> tuple[list[RowScore], dict[str, Any]]:
    """Every row of a file scored, and the summary.

    Args:
        path: A CSV with the columns of `catalog/measurements/memory.csv`.
        catalog: The catalog.
        models: Configs of models outside the catalog.

    Raises:
        CatalogProblems: a file is no CSV or JSON of the expected form; every fault is named.
    """
    extra = {} if models is None else read_models(models, builds=False).sound()
    doubtful = read_doubtful()
    rows = [
        score_row(row.cells, catalog, extra, doubtful, row.damage)
        for row in usable_rows(path, MEMORY)
    ]
    return rows, summarise(rows)
