"""Publish: makes a staged change a commit, for all tables at once, by one flip."""

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.errors import (
    BranchNotFoundError,
    CommitCleanedError,
    ExpectedVersionMismatchError,
    HeadMovedError,
    OutcomeUnknownError,
    SchemaMovedError,
    StorageError,
)
from omnigraph.storage.failures import Crowded, Rejected
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.manifest import Head
from omnigraph.versioning.names import MAIN, TAG, normalize_name
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.writes import Adopt, Staged

RETRY_BUDGET = 5


def publish(repository: Repository, branch: str, staged: Staged) -> Commit:
    """Append the commit to the ledger and flip the branch to it.

    Every table that was touched or validated against must still be at the version that was
    read. A head that moved without touching them is simply tried again on top.
    """
    repository.check_writable()
    if normalize_name(branch).startswith(TAG):
        raise BranchNotFoundError(f"no branch '{branch}'", hint="a tag never moves")
    operation = staged.write_set.operation_id or repository.clock.ulid()
    attempt = _Attempt(repository, normalize_name(branch), staged, operation)
    for _ in range(RETRY_BUDGET):
        commit = attempt.run()
        if commit is not None:
            return commit
    raise HeadMovedError(
        f"'{branch}' moved {RETRY_BUDGET} times while publishing to it",
        hint="read again and repeat the change",
    )


def head_moved(branch: str, expected: str, actual: str) -> HeadMovedError:
    """Give the error that a branch does not stand where it is expected."""
    return HeadMovedError(
        f"'{branch}' stands at {actual}, not at {expected}",
        hint="read again and repeat the change",
    )


def sync_flip(repository: Repository, flipped: Table, what: str) -> None:
    """Flush a flip; when that fails, what it made is visible but may not last."""
    try:
        repository.tables.sync_table(flipped)
    except StorageError as failed:
        raise OutcomeUnknownError(
            f"{what} is visible but could not be flushed: {failed.message}",
            hint="it is lost if the machine loses power now",
        ) from failed


@dataclass(frozen=True, slots=True)
class _Attempt:
    repository: Repository
    branch: str
    staged: Staged
    operation: str

    def run(self) -> Commit | None:
        """Try once, under an id of its own; None when another commit of the branch came first."""
        manifest = self.repository.manifest
        ledger = manifest.folded(manifest.newest())
        current = self._current(ledger)
        earlier = self._earlier(ledger)
        if earlier is not None:
            return earlier
        self._check_expected(current)
        commit = self._commit(current)
        if self._needs_old and manifest.is_cleaned(commit, ledger):
            raise CommitCleanedError("what this change builds on was cleaned up meanwhile")
        self.repository.tables.sync(self.staged.files)
        try:
            given = self.staged.write_set.operation_id
            added, head = manifest.add(ledger, commit, self.staged.tables, given)
            reached("commit written")
            self.repository.tables.sync_table(added)
            reached("commit synced")
            # Nobody came between them, so the later one guards as much and costs no look back.
            guard = added if added.version == ledger.version + 1 else ledger
            flipped = self._flipped(guard, commit, head)
        except Rejected:
            return None
        reached("head flipped")
        manifest.remember([commit])
        sync_flip(self.repository, flipped, f"commit {commit.id}")
        if self.branch == MAIN and commit.schema != current.schema:
            self.repository.show_schema(commit)
        return commit

    def _current(self, ledger: Table) -> Commit:
        """Give the commit to build on: the head, or where a new branch starts."""
        manifest, write_set = self.repository.manifest, self.staged.write_set
        if not write_set.creates_branch:
            return manifest.head_commit(self.branch, ledger)
        manifest.refuse_twin(self.branch, ledger)
        return write_set.base.commit

    @property
    def _needs_old(self) -> bool:
        """Whether the commit has versions of tables that the head of its branch has not."""
        write_set = self.staged.write_set
        adopts = (
            isinstance(each, Adopt) for writes in write_set.writes.values() for each in writes
        )
        return write_set.creates_branch or any(adopts)

    def _flipped(self, ledger: Table, commit: Commit, head: Head) -> Table:
        try:
            heads = {self.branch: head}
            return self.repository.manifest.flip(ledger, heads, needs_old=self._needs_old)
        except (StorageError, Crowded) as failed:
            return self._settled(commit, failed)

    def _earlier(self, ledger: Table) -> Commit | None:
        """Give the commit that this operation led to before, if its id was given."""
        write_set = self.staged.write_set
        if write_set.operation_id is None:
            return None
        manifest = self.repository.manifest
        return manifest.operation(write_set.operation_id, write_set.actor, ledger)

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
                raise ExpectedVersionMismatchError(key, expected, actual)

    def _only_moved(self, current: Commit, key: str, expected: int | None) -> bool:
        """Tell whether a table was only optimized since a version; its rows are the same then.

        What was staged on the rows as they lay before takes its place, so that nobody has to
        repeat a change because of an optimize.
        """
        manifest = self.repository.manifest
        ledger = manifest.newest()
        while current.parent is not None:
            parent = manifest.commits([current.parent], ledger)[current.parent]
            moved = _version(parent.tables, key) != _version(current.tables, key)
            if moved and current.kind is not CommitKind.PHYSICAL:
                return False
            if _version(parent.tables, key) == expected:
                return True
            current = parent
        return False

    def _commit(self, current: Commit) -> Commit:
        write_set = self.staged.write_set
        merged = write_set.merged_parent
        versions = [current.version]
        if merged is not None:
            versions.append(self.repository.commit(merged).version)
        return Commit(
            id=self.repository.clock.ulid(),
            parents=(current.id,) if merged is None else (current.id, merged),
            branch=self.branch,
            version=max(versions) + 1,
            kind=write_set.kind,
            created_at=self.repository.clock.time(),
            operation_id=self.operation,
            schema=write_set.schema or current.schema,
            tables={**current.tables, **self.staged.tables},
            actor=write_set.actor,
            message=write_set.message,
            affected=write_set.affected,
            request=write_set.request,
        )

    def _settled(self, commit: Commit, failed: StorageError | Crowded) -> Table:
        """Find out whether a flip without an answer was made."""
        manifest = self.repository.manifest
        try:
            ledger = manifest.settled(failed)
            if manifest.is_published(commit.id, ledger):
                return ledger
        except (StorageError, Crowded) as again:
            raise OutcomeUnknownError(
                f"the store failed while publishing commit {commit.id}: {again.message}",
                hint="look for it in the log of the branch before repeating the change",
            ) from failed
        raise failed


def _version(tables: Mapping[str, TableState], key: str) -> int | None:
    state = tables.get(key)
    return None if state is None else state.version
