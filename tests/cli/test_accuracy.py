"""The scoring command refuses a file that it cannot read, and says where and why."""

from pathlib import Path

import pytest

from generator import accuracy
from generator.__main__ import main
from generator.accuracy.bars import Bar
from generator.accuracy.listing import ListedRow, chosen

MEMORY = "id,model,method,base_dtype,compute_dtype,optimizer,strategy,gpu,num_gpus,"
MEMORY += (
    "sequence_length,micro_batch_size,activation_checkpointing,attention,metric,gib_per_gpu,oom"
)
ROW = "a,meta-llama/Llama-3.1-8B,full,bf16,bf16,AdamW,single,H100,1,2048,1,full,flash,stated"


def run(*words: str) -> int:
    return main(["accuracy", *words])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "rows.csv:1: empty; the first line names the columns"),
        (b"id,gib\n1,2\n", "rows.csv:1: gib_per_gpu: missing column; add it to the header"),
        (b"id,gib_per_gpu\n\xff,2\n", "rows.csv:2: no UTF-8 (byte 0xff)"),
        (b"\x00\x01\x02", "rows.csv:1: gib_per_gpu: missing column"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, told: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert run(str(path)) == 2
    assert told in capsys.readouterr().err


def test_what_is_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path)) == 2
    assert "there is no file" in capsys.readouterr().err
    path = tmp_path / "rows.csv"
    path.write_text(f"{MEMORY}\n", encoding="utf-8")
    assert run(str(path), "--models", str(tmp_path / "none.json")) == 2
    assert "give --models a JSON file" in capsys.readouterr().err
    models = tmp_path / "models.json"
    models.write_text('{"a": 1}', encoding="utf-8")
    assert run(str(path), "--models", str(models)) == 2
    assert "models.json: a: names no shape" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reading", "told"),
    [
        ("12 GB,false", "gib_per_gpu: not a number; write the bare number of GiB without a unit"),
        ("1e999,false", "gib_per_gpu: outside what is possible"),
        ("12,false,more", "17 cells under 16 columns"),
    ],
)
def test_a_damaged_row_is_left_out_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reading: str, told: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{MEMORY}\n{ROW},{reading}\n", encoding="utf-8")
    assert run(str(path)) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("loss,Liger", "loss 'Liger' is not known; did you mean \"liger\"?"),
        ("framework,torchtun 0.6", 'no known tool; did you mean "torchtune" or "torch"?'),
        ("framework,a script", "framework names no known tool; for a script of your own its torch"),
    ],
)
def test_a_word_that_nobody_knows_is_not_taken_for_the_usual_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, told: str
) -> None:
    name, word = column.split(",")
    path = tmp_path / "rows.csv"
    row = ROW.replace(",full,", ",lora,", 1)
    path.write_text(f"{MEMORY},{name}\n{row},12,false,{word}\n", encoding="utf-8")
    assert run(str(path)) == 0
    assert told in capsys.readouterr().out


def test_a_row_that_contradicts_itself_is_left_out_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    row = ROW.replace("H100,1,", "H100,2,", 1)
    path.write_text(f"{MEMORY}\n{row},12,false\n", encoding="utf-8")
    assert run(str(path)) == 0
    assert "strategy: single is one GPU, and num_gpus is 2; write num_gpus 1" in (
        capsys.readouterr().out
    )


def test_rows_are_listed_the_worst_first_and_the_skipped_with_their_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    rows = [
        f"{ROW},140,false",
        f"{ROW},120,false".replace("a,", "b,", 1),
        f"{ROW},12,false".replace("a,", "c,", 1).replace("H100,1,", "H100,2,", 1),
        f"{ROW},,true".replace("a,", "d,", 1),
    ]
    rows = [row.replace(",bf16,bf16,", ",fp32,fp32,", 1) for row in rows]
    path.write_text("\n".join([MEMORY, *rows, ""]), encoding="utf-8")
    assert run(str(path), "--rows", "all") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["GiB", "predicted", "measured", "error"]
    ids = [line.split()[0] for line in lines]
    errors = [abs(float(line.split()[3].rstrip("%"))) for line in lines[:2]]
    assert sorted(ids[:2]) == ["a", "b"]
    assert errors == sorted(errors, reverse=True)
    assert ids[2:] == ["d", "c"]
    assert "ran out of memory, judged no" in lines[2]
    assert "skipped: strategy: single is one GPU" in lines[3]
    assert run(str(path), "--rows", "1") == 0
    assert capsys.readouterr().out.splitlines()[1:] == lines[:1]
    assert run(str(path), "--rows", "c") == 1
    told = capsys.readouterr()
    assert told.out.splitlines()[1].startswith("c skipped: ")
    assert told.err == "accuracy: not scored, for the reason above: c\n"
    assert run(str(path), "--rows", "zz") == 1
    assert f'no row of {path} has an id that begins with "zz"' in capsys.readouterr().err


def test_a_skipped_row_is_a_failure_where_it_or_nothing_else_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    skipped = f"{ROW},12,false".replace("H100,1,", "H100,2,", 1)
    sound = f"{ROW},12,false".replace("a,", "r-1b,", 1)
    rows = [skipped.replace("a,", f"{name},", 1) for name in ("r-1", "s-1", "s-2", "s-3", "s-4")]
    sound = sound.replace(",bf16,bf16,", ",fp32,fp32,", 1)
    path.write_text("\n".join([MEMORY, sound, *rows, ""]), encoding="utf-8")
    assert run(str(path), "--rows", "r") == 0
    assert run(str(path), "--rows", "all") == 0
    assert capsys.readouterr().err == ""
    # An id that others begin with, too.
    assert run(str(path), "--rows", "r-1") == 1
    assert capsys.readouterr().err.endswith("for the reason above: r-1\n")
    assert run(str(path), "--rows", "s") == 1
    assert capsys.readouterr().err.endswith("for the reason above: s-1, s-2, s-3, ...\n")


def test_without_a_file_a_row_of_either_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rows", "fms-070") == 0
    told = capsys.readouterr()
    name, _, row, *_ = told.out.splitlines()
    assert (Path(name).name, row.split()[0]) == ("memory.csv:", "fms-070")
    assert told.err == ""
    assert run("--rows", "qwen-019") == 0
    told = capsys.readouterr()
    assert "throughput.csv:\n" in told.out
    assert "memory.csv" not in told.out
    assert run("--rows", "none-like-it") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "memory.csv or " in told.err
    assert 'throughput.csv has an id that begins with "none-like-it"' in told.err


def test_a_row_far_off_is_welcome_and_says_where_its_cause_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.csv"
    path.write_text(f"{MEMORY},quality\n{ROW},12,false,A\n", encoding="utf-8")
    path.write_text(path.read_text().replace(",bf16,bf16,", ",fp32,fp32,", 1), encoding="utf-8")
    assert run(str(path), "--rows", "a") == 0
    foreign = capsys.readouterr().out
    assert "off by 15% or more" in foreign
    assert "causes.csv" not in foreign
    monkeypatch.setattr(accuracy, "OWN_FILE", path)
    assert run(str(path), "--rows", "a") == 0
    told = capsys.readouterr()
    assert "a is off by 15% or more, and nobody has said why: such runs are the most" in told.out
    assert 'catalog/measurements/causes.csv (id, source, cause): a,,"the cause"' in told.out
    assert told.err == ""


def test_rows_of_throughput_are_listed_too(capsys: pytest.CaptureFixture[str]) -> None:
    file = accuracy.OWN_FILE.with_name("throughput.csv")
    assert run(str(file), "--rows", "2") == 0
    assert capsys.readouterr().out.count("\n") == 3


def test_an_id_of_digits_is_an_id_and_no_number() -> None:
    rows = [ListedRow(id="12a", error=0.1), ListedRow(id="b", error=0.2)]
    assert [row.id for row in chosen(rows, "12")] == ["12a"]
    assert [row.id for row in chosen(rows, "1")] == ["12a"]
    assert [row.id for row in chosen(rows, "2")] == ["b", "12a"]


def test_a_bar_that_is_not_met_fails_the_collection_and_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = [Bar(name="All: median error", limit=0.05, actual=0.5)]
    monkeypatch.setattr(accuracy, "bars", lambda _summary: missed)
    path = tmp_path / "memory.csv"
    path.write_text(f"{MEMORY}\n{ROW},12,false\n", encoding="utf-8")
    assert run(str(path)) == 0
    told = capsys.readouterr()
    assert "bars, which catalog/measurements/memory.csv is held to; here for comparison" in told.out
    assert told.err == ""
    monkeypatch.setattr(accuracy, "OWN_FILE", path)
    assert run(str(path)) == 1
    assert "accuracy: not met: All: median error" in capsys.readouterr().err
