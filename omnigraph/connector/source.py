"""Source: the data source as Spark knows it: which reader or writer its options ask for."""

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from omnigraph.connector import feed, queries, tables, writing
from omnigraph.connector.feed import FeedReader
from omnigraph.connector.options import SourceOptions
from omnigraph.connector.queries import PinnedQuery, QueryReader, pin_query
from omnigraph.connector.tables import PinnedType, TableReader, pin_type
from omnigraph.connector.writing import FrameWriter, StreamWriter, target_of
from omnigraph.errors import InputError

_READING = tuple(dict.fromkeys((*tables.OPTIONS, *queries.OPTIONS)))


class OmniGraphSource(DataSource):
    """A type or a query of a graph at one commit, to read; a type to write; changes to stream.

    The commit is pinned when the frame is made, so all queries on the frame see the same rows.
    """

    _pinned: PinnedType | PinnedQuery | None = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    def schema(self) -> StructType:
        # Spark does not say yet whether it will read a stream, which names no type and no query.
        if {"type", "query"} & {name.lower() for name in dict(self.options)}:
            return self._pin().schema
        SourceOptions.of(dict(self.options), (*_READING, *feed.OPTIONS))
        return feed.SCHEMA

    def reader(self, schema: StructType) -> TableReader | QueryReader:
        return self._pin().reader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> FrameWriter:  # noqa: ARG002
        options = SourceOptions.of(dict(self.options), writing.OPTIONS)
        return FrameWriter(target_of(options, overwrite=overwrite), options.get("operation"))

    def streamReader(self, schema: StructType) -> FeedReader:  # noqa: ARG002, N802 - Spark's name
        return FeedReader(SourceOptions.of(dict(self.options), feed.OPTIONS))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: ARG002, N802
        if overwrite:
            # A batch without rows would delete all of the type, or leave those that are gone.
            hint = "overwrite the type in foreachBatch, by frame.write.mode('overwrite')"
            raise InputError("a stream does not write in the mode complete", hint=hint)
        options = SourceOptions.of(dict(self.options), writing.STREAM_OPTIONS)
        return StreamWriter(target_of(options, overwrite=False))

    def _pin(self) -> PinnedType | PinnedQuery:
        """Return what is read; once pinned, the pickled source keeps it."""
        if self._pinned is None:
            options = SourceOptions.of(dict(self.options), _READING)
            if options.get("query") is None:
                self._pinned = pin_type(SourceOptions.of(options.given, tables.OPTIONS))
            elif options.get("type") is not None:
                raise InputError("the options 'type' and 'query' exclude each other")
            else:
                self._pinned = pin_query(SourceOptions.of(options.given, queries.OPTIONS))
        return self._pinned
