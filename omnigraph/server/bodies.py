"""Bodies: what requests hold, in their bodies and in their query strings."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from omnigraph.versioning.names import MAIN

Count = Annotated[int, Meta(ge=1, le=10_000)]
Version = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Key = Annotated[str, Meta(min_length=1, max_length=1_000)]
Mode = Literal["append", "merge", "overwrite"]
Side = Literal["ours", "theirs"]
Op = Literal["insert", "update", "delete"]
Kind = Literal["node", "edge"]


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object; a field that is not known is an error."""


class Ask(Body, frozen=True, kw_only=True):
    """A query, its parameters, and where it is asked: a branch, or a commit by its id."""

    query_source: str
    query_name: str | None = None
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: str | None = None


class ReadBody(Ask, frozen=True, kw_only=True):
    """A read; it gives rows, or how they come about."""

    mode: Literal["rows", "explain", "profile"] = "rows"


class ChangeBody(Ask, frozen=True, kw_only=True):
    """A mutation; with `expect` only when the branch stands at this commit."""

    message: str | None = None
    expect: str | None = None


class ExportBody(Body, frozen=True, kw_only=True):
    """Which rows of which branch or commit."""

    branch: str | None = None
    snapshot: str | None = None
    type_names: list[str] | None = None
    table_keys: list[str] | None = None


class SchemaBody(Body, frozen=True, kw_only=True):
    """The text of a schema, and the branch that it is for."""

    schema_source: str
    branch: Key = MAIN


class ApplyBody(SchemaBody, frozen=True, kw_only=True):
    """A schema to apply; with `expect` only when the branch stands at this commit."""

    message: str | None = None
    expect: str | None = None


class OptimizeBody(Body, frozen=True, kw_only=True):
    """A branch to write anew in few large files; or only its indexes."""

    branch: Key = MAIN
    indexes_only: bool = False


class CleanupBody(Body, frozen=True, kw_only=True):
    """Which old commits can go; without `confirm` it is only told what that would be."""

    keep: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    older_than: str | None = None
    grace: str | None = None
    confirm: bool = False


class IngestQuery(Body, frozen=True, kw_only=True):
    """Where rows go: a branch, which is made from another one when it is not there."""

    branch: str | None = None
    base: str | None = msgspec.field(name="from", default=None)
    mode: Mode = "merge"
    message: str | None = None
    dry_run: bool = False


class IngestBody(IngestQuery, frozen=True, kw_only=True):
    """Rows as JSON lines, and where they go."""

    data: str


class LoadQuery(Body, frozen=True, kw_only=True):
    """Where rows go: a branch that is there."""

    branch: str | None = None
    mode: Mode = "append"
    message: str | None = None
    dry_run: bool = False


class LoadBody(LoadQuery, frozen=True, kw_only=True):
    """Rows as JSON lines, and where they go."""

    data: str


class BranchBody(Body, frozen=True, kw_only=True):
    """A new branch, and where it starts."""

    name: Key
    base: str | None = msgspec.field(name="from", default=None)


class RenameBody(Body, frozen=True, kw_only=True):
    """A branch and its new name."""

    name: Key
    new_name: Key


class Choices(Body, frozen=True, kw_only=True):
    """Whose version is taken where both sides changed the same.

    `take` is for everything, and `types` for all rows of a type; `resolutions` are conflicts as a
    preview gives them, with `take` set.
    """

    take: Side | None = None
    types: dict[str, Side] | None = None
    resolutions: list[dict[str, Any]] | None = None
    message: str | None = None


class MergeBody(Choices, frozen=True, kw_only=True):
    """A branch or commit, and the branch that it is merged into."""

    source: Key
    target: Key = MAIN
    strict: bool = False
    preview: bool = False


class RevertBody(Choices, frozen=True, kw_only=True):
    """A commit to undo, on a branch."""

    commit: Key
    branch: Key = MAIN


class DiffBody(Body, frozen=True, kw_only=True):
    """Two branches or commits, and which changes are of interest."""

    old: Key = msgspec.field(name="from")
    new: Key = msgspec.field(name="to", default=MAIN)
    types: list[str] | None = None
    ops: list[Op] | None = None
    kinds: list[Kind] | None = None
    stat: bool = False


class TagBody(Body, frozen=True, kw_only=True):
    """A name for a commit, or for where a branch stands."""

    name: Key
    target: Key = MAIN


class RunBody(Body, frozen=True, kw_only=True):
    """The branch that a run is published to; a live run with the same hash is given again."""

    target_branch: Key = MAIN
    operation_hash: str | None = None


class PublishBody(Choices, frozen=True, kw_only=True):
    """How a run is merged into its target."""


class Nothing(Body, frozen=True, kw_only=True):
    """No parameters."""


class BranchQuery(Body, frozen=True, kw_only=True):
    """A branch."""

    branch: str = MAIN


class PlaceQuery(Body, frozen=True, kw_only=True):
    """A branch, or a commit by its id."""

    branch: str | None = None
    snapshot: str | None = None


class SnapshotQuery(PlaceQuery, frozen=True, kw_only=True):
    """A branch, or a commit by its id; or the commit that gave a branch a version."""

    version: Version | None = None


class EntityQuery(BranchQuery, frozen=True, kw_only=True):
    """A node or edge as it was when a branch had a version."""

    table: Key
    id: Key
    version: Version


class BaseQuery(Body, frozen=True, kw_only=True):
    """Two branches or commits."""

    one: Key
    other: Key


class ListQuery(Body, frozen=True, kw_only=True):
    """So many names at most; `after` goes on behind one of them."""

    limit: Count = 1_000
    after: Key | None = None


class RunsQuery(ListQuery, frozen=True, kw_only=True):
    """So many runs at most, newest first; `after` goes on behind one of them."""

    limit: Count = 100


class CommitsQuery(BranchQuery, frozen=True, kw_only=True):
    """The commits of a branch, newest first; `after` goes on behind one of them."""

    limit: Count = 100
    after: Key | None = None


class ChangesQuery(BranchQuery, frozen=True, kw_only=True):
    """What commits changed, oldest first, after the one of a cursor; so many commits at most."""

    since: str | None = None
    types: list[str] | None = msgspec.field(name="type", default=None)
    ops: list[Op] | None = msgspec.field(name="op", default=None)
    kinds: list[Kind] | None = msgspec.field(name="kind", default=None)
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class BlobQuery(PlaceQuery, frozen=True, kw_only=True):
    """A Blob property of a node or edge."""

    type: Key
    id: Key
    property: Key


class BlameQuery(Body, frozen=True, kw_only=True):
    """A node or edge, at a branch, tag or commit."""

    type: Key
    id: Key
    branch: str = MAIN
