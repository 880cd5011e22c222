"""Inbox: files that appear in a folder, each a batch.

A file is moved away when it is done with, to the folder `_done` or `_bad`.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.following.follow import Batch, set_aside
from omnigraph.errors import InputError, OmniGraphError, UnreadableError, ViolationsError
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from omnigraph.write.load.keywords import LoadKeywords
    from omnigraph.write.load.loaded import Loaded

DONE, BAD = "_done", "_bad"
# A file is taken when nothing was written to it for so long.
_LOOK_SECONDS = 1.0
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload")


@dataclass(frozen=True, slots=True)
class _FileState:
    """What changes when a file is written to, and which file it is."""

    size: int
    written: int
    number: int

    def is_as(self, other: "_FileState | None") -> bool:
        """Return whether nothing was written between two states."""
        return other is not None and (self.size, self.written) == (other.size, other.written)


@dataclass(slots=True)
class Inbox:
    """A folder in which files appear, and where those go that are done with.

    `scope` tells ingests apart that are done in another way.
    """

    folder: Path
    scope: str
    _seen: dict[str, _FileState] = field(default_factory=dict)

    def batches(self) -> Iterator[Batch | None]:
        """Yield each file that appears, in the order of names; None when there is no more now."""
        self._check()
        while True:
            for file in self._look():
                # The files before it may have taken long to load.
                if self._is_as_seen(file):
                    yield Batch(file.name, [str(file)], partial(_how, file, self.scope))
            yield None
            time.sleep(_LOOK_SECONDS)

    @property
    def is_done(self) -> bool:
        """Whether the last look found no file at all."""
        return not self._seen

    def keep(self, batch: Batch, loaded: "Loaded") -> int:  # noqa: ARG002 - as all sources
        """Move a file that was ingested away; raise for one that was written to meanwhile."""
        file = self.folder / batch.name
        if not self._is_gone(file) and not self._is_as_seen(file):
            message = f"{file} was written to while it was ingested; only a part of it was"
            raise UnreadableError(message, hint="rename a file into the folder when it is whole")
        self.put(file, DONE)
        return 1

    def refuse(self, batch: Batch, failed: OmniGraphError) -> int:
        """Set a file with bad rows aside; any other error is raised, and the file stays.

        One that was withdrawn or replaced meanwhile is no longer offered, whatever it holds.
        """
        if not _is_blamed(failed):
            raise failed
        place = self.put(self.folder / batch.name, BAD)
        if place is None:
            return 0
        set_aside(place, failed)
        return 1

    def put(self, file: Path, where: str) -> Path | None:
        """Move a file away, and return where it is; it replaces nothing. None when it is gone."""
        if self._is_gone(file):
            return None
        place = self.folder / where / file.name
        place.parent.mkdir(exist_ok=True)
        number = 1
        while place.exists():
            number += 1
            place = self.folder / where / f"{file.stem}.{number}{file.suffix}"
        try:
            moved = file.rename(place)
        except FileNotFoundError:
            return None
        self._seen.pop(file.name, None)
        return moved

    def close(self) -> None:
        """Do nothing: a folder is not held."""

    def _check(self) -> None:
        """Raise UnreadableError unless files can be taken out of the folder."""
        try:
            for each in (DONE, BAD):
                (self.folder / each).mkdir(exist_ok=True)
        except OSError as failed:
            raise UnreadableError(f"cannot follow {self.folder}: {failed.strerror}") from None

    def _look(self) -> list[Path]:
        """Return the files that have not changed since the last look, in the order of names."""
        files = [each for each in self.folder.iterdir() if _is_offered(each)]
        states = ((each.name, _state_of(each)) for each in files)
        before, self._seen = self._seen, {name: found for name, found in states if found}
        ready = [name for name, found in self._seen.items() if found.is_as(before.get(name))]
        return [self.folder / name for name in sorted(ready)]

    def _is_as_seen(self, file: Path) -> bool:
        """Whether nothing was written to a file since the last look, and it is still there."""
        now = _state_of(file)
        return now is not None and now.is_as(self._seen.get(file.name))

    def _is_gone(self, file: Path) -> bool:
        """Whether the file of the last look is no longer there, but none or another one is."""
        now, seen = _state_of(file), self._seen.get(file.name)
        if now is None or seen is None:
            return True
        # Where files are on another machine, their numbers may change by themselves.
        return now.number != seen.number and not now.is_as(seen)


def _how(file: Path, scope: str) -> "LoadKeywords":
    return {"operation_id": operation_of(file, scope)}


def operation_of(file: Path, scope: str) -> str:
    """Return an operation id for a file: its rows, when it was written, and how it is ingested.

    When it was written tells a file with the rows of an earlier one apart from that one. It stays
    as it is in the folder, so that whoever is started again finds the same id.
    """
    try:
        with file.open("rb") as opened:
            written = os.fstat(opened.fileno()).st_mtime_ns
            content = file_digest(opened, "sha256").hexdigest()
    except OSError as failed:
        raise UnreadableError(f"cannot read {file}: {failed.strerror}") from None
    about = json.dumps([scope, file.name, content, written])
    return f"follow:{sha256(about.encode()).hexdigest()}"


def _is_blamed(failed: OmniGraphError) -> bool:
    """Return whether an error is the fault of the rows, so that others can go on."""
    return isinstance(failed, ViolationsError | UnreadableError) or type(failed) is InputError


def _is_offered(file: Path) -> bool:
    return (
        not file.name.startswith((".", "_"))
        and not file.name.endswith(_UNFINISHED)
        and file.is_file()
    )


def _state_of(file: Path) -> _FileState | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return _FileState(found.st_size, found.st_mtime_ns, found.st_ino)
