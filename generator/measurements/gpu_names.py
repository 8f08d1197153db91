"""The card that a source's words name: whole words against the words of the catalog's ids.

A name is never matched in part: `GH200` is not an `H200`, and `A6000 Ada` is no `A6000`. Where the
words leave the size or the form open, the usual machine of that chip is meant, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.core.card import Card
from generator.core.nearest import did_you_mean

FORMS = {
    "sxm": "sxm",
    "sxm2": "sxm",
    "sxm4": "sxm",
    "sxm5": "sxm",
    "sxm6": "sxm",
    "pcie": "pcie",
    "nvl": "nvl",
    "nvl72": "nvl72",
    "oam": "",
    "server": "server",
    "workstation": "workstation",
}
"""Words for the form of a card, and the part of an id that they stand for."""

MAKERS = frozenset(
    {
        *("nvidia", "tesla", "geforce", "quadro", "amd", "radeon", "instinct", "intel", "arc"),
        *("apple", "habana", "rtx", "rx"),
    }
)
"""Words before a chip's name that one may leave out or add."""

FILLERS = frozenset(
    {
        *("class", "card", "cards", "accelerator", "gpu", "gpus", "graphics", "edition"),
        *("ampere", "hopper", "blackwell", "grace", "superchip", "generation"),
        *("hbm2", "hbm2e", "hbm3", "hbm3e"),
    }
)
"""Words that tell no card from another. `laptop`, `mobile` and `ti` do."""
COUNT = re.compile(r"\d{1,3}x|x\d{1,2}")

ALSO_CALLED: Mapping[frozenset[str], frozenset[str]] = {
    # The A100 for China: the same chip and memory, with slower links.
    frozenset({"a800"}): frozenset({"a100"}),
    # A common name for the RTX 6000 Ada, which followed the RTX A6000.
    frozenset({"a6000", "ada"}): frozenset({"6000", "ada"}),
}
"""Whole names of a chip that the catalog has under another."""

USUAL = (
    "a100-sxm-80gb",
    "h100-sxm-80gb",
    "h200-sxm-141gb",
    "v100-sxm-16gb",
    "a100-sxm-40gb",
    "v100-sxm-32gb",
    "a100-pcie-80gb",
    "rtx-pro-6000-workstation-96gb",
)
"""What is meant where form or size is left out, the most usual first."""

SIZE = re.compile(r"\b(\d{1,5}(?:\.\d{1,3})?) ?gi?b\b")
LARGEST_SIZE_DIFFERENCE = 0.07
"""Sources print the marketed size, the driver's or what is soldered on (192 of a B200's 180); these
lie closer together than any two sizes of one chip."""
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCard:
    """What a source's words name: a card of the catalog, a bare size, or nothing, with a reason."""

    id: str | None = None
    memory_gb: int | None = None
    """Where the words are a size and no name: `48GB class`."""
    reason: str = ""

    @property
    def request(self) -> str | dict[str, int] | None:
        """The card as a request names it."""
        return {"memory_gb": self.memory_gb} if self.memory_gb is not None else self.id


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]+", text)


def _parts(card_id: str) -> tuple[frozenset[str], set[str]]:
    """The words of a chip and of its form in an id: `a100-sxm-80gb` is `a100` and `sxm`."""
    words = card_id.split("-")[:-1]
    forms = {word for word in words if FORMS.get(word) == word}
    return frozenset(words) - forms, forms


def _is_called(chip: frozenset[str], words: frozenset[str]) -> bool:
    """Whether the words are the chip's, but for its maker's and its series'."""
    return bool(words) and chip - MAKERS <= words <= chip | MAKERS and bool(words - MAKERS)


def find_card(text: str, cards: Mapping[str, Card]) -> FoundCard:
    """The card that a source's words name.

    Args:
        text: `A100-SXM4-80GB`, `Tesla T4`, `RTX 3090 24GB`, `48GB class`, or a catalog id.
        cards: The catalog's cards by id.
    """
    name = text.strip().lower()
    if not name:
        return FoundCard(reason="the card is not stated")
    for card in cards.values():
        if name in (card.id, *card.aliases):
            return FoundCard(id=card.id)
    plain = re.sub(r"\([^)]*\)|[-_]", " ", name)
    sizes = SIZE.findall(plain)
    size = float(sizes[0]) if len(sizes) == 1 else None
    words = _words(SIZE.sub(" ", plain))
    matching = [card for card in cards.values() if _is_meant(card, words, size)]
    if len(matching) == 1:
        return FoundCard(id=matching[0].id)
    usual = [name for name in USUAL if name in {card.id for card in matching}]
    if usual:
        return FoundCard(id=usual[0])
    if matching:
        found = " or ".join(card.id for card in matching)
        return FoundCard(reason=f'"{text.strip()[:LONGEST_SHOWN]}" may be {found}; write which')
    if size is not None and all(_tells_nothing(word) or word in MAKERS for word in words):
        return FoundCard(memory_gb=round(size))
    hint = did_you_mean(name[:LONGEST_SHOWN], cards) or "; write its id"
    return FoundCard(reason=f'the catalog has no card "{text.strip()[:LONGEST_SHOWN]}"{hint}')


def _tells_nothing(word: str) -> bool:
    return word in FILLERS or COUNT.fullmatch(word) is not None or FORMS.get(word) == ""


def _is_meant(card: Card, words: Sequence[str], size: float | None) -> bool:
    """Whether the words are this card's; those that tell nothing count only if its id has them."""
    chip, forms = _parts(card.id)
    told = [word for word in words if word in chip or not _tells_nothing(word)]
    named = frozenset(word for word in told if word not in FORMS)
    named = ALSO_CALLED.get(named - MAKERS, named)
    return (
        _is_called(chip, named)
        and {FORMS[word] for word in told if word in FORMS} <= forms
        and (size is None or _is_as_large(card, size))
    )


def _is_as_large(card: Card, size: float) -> bool:
    marketed = card.memory_marketed_gb
    return abs(size - marketed) <= LARGEST_SIZE_DIFFERENCE * marketed
