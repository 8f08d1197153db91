"""How deeply a JSON text is nested, known before anything parses it."""

MAX_NESTING = 100
"""Levels. Real requests and configs have under 10."""

OPENING = "[{"
CLOSING = "]}"


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
