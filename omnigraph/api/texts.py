"""Texts: queries and schemas as a caller hands them over: a Path is a file, a str the text."""

from pathlib import Path

from omnigraph.errors import Code, QueryError, SchemaError
from omnigraph.files.bytes import file_bytes
from omnigraph.span import Source
from omnigraph.syntax.source import decode, make_source


def query_source(queries: str | Path | Source) -> Source:
    """Return the text of queries: a `Path` is a file of them, a `str` is the text itself."""
    if isinstance(queries, str | Source):
        return make_source(queries, "<query>")
    return decode(str(queries), file_bytes(queries), QueryError, Code.QUERY_SYNTAX)


def schema_source(schema: str | Path | Source) -> Source:
    """Return the text of a schema: a `Path` is a file of it, a `str` is the text itself."""
    if isinstance(schema, str | Source):
        return make_source(schema, "<schema>")
    return decode(str(schema), file_bytes(schema), SchemaError, Code.SCHEMA_SYNTAX)
