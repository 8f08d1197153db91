"""A launch file's keys while they turn into request fields: what was used, said and implied."""

from collections.abc import Iterator, Mapping

from generator.core.catalog import STAGE_SUFFIXES, Catalog
from generator.core.errors import TrainfitError
from generator.core.request import NUMBER_RANGES, RANGES, whole

MAX_LISTED = 200
"""Keys of a file that are listed as not used."""
LONGEST_KEY = 120

_MODEL_SUFFIXES = (
    "-bnb-4bit",
    "-unsloth",
    "-gptq",
    "-awq",
    "-4bit",
    *STAGE_SUFFIXES,
)
_SUFFIX_ROUNDS = 4


def shown(path: tuple[str, ...]) -> str:
    """A key as messages print it: dotted, and never longer than a line.

    Args:
        path: The keys from the top of the file.
    """
    text = ".".join(path)
    return text if len(text) <= LONGEST_KEY else text[: LONGEST_KEY - 3] + "..."


def _number_in(value: object) -> int | float | None:
    """The number that a key holds, in quotes or not; None where it holds none."""
    if isinstance(value, str):
        try:
            return float(value[:40])
        except ValueError:
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def find_model(name: str, catalog: Catalog) -> str | None:
    """The catalog's id of a checkpoint, also of its instruction-tuned or quantised variants.

    Args:
        name: Repository or path, as `unsloth/Llama-3.1-8B-Instruct-bnb-4bit`.
        catalog: Where ids are looked up.
    """
    candidate = name.strip().rstrip("/").lower()[:300]
    candidates = [candidate, candidate.rsplit("/", 1)[-1]]
    for _ in range(_SUFFIX_ROUNDS):
        shorter = candidates[-1]
        for suffix in _MODEL_SUFFIXES:
            shorter = shorter.removesuffix(suffix)
        candidates.append(shorter)
    candidates += [each.removeprefix("meta-") for each in candidates[1:]]
    for each in candidates:
        try:
            return catalog.model(each).id
        except TrainfitError:
            continue
    return None


class Reading:
    """Keys of a file, and the request fields that they have been turned into so far.

    Args:
        keys: The parsed file.
        catalog: Where models and optimizers are looked up.
    """

    __slots__ = ("catalog", "fields", "implied", "keys", "notes", "used")

    def __init__(self, keys: Mapping[str, object], catalog: Catalog) -> None:
        self.keys = keys
        self.catalog = catalog
        self.fields: dict[str, object] = {}
        self.implied: list[str] = []
        self.notes: list[str] = []
        self.used: set[tuple[str, ...]] = set()

    def say(self, field: str, value: object) -> None:
        """Notes a field that the file gives.

        Args:
            field: Dotted name of a request field.
            value: Its value.
        """
        self.fields[field] = value

    def imply(self, field: str, value: object) -> None:
        """Notes a field that the file leaves to the tool's default.

        Args:
            field: Dotted name of a request field.
            value: The tool's default.
        """
        self.fields[field] = value
        self.implied.append(field)

    def get(self, *path: str) -> object:
        """The value at a path, or None where it is absent, null or left to the tool (`auto`).

        Args:
            path: The keys from the top of the file.
        """
        value: object = self.keys
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        self.used.add(path)
        return None if value == "auto" else value

    @staticmethod
    def wrong(path: tuple[str, ...], value: object, wanted: str) -> TrainfitError:
        """The error for a value of another type than its key takes.

        Args:
            path: The keys from the top of the file.
            value: What the file has.
            wanted: What the key takes.
        """
        text = repr(value)
        text = text if len(text) <= 60 else text[:57] + "..."
        return TrainfitError(
            "wrong-type", shown(path), f"The file's {shown(path)} is {text}; it should be {wanted}."
        )

    @staticmethod
    def beyond(path: tuple[str, ...], value: float, wanted: str) -> TrainfitError:
        """The error for a number outside the range of its key.

        Args:
            path: The keys from the top of the file.
            value: What the file has.
            wanted: The range in words.
        """
        digits = str(value) if abs(value) < 10**30 else "too large"
        return TrainfitError(
            "out-of-range",
            shown(path),
            f"The file's {shown(path)} is {digits}; it should be {wanted}.",
        )

    def number(self, field: str, *path: str) -> int | None:
        """A whole number within a request field's range.

        Args:
            field: The request field, for its range.
            path: The keys from the top of the file.
        """
        value = self.get(*path)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
            value = int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            value = int(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(path, value, "a whole number")
        low, high = RANGES[field]
        if not low <= value <= high:
            raise self.beyond(path, value, f"{low} to {high:,}")
        return value

    def flag(self, *path: str) -> bool | None:
        """A boolean, also as text.

        Args:
            path: The keys from the top of the file.
        """
        value = self.get(*path)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            value = value.lower() == "true"
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(path, value, "true or false")

    def is_positive(self, *path: str) -> bool | None:
        """Whether a rate, such as a dropout, is above zero.

        Args:
            path: The keys from the top of the file.
        """
        value = self.get(*path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(path, value, "a number")
        return value > 0

    def word(self, *path: str) -> str | None:
        """Text.

        Args:
            path: The keys from the top of the file.
        """
        value = self.get(*path)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(path, value, "text")

    def names(self, *path: str) -> list[str] | None:
        """A list of names; text is split at its commas.

        Args:
            path: The keys from the top of the file.
        """
        value = self.get(*path)
        if value is None:
            return None
        found = value.split(",") if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.wrong(path, value, "a list of names")
        return [each.strip() for each in found if each.strip()]

    def model(self, *path: str) -> None:
        """The model by the name of its repository.

        Args:
            path: The keys from the top of the file.
        """
        name = self.word(*path)
        if name is None:
            return
        found = find_model(name, self.catalog)
        if found is None:
            self.used.discard(path)
            self.notes.append(
                f'The catalog has no model "{name[:80]}": choose one, or paste its config.json.'
            )
        else:
            self.say("model", found)
            self.counted_as(name, found, self.catalog.models[found].hugging_face)

    def counted_as(self, name: str, model: str, exported: str) -> None:
        """Notes that an export names another checkpoint than the file.

        Args:
            name: As in the file.
            model: The catalog's id that it was taken for.
            exported: What an export names in its place.
        """
        written = name.strip().rstrip("/")
        if written.lower() != exported.lower():
            self.notes.append(
                f"{written[:80]} is counted as {self.catalog.models[model].name}, which has the "
                f"same shape; an exported file will name {exported}."
            )

    def optimizer(self, name: str, path: tuple[str, ...]) -> None:
        """The optimizer by its id or the name that a tool gives it.

        Args:
            name: As in the file.
            path: The key that holds it.
        """
        try:
            self.say("optimizer", self.catalog.optimizer(name).id)
        except TrainfitError:
            self.used.discard(path)
            self.notes.append(f'The catalog has no optimizer "{name[:80]}": choose the nearest.')

    def integer(self, field: str, default: int | None, *path: str) -> None:
        """A whole number and the request field that it is, with the tool's default.

        Args:
            field: The request field.
            default: What the tool takes where the key is absent; None where it refuses to guess.
            path: The keys from the top of the file.
        """
        value = self.number(field, *path)
        if value is not None:
            self.say(field, value)
        elif default is not None:
            self.imply(field, default)

    def epochs(self, key: str, default: int | None, *, limit: str = "max_steps") -> None:
        """Passes over the data set, unless a number of steps ends the run.

        Args:
            key: At the top of the file.
            default: What the tool takes where the key is absent; None where it refuses to guess.
            limit: The key of that number; no limit where it is not above zero.
        """
        steps = _number_in(self.keys.get(limit))
        if steps is not None and steps > 0:
            self.notes.append(
                f"{limit} ends this run, so its epochs were not taken over: set how many passes "
                "over the data those steps make."
            )
            return
        given = self.get(key)
        if given is None:
            if default is not None:
                self.imply("dataset.epochs", default)
            return
        value = _number_in(given)
        if value is None:
            raise self.wrong((key,), given, "a number")
        if value <= 0:
            self.used.discard((key,))
            return
        low, high = NUMBER_RANGES["dataset.epochs"]
        if not low <= value <= high:
            raise self.beyond((key,), value, f"{low:g} to {high:,g}")
        self.say("dataset.epochs", whole(value))

    def packing(self, *path: str, default: bool = False) -> None:
        """Whether samples share sequences.

        Args:
            path: The keys from the top of the file.
            default: What the tool does where the key is absent.
        """
        packs = self.flag(*path)
        if packs is None:
            self.imply("dataset.packing", default)
        else:
            self.say("dataset.packing", packs)

    def ignored(self) -> list[str]:
        """Keys that said nothing about the request, in the file's order."""
        found: list[str] = []
        for path in self._leaves(self.keys, ()):
            if len(found) == MAX_LISTED:
                found.append("...")
                break
            found.append(shown(path))
        return found

    def _leaves(
        self, value: Mapping[str, object], above: tuple[str, ...]
    ) -> Iterator[tuple[str, ...]]:
        for key, inner in value.items():
            path = (*above, str(key))
            if path in self.used:
                continue
            if isinstance(inner, Mapping) and inner and len(path) < 4:
                yield from self._leaves(inner, path)
            else:
                yield path
