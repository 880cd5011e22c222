"""Align: brings the sides of a merge to one schema that has the changes of both."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice

import pyarrow as pa

from omnigraph.errors import SchemaConflictError, Violation
from omnigraph.evolve.constraints import broken_rules, sharing_rows, without_edges
from omnigraph.evolve.migrate import migrate_tables
from omnigraph.evolve.outlook import Outlook
from omnigraph.evolve.past import Past
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.codec import encode_catalog
from omnigraph.schema.combine import combine_schemas
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.printer import print_schema
from omnigraph.schema.steps import AddConstraint, UniqueConstraint
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.commit import TableState
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.validate import Suspects

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Sides:
    """The bases and the two sides of a merge, and where our branch stands.

    Once aligned, all have the same schema. Then `schema` is its digest if ours was another, and
    `tables` are ours as that schema needs them. `suspects` are rows of ours that break a rule which
    only they have. `root` is where two bases parted, if that is one place.
    """

    bases: tuple[Snapshot, ...]
    ours: Snapshot
    theirs: Snapshot
    standing: Snapshot
    schema: str | None = None
    tables: Mapping[str, TableState] = field(default_factory=dict)
    suspects: Suspects = field(default_factory=Suspects)
    root: Snapshot | None = None


def align_sides(
    repository: Repository, sides: Sides, catalog: Catalog, deadline: Deadline
) -> Sides:
    """Bring the sides of a merge to the schema that they have in common.

    Tables that change with it are written as versions that nobody sees. Raises CancelledError or
    BudgetError when the deadline is over before that.
    """
    bases, ours, theirs = sides.bases, sides.ours, sides.theirs
    repository.check_writable()
    for each in (ours, theirs):
        _refuse_incomplete(_outlook(repository, each, catalog, deadline))
    schema = _digest(repository, catalog, ours, theirs)
    branch = ours.commit.branch
    own, other = (
        migrate_tables(repository, each, catalog, branch, deadline) for each in (ours, theirs)
    )
    return Sides(
        tuple(_aligned_base(repository, each, catalog, branch, deadline) for each in bases),
        _moved(ours, catalog, own),
        _moved(theirs, catalog, other),
        sides.standing,
        None if schema == ours.commit.schema else schema,
        own,
        _suspects(_outlook(repository, ours, catalog, deadline)),
        _aligned_root(repository, sides, catalog, deadline),
    )


def _aligned_base(
    repository: Repository, base: Snapshot, catalog: Catalog, branch: str, deadline: Deadline
) -> Snapshot:
    """Return a base under the schema of both sides; its rows may lack values that this requires.

    No row of a base gets into the result: they are only compared.
    """
    outlook = _outlook(repository, base, catalog, deadline)
    shown = _lenient(outlook) if any(outlook.incomplete()) else catalog
    return _moved(base, catalog, migrate_tables(repository, base, shown, branch, deadline))


def _lenient(outlook: Outlook) -> Catalog:
    """Return the schema of an outlook, in which what comes back may be null."""
    catalog = outlook.catalog
    for stored, item in outlook.demanding():
        # Of one type, several properties may come back.
        found = catalog.by_identity[stored.identity]
        properties = {**found.properties, item.name: replace(item, nullable=True)}
        if isinstance(found, NodeType):
            nodes = {**catalog.nodes, found.name: replace(found, properties=properties)}
            catalog = replace(catalog, nodes=nodes)
        else:
            edges = {**catalog.edges, found.name: replace(found, properties=properties)}
            catalog = replace(catalog, edges=edges)
    return catalog


def _aligned_root(
    repository: Repository, sides: Sides, catalog: Catalog, deadline: Deadline
) -> Snapshot | None:
    """Return where the bases parted.

    None if a row there or of a base has no value that the schema requires: bases are not merged
    with each other then.
    """
    root = sides.root
    if root is None:
        return None
    outlooks = (_outlook(repository, each, catalog, deadline) for each in (root, *sides.bases))
    if any(any(each.incomplete()) for each in outlooks):
        return None
    branch = sides.ours.commit.branch
    return _moved(root, catalog, migrate_tables(repository, root, catalog, branch, deadline))


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

    None when all have the same; raises SchemaConflictError when the changes exclude each other, or
    when it depends on the base what they are.
    """
    ours, theirs = sides.ours, sides.theirs
    others = (*sides.bases, theirs, *([] if sides.root is None else [sides.root]))
    if all(each.commit.schema == ours.commit.schema for each in others):
        return None
    catalog, *rest = (_merged(each, ours.catalog, theirs.catalog) for each in _bases(sides))
    differing = [step for each in rest for step in plan_schema_migration(catalog, each).steps]
    if differing:
        why = "follows from one merge base and not from another; apply one schema to both sides"
        raise SchemaConflictError([f"'{each}' {why}" for each in differing])
    return catalog


def _bases(sides: Sides) -> list[Catalog]:
    """Return the schema to which the bases merge, or all of theirs if that is not known.

    What one side undid after both had it looks unchanged from the base that lacked it.
    """
    bases = [*{each.commit.schema: each.catalog for each in sides.bases}.values()]
    if len(bases) == 2 and sides.root is not None:
        with suppress(SchemaConflictError):
            return [_merged(sides.root.catalog, *bases)]
    return bases


def _merged(base: Catalog, ours: Catalog, theirs: Catalog) -> Catalog:
    was, mine, yours = map(encode_catalog, (base, ours, theirs))
    if yours in (was, mine):
        return ours
    return theirs if mine == was else combine_schemas(base, ours, theirs)


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


def _suspects(outlook: Outlook) -> Suspects:
    """Return the rows of ours that break a rule which only they have."""
    unfit: list[Violation] = []
    repeated: dict[tuple[str, tuple[str, ...]], pa.Array] = {}
    for step in outlook.steps:
        stored = outlook.catalog.stored(step.type_name) if isinstance(step, AddConstraint) else None
        if not isinstance(step, AddConstraint) or stored is None:
            continue
        rule, rows = step.constraint, outlook.rows(stored)
        if not isinstance(rule, UniqueConstraint):
            unfit += broken_rules(rows, rule, outlook.deadline)
        elif len(ids := sharing_rows(rows, rule.properties, outlook.deadline)):
            repeated[stored.name, rule.properties] = ids
    return Suspects(tuple(unfit), repeated, dict(_lacking(outlook)))


def _lacking(outlook: Outlook) -> Iterator[tuple[str, pa.Array]]:
    """Yield edge types that only they have, each with the ids of our nodes that have too few."""
    for edge in outlook.catalog.edges.values():
        if edge.cardinality.minimum and edge.identity not in outlook.snapshot.commit.tables:
            rows = outlook.rows(outlook.catalog.nodes[edge.source])
            found = without_edges(rows, edge, outlook.deadline, outlook.leaving(edge))
            if ids := [each.id for each in found]:
                yield edge.name, pa.array(ids, pa.utf8())
