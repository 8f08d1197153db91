"""Everything that the generator writes: pages, JSON, CSV, Parquet, redirects, pictures, browser
archive.

Each run writes beside the present output and exchanges the two when all is complete, so that a
build that fails half-way leaves the previous output as it was, and nothing stays that is no longer
produced.
"""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from generator.core.catalog import Catalog
from generator.matrix import Matrix

OUTPUT_ROOTS = ("models", "cards", "api/v1", "assets/generated")
"""The only folders below `docs/` that `build` writes to."""
OUTPUT_FILES = ("llms.txt", "robots.txt")
"""The only files directly in `docs/` that `build` writes."""
Say = Callable[[str], None]
"""Takes a line on what comes next."""


def _nothing(_line: str) -> None:
    """Says nothing."""


LOCAL_SITE_URL = "http://127.0.0.1:8000/"
"""The address of a site that nobody has published, as in mkdocs.yml."""


def build(
    catalog: Catalog,
    matrix: Matrix,
    docs_dir: Path,
    *,
    version: str,
    ledger: Iterable[str] = (),
    pictures: Mapping[str, str] | None = None,
    site_url: str = LOCAL_SITE_URL,
    verification: str = "",
    say: Say = _nothing,
) -> None:
    """Write every page and data file of the matrix below `docs_dir`.

    Args:
        catalog: Names and facts.
        matrix: The figures.
        docs_dir: The site's source folder.
        version: Digits that name the state of the data.
        ledger: Published addresses; former row ids among them keep an anchor.
        pictures: SVG files of the explanations by name.
        site_url: Where the site will stand, for what must name it in full.
        verification: `catalog/verification.csv`, which is published as it is; a model without
            a line in it is called not verified yet.
        say: Is told of each stage.
    """
    from generator.emit import (
        badges,
        indexes,
        json_api,
        llms_txt,
        pages,
        parquet,
        permalinks,
        redirects,
        social_cards,
        tables_csv,
    )
    from generator.emit.facts import facts_of
    from generator.longest import longest_sequences
    from generator.tables import time_and_cost
    from generator.tables.view import ModelView

    axes = matrix.axes
    say("longest sequences, time and cost")
    stack = catalog.stack("generic")
    default_optimizer = catalog.optimizer(axes.default_optimizer)
    facts = {model_id: facts_of(model.entry) for model_id, model in matrix.models.items()}
    views = {
        model_id: ModelView(
            axes=axes,
            matrix=model,
            longest=longest_sequences(
                model.entry, optimizer=default_optimizer, stack=stack, cards=axes.cards
            ),
        )
        for model_id, model in matrix.models.items()
    }
    times = {model_id: time_and_cost.build(view, catalog) for model_id, view in views.items()}
    by_size = dict(sorted(views.items(), key=lambda item: (facts[item[0]].num_parameters, item[0])))
    optimizer_names = {optimizer.id: optimizer.name for optimizer in axes.optimizers}
    former = permalinks.former_cards(axes, ledger)
    verified = {line["model"] for line in csv.DictReader(io.StringIO(verification))}

    with _staging(docs_dir) as staging:
        say("pages of models and cards")
        env = pages.environment()
        for model_id, view in views.items():
            text = pages.model_page(
                env,
                facts=facts[model_id],
                view=view,
                methods=catalog.methods,
                optimizer_names=optimizer_names,
                former_cards=former,
                time_rows=times[model_id],
                model_badges=badges.badges(facts[model_id], view),
                site_url=site_url,
                is_verified=model_id in verified,
            )
            _write(staging / "models" / f"{model_id}.md", text)
        for index, card in enumerate(axes.cards):
            text = pages.card_page(
                env,
                card=card,
                index=index,
                views=by_size,
                facts=facts,
                optimizer_names=optimizer_names,
            )
            _write(staging / "cards" / f"{card.id}.md", text)
        listed = indexes.models_index(env, facts=facts, views=views)
        _write(staging / "models" / "index.md", listed)
        _write(staging / "cards" / "index.md", indexes.cards_index(env, cards=axes.cards))
        say("data: JSON, CSV and badges")
        written = dict(
            json_api.files(version=version, facts=facts, views=views, axes=axes, times=times),
            **tables_csv.models_csv(views),
            **{"api/v1/cards.csv": tables_csv.cards_csv(axes.cards)},
            **badges.files(facts, views),
            **redirects.redirects(
                "models",
                {
                    key: (model.entry.name, model.entry.aliases)
                    for key, model in matrix.models.items()
                },
            ),
            **redirects.redirects(
                "cards", {card.id: (card.name, card.aliases) for card in axes.cards}
            ),
        )
        written["api/v1/verification.csv"] = verification
        written["robots.txt"] = llms_txt.robots_txt(site_url)
        written["llms.txt"] = llms_txt.llms_txt(
            site_url=site_url, docs_dir=docs_dir, facts=facts, views=views, cards=axes.cards
        )
        for path, text in written.items():
            _write(staging / path, text)
        say("pictures for links, Parquet")
        for path, data in social_cards.files(facts, views).items():
            _write_bytes(staging / path, data)
        (staging / "api/v1/matrix.parquet").write_bytes(parquet.matrix_parquet(views))
        for name, text in (pictures or {}).items():
            _write(staging / "assets/generated" / name, text)
        _exchange(staging, docs_dir)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


class _staging:  # noqa: N801
    """A folder beside `docs_dir`, on the same file system, that is gone afterwards."""

    def __init__(self, docs_dir: Path) -> None:
        self._parent = docs_dir.parent / ".cache"

    def __enter__(self) -> Path:
        self._parent.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="generate-", dir=self._parent))
        return self._folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder)


def _exchange(staging: Path, docs_dir: Path) -> None:
    """Put the new folders in the place of the old; put the old back if that fails."""
    old = staging / "old"
    moved: list[tuple[Path, Path]] = []
    try:
        for root in (*OUTPUT_ROOTS, *OUTPUT_FILES):
            target, kept = docs_dir / root, old / root
            if target.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                target.rename(kept)
                moved.append((kept, target))
            target.parent.mkdir(parents=True, exist_ok=True)
            if root in OUTPUT_ROOTS:
                (staging / root).mkdir(parents=True, exist_ok=True)
            (staging / root).rename(target)
    except OSError:
        for kept, target in moved:
            if target.is_dir():
                shutil.rmtree(target)
            kept.rename(target)
        raise


def build_all(
    catalog_dir: Path,
    docs_dir: Path,
    *,
    only_models: list[str] | None = None,
    site_url: str = LOCAL_SITE_URL,
    say: Say = _nothing,
) -> None:
    """Everything that the site needs, from the catalog's files.

    Args:
        catalog_dir: `catalog/`.
        docs_dir: The site's source folder.
        only_models: Ids to restrict a quick look to.
        site_url: Where the site will stand.
        say: Is told of each stage.
    """
    from generator import matrix
    from generator.core.codec import catalog_to_dict
    from generator.emit import browser_archive, figures, json_api, permalinks, pyodide_runtime
    from generator.load import load_catalog

    catalog = load_catalog(catalog_dir)
    axes = matrix.read_axes(catalog, catalog_dir / "matrix.toml")
    root = Path(__file__).resolve().parents[2]
    sources = [*catalog_dir.rglob("*.toml"), *(root / "generator/core").rglob("*.py")]
    say(f"matrix: {len(only_models or catalog.models)} of {len(catalog.models)} models")
    build(
        catalog,
        matrix.build(catalog, axes=axes, models=only_models),
        docs_dir,
        version=json_api.data_version(sources, root),
        ledger=permalinks.read_ledger(catalog_dir / "permalinks.txt"),
        pictures={f"{name}.svg": figures.render(name) for name in sorted(figures.FIGURES)},
        site_url=f"{site_url.rstrip('/')}/",
        verification=(catalog_dir / "verification.csv").read_text(encoding="utf-8"),
        say=say,
    )
    say("the calculator's archive")
    bundle = json.dumps(
        catalog_to_dict(catalog), ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    runtime = pyodide_runtime.write_runtime(docs_dir / "assets/pyodide")
    browser_archive.write_archive(bundle=bundle, runtime=runtime, folder=docs_dir / "assets/core")
