"""Commit: one commit as recorded, with the version of every table that it leaves."""

from collections.abc import Mapping, Set
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from html import escape
from typing import Any, Self, TypeAlias

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, notebook_part
from omnigraph.storage import layout


class CommitKind(StrEnum):
    """What a commit changes; a physical one changes files but no content."""

    INIT = "init"
    WRITE = "write"
    MERGE = "merge"
    SCHEMA = "schema"
    PHYSICAL = "physical"


# The model that filled a vector property, by the identity of the property.
Models: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TableState:
    """One table at one commit: its folder, version and row count, and the branch that wrote it.

    `models` has the model of every vector property that was filled from texts.
    """

    path: str
    version: int
    row_count: int
    branch: str
    models: Models = ()

    @property
    def place(self) -> tuple[str, int]:
        """The folder and the version; content differs only where they do."""
        return self.path, self.version

    @property
    def manifest(self) -> str:
        """The path of the version's Lance manifest, the file that lists what it consists of."""
        return layout.manifest_path(self.path, self.version)


@dataclass(frozen=True, slots=True)
class Touched:
    """The few rows that a change wrote in one table, and the columns that it changed in them.

    Rows are named by `row_mark`, which two ids may share. Without columns all may have changed.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...] | None

    def may_have(self, mark: str, columns: Set[str]) -> bool:
        """Whether one of some columns may have changed in the row of a mark."""
        if mark not in self.rows:
            return False
        return self.columns is None or not columns.isdisjoint(self.columns)


def row_mark(row_id: str) -> str:
    """Return a few letters for an id."""
    return blake2b(row_id.encode(), digest_size=5).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Commit:
    """One point in a graph's history.

    `version` is one more than that of the newest parent, so it grows along every branch. `tables`
    is the whole graph at this point, by table key. `affected` counts the nodes and edges that a
    mutation changed, and `request` is the digest of what was asked for. `touched` says of small
    changes, by table key, what they wrote.
    """

    id: str
    parents: tuple[str, ...]
    branch: str
    version: int
    kind: CommitKind
    created_at: int
    operation_id: str
    schema: str
    tables: Mapping[str, TableState]
    actor: str | None = None
    message: str | None = None
    affected: tuple[int, int] | None = None
    request: str | None = None
    touched: Mapping[str, Touched] = field(default_factory=dict)

    def __repr__(self) -> str:
        about = f"{self.id!r}, branch={self.branch!r}, version={self.version}, kind='{self.kind}'"
        made = "" if self.actor is None else f", actor={self.actor!r}"
        said = "" if self.message is None else f", message={self.message!r}"
        return f"Commit({about}{made}{said})"

    def _repr_html_(self) -> str:
        facts = [
            ("branch", self.branch),
            ("version", self.version),
            ("kind", self.kind),
            ("created", time_text(self.created_at)),
            ("parents", ", ".join(self.parents) or None),
            ("actor", self.actor),
            ("message", self.message),
        ]
        return notebook_part(html_facts(f"Commit {self.id}", facts))

    @property
    def time(self) -> datetime:
        """When the commit was made."""
        return datetime.fromtimestamp(self.created_at / 1_000_000, UTC)

    @property
    def parent(self) -> str | None:
        """The commit that this one followed on its branch."""
        return self.parents[0] if self.parents else None

    @property
    def merged_parent(self) -> str | None:
        """The commit that was merged, for a merge."""
        return self.parents[1] if len(self.parents) > 1 else None

    @property
    def table_versions(self) -> set[tuple[str, int]]:
        """The versions of tables that the commit has, by table key."""
        return {(key, state.version) for key, state in self.tables.items()}

    def to_json(self) -> dict[str, Json]:
        """Return the commit as JSON."""
        return {
            "graph_commit_id": self.id,
            "manifest_branch": self.branch,
            "manifest_version": self.version,
            "parent_commit_id": self.parent,
            "merged_parent_commit_id": self.merged_parent,
            "actor_id": self.actor,
            "created_at": self.created_at,
            "kind": str(self.kind),
            "message": self.message,
            "operation_id": self.operation_id,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the commit that `to_json` wrote; its schema and tables are unknown."""
        parents = (document["parent_commit_id"], document["merged_parent_commit_id"])
        return cls(
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


def commit_row_id(commit_id: str) -> str:
    """Return the object id of a commit's record in the manifest."""
    return f"commit:{commit_id}"


def time_text(microseconds: int) -> str:
    """Return a time since 1970 for a person to read, to the second, in UTC."""
    when = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S UTC")


def author_html(commit: Commit) -> str:
    """Return who made a commit, and when, as HTML."""
    who = f'<span class="actor">{escape(commit.actor)}</span> ' if commit.actor else ""
    return f'{who}<time class="soft">{time_text(commit.created_at)}</time>'


def with_commits(document: Mapping[str, Json], *commits: Commit | None) -> dict[str, Json]:
    """Return a document with all commits added that it names, by their ids."""
    named: dict[str, Json] = {each.id: each.to_json() for each in commits if each is not None}
    return {**document, "commits": named}


def commit_named(document: Mapping[str, Any], field: str) -> Commit:
    """Return the commit that a field of such a document names.

    Of a commit that the reader may not see, only the id is known, or not even that.
    """
    found = document["commits"].get(document[field])
    if found is None:
        return Commit(
            id=document[field] or "",
            parents=(),
            branch="",
            version=0,
            kind=CommitKind.WRITE,
            created_at=0,
            operation_id="",
            schema="",
            tables={},
        )
    return Commit.from_json(found)


def commit_if_named(document: Mapping[str, Any]) -> Commit | None:
    """Return the commit that the field `commit` of such a document names; None when it is null."""
    return None if document["commit"] is None else commit_named(document, "commit")
