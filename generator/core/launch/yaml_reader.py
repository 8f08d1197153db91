"""The part of YAML that launch files use: nested maps and lists, scalars, comments.

Anchors, aliases, tags, merge keys, several documents and plain text over several lines are refused
with the line that holds them. Scalars resolve as in PyYAML (YAML 1.1), which the tools use.
"""

from generator.core.errors import TrainfitError

MAX_CHARACTERS = 200_000
"""Real launch files have 1 to 5 kB."""
MAX_DEPTH = 20
MAX_ENTRIES = 10_000
MAX_DIGITS = 18
"""Longer numbers stay text: no field takes them, and reading them as numbers is slow."""

_DIGITS = frozenset("0123456789")
_TRUE = frozenset(("true", "yes", "on"))
_FALSE = frozenset(("false", "no", "off"))
_NULL = frozenset(("", "~", "null"))
_REFUSED_STARTS = {
    "&": "an anchor",
    "*": "an alias",
    "!": "a tag",
    "%": "a directive",
    "@": "a reserved character",
    "`": "a reserved character",
}
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}


def resolve(text: str) -> object:
    """A plain scalar as null, boolean, number or text.

    Args:
        text: Without quotes and without surrounding spaces.
    """
    lower = text.lower()
    if lower in _NULL:
        return None
    # YAML 1.1 knows three spellings: true, True, TRUE.
    if text in (lower, text.capitalize(), text.upper()):
        if lower in _TRUE:
            return True
        if lower in _FALSE:
            return False
    body = lower[1:] if lower[0] in "+-" else lower
    start = body[:2] if lower[0] == "." else body[:1]
    if start[-1:] not in _DIGITS or len(body) > 2 * MAX_DIGITS:
        return text
    digits = body.replace("_", "")
    if set(digits) <= _DIGITS:
        # A leading zero means octal to some parsers and decimal to others.
        is_number = len(digits) <= MAX_DIGITS and (body == "0" or body[0] != "0")
        return int(lower.replace("_", "")) if is_number else text
    mantissa, mark, exponent = body.partition("e")
    whole, point, fraction = mantissa.replace("_", "").partition(".")
    # Without a point, 2e-5 is text to YAML 1.1, and so it is to us.
    if not point or not set(whole + fraction) <= _DIGITS:
        return text
    has_sign = exponent[:1] in ("+", "-") and len(exponent) > 1
    if mark and not (has_sign and set(exponent[1:]) <= _DIGITS and len(exponent) <= 4):
        return text
    value = float(lower.replace("_", ""))
    return text if value in (float("inf"), float("-inf")) else value


class _Reader:
    """One pass over the text; `line` is where it stands, from 0."""

    def __init__(self, text: str) -> None:
        self.lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self.line = 0
        self.entries = 0

    def refusal(self, what: str) -> TrainfitError:
        return TrainfitError(
            "bad-file",
            f"line {self.line + 1}",
            f"Line {self.line + 1} of the file has {what}, which is not read here; "
            "use plain keys, values and lists.",
        )

    def count(self) -> None:
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            raise self.refusal(f"more than {MAX_ENTRIES:,} entries before it")

    def skip_blank(self) -> bool:
        """Moves to the next line with content; False at the end."""
        while self.line < len(self.lines):
            content = self.lines[self.line].strip(" ")
            if content and not content.startswith("#"):
                return True
            self.line += 1
        return False

    def indent(self) -> int:
        line = self.lines[self.line]
        width = len(line) - len(line.lstrip(" "))
        if line[width : width + 1] == "\t":
            raise self.refusal("a tab as indentation")
        return width

    def document(self) -> dict[str, object]:
        if self.skip_blank() and self.lines[self.line].rstrip() == "---":
            self.line += 1
        if not self.skip_blank():
            return {}
        start = self.indent()
        if self.is_item(self.lines[self.line][start:]):
            raise self.refusal("a list where the file needs keys")
        found = self.mapping(start, 1)
        if self.skip_blank():
            raise self.refusal("less indentation than the first key")
        return found

    @staticmethod
    def is_item(content: str) -> bool:
        return content == "-" or content.startswith("- ")

    def block(self, indent: int, depth: int) -> object:
        """The block that starts on this line."""
        if depth > MAX_DEPTH:
            raise self.refusal(f"more than {MAX_DEPTH} levels")
        if self.is_item(self.lines[self.line][indent:]):
            return self.sequence(indent, depth)
        return self.mapping(indent, depth)

    def mapping(
        self, indent: int, depth: int, found: dict[str, object] | None = None
    ) -> dict[str, object]:
        """The keys at this indentation, added to `found` where a list item began them."""
        found = {} if found is None else found
        while self.skip_blank():
            width = self.indent()
            if width < indent:
                break
            content = self.lines[self.line][width:]
            if width > indent:
                raise self.refusal("an indentation that fits no key above it")
            if content.startswith(("---", "...")) and content.rstrip() in ("---", "..."):
                raise self.refusal("a second document")
            if self.is_item(content):
                raise self.refusal("a list item among keys")
            self.entry(content, indent, depth, found)
        return found

    def entry(self, content: str, indent: int, depth: int, found: dict[str, object]) -> None:
        """One `key: value`, with what hangs below it."""
        self.count()
        key, rest_at = self.key(content)
        if key in found:
            raise self.refusal(f"the key {key[:60]!r} for the second time")
        if content.startswith("<<"):
            raise self.refusal("a merge key")
        offset = len(self.lines[self.line]) - len(content) + rest_at
        found[key] = self.value(offset, indent, depth, same_indent_list=True)

    def key(self, content: str) -> tuple[str, int]:
        """The key at the start of `content`, and where its value starts."""
        first = content[0]
        if first in "\"'":
            key, end = self.quoted(content, 0)
            after = len(content) - len(content[end:].lstrip(" "))
            if content[after : after + 1] != ":":
                raise self.refusal("quoted text without a colon after it")
            end = after
        else:
            if first in _REFUSED_STARTS:
                raise self.refusal(_REFUSED_STARTS[first])
            if content.startswith("? ") or first in "[]{},|>":
                raise self.refusal("a key that is not plain text")
            end = content.find(": ")
            comment = content.find(" #")
            if end < 0 or 0 <= comment < end:
                bare = content if comment < 0 else content[:comment]
                if not bare.rstrip(" ").endswith(":"):
                    raise self.refusal("text without a colon, or that continues the line above")
                end = len(bare.rstrip(" ")) - 1
            key = content[:end].rstrip(" ")
        following = content[end + 1 : end + 2]
        if following not in ("", " "):
            raise self.refusal("a colon without a space after it")
        return key, end + 1

    def value(self, offset: int, indent: int, depth: int, *, same_indent_list: bool) -> object:
        """What stands at `offset` of this line, or in the block below; moves past it."""
        line = self.lines[self.line]
        rest = line[offset:].strip(" ")
        if not rest or rest.startswith("#"):
            self.line += 1
            if not self.skip_blank():
                return None
            width = self.indent()
            is_item = self.is_item(self.lines[self.line][width:])
            if width > indent or (same_indent_list and is_item and width == indent):
                return self.block(width, depth + 1)
            return None
        start = offset + len(line[offset:]) - len(line[offset:].lstrip(" "))
        first = rest[0]
        if first in _REFUSED_STARTS:
            raise self.refusal(_REFUSED_STARTS[first])
        if first in "|>":
            return self.literal(indent)
        if first in "\"'":
            text, end = self.quoted(line, start)
            self.must_end(line, end)
            self.line += 1
            return text
        if first in "[{":
            value, end = self.flow(start, depth + 1)
            self.must_end(self.lines[self.line], end)
            self.line += 1
            return value
        comment = rest.find(" #")
        plain = (rest if comment < 0 else rest[:comment]).rstrip(" ")
        if ": " in plain or plain.endswith(":"):
            raise self.refusal("two colons on one line; quote the value")
        self.line += 1
        return resolve(plain)

    def must_end(self, line: str, end: int) -> None:
        rest = line[end:]
        if rest.strip(" ") and not (rest.startswith(" ") and rest.strip(" ").startswith("#")):
            raise self.refusal("text after the end of a value")

    def literal(self, indent: int) -> str:
        """A `|` or `>` block, line breaks kept: nothing here reads long text."""
        self.line += 1
        kept: list[str] = []
        while self.line < len(self.lines):
            line = self.lines[self.line]
            if line.strip(" ") and len(line) - len(line.lstrip(" ")) <= indent:
                break
            kept.append(line.strip(" "))
            self.line += 1
        return "\n".join(kept)

    def sequence(self, indent: int, depth: int) -> list[object]:
        found: list[object] = []
        while self.skip_blank():
            width = self.indent()
            content = self.lines[self.line][width:]
            if width < indent or (width == indent and not self.is_item(content)):
                break
            if width > indent:
                raise self.refusal("an indentation that fits no list item above it")
            self.count()
            found.append(self.item(width, content, depth))
        return found

    def item(self, width: int, content: str, depth: int) -> object:
        """What follows a dash: a scalar, or a map whose first key stands on the same line."""
        inner = content[1:].lstrip(" ")
        start = width + len(content) - len(inner)
        if self.is_item(inner):
            raise self.refusal("a list directly inside a list item")
        if inner and inner[0] not in "[{|>#" and self.looks_like_key(inner):
            if depth + 1 > MAX_DEPTH:
                raise self.refusal(f"more than {MAX_DEPTH} levels")
            found: dict[str, object] = {}
            self.entry(inner, start, depth + 1, found)
            if self.skip_blank() and self.indent() == start:
                self.mapping(start, depth + 1, found)
            return found
        return self.value(start if inner else width + 1, width, depth, same_indent_list=False)

    def looks_like_key(self, content: str) -> bool:
        if content[0] in "\"'":
            _, end = self.quoted(content, 0)
            return content[end:].lstrip(" ").startswith(":")
        comment = content.find(" #")
        bare = (content if comment < 0 else content[:comment]).rstrip(" ")
        return ": " in bare or bare.endswith(":")

    def quoted(self, line: str, start: int) -> tuple[str, int]:
        """Text in quotes that opens at `start`, and where it ends."""
        quote = line[start]
        parts: list[str] = []
        at = start + 1
        while at < len(line):
            each = line[at]
            if each == quote:
                if quote == "'" and line[at + 1 : at + 2] == "'":
                    parts.append("'")
                    at += 2
                    continue
                return "".join(parts), at + 1
            if each == "\\" and quote == '"':
                kind = line[at + 1 : at + 2]
                length = _HEX_LENGTHS.get(kind, 0)
                code = line[at + 2 : at + 2 + length]
                if kind in _ESCAPES:
                    parts.append(_ESCAPES[kind])
                elif length and len(code) == length and set(code) <= set("0123456789abcdefABCDEF"):
                    number = int(code, 16)
                    parts.append(chr(number) if number < 0x110000 else "\ufffd")
                else:
                    raise self.refusal("an unknown escape")
                at += 2 + length
                continue
            parts.append(each)
            at += 1
        raise self.refusal("quotes that do not close on the same line")

    def flow(self, start: int, depth: int) -> tuple[object, int]:
        """A `[...]` or `{...}` that opens at `start` of this line; it may close on a later one."""
        if depth > MAX_DEPTH:
            raise self.refusal(f"more than {MAX_DEPTH} levels")
        is_list = self.lines[self.line][start] == "["
        closing = "]" if is_list else "}"
        items: list[object] = []
        found: dict[str, object] = {}
        at = self.next_in_flow(start + 1)
        while self.lines[self.line][at] != closing:
            self.count()
            if is_list:
                value, at = self.flow_value(at, depth)
                items.append(value)
            else:
                if self.lines[self.line].startswith("<<", at):
                    raise self.refusal("a merge key")
                key, at = self.flow_value(at, depth)
                at = self.next_in_flow(at)
                if not isinstance(key, str) or self.lines[self.line][at] != ":":
                    raise self.refusal("a map in braces that is not key: value")
                value, at = self.flow_value(self.next_in_flow(at + 1), depth)
                if key in found:
                    raise self.refusal(f"the key {key[:60]!r} for the second time")
                found[key] = value
            at = self.next_in_flow(at)
            mark = self.lines[self.line][at]
            if mark == ",":
                at = self.next_in_flow(at + 1)
            elif mark != closing:
                raise self.refusal("brackets without a comma between two values")
        return (items if is_list else found), at + 1

    def next_in_flow(self, at: int) -> int:
        """Where the next character of a bracketed value stands; may move to a later line."""
        while True:
            line = self.lines[self.line]
            while at < len(line) and line[at] == " ":
                at += 1
            is_comment = at < len(line) and line[at] == "#" and (at == 0 or line[at - 1] == " ")
            if at < len(line) and not is_comment:
                return at
            if self.line + 1 >= len(self.lines):
                raise self.refusal("brackets that never close")
            self.line += 1
            at = 0

    def flow_value(self, at: int, depth: int) -> tuple[object, int]:
        line = self.lines[self.line]
        first = line[at]
        if first in _REFUSED_STARTS:
            raise self.refusal(_REFUSED_STARTS[first])
        if first in "[{":
            return self.flow(at, depth + 1)
        if first in "\"'":
            return self.quoted(line, at)
        end = at
        while end < len(line) and line[end] not in ",[]{}":
            if line[end] == ":" and line[end + 1 : end + 2] in ("", " ", ",", "]", "}"):
                break
            if line[end] == "#" and line[end - 1] == " ":
                break
            end += 1
        text = line[at:end].rstrip(" ")
        if not text:
            raise self.refusal("brackets with nothing between two commas")
        return resolve(text), end


def read(text: str) -> dict[str, object]:
    """The keys of a launch file.

    Args:
        text: The file.

    Raises:
        TrainfitError: the file is too long (code `input-too-large`), or holds something that is
            no YAML or that is not read here (code `bad-file`), with the line.
    """
    if len(text) > MAX_CHARACTERS:
        raise TrainfitError(
            "input-too-large",
            "text",
            f"The file has {len(text):,} characters; {MAX_CHARACTERS:,} are the limit. "
            "Paste the launch file or the config.json alone.",
        )
    return _Reader(text).document()
