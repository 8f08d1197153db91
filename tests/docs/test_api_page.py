"""The API page lists the fields of a request as the code has them."""

from generator.request_fields import request_fields
from tests.docs.rendering import DOCS, environment


def test_the_page_has_a_row_for_every_field() -> None:
    text = environment().from_string((DOCS / "api.md").read_text(encoding="utf-8")).render()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for field in request_fields():
        (row,) = (row for row in rows if row.startswith(f"| `{field.name}` |"))
        assert row.count(" | ") == 2
        assert field.default in row
    assert "A named `stack` brings the defaults of its tool in place of these" in text
    assert "those of 100,000,000 tokens" in text
    assert '`{"config": {...}}`' in text
