"""Names that point from one file to another, or to the core, lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.core.dtypes import DTYPES
from generator.core.method import Method
from generator.core.nearest import did_you_mean
from generator.core.optimizer import Optimizer
from generator.core.stack import Stack
from generator.lint.rule import Context
from generator.load import Document, read_matrix
from generator.problem import Problem

LOW_RANK = ("low-rank", "projector")


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports unknown dtypes, low-rank states without a rank, and unknown ids in `matrix.toml`."""
    for document in documents:
        record = document.record
        if isinstance(record, Method) and record.quantized_dtype not in {None, *DTYPES}:
            name = str(record.quantized_dtype)
            message = f'the core has no dtype "{name}"{did_you_mean(name, DTYPES)}'
            yield _problem(document.path, "quantized_dtype", message)
        if isinstance(record, Optimizer) and record.rank is None and _is_low_rank(record):
            yield _problem(document.path, "rank", "low-rank states need a rank; add it")
        if isinstance(record, Stack) and record.older_stack:
            place = (document.path, "facts.older_stack")
            yield from _check_id(place, "stack", record.older_stack, documents)
    yield from _check_matrix(documents, context)


def _is_low_rank(optimizer: Optimizer) -> bool:
    return any(state.shape in LOW_RANK for state in optimizer.states)


def _check_id(
    place: tuple[str, str], kind: str, name: str, documents: Sequence[Document]
) -> Iterator[Problem]:
    known = {item.stem for item in documents if item.kind.name == kind}
    if name not in known:
        shown = name[:80]
        yield _problem(*place, f'there is no {kind} "{shown}"{did_you_mean(shown, known)}')


def _check_matrix(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    path = context.root / "matrix.toml"
    # A link to itself and a folder are no file, and yet something is there.
    if not path.exists() and not path.is_symlink():
        return
    shown = f"{context.root.name}/matrix.toml"
    problems: list[Problem] = []
    matrix = read_matrix(path, shown, problems.append)
    yield from problems
    if matrix is None:
        return
    named = [("method", f"methods[{index}]", name) for index, name in enumerate(matrix.methods)]
    named += [
        ("optimizer", f"optimizers[{index}]", name) for index, name in enumerate(matrix.optimizers)
    ]
    named.append(("optimizer", "default_optimizer", matrix.default_optimizer))
    for kind, key, name in named:
        yield from _check_id((shown, key), kind, name, documents)


def _problem(path: str, key: str, message: str) -> Problem:
    return Problem(path=path, key=key, message=message, code="bad-reference")
