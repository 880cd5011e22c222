"""Wire: results as the documents that a server sends, and the same results read from them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from omnigraph.errors import Code, Json, UnavailableError, Violation
from omnigraph.evolve.plan import PlannedStep, SchemaApplied, SchemaPlan
from omnigraph.merge.blame import Blamed
from omnigraph.merge.changes import Change, ChangeSet, changes_html
from omnigraph.merge.diff import Op, stats_json
from omnigraph.merge.merge import Merge, Outcome
from omnigraph.merge.runs import RunRecord, RunStatus
from omnigraph.merge.threeway import Conflict, ConflictKind, Resolutions
from omnigraph.query.expr import EntityKind
from omnigraph.schema.catalog import Catalog, StoredType, column_name
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import MigrationStep, step_json
from omnigraph.schema.types import BLOB
from omnigraph.schema.values import coerce
from omnigraph.span import Source
from omnigraph.storage.table import Tables
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.ingest import Ingested
from omnigraph.write.load.load import Loaded
from omnigraph.write.load.options import LoadMode
from omnigraph.write.mutation import Receipt

# A document that was read; its fields are of any type.
Document = Mapping[str, Any]


def with_commits(document: Mapping[str, Json], *commits: Commit | None) -> dict[str, Json]:
    """Give a document with the commits that it names, by their ids."""
    named: dict[str, Json] = {each.id: each.to_json() for each in commits if each is not None}
    return {**document, "commits": named}


def loaded_json(loaded: Loaded, uri: str) -> dict[str, Json]:
    """Give what a load did, with the numbers of its rows by type."""
    counts: dict[str, Json] = {"nodes": dict(loaded.nodes), "edges": dict(loaded.edges)}
    return with_commits({**loaded.to_json(uri), **counts}, loaded.commit)


def ingested_json(ingested: Ingested, uri: str) -> dict[str, Json]:
    """Give what an ingest did, with the load that it was."""
    load: Json = loaded_json(ingested.loaded, uri)
    return {**ingested.to_json(uri), "loaded": load}


def merge_json(merge: Merge) -> dict[str, Json]:
    """Give what a merge did or would do, with the commits on both sides."""
    sides: dict[str, Json] = {"ours_commit": merge.ours.id, "theirs_commit": merge.theirs.id}
    commits = (merge.base, merge.ours, merge.theirs, merge.commit)
    return with_commits({**merge.to_json(), **sides}, *commits)


def snapshot_json(snapshot: Snapshot, place: str) -> dict[str, Json]:
    """Give where a branch or commit stands, with its commit."""
    return with_commits(snapshot.to_json(place), snapshot.commit)


def blame_json(blamed: Sequence[Blamed]) -> dict[str, Json]:
    """Give who set the properties of a row, with the commits."""
    rows: Json = [each.to_json() for each in blamed]
    return with_commits({"blame": rows}, *(each.commit for each in blamed))


def choices_json(resolutions: Resolutions) -> dict[str, Json]:
    """Give whose version is taken, as a request says it."""
    rows: list[Json] = [
        {"type_name": name, "row_id": row_id, "take": str(side)}
        for (name, row_id), side in resolutions.rows.items()
    ]
    kind = str(ConflictKind.DIVERGENT_UPDATE)
    rows += [
        {"type_name": name, "row_id": row_id, "property": of, "kind": kind, "take": str(side)}
        for (name, row_id, of), side in resolutions.properties.items()
    ]
    take = None if resolutions.default is None else str(resolutions.default)
    types: Json = {name: str(side) for name, side in resolutions.types.items()}
    return {"take": take, "types": types, "resolutions": rows}


def changes_json(found: ChangeSet) -> dict[str, Json]:
    """Give what is told of changes before the rows."""
    steps: list[Json] = [{**step_json(step), "text": str(step)} for step in found.schema_steps]
    return {"stats": stats_json(found.stats), "schema_steps": steps}


def applied_json(applied: SchemaApplied) -> dict[str, Json]:
    """Give what applying a schema did, with the plan that was followed."""
    plan: Json = applied.plan.to_json()
    return with_commits({**applied.to_json(), "plan": plan}, applied.commit)


def commit_of(document: Document) -> Commit:
    """Give a commit; of its tables and its schema nothing is known."""
    parents = (document["parent_commit_id"], document["merged_parent_commit_id"])
    return Commit(
        id=document["graph_commit_id"],
        parents=tuple(each for each in parents if each is not None),
        branch=document["manifest_branch"],
        version=document["manifest_version"],
        kind=CommitKind(document["kind"]),
        created_at=document["created_at"],
        operation_id=document["operation_id"],
        schema="",
        tables={},
        actor=document["actor_id"],
        message=document["message"],
    )


def receipt_of(document: Document) -> Receipt:
    """Give what a change did."""
    return Receipt(
        branch=document["branch"],
        query_name=document["query_name"],
        affected_nodes=document["affected_nodes"],
        affected_edges=document["affected_edges"],
        commit=_named(document, "commit"),
        actor=document["actor_id"],
    )


def loaded_of(document: Document) -> Loaded:
    """Give what a load did."""
    return Loaded(
        branch=document["branch"],
        mode=LoadMode(document["mode"]),
        engine=document["engine"],
        nodes=dict(document["nodes"]),
        edges=dict(document["edges"]),
        commit=_named(document, "commit"),
    )


def ingested_of(document: Document) -> Ingested:
    """Give what an ingest did."""
    return Ingested(
        loaded=loaded_of(document["loaded"]),
        base_branch=document["base_branch"],
        branch_created=document["branch_created"],
        actor=document["actor_id"],
    )


def merge_of(document: Document, catalog: Catalog) -> Merge:
    """Give what a merge did or would do; the catalog says of which types the values are."""
    base, ours, theirs = (
        _known(document, name) for name in ("base_commit", "ours_commit", "theirs_commit")
    )
    return Merge(
        source=document["source"],
        target=document["target"],
        outcome=Outcome(document["outcome"]),
        base=base,
        ours=ours,
        theirs=theirs,
        stats=stats_of(document["stats"]),
        conflicts=tuple(_conflict(each, catalog) for each in document["merge_conflicts"]),
        commit=_named(document, "commit"),
    )


def plan_of(document: Document, accepted: Catalog, source: Source) -> SchemaPlan:
    """Give what a schema would change; the steps are those from the accepted one to it."""
    desired = compile_schema(source, accepted=accepted)
    steps = plan_schema_migration(accepted, desired).steps
    violations = [
        Violation(**{**each, "code": Code(each["code"])}) for each in document["violations"]
    ]
    return SchemaPlan(
        branch=document["branch"],
        head=document["head"],
        schema_source=document["schema_source"],
        steps=tuple(
            PlannedStep(
                step=step,
                rows_written=told["rows_written"],
                rows_checked=told["rows_checked"],
                breaking=told["breaking"],
            )
            for step, told in zip(steps, document["steps"], strict=True)
        ),
        violations=tuple(violations),
        violation_count=document["violation_count"],
    )


def applied_of(document: Document, accepted: Catalog, source: Source) -> SchemaApplied:
    """Give what applying a schema did."""
    plan = plan_of(document["plan"], accepted, source)
    return SchemaApplied(plan=plan, commit=_named(document, "commit"))


def run_of(document: Document) -> RunRecord:
    """Give the record of a run."""
    return RunRecord(**{**document, "status": RunStatus(document["status"])})


def blame_of(document: Document, stored: StoredType) -> list[Blamed]:
    """Give who set the properties of a row of a type."""
    return [
        Blamed(
            each["property"],
            _value(each["value"], stored, each["property"]),
            commit_of(document["commits"][each["commit"]]),
        )
        for each in document["blame"]
    ]


def snapshot_of(document: Document, catalog: Catalog) -> Snapshot:
    """Give a snapshot whose tables can be told about and not be read."""
    states = {
        each["table_key"]: TableState(
            each["table_path"], int(each["table_version"]), each["row_count"], each["table_branch"]
        )
        for each in document["tables"]
    }
    commit = _known(document, "commit")
    whole = Commit(**{name: getattr(commit, name) for name in _FIELDS}, tables=states)
    return Snapshot(whole, catalog, cast(Tables, _NoTables()), lambda _: None)


_FIELDS = tuple(name for name in Commit.__dataclass_fields__ if name != "tables")


class _NoTables:
    """What stands for the tables of a graph that is elsewhere."""

    def open(self, *_: object) -> NoReturn:
        raise UnavailableError("tables are read where the graph is", hint="ask by a query")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentChanges:
    """Net changes that a server sent; iterating gives them."""

    from_version: int
    to_version: int
    stats: Mapping[str, Mapping[Op, int]]
    schema_steps: tuple[MigrationStep, ...]
    changes: tuple[Change, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __repr__(self) -> str:
        return f"ChangeSet({self.from_version} → {self.to_version})"

    def _repr_html_(self) -> str:
        return changes_html(self, self.stats)

    def to_json(self) -> dict[str, Json]:
        """Give all changes in the stable machine form."""
        return {
            "from_version": self.from_version,
            "to_version": self.to_version,
            "changes": [change.to_json() for change in self],
            "stats": stats_json(self.stats),
            "schema_steps": [step_json(step) for step in self.schema_steps],
        }


@dataclass(frozen=True, slots=True)
class SentCommit:
    """What one commit of a branch changed; its id is the cursor to go on from."""

    commit: Commit
    changes: SentChanges

    @property
    def cursor(self) -> str:
        return self.commit.id


def changes_of(document: Document, old: Catalog, new: Catalog) -> SentChanges:
    """Give net changes; the catalogs say of which types the values are."""
    is_migrated = bool(document["schema_steps"])
    return SentChanges(
        from_version=document["from_version"],
        to_version=document["to_version"],
        stats=stats_of(document["stats"]),
        schema_steps=plan_schema_migration(old, new).steps if is_migrated else (),
        changes=tuple(_changes(document["changes"], (new, old))),
    )


def sent_commit_of(document: Document, old: Catalog, new: Catalog) -> SentCommit:
    """Give what one commit changed."""
    commit = commit_of(document["commit"])
    return SentCommit(commit, changes_of({**document, "to_version": commit.version}, old, new))


def stats_of(document: Document) -> dict[str, dict[Op, int]]:
    """Give numbers of rows by type and by what happened to them."""
    return {
        name: {Op(op): count for op, count in counts.items()} for name, counts in document.items()
    }


def row_of(row: Document, stored: StoredType) -> dict[str, object]:
    """Give a row whose values are those that the graph holds."""
    return {name: _value(value, stored, name) for name, value in row.items()}


def stored_row_of(row: Document, stored: StoredType) -> dict[str, object]:
    """Give a row as its table holds it, with its blobs as bytes."""
    given = {name: text for name, text in row.items() if stored.column(name) == BLOB}
    blobs = {name: None if text is None else text.encode() for name, text in given.items()}
    return {**row_of(row, stored), **blobs}


def _changes(found: Iterable[Document], catalogs: Sequence[Catalog]) -> Iterator[Change]:
    for each in found:
        known = (catalog.by_identity.get(each["table_key"]) for catalog in catalogs)
        stored = next(found for found in known if found is not None)
        before, after = each.get("before"), each.get("after")
        yield Change(
            table_key=each["table_key"],
            kind=EntityKind(each["kind"]),
            type_name=each["type_name"],
            id=each["id"],
            op=Op(each["op"]),
            before=None if before is None else row_of(before, stored),
            after=None if after is None else row_of(after, stored),
            changed=tuple(each.get("changed", ())),
        )


def _conflict(found: Document, catalog: Catalog) -> Conflict:
    stored, name = catalog.stored(found["type_name"]), found["property"]

    def value(side: str) -> object:
        given = found[side]
        if stored is None or given is None:
            return given
        return row_of(given, stored) if isinstance(given, dict) else _value(given, stored, name)

    return Conflict(
        kind=ConflictKind(found["kind"]),
        type=found["type_name"],
        table_key=found["table_key"],
        row_id=found["row_id"],
        message=found["message"],
        property=name,
        base=value("base"),
        ours=value("ours"),
        theirs=value("theirs"),
    )


def _value(value: object, stored: StoredType, name: str | None) -> object:
    """Give a value of a property as the graph holds it."""
    kind = None if name is None else stored.column(column_name(stored, name))
    if value is None or kind is None or kind == BLOB:
        return value
    found = coerce(value, kind)
    return list(found) if isinstance(found, tuple) else found


def _known(document: Document, name: str) -> Commit:
    return commit_of(document["commits"][document[name]])


def _named(document: Document, name: str) -> Commit | None:
    return None if document[name] is None else _known(document, name)
