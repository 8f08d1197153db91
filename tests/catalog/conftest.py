"""The small catalog as a fixture."""

from pathlib import Path

import pytest

from tests.catalog.small import write_catalog


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_catalog(tmp_path)
