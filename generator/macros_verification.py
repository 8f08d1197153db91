"""Macros of the verification page: our parameter counts beside those of the real classes."""

import csv
import re
from html import escape
from typing import Any

from generator.core.catalog import CatalogModel
from generator.core.params import num_parameters
from generator.load import CATALOG_DIR, load_catalog

RESULT = CATALOG_DIR / "verification.csv"
REQUIREMENTS = CATALOG_DIR.parent / "requirements" / "oracle.txt"
NOT_YET = "not verified yet"
COLUMNS = (
    "Model", "Ours", "Theirs", "Difference", "Linear layers", "Checkpoint", "Note",
)  # fmt: skip


def verification_rows() -> list[dict[str, str]]:
    """The lines of `catalog/verification.csv`, as `make verify-models` wrote them."""
    with RESULT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def verification() -> dict[str, Any]:
    """How many models were compared, how many agree, and with which version of Transformers."""
    rows = verification_rows()
    num_models = len(load_catalog().models)
    built = [row for row in rows if row["theirs"]]
    found = re.search(
        r"^transformers==(\S+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {
        "num_models": num_models,
        "num_built": len(built),
        "num_equal": sum(row["theirs"] == row["ours"] for row in built),
        "num_same_layers": sum(
            row["linear_layers"] == row["quantisable"] == "same" for row in built
        ),
        "num_unbuilt": len(rows) - len(built),
        "num_unverified": num_models - len(rows),
        "transformers": found[1] if found else "unknown",
    }


def _number(text: str | int | None) -> str:
    return f"{int(text):,}" if text else "–"


def _layers(row: dict[str, str]) -> str:
    return "same" if row["linear_layers"] == row["quantisable"] == "same" else "differ"


def _unverified(entry: CatalogModel) -> dict[str, str]:
    """The line of a model whose class nobody has built yet: our count alone."""
    ours = str(num_parameters(entry.model))
    return {"model": entry.id, "class": "", "ours": ours, "theirs": "", "note": NOT_YET}


def _note(row: dict[str, str], entry: CatalogModel) -> str:
    """What the run says, and why the published files hold something else."""
    words = [row["note"]]
    if entry.expected and entry.expected.match != "exact":
        words.append(entry.expected.note)
    sentences = [text[0].upper() + text[1:].rstrip(".") + "." for text in words if text]
    return escape(" ".join(sentences))


def verification_table() -> str:
    """Every model: our count, that of the class, that of the published files, and why they differ.

    Raw HTML, which the site engine passes on as it is and search leaves out.
    """
    catalog = load_catalog()
    lines = []
    rows = {row["model"]: row for row in verification_rows()}
    for entry in catalog.models.values():
        row = rows.get(entry.id) or _unverified(entry)
        difference = int(row["ours"]) - int(row["theirs"]) if row["theirs"] else None
        checkpoint = entry.expected.checkpoint_parameters if entry.expected else None
        class_name = f"<small>{escape(row['class'])}</small>" if row["class"] else ""
        cells = (
            _number(row["ours"]),
            _number(row["theirs"]) + class_name,
            "–" if difference is None else f"{difference:,}",
            _layers(row) if row["theirs"] else "–",
            _number(checkpoint),
        )
        lines.append(
            f'<tr id="{entry.id}"><th scope="row"><a href="../../models/{entry.id}/">'
            f"{escape(entry.name)}</a></th>"
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + f'<td class="tf-prose">{_note(row, entry)}</td></tr>'
        )
    heads = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS[:-1])
    heads += f'<th scope="col" class="tf-words">{COLUMNS[-1]}</th>'
    return "\n".join(
        [
            '<figure class="tf-table tf-index" id="all-counts">',
            '<div class="tf-wide" tabindex="0" role="region" aria-label="Parameter counts">',
            '<table class="t" data-note="parameters" data-search-exclude>',
            f"<thead><tr>{heads}</tr></thead>",
            "<tbody>",
            *lines,
            "</tbody>",
            "</table>",
            "</div>",
            "</figure>",
        ]
    )


def define(env: Any) -> None:
    """Make the macros known to the plugin."""
    for function in (verification, verification_table):
        env.macro(function)
