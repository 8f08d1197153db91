"""Whatever a catalog file holds, or is, ends in a finding at its place: never in a traceback."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.__main__ import main
from generator.load import load_catalog, read_matrix
from generator.matrix import read_axes
from generator.problem import CatalogProblems, Problem
from tests.catalog.small import FILES
from tests.catalog.test_lint import findings

VALUES = (
    *("nan", "-inf", "1e400", "-1", "1" + "0" * 400, "9223372036854775808", "1.5", '""'),
    *("[]", "[[[]]]", "{a = 1}", "2026-01-01", '"\\u0000"', f'"{"x" * 5000}"'),
)
HARMLESS = {"aliases = []", "price_usd_per_hour = 1.5", "price_usd_per_hour_high = 1.5"}


@pytest.mark.parametrize("name", FILES)
def test_no_value_of_any_key_is_a_stumbling_block(root: Path, name: str) -> None:
    path = root / name
    lines = FILES[name].splitlines()
    for number, line in enumerate(lines):
        key, equals, _ = line.partition(" = ")
        if not equals or line.startswith("#"):
            continue
        for value in VALUES:
            changed = f"{key} = {value}"
            if changed in HARMLESS or (key in ("published", "accessed") and value[:4] == "2026"):
                continue
            path.write_text(
                "\n".join([*lines[:number], changed, *lines[number + 1 :], ""]), encoding="utf-8"
            )
            found = findings(root)
            assert any(finding.startswith(f"catalog/{name}: ") for finding in found), changed[:60]
            assert max(map(len, found)) < 1000


def _write(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_to(target: str) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return link


DAMAGE = [
    pytest.param(_write(b""), "missing; add it", id="empty"),
    pytest.param(_write(b"\xff\xfe"), "no TOML", id="no UTF-8"),
    pytest.param(_write("id = 1".encode("utf-16")), "no TOML", id="UTF-16"),
    pytest.param(_write(b"\0" * 9), "no TOML", id="zeros"),
    pytest.param(_write(b"a = " + b"[" * 20_000), "nested too deeply", id="lists"),
    pytest.param(_write(b"a = " + b"{a = " * 5000), "nested too deeply", id="tables"),
    pytest.param(_write(b".".join([b"a"] * 900) + b" = 1"), "nested more than 32", id="keys"),
    pytest.param(_write(b"a = " + b"9" * 5000), "no TOML", id="a number of 5,000 digits"),
    pytest.param(_folder, "cannot be read: Is a directory", id="folder"),
    pytest.param(_link_to("matrix.toml"), "", id="loop or another file"),
    pytest.param(_link_to("none.toml"), "cannot be read: No such file", id="dead link"),
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("damage", "told"), DAMAGE)
def test_what_is_no_catalog_file_is_told(
    root: Path, name: str, damage: Callable[[Path], None], told: str
) -> None:
    damage(root / name)
    own = [finding for finding in findings(root) if finding.startswith(f"catalog/{name}: ")]
    assert any(told in finding for finding in own)


def test_a_link_in_a_circle_is_told(root: Path) -> None:
    path = root / "models" / "test-1b.toml"
    path.unlink()
    path.symlink_to(path)
    (finding,) = (each for each in findings(root) if "models/" in each)
    assert f"cannot be read: {os.strerror(40)}" in finding


@pytest.mark.parametrize("name", FILES)
def test_what_windows_editors_write_is_sound(root: Path, name: str) -> None:
    content = "\ufeff" + FILES[name].replace("\n", "\r\n")
    (root / name).write_bytes(content.encode())
    assert findings(root) == []


def test_no_catalog_at_all_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = root / "none"
    assert main(["check", "--root", str(missing)]) == 1
    assert f"{missing}: there is no such folder" in capsys.readouterr().out
    with pytest.raises(CatalogProblems):
        load_catalog(missing)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "methods: missing; add it"),
        (FILES["matrix.toml"].replace("[1]", "[3]"), "gpu_counts[0]: not one of 1, 2, 4"),
        (FILES["matrix.toml"].replace("[1]", "[]"), "gpu_counts: empty; list at least one"),
        (FILES["matrix.toml"].replace("2048", "0"), "workloads[0].sequence_length: a length is 1"),
        (FILES["matrix.toml"].replace('"2k"', '"2 k"'), "workloads[0].id: not a valid id"),
        (FILES["matrix.toml"].replace("[[workloads]]", "[[workload]]"), 'did you mean "workloads"'),
        (FILES["matrix.toml"].replace('"single"', '"sigle"'), "strategies[0]: wrong value"),
    ],
)
def test_damage_of_the_matrix_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(text, encoding="utf-8")
    problems: list[Problem] = []
    assert read_matrix(path, "matrix.toml", problems.append) is None
    assert any(told in str(problem) for problem in problems)


def test_a_build_refuses_a_damaged_matrix_with_every_fault(root: Path) -> None:
    catalog = load_catalog(root)
    with pytest.raises(CatalogProblems, match="1 problem") as refused:
        read_axes(catalog, root / "matrix.toml")
    assert "catalog/matrix.toml: methods[0]: not one of full, lora, qlora" in str(refused.value)


def test_a_command_prints_the_faults_of_the_catalog_and_no_traceback(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "models" / "test-1b.toml").write_text("", encoding="utf-8")
    monkeypatch.setattr("generator.load.load_catalog", lambda: load_catalog(root))
    assert main(["estimate", str(root / "matrix.toml")]) == 2
    assert "catalog/models/test-1b.toml: license: missing; add it" in capsys.readouterr().err
