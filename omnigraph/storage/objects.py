"""Objects: small files below a root, written whole and on request only if there is none yet."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import LocalStore, ObjectStore, S3Store, from_url

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.reach import make_folder

if TYPE_CHECKING:
    from obstore import ObjectMeta, WritableFile
    from typing_extensions import Buffer

# Lance's names for the time limit of a request and for the number of retries.
WAITS = ("connect_timeout", "timeout")
RETRIES = "client_max_retries"
RETRY_SECONDS = "client_retry_timeout"
_MOST_PROBES = 2
_READ_AHEAD = 8 << 20
# So much of a large object is read or written by one request.
PIECE = 8 << 20
_PIECES_AT_A_TIME = 2
_MOST_PIECES = 9_000
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Stored:
    """A file below the root: its path, its size in bytes, and when it was written, in µs."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Objects:
    """The small objects below one root."""

    store: ObjectStore

    @staticmethod
    def at(root: str, is_local: bool, options: dict[str, str], account: str = "") -> "Objects":
        """Return the objects below a root; a missing local folder is created.

        A client takes what the options leave out from the variables of this process, and is kept:
        `account` tells apart those of other variables.
        """
        return Objects(_open(root, is_local, tuple(sorted(options.items())), account))

    def create(self, path: str, data: bytes) -> bool:
        """Write a new object; False when one exists already, which is then left as it is."""
        with report_as(f"cannot write {path}"):
            try:
                obstore.put(self.store, path, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def write(self, path: str, data: bytes) -> None:
        """Write an object, replacing any that exists."""
        with report_as(f"cannot write {path}"):
            obstore.put(self.store, path, data, mode="overwrite")

    def read(self, path: str) -> bytes | None:
        """Return the bytes of an object, or None when there is none."""
        with report_as(f"cannot read {path}"):
            try:
                return bytes(obstore.get(self.store, path).bytes())
            except (NotFoundError, FileNotFoundError):
                return None

    def piece(self, path: str, start: int, end: int) -> bytes | None:
        """Return a range of the bytes of an object, or None when there is no such object."""
        with report_as(f"cannot read {path}"):
            try:
                return bytes(obstore.get_range(self.store, path, start=start, end=end))
            except (NotFoundError, FileNotFoundError):
                return None

    def write_pieces(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write an object of a known size in pieces; when one fails, there is none.

        What the pieces raise passes through.
        """
        with report_as(f"cannot write {path}"):
            if size <= PIECE:
                obstore.put(self.store, path, b"".join(pieces), mode="overwrite")
                return
            # A bucket takes an object in no more than 10,000 pieces.
            chunk, together = max(PIECE, size // _MOST_PIECES), _PIECES_AT_A_TIME
            with obstore.open_writer(
                self.store, path, buffer_size=chunk, max_concurrency=together
            ) as opened:
                for piece in pieces:
                    opened.write(piece)

    def reader(self, path: str, size: int) -> BinaryIO:
        """Open an object of a known size for reading."""
        return cast(BinaryIO, io.BufferedReader(_ObjectReader(self.store, path, size), _READ_AHEAD))

    @contextmanager
    def writer(self, path: str) -> Iterator[BinaryIO]:
        """Open a new object for writing; it appears when the block ends."""
        with report_as(f"cannot write {path}"), obstore.open_writer(self.store, path) as opened:
            yield cast(BinaryIO, _FileWriter(opened))

    def sizes(self, name: str | None = None) -> dict[str, int]:
        """Return the sizes of the objects directly below the root, or of one of them."""
        with report_as("cannot list objects"):
            if name is None:
                listed = obstore.list_with_delimiter(self.store)["objects"]
                return {each["path"]: each["size"] for each in listed}
            try:
                return {name: obstore.head(self.store, name)["size"]}
            except (NotFoundError, FileNotFoundError):
                return {}

    def tag(self, path: str) -> str | None:
        """Return the store's tag for the content of an object; None when it has none."""
        with report_as(f"cannot read {path}"):
            return obstore.head(self.store, path)["e_tag"]

    def mark(self, path: str) -> tuple[object, ...] | None:
        """Return what tells an object from a later one at the same path; None if it is missing."""
        with report_as(f"cannot read {path}"):
            try:
                return _mark(obstore.head(self.store, path))
            except (NotFoundError, FileNotFoundError):
                return None

    def marked(self, path: str) -> tuple[bytes, tuple[object, ...]] | None:
        """Return the bytes of an object with its `mark`; None when it is missing."""
        with report_as(f"cannot read {path}"):
            try:
                found = obstore.get(self.store, path)
                return bytes(found.bytes()), _mark(found.meta)
            except (NotFoundError, FileNotFoundError):
                return None

    def first_names(self, folder: str) -> list[str]:
        """Return the names directly below a folder that sort first, from one page of a listing.

        In a directory bucket of S3, whose listings have no order, all names.
        """
        with report_as(f"cannot list {folder}"):
            pages = obstore.list(self.store, f"{folder}/", chunk_size=_PAGE)
            every = isinstance(self.store, S3Store) and _is_directory_bucket(self.store)
            listed = pages.collect() if every else next(iter(pages), [])
        return [each["path"].removeprefix(f"{folder}/") for each in listed]

    def delete(self, path: str) -> None:
        """Remove an object if it exists."""
        with report_as(f"cannot delete {path}"), suppress(NotFoundError, FileNotFoundError):
            obstore.delete(self.store, path)

    def names(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder, relative to it."""
        with report_as(f"cannot list {folder}"):
            listed = obstore.list(self.store, f"{folder}/").collect()
        return sorted(each["path"].removeprefix(f"{folder}/") for each in listed)

    def listing(self, folder: str = "") -> list[Stored]:
        """Return all files below a folder, or below the root."""
        return list(chain.from_iterable(self.pages(folder)))

    def pages(self, folder: str = "") -> Iterator[list[Stored]]:
        """Yield all files below a folder, or below the root, so many at a time as a store lists."""
        prefix = f"{folder}/" if folder else None
        with report_as(f"cannot list {folder or 'the files of the graph'}"):
            for page in obstore.list(self.store, prefix, chunk_size=_PAGE):
                yield list(map(_stored, page))

    def find(self, path: str) -> Stored | None:
        """Return one file; None if it is missing."""
        with report_as(f"cannot read {path}"):
            try:
                return _stored(obstore.head(self.store, path))
            except (NotFoundError, FileNotFoundError):
                return None

    def delete_many(self, paths: Iterable[str]) -> None:
        """Remove objects, many per request; missing ones are no error."""
        rest = list(paths)
        with report_as("cannot delete files"):
            for first in range(0, len(rest), _PAGE):
                page = rest[first : first + _PAGE]
                try:
                    obstore.delete(self.store, page)
                except (NotFoundError, FileNotFoundError):
                    for each in page:  # a disk stops at the first that is missing
                        self.delete(each)

    def drop_empty(self, folders: Iterable[str]) -> None:
        """Remove those of some folders on a local disk that hold no file any more."""
        if not isinstance(self.store, LocalStore):
            return
        root = Path(self.store.prefix or "/")
        for folder in folders:
            inside = sorted((root / folder).rglob("*"), reverse=True)
            for each in (*inside, root / folder):
                with suppress(OSError):  # not a folder, or not empty
                    each.rmdir()

    def copy(self, source: str, target: str) -> None:
        """Copy an object."""
        data = self.read(source)
        assert data is not None
        self.write(target, data)

    def delete_all(self, folder: str) -> None:
        """Remove everything below a folder."""
        for name in self.names(folder):
            self.delete(f"{folder}/{name}")

    def discard(self, folder: str) -> None:
        """Remove everything below a folder that nobody needs any more, if the store allows it.

        A cleanup removes what stays: the work that the folder was for has ended already, and a
        failure here does not change how.
        """
        with suppress(StorageError):
            self.delete_all(folder)

    def honours_create(self, folder: str) -> bool:
        """Whether the store refuses to create an object that exists."""
        for _ in range(_MOST_PROBES - 1):
            with suppress(StorageError):  # one request may get lost
                return self._honours_create(f"{folder}/{uuid4().hex}")
        return self._honours_create(f"{folder}/{uuid4().hex}")

    def stamp(self, folder: str) -> int:
        """Return when a file that is written below a folder is said to be written, in µs."""
        for _ in range(_MOST_PROBES):
            path = f"{folder}/{uuid4().hex}"
            try:
                self.write(path, b"now")
                found = self.find(path)
            finally:
                with suppress(StorageError):  # a cleanup removes what is left
                    self._delete_alone(path)
            if found is not None:  # a cleanup without a grace period takes it at once
                return found.modified
        raise StorageError(f"a file that was written to {folder} is not there")

    def _delete_alone(self, path: str) -> None:
        """Remove an object and not its folder: others may be about to write there."""
        if not isinstance(self.store, LocalStore):
            self.delete(path)
            return
        with report_as(f"cannot delete {path}"):
            Path(self.store.prefix or "/", path).unlink(missing_ok=True)

    def _honours_create(self, path: str) -> bool:
        try:
            # A store may answer "exists" to the retry of a request whose reply was lost.
            self.create(path, b"first")
            return not self.create(path, b"second") and self.read(path) == b"first"
        finally:
            with suppress(StorageError):  # a cleanup removes what is left
                self.delete(path)


class _FileWriter(io.RawIOBase):
    """A file as Arrow expects it; obstore's own has a method `closed`, which is always true."""

    def __init__(self, file: "WritableFile") -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        return self._file.write(bytes(data))


class _ObjectReader(io.RawIOBase):
    """An object as a file, read by ranges."""

    def __init__(self, store: ObjectStore, path: str, size: int) -> None:
        self._store, self._path, self._size, self._at = store, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer: "Buffer") -> int:
        view = memoryview(buffer)
        end = min(self._at + len(view), self._size)
        if end <= self._at:
            return 0
        with report_as(f"cannot read {self._path}"):
            data = obstore.get_range(self._store, self._path, start=self._at, end=end)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


@lru_cache(maxsize=64)
def _open(
    root: str,
    is_local: bool,
    options: tuple[tuple[str, str], ...],
    account: str,  # noqa: ARG001 - another one needs another client
) -> ObjectStore:
    with report_as(f"cannot open {root}"):
        if is_local:
            make_folder(Path(root))
            return LocalStore(prefix=Path(root), mkdir=True, automatic_cleanup=True)
        given = dict(options)
        client: Any = {"allow_http": given.pop("allow_http", "false") == "true"}
        client |= {name: given.pop(name) for name in WAITS if name in given}
        retry: Any = {}
        if RETRIES in given:
            retry["max_retries"] = int(given.pop(RETRIES))
        if RETRY_SECONDS in given:
            retry["retry_timeout"] = timedelta(seconds=int(given.pop(RETRY_SECONDS)))
        config: Any = given or None
        opened: ObjectStore = from_url(
            root, config=config, client_options=client, retry_config=retry or None
        )
        return opened


def _stored(found: "ObjectMeta") -> Stored:
    return Stored(found["path"], found["size"], int(found["last_modified"].timestamp() * 1e6))


def _mark(found: "ObjectMeta") -> tuple[object, ...]:
    return found["e_tag"], found["last_modified"], found["size"], found["version"]


def _is_directory_bucket(store: S3Store) -> bool:
    return str(store.config.get("bucket", "")).endswith("--x-s3")
