"""Graph: the handle on a graph that a user holds; it only delegates."""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import pyarrow.compute as pc

from omnigraph.errors import Code, SchemaError, UnreadableError
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import content_hash
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source
from omnigraph.syntax.source import decode
from omnigraph.versioning import branches, history
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.repository import Repository, create, open_repository
from omnigraph.versioning.snapshot import Snapshot


class Graph:
    """A graph on a store: its branches, its history and its snapshots."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def __repr__(self) -> str:
        return f"Graph({self.uri!r})"

    @property
    def uri(self) -> str:
        """Where the graph lies."""
        return self.repository.store.root

    @property
    def catalog(self) -> Catalog:
        """The types of `main`."""
        return self.snapshot().catalog

    @property
    def schema_hash(self) -> str:
        """The hash of what the schema of `main` says."""
        return content_hash(self.catalog)

    @property
    def schema(self) -> str:
        """The text of the schema of `main`."""
        return self.repository.schema_source(self.snapshot().commit.schema)

    def snapshot(self, target: str = MAIN) -> Snapshot:
        """Pin a branch where it stands now, or a commit by its id."""
        return self.repository.snapshot_of(target)

    def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Pin the commit that gave a branch a version."""
        return history.snapshot_at_version(self.repository, version, branch)

    def entity_at(
        self, table_key: str, entity_id: str, version: int, branch: str = MAIN
    ) -> Mapping[str, object] | None:
        """Give one node or edge as it was at a version, or None when it was not there."""
        table = self.snapshot_at_version(version, branch).table(table_key)
        rows = table.scan(where=pc.field("id") == entity_id).to_pylist()
        return rows[0] if rows else None

    def branches(self) -> list[str]:
        """Give the names of all branches, `main` first."""
        return branches.list_branches(self.repository)

    def create_branch(self, name: str, source: str = MAIN) -> None:
        """Make a branch where another one, or a commit, stands."""
        branches.create_branch(self.repository, name, source)

    def delete_branch(self, name: str) -> None:
        """Remove a branch."""
        branches.delete_branch(self.repository, name)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Give a branch another name."""
        branches.rename_branch(self.repository, name, new_name)

    def log(
        self, branch: str = MAIN, *, limit: int | None = None, after: str | None = None
    ) -> Iterator[Commit]:
        """Give the commits of a branch, newest first; `after` goes on behind one of them."""
        return islice(history.log(self.repository, branch, after=after), limit)

    def commit(self, commit_id: str) -> Commit:
        """Give a commit by its id."""
        return self.repository.commit(commit_id)

    def merge_base(self, one: str, other: str) -> Commit:
        """Give the newest commit that two branches or commits came from."""
        ids = [self.snapshot(each).commit.id for each in (one, other)]
        return history.merge_base(self.repository, *ids)


def init(
    uri: str | os.PathLike[str], schema: str | Path | Source, *, durable: bool = True
) -> Graph:
    """Make a new graph; a `Path` is a schema file, a `str` is the schema itself.

    An existing graph is refused and not touched.
    """
    source = _schema_source(schema)
    return Graph(create(uri, compile_schema(source), source.text, durable=durable))


def open(  # noqa: A001 - read as omnigraph.open
    uri: str | os.PathLike[str], *, read_only: bool = False, durable: bool = True
) -> Graph:
    """Open a graph. With `durable`, a commit is on the disk before it is acknowledged."""
    return Graph(open_repository(uri, read_only=read_only, durable=durable))


def _schema_source(schema: str | Path | Source) -> Source:
    if isinstance(schema, Source):
        return schema
    if isinstance(schema, str):
        return Source("<schema>", schema)
    try:
        data = schema.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableError(f"cannot read '{schema}': {reason}") from None
    return decode(str(schema), data, SchemaError, Code.SCHEMA_SYNTAX)
