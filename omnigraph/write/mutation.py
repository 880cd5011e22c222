"""Mutation: a mutation becomes one commit, or nothing."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from omnigraph.data.derived.topology import Topology
from omnigraph.data.values.lookup import rows_with
from omnigraph.errors import (
    Code,
    ExpectedVersionMismatchError,
    HeadMovedError,
    InputError,
    Violation,
    ViolationsError,
)
from omnigraph.query.plan import MutationPlan
from omnigraph.read.answer import Terms
from omnigraph.read.dense import Dense
from omnigraph.read.execution import Run
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.table import Table
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import head_moved, publish
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Append, TableWrite, Upsert, WriteSet, stage
from omnigraph.versioning.writes import Delete as DeleteRows
from omnigraph.write.draft import Change
from omnigraph.write.filling import Vectors
from omnigraph.write.mutate import mutated
from omnigraph.write.receipt import Intent, Receipt
from omnigraph.write.validate import validate

_MOST_SHOWN = 100


def change(
    repository: Repository,
    topology: Topology,
    asked: Callable[[Snapshot], tuple[MutationPlan, Terms]],
    intent: Intent,
) -> Receipt:
    """Run a mutation and publish what it changes as one commit of a branch.

    `asked` gives the mutation as the schema of a snapshot understands it. When others changed the
    same tables or the schema meanwhile, it is run again on what they left. Raises ViolationsError
    with everything that is wrong, and then nothing is visible.
    """
    repository.check_writable()
    for _ in attempts():
        snapshot = repository.snapshot(intent.branch)
        plan, terms = asked(snapshot)
        # Looked for after the snapshot was pinned, so that it is not in it if it is not found.
        earlier = _earlier(repository, plan, terms, intent)
        if earlier is not None:
            return earlier
        if intent.expect is not None and snapshot.commit.id != intent.expect:
            raise head_moved(intent.branch, intent.expect, snapshot.commit.id)
        try:
            return _Attempt(repository, topology, plan, terms, intent, snapshot).run()
        except (ExpectedVersionMismatchError, HeadMovedError) as moved:
            if intent.expect is not None:
                current = repository.snapshot(intent.branch).commit.id
                raise head_moved(intent.branch, intent.expect, current) from moved
    raise HeadMovedError(
        f"'{intent.branch}' moved again and again while it was changed",
        hint="repeat the change",
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A mutation on one snapshot."""

    repository: Repository
    topology: Topology
    plan: MutationPlan
    terms: Terms
    intent: Intent
    snapshot: Snapshot

    def run(self) -> Receipt:
        """Run the mutation, check what it leaves, and publish it."""
        reader = Dense(self.snapshot, self.topology)
        run = Run(
            reader=reader,
            params=self.terms.params,
            now=self.terms.now,
            budget=self.terms.budget,
            environment=self.terms.environment,
            cancelled=self.terms.cancelled,
        )
        vectors = Vectors.of(self.repository.store, self.terms.environment)
        draft = mutated(run, self.plan, vectors)
        changes = draft.changes()
        verdict = validate(self.snapshot, changes)
        if found := _told_once([*draft.unfit, *verdict.violations]):
            raise ViolationsError(found[:_MOST_SHOWN], total=len(found))
        if not changes:
            return _receipt(self.plan, self.terms, self.intent, None)
        run.check(0)
        commit = self._published(changes, verdict.looked_at)
        if commit.parent == self.snapshot.commit.id:
            Dense(self.repository.pinned(commit), self.topology).extend(self.snapshot)
        return _receipt(self.plan, self.terms, self.intent, commit)

    def _published(self, changes: Mapping[str, Change], looked_at: frozenset[str]) -> Commit:
        writes = {each.stored.identity: self._writes(each) for each in changes.values()}
        write_set = WriteSet(
            base=self.snapshot,
            writes=writes,
            validated=(looked_at | self._cascades(changes)) - frozenset(writes),
            actor=self.intent.actor,
            message=self.intent.message,
            operation_id=self.intent.operation_id,
            expected_head=self.intent.expect,
            affected=_affected(changes),
            request=_digest(self.plan, self.terms, self.intent),
        )
        return publish(self.repository, self.intent.branch, stage(write_set, self.intent.branch))

    def _writes(self, change: Change) -> tuple[TableWrite, ...]:
        table = self.snapshot.table(change.stored.identity)
        writes: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
        if change.rows.num_rows:
            rows = change.rows.cast(table.schema)
            writes.append(Upsert(rows) if _replaces(table, change) else Append(rows))
        return tuple(writes)

    def _cascades(self, changes: Mapping[str, Change]) -> frozenset[str]:
        """Give the tables in which edges of removed nodes were looked for."""
        gone = {name for name, change in changes.items() if len(change.gone)}
        edges = self.snapshot.catalog.edges.values()
        return frozenset(e.identity for e in edges if {e.source, e.target} & gone)


def _replaces(table: Table, change: Change) -> bool:
    return bool(rows_with(table, "id", change.ids, ["id"]).num_rows)


def _told_once(violations: Iterable[Violation]) -> list[Violation]:
    """Give the first violation of each value: one that does not fit is not missing as well."""
    found: dict[object, Violation] = {}
    for each in violations:
        is_value = each.code in (Code.VALUE_TYPE, Code.REQUIRED_VALUE) and each.id is not None
        found.setdefault((each.type, each.id, each.field) if is_value else len(found), each)
    return list(found.values())


def _affected(changes: Mapping[str, Change]) -> tuple[int, int]:
    """Give how many nodes and edges change."""
    nodes = edges = 0
    for each in changes.values():
        count = each.rows.num_rows + len(each.gone)
        if isinstance(each.stored, NodeType):
            nodes += count
        else:
            edges += count
    return nodes, edges


def _digest(plan: MutationPlan, terms: Terms, intent: Intent) -> str:
    """Give what stands for a change: its branch, its statements and its parameters."""
    asked = repr((intent.branch, plan.statements, sorted(terms.params.items())))
    return sha256(asked.encode()).hexdigest()


def _earlier(
    repository: Repository, plan: MutationPlan, terms: Terms, intent: Intent
) -> Receipt | None:
    """Give the receipt of an operation that was carried out before."""
    if intent.operation_id is None:
        return None
    manifest = repository.manifest
    commit = manifest.operation(intent.operation_id, intent.actor, manifest.newest())
    return None if commit is None else _receipt(plan, terms, intent, commit)


def another_change(operation_id: str, commit: Commit) -> InputError:
    """Give the error for an operation id under which something else was done before."""
    return InputError(
        f"the operation id '{operation_id}' was given to another change",
        hint=f"it led to commit {commit.id}; give each change an id of its own",
    )


def _receipt(plan: MutationPlan, terms: Terms, intent: Intent, commit: Commit | None) -> Receipt:
    """Give the receipt of a commit; raises when another change led to it."""
    if commit is not None and commit.request not in (None, _digest(plan, terms, intent)):
        raise another_change(commit.operation_id, commit)
    nodes, edges = (0, 0) if commit is None or commit.affected is None else commit.affected
    return Receipt(
        branch=intent.branch if commit is None else commit.branch,
        query_name=plan.name,
        affected_nodes=nodes,
        affected_edges=edges,
        commit=commit,
        actor=intent.actor if commit is None else commit.actor,
    )
