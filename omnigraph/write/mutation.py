"""Mutation: publishes a mutation as one commit, or changes nothing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.query.checked import Delete, Update
from omnigraph.query.plan import FromMatch, MutationPlan, ReadPlan, types_gone_through
from omnigraph.read.answer import answer
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.write.checked import check_draft
from omnigraph.write.counts import RowCounts
from omnigraph.write.filling import VectorFiller
from omnigraph.write.mutate import run_mutation
from omnigraph.write.receipt import Receipt


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
        write_set, counts = check_draft(draft, self._matched())
        if write_set is None:
            return Proposal(None, (self.plan, counts))
        execution.check(0)
        if self.request is not None:
            write_set = replace(write_set, request=_noted(self.request, counts))
        return Proposal(write_set, (self.plan, counts))

    def _rows(self, plan: ReadPlan) -> pa.Table:
        """Return what a statement reads, as it is before the mutation."""
        terms = replace(self.terms, measures=False, streams=False)
        found = answer(plan, self.snapshot, self.topology, terms).rows
        return pa.Table.from_batches(list(found), found.schema)

    def _matched(self) -> frozenset[str]:
        """Return the tables that statements match, or in which their conditions look for rows."""
        found: set[str] = set()
        for each in self.plan.statements:
            if isinstance(each, FromMatch):
                found |= types_gone_through(each.rows.operators)
            elif isinstance(each, Update | Delete):
                found.add(each.type)
        stored = map(self.snapshot.catalog.stored, found)
        return frozenset(each.identity for each in stored if each is not None)


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
