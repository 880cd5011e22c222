"""Migrate: changes the schema of a branch by one commit, or changes nothing."""

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice

from omnigraph.errors import (
    DataLossError,
    UnsupportedMigrationError,
    Violation,
    ViolationsError,
)
from omnigraph.evolve.constraints import broken_rules, without_edges
from omnigraph.evolve.cost import Costs
from omnigraph.evolve.lens import past_columns
from omnigraph.evolve.outlook import Outlook
from omnigraph.evolve.past import Past
from omnigraph.evolve.plan import SchemaApplied, SchemaPlan
from omnigraph.evolve.tables import evolve_table, is_touched
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.schema.codec import encode_catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import keep_stored_order, note_dropped
from omnigraph.schema.steps import (
    AddConstraint,
    AddType,
    MigrationStep,
    RestoreType,
    UnsupportedChange,
)
from omnigraph.span import Source
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.indexes import indexes_of
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import CommitKind, Models, TableState
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.schema_lock import schema_lock
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.unknown_outcome import unknown_outcome
from omnigraph.versioning.writes import Adopt, WriteSet

_MOST_VIOLATIONS = 100
_LOOK = "look at that commit; nothing has to be repeated"


def plan_schema(
    repository: Repository, source: Source, branch: str, deadline: Deadline
) -> SchemaPlan:
    """Return what a schema would change on a branch; nothing is written.

    Raises CancelledError or BudgetError when the deadline is over before all rows are checked.
    """
    return _Migration(repository, repository.snapshot(branch), source, deadline).plan(branch)


def apply_schema(
    repository: Repository,
    source: Source,
    intent: Intent,
    deadline: Deadline,
    *,
    allow_data_loss: bool = False,
) -> SchemaApplied:
    """Apply a schema to a branch, with all that follows for its tables, in one commit.

    Raises UnsupportedMigrationError or ViolationsError with everything that is in the way, and then
    nothing is changed; so do CancelledError and BudgetError when the deadline is over before it
    publishes, and DataLossError when something is dropped and that is not allowed. An operation id
    that was used before returns the result of that time.
    """
    intent = replace(intent, check=deadline.check)
    if intent.operation_id is not None:
        intent = replace(intent, request=_digest(source, intent.branch))

    def propose(snapshot: Snapshot) -> Proposal[SchemaPlan]:
        migration = _Migration(repository, snapshot, source, deadline)
        plan = migration.plan(intent.branch)
        _refuse(plan, allow_data_loss=allow_data_loss)
        if migration.is_done:
            return Proposal(None, plan)
        return Proposal(migration.write_set(intent.branch), plan)

    with schema_lock(repository, check=deadline.check):
        done = transact(repository, intent, propose)
    if done.finding is not None:
        return SchemaApplied(plan=done.finding, commit=done.commit)
    assert done.commit is not None
    applied = f"the schema was applied before by commit {done.commit.id}"
    with unknown_outcome(f"{applied}, but what that changed cannot be told", _LOOK):
        before = repository.snapshot_of(done.commit.parents[0])
        plan = _Migration(repository, before, source).plan(intent.branch)
    return SchemaApplied(plan=plan, commit=done.commit)


def migrate_tables(
    repository: Repository, snapshot: Snapshot, catalog: Catalog, branch: str, deadline: Deadline
) -> dict[str, TableState]:
    """Return the tables that another schema changes, as it needs them.

    They are versions that nobody sees yet. What the snapshot's schema dropped and this one has
    comes back. Raises CancelledError or BudgetError when the deadline is over before the last.
    """
    outlook = Outlook(snapshot, catalog, Past(repository, snapshot), deadline)
    known = snapshot.catalog.by_identity
    deadline.check()
    past = {key: outlook.past.table(key) for key in catalog.by_identity if key not in known}
    new = [catalog.by_identity[key] for key, found in past.items() if found is None]
    states = repository.create_tables(new, branch)
    for key, stored in catalog.by_identity.items():
        deadline.check()
        found = past.get(key)
        if found is not None:
            before, state, table = found.stored, found.state, found.table
            states[key] = state
        elif key in known and is_touched(known[key], stored):
            before, state, table = known[key], snapshot.state(key), snapshot.table(key)
        else:
            continue
        table = _evolved(outlook, table, before, stored)
        if table.version != state.version:
            repository.tables.sync_table(table)
            models = _models(outlook, state, before, stored)
            states[key] = TableState(table.path, table.version, table.count(), branch, models)
    return states


def _models(outlook: Outlook, state: TableState, before: StoredType, stored: StoredType) -> Models:
    """Return the models of a table's vectors; a property that comes back empty has none."""
    kept = {item.identity for item in before.properties.values()}
    values = past_columns(outlook.past, before, stored)
    empty = {
        item.identity
        for item in stored.properties.values()
        if item.identity not in kept and item.name not in values
    }
    return tuple(each for each in state.models if each[0] not in empty)


def _evolved(outlook: Outlook, table: Table, before: StoredType, stored: StoredType) -> Table:
    """Return the table of a type as another version of the type needs it."""
    if is_touched(before, stored):
        values = past_columns(outlook.past, before, stored)
        table = evolve_table(table, before, stored, values, outlook.deadline)
    gone = outlook.dangling(stored)
    return table.deleted(gone).settled(indexes_of(stored)) if len(gone) else table


def _digest(source: Source, branch: str) -> str:
    return sha256(repr(("schema", normalize_name(branch), source.text)).encode()).hexdigest()


def _refuse(plan: SchemaPlan, *, allow_data_loss: bool) -> None:
    if plan.unsupported:
        raise UnsupportedMigrationError(plan.unsupported)
    if plan.drops and not allow_data_loss:
        raise DataLossError(plan.drops)
    if plan.violations:
        raise ViolationsError(plan.violations, total=plan.violation_count)


@dataclass(frozen=True)
class _Migration:
    """A schema to be applied to one snapshot."""

    repository: Repository
    snapshot: Snapshot
    source: Source
    deadline: Deadline = field(default_factory=Deadline)

    @cached_property
    def catalog(self) -> Catalog:
        """The requested schema; what the snapshot has of it keeps its identity and place."""
        accepted = self.snapshot.catalog
        desired = keep_stored_order(accepted, compile_schema(self.source, accepted=accepted))
        return note_dropped(accepted, desired, self.snapshot.commit.id)

    @cached_property
    def outlook(self) -> Outlook:
        """The rows of the snapshot as the requested schema has them."""
        past = Past(self.repository, self.snapshot)
        return Outlook(self.snapshot, self.catalog, past, self.deadline)

    @property
    def costs(self) -> Costs:
        return Costs(self.outlook)

    @property
    def steps(self) -> tuple[MigrationStep, ...]:
        return self.outlook.steps

    def plan(self, branch: str) -> SchemaPlan:
        """Return the steps with their costs, and the rows that are in the way."""
        broken = self._violations()
        shown = tuple(islice(broken, _MOST_VIOLATIONS))
        return SchemaPlan(
            branch=branch,
            head=self.snapshot.commit.id,
            schema_source=self.source.text,
            steps=tuple(map(self.costs.of, self.steps)),
            violations=shown,
            violation_count=len(shown) + sum(1 for _ in broken),
        )

    @property
    def is_done(self) -> bool:
        """Whether the snapshot has exactly this schema, including its text."""
        text = self.repository.schema_source(self.snapshot.commit.schema)
        same = encode_catalog(self.catalog) == encode_catalog(self.snapshot.catalog)
        return text == self.source.text and same

    def write_set(self, branch: str) -> WriteSet:
        """Return the staged tables of the new schema, and the schema that the commit will name."""
        repository, catalog = self.repository, self.catalog
        states = migrate_tables(repository, self.snapshot, catalog, branch, self.deadline)
        looked_at = frozenset(stored.identity for stored, _ in self._rules()) | self._ends()
        dropped = frozenset(self.snapshot.commit.tables) - catalog.by_identity.keys()
        return WriteSet(
            base=self.snapshot,
            writes={key: (Adopt(state),) for key, state in states.items()},
            validated=looked_at - frozenset(states) | dropped,
            dropped=dropped,
            kind=CommitKind.SCHEMA,
            message=_message(self.steps),
            schema=repository.accept_schema(catalog, self.source.text),
            restored=self._restored_versions(),
        )

    def _restored_versions(self) -> frozenset[tuple[str, int]]:
        """Return the versions of tables that come back, by key."""
        back = self.catalog.by_identity.keys() & self.snapshot.catalog.dropped_types.keys()
        found = ((key, self.outlook.past.table(key)) for key in back)
        return frozenset((key, each.state.version) for key, each in found if each is not None)

    def _rules(self) -> Iterator[tuple[StoredType, AddConstraint]]:
        """Yield the rules that are new for existing types."""
        for step in self.steps:
            if isinstance(step, AddConstraint) and step.type_kind != "interface":
                stored = self.catalog.stored(step.type_name)
                assert stored is not None
                yield stored, step

    def _violations(self) -> Iterator[Violation]:
        """Yield the rows that break new rules; an unsupported plan is not checked."""
        if any(isinstance(step, UnsupportedChange) for step in self.steps):
            return
        for stored, step in self._rules():
            rows = self.outlook.rows(stored)
            yield from broken_rules(rows, step.constraint, self.deadline)
        yield from self.outlook.incomplete()
        for edge in self._new_edges():
            rows = self.outlook.rows(self.catalog.nodes[edge.source])
            leaving = self.outlook.leaving(edge)
            yield from without_edges(rows, edge, self.deadline, leaving)

    def _new_edges(self) -> Iterator[EdgeType]:
        """Yield the edge types that are new or come back and of which existing nodes need some."""
        for step in self.steps:
            if isinstance(step, AddType | RestoreType) and self.costs.count_sources(step):
                yield self.catalog.edges[step.name]

    def _ends(self) -> frozenset[str]:
        """Return the existing tables of nodes that need new edges, or to which old ones lead."""
        new = [
            edge
            for edge in self.catalog.edges.values()
            if edge.identity not in self.snapshot.commit.tables
        ]
        dropped = self.snapshot.catalog.dropped_types
        names = {edge.source for edge in new if edge.cardinality.minimum > 0}
        names |= {
            end for edge in new if edge.identity in dropped for end in (edge.source, edge.target)
        }
        found = {self.catalog.nodes[name].identity for name in names}
        return frozenset(found) & frozenset(self.snapshot.commit.tables)


def _message(steps: tuple[MigrationStep, ...]) -> str:
    """Return the default message of the commit."""
    first = "; ".join(str(step) for step in steps[:3]) or "update the text of the schema"
    return first if len(steps) <= 3 else f"{first}; and {len(steps) - 3} more"
