"""Backup: a consistent copy of a live graph in another place, and a graph made of such a copy.

A copy is one version of the manifest and everything that its commits are made of. The manifest is
read first. Everything that it names is copied, and its newest version, which makes the copy a
graph, is written last. All other files have names of their own and never change, so a file that
the other place has under the same name and with the same size is not copied again.

A backup writes nothing to its source. A cleanup says in the manifest what it removes before it
does, so a backup checks whether one said so while it copied. If so, it takes the newer manifest,
which no longer needs those files, and copies what is missing.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Set
from dataclasses import field
from datetime import timedelta
from pathlib import Path

from omnigraph.errors import (
    GraphExistsError,
    GraphNotFoundError,
    HeadMovedError,
    InputError,
    Json,
    StorageError,
)
from omnigraph.frozen import dataclass
from omnigraph.maintain.fsck import fsck
from omnigraph.maintain.keywords import BackupKeywords
from omnigraph.maintain.reports import Copied
from omnigraph.merge.runs import run_files
from omnigraph.spark.deadline import Deadline, deadline_of
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.storage import layout
from omnigraph.storage.copying import Copying
from omnigraph.storage.durable import sync_folders
from omnigraph.storage.failures import report_as
from omnigraph.storage.folder import Folder
from omnigraph.storage.objects import Stored
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store, store_at
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.storage.upkeep.sweep import by_table, needed, parts_of
from omnigraph.versioning.history.retention import GRACE, History
from omnigraph.versioning.manifest.format import check_format
from omnigraph.versioning.manifest.manifest import Manifest, last_cleanup
from omnigraph.versioning.manifest.records import first_commit
from omnigraph.versioning.names import MAIN, TAG, is_system
from omnigraph.versioning.repository import Repository, open_repository
from omnigraph.versioning.unknown_outcome import unknown_outcome

# Each needs a cleanup of the source meanwhile, and copies only what the one before did not.
_MOST_PINS = 10
_CLAIM = f"{layout.BACKUP}/graph.json"
_REPEAT = "repeat it to complete it"
_EMPTY = "give a place that is empty"
_EMPTY_OR_OWN = "give a place that is empty, or that has a backup of this graph"
_ELSEWHERE = "back up to an empty place; this one stays as it is"
# Files here are removed from a copy when its manifest no longer names them.
_MIRRORED = (
    *layout.TABLES,
    layout.MANIFEST,
    layout.RUNS,
    layout.REVIEWS,
    layout.OPERATIONS,
    layout.EMBEDDINGS,
    layout.BACKUP,
)
# Small files that may be written again under the same name.
_NOTES = (layout.RUNS, layout.REVIEWS, layout.OPERATIONS)
# What may be removed at any time, and is not missed.
_FLEETING = (*_NOTES, layout.EMBEDDINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupOptions:
    """How a copy is made; with `verify`, all of it is checked afterwards."""

    verify: bool = True
    progress: Progress = NO_PROGRESS
    deadline: Deadline = field(default_factory=Deadline)


def backup_options(how: BackupKeywords, work: str = "backup") -> BackupOptions:
    """Return the options that keywords stand for."""
    return BackupOptions(
        verify=how.get("verify", True),
        progress=how.get("progress", NO_PROGRESS),
        deadline=deadline_of(work, how.get("seconds"), how.get("cancelled")),
    )


def backup(
    repository: Repository, dest: str | os.PathLike[str], options: BackupOptions | None = None
) -> Copied:
    """Make or renew the backup of a graph in an empty place, or in one that has a backup of it.

    Until all of it is there, the place has the backup that it had before, or no graph. Raises
    GraphExistsError for a place with a graph that is no backup, and InputError for one with
    something else, or whose graph is another or was changed since.
    """
    copy = _Copy(repository, store_at(dest), options or BackupOptions())
    return copy.renewed()


def restore(
    source: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    options: BackupOptions | None = None,
    *,
    durable: bool = True,
) -> Copied:
    """Make a graph of a backup, or of another graph, in an empty place.

    Raises GraphExistsError when there is a graph. A restore that was cut off is completed.
    """
    try:
        repository = open_repository(source, read_only=True, durable=durable)
    except GraphNotFoundError:
        hint = "name the folder or bucket that `omnigraph backup` wrote"
        raise GraphNotFoundError(f"no backup at {store_at(source).root}", hint=hint) from None
    return _Copy(repository, store_at(dest), options or BackupOptions()).restored()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pin:
    """One version of the manifest of the source, and the files of the graph at that version.

    The file that makes it a graph, the Lance manifest of that version, is not among them.
    """

    at: Table
    history: History
    manifest: bytes
    files: tuple[Stored, ...]

    @property
    def path(self) -> str:
        return _manifest_path(self.at)

    @property
    def record(self) -> str:
        return _record_path(self.at, self.manifest)


@dataclass(slots=True)
class _Copy:
    """A copy on its way from the place of a repository to another one.

    `before` is what was there when it began, `there` what is there now, and `copied` what was
    copied meanwhile: the sizes of files by path.
    """

    repository: Repository
    dest: Store
    options: BackupOptions
    tables: Tables = field(init=False)
    before: dict[str, Stored] = field(default_factory=dict)
    there: dict[str, int] = field(default_factory=dict)
    copied: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = Tables(self.dest, durable=self.repository.tables.durable)

    def renewed(self) -> Copied:
        """Make the copy a backup, which the next one renews."""
        self._claim(_EMPTY_OR_OWN)
        pin = self._filled(self._last_backup())
        self._write_record(pin)
        self._publish(pin)
        with unknown_outcome(f"the backup at {self.dest.root} was made but not completed", _REPEAT):
            self._complete()
            return self._report(pin, self._prune(pin))

    def restored(self) -> Copied:
        """Make the copy a graph of its own."""
        self._claim(_EMPTY)
        self._refuse_graph(_EMPTY)
        pin = self._filled(None)
        self._refuse_graph(_EMPTY)
        self._publish(pin)
        with unknown_outcome(
            f"the graph at {self.dest.root} was restored but not checked", "run fsck"
        ):
            self._complete()
            self.dest.objects.delete_all(layout.BACKUP)
            self.dest.objects.drop_empty([layout.BACKUP])
            return self._report(pin, 0)

    def _claim(self, hint: str) -> None:
        """Make the place one for copies of this graph alone, unless it is.

        Raises GraphExistsError or InputError for one that has something else. Two graphs have
        tables of the same names, which must never be mixed.
        """
        self._refuse_nested()
        objects, graph = self.dest.objects, first_commit(self.repository.manifest.newest())
        claim = objects.read(_CLAIM)
        if claim is None:
            self._refuse_graph(hint)
            Folder(self.dest).check_empty()
            objects.create(_CLAIM, json.dumps({"graph": graph}).encode())
            claim = objects.read(_CLAIM)
            try:
                self.dest.check()
            except InputError:
                objects.discard(layout.BACKUP)
                raise
        if _claimed_by(claim) != graph:
            raise InputError(
                f"'{self.dest.root}' has the backup of another graph",
                hint="give each graph a place of its own",
            )
        reached("backup claimed")

    def _refuse_nested(self) -> None:
        """Raise InputError when one of the places is in the other."""
        source, dest = (_whole(each) for each in (self.repository.store, self.dest))
        if source.startswith(dest) or dest.startswith(source):
            raise InputError(
                f"'{self.dest.root}' and the graph at {self.repository.store.root} share a place",
                hint="give a place outside of the graph",
            )

    def _refuse_graph(self, hint: str) -> None:
        if self.tables.newest(layout.MANIFEST) is not None:
            raise GraphExistsError(f"there is a graph at {self.dest.root} already", hint=hint)

    def _last_backup(self) -> Table | None:
        """Return the manifest of the existing backup, which nobody may have changed since."""
        self.tables.clear_blank(layout.MANIFEST)
        at = self.tables.newest(layout.MANIFEST)
        if at is None:
            return None
        check_format(at)
        manifest = self.dest.objects.read(_manifest_path(at)) or b""
        if self.dest.objects.read(_record_path(at, manifest)) is None:
            raise InputError(
                f"the backup at '{self.dest.root}' was changed since it was made", hint=_ELSEWHERE
            )
        return at

    def _diverged(self) -> InputError:
        source = self.repository.store.root
        message = f"the backup at '{self.dest.root}' has changes that {source} does not have"
        return InputError(message, hint=_ELSEWHERE)

    def _filled(self, last: Table | None) -> _Pin:
        """Copy everything that one version of the manifest needs, and return that version.

        It has to have all commits that the last backup has.
        """
        known = {} if last is None else Manifest(self.tables).every_commit(last)
        oldest = 0 if last is None else last.version
        self.before = {each.path: each for each in self.dest.objects.listing()}
        self.there = {each.path: each.size for each in self.before.values()}
        for _ in range(_MOST_PINS):
            notes = self._notes()
            at = self.repository.manifest.newest()
            pin = self._pinned(at, notes)
            if pin is None:
                continue
            if at.version < oldest or not known.keys() <= pin.history.commits.keys():
                raise self._diverged()
            reached("manifest pinned")
            if self._is_copied(pin) and not self._was_cleaned(at):
                return pin
        raise HeadMovedError(
            f"{self.repository.store.root} was cleaned up again and again while it was copied",
            hint="repeat it; what was copied is kept",
        )

    def _notes(self) -> set[str]:
        """Return the notes of runs and operations; each is written after what it is about."""
        objects = self.repository.store.objects
        return {each.path for folder in _NOTES for each in objects.listing(folder)}

    def _pinned(self, at: Table, notes: Set[str]) -> _Pin | None:
        """Return what is needed of a graph; None when a cleanup took some of it meanwhile.

        Only such notes belong to it as were there before the manifest was read.
        """
        try:
            return _plan(self.repository, at, notes)
        except StorageError:
            if self._was_cleaned(at):
                return None
            raise

    def _was_cleaned(self, at: Table) -> bool:
        """Whether a cleanup began to remove something after a version of the manifest."""
        return last_cleanup(self.repository.manifest.newest()) != last_cleanup(at)

    def _is_copied(self, pin: _Pin) -> bool:
        """Copy what is missing; False when a file is gone that a newer manifest may not need.

        Raises StorageError when there is no newer one. Notes and vectors may go at any time.
        """
        due = [each for each in pin.files if not self._has(each)]
        progress, already = self.options.progress, len(self.copied)
        progress.begin("copying", sum(each.size for each in due))

        def done(file: Stored) -> None:
            self.there[file.path] = self.copied[file.path] = file.size
            progress.advance(len(self.copied) - already, len(due))
            reached("file copied")

        check = self.options.deadline.check
        copying = Copying(self.repository.store, self.dest, self.tables.durable, check)
        gone = [each for each in copying.copy(due, done) if _folder(each) not in _FLEETING]
        reached("files copied")
        if gone and self.repository.manifest.newest().version == pin.at.version:
            raise StorageError(f"{gone[0]} is gone", hint="fsck tells what is missing")
        return not gone

    def _has(self, file: Stored) -> bool:
        """Whether a file exists; a note may have been written again since."""
        if self.there.get(file.path) != file.size:
            return False
        before = self.before.get(file.path)
        is_old = before is not None and before.modified < file.modified
        return file.path in self.copied or not (is_old and _folder(file.path) in _NOTES)

    def _write_record(self, pin: _Pin) -> None:
        """Note that the manifest which is about to be written is that of a backup."""
        self.options.deadline.check()
        made: Json = {"heads": dict(pin.history.heads), "made_at": self.repository.clock.time()}
        self.dest.objects.write(pin.record, json.dumps(made).encode())
        self.tables.sync([pin.record])
        reached("backup recorded")

    def _publish(self, pin: _Pin) -> None:
        """Write the newest version of the manifest, which makes the copy a graph."""
        if self.tables.durable and self.dest.is_local:
            with report_as("cannot flush to disk"):  # the content of the files is flushed already
                sync_folders(Path(self.dest.root), [each.path for each in pin.files])
        self.options.deadline.check()  # never again from here on: what is published is done
        objects = self.dest.objects
        with unknown_outcome(f"the store failed while completing {self.dest.root}", _REPEAT):
            created = objects.create(pin.path, pin.manifest)
            # A store may answer "exists" to the second try of a request whose reply was lost.
            is_same = created or objects.read(pin.path) == pin.manifest
        if not is_same:
            raise self._diverged()
        if created:
            self.copied[pin.path] = len(pin.manifest)
        reached("manifest copied")

    def _complete(self) -> None:
        """Flush the manifest, and write the schema beside the tables."""
        tables = Tables(self.dest, durable=self.tables.durable)
        manifest = Manifest(tables)
        tables.sync_table(manifest.newest())
        clock = self.repository.clock
        Repository(self.dest, tables, manifest, clock, read_only=False).restore_schema_files()

    def _prune(self, pin: _Pin) -> int:
        """Remove what was there before and the copy no longer has; return how many files.

        What another backup copies just now came later, but may still lie aside.
        """
        kept = {each.path for each in pin.files} | {pin.path, pin.record, _CLAIM}
        young = self.dest.now() - GRACE // timedelta(microseconds=1)
        old = [each for each in self.before if each not in kept and _folder(each) in _MIRRORED]
        old += [
            path
            for path, each in self.before.items()
            if _folder(path) == layout.ASIDE and each.modified < young
        ]
        self.dest.objects.delete_many(old)
        reached("backup pruned")
        return len(old)

    def _report(self, pin: _Pin, removed: int) -> Copied:
        """Check the copy, if that is wanted, and return the report."""
        checkup = None
        if self.options.verify:
            self.options.progress.begin("checking")
            checkup = fsck(self.dest)
        heads = dict(sorted(pin.history.heads.items()))
        present = {each.path for each in pin.files} & self.there.keys()
        return Copied(
            source=self.repository.store.root,
            dest=self.dest.root,
            commit=heads[MAIN],
            heads={name: at for name, at in heads.items() if not is_system(name)},
            tags={name.removeprefix(TAG): at for name, at in heads.items() if name.startswith(TAG)},
            commits=len(pin.history.published),
            files_copied=len(self.copied),
            bytes_copied=sum(self.copied.values()),
            files_kept=len(present - self.copied.keys()) + (pin.path not in self.copied),
            files_removed=removed,
            checkup=checkup,
        )


def _plan(repository: Repository, at: Table, notes: Set[str]) -> _Pin:
    objects, path = repository.store.objects, _manifest_path(at)
    content = objects.read(path)
    if content is None:
        raise StorageError(f"{path} is gone")
    manifest = repository.manifest
    heads = {head.name: head.commit for head in manifest.heads(at).values()}
    history = History(manifest.every_commit(at), heads, manifest.retired(at))
    listing = objects.listing()
    there = {each.path for each in listing}
    versions = _versions(history, manifest.buried(at), there)
    own = [each for each in listing if _folder(each.path) == layout.MANIFEST]
    parts = {each.removeprefix(f"{layout.MANIFEST}/") for each in at.files()}
    # The manifest comes first: its old versions are removed after ten minutes.
    files = parts_of(layout.MANIFEST, own, parts)
    files += needed(repository.tables, by_table(listing), versions)
    files += _others(listing, history, notes)
    rest = tuple(each for each in files if each.path != path)
    return _Pin(at=at, history=history, manifest=content, files=rest)


def _versions(
    history: History, buried: Set[tuple[str, int]], there: Set[str]
) -> dict[str, set[int]]:
    """Return the versions that published commits have and no cleanup removed, by table.

    A cleanup that was cut off may have left what heads have.
    """
    heads = set(history.heads.values())
    found: dict[str, set[int]] = {}
    for commit in history.published.values():
        for key, state in commit.tables.items():
            is_left = commit.id in heads and state.manifest in there
            if is_left or (key, state.version) not in buried:
                found.setdefault(state.path, set()).add(state.version)
    return found


def _others(listing: Iterable[Stored], history: History, notes: Set[str]) -> list[Stored]:
    """Return the files beside the tables that belong to a copy."""
    runs = run_files((each.path for each in listing), notes, history.heads)
    kept = {
        layout.SCHEMAS: None,
        layout.EMBEDDINGS: None,
        layout.OPERATIONS: notes,
        layout.RUNS: runs,
        layout.REVIEWS: None,
    }
    return [
        each
        for each in listing
        if (folder := _folder(each.path)) in kept
        and ((wanted := kept[folder]) is None or each.path in wanted)
    ]


def _claimed_by(claim: bytes | None) -> object:
    """Return the graph whose backup a place has; None where that cannot be read."""
    try:
        found = json.loads(claim or b"{}")
    except (ValueError, RecursionError):
        return None
    return found.get("graph") if isinstance(found, dict) else None


def _folder(path: str) -> str:
    return path.partition("/")[0]


def _manifest_path(at: Table) -> str:
    return layout.manifest_path(at.path, at.version)


def _record_path(at: Table, manifest: bytes) -> str:
    """Return the note that a backup wrote a version of the manifest, and with which bytes."""
    return f"{layout.BACKUP}/{at.version}.{hashlib.sha256(manifest).hexdigest()}.json"


def _whole(store: Store) -> str:
    """Return the full path of a place, which others begin with that are in it."""
    return f"{store.root}/"
