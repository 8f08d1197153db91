"""Results in the explanations come from the core: a typed figure with a unit is a failure.

What may be typed: sizes of number formats (1, 2 and 4 bytes), marketed card sizes beside the word
card, GPU or node, messages and options in code type, and formulas without a unit. Figures that
others published go through the macro `cited`.
"""

import re

import pytest

from generator.load import load_catalog
from tests.docs.rendering import pages, source

UNITS = (
    r"(?:GB|GiB|MB|MiB|kB|KiB|TB|TiB|bytes?|(?<= )B|%|percent|×|times|hours?|minutes?|seconds?|s"
    r"|gigabytes?|megabytes?|dollars?|USD|TFLOPS?|tokens (?:per|a) second|GB a second)"
)
TYPED = re.compile(rf"(?<![\w.#^-])(\d[\d,]*(?:\.\d+)?)\s?({UNITS})(?![\w^])")
WORDS = (
    "three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred"
)
SPELLED = re.compile(
    rf"\b({WORDS})\s(bytes|times|percent|gigabytes|GB|per cent|hours)\b", re.IGNORECASE
)
CARD_WORDS = r"(?:[Cc]ards?|GPUs?|nodes?|consumer cards?|[A-Z][A-Z0-9]{1,5}(?: cards?)?)"
FORMAT_BYTES = {"1", "2", "4"}


def _stripped(page: str) -> str:
    """The page without what may hold numbers: macros, code, links' targets, markup of headings."""
    page = re.sub(r"```.*?```", " ", page, flags=re.DOTALL)
    page = re.sub(r"\{%.*?%\}", " ", page, flags=re.DOTALL)
    page = re.sub(r"\{\{.*?\}\}", "\N{WHITE SQUARE}", page, flags=re.DOTALL)
    page = re.sub(r"`[^`]*`", " ", page)
    page = re.sub(r"\]\([^)]*\)", "]", page)
    page = re.sub(r"\{ #[^}]*\}", " ", page)
    return re.sub(r"[*_|]", " ", page)


def _marketed_sizes() -> set[str]:
    return {str(card.memory_marketed_gb) for card in load_catalog().cards.values()}


def _is_card_size(text: str, match: re.Match[str]) -> bool:
    """`80 GB card`, `cards of 24 GB`, `16 GB T4`: the figure on the box of a card that we list."""
    if match[2] != "GB" or match[1] not in _marketed_sizes():
        return False
    after = re.match(rf"\s?(?:{CARD_WORDS})\b", text[match.end() :])
    before = re.search(rf"(?:{CARD_WORDS}) (?:of|with) (?:\d+ to )?$", text[: match.start()])
    title = re.search(r"× $", text[: match.start()])
    share = re.search(r"% of $|Left of $|of $", text[: match.start()])
    return bool(after or before or title or share)


def typed_results(text: str) -> list[str]:
    """Every typed figure with a unit that is no input of the field."""
    text = _stripped(text)
    found = []
    for match in TYPED.finditer(text):
        if match[2].startswith(("byte", "B")) and match[1] in FORMAT_BYTES:
            continue
        if match[2] == "×" and " ×" in match[0]:
            # `4 × 80 GB` and products of dimensions are inputs; `1.5×` is a ratio.
            continue
        if match[0] in {"1 GB", "1 GiB"}:
            # The units' definitions.
            continue
        if _is_card_size(text, match):
            continue
        found.append(match[0])
    found += [match[0] for match in SPELLED.finditer(text)]
    return found


@pytest.mark.parametrize("page", pages())
def test_no_result_is_typed(page: str) -> None:
    assert typed_results(source(page)) == []


@pytest.mark.parametrize("page", pages())
def test_no_result_hides_in_a_string_of_a_macro(page: str) -> None:
    macros = re.findall(r"\{[{%].*?[}%]\}", source(page), flags=re.DOTALL)
    strings = [
        text
        for macro in macros
        if not macro.startswith("{{ cited(")
        for text in re.findall(r'"([^"]*)"', macro)
    ]
    assert [text for text in strings if TYPED.search(text)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The static state is 208 GB.",
        "Each GPU holds 71.5 GB of it.",
        "That is 12 bytes per parameter.",
        "It costs 33 % more FLOPs.",
        "FSDP sends 1.5× what DDP sends.",
        "The rest is up to seven times the weights.",
        "The run takes 3.5 hours.",
        "A 79 GB card does not exist.",
        "It grows by ten times.",
    ],
)
def test_the_test_finds_a_typed_result(sentence: str) -> None:
    assert typed_results(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "One 80 GB card is enough.",
        "A node of 180 GB B200 cards.",
        "bf16 takes 2 bytes.",
        "`Tried to allocate 7.83 GiB`",
        "It holds {{ run.per_gpu.total | gb }}.",
        "8,192 × 4,096 × 2 bytes",
        "Will it fit on 4 × 80 GB?",
    ],
)
def test_the_test_lets_inputs_pass(sentence: str) -> None:
    assert typed_results(sentence) == []
