"""Following: files that appear in a folder are ingested one by one, each once.

A file is moved away when it is done with. Before that its commit may exist already, if the process
was killed in between; so the commit has an operation id that is made of what is ingested, and to
ingest the file again changes nothing.
"""

import json
import time
from collections.abc import Callable
from dataclasses import field
from hashlib import file_digest, sha256
from pathlib import Path

import click

from omnigraph.cli.output import coloured, counted
from omnigraph.errors import InputError, OmniGraphError, UnreadableError, ViolationsError
from omnigraph.frozen import dataclass

DONE, BAD = "_done", "_bad"
# A file is taken when nothing was written to it for so long.
_LOOK_SECONDS = 1.0
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload")

Ingest = Callable[[Path, str], str]
"""Ingests a file with an operation id, and returns the line that tells about it."""


@dataclass(slots=True)
class Tally:
    """How many files were ingested and set aside."""

    ingested: int = 0
    bad: int = 0

    def __str__(self) -> str:
        told = f"ingested {counted(self.ingested, 'file')}"
        return f"{told}, set {counted(self.bad, 'file')} aside" if self.bad else told


@dataclass(slots=True)
class Inbox:
    """A folder in which files appear, and where those go that are done with."""

    folder: Path
    _seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    def check(self) -> None:
        """Raise UnreadableError unless files can be taken out of the folder."""
        try:
            for each in (DONE, BAD):
                (self.folder / each).mkdir(exist_ok=True)
        except OSError as failed:
            raise UnreadableError(f"cannot follow {self.folder}: {failed.strerror}") from None

    def look(self) -> list[Path]:
        """Return the files that have not changed since the last look, in the order of names."""
        files = [each for each in self.folder.iterdir() if _is_offered(each)]
        before, self._seen = self._seen, {each.name: _state(each) for each in files}
        ready = [each for each in files if before.get(each.name) == self._seen[each.name]]
        return sorted(ready, key=lambda each: each.name)

    @property
    def is_empty(self) -> bool:
        """Whether the last look found no file at all."""
        return not self._seen

    def put(self, file: Path, where: str) -> Path:
        """Move a file away, and return where it is; it replaces nothing."""
        place = self.folder / where / file.name
        number = 1
        while place.exists():
            number += 1
            place = self.folder / where / f"{file.stem}.{number}{file.suffix}"
        self._seen.pop(file.name, None)
        return file.rename(place)


def follow(inbox: Inbox, ingest: Ingest, scope: str, tally: Tally, *, once: bool) -> None:
    """Ingest files as they appear; with `once`, until the folder is empty.

    What a file is to blame for is reported, and the file is set aside; any other error is raised,
    and the file stays. `scope` tells ingests apart that are done in another way.
    """
    inbox.check()
    while True:
        for file in inbox.look():
            if _take(inbox, ingest, scope, file):
                tally.ingested += 1
            else:
                tally.bad += 1
        if once and inbox.is_empty:
            return
        time.sleep(_LOOK_SECONDS)


def _take(inbox: Inbox, ingest: Ingest, scope: str, file: Path) -> bool:
    """Ingest one file, and return whether it could be."""
    try:
        told = ingest(file, operation_of(file, scope))
    except OmniGraphError as failed:
        if not is_blamed(failed):
            raise
        place = inbox.put(file, BAD)
        set_aside(place, failed)
        return False
    inbox.put(file, DONE)
    click.echo(f"{file.name}: {told}")
    return True


def operation_of(file: Path, scope: str) -> str:
    """Return an operation id for a file: its name and its content, and how it is ingested."""
    try:
        with file.open("rb") as opened:
            content = file_digest(opened, "sha256").hexdigest()
    except OSError as failed:
        raise UnreadableError(f"cannot read {file}: {failed.strerror}") from None
    return f"follow:{sha256(json.dumps([scope, file.name, content]).encode()).hexdigest()}"


def is_blamed(failed: OmniGraphError) -> bool:
    """Return whether an error is the fault of the rows, so that others can go on."""
    return isinstance(failed, ViolationsError | UnreadableError) or type(failed) is InputError


def set_aside(place: Path, failed: OmniGraphError) -> None:
    """Report an error, and keep it beside the rows that were set aside."""
    place.with_name(f"{place.name}.error.json").write_text(json.dumps(failed.to_json(), indent=2))
    click.echo(coloured(f"{failed.render()}\n   = set aside as {place}"), err=True)


def _is_offered(file: Path) -> bool:
    return (
        not file.name.startswith((".", "_"))
        and not file.name.endswith(_UNFINISHED)
        and file.is_file()
    )


def _state(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns
