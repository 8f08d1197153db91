"""The ledger of every address ever published: `catalog/permalinks.txt`, append-only.

`page` lines are pages below the site's root. A row id on a model page is
`<method>--<optimizer>--<strategy>--<card>`, the same on every model page; its parts are the `row-`
lines. An address that is in the ledger must be a page, a row id or a redirect today.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from generator.core.catalog import Catalog
from generator.emit.by_hand import address_of, pages_by_hand
from generator.load import CATALOG_DIR, load_catalog
from generator.matrix import Axes, read_axes

LEDGER = CATALOG_DIR / "permalinks.txt"
HEADER = """\
# Every address that this site has published. Lines are only ever added: links in discussions must
# not break. `make permalinks` appends what is new; `make check` (and a test) proves the rest.
"""


def published(catalog: Catalog, axes: Axes, docs: Path) -> list[str]:
    """What the present catalog and pages publish; a site need not have been built."""
    pages = [f"page models/{model_id}/" for model_id in catalog.models]
    pages += [f"page cards/{card_id}/" for card_id in catalog.cards]
    pages += ["page models/", "page cards/"]
    pages += [
        f"page {address_of(path.relative_to(docs)) or './'}"
        for path in pages_by_hand(docs)
        if path.stem != "404"
    ]
    rows = [f"row-method {method}" for method in axes.methods]
    rows += [f"row-optimizer {optimizer.id}" for optimizer in axes.optimizers]
    rows += [f"row-strategy {strategy}" for strategy in axes.strategies]
    rows += [f"row-card {card.id}" for card in axes.cards]
    return sorted(set(pages)) + sorted(set(rows))


def redirected(catalog: Catalog, axes: Axes) -> list[str]:
    """What former ids still answer to."""
    lines = [
        f"page {folder}/{alias}/"
        for folder, records in (("models", catalog.models), ("cards", catalog.cards))
        for record in records.values()
        for alias in record.aliases
    ]
    lines += [f"row-card {alias}" for card in axes.cards for alias in card.aliases]
    lines += [f"row-optimizer {alias}" for each in axes.optimizers for alias in each.aliases]
    return lines


def read_ledger(path: Path = LEDGER) -> list[str]:
    """The ledger's lines without comments."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def former_cards(axes: Axes, ledger: Iterable[str]) -> dict[str, list[str]]:
    """Former card ids that were published as parts of row ids, by present id."""
    known = {line.removeprefix("row-card ") for line in ledger if line.startswith("row-card ")}
    found = {card.id: [alias for alias in card.aliases if alias in known] for card in axes.cards}
    return {card_id: aliases for card_id, aliases in found.items() if aliases}


def main(*, write: bool) -> int:
    """Compare the ledger with what is published; append what is new when `write`."""
    catalog = load_catalog()
    axes = read_axes(catalog)
    docs = CATALOG_DIR.parent / "docs"
    now = published(catalog, axes, docs)
    ledger = read_ledger(LEDGER)
    alive = {*now, *redirected(catalog, axes)}
    broken = [line for line in ledger if line not in alive]
    new = [line for line in now if line not in set(ledger)]
    out = sys.stderr
    for line in broken:
        out.write(f"permalinks: {line} was published and is gone; add an alias that leads on\n")
    if broken:
        return 1
    if write:
        before = LEDGER.read_text(encoding="utf-8") if LEDGER.is_file() else HEADER
        LEDGER.write_text(before + "".join(f"{line}\n" for line in new), encoding="utf-8")
        for line in new:
            sys.stdout.write(f"permalinks: {line} is added\n")
        if not new:
            sys.stdout.write("permalinks: nothing is new\n")
        return 0
    for line in new:
        out.write(f"permalinks: {line} is new; run `make permalinks`\n")
    return 1 if new else 0
