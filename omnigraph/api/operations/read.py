"""Read: operations that read a branch or commit: queries, rows, the schema, single values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

from msgspec import UNSET, Meta, UnsetType

from omnigraph.api.backend import Backend
from omnigraph.api.operation import (
    ARROW,
    BYTES,
    JSON,
    LINES,
    TEXT,
    Document,
    Key,
    Operation,
    PlaceOperation,
    Shape,
    Work,
    ask,
    get,
)
from omnigraph.api.operations.commits import CommitShape
from omnigraph.errors import Json, UnavailableError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.schema.codec import content_hash, decode_catalog, encode_catalog
from omnigraph.schema.json_rows import row_from_json
from omnigraph.schema.values import to_json_value
from omnigraph.span import Source
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.api.profile import Explanation, Profile
    from omnigraph.data.result import ResultStream
    from omnigraph.read.blob import Blob

Version = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class TargetShape(Shape, frozen=True, kw_only=True):
    """What was read."""

    branch: str | None
    snapshot: str | None


class RowsShape(Shape, frozen=True, kw_only=True):
    """The rows of a read; a plan or a profile has other fields beside the first two."""

    query_name: str
    target: TargetShape
    graph_commit_id: str | UnsetType | None = UNSET
    row_count: int | UnsetType = UNSET
    columns: list[str] | UnsetType = UNSET
    rows: list[dict[str, Any]] | UnsetType = UNSET


class TableStateShape(Shape, frozen=True, kw_only=True):
    """Where a table stands."""

    table_key: str
    table_path: str
    table_version: str
    table_branch: str
    row_count: int


class SnapshotShape(Shape, frozen=True, kw_only=True):
    """What a branch holds."""

    branch: str
    manifest_version: int
    commit: str
    tables: list[TableStateShape]
    commits: dict[str, CommitShape]


class SchemaShape(Shape, frozen=True, kw_only=True):
    """The schema of a branch."""

    schema_source: str
    schema_hash: str
    schema_ir: str


class EntityShape(Shape, frozen=True, kw_only=True):
    """A node or edge as it was, with all that it has; null when it was not there."""

    entity: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """The types of a graph at one commit, and the text in which they were written."""

    catalog: Catalog
    text: Callable[[], str] = field(repr=False)

    @property
    def source(self) -> str:
        """The text of the schema."""
        return self.text()

    def to_json(self) -> dict[str, Json]:
        """Return the schema as JSON."""
        return {
            "schema_source": self.source,
            "schema_hash": content_hash(self.catalog),
            "schema_ir": encode_catalog(self.catalog),
        }

    @classmethod
    def from_json(cls, document: Document) -> Self:
        """Return the schema that `to_json` wrote."""
        return cls(decode_catalog(document["schema_ir"]), lambda: str(document["schema_source"]))


class GetSnapshot(PlaceOperation[Snapshot], frozen=True, kw_only=True):
    """Return the tables of a branch or commit, or of a branch as it was at a version."""

    endpoint = get("/snapshot", "snapshot", SnapshotShape)

    version: Version | None = None

    def answer(self, result: Snapshot, backend: Backend) -> dict[str, Json]:
        return result.to_answer(self.place)

    def result(self, answer: Document, backend: Backend) -> Snapshot:
        return Snapshot.from_json(answer, catalog_at(backend, answer["commit"]))


class GetEntity(Operation[Mapping[str, object] | None], frozen=True, kw_only=True):
    """Return a node or edge as it was at a version of a branch."""

    endpoint = get("/entity", "entity", EntityShape)

    branch: str = MAIN
    table: Key
    id: Key
    version: Version

    def answer(self, result: Mapping[str, object] | None, backend: Backend) -> dict[str, Json]:
        return {"entity": to_json_value(result)}

    def result(self, answer: Document, backend: Backend) -> Mapping[str, object] | None:
        found = answer["entity"]
        if found is None:
            return None
        snapshot = backend.run(GetSnapshot(branch=self.branch, version=self.version))
        return row_from_json(found, snapshot.catalog.by_table_key[self.table])


class ReadRows(PlaceOperation[Any], frozen=True, kw_only=True):
    """Run a read, or explain how it would be run.

    The result is a `ResultStream`, an `Explanation` or a `Profile`, as the mode says.
    """

    work = Work.QUERY
    endpoint = ask("/read", "read", RowsShape, "ReadBody", also=(ARROW,), errors=(404, 502))

    query_source: str
    query_name: str | None = None
    params: dict[str, Any] | None = None
    mode: Literal["rows", "explain", "profile"] = "rows"

    def head(self, query_name: str) -> dict[str, Json]:
        """Return what every answer begins with: the query, and what was read."""
        branch = None if self.snapshot else self.place
        return {"query_name": query_name, "target": {"branch": branch, "snapshot": self.snapshot}}

    def answer(
        self, result: "ResultStream | Explanation | Profile", backend: Backend
    ) -> dict[str, Json]:
        from omnigraph.api.profile import Explanation, Profile

        if isinstance(result, Explanation):
            return {**self.head(result.plan.name), **result.to_json()}
        if isinstance(result, Profile):
            return {**self.head(result.result.query_name), **result.to_json()}
        rows = result.to_result()
        return {
            **self.head(rows.query_name),
            "graph_commit_id": rows.commit,
            "row_count": len(rows),
            "columns": [*rows.columns],
            "rows": rows.to_json(),
        }

    def result(self, answer: Document, backend: Backend) -> "Explanation":
        from omnigraph.api.profile import Explanation
        from omnigraph.query.compile import compile_query
        from omnigraph.query.plan import ReadPlan

        schema = backend.run(GetSchema(branch=self.branch, snapshot=self.snapshot))
        source = Source("<query>", self.query_source)
        plan = compile_query(source, schema.catalog, self.query_name)
        return Explanation.from_json(answer, cast(ReadPlan, plan), schema.catalog)


class ExportRows(PlaceOperation[Iterator[bytes]], frozen=True, kw_only=True):
    """Return the rows of a branch or commit as JSON lines, while they are read."""

    work = Work.EXPORT
    endpoint = ask("/export", "export", LINES, "ExportBody", guard=Action.EXPORT)

    type_names: list[str] | None = None
    table_keys: list[str] | None = None


class ExportFiles(PlaceOperation[Any], frozen=True, kw_only=True):
    """Write the rows of a branch or commit as files of a folder."""

    folder: str
    format: str | None = None
    types: list[str]
    tables: list[str]

    def unavailable(self) -> UnavailableError:
        message = f"a server does not export to '{self.folder}' or any other folder"
        hint = "write the lines of `export` to a file, or run it where the graph is"
        return UnavailableError(message, hint=hint)


class ReadRecords(
    PlaceOperation[Iterator[tuple[StoredType, Mapping[str, Any]]]], frozen=True, kw_only=True
):
    """Return the rows of some types, or all, without their blobs, each with its type."""

    types: list[str] | None = None
    edges: list[str] | None = None


class GetSchema(PlaceOperation[GraphSchema], frozen=True, kw_only=True):
    """Return the schema of a branch or commit: as JSON, or as plain text where that is accepted."""

    endpoint = get("/schema", "schema", SchemaShape, also=(TEXT,))
    result_type = GraphSchema


class GetBlob(PlaceOperation["Blob | None"], frozen=True, kw_only=True):
    """Return the bytes of a Blob property of a node or edge; as JSON, what rows have."""

    endpoint = get("/blob", "blob", BYTES, also=(JSON,), errors=(404, 416))

    type: Key
    id: Key
    property: Key

    def answer(self, result: "Blob | None", backend: Backend) -> dict[str, Json]:
        return {"blob": None if result is None else result.text}

    def result(self, answer: Document, backend: Backend) -> "Blob | None":
        import pyarrow as pa

        from omnigraph.read.blob import parse_blob

        found = answer["blob"]
        return None if found is None else parse_blob(pa.py_buffer(found.encode()))


def catalog_at(backend: Backend, commit_id: str) -> Catalog:
    """Return the types of a graph at a commit."""
    return backend.run(GetSchema(snapshot=commit_id)).catalog


OPERATIONS = (GetSnapshot, GetEntity, ReadRows, ExportRows, GetSchema, GetBlob)
