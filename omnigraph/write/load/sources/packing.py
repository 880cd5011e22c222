"""Packing: how files are compressed, known by their first bytes, and their content."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from omnigraph.errors import UnreadableError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Packing(StrEnum):
    """How a file is compressed."""

    GZIP = "gzip"
    ZSTD = "zstd"
    BZIP2 = "bzip2"
    XZ = "xz"


_PACKINGS = (
    (re.compile(rb"\x1f\x8b"), Packing.GZIP),
    (re.compile(rb"\x28\xb5\x2f\xfd"), Packing.ZSTD),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P)"), Packing.BZIP2),
    (re.compile(rb"\xfd7zXZ\0"), Packing.XZ),
)
# What files begin with that are no input, and what they are.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"SQLite format 3\0": "an SQLite database",
}
HEAD = 16
_PACKED_BYTES = 1 << 16
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, OSError)


def packing_of(head: bytes) -> Packing | None:
    """Return how a file is compressed, by its first bytes."""
    return next((packing for begin, packing in _PACKINGS if begin.match(head)), None)


def is_text(head: bytes) -> bool:
    """Whether a file begins as a text, such as CSV with a column that is named as a format."""
    return all(byte >= ord(" ") or byte in b"\t\r\n" for byte in head)


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise UnreadableError for a file that begins like one of a format that is not read."""
    for magic, kind in _FOREIGN.items():
        if head.startswith(magic):
            hint = (
                "give JSON lines or CSV, as they are or by gzip, zstd, bzip2, xz; Parquet; or Arrow"
            )
            raise UnreadableError(f"'{name}' is {kind}", hint=hint)


@contextmanager
def _gunzipped(file: BinaryIO) -> Iterator[BinaryIO]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        yield cast(BinaryIO, unpacked)


@contextmanager
def _unpacked_zstd(file: BinaryIO) -> Iterator[BinaryIO]:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as unpacked:
        yield unpacked


class _Decompressor(Protocol):
    """One compressed stream."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Members(io.RawIOBase):
    """The content of compressed streams that follow each other, as parallel packers write them.

    Python's own files take whatever follows a stream for the end, also one that is damaged.
    """

    def __init__(
        self, file: BinaryIO, start: "Callable[[], _Decompressor]", padding: bytes
    ) -> None:
        self._file = file
        self._start = start
        self._padding = padding
        self._member = start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill a buffer as far as the next bytes go; return their number."""
        room = memoryview(buffer).cast("B")
        data = self._next(len(room))
        room[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        """Return some bytes of the content; none at the end."""
        while True:
            packed = b""
            if self._member.eof:
                packed = self._between(self._member.unused_data)
                if not packed:
                    return b""
                self._member = self._start()
            elif self._member.needs_input:
                packed = self._file.read(_PACKED_BYTES)
                if not packed:
                    raise EOFError("it ends in the middle")
            if data := self._member.decompress(packed, most):
                return data

    def _between(self, rest: bytes) -> bytes:
        """Return the first bytes of the next stream, behind what may fill the gap; or none."""
        while not (found := rest.lstrip(self._padding) if self._padding else rest):
            rest = self._file.read(_PACKED_BYTES)
            if not rest:
                return b""
        return found


@contextmanager
def _unpacked_bzip2(file: BinaryIO) -> Iterator[BinaryIO]:
    with io.BufferedReader(_Members(file, bz2.BZ2Decompressor, b"")) as unpacked:
        yield unpacked


@contextmanager
def _unpacked_xz(file: BinaryIO) -> Iterator[BinaryIO]:
    start = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
    with io.BufferedReader(_Members(file, start, b"\0")) as unpacked:
        yield unpacked


_UNPACK: Mapping[Packing, Callable[[BinaryIO], AbstractContextManager[BinaryIO]]] = {
    Packing.GZIP: _gunzipped,
    Packing.ZSTD: _unpacked_zstd,
    Packing.BZIP2: _unpacked_bzip2,
    Packing.XZ: _unpacked_xz,
}


@contextmanager
def unpacked(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Open the content of a compressed file that is open for reading."""
    packing = packing_of(file.read(HEAD))
    file.seek(0)
    unpack = _UNPACK.get(packing or Packing.GZIP, _gunzipped)
    try:
        with unpack(file) as content:
            yield content
    except _BROKEN as bad:
        if isinstance(bad, OSError) and bad.errno is not None:
            raise
        kind = packing or Packing.GZIP
        raise UnreadableError(f"'{name}' is not a valid {kind} file: {bad}") from None
