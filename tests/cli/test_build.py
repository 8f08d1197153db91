"""What a build says while it works, and how it ends when someone stops it."""

from pathlib import Path

import pytest

from generator import emit
from generator.__main__ import main


def stages(*_: object, say: emit.Say, **_more: object) -> None:
    say("matrix: 172 models")


def stopped(*_: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_a_build_says_its_stages_on_standard_error_unless_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emit, "build_all", stages)
    assert main(["build", "--docs", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "build: matrix: 172 models\n")
    assert main(["build", "--docs", str(tmp_path), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_ends_in_one_line_and_the_shell_s_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emit, "build_all", stopped)
    assert main(["build", "--docs", str(tmp_path)]) == 130
    assert capsys.readouterr() == ("", "\nbuild: stopped\n")
