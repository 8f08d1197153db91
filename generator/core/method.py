"""What a training method trains and what it keeps frozen."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method: full fine-tuning, LoRA or QLoRA."""

    id: str
    """File name, and part of every row id."""
    name: str
    """As its users write it."""
    trainable: Literal["all", "adapters"]
    """`all`: every weight has a gradient and optimizer state. `adapters`: only the low-rank
    matrices."""
    quantized_dtype: str | None = None
    """Storage (a name in `dtypes`) of the frozen linear weights inside the blocks; None keeps 16
    bit."""
    summary: str = ""
    """One sentence for tables and tooltips."""
    note: str = ""
    """What a reader must know and no field says."""
    aliases: tuple[str, ...] = ()
    """Former ids."""
