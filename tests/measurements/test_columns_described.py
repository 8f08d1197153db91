"""One text says what the columns of measured rows take, and it has all of them."""

import re
from pathlib import Path

from generator.accuracy.rows import LISTED_TOOLS
from generator.load import CATALOG_DIR
from generator.measurements import MEASUREMENTS_DIR
from generator.measurements.columns import MEMORY, TABLES, THROUGHPUT

ROOT = CATALOG_DIR.parent
ROW = re.compile(r"^\| (`[a-z_0-9]+`(?:, `[a-z_0-9]+`)*) \|", re.MULTILINE)


def described(path: Path) -> list[str]:
    """Names in the first column of the tables of a text."""
    return re.findall(r"[a-z_0-9]+", " ".join(ROW.findall(path.read_text(encoding="utf-8"))))


def test_every_column_is_described_once_in_the_order_of_the_file() -> None:
    told = described(MEASUREMENTS_DIR / "README.md")
    of_memory, of_throughput = told[: len(MEMORY.names)], told[len(MEMORY.names) :]

    assert of_memory == list(MEMORY.names)
    assert of_throughput == [name for name in THROUGHPUT.names if name in of_throughput]
    assert set(THROUGHPUT.names) - set(MEMORY.names) <= set(of_throughput)


def test_no_other_text_describes_them() -> None:
    texts = [*ROOT.glob("*.md"), *CATALOG_DIR.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    assert [path.name for path in texts if "gib_per_gpu" in described(path)] == []


def test_a_range_is_told_in_the_digits_that_one_writes() -> None:
    told = {column.name: column.expected for column in MEMORY.columns}
    assert told["sequence_length"] == "a whole number from 1 to 16,777,216"
    assert told["params_b"] == "a number in billions from 0.0001 to 100,000"
    assert not [each for table in TABLES for each in table.columns if "e+" in each.expected]


def test_the_known_tools_are_described() -> None:
    text = (MEASUREMENTS_DIR / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith("| `framework` |"))

    assert f"known are {', '.join(f'`{tool}`' for tool in LISTED_TOOLS)} |" in row
