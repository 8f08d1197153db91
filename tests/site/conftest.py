"""A small generated site source, and the whole built site where it has been built."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from generator import emit, matrix
from generator.core.catalog import Catalog
from generator.load import load_catalog
from generator.matrix import Matrix
from generator.tables.view import ModelView
from tests.browser.support import built_site_dir
from tests.site.html import Page, read_pages

# Dense, mixture of experts, and one that fits no single card.
MODELS = ["llama-3.1-8b", "qwen3-30b-a3b", "llama-3.1-405b"]


SITE_TESTS_DIR = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(SITE_TESTS_DIR):
            item.add_marker(pytest.mark.site)


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What one run of the generator wrote, and from what."""

    catalog: Catalog
    matrix: Matrix
    docs: Path

    def views(self) -> dict[str, ModelView]:
        """The figures as tables and pictures read them, longest sequences left out."""
        return {
            model_id: ModelView(axes=self.matrix.axes, matrix=model, longest={})
            for model_id, model in self.matrix.models.items()
        }


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
    return built_site_dir()


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    """Every page of the built site by its path, `models/llama-3.1-8b/index.html`."""
    return read_pages(site)
