"""A small generated site source, and the whole built site where it has been built."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from generator import emit, matrix
from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.matrix import Matrix
from tests.browser.support import SITE_DIR, missing
from tests.site.html import Page, read_pages

# Dense, mixture of experts, and one that fits no single card.
MODELS = ["llama-3.1-8b", "qwen3-30b-a3b", "llama-3.1-405b"]


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What one run of the generator wrote, and from what."""

    catalog: Catalog
    matrix: Matrix
    docs: Path


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """Pages and data of three models."""
    catalog = load_catalog()
    small = matrix.build(catalog, models=MODELS)
    docs = tmp_path_factory.mktemp("generated") / "docs"
    emit.build(catalog, small, docs, version="0123456789ab")
    return Generated(catalog=catalog, matrix=small, docs=docs)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE_DIR / "index.html").is_file():
        missing("site/index.html is missing: run `make build`")
    return SITE_DIR


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    """Every page of the built site by its path, `models/llama-3.1-8b/index.html`."""
    return read_pages(site)
