"""The published fit matrix: model x method x optimizer x strategy x GPU count x workload x card.

All bytes come from the core, one peak per set-up, line by line; what a card does not change is
computed once and compared with every card.
"""

from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from generator.core import fit
from generator.core.card import Card
from generator.core.catalog import Catalog, CatalogModel
from generator.core.ladder import usable_counts
from generator.core.memory import LINES, peak_ledgers
from generator.core.optimizer import Optimizer
from generator.core.run import METHODS, Case, MethodName, Strategy, Workload
from generator.core.stack import Stack
from generator.load import CATALOG_DIR, read_matrix
from generator.problem import CatalogProblems, Problem

_line_values = attrgetter(*LINES)

FITS, TIGHT, NO = 0, 1, 2
"""Positions in `fit.VERDICTS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedWorkload:
    """One workload of the matrix under its published id."""

    id: str
    workload: Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What the matrix spans, in published order."""

    methods: tuple[MethodName, ...]
    optimizers: tuple[Optimizer, ...]
    strategies: tuple[Strategy, ...]
    gpu_counts: tuple[int, ...]
    workloads: tuple[PublishedWorkload, ...]
    cards: tuple[Card, ...]
    default_optimizer: str

    def applicable(self) -> npt.NDArray[np.bool_]:
        """Whether a strategy runs on a count of a card: [strategy, GPU count, card].

        Single is one GPU of any card; DDP needs two; a card comes in its own counts only.
        """
        usable = [
            [usable_counts(strategy, card) for card in self.cards] for strategy in self.strategies
        ]
        return np.array(
            [[[count in own for own in by_card] for count in self.gpu_counts] for by_card in usable]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMatrix:
    """The figures of one model.

    `total_bytes` [method, optimizer, strategy, GPU count, workload]: bytes per GPU, 0 where there
    is no such set-up. `line_bytes` [line, ...]: what they are made of, by `LINES`. `verdicts`
    [..., card]: positions in `fit.VERDICTS`, meaningful where the set-up and the count of the card
    exist. `first_fits` [method, optimizer, strategy, workload, card]: the count that the ladder
    settles on, 0 where none fits.
    """

    entry: CatalogModel
    total_bytes: npt.NDArray[np.int64]
    line_bytes: npt.NDArray[np.int64]
    verdicts: npt.NDArray[np.int8]
    first_fits: npt.NDArray[np.int16]


def read_axes(catalog: Catalog, path: Path = CATALOG_DIR / "matrix.toml") -> Axes:
    """The axes that `catalog/matrix.toml` lists, looked up in the catalog.

    Args:
        catalog: Where optimizers and cards are.
        path: The reviewed list.

    Raises:
        CatalogProblems: the file is not sound; every fault is named.
        TrainfitError: an optimizer is unknown.
    """
    problems: list[Problem] = []
    shown = f"{path.parent.name}/{path.name}"
    listed = read_matrix(path, shown, problems.append)
    methods: list[MethodName] = []
    for index, name in enumerate(listed.methods if listed else ()):
        if name in METHODS:
            methods.append(name)
            continue
        message = f"not one of {', '.join(METHODS)}"
        key = f"methods[{index}]"
        problems.append(Problem(path=shown, key=key, message=message, code="bad-reference"))
    if listed is None or problems:
        raise CatalogProblems(problems)
    return Axes(
        methods=tuple(methods),
        optimizers=tuple(catalog.optimizer(name) for name in listed.optimizers),
        strategies=listed.strategies,
        gpu_counts=listed.gpu_counts,
        workloads=tuple(
            PublishedWorkload(
                id=each.id,
                workload=Workload(
                    sequence_length=each.sequence_length,
                    # An optimizer that updates during backward cannot accumulate; `case_for` sets
                    # 1 for it.
                ),
            )
            for each in listed.workloads
        ),
        cards=tuple(sorted(catalog.cards.values(), key=lambda card: card.id)),
        default_optimizer=listed.default_optimizer,
    )


def case_for(
    entry: CatalogModel,
    *,
    stack: Stack,
    method: MethodName,
    optimizer: Optimizer,
    strategy: Strategy,
    num_gpus: int,
    workload: Workload,
) -> Case:
    """The case behind one set-up of the matrix.

    Args:
        entry: The model.
        stack: The generic stack.
        method: Full, LoRA or QLoRA.
        optimizer: Whose states; one that updates during backward runs without accumulation.
        strategy: What is sharded.
        num_gpus: Data-parallel GPUs.
        workload: The published workload.
    """
    if optimizer.in_backward:
        workload = replace(workload, gradient_accumulation_steps=1)
    return Case(
        model=entry.model,
        optimizer=optimizer,
        stack=stack,
        method=method,
        strategy=strategy,
        num_gpus=num_gpus,
        workload=workload,
    )


def build_model(entry: CatalogModel, axes: Axes, stack: Stack) -> ModelMatrix:
    """All figures of one model.

    Args:
        entry: The model.
        axes: What to span.
        stack: The generic stack.
    """
    shape = (
        len(axes.methods),
        len(axes.optimizers),
        len(axes.strategies),
        len(axes.gpu_counts),
        len(axes.workloads),
    )
    lines = np.zeros((len(LINES), *shape), dtype=np.int64)
    applicable = axes.applicable()
    where = np.nonzero(applicable.any(axis=2))
    asked = [(axes.strategies[s], axes.gpu_counts[c]) for s, c in zip(*where, strict=True)]
    for m, method in enumerate(axes.methods):
        for o, optimizer in enumerate(axes.optimizers):
            for w, published in enumerate(axes.workloads):
                case = case_for(
                    entry,
                    stack=stack,
                    method=method,
                    optimizer=optimizer,
                    strategy="single",
                    num_gpus=1,
                    workload=published.workload,
                )
                ledgers = peak_ledgers(case, asked)
                lines[:, m, o, where[0], where[1], w] = np.array(
                    [_line_values(ledger) for ledger in ledgers], dtype=np.int64
                ).T
    totals = lines.sum(axis=0)
    verdicts, first_fits = _judge(totals, applicable, axes)
    return ModelMatrix(
        entry=entry,
        total_bytes=totals,
        line_bytes=lines,
        verdicts=verdicts,
        first_fits=first_fits,
    )


def _judge(
    totals: npt.NDArray[np.int64], applicable: npt.NDArray[np.bool_], axes: Axes
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16]]:
    """Verdicts against every card, and the first count that fits."""
    fit_limits = np.array([fit.fit_limit_bytes(card) for card in axes.cards], dtype=np.int64)
    tight_limits = np.array([fit.tight_limit_bytes(card) for card in axes.cards], dtype=np.int64)
    need = totals[..., None]
    fits = need <= fit_limits
    verdicts = np.where(fits, FITS, np.where(need <= tight_limits, TIGHT, NO)).astype(np.int8)
    exists = (totals > 0)[..., None] & applicable[None, None, :, :, None, :]
    good = fits & exists
    counts = np.array(axes.gpu_counts, dtype=np.int16)
    first = np.argmax(good, axis=3)
    first_fits = np.where(good.any(axis=3), counts[first], 0).astype(np.int16)
    return verdicts, first_fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole matrix: its axes, and one `ModelMatrix` per model in catalog order."""

    axes: Axes
    models: dict[str, ModelMatrix]

    @property
    def num_cells(self) -> int:
        """Verdict cells: set-ups that exist, times cards that come in their count."""
        axes = self.axes
        set_ups = len(axes.methods) * len(axes.optimizers) * len(axes.workloads)
        return len(self.models) * set_ups * int(axes.applicable().sum())


def build(catalog: Catalog, *, axes: Axes | None = None, models: list[str] | None = None) -> Matrix:
    """The matrix of the whole catalog, or of some of its models.

    Args:
        catalog: Models, cards, optimizers and the generic stack.
        axes: What to span; `catalog/matrix.toml` by default.
        models: Catalog ids; all by default.
    """
    spanned = axes or read_axes(catalog)
    stack = catalog.stack("generic")
    entries = (
        list(catalog.models.values())
        if models is None
        else [catalog.model(name) for name in models]
    )
    return Matrix(
        axes=spanned, models={entry.id: build_model(entry, spanned, stack) for entry in entries}
    )
