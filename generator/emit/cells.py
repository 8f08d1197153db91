"""HTML of one table cell: sign, GPU count where it is an answer, GB per GPU.

Plain functions rather than template macros: a catalog has half a million cells.
"""

from functools import lru_cache

from markupsafe import Markup

from generator.tables.base import STRATEGY_SHORT, Cell

NONE = Markup('<td class="na">–</td>')


@lru_cache(maxsize=1 << 16)
def figure(cell: Cell | None) -> Markup:
    """GB per GPU at a count that the column names."""
    if cell is None:
        return NONE
    return Markup(f'<td class="v-{cell.verdict}">{cell.sign} {cell.gb}</td>')  # noqa: S704


@lru_cache(maxsize=1 << 16)
def answer(cell: Cell | None) -> Markup:
    """GPU count and GB on each of them."""
    if cell is None:
        return NONE
    return Markup(  # noqa: S704
        f'<td class="v-{cell.verdict}">{cell.sign} {cell.num_gpus} × {cell.gb}</td>'
    )


def linked_answer(cell: Cell | None, row_id: str) -> Markup:
    """As `answer`, with its strategy and the address of its row on the same page."""
    if cell is None:
        return NONE
    strategy = f"<small>{STRATEGY_SHORT[cell.strategy]}</small>" if cell.num_gpus > 1 else ""
    return Markup(  # noqa: S704
        f'<td class="v-{cell.verdict}"><a href="#{row_id}">{cell.sign} {cell.num_gpus} × '
        f"{cell.gb}{strategy}</a></td>"
    )
