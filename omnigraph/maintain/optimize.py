"""Optimize: joins small fragments and completes the indexes of a branch, as one physical commit."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.maintain.coverage import table_coverage
from omnigraph.maintain.keywords import OptimizeKeywords
from omnigraph.maintain.reports import Optimized, OptimizedTable
from omnigraph.maintain.scope import Scope
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.choice import Engine, default_settings, runner_for_optimize
from omnigraph.spark.deadline import Deadline, deadline_of
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Runner
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.indexes import (
    DueSegment,
    indexes_of,
    vector_indexes_of,
)
from omnigraph.storage.staging import (
    Piece,
    Segment,
    TablePlace,
    build_if_possible,
    fragment_numbers,
    place_of,
    plan_whole_indexing,
    with_segments,
)
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.storage.upkeep.compaction import Group, find_groups, replace_groups, rewrite_group
from omnigraph.syntax.problems import parse_choice
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.unknown_outcome import unknown_outcome
from omnigraph.versioning.writes import StagedVersion, WriteSet

CONCURRENCY = "OMNIGRAPH_MAINTENANCE_CONCURRENCY"
DEFAULT_CONCURRENCY = 8
# Attempts at a table that writers keep changing; then it is left to the next optimize.
MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeOptions:
    """How an optimize is done; `indexes_only` leaves the fragments as they are.

    Only the tables of the types in `scope` are optimized, without those of `excluded`. The
    `deadline` ends one that has not begun to publish.
    """

    indexes_only: bool
    scope: Scope
    excluded: Scope
    engine: Engine
    spark: SparkSettings
    concurrency: int
    actor: str | None
    progress: Progress
    deadline: Deadline


def optimize_options(keywords: OptimizeKeywords) -> OptimizeOptions:
    """Return the options that keywords mean, and the environment's settings for the rest."""
    given = keywords.get("concurrency")
    return OptimizeOptions(
        indexes_only=keywords.get("indexes_only", False),
        scope=Scope.of((), keywords.get("types")),
        excluded=Scope.of((), keywords.get("exclude")),
        engine=parse_choice(Engine, keywords.get("engine", Engine.AUTO)),
        spark=keywords.get("spark") or default_settings(),
        concurrency=_concurrency(os.environ) if given is None else given,
        actor=keywords.get("actor"),
        progress=keywords.get("progress", NO_PROGRESS),
        deadline=deadline_of("optimize", keywords.get("seconds"), keywords.get("cancelled")),
    )


def optimize(repository: Repository, branch: str, options: OptimizeOptions) -> Optimized:
    """Join small fragments and complete all indexes, as one commit.

    It changes no content. A table that a writer changes meanwhile is retried a few times and then
    left as it is. The manifest is compacted as well. Raises CancelledError or BudgetError when its
    deadline is over before it publishes.
    """
    repository.check_writable()
    if options.concurrency < 1:
        raise InputError(f"concurrency is {options.concurrency}; expected at least 1")
    work = _OptimizePlanner(repository, branch, options)
    intent = Intent(branch=branch, actor=options.actor, check=options.deadline.check)
    done = transact(repository, intent, work.propose)
    if not options.indexes_only:
        with _after(done.commit):
            repository.manifest.compact(repository.manifest.newest())
    assert done.finding is not None
    return replace(done.finding, commit=done.commit)


@dataclass(slots=True)
class _OptimizePlanner:
    """An optimize in progress; pieces that were written are used again in the next attempt."""

    repository: Repository
    branch: str
    options: OptimizeOptions
    pieces: dict[tuple[str, object], Sequence[Piece]] = field(default_factory=dict)
    proposed: dict[str, Table] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    def propose(self, snapshot: Snapshot) -> Proposal[Optimized]:
        """Plan one attempt; a table that a writer keeps changing is left as it is."""
        self._count_lost(snapshot)
        chosen = self._chosen(snapshot.catalog)
        keys = [key for key in chosen if not self._yields(key)]
        before = {key: snapshot.table(key) for key in keys}
        due = {} if self.options.indexes_only else {key: find_groups(before[key]) for key in keys}
        runner = self._runner(sum(each.size for found in due.values() for each in found))
        after = self._index(snapshot, self._compact(before, due, runner), runner)
        changed = {key: each for key, each in after.items() if each.version != before[key].version}
        self.proposed = {key: before[key] for key in changed}
        result = self._result(snapshot, chosen, before, after, runner.engine)
        return Proposal(self._write_set(snapshot, changed) if changed else None, result)

    def _chosen(self, catalog: Catalog) -> list[str]:
        """Return the keys of the tables that are meant; raises for a type that there is not."""
        scope, excluded = self.options.scope, self.options.excluded
        for each in (scope, excluded):
            each.check((), [catalog])
        left_out = excluded.keys(catalog) if excluded.types else set()
        wanted = scope.keys(catalog) - left_out
        return [key for key in catalog.by_identity if key in wanted]

    def _count_lost(self, snapshot: Snapshot) -> None:
        """Count the tables that others changed since they were proposed."""
        moved = {
            key
            for key, table in self.proposed.items()
            if key not in snapshot.commit.tables or snapshot.table(key).key != table.key
        }
        for key in moved or self.proposed:
            self.lost[key] = self.lost.get(key, 0) + 1

    def _yields(self, key: str) -> bool:
        return self.lost.get(key, 0) >= MOST_ATTEMPTS

    def _runner(self, size: int) -> Runner:
        options = self.options
        return runner_for_optimize(
            options.engine, options.spark, size, options.concurrency, options.deadline
        )

    def _compact(
        self, tables: Mapping[str, Table], due: Mapping[str, Sequence[Group]], runner: Runner
    ) -> dict[str, Table]:
        """Return the tables with their due groups rewritten by tasks."""
        every = [(key, each) for key, found in due.items() for each in found]
        fresh = [(key, each) for key, each in every if (key, each.content) not in self.pieces]
        self.options.progress.begin("compacting", sum(each.size for _, each in fresh))
        written = runner.map(rewrite_group, [each for _, each in fresh], self.options.progress)
        for (key, group), pieces in zip(fresh, written, strict=True):
            self.pieces[key, group.content] = pieces
        done = {
            key: [(each, self.pieces[key, each.content]) for each in due.get(key, ())]
            for key in tables
        }
        return {key: replace_groups(table, done[key]) for key, table in tables.items()}

    def _index(
        self, snapshot: Snapshot, tables: Mapping[str, Table], runner: Runner
    ) -> dict[str, Table]:
        """Return the tables with their indexes complete; tasks build the segments."""
        types = snapshot.catalog.by_identity
        plans = {
            key: plan_whole_indexing(
                table, (*indexes_of(types[key]), *vector_indexes_of(types[key]))
            )
            for key, table in tables.items()
        }
        due = [
            (key, (place_of(plan.table), each)) for key, plan in plans.items() for each in plan.due
        ]
        self.options.progress.begin("indexing")
        made = runner.map(_build, [item for _, item in due], self.options.progress)
        added: dict[str, list[Segment]] = {key: [] for key in plans}
        for (key, _), segment in zip(due, made, strict=True):
            added[key] += [] if segment is None else [segment]
        reached("segments built")
        return {key: with_segments(plan, added[key]) for key, plan in plans.items()}

    def _write_set(self, snapshot: Snapshot, changed: Mapping[str, Table]) -> WriteSet:
        self.options.progress.begin("publishing")
        return WriteSet(
            base=snapshot,
            writes={key: (StagedVersion(table),) for key, table in changed.items()},
            kind=CommitKind.PHYSICAL,
            message="optimize",
        )

    def _result(
        self,
        snapshot: Snapshot,
        chosen: Iterable[str],
        before: Mapping[str, Table],
        after: Mapping[str, Table],
        engine: str,
    ) -> Optimized:
        left = [key for key in chosen if key not in before]
        tables = {**before, **after, **{key: snapshot.table(key) for key in left}}
        found = [
            replace(
                _table_result(snapshot, key, before.get(key, table), table), yielded=key in left
            )
            for key, table in tables.items()
        ]
        return Optimized(branch=self.branch, engine=engine, tables=tuple(found), commit=None)


def _after(commit: Commit | None) -> AbstractContextManager[None]:
    """Return a guard under which a failure does not deny a commit that was made, if any was."""
    if commit is None:
        return nullcontext()
    done = f"the tables were optimized by commit {commit.id}, but the rest failed"
    return unknown_outcome(done, "optimize again to complete it")


def _table_result(snapshot: Snapshot, key: str, before: Table, after: Table) -> OptimizedTable:
    old, new = fragment_numbers(before), fragment_numbers(after)
    stored = snapshot.catalog.by_identity[key]
    return OptimizedTable(
        table_key=stored.table_key,
        fragments_removed=len(old - new),
        fragments_added=len(new - old),
        committed=before.version != after.version,
        yielded=False,
        indexes=tuple(table_coverage(after, stored, measures=True)),
    )


def _build(item: tuple[TablePlace, DueSegment]) -> Segment | None:
    return build_if_possible(*item)


def _concurrency(environment: Mapping[str, str]) -> int:
    given = environment.get(CONCURRENCY, "")
    if not given:
        return DEFAULT_CONCURRENCY
    if not given.isdigit() or int(given) < 1:
        raise InputError(f"{CONCURRENCY} is '{given}'", hint="set it to a number from 1 on")
    return int(given)
