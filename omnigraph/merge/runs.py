"""Runs: changes made aside on a hidden branch, and then published at once or given up."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from omnigraph.data.derived.topology import Topology
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    HeadMovedError,
    InputError,
    Json,
    OmniGraphError,
    RunNotFoundError,
    StorageError,
)
from omnigraph.merge.merge import Merge, MergeHow, merge
from omnigraph.storage import layout
from omnigraph.storage.steps import reached
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.branches import create_system_branch, delete_system_branch
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import is_ulid, time_of

PREFIX = "__run__"
_BEGUN = "begun"
_CLAIMED = "claimed"
_ENDED = "ended"
_OPERATIONS = "operations"
# The branch of a run is made before its record; so long, in microseconds, it is not taken for one
# that a crash left.
_LONGEST_BEGINNING = 3_600_000_000


class RunStatus(StrEnum):
    """How far a run came."""

    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run: where it publishes to, where it writes meanwhile, and how it ended."""

    run_id: str
    target_branch: str
    run_branch: str
    base_snapshot_id: str
    base_manifest_version: int
    operation_hash: str | None
    actor_id: str | None
    status: RunStatus
    published_snapshot_id: str | None
    created_at: int
    updated_at: int

    def to_json(self) -> dict[str, Json]:
        """Give the record in the stable machine form."""
        found: dict[str, Json] = asdict(self)
        return {**found, "status": str(self.status)}


def begin_run(
    repository: Repository,
    target: str,
    *,
    operation_hash: str | None = None,
    actor: str | None = None,
) -> RunRecord:
    """Begin a run on a branch; with an operation hash that a live run has, give that run."""
    repository.check_writable()
    clean_up(repository)
    branch = normalize_name(target)
    if operation_hash is None:
        return _completed(repository, _new(repository, branch, None, actor))
    folder = _operation(branch, operation_hash)
    for _ in attempts():
        taken = repository.store.objects.names(folder)
        last = _record(repository, f"{folder}/{taken[-1]}") if taken else None
        if last is not None and not _is_over(repository, last.run_id):
            return _completed(repository, last)
        record = _new(repository, branch, operation_hash, actor)
        path = f"{folder}/{len(taken) + 1:08}.json"
        if repository.store.objects.create(path, _encoded(record)):
            repository.tables.sync([path])
            reached("run claimed")
            return _completed(repository, record)
    raise HeadMovedError(f"others begin '{operation_hash}' again and again", hint="begin again")


def _new(
    repository: Repository, branch: str, operation_hash: str | None, actor: str | None
) -> RunRecord:
    base = repository.snapshot(branch).commit
    run_id, now = repository.clock.ulid(), repository.clock.time()
    return RunRecord(
        run_id=run_id,
        target_branch=branch,
        run_branch=PREFIX + run_id,
        base_snapshot_id=base.id,
        base_manifest_version=base.version,
        operation_hash=operation_hash,
        actor_id=actor,
        status=RunStatus.RUNNING,
        published_snapshot_id=None,
        created_at=now,
        updated_at=now,
    )


def _completed(repository: Repository, record: RunRecord) -> RunRecord:
    """Make the branch and the record of a run; whoever began it may have come half the way."""
    if find_run(repository, record.run_id) is None:
        with suppress(BranchExistsError):
            create_system_branch(repository, record.run_branch, record.base_snapshot_id)
        _write(repository, record, _BEGUN)
    return record


def publish_run(
    repository: Repository, topology: Topology, run_id: str, how: MergeHow
) -> tuple[RunRecord, Merge]:
    """Merge what a run wrote into its target; its branch is removed."""
    record = _live(repository, run_id)
    _claim(repository, record, RunStatus.PUBLISHED)
    try:
        done = merge(repository, topology, record.run_branch, record.target_branch, how)
    except OmniGraphError:
        repository.store.objects.delete(_path(run_id, _CLAIMED))
        raise
    published = done.ours.id if done.commit is None else done.commit.id
    record = _ended(repository, record, RunStatus.PUBLISHED, published)
    return record, done


def end_run(repository: Repository, run_id: str, status: RunStatus) -> RunRecord:
    """Give a run up, as aborted or failed; what it wrote is never published."""
    record = _live(repository, run_id)
    _claim(repository, record, status)
    return _ended(repository, record, status, None)


def list_runs(repository: Repository) -> list[RunRecord]:
    """Give all runs, newest first."""
    names = repository.store.objects.names(layout.RUNS)
    ids = sorted({name.partition("/")[0] for name in names}, reverse=True)
    return [record for each in ids if (record := _read(repository, each)) is not None]


def get_run(repository: Repository, run_id: str) -> RunRecord:
    """Give a run by its id."""
    found = find_run(repository, run_id)
    if found is None:
        raise RunNotFoundError(f"no run '{run_id}'")
    return found


def find_run(repository: Repository, run_id: str) -> RunRecord | None:
    """Give a run by its id, or None when there is none."""
    return _read(repository, run_id) if is_ulid(run_id) else None


def clean_up(repository: Repository) -> None:
    """Remove the branches of runs that ended, or that a crash left before they began."""
    for name in _branches(repository):
        if _is_over(repository, name.removeprefix(PREFIX)):
            _remove(repository, name)


def _is_over(repository: Repository, run_id: str) -> bool:
    """Tell whether a run ended, or did not begin in so long a time that it never will."""
    record = _read(repository, run_id)
    if record is None:
        return repository.clock.time() - time_of(run_id) > _LONGEST_BEGINNING
    return record.status is not RunStatus.RUNNING


def refuse_live(repository: Repository, branch: str) -> None:
    """Raise InputError when a run is to be published to a branch, which then has to stay."""
    live = live_runs(repository, branch)
    if live:
        raise InputError(
            f"run '{live[0].run_id}' is to be published to '{branch}'",
            hint="publish or abort it first",
        )


def live_runs(repository: Repository, branch: str) -> list[RunRecord]:
    """Give the runs that are to be published to a branch."""
    found = list_runs(repository)
    return [
        each
        for each in found
        if each.status is RunStatus.RUNNING and each.target_branch == normalize_name(branch)
    ]


def _live(repository: Repository, run_id: str) -> RunRecord:
    repository.check_writable()
    record = get_run(repository, run_id)
    if record.status is not RunStatus.RUNNING:
        raise InputError(f"run '{run_id}' is {record.status} already")
    return record


def _claim(repository: Repository, record: RunRecord, status: RunStatus) -> None:
    """Note how a run is about to end, so that it cannot end in two ways.

    Who ends it in the same way goes on: the other one may have died, and to publish twice is to
    publish once.
    """
    path = _path(record.run_id, _CLAIMED)
    objects = repository.store.objects
    if not objects.create(path, json.dumps(status).encode()):
        found = json.loads(objects.read(path) or b"null")
        if found not in (None, status):
            raise InputError(f"run '{record.run_id}' is about to be {found}")
    repository.tables.sync([path])


def _ended(
    repository: Repository, record: RunRecord, status: RunStatus, published: str | None
) -> RunRecord:
    now = repository.clock.time()
    ended = replace(record, status=status, published_snapshot_id=published, updated_at=now)
    if not _write(repository, ended, _ENDED):
        found = get_run(repository, record.run_id)
        raise InputError(f"run '{record.run_id}' is {found.status} already")
    _remove(repository, record.run_branch)
    return ended


def _remove(repository: Repository, branch: str) -> None:
    """Remove the branch of a run; another process may have done so."""
    try:
        delete_system_branch(repository, branch)
    except BranchNotFoundError:
        return


def _branches(repository: Repository) -> Iterator[str]:
    heads = repository.manifest.heads(repository.manifest.newest()).values()
    return (head.name for head in heads if head.name.startswith(PREFIX))


def _write(repository: Repository, record: RunRecord, name: str) -> bool:
    """Write the record of a run's begin or end, which is never changed; False if there is one."""
    path = _path(record.run_id, name)
    created = repository.store.objects.create(path, _encoded(record))
    repository.tables.sync([path])
    return created


def _path(run_id: str, name: str) -> str:
    return f"{layout.RUNS}/{run_id}/{name}.json"


def _read(repository: Repository, run_id: str) -> RunRecord | None:
    ended = _record(repository, _path(run_id, _ENDED))
    return _record(repository, _path(run_id, _BEGUN)) if ended is None else ended


def _operation(branch: str, operation_hash: str) -> str:
    """Give the folder of the runs that were begun for an operation on a branch, by number."""
    digest = hashlib.sha256(json.dumps([branch, operation_hash]).encode()).hexdigest()
    return f"{layout.RUNS}/{_OPERATIONS}/{digest}"


def _encoded(record: RunRecord) -> bytes:
    return json.dumps(record.to_json()).encode()


def _record(repository: Repository, path: str) -> RunRecord | None:
    """Give the record in a file, or None when there is no such file."""
    data = repository.store.objects.read(path)
    if data is None:
        return None
    try:
        found = json.loads(data)
        return RunRecord(**{**found, "status": RunStatus(found["status"])})
    except (ValueError, TypeError, KeyError) as failed:
        hint = "fsck tells whether more is damaged"
        raise StorageError(f"the record of a run, {path}, cannot be read", hint=hint) from failed
