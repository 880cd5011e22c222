"""Cleanup: removes the tables of commits that are not kept, and what crashed writers left."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from omnigraph.errors import HeadMovedError
from omnigraph.maintain.reports import Cleaned, CleanedTable
from omnigraph.merge.run_record import RunStatus
from omnigraph.merge.runs import list_runs
from omnigraph.storage import layout
from omnigraph.storage.failures import Rejected
from omnigraph.storage.objects import Stored
from omnigraph.storage.steps import reached
from omnigraph.storage.sweep import Unneeded, by_table, unneeded
from omnigraph.storage.table import Table
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.retention import History, Retention, in_microseconds, retained

# Lance tells rivals by what it finds in the ledger, so this much of it always stays.
LEDGER_AGE = timedelta(hours=1)


def cleanup(repository: Repository, rule: Retention, *, confirm: bool) -> Cleaned:
    """Remove what no kept commit needs; without `confirm`, only tell what that is.

    All files are listed first, and only such are removed as are older than the grace period.
    Whoever makes a branch meanwhile either keeps its commit from being cleaned up, or is told.
    """
    if not confirm:
        return _plan(repository, rule).told(confirmed=False)
    repository.check_writable()
    for _ in attempts():
        try:
            _revoke_interrupted(repository)
            plan = _plan(repository, rule)
            claimed = _claimed(repository, plan)
        except Rejected:
            continue
        if claimed:
            return _removed(repository, plan, rule)
    raise HeadMovedError("branches were made again and again; nothing was removed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to be removed, as of one version of the ledger."""

    ledger: Table
    keys: Mapping[str, str]
    doomed: frozenset[tuple[str, int]]
    tables: tuple[Unneeded, ...]
    others: Mapping[str, tuple[Stored, ...]]
    commits_kept: int
    commits_cleaned: int

    def told(self, *, confirmed: bool, ledger_bytes: int = 0) -> Cleaned:
        others = [
            CleanedTable(
                table_key=name,
                bytes_removed=sum(each.size for each in files),
                files_removed=len(files),
            )
            for name, files in self.others.items()
            if files
        ]
        if ledger_bytes:
            others.append(CleanedTable(table_key=layout.MANIFEST, bytes_removed=ledger_bytes))
        return Cleaned(
            confirmed=confirmed,
            commits_kept=self.commits_kept,
            commits_cleaned=self.commits_cleaned,
            tables=tuple(self._table(each) for each in self.tables),
            others=tuple(others),
        )

    def _table(self, found: Unneeded) -> CleanedTable:
        key = self.keys.get(found.path, found.path)
        published = {version for name, version in self.doomed if name == key}
        return CleanedTable(
            table_key=key,
            bytes_removed=found.size,
            old_versions_removed=len(found.versions & published),
            files_removed=len(found.manifests) + len(found.others),
        )


def _plan(repository: Repository, rule: Retention) -> _Plan:
    """Find out what can be removed; the files are listed before the ledger is read."""
    listing = repository.store.objects.listing()
    manifest = repository.manifest
    ledger = manifest.newest()
    commits = manifest.every_commit(ledger)
    heads = {head.name: head.commit for head in manifest.heads(ledger).values()}
    now = repository.clock.time()
    buried = manifest.buried(ledger)
    wanted = retained(History(commits, heads, manifest.retired(ledger)), rule, now)
    # What an earlier cleanup took of a commit cannot come back.
    lost = {each for each in wanted if _has(commits[each], buried)}
    kept = wanted - (lost - set(heads.values()))
    found = unneeded(
        repository.tables,
        by_table(listing),
        _needed(commits[each] for each in kept),
        now - rule.grace,
    )
    gone = {(each.path, version) for each in found for version in each.versions}
    doomed = {
        (key, state.version)
        for commit in commits.values()
        for key, state in commit.tables.items()
        if (state.path, state.version) in gone
    }
    cleaned = [each for each in commits.values() if _has(each, doomed | buried)]
    return _Plan(
        ledger=ledger,
        keys={state.path: key for each in commits.values() for key, state in each.tables.items()},
        doomed=frozenset(doomed),
        tables=tuple(found),
        others=_others(repository, listing, commits.values(), rule, now),
        commits_kept=len(kept),
        commits_cleaned=len(cleaned),
    )


def _revoke_interrupted(repository: Repository) -> None:
    """Take back the cleanups that buried what a head has: they cannot have removed anything."""
    manifest = repository.manifest
    ledger = manifest.newest()
    heads = [head.commit for head in manifest.heads(ledger).values()]
    commits = manifest.commits(heads, ledger).values()
    versions = {each for commit in commits for each in _versions(commit)}
    interrupted = manifest.cleanups_of(ledger, versions)
    if interrupted:
        manifest.revoke(ledger, interrupted)


def _claimed(repository: Repository, plan: _Plan) -> bool:
    """Say in the ledger what is about to be removed; False when a new head needs some of it.

    All of it is buried under the id of this cleanup, so that others can be revoked.
    """
    if not plan.doomed:
        return True
    manifest = repository.manifest
    cleanup_id = manifest.new_cleanup(plan.ledger, repository.clock.ulid())
    manifest.bury(plan.ledger, cleanup_id, sorted(plan.doomed))
    reached("versions buried")
    marked = manifest.mark_cleaning(manifest.newest(), cleanup_id)
    repository.tables.sync_table(marked)
    reached("cleanup marked")
    heads = [head.commit for head in manifest.heads(marked).values()]
    if any(_has(each, plan.doomed) for each in manifest.commits(heads, marked).values()):
        manifest.revoke(marked, [cleanup_id])
        return False
    return not manifest.is_revoked(marked, cleanup_id)


def _removed(repository: Repository, plan: _Plan, rule: Retention) -> Cleaned:
    """Remove what was planned, manifests first, so that none names a file that is gone."""
    objects, tables = repository.store.objects, repository.tables
    for each in plan.tables:
        tables.drop(each.path, each.versions)
    objects.delete_many(file.path for each in plan.tables for file in each.manifests)
    reached("manifests removed")
    objects.delete_many(file.path for each in plan.tables for file in each.others)
    objects.drop_empty({folder for each in plan.tables for folder in each.index_folders})
    reached("files removed")
    leftovers = [file.path for files in plan.others.values() for file in files]
    objects.delete_many(leftovers)
    objects.drop_empty({"/".join(each.split("/")[:2]) for each in leftovers})
    reached("leftovers removed")
    age = max(LEDGER_AGE, timedelta(microseconds=rule.grace))
    freed = tables.forget_old(repository.manifest.newest(), age)
    reached("ledger cleaned")
    return plan.told(confirmed=True, ledger_bytes=freed)


def _needed(commits: Iterable[Commit]) -> dict[str, set[int]]:
    """Give the versions of tables that commits have, by the folder of the table."""
    found: dict[str, set[int]] = {}
    for commit in commits:
        for state in commit.tables.values():
            found.setdefault(state.path, set()).add(state.version)
    return found


def _has(commit: Commit, versions: Iterable[tuple[str, int]]) -> bool:
    return not _versions(commit).isdisjoint(versions)


def _versions(commit: Commit) -> set[tuple[str, int]]:
    """Give the versions of tables that a commit has, by table key."""
    return {(key, state.version) for key, state in commit.tables.items()}


def _others(
    repository: Repository,
    listing: Iterable[Stored],
    commits: Iterable[Commit],
    rule: Retention,
    now: int,
) -> dict[str, tuple[Stored, ...]]:
    """Give the files beside the tables that nothing needs, by their folder."""
    schemas = {layout.schema_path(commit.schema) for commit in commits}
    ended = _ended_runs(repository, rule, now)
    folders = (layout.ASIDE, layout.SCHEMAS, layout.RUNS, layout.TOPOLOGY, layout.OPERATIONS)
    found: dict[str, list[Stored]] = {folder: [] for folder in folders}
    for each in listing:
        folder, _, name = each.path.partition("/")
        is_old = each.modified < now - rule.grace
        match folder:
            case layout.ASIDE:
                is_needed = False
            case layout.SCHEMAS:
                is_needed = each.path in schemas
            case layout.RUNS:
                is_needed = name.partition("/")[0] not in ended
            case layout.TOPOLOGY:
                is_needed = not name.startswith(".")
            case layout.OPERATIONS:
                is_needed = each.modified >= now - in_microseconds(layout.OPERATIONS_AGE)
            case _:
                continue
        if is_old and not is_needed:
            found[folder].append(each)
    return {folder: tuple(files) for folder, files in found.items()}


def _ended_runs(repository: Repository, rule: Retention, now: int) -> set[str]:
    """Give the runs that ended so long ago that their records can go."""
    if rule.older_than is None:
        return set()
    return {
        each.run_id
        for each in list_runs(repository)
        if each.status is not RunStatus.RUNNING and each.updated_at < now - rule.age
    }
