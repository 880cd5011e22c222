"""Blob: the content of one Blob property, to read whole or in ranges."""

from binascii import b2a_base64
from collections.abc import Iterator
from dataclasses import field

import pyarrow as pa

from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import InputError, RowNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.schema.blobs import content_of
from omnigraph.schema.catalog import StoredType, find_type
from omnigraph.schema.types import BLOB
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.snapshot import Snapshot

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """The content of a Blob property, or the URI it refers to, which is not fetched."""

    uri: str | None
    _content: pa.Buffer | None = field(default=None, repr=False)

    @property
    def size(self) -> int | None:
        """The number of bytes of the content; None for a URI."""
        return None if self._content is None else len(self._content)

    @property
    def text(self) -> str:
        """The property as rows hold it: `base64:` and the content, or the URI."""
        if self._content is None:
            return self.uri or ""
        return f"base64:{b2a_base64(self._content, newline=False).decode()}"

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Return up to `length` bytes from `offset` on; none beyond the end."""
        first, end = self._bounds(offset, length)
        return self._bytes(first, end)

    def chunks(
        self, size: int = CHUNK_BYTES, offset: int = 0, length: int | None = None
    ) -> Iterator[bytes]:
        """Yield the bytes of `read` in chunks of `size` bytes; only the last may be shorter."""
        if size < 1:
            raise InputError(f"expected chunks of at least 1 byte, found {size}")
        first, end = self._bounds(offset, length)
        return (self._bytes(start, min(start + size, end)) for start in range(first, end, size))

    def _bounds(self, offset: int, length: int | None) -> tuple[int, int]:
        for name, number in (("an offset", offset), ("a length", length)):
            if number is not None and number < 0:
                raise InputError(f"expected {name} of 0 or more, found {number}")
        size = self.size
        if size is None:
            raise InputError(
                f"the blob has no content, it refers to {self.uri}", hint="fetch it there"
            )
        return offset, size if length is None else min(size, offset + length)

    def _bytes(self, first: int, end: int) -> bytes:
        if first >= end or self._content is None:
            return b""
        return bytes(self._content.slice(first, end - first))


def read_blob(snapshot: Snapshot, type_name: str, row_id: str, name: str) -> Blob | None:
    """Return a Blob property of one node or edge, or None when it is null."""
    stored = find_type(type_name, snapshot.catalog)
    _check_blob(stored, name)
    ids = pa.array([row_id], pa.utf8())
    table = snapshot.table(stored.identity)
    found = look_up_rows(table, "id", ids, [name], packed=True)[name]
    if not len(found):
        raise RowNotFoundError(f"no {type_name} '{row_id}'")
    value = found[0].as_buffer()
    return None if value is None else parse_blob(value)


def parse_blob(value: pa.Buffer) -> Blob:
    """Return the blob of a property as a table or a row holds it."""
    content = content_of(value)
    return Blob(value.to_pybytes().decode()) if content is None else Blob(None, content)


def _check_blob(stored: StoredType, name: str) -> None:
    found = stored.properties.get(name)
    if found is None:
        hint = suggest(name, stored.properties)
        raise InputError(f"{stored.name} has no property '{name}'", hint=hint)
    if found.type != BLOB:
        raise InputError(
            f"{stored.name}.{name} is {found.type}, not Blob", hint="read it with a query"
        )
