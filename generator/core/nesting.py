"""What a parser of JSON lets through and we do not: deep nesting, and a key that stands twice."""

MAX_NESTING = 100
"""Levels. Real requests and configs have under 10."""

OPENING = "[{"
CLOSING = "]}"


def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object whose keys stand once each: `object_pairs_hook` of `json.loads`.

    Args:
        pairs: Keys and values in the order of the text.

    Raises:
        ValueError: a key for the second time; which of its values is meant, nobody can know.
    """
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    # The first pair goes out with its key; the second one finds it gone.
    twice = next(name for name, _ in pairs if found.pop(name, pairs) is pairs)
    raise ValueError(f"{twice[:60]!r} stands twice in one object")


def check_nesting(text: str) -> None:
    """Refuses a JSON text that is nested too deeply.

    CPython's parser raises `RecursionError` by itself; in the browser the stack ends before its
    limit is reached, and the interpreter with it.

    Args:
        text: JSON, or what claims to be.

    Raises:
        RecursionError: more than `MAX_NESTING` levels.
    """
    if sum(map(text.count, OPENING)) <= MAX_NESTING:
        return
    depth = 0
    is_inside = False
    pieces = text.split('"')
    for position, piece in enumerate(pieces):
        if not is_inside:
            for character in piece:
                if character in OPENING:
                    depth += 1
                    if depth > MAX_NESTING:
                        raise RecursionError(f"more than {MAX_NESTING} levels")
                elif character in CLOSING:
                    depth -= 1
        # An escaped quotation mark does not end a string.
        backslashes = len(piece) - len(piece.rstrip("\\"))
        is_escaped = is_inside and backslashes % 2 == 1 and position < len(pieces) - 1
        is_inside = is_inside if is_escaped else not is_inside
