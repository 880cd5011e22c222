"""Publish: turns a staged change into a commit, for all tables at once, by one flip."""

from collections.abc import Callable, Mapping
from dataclasses import field

from omnigraph.errors import (
    BranchNotFoundError,
    CommitCleanedError,
    ExpectedVersionMismatchError,
    HeadMovedError,
    SchemaMovedError,
    StorageError,
)
from omnigraph.frozen import dataclass
from omnigraph.storage.failures import CommitContentionError, CommitRejectedError
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest.fresh import FreshCommit
from omnigraph.versioning.names import MAIN, TAG, normalize_name
from omnigraph.versioning.operations import find_repeated
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.turns.flip_turn import flip_turn
from omnigraph.versioning.ulid import is_ulid
from omnigraph.versioning.unknown_outcome import unknown_outcome
from omnigraph.versioning.writes import Adopt, Staged


def publish(
    repository: Repository,
    branch: str,
    staged: Staged,
    newest: Callable[[], Table] | None = None,
) -> Commit:
    """Flip the branch to the commit, which the manifest has from then on.

    Every table that was touched or validated against must still be at the version that was read.
    When the head moved without touching them, the commit is retried on top of the new head.
    `newest` returns the manifest on which it is tried first.
    """
    repository.check_writable()
    if normalize_name(branch).startswith(TAG):
        raise BranchNotFoundError(f"no branch '{branch}'", hint="a tag never moves")
    operation = staged.write_set.operation_id or repository.clock.ulid()
    attempt = _Attempt(repository, normalize_name(branch), staged, operation)
    newest = newest or repository.manifest.look_ahead(folds=True)
    for _ in attempts(repository.patience.seconds):
        commit = attempt.run(newest())
        if commit is not None:
            return commit
        newest = repository.manifest.look_ahead(folds=True)
    raise HeadMovedError(
        f"'{branch}' kept moving; gave up after {repository.patience.seconds:g} s",
        hint="read again and repeat the change",
    )


def head_moved(branch: str, expected: str, actual: str) -> HeadMovedError:
    """Return the error that a branch does not stand where it was expected."""
    is_whole = is_ulid(expected)
    hint = "read again and repeat the change" if is_whole else "'expect' takes a whole commit id"
    return HeadMovedError(f"'{branch}' stands at {actual}, not at {expected}", hint=hint)


def sync_flip(
    repository: Repository, flipped: Table, what: str, before: Table | None = None
) -> None:
    """Flush a flip; if that fails, the commit is visible but may not survive a power loss.

    With a version `before` it, whose content is flushed, only what came after that is.
    """
    visible, tables = f"{what} is visible but could not be flushed", repository.tables
    with unknown_outcome(visible, "it is lost if the machine loses power now"):
        if before is None:
            tables.sync_table(flipped)
        else:
            tables.sync_content(flipped, before)
            tables.sync_names((before, flipped))


@dataclass(frozen=True, slots=True)
class _Attempt:
    repository: Repository
    branch: str
    staged: Staged
    operation: str
    lost: list[StorageError] = field(default_factory=list)

    def run(self, at: Table) -> Commit | None:
        """Try once, under a new commit id; None when another commit of the branch came first."""
        manifest = self.repository.manifest
        earlier = self._find_earlier(at)
        if earlier is not None:
            return earlier
        current = self._current(at)
        self._check_expected(current)
        others = self._standing(at)
        commit = self._commit(current, at)
        if self._needs_old and self._is_cleaned(commit, at):
            raise CommitCleanedError("what this change builds on was cleaned up meanwhile")
        self.repository.tables.sync_with(at, self.staged.files)
        reached("commit ready")
        flipped = self._flip_in_turn(at, commit, others)
        if flipped is None:
            return None
        reached("head flipped")
        manifest.remember(commit)
        sync_flip(self.repository, flipped, f"commit {commit.id}", at)
        self.repository.note_head(self.branch, commit, flipped)
        if self.branch == MAIN and commit.schema != current.schema:
            self.repository.show_schema(commit)
        return commit

    def _flip_in_turn(self, at: Table, commit: Commit, others: Mapping[str, Head]) -> Table | None:
        """Flip on the newest manifest; None when another commit of the branch came first."""
        with flip_turn(self.repository.store):
            guard = self._guard(at, others)
            if guard is None:
                return None
            try:
                return self._flip(guard, commit, others)
            except CommitRejectedError:
                return None

    def _guard(self, at: Table, others: Mapping[str, Head]) -> Table | None:
        """Return the manifest that guards the flip; None when what it guards moved after `at`.

        The later it is, the fewer versions Lance has to read. It is the newest one when all heads
        that are flipped stand there as they were read. Whether an operation was done since is not
        seen there, so that only `at` guards one.
        """
        if self.staged.write_set.operation_id is not None:
            return at
        # Of a new branch, no tag of its name may have come either: it reserves a key until `at`.
        namesake = (TAG + self.branch,) if self.staged.write_set.creates_branch else ()
        names = (self.branch, *others, *namesake)
        needs_old, manifest = self._needs_old, self.repository.manifest
        newest = manifest.latest(at)
        has_moved = manifest.has_moved(names, at, newest, needs_old=needs_old)
        return None if has_moved else newest

    def _current(self, at: Table) -> Commit:
        """Return the commit to build on: the head, or where a new branch starts."""
        manifest, write_set = self.repository.manifest, self.staged.write_set
        if not write_set.creates_branch:
            return manifest.head_commit(self.branch, at)
        manifest.refuse_twin(self.branch, at)
        return write_set.base.commit

    @property
    def _needs_old(self) -> bool:
        """Whether the commit has table versions that the head of its branch does not have."""
        write_set = self.staged.write_set
        adopts = (
            isinstance(each, Adopt) for writes in write_set.writes.values() for each in writes
        )
        return write_set.creates_branch or any(adopts)

    def _is_cleaned(self, commit: Commit, at: Table) -> bool:
        """Whether a cleanup removed versions of a commit, or versions that they were staged on.

        A version also uses files of the version below it, which the commit does not name.
        """
        manifest, write_set = self.repository.manifest, self.staged.write_set
        below = {write_set.base.commit.id, *write_set.sources, *commit.parents}
        versions = {*write_set.restored}
        versions |= {(key, state.version) for key, state in commit.tables.items()}
        for each in manifest.commits(below, at).values():
            staged = each.tables.keys() & self.staged.tables.keys()
            versions |= {(key, each.tables[key].version) for key in staged}
        return bool(manifest.buried(at, versions))

    def _standing(self, at: Table) -> dict[str, Head]:
        """Return the other heads that must not move; flipping them to the same value guards them.

        Lance refuses two commits that set the same key, even to its current value.
        """
        found: dict[str, Head] = {}
        for name, commit_id in self.staged.write_set.standing.items():
            found[name] = self.repository.manifest.head(name, at)
            if found[name].commit != commit_id:
                raise head_moved(name, commit_id, found[name].commit)
        return found

    def _again(self, failed: StorageError | CommitContentionError) -> Exception:
        """Return what to raise after a request to a bucket was lost: the first is retried."""
        if self.repository.store.is_local or self.lost or isinstance(failed, CommitContentionError):
            return failed
        self.lost.append(failed)
        return CommitRejectedError(failed.message)

    def _flip(self, at: Table, commit: Commit, others: Mapping[str, Head]) -> Table:
        asked, manifest = self.staged.write_set, self.repository.manifest
        operation = None if asked.operation_id is None else (asked.actor, asked.operation_id)
        head = Head(commit.branch, commit.id, commit.version, None)
        try:
            return manifest.flip(
                at,
                {**others, self.branch: head},
                needs_old=self._needs_old,
                operation=operation,
                commit=FreshCommit(commit, tuple(self.staged.tables), operation is not None),
            )
        except (StorageError, CommitContentionError) as failed:
            return self._settle(commit, failed)

    def _find_earlier(self, at: Table) -> Commit | None:
        """Return the commit that this operation led to before, if it has an id."""
        asked = self.staged.write_set
        return find_repeated(self.repository, asked.operation_id, asked.actor, asked.request, at)

    def _check_expected(self, current: Commit) -> None:
        expected_head = self.staged.write_set.expected_head
        if expected_head is not None and current.id != expected_head:
            raise head_moved(self.branch, expected_head, current.id)
        if current.schema != self.staged.write_set.base.commit.schema:
            raise SchemaMovedError(
                f"the schema of '{self.branch}' changed meanwhile",
                hint="read again and repeat the change",
            )
        base = self.staged.write_set.base.commit.tables
        for key in sorted({*self.staged.tables, *self.staged.write_set.validated}):
            expected, actual = _version(base, key), _version(current.tables, key)
            if expected != actual and not self._only_moved(current, key, expected):
                raise ExpectedVersionMismatchError(
                    self.staged.write_set.base.key_of(key), expected, actual
                )

    def _only_moved(self, current: Commit, key: str, expected: int | None) -> bool:
        """Whether a table was only optimized since a version, so that its rows are the same.

        What was staged on the old layout replaces the new one, so that an optimize never makes
        anybody repeat a change.
        """
        manifest = self.repository.manifest
        at = manifest.newest()
        while current.parent is not None:
            parent = manifest.recorded(current.parent, at)
            moved = _version(parent.tables, key) != _version(current.tables, key)
            if moved and current.kind is not CommitKind.PHYSICAL:
                return False
            if _version(parent.tables, key) == expected:
                return True
            current = parent
        return False

    def _commit(self, current: Commit, at: Table) -> Commit:
        write_set = self.staged.write_set
        merged = write_set.merged_parent
        versions = [current.version]
        if merged is not None:
            versions.append(self.repository.commit(merged, at).version)
        return Commit(
            id=self.repository.clock.ulid(),
            parents=(current.id,) if merged is None else (current.id, merged),
            branch=self.branch,
            version=max(versions) + 1,
            kind=write_set.kind,
            created_at=self.repository.clock.time(),
            operation_id=self.operation,
            schema=write_set.schema or current.schema,
            tables=self._tables(current),
            actor=write_set.actor,
            message=write_set.message,
            affected=write_set.affected,
            request=write_set.request,
            touched=write_set.touched,
        )

    def _tables(self, current: Commit) -> dict[str, TableState]:
        dropped = self.staged.write_set.dropped
        every = {**current.tables, **self.staged.tables}
        return {key: state for key, state in every.items() if key not in dropped}

    def _settle(self, commit: Commit, failed: StorageError | CommitContentionError) -> Table:
        """Find out whether a flip without an answer was made.

        If it was not, it can no longer be, because something else took its version.
        """
        manifest = self.repository.manifest
        unsure = f"the store failed while publishing commit {commit.id}"
        with unknown_outcome(
            unsure, "look for it in the log of the branch before repeating the change"
        ):
            at = manifest.settled(failed)
            if manifest.is_published(commit.id, at):
                return at
        raise self._again(failed) from failed


def _version(tables: Mapping[str, TableState], key: str) -> int | None:
    state = tables.get(key)
    return None if state is None else state.version
