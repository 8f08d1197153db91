"""Each error code has a section on the errors page, in the order of the code."""

import re
from pathlib import Path

from generator.core.errors import ERROR_CODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_each_error_code_has_its_section_in_order() -> None:
    text = PAGE.read_text(encoding="utf-8")

    headings = re.findall(r"^## .+ \{ #([a-z-]+) \}$", text, re.MULTILINE)

    assert tuple(headings) == ERROR_CODES
