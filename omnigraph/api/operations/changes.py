"""Changes: operations on what differs: between two commits, by each commit, in one row."""

from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, Key, Operation, Shape, Work, ask, get, place_fields
from omnigraph.api.operations.commits import CommitShape
from omnigraph.api.operations.read import GetSchema, catalog_at
from omnigraph.errors import Json, TableNotFoundError
from omnigraph.merge.blamed import Blamed, blame_from_json, blame_json
from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges, SentChanges
from omnigraph.schema.catalog import Catalog
from omnigraph.versioning.names import MAIN

OpName = Literal["insert", "update", "delete"]
KindName = Literal["node", "edge"]


class ChangeShape(Shape, frozen=True, kw_only=True):
    """A node or edge that came, went or changed."""

    table_key: str
    kind: str
    type_name: str
    id: str
    op: str
    manifest_version: int
    before: dict[str, Any] | UnsetType = UNSET
    after: dict[str, Any] | UnsetType = UNSET
    changed: list[str] | UnsetType = UNSET
    endpoints: dict[str, str] | UnsetType = UNSET


class DiffShape(Shape, frozen=True, kw_only=True):
    """The net changes from one branch or commit to another, of rows and of the schema."""

    from_version: int
    to_version: int
    from_commit: str
    to_commit: str
    branch: str | None
    stats: dict[str, dict[str, int]]
    schema_steps: list[dict[str, Any]]
    changes: list[ChangeShape]


class CommitChangesShape(Shape, frozen=True, kw_only=True):
    """What one commit changed."""

    commit: CommitShape
    stats: dict[str, dict[str, int]]
    schema_steps: list[dict[str, Any]]
    changes: list[ChangeShape]
    from_version: int


class FeedShape(Shape, frozen=True, kw_only=True):
    """What commits changed, oldest first; `cursor` is where to go on, `more` whether there is."""

    branch: str
    commits: list[CommitChangesShape]
    cursor: str | None
    more: bool


class BlamedShape(Shape, frozen=True, kw_only=True):
    """A property, its value, and the commit that set it.

    With `or_earlier` a cleanup removed what was before the commit, so an older one may have set it.
    """

    property: str
    value: Any
    commit: str
    actor_id: str | None
    created_at: int
    message: str | None
    or_earlier: bool


class BlameShape(Shape, frozen=True, kw_only=True):
    """Which commit gave each property of a node or edge its value."""

    type_name: str
    id: str
    blame: list[BlamedShape]
    commits: dict[str, CommitShape]


class GetDiff(Operation[ChangeSet], frozen=True, kw_only=True):
    """Return the net changes from one branch or commit to another, while they are read.

    With `merge_base` they are compared from where the two parted: what `to` did since.
    """

    work = Work.CHANGES
    endpoint = ask("/diff", "diff", DiffShape, "DiffBody")

    old: Key = field(name="from")
    new: Key = field(name="to", default=MAIN)
    types: list[str] | None = None
    ops: list[OpName] | None = None
    kinds: list[KindName] | None = None
    stat: bool = False
    merge_base: bool = False

    def head(self, result: ChangeSet) -> dict[str, Json]:
        """Return all of an answer but the changes."""
        ends: dict[str, Json] = {"from_commit": result.old_commit, "to_commit": result.new_commit}
        return {**result.summary(), **ends}

    def answer(self, result: ChangeSet, backend: Backend) -> dict[str, Json]:
        return {**self.head(result), "changes": [] if self.stat else [*result.documents()]}

    def result(self, answer: Document, backend: Backend) -> ChangeSet:
        ends = answer["from_commit"], answer["to_commit"]
        return SentChanges(answer, cache(partial(_catalogs, backend, *ends)))


class ListChanges(Operation[Iterator[CommitChanges]], frozen=True, kw_only=True):
    """Return what the next commits of a branch changed, oldest first, and where to go on."""

    work = Work.CHANGES
    endpoint = get("/changes", "changes", FeedShape, errors=(404, 410))

    branch: str = MAIN
    since: str | None = None
    types: list[str] | None = field(name="type", default=None)
    ops: list[OpName] | None = field(name="op", default=None)
    kinds: list[KindName] | None = field(name="kind", default=None)
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100

    def page(self, result: Iterator[CommitChanges]) -> tuple[dict[str, Json], list[CommitChanges]]:
        """Return all of an answer but the commits, and the commits."""
        found = [*islice(result, self.limit + 1)]
        shown = found[: self.limit]
        cursor = shown[-1].cursor if shown else self.since
        more = len(found) > len(shown)
        return {"branch": self.branch, "cursor": cursor, "more": more}, shown

    def answer(self, result: Iterator[CommitChanges], backend: Backend) -> dict[str, Json]:
        head, shown = self.page(result)
        commits: list[Json] = [
            {**each.summary(), "changes": [*each.changes.documents()]} for each in shown
        ]
        return {**head, "commits": commits}

    def result(self, answer: Document, backend: Backend) -> Iterator[CommitChanges]:
        catalogs = None
        for each in answer["commits"]:
            if catalogs is None or each["schema_steps"]:
                made = each["commit"]
                ends = made["parent_commit_id"], made["graph_commit_id"]
                catalogs = cache(partial(_catalogs, backend, *ends))
            yield CommitChanges.from_json(each, catalogs)


class WatchChanges(Operation[Iterator[CommitChanges]], frozen=True, kw_only=True):
    """Return what each new commit of a branch changes, as server-sent events while they come.

    Without `since` they begin where the branch stands, which the first event, `baseline`, names.
    `Last-Event-ID` goes before `since`. With `follow=false` it ends when all was sent.
    """

    work = Work.CHANGES
    endpoint = get("/changes/stream", "watch", "text/event-stream", errors=(404, 410))

    branch: str = MAIN
    since: str | None = None
    types: list[str] | None = field(name="type", default=None)
    ops: list[OpName] | None = field(name="op", default=None)
    kinds: list[KindName] | None = field(name="kind", default=None)
    follow: bool = True

    @property
    def is_filtered(self) -> bool:
        """Whether some changes are of no interest."""
        return bool(self.types or self.ops or self.kinds)

    def resumed(self, last: str) -> Self:
        return msgspec.structs.replace(self, since=last)

    def listing(self, since: str) -> ListChanges:
        """Return what lists the changes after a cursor."""
        return ListChanges(
            branch=self.branch, since=since, types=self.types, ops=self.ops, kinds=self.kinds
        )


class GetBlame(Operation[list[Blamed]], frozen=True, kw_only=True):
    """Return for each property of a node or edge the commit that it has its value from."""

    work = Work.CHANGES
    endpoint = get("/blame", "blame", BlameShape)

    type: Key
    id: Key
    branch: str = MAIN

    def answer(self, result: list[Blamed], backend: Backend) -> dict[str, Json]:
        return {"type_name": self.type, "id": self.id, **blame_json(result)}

    def result(self, answer: Document, backend: Backend) -> list[Blamed]:
        schema = backend.run(GetSchema(**place_fields(self.branch)))
        stored = schema.catalog.stored(self.type)
        if stored is None:
            raise TableNotFoundError(f"no type '{self.type}'")
        return blame_from_json(answer, stored)


def _catalogs(backend: Backend, old: str, new: str) -> tuple[Catalog, Catalog]:
    return catalog_at(backend, old), catalog_at(backend, new)


OPERATIONS = (GetDiff, ListChanges, WatchChanges, GetBlame)
