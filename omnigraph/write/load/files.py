"""Files: the files of a load, by path, glob or URI, from local disks and object stores."""

import bz2
import glob
import gzip
import hashlib
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, cast

from omnigraph.errors import Code, InputError, UnreadableError, Violation
from omnigraph.storage.store import Store, store_at

# A line is held and decoded as a whole, which takes many times its size in memory.
LONGEST_LINE = 64 << 20

_MAGIC = frozenset("*?[")
_BLOCK = 1 << 20
# How texts in other encodings begin: with a byte order mark, or with an ASCII character.
_ENCODINGS = (
    ("UTF-32", re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|[^\0]\0\0\0|\0\0\0[^\0]")),
    ("UTF-16", re.compile(rb"\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0]")),
)


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
_HEAD = 16
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


@contextmanager
def _unpacked_bzip2(file: BinaryIO) -> Iterator[BinaryIO]:
    with bz2.BZ2File(file) as unpacked:
        yield cast(BinaryIO, unpacked)


@contextmanager
def _unpacked_xz(file: BinaryIO) -> Iterator[BinaryIO]:
    with lzma.LZMAFile(file) as unpacked:
        yield cast(BinaryIO, unpacked)


_UNPACK: Mapping[Packing, Callable[[BinaryIO], AbstractContextManager[BinaryIO]]] = {
    Packing.GZIP: _gunzipped,
    Packing.ZSTD: _unpacked_zstd,
    Packing.BZIP2: _unpacked_bzip2,
    Packing.XZ: _unpacked_xz,
}


@dataclass(frozen=True, slots=True)
class File:
    """A file that any process can read, and the name by which the user knows it.

    `digest` is that of the bytes, for a file that was written here.
    """

    name: str
    size: int
    folder: Store
    path: str
    digest: str | None = None

    def identity(self) -> str:
        """Return what identifies the content: a digest, or the tag of an object store.

        A user's own object is not read for this, because it may be larger than everything else.
        """
        tag = None
        if self.digest is None and not self.folder.is_local:
            tag = self.folder.objects.tag(self.path)
        return f"{self.size} {tag}" if tag is not None else f"{self.size} {self._digest()}"

    def _digest(self) -> str:
        if self.digest is not None:
            return self.digest
        found = hashlib.sha256()
        with self.open() as file:
            while data := file.read(_BLOCK):
                found.update(data)
        return found.hexdigest()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading; a failure while reading raises StorageError."""
        try:
            if self.folder.is_local:
                with Path(self.folder.uri(self.path)).open("rb") as file:
                    yield file
            else:
                yield self.folder.objects.reader(self.path, self.size)
        except OSError as bad:
            raise _unreadable(self.name, bad) from None

    def head(self) -> bytes:
        """Return the first bytes, which tell many formats."""
        with self.open() as file:
            return file.read(_HEAD)

    @contextmanager
    def unpacked(self) -> Iterator[BinaryIO]:
        """Open the content of a compressed file for reading."""
        with self.open() as file:
            packing = packing_of(file.read(_HEAD))
            file.seek(0)
            unpack = _UNPACK.get(packing or Packing.GZIP, _gunzipped)
            try:
                with unpack(file) as unpacked:
                    yield unpacked
            except _BROKEN as bad:
                if isinstance(bad, OSError) and bad.errno is not None:
                    raise
                kind = packing or Packing.GZIP
                raise UnreadableError(f"'{self.name}' is not a valid {kind} file: {bad}") from None


def file_in(folder: Store, path: str, name: str, digest: str | None = None) -> File:
    """Return a file in a store, under the name by which the user knows it."""
    sizes = folder.objects.sizes(path)
    return File(name, sizes[path], folder, path, digest)


def files_at(places: list[str]) -> list[File]:
    """Return the files that paths, globs, folders and URIs name, sorted within each pattern.

    A pattern that matches no file is an error.
    """
    found = [file for place in places for file in _files(place)]
    return list({(file.folder.root, file.path): file for file in found}.values())


def _files(place: str) -> list[File]:
    scheme, separator, _ = place.partition("://")
    if separator and scheme.lower() != "file":
        return _objects(place)
    text = store_at(place).root if separator else place
    if _MAGIC.isdisjoint(text) or Path(text).exists():
        return [_local(Path(text), text)]
    matches = sorted(each for each in glob.glob(text, recursive=True) if Path(each).is_file())  # noqa: PTH207 - a pattern may be absolute
    if not matches:
        raise UnreadableError(f"no file matches '{place}'")
    return [_local(Path(each), each) for each in matches]


def _local(path: Path, name: str) -> File:
    try:
        status = path.stat()
    except OSError as bad:
        raise _unreadable(name, bad) from None
    if path.is_dir():
        raise UnreadableError(f"'{name}' is a folder", hint=f"name its files: '{name}/*.jsonl'")
    full = path.absolute()
    if not path.is_file():
        raise UnreadableError(f"'{name}' is not a file", hint="use - to read standard input")
    return File(name, status.st_size, Store(str(full.parent), is_local=True), full.name)


def _objects(place: str) -> list[File]:
    head, _, pattern = place.rpartition("/")
    fixed = _MAGIC.isdisjoint(head)
    if not fixed or head.endswith(":/"):
        raise UnreadableError(f"'{place}': only the last part of a URI may be a pattern")
    folder = store_at(head)
    found = folder.objects.sizes(pattern if _MAGIC.isdisjoint(pattern) else None)
    matches = [name for name in sorted(found) if name == pattern or fnmatchcase(name, pattern)]
    if not matches:
        raise UnreadableError(f"no object matches '{place}'")
    return [File(f"{head}/{name}", found[name], folder, name) for name in matches]


def _unreadable(name: str, bad: OSError) -> UnreadableError:
    reason = os.strerror(bad.errno) if bad.errno else str(bad) or type(bad).__name__
    return UnreadableError(f"cannot read '{name}': {reason}")


def lines_of(file: BinaryIO, size: int, limit: int | None = None) -> Iterator[bytes | None]:
    """Yield the content in blocks of whole lines of about `size` bytes, at most `limit` in all.

    None stands for a line longer than `LONGEST_LINE`, which is skipped without being held.
    """
    rest: list[bytes] = []
    held = 0
    for piece in _pieces(file, size, limit):
        data = piece
        first, newline, more = piece.partition(b"\n")
        if held + len(first) > LONGEST_LINE:
            rest, held = [], LONGEST_LINE + 1
            if not newline:
                continue
            yield None
            data, held = more, 0
        head, newline, tail = data.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head, newline])
            rest, held = [], 0
        if tail:
            rest.append(tail)
            held += len(tail)
    if held > LONGEST_LINE:
        yield None
    elif rest:
        yield b"".join(rest)


def refuse_encoding(head: bytes, name: str) -> None:
    """Raise InputError for a text that begins like UTF-16 or UTF-32."""
    for encoding, begin in _ENCODINGS:
        if begin.match(head):
            hint = f"convert it: iconv -f {encoding} -t UTF-8"
            raise InputError(f"{name} is {encoding}; expected UTF-8", hint=hint)


def too_long() -> Violation:
    """Return the violation of a line that is too long to be read."""
    reason = f"the line is longer than {LONGEST_LINE >> 20} MiB"
    return Violation(code=Code.RECORD_SYNTAX, reason=reason, line=0)


def _pieces(file: BinaryIO, size: int, limit: int | None) -> Iterator[bytes]:
    left = limit
    while left is None or left > 0:
        data = file.read(size if left is None else min(size, left))
        if not data:
            return
        left = None if left is None else left - len(data)
        yield data
