"""Migrate: changes the schema of a branch by one commit, or changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice

from omnigraph.errors import (
    UnsupportedMigrationError,
    Violation,
    ViolationsError,
)
from omnigraph.evolve.constraints import broken_rules, without_edges
from omnigraph.evolve.lens import lens
from omnigraph.evolve.plan import (
    PlannedStep,
    SchemaApplied,
    SchemaPlan,
    is_index,
)
from omnigraph.evolve.tables import evolve_table, is_touched
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.schema.codec import encode_catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import keep_stored_order, plan_schema_migration
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    IndexConstraint,
    MigrationStep,
    RenameProperty,
    RenameType,
    UnsupportedChange,
)
from omnigraph.schema.types import VectorType
from omnigraph.span import Source
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.commit import CommitKind, TableState
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.schema_lock import schema_lock
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import Adopt, WriteSet

_MOST_VIOLATIONS = 100


def plan_schema(
    repository: Repository, source: Source, branch: str, deadline: Deadline
) -> SchemaPlan:
    """Return what a schema would change on a branch; nothing is written.

    Raises CancelledError or BudgetError when the deadline is over before all rows are checked.
    """
    return _Migration(repository.snapshot(branch), source, deadline).plan(branch)


def apply_schema(
    repository: Repository, source: Source, intent: Intent, deadline: Deadline
) -> SchemaApplied:
    """Apply a schema to a branch, with all that follows for its tables, in one commit.

    Raises UnsupportedMigrationError or ViolationsError with everything that is in the way, and then
    nothing is changed; so do CancelledError and BudgetError when the deadline is over before it
    publishes. An operation id that was used before returns the result of that time.
    """
    intent = replace(intent, check=deadline.check)
    if intent.operation_id is not None:
        intent = replace(intent, request=_digest(source, intent.branch))

    def propose(snapshot: Snapshot) -> Proposal[SchemaPlan]:
        migration = _Migration(snapshot, source, deadline)
        plan = migration.plan(intent.branch)
        _refuse(plan)
        if migration.is_done(repository):
            return Proposal(None, plan)
        return Proposal(migration.write_set(repository, intent.branch), plan)

    with schema_lock(repository):
        done = transact(repository, intent, propose)
    if done.finding is not None:
        return SchemaApplied(plan=done.finding, commit=done.commit)
    assert done.commit is not None
    before = repository.snapshot_of(done.commit.parents[0])
    return SchemaApplied(plan=_Migration(before, source).plan(intent.branch), commit=done.commit)


def migrate_tables(
    repository: Repository, snapshot: Snapshot, catalog: Catalog, branch: str, deadline: Deadline
) -> dict[str, TableState]:
    """Return the tables that another schema changes, as it needs them.

    They are versions that nobody sees yet. Raises CancelledError or BudgetError when the deadline
    is over before the last of them.
    """
    known = snapshot.catalog.by_identity
    deadline.check()
    new = [stored for key, stored in catalog.by_identity.items() if key not in known]
    states = repository.create_tables(new, branch)
    for key, stored in catalog.by_identity.items():
        before = known.get(key)
        deadline.check()
        if before is not None and is_touched(before, stored):
            table = evolve_table(snapshot.table(key), before, stored, deadline)
            repository.tables.sync_table(table)
            models = snapshot.models(key)
            states[key] = TableState(table.path, table.version, table.count(), branch, models)
    return states


def _digest(source: Source, branch: str) -> str:
    return sha256(repr(("schema", normalize_name(branch), source.text)).encode()).hexdigest()


def _refuse(plan: SchemaPlan) -> None:
    if plan.unsupported:
        raise UnsupportedMigrationError(plan.unsupported)
    if plan.violations:
        raise ViolationsError(plan.violations, total=plan.violation_count)


@dataclass(frozen=True)
class _Migration:
    """A schema to be applied to one snapshot."""

    snapshot: Snapshot
    source: Source
    deadline: Deadline = field(default_factory=Deadline)

    @cached_property
    def catalog(self) -> Catalog:
        """The requested schema; what the snapshot has of it keeps its identity and place."""
        accepted = self.snapshot.catalog
        return keep_stored_order(accepted, compile_schema(self.source, accepted=accepted))

    @cached_property
    def steps(self) -> tuple[MigrationStep, ...]:
        return plan_schema_migration(self.snapshot.catalog, self.catalog).steps

    def plan(self, branch: str) -> SchemaPlan:
        """Return the steps with their costs, and the rows that are in the way."""
        broken = self._violations()
        shown = tuple(islice(broken, _MOST_VIOLATIONS))
        return SchemaPlan(
            branch=branch,
            head=self.snapshot.commit.id,
            schema_source=self.source.text,
            steps=tuple(map(self._planned, self.steps)),
            violations=shown,
            violation_count=len(shown) + sum(1 for _ in broken),
        )

    def is_done(self, repository: Repository) -> bool:
        """Whether the snapshot has exactly this schema, including its text."""
        same_text = repository.schema_source(self.snapshot.commit.schema) == self.source.text
        return same_text and encode_catalog(self.catalog) == encode_catalog(self.snapshot.catalog)

    def write_set(self, repository: Repository, branch: str) -> WriteSet:
        """Return the staged tables of the new schema, and the schema that the commit will name."""
        states = migrate_tables(repository, self.snapshot, self.catalog, branch, self.deadline)
        looked_at = frozenset(stored.identity for stored, _ in self._rules()) | self._sources()
        return WriteSet(
            base=self.snapshot,
            writes={key: (Adopt(state),) for key, state in states.items()},
            validated=looked_at - frozenset(states),
            kind=CommitKind.SCHEMA,
            message=_message(self.steps),
            schema=repository.accept_schema(self.catalog, self.source.text),
        )

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
            rows = lens(self.snapshot, stored)
            yield from broken_rules(rows, step.constraint, self.deadline)
        for edge in self._new_edges():
            source = self.catalog.nodes[edge.source]
            yield from without_edges(lens(self.snapshot, source), edge, self.deadline)

    def _new_edges(self) -> Iterator[EdgeType]:
        """Yield the new edge types of which existing nodes need some."""
        for step in self.steps:
            if isinstance(step, AddType) and self._count_sources(step):
                yield self.catalog.edges[step.name]

    def _planned(self, step: MigrationStep) -> PlannedStep:
        match step:
            case AddProperty():
                is_filled = not step.property_type.endswith("?")
                written = self._count(step.type_name) if is_filled else 0
                return PlannedStep(step=step, rows_written=written)
            case AddConstraint():
                checked = self._count(step.type_name) if self._is_seen(step) else 0
                return PlannedStep(step=step, rows_checked=checked, breaking=not is_index(step))
            case AddType():
                checked = self._count_sources(step)
                return PlannedStep(step=step, rows_checked=checked, breaking=checked > 0)
            case RenameType() | RenameProperty():
                return PlannedStep(step=step, breaking=True)
            case _:
                return PlannedStep(step=step)

    def _is_seen(self, step: AddConstraint) -> bool:
        """Whether a step reads rows; vector indexes are left to optimize."""
        stored, rule = self.catalog.stored(step.type_name), step.constraint
        if stored is None or not isinstance(rule, IndexConstraint):
            return True
        return not all(isinstance(stored.column(name), VectorType) for name in rule.properties)

    def _count(self, type_name: str) -> int:
        """Return how many rows a type has; an interface has none of its own."""
        stored = self.catalog.stored(type_name)
        if stored is None or stored.identity not in self.snapshot.commit.tables:
            return 0
        return self.snapshot.state(stored.identity).row_count

    def _count_sources(self, step: AddType) -> int:
        """Return how many nodes need edges of a new type."""
        edge = self.catalog.edges.get(step.name)
        if edge is None or edge.cardinality.minimum < 1:
            return 0
        return self._count(edge.source)

    def _sources(self) -> frozenset[str]:
        """Return the existing tables whose nodes need edges of a new type."""
        found = (
            self.catalog.nodes[edge.source].identity
            for edge in self.catalog.edges.values()
            if edge.identity not in self.snapshot.commit.tables and edge.cardinality.minimum > 0
        )
        return frozenset(found) & frozenset(self.snapshot.commit.tables)


def _message(steps: tuple[MigrationStep, ...]) -> str:
    """Return the default message of the commit."""
    first = "; ".join(str(step) for step in steps[:3]) or "update the text of the schema"
    return first if len(steps) <= 3 else f"{first}; and {len(steps) - 3} more"
