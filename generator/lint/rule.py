"""What every lint rule is given."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.load import Document
from generator.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a rule may look at beside the documents; rules read no clock themselves."""

    root: Path
    """The `catalog` folder."""
    today: datetime.date


Check = Callable[[Sequence[Document], Context], Iterator[Problem]]
