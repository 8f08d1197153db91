"""Every fault of a measurement file is named by line, column, value and remedy, all at once."""

from pathlib import Path

import pytest

from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import SUSPECTS, TABLES, THROUGHPUT, Column, Table
from generator.measurements.models import read_models
from generator.measurements.reader import read_table
from generator.problem import CatalogProblems

TABLE = Table(
    name="small.csv",
    key="id",
    columns=(
        Column(name="id", is_needed=True),
        Column(name="num_gpus", kind="count", lowest=1, highest=64),
        Column(name="gib", kind="number", unit="GiB", lowest=0.001, highest=1000),
        Column(name="oom", choices=("true", "false")),
    ),
)
HEADER = "id,num_gpus,gib,oom\n"
GIB = "expected a number in GiB from 0.001 to 1,000"


def problems(tmp_path: Path, content: str | bytes) -> list[str]:
    path = tmp_path / "small.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [str(problem) for problem in read_table(path, TABLE).problems]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_collection_is_sound(table: Table) -> None:
    assert read_table(MEASUREMENTS_DIR / table.name, table).sound()


@pytest.mark.parametrize("name", ["memory-models.json", "throughput-models.json"])
def test_the_collection_s_models_are_sound(name: str) -> None:
    assert read_models(MEASUREMENTS_DIR / name).sound()


GPUS = "expected a whole number from 1 to 64"
WITH_UNIT = "gib: not a number; write the bare number of GiB without a unit"
NO_NUMBER = "gib: not a number; write the bare number of GiB, or leave it empty"
OUTSIDE = "gib: outside what is possible; check number and unit"
CELLS = "columns; quote cells that hold commas, and leave unknown ones empty [bad-csv]"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("a,1,24 GB,false", f'{WITH_UNIT} ({GIB}, got "24 GB") [wrong-type]'),
        ("a,1,24GiB,", f'{WITH_UNIT} ({GIB}, got "24GiB") [wrong-type]'),
        ('a,1,"1,024",', f'{NO_NUMBER} ({GIB}, got "1,024") [wrong-type]'),
        ("a,1,nan,", f'{NO_NUMBER} ({GIB}, got "nan") [wrong-type]'),
        ("a,1,-inf,", f'{NO_NUMBER} ({GIB}, got "-inf") [wrong-type]'),
        ("a,1,0x10,", f'{NO_NUMBER} ({GIB}, got "0x10") [wrong-type]'),
        ("a,1,1_0,", f'{NO_NUMBER} ({GIB}, got "1_0") [wrong-type]'),
        ("a,1,\u0661,", f'{NO_NUMBER} ({GIB}, got "\u0661") [wrong-type]'),
        ("a,1,1e400,", f'{OUTSIDE} ({GIB}, got "1e400") [out-of-range]'),
        ("a,1,24576,", f'{OUTSIDE} ({GIB}, got "24576") [out-of-range]'),
        ("a,1,-3,", f'{OUTSIDE} ({GIB}, got "-3") [out-of-range]'),
        (
            "a,1.5,3,",
            f'num_gpus: not a whole number ({GPUS}, got "1.5") [wrong-type]',
        ),
        (
            "a,1,3,yes",
            'oom: unknown value (expected one of "true", "false", got "yes") [out-of-range]',
        ),
        (",1,3,true", "id: empty; fill it in (expected a text) [missing-field]"),
        (
            "first,1,3,true",
            'id: line 2 has it too; each row has an id of its own (got "first") [duplicate-id]',
        ),
        ("a,1,3,true,more", f"5 cells under 4 {CELLS}"),
        ("a", f"1 cells under 4 {CELLS}"),
    ],
)
def test_a_damaged_cell_is_named(tmp_path: Path, row: str, fault: str) -> None:
    content = f"{HEADER}first,1,2,false\n\n{row}\nlast,2,3.5,true\n"
    assert problems(tmp_path, content) == [f"small.csv:4: {fault}"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"\ufeff{HEADER}a,1,2.5,true\n", id="byte order mark"),
        pytest.param(f"{HEADER}a,1,2.5,true\n".replace("\n", "\r\n"), id="Windows' line ends"),
        pytest.param(f'{HEADER}"a\nb",1,2.5,true\n', id="a cell over two lines"),
        pytest.param(f"{HEADER}a,16.0,1e1, true \n", id="a whole number with a point"),
        pytest.param(f"{HEADER}a,,,", id="empty cells and no last line end"),
        pytest.param(HEADER, id="no rows"),
    ],
)
def test_what_spreadsheets_write_is_sound(tmp_path: Path, content: str) -> None:
    assert problems(tmp_path, content) == []


def test_lines_are_those_of_the_file_after_a_cell_over_several(tmp_path: Path) -> None:
    content = f'{HEADER}"a\nb\nc",1,2,true\nd,x,2,true\n'
    (fault,) = problems(tmp_path, content)
    assert fault.startswith("small.csv:5: num_gpus: not a number")


QUOTES = "close the quotes, and double those inside a cell [bad-csv]"


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (
            "",
            ["1: empty; the first line names the columns id, num_gpus, gib, oom [bad-csv]"],
        ),
        (
            b"id,num_gpus,gib,oom\n\xff,1,2,true\n",
            ["2: no UTF-8 (byte 0xff); save the file as UTF-8 [bad-csv]"],
        ),
        (
            f'{HEADER}a,1,2,true\n"b,1,2,true\nc,1,2,true\n',
            [f"3: no CSV: unexpected end of data; {QUOTES}"],
        ),
        (
            f'{HEADER}a,1,2,"tr"ue\n',
            [f"2: no CSV: ',' expected after '\"'; {QUOTES}"],
        ),
        (
            "id,num_gpu,gib\na,1,2\n",
            [
                "1: num_gpus: missing column; add it to the header [missing-field]",
                "1: oom: missing column; add it to the header [missing-field]",
                '1: num_gpu: unknown column; did you mean "num_gpus"? [unknown-field]',
            ],
        ),
        (
            "id,num_gpus,gib,gib,oom\na,1,2,2,true\n",
            ["1: gib: the header has it twice; delete one [duplicate-id]"],
        ),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str | bytes, faults: list[str]) -> None:
    assert problems(tmp_path, content) == [f"small.csv:{fault}" for fault in faults]


def test_an_id_has_no_blanks(tmp_path: Path) -> None:
    path = tmp_path / "suspects.csv"
    path.write_text("id,kind,measured_gib,reason\nmy run 1,a,1,b\n", encoding="utf-8")
    assert read_table(path, SUSPECTS).problems == []
    path = tmp_path / "throughput.csv"
    cells = ["my run 1", *("x" for _ in THROUGHPUT.names[1:])]
    path.write_text(f"{','.join(THROUGHPUT.names)}\n{','.join(cells)}\n", encoding="utf-8")
    first = str(read_table(path, THROUGHPUT).problems[0])
    assert first.startswith("throughput.csv:2: id: has a blank in it; join its parts with a dash")


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    content = f"{HEADER}a,x,y,z\na,0,-1,true\n"
    assert len(problems(tmp_path, content)) == 3 + 3
    with pytest.raises(CatalogProblems, match="6 problems"):
        read_table(tmp_path / "small.csv", TABLE).sound()


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    for path in (tmp_path, loop, tmp_path / "none.csv"):
        (problem,) = read_table(path, TABLE).problems
        assert "cannot be read: " in str(problem)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "models.json:1: no JSON: Expecting property name"),
        ("[]", "models.json: must hold one JSON object, with models by name [bad-json]"),
        ("[" * 100_000, "models.json: no JSON: "),
        (b"\xff", "models.json: no JSON: "),
        ('{"a": 1}', 'models.json: a: names no shape; use {"config": {...}}'),
        ('{"a": {"config": []}}', "models.json: a: names no shape"),
        ('{"a": {"catalog": "x"}, "a": {"catalog": "x"}}', "models.json: a: stands twice"),
        ('{"a": {"config": {"model_type": "x"}}}', "models.json: a.config.model_type: The arch"),
    ],
)
def test_a_damaged_file_of_models_is_named(
    tmp_path: Path, content: str | bytes, fault: str
) -> None:
    path = tmp_path / "models.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (problem,) = read_models(path).problems
    assert str(problem).startswith(fault)
