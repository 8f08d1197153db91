"""Our YAML against PyYAML's, which the tools read with: the same values, or a refusal."""

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.core.errors import TrainfitError
from generator.core.launch.yaml_reader import MAX_CHARACTERS, MAX_DEPTH, read, resolve
from generator.core.launch.yaml_writer import write

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from(("yes", "No", "2e-5", "0x10", "12:30", "2024-01-01", "~", "null", ".inf"))
)
KEYS = st.text("abcdefghij_.-", min_size=1, max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(SCALARS, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.lists(st.dictionaries(KEYS, inner, min_size=1, max_size=2), max_size=2)
    ),
    max_leaves=8,
)


@given(values=st.dictionaries(KEYS, VALUES, max_size=5))
@settings(max_examples=400)
@example(values={"a": 2e-05, "b": "2e-05", "c": "no", "d": [], "e": {}, "f": "\u2028\x7f😀"})
def test_what_is_written_is_read_back_by_pyyaml_and_by_us(values: dict[str, Any]) -> None:
    text = write(values)

    assert (yaml.safe_load(text) or {}) == values
    assert read(text) == values


def test_header_lines_are_comments() -> None:
    text = write({"a": 1}, header=("one", "two: 2"))

    assert text == "# one\n# two: 2\na: 1\n"
    assert read(text) == {"a": 1}


FILES = (
    "a: 1\nb:\n  c: true\n  d: [x, 'y', \"z\"]\n",
    "datasets:\n- path: a/b\n  type: alpaca\n- path: c\n",
    "datasets:\n  - path: a/b\n    split: train[:10%]\n    nested:\n      deep: 1\n  - x\n",
    "---\n# comment\na: b # trailing\n\nc: 'it''s'\n",
    "a:\nb: ~\nc: null\nd: ''\n",
    "files: [\n  one.safetensors,\n  two.safetensors,  # last\n]\nafter: 1\n",
    "config: {a: 1, b: [2, 3], 'c d': {e: f}}\n",
    "text: |\n  line one\n\n  line: two\nafter: 2\n",
    "text: >-\n  folded\n  text\nafter: 3\n",
    "a: http://example.org/x#y\nb: c:d\nc: a#b\n",
    "lr: 2e-5\nother: 2.0e-5\nbig: 1_000\nneg: -3\nzero: 0\noctal: 010\nplus: +4\n",
    'quoted: "a\\tb\\u00e9\\x41"\n',
    "\"key with space\": 1\n'other': 2\n",
    "a: Yes\nb: OFF\nc: True\nd: tRuE\ne: NO\n",
    "path: ${output_dir}/logs\nstar: a*b\nat: a@b\n",
    "empty_map: {}\nempty_list: []\n",
    "\ufeffa: 1\r\nb: 2\r\n",
    "list:\n  -\n    a: 1\n  - b: 2\n",
    "last: 1\ntext: |\n  to the end",
    "flow: [one #two\n  , three]\n",
)


@pytest.mark.parametrize("text", FILES)
def test_files_read_as_pyyaml_reads_them(text: str) -> None:
    expected = yaml.safe_load(text)
    actual = read(text)

    for key in expected:
        if key in ("text", "octal"):
            # Long text is kept line by line; a leading zero stays text.
            continue
        assert actual[key] == expected[key], key
    assert list(actual) == list(expected)


def test_an_empty_file_has_no_keys() -> None:
    assert read("") == {}
    assert read("# only a comment\n\n") == {}


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        pytest.param("a: &x 1\nb: 2\n", 1, "anchor", id="anchor"),
        pytest.param("a: 1\nb: *x\n", 2, "alias", id="alias"),
        pytest.param("a: !!python/object:os.system x\n", 1, "tag", id="tag"),
        pytest.param("a: 1\n---\nb: 2\n", 2, "second document", id="documents"),
        pytest.param("a: 1\n<<: {b: 2}\n", 2, "merge key", id="merge"),
        pytest.param("a: {<<: {b: 2}}\n", 1, "merge key", id="merge-in-braces"),
        pytest.param("a: [*x]\n", 1, "alias", id="alias-in-brackets"),
        pytest.param("%YAML 1.2\n---\na: 1\n", 1, "directive", id="directive"),
        pytest.param("- a\n- b\n", 1, "list", id="top-list"),
        pytest.param("a: 1\na: 2\n", 2, "second time", id="duplicate"),
        pytest.param("x:\n  - a: 1\n    a: 2\n", 3, "second time", id="duplicate-in-item"),
        pytest.param("x: {a: 1, a: 2}\n", 1, "second time", id="duplicate-in-braces"),
        pytest.param("a: 1\n   b: 2\n", 2, "indentation", id="indentation"),
        pytest.param("  a: 1\nb: 2\n", 2, "indentation", id="dedent"),
        pytest.param("a:\n\t b: 1\n", 2, "tab", id="tab"),
        pytest.param("a: b: c\n", 1, "two colons", id="two-colons"),
        pytest.param("just text\n", 1, "without a colon", id="text"),
        pytest.param("a:1\n", 1, "without a colon", id="no-space"),
        pytest.param("a: [1, 2\n", 2, "never close", id="open-bracket"),
        pytest.param("a: [1 {2}]\n", 1, "comma", id="no-comma"),
        pytest.param("a: [1,,2]\n", 1, "nothing between", id="empty-flow"),
        pytest.param("a: {1: 2}\n", 1, "key: value", id="number-key"),
        pytest.param('a: "open\n', 1, "quotes", id="open-quote"),
        pytest.param('a: "x" y\n', 1, "after the end", id="after-quote"),
        pytest.param('a: "\\q"\n', 1, "escape", id="escape"),
        pytest.param("? a\n: b\n", 1, "not plain", id="complex-key"),
        pytest.param("a:\n  b: 1\n  - c\n", 3, "list item", id="item-among-keys"),
        pytest.param("a:\n  - - b\n", 2, "list directly inside", id="list-in-list"),
        pytest.param("a:\n  - b\n    - c\n", 3, "indentation", id="deeper-item"),
        pytest.param("a: one\n  two\n", 2, "indentation", id="continued"),
    ],
)
def test_what_is_not_read_is_refused_with_its_line(text: str, line: int, word: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        read(text)

    assert (caught.value.code, caught.value.field) == ("bad-file", f"line {line}")
    assert word in caught.value.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("a: 1\n" * (MAX_CHARACTERS // 4), "input-too-large", id="long"),
        pytest.param("a: " + "[" * 10_000, "bad-file", id="deep-brackets"),
        pytest.param("".join(" " * i + f"k{i}:\n" for i in range(300)), "bad-file", id="deep-maps"),
        pytest.param("a:\n" + "- " * 10_000, "bad-file", id="deep-items"),
        pytest.param(
            "a:\n" + "".join("  " * i + "- b:\n" for i in range(40)),
            "bad-file",
            id="deep-item-maps",
        ),
        pytest.param("".join(f"k{i}: 1\n" for i in range(12_000)), "bad-file", id="many-keys"),
        pytest.param("a: [" + "1," * 90_000 + "]", "bad-file", id="many-items"),
    ],
)
def test_hostile_files_end_in_a_coded_error(text: str, code: str) -> None:
    with pytest.raises(TrainfitError) as caught:
        read(text)

    assert caught.value.code == code


def test_nesting_up_to_the_limit_is_read() -> None:
    text = (
        "".join("  " * i + f"k{i}:\n" for i in range(MAX_DEPTH - 1))
        + "  " * (MAX_DEPTH - 1)
        + "end: 1\n"
    )

    assert str(read(text)).count("{") == MAX_DEPTH


@given(
    text=st.text(max_size=300)
    | st.lists(st.sampled_from(FILES), max_size=3).map("".join)
    | st.text(" -:#[]{}'\"|>&*!ab1\n\t", max_size=120)
)
@settings(max_examples=1_000)
def test_any_text_is_read_or_refused(text: str) -> None:
    code = "bad-file"
    try:
        read(text)
    except TrainfitError as problem:
        code = problem.code

    assert code == "bad-file"


def with_text_keys(value: Any) -> Any:
    """A parsed file with its number keys as text, which is how we keep them."""
    if isinstance(value, dict):
        return {str(key): with_text_keys(inner) for key, inner in value.items()}
    return [with_text_keys(inner) for inner in value] if isinstance(value, list) else value


@given(text=st.text(" -:#[]{}'\",ab1\n", max_size=40))
@settings(max_examples=2_000)
@example(text="a: [1, {b: c}]\nd:\n- e: 'f'\n  g:\n")
def test_what_is_read_is_what_pyyaml_reads(text: str) -> None:
    try:
        ours = read(text)
    except TrainfitError:
        return
    try:
        theirs = yaml.safe_load(text)
    except yaml.YAMLError:
        # More than YAML allows is no harm: the tool itself will complain.
        return

    assert ours == with_text_keys(theirs or {})


@given(text=st.text("0123456789+-._eE", min_size=1, max_size=12).filter(lambda text: text != "-"))
@settings(max_examples=1_000)
def test_numbers_resolve_as_in_pyyaml_or_stay_text(text: str) -> None:
    ours = resolve(text)

    assert ours in (text, yaml.safe_load(f"a: {text}")["a"])


def test_the_longest_numbers_stay_text() -> None:
    assert resolve("9" * 18) == 10**18 - 1
    assert resolve("9" * 19) == "9" * 19
    assert resolve("1.0e+9999") == "1.0e+9999"
    assert resolve("1.5e-5") == 1.5e-5
