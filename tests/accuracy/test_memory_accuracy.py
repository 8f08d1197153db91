"""The memory estimate against published readings: the bars hold, and the page says what is so."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator.accuracy import WELCOME
from generator.accuracy.bars import Bar, bars
from generator.accuracy.causes import (
    NOT_EXPLAINED,
    Causes,
    unexplained_rows,
)
from generator.accuracy.rows import SkippedError, measured_case
from generator.accuracy.score import RowScore, errors, percentile
from generator.calculator_link import calculator_fragment
from generator.core.request import parse
from generator.emit import accuracy_page as page
from generator.load import load_catalog
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import MEMORY
from generator.measurements.reader import read_table
from tests.calculator_links import decoded

ROOT = Path(__file__).resolve().parents[2]


@cache
def all_bars() -> tuple[Bar, ...]:
    return tuple(bars(page.scores()[1]))


@pytest.mark.parametrize("bar", all_bars(), ids=lambda bar: bar.name)
def test_bar_holds(bar: Bar) -> None:
    assert bar.is_met, f"{bar.name}: {bar.actual:.4f}, limit {bar.limit}. {WELCOME}"


def test_errors_stay_where_they_are() -> None:
    """Tighter than the bars, so that a change which makes the estimate worse is seen."""
    summary = page.scores()[1]

    for group, median, percentile_90 in (
        ("quality A, allocated", 0.010, 0.035),
        ("quality A and B", 0.015, 0.115),
    ):
        assert summary[group]["median"] <= median, f"{group}: {WELCOME}"
        assert summary[group]["percentile_90"] <= percentile_90, f"{group}: {WELCOME}"


def test_enough_rows_are_estimated() -> None:
    summary = page.scores()[1]

    assert summary["num_scored"] >= 330
    assert summary["quality A and B"]["num_rows"] >= 310
    assert summary["out of memory"]["num_rows"] >= 75


FAR: dict[str, Any] = {"quality": "A", "source": "My own run", "error": 0.4}


def test_a_row_far_off_needs_no_cause_and_the_page_says_that_it_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever sends a run that contradicts the estimate need not know why."""
    rows = [RowScore(id="mine-001", **FAR), RowScore(id="near-001", quality="A", error=0.14)]
    own = {"num_rows": 1, "median": 0.4, "percentile_90": 0.4, "median_signed": 0.4}
    summary = {"by source": {"My own run": own}}
    monkeypatch.setattr(page, "scores", lambda: (tuple(rows), summary))

    told = page.outliers_table().splitlines()[2:]
    assert told == [
        f"| [mine-001](accuracy-rows.md#mine-001) | +40% | My own run | {NOT_EXPLAINED} |"
    ]
    assert page.sources_table().endswith(f" | {NOT_EXPLAINED} |")


def test_rows_that_nobody_has_explained_are_found() -> None:
    rows = [
        RowScore(id="a", **FAR),
        RowScore(id="b", **FAR),
        RowScore(id="c", **{**FAR, "source": "Known"}),
        RowScore(id="d", **{**FAR, "quality": "C"}),
        RowScore(id="e", **{**FAR, "error": -0.15}),
        RowScore(id="f", **{**FAR, "error": 0.149}),
        RowScore(id="g", **FAR, is_doubtful=True),
        RowScore(id="h"),
    ]
    known = Causes(by_id={"b": "why"}, by_source={"Known": "why"})
    assert unexplained_rows(rows, known) == ["a", "e"]


def test_causes_name_rows_and_sources_that_exist() -> None:
    known = page.causes()
    rows, _ = page.scores()

    assert set(known.by_id) - {row.id for row in rows} == set()
    assert set(known.by_source) - {row.source for row in rows} == set()


def test_an_id_decides_nothing() -> None:
    """The same columns under another id give the same request."""
    catalog = load_catalog()
    extra = json.loads((MEASUREMENTS_DIR / "memory-models.json").read_text(encoding="utf-8"))
    for row in read_table(MEASUREMENTS_DIR / MEMORY.name, MEMORY).sound():
        try:
            case = measured_case(row, catalog, extra)
        except SkippedError:
            continue
        assert measured_case({**row, "id": "x"}, catalog, extra) == case


def test_percentiles_interpolate() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0, 2.0, 3.0], 0.9) == pytest.approx(2.8)


def test_errors_are_absolute_and_signed() -> None:
    rows = [RowScore(id=f"{error}", error=error) for error in (-0.2, 0.1, 0.3)]
    found = errors(rows)

    assert found is not None
    assert (found.median, found.worst, found.median_signed) == (0.2, 0.3, 0.1)
    assert errors([RowScore(id="none")]) is None


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js runs the calculator's code")
def test_links_open_the_row_in_the_calculator() -> None:
    catalog = load_catalog()
    requests = [row.request for row in page.scores()[0] if row.request is not None]
    linked = [(each, calculator_fragment(each)) for each in requests]
    carried = [(request, fragment) for request, fragment in linked if fragment is not None]

    assert len(carried) > 0.95 * len(requests)
    for (request, _), found in zip(
        carried, decoded([fragment for _, fragment in carried]), strict=True
    ):
        assert found["problems"] == []
        assert found["request"]["card"] == request["card"]
        again = parse(found["request"], catalog).case
        expected = parse(request, catalog).case
        for name in ("method", "lora", "precision", "optimizer", "strategy", "num_gpus"):
            assert getattr(again, name) == getattr(expected, name), request
        assert again.optimizer_implementation == expected.optimizer_implementation
        assert again.workload == expected.workload
        assert again.stack == expected.stack
