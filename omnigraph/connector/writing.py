"""Writing: rows that tasks store and one commit publishes, of a frame or of each micro-batch."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from omnigraph.connector.options import SourceOptions
from omnigraph.errors import InputError, OperationReusedError, StorageError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import find_type
from omnigraph.spark.runner import InlineRunner
from omnigraph.syntax.problems import parse_choice
from omnigraph.write.load.aside import Aside, new_aside
from omnigraph.write.load.keywords import LoadKeywords
from omnigraph.write.load.load import LoadTarget, load
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.options import options_of
from omnigraph.write.load.sources.files import file_in
from omnigraph.write.load.sources.splits import Format, LoadSource
from omnigraph.write.load.sources.spool import write_part

OPTIONS = ("path", "type", "branch", "load", "actor", "message", "operation")
# Those without an operation, which is that of each batch, and two that are for Spark itself.
STREAM_OPTIONS = (*OPTIONS[:-1], "checkpointlocation", "queryname")
_QUERY_ID = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows of a frame go, and how."""

    options: SourceOptions
    type: str
    mode: LoadMode
    aside: Aside

    def stored(self, batches: Iterator[pa.RecordBatch]) -> "StoredPart":
        """Store the rows of one task, where the commit finds them."""
        query = _query_id()
        first = next(batches, None)
        if first is None:
            return StoredPart(None, None, query)
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        path, digest = write_part(self.aside.store, self.aside.folder, rows)
        return StoredPart(path, digest, query)

    def publish(
        self, parts: "Sequence[StoredPart]", operation: str | None, *, always: bool = False
    ) -> None:
        """Check all rows and publish them as one commit; raises when something is wrong.

        With `always` there is a commit of any rows, also when they change nothing.
        """
        repository = self.options.open(read_only=False)
        target = LoadTarget(self.options.branch, repository.snapshot(self.options.branch))
        sources = [
            LoadSource(
                file_in(self.aside.store, each.path, f"<{self.type}>", each.digest),
                Format.PARQUET,
                self.type,
            )
            for each in sorted(parts, key=lambda part: part.digest or "")
            if each.path is not None
        ]
        keywords: LoadKeywords = {
            "mode": self.mode,
            "actor": self.options.get("actor"),
            "message": self.options.get("message"),
            "operation_id": operation,
            "always": always,
        }
        if sources:
            chosen = options_of(keywords, LoadMode.APPEND)
            load(repository, target, sources, InlineRunner(chosen.deadline), chosen)
        elif self.mode is LoadMode.OVERWRITE:
            hint = f"run the mutation: delete {self.type} where …"
            raise InputError("a frame without rows overwrites nothing", hint=hint)

    def discard(self, parts: "Sequence[StoredPart | None]") -> None:
        """Remove what tasks stored."""
        paths = [each.path for each in parts if each is not None and each.path is not None]
        with suppress(StorageError):  # a cleanup removes what stays
            self.aside.store.objects.delete_many(paths)


@dataclass
class StoredPart(WriterCommitMessage):
    """The rows of one task, in a file of the store, and the streaming query that they are of."""

    path: str | None
    digest: str | None
    query: str | None


def target_of(options: SourceOptions, *, overwrite: bool) -> Target:
    """Return where a frame goes; raises for a graph, branch or type that is not there."""
    mode = parse_choice(LoadMode, options.get("load") or LoadMode.APPEND)
    if mode is LoadMode.OVERWRITE and not overwrite:
        raise InputError("a frame overwrites with mode('overwrite')", hint="leave out load")
    if overwrite and options.get("load") is not None:
        raise InputError("mode('overwrite') and the option 'load' exclude each other")
    snapshot = options.open().snapshot(options.branch)
    name = find_type(options.required("type"), snapshot.catalog).name
    return Target(
        options, name, LoadMode.OVERWRITE if overwrite else mode, new_aside(options.store)
    )


class FrameWriter(DataSourceArrowWriter):
    """Writes a frame as one commit, or nothing."""

    def __init__(self, target: Target, operation: str | None) -> None:
        self._target = target
        self._operation = operation

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StoredPart:
        return self._target.stored(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        parts = [each for each in messages if isinstance(each, StoredPart)]
        try:
            self._target.publish(parts, self._operation)
        finally:
            self._target.aside.discard()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._target.aside.discard()


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes each micro-batch as one commit; a batch that Spark repeats is committed once.

    The id of the commit's operation is that of the query, which its checkpoint keeps, with the
    number of the batch.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StoredPart:
        return self._target.stored(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        parts = [each for each in messages if isinstance(each, StoredPart)]
        queries = {each.query for each in parts}
        if not parts:
            return
        query = queries.pop() if len(queries) == 1 else None
        if query is None:
            raise InputError("Spark does not say which streaming query this is")
        try:
            # The commit keeps the id. Without one, a batch that changed nothing would be written
            # when Spark repeats it, over what others have written since.
            self._target.publish(parts, f"{query}:{batchId}", always=True)
        except OperationReusedError:
            # The same batch of the same query, whose rows came in another order.
            pass
        finally:
            self._target.discard(parts)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        self._target.discard([each for each in messages if isinstance(each, StoredPart)])


def _query_id() -> str | None:
    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty(_QUERY_ID)
    return None if found is None else str(found)
