"""Runs: changes on a hidden branch, published together or discarded."""

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    HeadMovedError,
    InputError,
    OmniGraphError,
    OutcomeUnknownError,
    RunNotFoundError,
    StorageError,
)
from omnigraph.merge.merge import merge
from omnigraph.merge.options import MergeOptions
from omnigraph.merge.run_record import RunRecord, RunStatus
from omnigraph.storage import layout
from omnigraph.storage.objects import Objects
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.branches import create_system_branch, delete_system_branch
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history import history
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.notes import check_notes, check_operation_hash
from omnigraph.versioning.once import write_once
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import is_ulid, time_of
from omnigraph.versioning.unknown_outcome import unknown_outcome

PREFIX = "__run__"
_BEGUN = "begun"
_CLAIMED = "claimed"
_ENDED = "ended"
_OPERATIONS = "operations"
# The branch of a run is created before its record. For this many microseconds a branch without a
# record is not taken for one that a crash left.
_LONGEST_BEGINNING = 3_600_000_000
# For this many microseconds a claim holds off whoever would end the run in another way.
_LONGEST_ENDING = 3_600_000_000
_LONGEST_MESSAGE = 1_000
_END_AGAIN = "end it in the same way again to complete it"


def begin_run(
    repository: Repository,
    target: str,
    *,
    operation_hash: str | None = None,
    actor: str | None = None,
) -> RunRecord:
    """Begin a run on a branch, or return the live run that has the same operation hash."""
    repository.check_writable()
    check_operation_hash(operation_hash)
    check_notes(actor=actor)
    clean_up(repository)
    branch = normalize_name(target)
    if operation_hash is None:
        return _complete(repository, _new(repository, branch, None, actor))
    folder = _operation(branch, operation_hash)
    for _ in attempts(repository.patience.seconds):
        taken = repository.store.objects.names(folder)
        last = _record(repository, f"{folder}/{taken[-1]}") if taken else None
        if last is not None and not _is_over(repository, last.run_id):
            return _complete(repository, last)
        record = _new(repository, branch, operation_hash, actor)
        path = f"{folder}/{_number(taken[-1]) + 1 if taken else 1:08}.json"
        if repository.store.objects.create(path, _encoded(record)):
            if taken and _record(repository, f"{folder}/{taken[-1]}") != last:
                # A cleanup removed the last one meanwhile, so others may count from 1 again.
                repository.store.objects.delete(path)
                continue
            repository.tables.sync([path])
            reached("run claimed")
            return _complete(repository, record)
    raise HeadMovedError(f"others kept beginning runs of '{operation_hash}'", hint="begin again")


def _new(
    repository: Repository, branch: str, operation_hash: str | None, actor: str | None
) -> RunRecord:
    base = repository.snapshot(branch).commit
    run_id, now = repository.clock.ulid(), repository.now()
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


def _complete(repository: Repository, record: RunRecord) -> RunRecord:
    """Create the branch and the record of a run, as far as they are missing."""
    if find_run(repository, record.run_id) is None:
        assert record.base_snapshot_id is not None
        with suppress(BranchExistsError):
            create_system_branch(repository, record.run_branch, record.base_snapshot_id)
        _write(repository, record, _BEGUN)
    return record


def publish_run(repository: Repository, run_id: str, options: MergeOptions) -> RunRecord:
    """Merge what a run wrote into its target and remove its branch.

    A published run is returned as it is. The branch of the run must still exist when its changes
    appear on the target, so that they never do after the run was aborted.
    """
    record = _not_ended_otherwise(repository, run_id, RunStatus.PUBLISHED)
    if record.status is RunStatus.PUBLISHED:
        return record
    is_own = _claim(repository, record, RunStatus.PUBLISHED)
    try:
        noted = replace(
            options,
            actor=options.actor or record.actor_id,
            message=options.message or _message(repository, record),
            holds=True,
        )
        done = merge(repository, record.run_branch, record.target_branch, noted)
    except OutcomeUnknownError:
        raise
    except OmniGraphError:
        if is_own:
            # The failure of the merge is what is told; a claim that stays gives way in time.
            with suppress(OmniGraphError):
                repository.store.objects.delete(_path(run_id, _CLAIMED))
        raise
    if done.commit is None:
        earlier = _find_merge(repository, record)
        return _record_published(repository, record, (earlier or done.ours).id)
    merged = f"run '{run_id}' was published by commit {done.commit.id}, but that is not recorded"
    with unknown_outcome(merged, _END_AGAIN):
        return _record_published(repository, record, done.commit.id)


def _message(repository: Repository, record: RunRecord) -> str:
    """Return the message of a publication: those of the run's commits, or that it is a run."""
    own = takewhile(
        lambda commit: commit.id != record.base_snapshot_id,
        history.log(repository, record.run_branch),
    )
    told = dict.fromkeys(each.message for each in own if each.message is not None)
    return shorten("; ".join(reversed(told)), _LONGEST_MESSAGE) or f"run {record.run_id}"


def end_run(repository: Repository, run_id: str, status: RunStatus) -> RunRecord:
    """End a run as aborted or failed; what it wrote is never published.

    A run that ended so is returned as it is. Its branch is removed first, which makes any publisher
    fail; one that came before that is found on the target.
    """
    record = _not_ended_otherwise(repository, run_id, status)
    if record.status is status:
        return record
    _claim(repository, record, status)
    _remove(repository, record.run_branch)
    with unknown_outcome(
        f"the branch of run '{run_id}' is gone, but its end is not recorded", _END_AGAIN
    ):
        merged = _find_merge(repository, record)
    if merged is not None:
        _record_published(repository, record, merged.id)
        raise InputError(f"run '{run_id}' is {RunStatus.PUBLISHED} already")
    return _record_end(repository, record, status, None)


def list_runs(repository: Repository) -> list[RunRecord]:
    """Return all runs, newest first."""
    return list(runs_after(repository))


def runs_after(repository: Repository, after: str | None = None) -> Iterator[RunRecord]:
    """Yield the runs after one of them, newest first; each is read when it is reached."""
    names = repository.store.objects.names(layout.RUNS)
    ids = sorted({name.partition("/")[0] for name in names}, reverse=True)
    wanted = (each for each in ids if after is None or each < after)
    return (record for each in wanted if (record := _read(repository, each)) is not None)


def get_run(repository: Repository, run_id: str) -> RunRecord:
    """Return a run by its id."""
    found = find_run(repository, run_id)
    if found is None:
        raise RunNotFoundError(f"no run '{run_id}'")
    return found


def find_run(repository: Repository, run_id: str) -> RunRecord | None:
    """Return a run by its id, or None when there is none."""
    return _read(repository, run_id) if is_ulid(run_id) else None


def clean_up(repository: Repository) -> None:
    """Remove the branches of runs that ended, or that a crash left before they began."""
    for name in _branches(repository):
        if _is_over(repository, name.removeprefix(PREFIX)):
            _remove(repository, name)


def expire_runs(repository: Repository, before: int, done: Callable[[str], None]) -> None:
    """End as failed the runs that nobody wrote to since a time, and remove what crashes left.

    A run that is about to be published stays, so that its publisher can continue. `done` is called
    with the id of each that was ended.
    """
    clean_up(repository)
    live = (each for each in list_runs(repository) if each.status is RunStatus.RUNNING)
    at = repository.manifest.newest()
    for record in live:
        is_free = _claimed_as(repository.store.objects, record.run_id) in (None, RunStatus.FAILED)
        if is_free and _last_written(repository, record, at) < before:
            with suppress(InputError):
                end_run(repository, record.run_id, RunStatus.FAILED)
                done(record.run_id)


def _last_written(repository: Repository, record: RunRecord, at: Table) -> int:
    """Return when a run was begun or its branch last moved, whichever is later."""
    if repository.manifest.twin(record.run_branch, at) is None:
        return record.updated_at
    head = repository.manifest.head_commit(record.run_branch, at)
    return max(record.updated_at, head.created_at)


def find_outdated(repository: Repository, paths: Iterable[str], before: int) -> set[str]:
    """Return those of the files of runs whose run ended before a time."""
    runs = {each.run_id: each for each in list_runs(repository)}

    def is_outdated(path: str) -> bool:
        run_id = path.split("/")[1]
        if run_id != _OPERATIONS:
            return run_id in runs and _ended_before(runs[run_id], before)
        record = _record(repository, path)
        if record is None or record.run_id in runs:
            return record is not None and _ended_before(runs[record.run_id], before)
        # The run itself was removed before, or never began.
        return record.created_at < before

    return {each for each in paths if is_outdated(each)}


def run_files(paths: Iterable[str], before: Set[str], heads: Container[str]) -> set[str]:
    """Return those of the files of runs that belong to a graph whose heads were read.

    `before` are the files that were there before that. A run whose branch is among the heads goes
    on: how it ended came later. One that has no branch there had ended, or was not begun yet.
    """

    def belongs(path: str) -> bool:
        _, run_id, *name = path.split("/")
        if run_id == _OPERATIONS:
            return path in before
        if PREFIX + run_id in heads:
            return name == [f"{_BEGUN}.json"]
        return _path(run_id, _BEGUN) in before

    return {each for each in paths if each.startswith(f"{layout.RUNS}/") and belongs(each)}


def _ended_before(record: RunRecord, time: int) -> bool:
    return record.status is not RunStatus.RUNNING and record.updated_at < time


def _is_over(repository: Repository, run_id: str) -> bool:
    """Whether a run ended, or has not begun for so long that it never will."""
    record = _read(repository, run_id)
    if record is None:
        return repository.store.now() - time_of(run_id) > _LONGEST_BEGINNING
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
    """Return the runs that are to be published to a branch, newest first.

    A live run has a branch of its own, so those without one, which only grow in number, are not
    read.
    """
    wanted = normalize_name(branch)
    ids = sorted((each.removeprefix(PREFIX) for each in _branches(repository)), reverse=True)
    found = (_read(repository, each) for each in ids)
    return [
        each
        for each in found
        if each is not None and each.status is RunStatus.RUNNING and each.target_branch == wanted
    ]


def _not_ended_otherwise(repository: Repository, run_id: str, status: RunStatus) -> RunRecord:
    """Return a run that is live or has this status; raises InputError if it ended otherwise."""
    repository.check_writable()
    record = get_run(repository, run_id)
    if record.status not in (RunStatus.RUNNING, status):
        raise InputError(f"run '{run_id}' is {record.status} already")
    return record


def _claim(repository: Repository, record: RunRecord, status: RunStatus) -> bool:
    """Record how a run is about to end; returns whether this caller recorded it.

    Whoever ends it the same way continues: the other may have died, and publishing twice is the
    same as publishing once. Another end has to wait until the claim is so old that a crash must
    have left it. The claim only saves useless work: the branch of the run ensures that no run is
    both given up and published.
    """
    path = _path(record.run_id, _CLAIMED)
    objects, claim = repository.store.objects, json.dumps(status).encode()
    try:
        is_own = objects.create(path, claim)
    except StorageError:
        if objects.read(path) != claim:
            raise
        is_own = True  # it was written, and only the reply was lost
    if not is_own:
        found = _claimed_as(objects, record.run_id)
        if found not in (None, status):
            if not _is_left(repository, path):
                raise InputError(f"run '{record.run_id}' is about to be {found}")
            objects.write(path, claim)
            is_own = True
    repository.tables.sync([path])
    reached("end claimed")
    return is_own


def gives_up_branch(objects: Objects, branch: str) -> bool:
    """Whether the run of a branch ended, or is about to end without being published.

    Such an end is claimed before the branch is removed, and recorded after it.
    """
    run_id = branch.removeprefix(PREFIX)
    if objects.read(_path(run_id, _ENDED)) is not None:
        return True
    with suppress(StorageError):
        return _claimed_as(objects, run_id) in (RunStatus.ABORTED, RunStatus.FAILED)
    return False


def _claimed_as(objects: Objects, run_id: str) -> str | None:
    """Return how a run is about to end, or None when nobody is ending it."""
    path = _path(run_id, _CLAIMED)
    claim = objects.read(path)
    try:
        found: str | None = json.loads(claim or b"null")
    except (ValueError, RecursionError) as failed:
        raise StorageError(f"the claim of a run, {path}, cannot be read") from failed
    return found


def _is_left(repository: Repository, path: str) -> bool:
    """Whether a claim is older than any end of a run takes."""
    found = repository.store.objects.listing(path.rpartition("/")[0])
    oldest = repository.store.now() - _LONGEST_ENDING
    return any(each.path == path and each.modified < oldest for each in found)


def _find_merge(repository: Repository, record: RunRecord) -> Commit | None:
    """Return the commit of the target that published a run, if there is one."""
    try:
        for commit in history.log(repository, record.target_branch):
            if commit.id == record.base_snapshot_id:
                return None
            merged = commit.merged_parent
            if merged is not None and repository.commit(merged).branch == record.run_branch:
                return commit
    except BranchNotFoundError:
        return None  # the target is gone, with all that was published to it
    return None


def _record_published(repository: Repository, record: RunRecord, commit_id: str) -> RunRecord:
    """Record that a run was published; the next run removes its branch if that fails here."""
    ended = _record_end(repository, record, RunStatus.PUBLISHED, commit_id)
    with suppress(OmniGraphError):
        _remove(repository, record.run_branch)
    return ended


def _record_end(
    repository: Repository, record: RunRecord, status: RunStatus, published: str | None
) -> RunRecord:
    """Record how a run ended and return its record; another process may have recorded the same."""
    now = repository.now()
    ended = replace(record, status=status, published_snapshot_id=published, updated_at=now)
    with unknown_outcome(f"how run '{record.run_id}' ended could not be recorded", _END_AGAIN):
        is_first = _write(repository, ended, _ENDED)
    if not is_first:
        return _not_ended_otherwise(repository, record.run_id, status)
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
    """Write a record of a run's begin or end, which never changes; False if there is one."""
    path, hint = _path(record.run_id, name), "look at the run before repeating it"
    return write_once(repository.tables, path, _encoded(record), hint)


def _path(run_id: str, name: str) -> str:
    return f"{layout.RUNS}/{run_id}/{name}.json"


def _read(repository: Repository, run_id: str) -> RunRecord | None:
    ended = _record(repository, _path(run_id, _ENDED))
    return _record(repository, _path(run_id, _BEGUN)) if ended is None else ended


def _operation(branch: str, operation_hash: str) -> str:
    """Return the folder of the numbered runs of one operation on a branch."""
    digest = hashlib.sha256(json.dumps([branch, operation_hash]).encode()).hexdigest()
    return f"{layout.RUNS}/{_OPERATIONS}/{digest}"


def _number(name: str) -> int:
    """Return the number of a run among those of its operation."""
    return int(name.removesuffix(".json"))


def _encoded(record: RunRecord) -> bytes:
    return json.dumps(record.to_json()).encode()


def _record(repository: Repository, path: str) -> RunRecord | None:
    """Return the record in a file, or None when there is no such file."""
    data = repository.store.objects.read(path)
    if data is None:
        return None
    try:
        found = json.loads(data)
        return RunRecord.from_json(found)
    except (ValueError, TypeError, KeyError, RecursionError) as failed:
        hint = "fsck tells whether more is damaged"
        raise StorageError(f"the record of a run, {path}, cannot be read", hint=hint) from failed
