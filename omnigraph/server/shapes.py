"""Shapes: what answers look like, for the OpenAPI document and those who write clients."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field


class Shape(Struct, frozen=True, kw_only=True):
    """A JSON object of an answer."""


class Problem(Shape, frozen=True, kw_only=True):
    """Why a request was refused; `detail` is all that is known about it."""

    error: str
    code: str
    detail: dict[str, Any] | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    merge_conflicts: list[dict[str, Any]] | UnsetType = UNSET
    manifest_conflict: dict[str, Any] | UnsetType = UNSET


class Server(Shape, frozen=True, kw_only=True):
    """What the server is, the newest format of graphs that it knows, and where to look."""

    name: str
    version: str
    format_version: int
    openapi: str
    health: str


class Health(Shape, frozen=True, kw_only=True):
    """The server answers.

    `reload_failing` names what could not be read again, so that the old one is in force: `tokens`
    or `policy`.
    """

    status: Literal["ok"]
    version: str
    format_version: int
    reload_failing: list[str]


class Target(Shape, frozen=True, kw_only=True):
    """What was read."""

    branch: str | None
    snapshot: str | None


class Rows(Shape, frozen=True, kw_only=True):
    """The rows of a read; a plan or a profile has other fields beside the first two."""

    query_name: str
    target: Target
    row_count: int | UnsetType = UNSET
    columns: list[str] | UnsetType = UNSET
    rows: list[dict[str, Any]] | UnsetType = UNSET


class Receipt(Shape, frozen=True, kw_only=True):
    """What a mutation changed; without a commit there was nothing to change.

    Those who may not read the branch get no numbers.
    """

    branch: str
    query_name: str
    affected_nodes: int | None
    affected_edges: int | None
    actor_id: str | None
    commit: str | None
    operation_id: str | None
    commits: "dict[str, Commit]"


class TableState(Shape, frozen=True, kw_only=True):
    """Where a table stands."""

    table_key: str
    table_path: str
    table_version: str
    table_branch: str
    row_count: int


class Snapshot(Shape, frozen=True, kw_only=True):
    """What a branch holds."""

    branch: str
    manifest_version: int
    commit: str
    tables: list[TableState]
    commits: "dict[str, Commit]"


class Schema(Shape, frozen=True, kw_only=True):
    """The schema of a branch."""

    schema_source: str
    schema_hash: str
    schema_ir: str


class SchemaPlan(Shape, frozen=True, kw_only=True):
    """What a schema would change on a branch, and what is in its way."""

    uri: str
    branch: str
    head: str
    supported: bool
    step_count: int
    steps: list[dict[str, Any]]
    violation_count: int
    violations: list[dict[str, Any]]
    schema_source: str


class SchemaApplied(Shape, frozen=True, kw_only=True):
    """What a schema changed."""

    uri: str
    branch: str
    supported: bool
    applied: bool
    step_count: int
    manifest_version: int | None
    commit: str | None
    steps: list[dict[str, Any]]
    plan: dict[str, Any]
    commits: "dict[str, Commit]"


class Optimized(Shape, frozen=True, kw_only=True):
    """What an optimize did; without a commit nothing was due."""

    uri: str
    branch: str
    engine: str
    commit: str | None
    tables: list[dict[str, Any]]
    commits: "dict[str, Commit]"


class Cleaned(Shape, frozen=True, kw_only=True):
    """What a cleanup removed, or would remove."""

    uri: str
    confirmed: bool
    commits_kept: int
    commits_cleaned: int
    tables: list[dict[str, Any]]
    others: list[dict[str, Any]]


class Checkup(Shape, frozen=True, kw_only=True):
    """What a check of the whole graph found."""

    uri: str
    sound: bool
    ledger_rows: int
    commits: int
    table_versions: int
    files: int
    findings: list[dict[str, Any]]


class Coverage(Shape, frozen=True, kw_only=True):
    """How many rows are in each index."""

    uri: str
    branch: str
    indexes: list[dict[str, Any]]


class LoadedTable(Shape, frozen=True, kw_only=True):
    """How many rows of a table were loaded."""

    table_key: str
    rows_loaded: int


class Ingested(Shape, frozen=True, kw_only=True):
    """What an ingest did."""

    uri: str
    branch: str
    base_branch: str
    branch_created: bool
    mode: str
    engine: str
    tables: list[LoadedTable]
    actor_id: str | None
    commit: str | None
    loaded: "Loaded"


class Loaded(Shape, frozen=True, kw_only=True):
    """What a load did."""

    uri: str
    branch: str
    mode: str
    engine: str
    nodes_loaded: int
    edges_loaded: int
    node_types_loaded: int
    edge_types_loaded: int
    commit: str | None
    commits: "dict[str, Commit]"
    nodes: dict[str, int]
    edges: dict[str, int]


class Branches(Shape, frozen=True, kw_only=True):
    """The names of branches, `main` first; a cursor is where the list goes on."""

    branches: list[str]
    cursor: str | None


class BranchCreated(Shape, frozen=True, kw_only=True):
    """A branch that was made."""

    uri: str
    base: str = field(name="from")
    name: str
    actor_id: str | None


class BranchNamed(Shape, frozen=True, kw_only=True):
    """A branch that was removed or renamed."""

    uri: str
    name: str


class Merged(Shape, frozen=True, kw_only=True):
    """What a merge did or would do; where the target stood is told to those who may read it."""

    source: str
    target: str
    outcome: Literal["already_up_to_date", "fast_forward", "merged"]
    actor_id: str | None
    commit: str | None
    base_commit: str
    stats: dict[str, dict[str, int]]
    merge_conflicts: list[dict[str, Any]]
    commits: "dict[str, Commit]"
    ours_commit: str | None
    theirs_commit: str


class Reverted(Shape, frozen=True, kw_only=True):
    """A commit that was undone by another; without one there was nothing left to undo."""

    branch: str
    reverted: str
    commit: str | None
    merge: Merged


class Commit(Shape, frozen=True, kw_only=True):
    """One point of the history."""

    graph_commit_id: str
    manifest_branch: str
    manifest_version: int
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    actor_id: str | None
    created_at: int
    kind: str
    message: str | None
    operation_id: str


class Commits(Shape, frozen=True, kw_only=True):
    """The commits of a branch, newest first; a cursor is where the list goes on."""

    commits: list[Commit]
    cursor: str | None


class Change(Shape, frozen=True, kw_only=True):
    """A node or edge that came, went or changed."""

    table_key: str
    kind: str
    type_name: str
    id: str
    op: str
    before: dict[str, Any] | UnsetType = UNSET
    after: dict[str, Any] | UnsetType = UNSET
    changed: list[str] | UnsetType = UNSET
    endpoints: dict[str, str] | UnsetType = UNSET


class Diff(Shape, frozen=True, kw_only=True):
    """The net changes from one branch or commit to another, of rows and of the schema."""

    from_version: int
    to_version: int
    from_commit: str
    to_commit: str
    stats: dict[str, dict[str, int]]
    schema_steps: list[dict[str, Any]]
    changes: list[Change]


class CommitChanges(Shape, frozen=True, kw_only=True):
    """What one commit changed."""

    commit: Commit
    stats: dict[str, dict[str, int]]
    schema_steps: list[dict[str, Any]]
    changes: list[Change]
    from_version: int


class Feed(Shape, frozen=True, kw_only=True):
    """What commits changed, oldest first; `cursor` is where to go on, `more` whether there is."""

    branch: str
    commits: list[CommitChanges]
    cursor: str | None
    more: bool


class Entity(Shape, frozen=True, kw_only=True):
    """A node or edge as it was, with all that it has; null when it was not there."""

    entity: dict[str, Any] | None


class Blamed(Shape, frozen=True, kw_only=True):
    """A property, its value, and the commit that set it."""

    property: str
    value: Any
    commit: str
    actor_id: str | None
    created_at: int
    message: str | None


class Blame(Shape, frozen=True, kw_only=True):
    """Which commit gave each property of a node or edge its value."""

    type_name: str
    id: str
    blame: list[Blamed]
    commits: "dict[str, Commit]"


class BlobText(Shape, frozen=True, kw_only=True):
    """A Blob property: `base64:` and the content, or a URI, or null."""

    blob: str | None


class Tag(Shape, frozen=True, kw_only=True):
    """A name for a commit."""

    name: str
    commit: str


class Tags(Shape, frozen=True, kw_only=True):
    """Tags, by name; a cursor is where the list goes on."""

    tags: list[Tag]
    cursor: str | None


class TagNamed(Shape, frozen=True, kw_only=True):
    """A tag that was removed."""

    name: str


class Run(Shape, frozen=True, kw_only=True):
    """A run: where it publishes to, where it writes meanwhile, and how it ended."""

    run_id: str
    target_branch: str
    run_branch: str
    base_snapshot_id: str
    base_manifest_version: int
    operation_hash: str | None
    actor_id: str | None
    status: Literal["running", "published", "failed", "aborted"]
    published_snapshot_id: str | None
    created_at: int
    updated_at: int


class Runs(Shape, frozen=True, kw_only=True):
    """Runs, newest first; a cursor is where the list goes on."""

    runs: list[Run]
    cursor: str | None
