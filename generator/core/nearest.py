"""The names that look most like one that nobody knows: the hint behind "did you mean"."""

from collections.abc import Iterable

LEAST_ALIKE = 0.3
"""Share of common letter triples below which two names are not worth mentioning together."""
SHORTEST_PART = 3
"""Letters from which on a name inside another one is no accident."""
CLOSE_TO_BEST = 0.75
"""A name is mentioned beside the best one only if it is this close to it."""
SHORTEST_MISSPELT = 6
"""Letters from which on one wrong letter makes a misspelling and no other word."""
SHORTEST_TWICE_MISSPELT = 14
"""Letters from which on two do."""


def _triples(name: str) -> set[str]:
    """Letter triples of a name, padded so that its start weighs more than its end.

    Blanks and underscores count as the dashes that ids have in their place.
    """
    joined = name.lower().replace(" ", "-").replace("_", "-")
    padded = f"  {joined} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def nearest(name: str, candidates: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """The candidates most like `name`, best first; none where nothing is alike.

    Two names are as alike as the letter triples they share (Dice coefficient); a name that holds
    all of the wanted one, as `rtx-4090-24gb` holds `4090`, is always worth mentioning.

    Args:
        name: What was asked for.
        candidates: What exists.
        limit: How many to return at most.
    """
    wanted = _triples(name)
    scored: list[tuple[float, str]] = []
    for candidate in candidates:
        own = _triples(candidate)
        score = 2 * len(wanted & own) / (len(wanted) + len(own))
        if len(name) >= SHORTEST_PART and name.lower() in candidate.lower():
            score = max(score, LEAST_ALIKE)
        if score >= LEAST_ALIKE:
            scored.append((-score, candidate))
    scored.sort()
    threshold = CLOSE_TO_BEST * scored[0][0] if scored else 0.0
    return tuple(candidate for score, candidate in scored[:limit] if score <= threshold)


def quoted(name: str) -> str:
    """A name in double quotes.

    Args:
        name: What to quote.
    """
    return f'"{name}"'


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A half-sentence with the nearest names, or nothing: `; did you mean "adamw"?`.

    Args:
        name: What was asked for.
        candidates: What exists.
    """
    found = nearest(name, candidates)
    return f"; did you mean {' or '.join(map(quoted, found))}?" if found else ""


def _num_mistakes(name: str, wanted: str, most: int) -> int:
    """Letters left out, added, replaced or swapped; `most` + 1 where there are more."""
    if abs(len(name) - len(wanted)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(wanted) + 1))
    for number, letter in enumerate(name, start=1):
        earlier, before, row = before, row, [number]
        for place, other in enumerate(wanted, start=1):
            best = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other))
            both = number > 1 and place > 1
            if both and (letter, name[number - 2]) == (wanted[place - 2], other):
                best = min(best, earlier[place - 2] + 1)
            row.append(best)
        if min(row) > most:
            return most + 1
    return row[-1]


def is_misspelling(name: str, wanted: str) -> bool:
    """Whether `name` can only be meant for `wanted`: one slip, or two in a long name.

    Upper case, dashes, missing underscores (`numKeyValueHeads`) and the order of the words are no
    difference at all.

    Args:
        name: What was written.
        wanted: A known name.
    """
    if name == wanted:
        return False
    plain, plain_wanted = (
        text.lower().replace("_", "").replace("-", "") for text in (name, wanted)
    )
    if plain == plain_wanted or sorted(name.split("_")) == sorted(wanted.split("_")):
        return True
    length = len(wanted)
    most = (length >= SHORTEST_MISSPELT) + (length >= SHORTEST_TWICE_MISSPELT)
    return 0 < most >= _num_mistakes(name, wanted, most)
