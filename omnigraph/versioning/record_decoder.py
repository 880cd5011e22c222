"""Record decoder: reads the texts that the manifest stores for commits and heads, strictly."""

from typing import Any, Generic, TypeVar

import msgspec

from omnigraph.errors import StorageError

_Read = TypeVar("_Read")


class RecordDecoder(Generic[_Read]):
    """Reads the texts of records of one kind."""

    def __init__(self, kind: Any, what: str) -> None:  # noqa: ANN401 - a type
        self._decoder = msgspec.json.Decoder(kind)
        self._what = what

    def read(self, text: str | None) -> _Read:
        """Return what a text says; raise StorageError when it is no such record."""
        try:
            found: _Read = self._decoder.decode(text)  # type: ignore[arg-type]
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as failed:
            hint = "fsck tells what is damaged; restore a backup"
            message = f"{self._what} in the manifest cannot be read: {failed}"
            raise StorageError(message, hint=hint) from None
        return found
