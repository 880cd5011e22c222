"""Mutation: publishes a mutation as one commit, or changes nothing."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.errors import (
    Code,
    Violation,
    ViolationsError,
)
from omnigraph.query.plan import FromMatch, MutationPlan, ReadPlan, types_gone_through
from omnigraph.read.answer import answer
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest
from omnigraph.schema.catalog import NodeType
from omnigraph.versioning.commit import Commit, Models
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import Append, DeleteRows, TableWrite, Upsert, WriteSet
from omnigraph.write.counts import RowCounts
from omnigraph.write.draft import TypeChange
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.mutate import run_mutation
from omnigraph.write.receipt import Receipt
from omnigraph.write.validate import validate

_MOST_SHOWN = 100


def publish_mutation(
    repository: Repository,
    topology: Topology,
    compile_on: Callable[[Snapshot], tuple[MutationPlan, PlanRequest]],
    intent: Intent,
) -> Receipt:
    """Run a mutation and publish what it changes as one commit of a branch.

    `compile_on` returns the mutation compiled for the schema of a snapshot. Raises ViolationsError
    with everything that is wrong, and then nothing is visible.
    """
    repository.check_writable()
    if intent.operation_id is not None:
        asked = compile_on(repository.snapshot(intent.branch))
        intent = replace(intent, request=_digest(*asked, intent))

    def propose(snapshot: Snapshot) -> Proposal[tuple[MutationPlan, RowCounts]]:
        return _MutationPlanner(
            repository, topology, snapshot, intent.request, *compile_on(snapshot)
        ).propose()

    done = transact(repository, intent, propose)
    if done.finding is not None:
        return _receipt(*done.finding, intent, done.commit)
    plan, _ = compile_on(repository.snapshot(intent.branch))
    return _receipt(plan, _noted_counts(intent, done.commit), intent, done.commit)


@dataclass(frozen=True, slots=True)
class _MutationPlanner:
    """A mutation on one snapshot."""

    repository: Repository
    topology: Topology
    snapshot: Snapshot
    request: str | None
    plan: MutationPlan
    terms: PlanRequest

    def propose(self) -> Proposal[tuple[MutationPlan, RowCounts]]:
        """Run the mutation and check what it leaves."""
        execution = self.terms.start(DenseReader(self.snapshot, self.topology))
        vectors = VectorFiller.on(self.snapshot, self.terms.environment)
        draft = run_mutation(execution, self.plan, vectors, self._rows)
        changes = draft.changes()
        verdict = validate(self.snapshot, changes)
        if found := _drop_repeats([*draft.unfit, *verdict.violations]):
            raise ViolationsError(found[:_MOST_SHOWN], total=len(found))
        counts = draft.count(changes)
        if not changes:
            return Proposal(None, (self.plan, counts))
        execution.check(0)
        write_set = self._write_set(changes, verdict.looked_at, draft.models)
        if self.request is not None:
            write_set = replace(write_set, request=_noted(self.request, counts))
        return Proposal(write_set, (self.plan, counts))

    def _rows(self, plan: ReadPlan) -> pa.Table:
        """Return what a statement reads, as it is before the mutation."""
        terms = replace(self.terms, measures=False, streams=False)
        found = answer(plan, self.snapshot, self.topology, terms).rows
        return pa.Table.from_batches(list(found), found.schema)

    def _write_set(
        self,
        changes: Mapping[str, TypeChange],
        looked_at: frozenset[str],
        models: Mapping[str, Models],
    ) -> WriteSet:
        writes = {each.stored.identity: self._writes(each) for each in changes.values()}
        keys = {name: each.stored.identity for name, each in changes.items() if models.get(name)}
        return WriteSet(
            base=self.snapshot,
            writes=writes,
            validated=(looked_at | self._cascades(changes) | self._matched()) - frozenset(writes),
            affected=_affected(changes),
            models={
                key: join_models(self.snapshot.models(key), models[name])
                for name, key in keys.items()
            },
        )

    def _writes(self, change: TypeChange) -> tuple[TableWrite, ...]:
        table = self.snapshot.table(change.stored.identity)
        writes: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
        if change.rows.num_rows:
            rows = change.rows.cast(table.schema)
            writes.append(Upsert(rows) if change.updated else Append(rows))
        return tuple(writes)

    def _matched(self) -> frozenset[str]:
        """Return the tables that statements match."""
        found: set[str] = set()
        for each in self.plan.statements:
            if isinstance(each, FromMatch):
                found |= types_gone_through(each.rows.operators)
        stored = map(self.snapshot.catalog.stored, found)
        return frozenset(each.identity for each in stored if each is not None)

    def _cascades(self, changes: Mapping[str, TypeChange]) -> frozenset[str]:
        """Return the tables in which edges of deleted nodes were sought."""
        gone = {name for name, change in changes.items() if len(change.gone)}
        edges = self.snapshot.catalog.edges.values()
        return frozenset(e.identity for e in edges if {e.source, e.target} & gone)


def _drop_repeats(violations: Iterable[Violation]) -> list[Violation]:
    """Return the first violation of each value: one that does not fit is not missing as well."""
    found: dict[object, Violation] = {}
    for each in violations:
        is_value = each.code in (Code.VALUE_TYPE, Code.REQUIRED_VALUE) and each.id is not None
        found.setdefault((each.type, each.id, each.field) if is_value else len(found), each)
    return list(found.values())


def _affected(changes: Mapping[str, TypeChange]) -> tuple[int, int]:
    """Return how many nodes and edges change."""
    nodes = edges = 0
    for each in changes.values():
        count = each.rows.num_rows + len(each.gone)
        if isinstance(each.stored, NodeType):
            nodes += count
        else:
            edges += count
    return nodes, edges


def _digest(plan: MutationPlan, terms: PlanRequest, intent: Intent) -> str:
    """Return the digest of a change: its branch, its statements and its parameters."""
    asked = repr((intent.branch, plan.statements, sorted(terms.params.items())))
    return sha256(asked.encode()).hexdigest()


def _noted(request: str, counts: RowCounts) -> str:
    """Return what a commit stores: the request, and the counts for when it is repeated."""
    return f"{request} {json.dumps(counts.to_json())}"


def _noted_counts(intent: Intent, commit: Commit | None) -> RowCounts | None:
    """Return the counts that a commit stores; None for one that was made without them."""
    noted = None if commit is None else commit.request
    if noted is None or intent.request is None or not noted.startswith(f"{intent.request} "):
        return None
    return RowCounts.from_json(json.loads(noted.removeprefix(f"{intent.request} ")))


def _receipt(
    plan: MutationPlan, counts: RowCounts | None, intent: Intent, commit: Commit | None
) -> Receipt:
    nodes, edges = (0, 0) if commit is None or commit.affected is None else commit.affected
    return Receipt(
        branch=intent.branch if commit is None else commit.branch,
        query_name=plan.name,
        affected_nodes=nodes,
        affected_edges=edges,
        counts=counts,
        commit=commit,
        actor=intent.actor if commit is None else commit.actor,
    )
