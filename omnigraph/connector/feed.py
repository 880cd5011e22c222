"""Feed: what each commit of a branch changed, as a stream."""

import json
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import ceil

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.connector.options import SourceOptions
from omnigraph.merge.compare.changes import SnapshotChanges
from omnigraph.merge.compare.row_change import ChangeFilter
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.connector import to_arrow_schema
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history import history
from omnigraph.versioning.repository import Repository

OPTIONS = ("path", "branch", "since", "types", "ops")
SCHEMA = StructType(
    [
        StructField("commit", StringType(), nullable=False),
        StructField("version", LongType(), nullable=False),
        StructField("committed_at", TimestampType(), nullable=False),
        StructField("actor", StringType()),
        StructField("message", StringType()),
        StructField("type", StringType(), nullable=False),
        StructField("kind", StringType(), nullable=False),
        StructField("id", StringType(), nullable=False),
        StructField("op", StringType(), nullable=False),
        StructField("before", StringType()),
        StructField("after", StringType()),
        StructField("changed", ArrayType(StringType(), containsNull=False), nullable=False),
    ]
)
# `since` for everything that the branch still has the history of.
BEGINNING = "beginning"
_MOST_PARTITIONS = 64
_ROWS_PER_BATCH = 4_096


class FeedReader(DataSourceStreamReader):
    """Reads every commit of a branch once, oldest first; the offset is the last one's id."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._since = options.get("since")
        self._wanted = _wanted(options)
        self._catalog = self._checked()

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Return where a new query begins: behind `since`, or where the branch stands."""
        if self._since == BEGINNING:
            return {"commit": ""}
        repository = self._options.open()
        if self._since is not None:
            return {"commit": repository.commit(self._since).id}
        return {"commit": repository.snapshot(self._options.branch).commit.id}

    def latestOffset(self, *_: object) -> dict[str, str]:  # noqa: N802 - Spark's name
        """Return where the branch stands now."""
        repository = self._options.open()
        return {"commit": repository.snapshot(self._options.branch).commit.id}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """Return the commits behind one up to another, some for each task."""
        if start == end:
            return []
        repository = self._options.open()
        later = history.since(repository, self._options.branch, start["commit"] or None)
        # The last commit may be an optimize, which is not among those that changed content.
        last = repository.commit(end["commit"]).version
        commits = [each.id for each in takewhile(lambda each: each.version <= last, later)]
        size = max(1, ceil(len(commits) / _MOST_PARTITIONS))
        return [
            InputPartition(commits[first : first + size]) for first in range(0, len(commits), size)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of some commits."""
        repository = self._options.open()
        for commit_id in partition.value:
            commit = repository.commit(commit_id)
            yield from _batches(repository, commit, self._wanted, self._catalog)

    def _checked(self) -> Catalog:
        """Return the schema of the branch; raise for a branch, commit or type that is not there."""
        repository = self._options.open()
        catalog = repository.snapshot(self._options.branch).catalog
        self._wanted.bound(catalog)
        if self._since not in (None, BEGINNING):
            repository.commit(self._since or "")
        return catalog


def _wanted(options: SourceOptions) -> ChangeFilter:
    return ChangeFilter.parse((), options.names("types") or (), options.names("ops") or ())


def _batches(
    repository: Repository, commit: Commit, wanted: ChangeFilter, catalog: Catalog
) -> Iterator[pa.RecordBatch]:
    """Yield what a commit changed, a bounded number of rows at a time.

    Types may be named as in `catalog`: when the commit was made, one had another name or was not
    there yet.
    """
    assert commit.parent is not None
    repository.refuse_cleaned(commit.parent)
    before, after = repository.pin(repository.commit(commit.parent)), repository.pin(commit)
    bound = wanted.bound(before.catalog, after.catalog, catalog)
    rows: list[dict[str, object]] = []
    for change in SnapshotChanges(before, after, bound):
        document = change.to_json()
        rows.append(
            {
                "commit": commit.id,
                "version": commit.version,
                "committed_at": commit.created_at,
                "actor": commit.actor,
                "message": commit.message,
                "type": change.type_name,
                "kind": str(change.kind),
                "id": change.id,
                "op": str(change.op),
                "before": _text(document.get("before")),
                "after": _text(document.get("after")),
                "changed": list(change.changed),
            }
        )
        if len(rows) == _ROWS_PER_BATCH:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(SCHEMA))


def _text(row: object) -> str | None:
    return None if row is None else json.dumps(row, ensure_ascii=False)
