"""The facts of the two source texts carry over, their sentences do not.

Kept here are hashes of five-word sequences of those texts, so that the test needs no copy of them.
One shared sequence can be a name or a formula; two in a row, six words, are a borrowed phrase.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

import pytest

from generator.emit.by_hand import pages_by_hand
from tests.docs.rendering import DOCS, ROOT

HASHES = Path(__file__).parent / "seed_word_sequences.txt"
WORDS_PER_SEQUENCE = 5


def words(text: str) -> list[str]:
    """Lower-case words and numbers, everything else dropped."""
    return re.findall(r"[a-z0-9]+", text.lower())


def sequences(text: str) -> list[str]:
    """Hash of every five-word sequence, in order; sequences that are mostly numbers are empty."""
    tokens = words(text)
    found = []
    for start in range(len(tokens) - WORDS_PER_SEQUENCE + 1):
        window = tokens[start : start + WORDS_PER_SEQUENCE]
        is_prose = sum(any(letter.isalpha() for letter in word) for word in window) >= 4
        digest = hashlib.sha256(" ".join(window).encode()).hexdigest()[:16]
        found.append(digest if is_prose else "")
    return found


@cache
def seed_sequences() -> frozenset[str]:
    """The stored hashes."""
    return frozenset(HASHES.read_text(encoding="utf-8").split())


def shared_phrases(text: str) -> list[str]:
    """Runs of six or more words that the source texts have too."""
    tokens = words(text)
    hits = [digest in seed_sequences() for digest in sequences(text)]
    return [
        " ".join(tokens[start : start + WORDS_PER_SEQUENCE + 1])
        for start in range(len(hits) - 1)
        if hits[start] and hits[start + 1]
    ]


@pytest.mark.parametrize(
    "path",
    [*pages_by_hand(DOCS), ROOT / "README.md"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_no_phrase_is_borrowed(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not written yet")
    text = re.sub(r"\{[{%].*?[}%]\}", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shared_phrases(text) == []


def test_the_hashes_are_there() -> None:
    assert len(seed_sequences()) > 800
