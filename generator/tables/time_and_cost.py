"""Hours and money for 100 million tokens, on the fewest GPUs of a card on which a method fits.

Rows: one well-known card per size. Columns: methods. Figures: `throughput.cost` of the core's
estimate; None where nothing fits or where the card's rates are unknown.
"""

import json
from dataclasses import dataclass

from generator.core import api
from generator.core.catalog import Catalog
from generator.tables.base import Cell, row_id
from generator.tables.fewest_gpus import fewest
from generator.tables.reference_cards import ReferenceCard, reference_cards
from generator.tables.view import ModelView


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCell:
    """One set-up, how long it takes, and what that costs at rental prices."""

    cell: Cell
    row_id: str
    num_tokens: int
    hours: float
    usd_low: float | None
    usd_high: float | None
    price_date: str | None

    @property
    def time(self) -> str:
        """Hours without the unit, in three digits at most."""
        return f"{self.hours:,.1f}" if self.hours < 100 else f"{self.hours:,.0f}"

    @property
    def money(self) -> str:
        """Dollars without the unit, a range where prices differ."""
        if self.usd_low is None or self.usd_high is None:
            return "no price"
        low, high = f"{self.usd_low:,.0f}", f"{self.usd_high:,.0f}"
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRow:
    """One card: an answer per method."""

    card: ReferenceCard
    cells: tuple[TimeCell | None, ...]


def _cell(view: ModelView, catalog: Catalog, method: str, card: ReferenceCard) -> TimeCell | None:
    optimizer = view.axes.default_optimizer
    cell = fewest(view, method=method, optimizer=optimizer, card=card.index, workload=0)
    if cell is None or cell.verdict == "no":
        return None
    request = {
        "model": view.matrix.entry.id,
        "method": method,
        "optimizer": optimizer,
        "strategy": cell.strategy,
        "num_gpus": cell.num_gpus,
        "sequence_length": view.axes.workloads[0].workload.sequence_length,
        "card": card.card.id,
    }
    cost = json.loads(api.run(json.dumps(request), catalog))["throughput"].get("cost")
    if cost is None:
        return None
    return TimeCell(
        cell=cell,
        row_id=row_id(method, optimizer, cell.strategy, card.card.id),
        num_tokens=cost["num_tokens"],
        hours=cost["hours"],
        usd_low=cost["usd_low"],
        usd_high=cost["usd_high"],
        price_date=cost["price_date"],
    )


def build(view: ModelView, catalog: Catalog) -> list[TimeRow]:
    """The rows, smallest card first; cards on which nothing fits are left out."""
    rows = [
        TimeRow(
            card=card,
            cells=tuple(_cell(view, catalog, method, card) for method in view.axes.methods),
        )
        for card in reference_cards(view.axes.cards)
    ]
    return [row for row in rows if any(row.cells)]
