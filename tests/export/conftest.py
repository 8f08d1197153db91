"""The catalog, loaded once."""

import pytest

from generator.core.catalog import Catalog
from generator.load import load_catalog


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()
