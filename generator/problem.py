"""What is wrong with a catalog file, told by place, fact and remedy; all of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

ProblemCode = Literal[
    "bad-toml",
    "bad-csv",
    "bad-json",
    "unknown-field",
    "missing-field",
    "wrong-type",
    "out-of-range",
    "bad-id",
    "duplicate-id",
    "duplicate-row",
    "uncited-fact",
    "unknown-source",
    "unused-source",
    "incomplete-source",
    "future-date",
    "missing-note",
    "key-order",
    "derived-value",
    "broken-model",
    "bad-reference",
    "implausible-value",
    "stale-source",
]
PROBLEM_CODES: tuple[str, ...] = get_args(ProblemCode)


NO_FIELD = "-"
LONGEST_VALUE = 100
LONGEST_MESSAGE = 500


def plain_number(value: float, separator: str = ",") -> str:
    """A figure as one writes it, never with an exponent: 16,777,216, and 0.001.

    Args:
        value: The figure.
        separator: Between groups of three digits; `_` as TOML has it.
    """
    shown = f"{int(value):,}" if float(value).is_integer() else f"{value:,.12f}".rstrip("0")
    return shown.replace(",", separator)


def _cut(text: str, longest: int) -> str:
    """A text that fits a line of a terminal, whatever the file holds."""
    return text if len(text) <= longest else f"{text[:longest]}..."


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One finding. A note informs; an error fails the check."""

    path: str
    line: int = 0
    """Of a table's row, from 1; 0 where the key alone says the place."""
    key: str
    """The field; `-` where the fault is of a whole file or line."""
    message: str
    code: ProblemCode
    expected: str = ""
    got: str = ""
    severity: Literal["error", "note"] = "error"

    @property
    def is_failure(self) -> bool:
        """Whether the check fails over it."""
        return self.severity == "error"

    def __str__(self) -> str:
        parts: list[str] = []
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.got:
            parts.append(f"got {_cut(self.got, LONGEST_VALUE)}")
        detail = f" ({', '.join(parts)})" if parts else ""
        place = f"{self.path}:{self.line}" if self.line else self.path
        key = "" if self.key == NO_FIELD else f"{_cut(self.key, LONGEST_VALUE)}: "
        return f"{place}: {key}{_cut(self.message, LONGEST_MESSAGE)}{detail} [{self.code}]"


class CatalogError(ValueError):
    """One problem of a catalog file, as an exception."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class CatalogProblems(ExceptionGroup[CatalogError]):
    """Every problem of a catalog, sorted by file and key."""

    def __new__(cls, problems: Sequence[Problem]) -> Self:
        ordered = sorted(problems)
        count = f"{len(ordered)} problem{'' if len(ordered) == 1 else 's'} in the catalog"
        group = super().__new__(cls, count, [CatalogError(problem) for problem in ordered])
        group.problems = tuple(ordered)
        return group

    problems: tuple[Problem, ...]

    def __init__(self, problems: Sequence[Problem]) -> None:
        """`__new__` has built the group; there is nothing left to do."""

    def __str__(self) -> str:
        return "\n".join([f"{self.message}:", *map(str, self.problems)])
