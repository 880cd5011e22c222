"""Cleanup: removes the tables of commits that are not kept, and what crashed writers left."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager

from omnigraph.errors import HeadMovedError, OmniGraphError, StorageError
from omnigraph.frozen import dataclass
from omnigraph.maintain.reports import Cleaned, CleanedTable
from omnigraph.maintain.scope import WHOLE_GRAPH, Scope
from omnigraph.merge.runs import expire_runs, find_outdated
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.storage import layout
from omnigraph.storage.failures import CommitRejectedError
from omnigraph.storage.forward import attached_versions
from omnigraph.storage.objects import Stored
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.storage.upkeep.sweep import UnneededFiles, by_table, find_unneeded
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history.retention import (
    History,
    Retention,
    in_microseconds,
    retained_commits,
)
from omnigraph.versioning.manifest import freshness
from omnigraph.versioning.manifest.fresh import fresh_texts
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import now_us
from omnigraph.versioning.unknown_outcome import unknown_outcome

# Lance detects rivals from versions of the manifest, so those younger than this always stay.
MANIFEST_AGE = freshness.MANIFEST_AGE
# Vectors that were paid for, by the digest of their input.
_ENTRY = re.compile(r"[0-9a-f]{64}")
# When the files of a run go; all else goes in between.
_TURNS = {"begun.json": 0, "ended.json": 2}


def cleanup(
    repository: Repository,
    rule: Retention,
    *,
    confirm: bool,
    scope: Scope = WHOLE_GRAPH,
    progress: Progress = NO_PROGRESS,
    deadline: Deadline = NO_DEADLINE,
) -> Cleaned:
    """Remove what no kept commit needs; without `confirm`, only report what that is.

    A scope limits it to the commits of some branches and the tables of some types; files outside
    the tables, and runs, are then left alone.

    All files are listed first, and only those older than the grace period are removed. Whoever
    creates a branch meanwhile either keeps its commit from being cleaned up, or gets an error.
    Raises CancelledError or BudgetError when the deadline is over before anything is removed or
    ended.
    """
    if not confirm:
        # A preview writes nothing, so that it is told by the clock of this machine.
        plan = _plan(repository, rule, now_us(), scope, progress, deadline)
        return plan.report(confirmed=False)
    repository.check_writable()
    deadline.check()
    ended: list[str] = []
    with _not_denying(ended):
        if rule.older_than is not None and scope.is_all:
            expire_runs(repository, repository.store.now() - rule.age, ended.append)
        return _clean_up(repository, rule, scope, progress, deadline)


def _clean_up(
    repository: Repository, rule: Retention, scope: Scope, progress: Progress, deadline: Deadline
) -> Cleaned:
    """Remove what no kept commit needs; raise HeadMovedError when that never stays the same."""
    for _ in attempts(repository.patience.seconds):
        try:
            _revoke_interrupted(repository)
            now = repository.store.now()
            plan = _plan(repository, rule, now, scope, progress, deadline)
            claimed = _claim(repository, plan)
        except CommitRejectedError:
            continue
        if claimed:
            progress.begin("removing files")
            with _begun():
                return _remove(repository, plan, rule, now)
    seconds = repository.patience.seconds
    raise HeadMovedError(f"branches kept appearing; gave up after {seconds:g} s, nothing removed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _CleanupPlan:
    """What is to be removed, as of one version of the manifest."""

    published: Mapping[str, Commit]
    retired: Mapping[str, int]
    keys: Mapping[str, str]
    main: Snapshot
    doomed: frozenset[tuple[str, int]]
    tables: tuple[UnneededFiles, ...]
    others: Mapping[str, tuple[Stored, ...]]
    commits_kept: int
    commits_cleaned: int

    def report(self, *, confirmed: bool, manifest_bytes: int = 0) -> Cleaned:
        others = [
            CleanedTable(
                table_key=name,
                bytes_removed=sum(each.size for each in files),
                files_removed=len(files),
            )
            for name, files in self.others.items()
            if files
        ]
        if manifest_bytes:
            others.append(CleanedTable(table_key=layout.MANIFEST, bytes_removed=manifest_bytes))
        return Cleaned(
            confirmed=confirmed,
            commits_kept=self.commits_kept,
            commits_cleaned=self.commits_cleaned,
            tables=tuple(self._table(each) for each in self.tables),
            others=tuple(others),
        )

    def _table(self, found: UnneededFiles) -> CleanedTable:
        key = self.keys.get(found.path, found.path)
        published = {version for name, version in self.doomed if name == key}
        return CleanedTable(
            table_key=self.main.key_of(key),
            bytes_removed=found.size,
            old_versions_removed=len(found.versions & published),
            files_removed=len(found.manifests) + len(found.others),
        )


def _plan(
    repository: Repository,
    rule: Retention,
    now: int,
    scope: Scope,
    progress: Progress,
    deadline: Deadline,
) -> _CleanupPlan:
    """Find out what can be removed; the files are listed before the manifest is read."""
    progress.begin("listing files")
    listing = repository.store.objects.listing()
    deadline.check()
    manifest = repository.manifest
    progress.begin("reading commits")
    at = manifest.newest()
    commits = manifest.every_commit(at)
    heads = {head.name: head.commit for head in manifest.heads(at).values()}
    schemas = {each.schema for each in commits.values()} if scope.types else set()
    catalogs = [repository.catalog(each) for each in schemas]
    scope.check(heads, catalogs)
    buried, retired = manifest.buried(at), manifest.retired(at)
    history = History(commits, heads, retired)
    recent = _made_since(repository, at, listing, now - rule.grace, commits.values())
    wanted = retained_commits(history, rule, now, recent)
    wanted |= history.published.keys() - scope.commits(commits, heads)
    # What an earlier cleanup removed of a commit cannot come back.
    lost = {each for each in wanted if _has(commits[each], buried)}
    kept = wanted - (lost - set(heads.values()))
    progress.begin("looking for files that nobody needs")
    needed = _needed(commits[each] for each in kept)
    found = find_unneeded(
        repository.tables,
        _tables_of(by_table(listing), commits.values(), scope, catalogs),
        needed,
        now - rule.grace,
        deadline.check,
    )
    gone = {(each.path, version) for each in found for version in each.versions}
    doomed = {
        (key, state.version)
        for commit in commits.values()
        for key, state in commit.tables.items()
        if (state.path, state.version) in gone
    }
    removed = doomed | buried
    cleaned = [each for each in commits.values() if _has(each, removed)]
    return _CleanupPlan(
        published=history.published,
        retired=retired,
        keys={state.path: key for each in commits.values() for key, state in each.tables.items()},
        main=repository.pin(commits[heads[MAIN]]),
        doomed=frozenset(doomed),
        tables=tuple(found),
        others=_others(repository, listing, rule, now, needed) if scope.is_all else {},
        commits_kept=len(kept),
        commits_cleaned=len(cleaned),
    )


def _made_since(
    repository: Repository,
    at: Table,
    listing: Iterable[Stored],
    before: int,
    commits: Iterable[Commit],
) -> set[str]:
    """Return commits made after a time, by the clock of the store: that of a writer may be behind.

    They have a young table, or a young key, as one has that only adopts tables.
    """
    young = {each.path for each in listing if each.modified >= before}
    staged = {
        each.id
        for each in commits
        if young and any(state.manifest in young for state in each.tables.values())
    }
    files = (each for each in listing if each.path.startswith(f"{layout.MANIFEST}/_versions/"))
    old = attached_versions(each for each in files if each.path not in young)
    return staged | (fresh_texts(at).keys() - _keys_in(repository, at, max(old, default=0)))


def _keys_in(repository: Repository, at: Table, version: int) -> Set[str]:
    """Return the commits that were keys in a version of the manifest; none when it is gone."""
    if not version:
        return set()
    if version >= at.version:
        return fresh_texts(at).keys()
    try:
        found = fresh_texts(repository.tables.open(layout.MANIFEST, version)).keys()
    except StorageError:
        return set()
    repository.tables.drop(layout.MANIFEST, [version])  # it has all heads
    return found


def _revoke_interrupted(repository: Repository) -> None:
    """Revoke the cleanups that buried what a head needs, if they removed nothing.

    Release 0.1 marks a cleanup and checks the heads afterwards, so a crash can leave such a one.
    """
    manifest = repository.manifest
    at = manifest.newest()
    heads = [head.commit for head in manifest.heads(at).values()]
    commits = manifest.commits(heads, at).values()
    versions = {each for commit in commits for each in commit.table_versions}
    interrupted = manifest.cleanups_of(at, versions)
    if interrupted:
        manifest.revoke(at, interrupted - _begun_to_remove(repository, at, interrupted))


def _begun_to_remove(repository: Repository, at: Table, cleanups: Set[str]) -> set[str]:
    """Return those of some cleanups that have removed a version; Lance manifests go first."""
    manifest = repository.manifest
    there = {each.path for each in repository.store.objects.listing()}
    gone = {
        (key, state.version)
        for commit in manifest.every_commit(at).values()
        for key, state in commit.tables.items()
        if state.manifest not in there
    }
    return manifest.cleanups_of(at, gone) & cleanups


def _claim(repository: Repository, plan: _CleanupPlan) -> bool:
    """Note in the manifest what is about to be removed; False when some of it is needed by now.

    All of it is buried under the id of this cleanup, so that others can be revoked. Whoever creates
    a head that needs old versions after the last check keeps the cleanup from being marked.
    """
    if not plan.doomed:
        return True
    manifest = repository.manifest
    with _begun():
        cleanup_id, begun = manifest.begin_cleanup(manifest.newest(), repository.clock.ulid())
        reached("cleanup begun")
        manifest.bury(begun, cleanup_id, sorted(plan.doomed))
        reached("versions buried")
        at = manifest.newest()
        if _is_needed(repository, plan, at):
            return False
        reached("heads checked")
        marked = manifest.mark_cleaning(at, cleanup_id)
        repository.tables.sync_table(marked)
        reached("cleanup marked")
    return True


def _is_needed(repository: Repository, plan: _CleanupPlan, at: Table) -> bool:
    """Whether something that a plan removes has been needed since it was made.

    These are the heads, the commits published since, back to those of the plan, and where branches
    stood that were deleted since: their grace period begins now.
    """
    manifest = repository.manifest
    retired = manifest.retired(at).items() - plan.retired.items()
    waiting = {head.commit for head in manifest.heads(at).values()}
    waiting |= {commit for commit, _ in retired}
    seen: set[str] = set()
    new: list[Commit] = []
    while waiting:
        seen |= waiting
        found = manifest.commits(waiting, at).values()
        if any(_has(each, plan.doomed) for each in found):
            return True
        later = [each for each in found if each.id not in plan.published]
        new += later
        waiting = {parent for each in later for parent in each.parents} - seen
    return _needs_files(repository, plan, new)


def _needs_files(repository: Repository, plan: _CleanupPlan, new: Iterable[Commit]) -> bool:
    """Whether commits have files that a plan removes.

    Versions may be staged on those of any commit, also of one that is not their parent.
    """
    known = _needed(plan.published.values())
    gone = {each.path: each.parts for each in plan.tables}
    return any(
        not gone[path].isdisjoint(repository.tables.files_of(path, version))
        for path, versions in _needed(new).items()
        for version in versions - known.get(path, set())
        if path in gone
    )


@contextmanager
def _not_denying(ended: list[str]) -> Iterator[None]:
    """Let no failure of the block say that nothing was done, once runs were ended."""
    try:
        yield
    except OmniGraphError:
        if not ended:
            raise
        runs = "1 old run" if len(ended) == 1 else f"{len(ended)} old runs"
        done = f"the cleanup ended {runs}, and may have done no more"
        with unknown_outcome(done, "clean up again to complete it"):
            raise


def _begun() -> AbstractContextManager[None]:
    """Return a guard under which a failure does not claim that nothing was cleaned up."""
    return unknown_outcome("the cleanup may have done a part", "clean up again to complete it")


def _remove(repository: Repository, plan: _CleanupPlan, rule: Retention, now: int) -> Cleaned:
    """Remove what was planned, Lance manifests first, so that none names a file that is gone."""
    objects, tables = repository.store.objects, repository.tables
    for each in plan.tables:
        tables.drop(each.path, each.versions)
    objects.delete_many(file.path for each in plan.tables for file in each.manifests)
    reached("manifests removed")
    objects.delete_many(file.path for each in plan.tables for file in each.others)
    objects.drop_empty({folder for each in plan.tables for folder in each.index_folders})
    reached("files removed")
    leftovers = [file.path for files in plan.others.values() for file in files]
    for some in _in_turn(leftovers):
        objects.delete_many(some)
    objects.drop_empty({"/".join(each.split("/")[:2]) for each in leftovers})
    reached("leftovers removed")
    age = max(in_microseconds(MANIFEST_AGE), rule.grace)
    freed = tables.forget_old(repository.manifest.newest(), now - age)
    reached("manifest cleaned")
    return plan.report(confirmed=True, manifest_bytes=freed)


def _in_turn(paths: Iterable[str]) -> tuple[list[str], ...]:
    """Return files in the order in which they go: of a run, its begin first and its end last.

    A run that has a begin and no end goes on, and records without either are never found again.
    """
    turns: tuple[list[str], ...] = [], [], []
    for path in paths:
        turns[_TURNS.get(path.rpartition("/")[2], 1)].append(path)
    return turns


def _tables_of(
    files: Mapping[str, list[Stored]],
    commits: Iterable[Commit],
    scope: Scope,
    catalogs: Iterable[Catalog],
) -> Mapping[str, list[Stored]]:
    """Return the files of the tables of the types that are meant."""
    if not scope.types:
        return files
    keys = {key for each in catalogs for key in scope.keys(each)}
    paths = {state.path for each in commits for key, state in each.tables.items() if key in keys}
    return {path: each for path, each in files.items() if path in paths}


def _needed(commits: Iterable[Commit]) -> dict[str, set[int]]:
    """Return the versions of tables that commits have, by the folder of the table."""
    found: dict[str, set[int]] = {}
    for commit in commits:
        for state in commit.tables.values():
            found.setdefault(state.path, set()).add(state.version)
    return found


def _has(commit: Commit, versions: Iterable[tuple[str, int]]) -> bool:
    return not commit.table_versions.isdisjoint(versions)


def _others(
    repository: Repository,
    listing: Iterable[Stored],
    rule: Retention,
    now: int,
    needed: Mapping[str, set[int]],
) -> dict[str, tuple[Stored, ...]]:
    """Return the files outside the tables that nothing needs, by their folder.

    Schemas are never among them. They are small, and one that no commit names may be about to be
    named: whoever applies it again finds it there.
    """
    folders = (
        layout.ASIDE,
        layout.RUNS,
        layout.TOPOLOGY,
        layout.COPIES,
        layout.OPERATIONS,
        layout.EMBEDDINGS,
    )
    copied = {layout.copied_version(path, each) for path in needed for each in needed[path]}
    found: dict[str, list[Stored]] = {folder: [] for folder in folders}
    old = [each for each in listing if each.modified < now - rule.grace]
    runs = _old_runs(repository, old, rule, now)
    for each in old:
        folder, _, name = each.path.partition("/")
        match folder:
            case layout.ASIDE:
                is_needed = False
            case layout.RUNS:
                is_needed = each.path not in runs
            case layout.TOPOLOGY:
                is_needed = not name.startswith(".")
            case layout.COPIES:
                is_needed = name.partition("/")[0].rpartition(".")[0] in copied
            case layout.OPERATIONS:
                is_needed = each.modified >= now - in_microseconds(layout.OPERATIONS_AGE)
            case layout.EMBEDDINGS:
                is_old = rule.older_than is not None and each.modified < now - rule.age
                is_needed = not (is_old and _ENTRY.fullmatch(name))
            case _:
                continue
        if not is_needed:
            found[folder].append(each)
    return {folder: tuple(files) for folder, files in found.items()}


def _old_runs(
    repository: Repository, listing: Iterable[Stored], rule: Retention, now: int
) -> set[str]:
    """Return the files of runs that ended so long ago that their records can go."""
    if rule.older_than is None:
        return set()
    files = [each.path for each in listing if each.path.startswith(f"{layout.RUNS}/")]
    return find_outdated(repository, files, now - rule.age)
