"""Which pages count as written by hand."""

from pathlib import Path

import pytest

from generator.emit.by_hand import address_of, pages_by_hand


def test_what_the_generator_writes_is_not_entered(tmp_path: Path) -> None:
    names = ["index.md", "explain/units.md", "models/index.md", "api/v1/x.md", "assets/a.md"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "robots.txt").touch()

    found = [path.relative_to(tmp_path).as_posix() for path in pages_by_hand(tmp_path)]

    assert found == ["explain/units.md", "index.md"]
    assert pages_by_hand(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("index.md", ""),
        ("api.md", "api/"),
        ("explain/index.md", "explain/"),
        ("explain/units.md", "explain/units/"),
    ],
)
def test_an_address_is_the_file_s_place(file: str, address: str) -> None:
    assert address_of(Path(file)) == address
