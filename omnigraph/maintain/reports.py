"""Reports: what coverage, optimize, cleanup, fsck and backups found or did."""

from collections.abc import Mapping
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits
from omnigraph.versioning.damage import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One index: how many rows of its table it covers, how many it misses, and why.

    `recall`, for vectors only and on request, is the share of the nearest rows that it finds.
    """

    table_key: str
    column: str
    kind: str
    indexed: int
    pending: int
    reason: str | None
    recall: float | None = None

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {
            "table_key": self.table_key,
            "column": self.column,
            "kind": self.kind,
            "rows_indexed": self.indexed,
            "rows_pending": self.pending,
            "reason": self.reason,
        }
        return found if self.recall is None else {**found, "recall": round(self.recall, 4)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the coverage that `to_json` wrote."""
        return cls(
            table_key=document["table_key"],
            column=document["column"],
            kind=document["kind"],
            indexed=document["rows_indexed"],
            pending=document["rows_pending"],
            reason=document["reason"],
            recall=document.get("recall"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedTable:
    """What was done to one table; not committed when nothing was due, or when others won.

    `yielded` is true for the latter: writers kept changing the table.
    """

    table_key: str
    fragments_removed: int
    fragments_added: int
    committed: bool
    yielded: bool
    indexes: tuple[Coverage, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "table_key": self.table_key,
            "fragments_removed": self.fragments_removed,
            "fragments_added": self.fragments_added,
            "committed": self.committed,
            "yielded": self.yielded,
            "indexes": [each.to_json() for each in self.indexes],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the table that `to_json` wrote."""
        indexes = tuple(Coverage.from_json(each) for each in document["indexes"])
        return cls(**{**document, "indexes": indexes})


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimized:
    """What an optimize did; without a commit nothing was due."""

    branch: str
    engine: str
    tables: tuple[OptimizedTable, ...]
    commit: Commit | None

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "uri": uri,
            "branch": self.branch,
            "engine": self.engine,
            "commit": None if self.commit is None else self.commit.id,
            "tables": [each.to_json() for each in self.tables],
        }

    def to_answer(self, uri: str) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the result back."""
        return with_commits(self.to_json(uri), self.commit)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that `to_answer` wrote."""
        return cls(
            branch=document["branch"],
            engine=document["engine"],
            tables=tuple(OptimizedTable.from_json(each) for each in document["tables"]),
            commit=commit_if_named(document),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedTable:
    """What a cleanup removes of one table, or of another part of the graph."""

    table_key: str
    bytes_removed: int = 0
    old_versions_removed: int = 0
    files_removed: int = 0

    def to_json(self) -> dict[str, Json]:
        return {
            "table_key": self.table_key,
            "bytes_removed": self.bytes_removed,
            "old_versions_removed": self.old_versions_removed,
            "files_removed": self.files_removed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What a cleanup removed; without `confirmed`, what it would remove.

    `others` are files outside the tables, by their folder, the manifest included.
    """

    confirmed: bool
    commits_kept: int
    commits_cleaned: int
    tables: tuple[CleanedTable, ...]
    others: tuple[CleanedTable, ...]

    @property
    def bytes_removed(self) -> int:
        return sum(each.bytes_removed for each in (*self.tables, *self.others))

    @property
    def old_versions_removed(self) -> int:
        return sum(each.old_versions_removed for each in self.tables)

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "uri": uri,
            "confirmed": self.confirmed,
            "commits_kept": self.commits_kept,
            "commits_cleaned": self.commits_cleaned,
            "tables": [each.to_json() for each in self.tables],
            "others": [each.to_json() for each in self.others],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that `to_json` wrote."""
        return cls(
            confirmed=document["confirmed"],
            commits_kept=document["commits_kept"],
            commits_cleaned=document["commits_cleaned"],
            tables=tuple(CleanedTable(**each) for each in document["tables"]),
            others=tuple(CleanedTable(**each) for each in document["others"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What was checked, and the damage that was found."""

    rows: int
    commits: int
    versions: int
    files: int
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        return not self.findings

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "uri": uri,
            "sound": self.is_sound,
            "ledger_rows": self.rows,
            "commits": self.commits,
            "table_versions": self.versions,
            "files": self.files,
            "findings": [each.to_json() for each in self.findings],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that `to_json` wrote."""
        return cls(
            rows=document["ledger_rows"],
            commits=document["commits"],
            versions=document["table_versions"],
            files=document["files"],
            findings=tuple(Finding.from_json(each) for each in document["findings"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a backup or a restore copied: where the branches and tags of the copy stand.

    `commit` is where `main` stands. `files_kept` were there already. Without `checkup`, nobody
    looked whether the copy is sound.
    """

    source: str
    dest: str
    commit: str
    heads: Mapping[str, str]
    tags: Mapping[str, str]
    commits: int
    files_copied: int
    bytes_copied: int
    files_kept: int
    files_removed: int
    checkup: Checkup | None

    @property
    def is_sound(self) -> bool | None:
        """Whether the check found no damage; None when there was none."""
        return None if self.checkup is None else self.checkup.is_sound

    def to_json(self) -> dict[str, Json]:
        """Return the result as JSON."""
        findings = () if self.checkup is None else self.checkup.findings
        return {
            "source": self.source,
            "dest": self.dest,
            "commit": self.commit,
            "heads": dict(self.heads),
            "tags": dict(self.tags),
            "commits": self.commits,
            "files_copied": self.files_copied,
            "bytes_copied": self.bytes_copied,
            "files_kept": self.files_kept,
            "files_removed": self.files_removed,
            "sound": self.is_sound,
            "findings": [each.to_json() for each in findings],
        }
