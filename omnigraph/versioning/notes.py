"""Notes: limits for what a user attaches to a change: actor, message and operation id."""

from omnigraph.errors import InputError

MOST_NAME_BYTES = 200
MOST_MESSAGE_BYTES = 16 << 10


def check_notes(
    *, actor: str | None = None, message: str | None = None, operation: str | None = None
) -> None:
    """Raise InputError when one of them is not text, or too long to store with every commit."""
    _check("the name of an actor", actor, MOST_NAME_BYTES)
    _check("a message", message, MOST_MESSAGE_BYTES)
    _check("an operation id", operation, MOST_NAME_BYTES)


def check_operation_hash(text: str | None) -> None:
    """Raise InputError when an operation hash is not text, or too long to store with a run."""
    _check("an operation hash", text, MOST_NAME_BYTES)


def _check(what: str, text: str | None, most: int) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise InputError(f"{what} is a str, not a {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InputError(f"{what} is invalid Unicode") from None
    if size > most:
        hint = f"this one has {size:,} bytes"
        raise InputError(f"{what} is at most {most:,} bytes long", hint=hint)
