"""Write: operations that change rows: mutations, resolutions, loads and ingests."""

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from msgspec import field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, Endpoint, Operation, Shape, Work, named_or_main, post
from omnigraph.api.operations.commits import CommitShape
from omnigraph.errors import Json
from omnigraph.policy.actions import Action
from omnigraph.write.counts import counts_document
from omnigraph.write.load.loaded import Ingested, Loaded
from omnigraph.write.receipt import Receipt
from omnigraph.write.resolved import Resolved

_Done = TypeVar("_Done", Ingested, Loaded)
ModeName = Literal["append", "merge", "replace", "overwrite"]
ChoiceName = Literal["into", "from"]
# Rows to load: JSON lines in a request, and whatever `Graph.load` takes at hand.
if TYPE_CHECKING:
    from omnigraph.write.load.sources.inputs import Data as RowInput
else:
    RowInput = str


class ReceiptShape(Shape, frozen=True, kw_only=True):
    """What a mutation changed; without a commit there was nothing to change.

    Those who may not read the branch get no numbers.
    """

    branch: str
    query_name: str
    affected_nodes: int | None
    affected_edges: int | None
    inserted: int | None
    updated: int | None
    unchanged: int | None
    deleted: int | None
    actor_id: str | None
    commit: str | None
    operation_id: str | None
    commits: dict[str, CommitShape]


class ResolvedShape(Shape, frozen=True, kw_only=True):
    """What became of two nodes that are one; without a commit nothing was written.

    Those who may not read the branch get no properties and no numbers.
    """

    branch: str
    type: str
    into: str
    duplicate: str = field(name="from")
    properties: list[str] | None
    repointed: int | None
    folded: int | None
    inserted: int | None
    updated: int | None
    unchanged: int | None
    deleted: int | None
    actor_id: str | None
    commit: str | None
    operation_id: str | None
    commits: dict[str, CommitShape]


class LoadedShape(Shape, frozen=True, kw_only=True):
    """What a load did."""

    uri: str
    branch: str
    mode: str
    engine: str
    nodes_loaded: int
    edges_loaded: int
    node_types_loaded: int
    edge_types_loaded: int
    inserted: int | None
    updated: int | None
    unchanged: int | None
    deleted: int | None
    commit: str | None
    commits: dict[str, CommitShape]
    nodes: dict[str, int]
    edges: dict[str, int]


class LoadedTableShape(Shape, frozen=True, kw_only=True):
    """How many rows of a table were loaded."""

    table_key: str
    rows_loaded: int


class IngestedShape(Shape, frozen=True, kw_only=True):
    """What an ingest did."""

    uri: str
    branch: str
    base_branch: str
    branch_created: bool
    mode: str
    engine: str
    tables: list[LoadedTableShape]
    inserted: int | None
    updated: int | None
    unchanged: int | None
    deleted: int | None
    actor_id: str | None
    commit: str | None
    loaded: LoadedShape


def _post_rows(path: str, name: str, answer: type[Shape], body: str) -> Endpoint:
    """Return an endpoint that takes rows, also as JSON lines."""
    errors = (404, 409, 502)
    return post(path, name, Action.CHANGE, answer, body, takes_lines=True, errors=errors)


class Mutate(Operation[Receipt], frozen=True, kw_only=True):
    """Run a mutation as one commit of a branch; with `expect` only when it stands there."""

    work = Work.QUERY
    endpoint = post(
        "/change", "change", Action.CHANGE, ReceiptShape, "ChangeBody", errors=(404, 409, 502)
    )
    result_type = Receipt

    query_source: str
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None
    message: str | None = None
    expect: str | None = None

    def changed_branch(self, answer: Document) -> str | None:
        return named_or_main(self.branch)

    def answer(self, result: Receipt, backend: Backend) -> dict[str, Json]:
        return result.to_answer()

    def redacted(self, answer: dict[str, Json]) -> dict[str, Json]:
        # How many rows a condition finds tells what they hold.
        hidden: dict[str, Json] = dict.fromkeys(("affected_nodes", "affected_edges"))
        return {**answer, **hidden, **counts_document(None), "commits": {}}


class Resolve(Operation[Resolved], frozen=True, kw_only=True):
    """Make two nodes of one type one, as one commit of a branch; see `expect` of a mutation."""

    endpoint = post(
        "/resolve", "resolve", Action.CHANGE, ResolvedShape, "ResolveBody", errors=(404, 409, 502)
    )
    result_type = Resolved

    type: str
    into: str
    duplicate: str = field(name="from")
    take: ChoiceName = "into"
    properties: dict[str, ChoiceName] | None = None
    aliases: str | None = None
    branch: str | None = None
    message: str | None = None
    expect: str | None = None
    dry_run: bool = False

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def changed_branch(self, answer: Document) -> str | None:
        return named_or_main(self.branch)

    def answer(self, result: Resolved, backend: Backend) -> dict[str, Json]:
        return result.to_answer()

    def redacted(self, answer: dict[str, Json]) -> dict[str, Json]:
        hidden: dict[str, Json] = dict.fromkeys(("properties", "repointed", "folded"))
        return {**_unseen(answer), **hidden}


class RowsOperation(Operation[_Done], Generic[_Done], frozen=True, kw_only=True):
    """An operation that loads rows into a branch."""

    work = Work.LOAD

    branch: str | None = None

    def changed_branch(self, answer: Document) -> str | None:
        return named_or_main(self.branch)

    def answer(self, result: _Done, backend: Backend) -> dict[str, Json]:
        return result.to_answer(backend.uri)


class Ingest(RowsOperation[Ingested], frozen=True, kw_only=True):
    """Load rows into a branch, which is made with them when it is not there."""

    endpoint = _post_rows("/ingest", "ingest", IngestedShape, "IngestBody")
    result_type = Ingested

    base: str | None = field(name="from", default=None)
    mode: ModeName = "merge"
    message: str | None = None
    dry_run: bool = False
    always: bool = False
    data: RowInput

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        return {**_unseen(answer), "loaded": _unseen(answer["loaded"])}


class Load(RowsOperation[Loaded], frozen=True, kw_only=True):
    """Load rows into a branch that is there."""

    endpoint = _post_rows("/load", "load", LoadedShape, "LoadBody")
    result_type = Loaded

    mode: ModeName = "append"
    message: str | None = None
    dry_run: bool = False
    always: bool = False
    data: RowInput

    @property
    def writes(self) -> bool:
        return not self.dry_run

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        return _unseen(answer)


class EmbedAgain(RowsOperation[Loaded], frozen=True, kw_only=True):
    """Make all vectors of types anew, by the model that is chosen now; without types, of all."""

    endpoint = post(
        "/embed", "embed_again", Action.CHANGE, LoadedShape, "EmbedBody", errors=(404, 409, 502)
    )
    result_type = Loaded

    types: list[str] | None = None
    message: str | None = None

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        return _unseen(answer)


def _unseen(answer: dict[str, Any]) -> dict[str, Json]:
    """Return an answer without what tells which rows a branch holds already."""
    return {**answer, **counts_document(None), "commits": {}}


OPERATIONS = (Mutate, Resolve, Ingest, Load, EmbedAgain)
