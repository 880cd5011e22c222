"""Files: the files of a load, by path, glob or URI, from local disks and object stores."""

import glob
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from omnigraph.errors import Code, InputError, UnreadableError, Violation
from omnigraph.files.bytes import is_there
from omnigraph.frozen import dataclass
from omnigraph.storage.store import Store, local_path, store_at
from omnigraph.write.load.sources.packing import HEAD, unpacked

# A line is held and decoded as a whole, which takes many times its size in memory.
LONGEST_LINE = 64 << 20

_MAGIC = frozenset("*?[")
_BLOCK = 1 << 20
# How texts in other encodings begin: with a byte order mark, or with an ASCII character.
_ENCODINGS = (
    ("UTF-32", re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff|[^\0]\0\0\0|\0\0\0[^\0]")),
    ("UTF-16", re.compile(rb"\xff\xfe|\xfe\xff|[^\0]\0|\0[^\0]")),
)


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
            return file.read(HEAD)

    @contextmanager
    def unpacked(self) -> Iterator[BinaryIO]:
        """Open the content of a compressed file for reading."""
        with self.open() as file, unpacked(file, self.name) as content:
            yield content


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
    text = local_path(place) if separator else place
    if _MAGIC.isdisjoint(text) or is_there(Path(text)):
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
    return File(name, status.st_size, store_at(full.parent), full.name)


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
