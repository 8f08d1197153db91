"""The JSON Schemas say what the loader says, and every catalog file follows its own."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from generator.decode import field_types
from generator.kinds import KINDS, Kind
from generator.load import CATALOG_DIR, Document, read_documents
from generator.schema import check, field_docs, kind_schema, schema_texts, type_schema, write
from tests.catalog.small import damage

DOCUMENTS, _ = read_documents()
VALIDATORS = {kind.name: Draft202012Validator(kind_schema(kind)) for kind in KINDS}


def plain(value: Any) -> Any:
    """TOML values as JSON types: dates become text, as editors see them."""
    if isinstance(value, dict):
        return {key: plain(own) for key, own in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def mistakes(document: Document) -> list[str]:
    validator = VALIDATORS[document.kind.name]
    return [error.message for error in validator.iter_errors(plain(document.data))]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_schema_is_a_schema(kind: Kind) -> None:
    Draft202012Validator.check_schema(kind_schema(kind))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_every_file_follows_its_schema(document: Document) -> None:
    assert mistakes(document) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.path)
def test_every_file_names_its_schema_on_the_first_line(document: Document) -> None:
    text = (CATALOG_DIR.parent / document.path).read_text(encoding="utf-8")
    first = text.split("\n", maxsplit=1)[0]
    assert first == f"#:schema ../schema/{document.kind.name}.schema.json"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("cards/test-card-24gb.toml", 'form = "pcie"', 'form = "box"', id="choice"),
        pytest.param("cards/test-card-24gb.toml", "= 24\n", '= "24"\n', id="type"),
        pytest.param("cards/test-card-24gb.toml", "memory_usable", "memory_usble", id="misspelt"),
        pytest.param("cards/test-card-24gb.toml", "memory_marketed_gb = 24\n", "", id="missing"),
        pytest.param("cards/test-card-24gb.toml", "https://", "gopher://", id="address"),
        pytest.param("cards/test-card-24gb.toml", 'kind = "vendor"', 'kind = "x"', id="kind"),
        pytest.param("cards/test-card-24gb.toml", "2026-01-01", '"May"', id="published"),
        pytest.param("cards/test-card-24gb.toml", '["sheet"]', "[]", id="empty-citation"),
        pytest.param("optimizers/test-adam.toml", '"bf16"', '"bf17"', id="state-dtype"),
        pytest.param("models/test-1b.toml", 'id = "test-1b"', 'id = "Test"', id="id"),
        pytest.param("stacks/test-stack.toml", "_bytes = 500", "_byte = 500", id="stack-fact"),
    ],
)
def test_a_schema_sees_damage(root: Path, name: str, old: str, new: str) -> None:
    documents, _ = read_documents(root)
    (document,) = (item for item in documents if item.path == f"catalog/{name}")
    assert mistakes(document) == []
    damage(root, name, old, new)
    documents, _ = read_documents(root)
    (document,) = (item for item in documents if item.path == f"catalog/{name}")
    assert mistakes(document) != []


def test_the_committed_schemas_are_what_the_records_say() -> None:
    assert check(CATALOG_DIR) == []


def test_write_mends_a_stale_and_a_missing_schema(root: Path) -> None:
    everything = [f"catalog/schema/{kind.name}.schema.json" for kind in KINDS]
    assert check(root) == everything
    write(root)
    assert check(root) == []
    (root / "schema" / "card.schema.json").write_text("{}", encoding="utf-8")
    assert check(root) == ["catalog/schema/card.schema.json"]


def test_schemas_are_valid_json_with_a_title() -> None:
    for name, text in schema_texts().items():
        kind = name.removesuffix(".schema.json")
        assert json.loads(text)["title"] == f"trainfit {kind}"


# A stack's fields are described where their names do not say it all.
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name != "stack"], ids=lambda kind: kind.name
)
def test_every_field_is_described(kind: Kind) -> None:
    assert set(field_docs(kind.record)) == set(field_types(kind.record))


def test_pairs_may_be_a_table_or_a_list() -> None:
    schema = type_schema(tuple[tuple[str, int | bool], ...])
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"a": 1})
    assert validator.is_valid([["a", True]])
    assert not validator.is_valid([["a"]])
    assert not validator.is_valid({"a": "text"})
