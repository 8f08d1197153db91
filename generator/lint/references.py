"""Names that point from one file to another, or to the core, lead somewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence

from generator.core.dtypes import DTYPES
from generator.core.method import Method
from generator.core.nearest import did_you_mean
from generator.core.optimizer import Optimizer
from generator.lint.rule import Context
from generator.load import Document
from generator.problem import Problem

LOW_RANK = ("low-rank", "projector")


def check(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    """Reports unknown dtypes, low-rank states without a rank, and unknown ids in `matrix.toml`."""
    for document in documents:
        record = document.record
        if isinstance(record, Method) and record.quantized_dtype not in {None, *DTYPES}:
            name = str(record.quantized_dtype)
            yield _problem(
                document.path, "quantized_dtype", f'the core has no dtype "{name}"', name
            )
        if isinstance(record, Optimizer) and record.rank is None and _is_low_rank(record):
            yield _problem(document.path, "rank", "low-rank states need a rank; add it")
    yield from _check_matrix(documents, context)


def _is_low_rank(optimizer: Optimizer) -> bool:
    return any(state.shape in LOW_RANK for state in optimizer.states)


def _check_matrix(documents: Sequence[Document], context: Context) -> Iterator[Problem]:
    path = context.root / "matrix.toml"
    if not path.is_file():
        return
    shown = f"{context.root.name}/matrix.toml"
    try:
        matrix = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        yield Problem(path=shown, key="-", message=f"no TOML: {error}", code="bad-toml")
        return
    for kind in ("method", "optimizer"):
        known = {item.stem for item in documents if item.kind.name == kind}
        listed = matrix.get(f"{kind}s", [])
        for index, name in enumerate(listed if isinstance(listed, list) else []):
            if name not in known:
                hint = did_you_mean(str(name), known)
                message = f'there is no {kind} "{name}"{hint}'
                yield _problem(shown, f"{kind}s[{index}]", message)


def _problem(path: str, key: str, message: str, dtype: str = "") -> Problem:
    hint = did_you_mean(dtype, DTYPES) if dtype else ""
    return Problem(path=path, key=key, message=f"{message}{hint}", code="bad-reference")
