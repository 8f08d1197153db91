"""The closed list of error codes and the one exception type that carries them."""

from typing import Literal, get_args

ErrorCode = Literal[
    "bad-json",
    "bad-file",
    "bad-request",
    "unknown-field",
    "wrong-type",
    "out-of-range",
    "unknown-id",
    "missing-field",
    "inconsistent-config",
    "unsupported-architecture",
    "unsupported-combination",
    "missing-fact",
    "input-too-large",
]
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode)


class TrainfitError(ValueError):
    """A problem in what the caller gave us, told so that the caller can mend it.

    Args:
        code: One of `ERROR_CODES`; each has a section in `docs/errors.md`.
        field: The input at fault, as a dotted path (`lora.rank`, `model.config.hidden_size`).
        message: One sentence: what is wrong, with names and numbers, then the remedy.
    """

    def __init__(self, code: ErrorCode, field: str, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.field = field
        self.message = message

    def to_dict(self) -> dict[str, str]:
        """The error as the JSON object that the command line and the browser print."""
        return {"code": self.code, "field": self.field, "message": self.message}
