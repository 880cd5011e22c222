"""Align: brings the sides of a merge to one schema that has the changes of both."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import islice

from omnigraph.errors import SchemaConflictError, Violation
from omnigraph.evolve.constraints import broken_rules, without_edges
from omnigraph.evolve.lens import lens
from omnigraph.evolve.migrate import migrate_tables
from omnigraph.evolve.outlook import Outlook
from omnigraph.evolve.past import Past
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.codec import encode_catalog
from omnigraph.schema.combine import combine_schemas
from omnigraph.schema.printer import print_schema
from omnigraph.schema.steps import AddConstraint
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.commit import TableState
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Sides:
    """The bases and the two sides of a merge, and where our branch stands.

    Once aligned, all have the same schema. Then `schema` is its digest if ours was another, and
    `tables` are ours as that schema needs them. `violations` are rows of ours that break a rule of
    theirs.
    """

    bases: tuple[Snapshot, ...]
    ours: Snapshot
    theirs: Snapshot
    standing: Snapshot
    schema: str | None = None
    tables: Mapping[str, TableState] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()


def align_sides(
    repository: Repository, sides: Sides, catalog: Catalog, deadline: Deadline
) -> Sides:
    """Bring the sides of a merge to the schema that they have in common.

    Tables that change with it are written as versions that nobody sees. Raises CancelledError or
    BudgetError when the deadline is over before that.
    """
    bases, ours, theirs = sides.bases, sides.ours, sides.theirs
    repository.check_writable()
    for each in (*bases, ours, theirs):
        _refuse_incomplete(_outlook(repository, each, catalog, deadline))
    schema = _digest(repository, catalog, ours, theirs)
    branch = ours.commit.branch
    own, other, *older = (
        migrate_tables(repository, each, catalog, branch, deadline)
        for each in (ours, theirs, *bases)
    )
    return Sides(
        tuple(_moved(each, catalog, made) for each, made in zip(bases, older, strict=True)),
        _moved(ours, catalog, own),
        _moved(theirs, catalog, other),
        sides.standing,
        None if schema == ours.commit.schema else schema,
        own,
        (
            *_broken(_outlook(repository, ours, catalog, deadline)),
            *_without_edges(sides, catalog, deadline),
        ),
    )


def _outlook(
    repository: Repository, snapshot: Snapshot, catalog: Catalog, deadline: Deadline
) -> Outlook:
    return Outlook(snapshot, catalog, Past(repository, snapshot), deadline)


def _refuse_incomplete(outlook: Outlook) -> None:
    """Raise SchemaConflictError for rows without a value of a required property that comes back."""
    found = [each.render() for each in islice(outlook.incomplete(), _MOST_SHOWN)]
    if found:
        raise SchemaConflictError(found)


def common_schema(sides: Sides) -> Catalog | None:
    """Return the schema of the side that changed it, or the combination of both.

    None when nobody changed it; raises SchemaConflictError when the changes exclude each other.
    """
    base, ours, theirs = sides.bases[0], sides.ours, sides.theirs
    if all(each.commit.schema == ours.commit.schema for each in (*sides.bases, theirs)):
        return None
    if theirs.commit.schema in (base.commit.schema, ours.commit.schema):
        return ours.catalog
    if ours.commit.schema == base.commit.schema:
        return theirs.catalog
    return combine_schemas(base.catalog, ours.catalog, theirs.catalog)


def _digest(repository: Repository, catalog: Catalog, ours: Snapshot, theirs: Snapshot) -> str:
    """Return the digest of a schema, stored with the text of the side that has exactly this one."""
    for side in (ours, theirs):
        if encode_catalog(side.catalog) == encode_catalog(catalog):
            return side.commit.schema
    return repository.accept_schema(catalog, print_schema(catalog))


def _moved(snapshot: Snapshot, catalog: Catalog, tables: Mapping[str, TableState]) -> Snapshot:
    every = {**snapshot.commit.tables, **tables}
    known = {key: state for key, state in every.items() if key in catalog.by_identity}
    commit = replace(snapshot.commit, tables=known)
    return replace(snapshot, commit=commit, catalog=catalog)


def _without_edges(sides: Sides, catalog: Catalog, deadline: Deadline) -> Iterator[Violation]:
    """Yield the nodes that only we have and that lack edges which their schema requires."""
    for key, edge in catalog.by_identity.items():
        is_new = isinstance(edge, EdgeType) and key not in sides.ours.commit.tables
        if not isinstance(edge, EdgeType) or not is_new or edge.cardinality.minimum < 1:
            continue
        source = catalog.nodes[edge.source]
        known = {
            row_id
            for side in (*sides.bases, sides.theirs)
            for batch in lens(side, source).batches([])
            for row_id in batch["id"].to_pylist()
        }
        for violation in without_edges(lens(sides.ours, source), edge, deadline):
            if violation.id not in known:
                yield violation


def _broken(outlook: Outlook) -> Iterator[Violation]:
    """Yield the rows of ours that break a rule which only they have."""
    for step in outlook.steps:
        stored = outlook.catalog.stored(step.type_name) if isinstance(step, AddConstraint) else None
        if isinstance(step, AddConstraint) and stored is not None:
            yield from broken_rules(outlook.rows(stored), step.constraint, outlook.deadline)
