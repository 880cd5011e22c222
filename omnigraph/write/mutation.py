"""Mutation: publishes a mutation as one commit, or changes nothing."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.errors import OmniGraphError, OperationReusedError
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Delete, Update
from omnigraph.query.plan import FromMatch, MutationPlan, ReadPlan, types_gone_through
from omnigraph.read.answer import answer
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest
from omnigraph.versioning.operations import find_operation
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.write.checked import check_draft
from omnigraph.write.counts import RowCounts
from omnigraph.write.filling import VectorFiller
from omnigraph.write.mutate import run_mutation
from omnigraph.write.noted import note, noted, receipt
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
    asked = None
    if intent.operation_id is not None:
        asked = _asked(repository, compile_on, intent)
        intent = replace(intent, request=_digest(*asked, intent))

    def propose(snapshot: Snapshot) -> Proposal[tuple[MutationPlan, RowCounts]]:
        return _MutationPlanner(
            repository, topology, snapshot, intent.request, *compile_on(snapshot)
        ).propose()

    try:
        done = transact(repository, intent, propose)
    except OperationReusedError:
        asked = _asked_before(repository, compile_on, intent)
        if asked is None:
            raise
        # Compiled for the schema of the first time, it may be the same change after all.
        intent = replace(intent, request=_digest(*asked, intent))
        done = transact(repository, intent, propose)
    if done.finding is not None:
        plan, counts = done.finding
        return receipt(plan.name, counts, intent, done.commit)
    assert asked is not None  # only what has an operation id was done before
    # Release 0.1 notes no counts.
    found = noted(intent, done.commit)
    earlier = None if found is None else RowCounts.from_json(found)
    return receipt(asked[0].name, earlier, intent, done.commit)


def _asked(
    repository: Repository,
    compile_on: Callable[[Snapshot], tuple[MutationPlan, PlanRequest]],
    intent: Intent,
) -> tuple[MutationPlan, PlanRequest]:
    """Compile a change that may be a repeated one.

    The schema may have lost what it names since: then it is compiled for that of its first time.
    """
    try:
        return compile_on(repository.snapshot(intent.branch))
    except OmniGraphError:
        asked = _asked_before(repository, compile_on, intent)
        if asked is None:
            raise
        return asked


def _asked_before(
    repository: Repository,
    compile_on: Callable[[Snapshot], tuple[MutationPlan, PlanRequest]],
    intent: Intent,
) -> tuple[MutationPlan, PlanRequest] | None:
    """Compile a change for the schema under which its operation was done; None if it was not."""
    earlier = find_operation(repository, intent.operation_id, intent.actor)
    if earlier is not None:
        with suppress(OmniGraphError):
            return compile_on(repository.pin(earlier))
    return None


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
        execution = self.terms.start(DenseReader.of(self.snapshot, self.topology))
        vectors = VectorFiller.on(self.snapshot, self.terms.environment)
        draft = run_mutation(execution, self.plan, vectors, self._rows)
        write_set, counts = check_draft(draft, self._matched())
        if write_set is None:
            return Proposal(None, (self.plan, counts))
        execution.check(0)
        noting = replace(write_set, request=note(self.request, counts.to_json()))
        return Proposal(noting, (self.plan, counts))

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
