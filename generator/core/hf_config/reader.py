"""Checked access to a Hugging Face config: every value that a formula uses comes through here.

The config is input from a stranger: a field may be missing, of the wrong type, absurdly large or
nested without end. Each getter answers with a usable value or with a `TrainfitError` that names
the field.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from generator.core.errors import ErrorCode, TrainfitError
from generator.core.hf_config.known_keys import KNOWN_KEYS
from generator.core.model import Block, BlockGroup
from generator.core.nearest import is_misspelling

MAX_VALUE = 2**40
"""Larger than any size in a model; beyond it a number is a typing mistake or an attack."""
MAX_LAYERS = 4096
"""Deeper than any published model by far; bounds the work that one config can cause."""

FIELD_PREFIX = "model.config"


class Questions:
    """What a reader asked a config for, as pairs of a level's path and a field."""

    __slots__ = ("asked", "missing")

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()
        self.missing: set[tuple[str, str]] = set()


class Reader:
    """One level of a config, with the path to it for error messages.

    Args:
        values: The JSON object of this level.
        path: Where it stands, as a dotted path.
        defaults: What the `transformers` class assumes where the file is silent.
        questions: Where to note what is asked for; shared by all levels of one config.
    """

    __slots__ = ("defaults", "path", "questions", "values")

    def __init__(
        self,
        values: Mapping[str, object],
        path: str = FIELD_PREFIX,
        defaults: Mapping[str, object] | None = None,
        questions: Questions | None = None,
    ) -> None:
        self.values = values
        self.path = path
        self.defaults: Mapping[str, object] = defaults or {}
        self.questions = questions or Questions()

    def with_defaults(self, defaults: Mapping[str, object]) -> "Reader":
        """The same level with class defaults; those given earlier win."""
        return Reader(self.values, self.path, {**defaults, **self.defaults}, self.questions)

    def with_values(self, values: Mapping[str, object]) -> "Reader":
        """The same level with some fields under other names or with other values."""
        return Reader({**self.values, **values}, self.path, self.defaults, self.questions)

    def empty(self, name: str) -> "Reader":
        """A sub-config that the file does not have, so that class defaults apply."""
        return Reader({}, f"{self.path}.{name}", questions=self.questions)

    def _ask(self, *names: str) -> None:
        """Notes the fields, and those that the file does not even name as null."""
        self.questions.asked.update((self.path, name) for name in names)
        if not any(name in self.values for name in names):
            self.questions.missing.update((self.path, name) for name in names)

    def fail(self, code: ErrorCode, name: str, message: str) -> NoReturn:
        """An error about one field of this level."""
        raise TrainfitError(code, f"{self.path}.{name}", message)

    def has(self, name: str) -> bool:
        """Whether the file gives the field a value other than null."""
        self._ask(name)
        return self.values.get(name) is not None

    def raw(self, name: str) -> object:
        """The field as it stands, or the class default, or None."""
        self._ask(name)
        value = self.values.get(name)
        return self.defaults.get(name) if value is None else value

    def _named(self, names: tuple[str, ...]) -> tuple[str, object]:
        self._ask(*names)
        for name in names:
            if self.values.get(name) is not None:
                return name, self.values[name]
        for name in names:
            if self.defaults.get(name) is not None:
                return name, self.defaults[name]
        return names[0], None

    def integer(self, *names: str, default: int | None = None, minimum: int = 1) -> int:
        """A whole number under the first of `names` that is present.

        Raises:
            TrainfitError: absent without a default (`missing-field`), not a whole number
                (`wrong-type`), or outside `minimum` to 2^40 (`out-of-range`).
        """
        name, value = self._named(names)
        if value is None:
            if default is None:
                meant = self._misspelt(names)
                if meant:
                    self.fail("unknown-field", meant[:80], misspelt(meant, names[0]))
                self.fail(
                    "missing-field",
                    names[0],
                    f"The config has no {' or '.join(names)}; add it, or paste all of config.json.",
                )
            return default
        return self._checked(name, value, minimum)

    def _misspelt(self, names: tuple[str, ...]) -> str:
        """A field of this level that is one of `names` with a slip, or nothing."""
        return _misspelt(self.values, self.path, self.questions, names)

    def _checked(self, name: str, value: object, minimum: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(
                "wrong-type",
                name,
                f"{name} must be a whole number, but is {_short(value)}; "
                "write it without quotes and without a point.",
            )
        if not minimum <= value <= MAX_VALUE:
            self.fail(
                "out-of-range",
                name,
                f"{name} is {_short(value)}, outside {minimum} to 2^40; check the number.",
            )
        return value

    def optional_integer(self, *names: str, minimum: int = 1) -> int | None:
        """A whole number, or None where the field is absent or null."""
        name, value = self._named(names)
        return None if value is None else self._checked(name, value, minimum)

    def boolean(self, *names: str, default: bool = False) -> bool:
        """A truth value under the first of `names` that is present."""
        name, value = self._named(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail("wrong-type", name, f"{name} must be true or false, but is {_short(value)}.")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail("wrong-type", name, f"{name} must be a number, but is {_short(value)}.")
        if not -MAX_VALUE <= value <= MAX_VALUE:  # also refuses NaN, which compares false
            self.fail("out-of-range", name, f"{name} is {_short(value)}; check the number.")
        return value

    def text(self, *names: str, default: str = "") -> str:
        """A string under the first of `names` that is present."""
        name, value = self._named(names)
        if value is None:
            return default
        if not isinstance(value, str):
            self.fail("wrong-type", name, f"{name} must be a string, but is {_short(value)}.")
        return value

    def list_of(self, name: str) -> list[object]:
        """A list, empty where the field is absent."""
        value = self.raw(name)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.fail("wrong-type", name, f"{name} must be a list, but is {_short(value)}.")
        if len(value) > MAX_LAYERS:
            self.fail(
                "out-of-range", name, f"{name} has {len(value)} entries, more than {MAX_LAYERS}."
            )
        return list(value)

    def integers(self, name: str, minimum: int = 0) -> list[int]:
        """A list of whole numbers, empty where the field is absent."""
        return [self._checked(name, each, minimum) for each in self.list_of(name)]

    def nested(self, *names: str) -> "Reader | None":
        """A sub-config such as `text_config`, or None where there is none."""
        name, value = self._named(names)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.fail("wrong-type", name, f"{name} must be an object, but is {_short(value)}.")
        return Reader(value, f"{self.path}.{name}", questions=self.questions)

    def num_layers(self, *names: str) -> int:
        """The number of decoder layers."""
        name = names[0] if names else "num_hidden_layers"
        count = self.integer(*(names or (name,)))
        if count > MAX_LAYERS:
            self.fail("out-of-range", name, f"{name} is {count}, more than {MAX_LAYERS}.")
        return count

    def pattern(self, name: str, count: int) -> list[object] | None:
        """One value per layer from `name` or its run-length form `<name>_rle`; None where absent.

        Raises:
            TrainfitError: the list does not have `count` entries (`inconsistent-config`).
        """
        values: list[object]
        if self.raw(name) is not None:
            values = self.list_of(name)
            # A list may be longer than the model where only the layer count was cut down.
            if len(values) > count:
                values = values[:count]
        elif self.raw(f"{name}_rle") is not None:
            values = []
            for entry in self.list_of(f"{name}_rle"):
                if not isinstance(entry, list | tuple) or len(entry) != 2:
                    self.fail(
                        "wrong-type",
                        f"{name}_rle",
                        f"{name}_rle must hold pairs of a value and how often it repeats.",
                    )
                times = self._checked(f"{name}_rle", entry[1], 0)
                values += [entry[0]] * min(times, count - len(values))
        else:
            return None
        if len(values) != count:
            self.fail(
                "inconsistent-config",
                name,
                f"{name} describes {len(values)} layers, but the config has {count}.",
            )
        return values

    def names_pattern(self, name: str, count: int) -> list[str] | None:
        """`pattern` for strings (`layer_types`)."""
        values = self.pattern(name, count)
        if values is None:
            return None
        names = [value for value in values if isinstance(value, str)]
        if len(names) != len(values):
            self.fail("wrong-type", name, f"{name} must hold strings.")
        return names

    def integers_pattern(self, name: str, count: int, minimum: int = 0) -> list[int] | None:
        """`pattern` for whole numbers."""
        values = self.pattern(name, count)
        return None if values is None else [self._checked(name, value, minimum) for value in values]

    def unknown_value(self, name: str, value: object, known: Iterable[str]) -> NoReturn:
        """An error about a choice that the importer does not understand."""
        self.fail(
            "unsupported-architecture",
            name,
            f"{name} has the value {_short(value)}, which is not understood; known are: "
            f"{', '.join(sorted(known))}.",
        )


OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "num_key_value_heads": ("num_kv_heads", "n_kv_heads", "n_head_kv", "kv_n_heads", "num_kv_head"),
    "head_dim": ("kv_channels", "d_kv", "d_head"),
    "hidden_size": ("n_embd", "d_model", "dim"),
    "intermediate_size": ("ffn_dim", "ffn_hidden_size", "n_inner", "d_ff"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
}
"""What other families call a field that a config lacks. Under its own name it may be optional, and
then the default would mean another architecture.

From published configs: ChatGLM and Megatron (`kv_channels`, `ffn_hidden_size`, `num_layers`), T5
(`d_kv`, `d_ff`, `d_model`, `num_heads`), XLNet (`d_head`), OPT (`ffn_dim`), GPT-2 (`n_embd`,
`n_inner`, `n_layer`, `n_head`), MPT (`d_model`, `n_layers`, `n_heads`), and Llama's own
`params.json` (`dim`, `n_layers`, `n_heads`).
"""


def misspelt(name: str, wanted: str) -> str:
    """What to tell about a field that nobody reads and that is another one with a slip."""
    return (
        f"Nothing reads {name[:60]}, and {wanted} is not given; write it as {wanted}, or delete it "
        "if it is meant for something else."
    )


def check_spelling(config: Mapping[str, object], questions: Questions) -> None:
    """Refuses a field that was not read and is one that was asked for in vain, with a slip.

    A file may hold any number of fields that the estimate does not read. Only one that no known
    config has, and that is a letter or two off a field which the file lacks, is a mistake: the
    default taken in its place would be a silent guess.

    Args:
        config: The whole config.
        questions: What its reader asked for.

    Raises:
        TrainfitError: such a field (`unknown-field`).
    """
    for path, wanted in sorted(questions.missing):
        level: object = config
        for part in path.split(".")[len(FIELD_PREFIX.split(".")) :]:
            level = level.get(part) if isinstance(level, Mapping) else None
        if not isinstance(level, Mapping) or wanted in level:
            continue
        found = _misspelt(level, path, questions, (wanted,))
        if found:
            raise TrainfitError("unknown-field", f"{path}.{found[:80]}", misspelt(found, wanted))


def _misspelt(
    level: Mapping[str, object], path: str, questions: Questions, names: tuple[str, ...]
) -> str:
    """A field that nobody reads and that is one of `names` with a slip, or nothing."""
    for key in level:
        # Fields with an underscore in front are private to the class that wrote them.
        if key.startswith("_") or (path, key) in questions.asked:
            continue
        if any(key in OTHER_NAMES.get(name, ()) for name in names):
            return key
        if key not in KNOWN_KEYS and any(is_misspelling(key, name) for name in names):
            return key
    return ""


def _short(value: object) -> str:
    # Never repr() a container: it may be deep enough to exhaust the stack.
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else "a number of more than 38 digits"
    if isinstance(value, float):
        return repr(value)
    return "a list" if isinstance(value, list | tuple) else "an object"


def grouped(kinds: Iterable[object], make: Callable[[int], Block]) -> tuple[BlockGroup, ...]:
    """Blocks in run-length form; `make` is called once per distinct kind, with a layer's number."""
    blocks: dict[object, Block] = {}
    runs: list[tuple[Block, int]] = []
    for number, kind in enumerate(kinds):
        if kind not in blocks:
            blocks[kind] = make(number)
        block = blocks[kind]
        if runs and runs[-1][0] is block:
            runs[-1] = (block, runs[-1][1] + 1)
        else:
            runs.append((block, 1))
    return tuple(BlockGroup(count=count, block=block) for block, count in runs)
