"""Texts: queries and schemas as a caller hands them over: a Path is a file, a str the text."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from omnigraph.errors import Code, InputError, QueryError, SchemaError
from omnigraph.files.bytes import file_bytes
from omnigraph.frozen import dataclass
from omnigraph.span import Source
from omnigraph.syntax.source import decode, make_source


def names_of(given: Iterable[str], what: str) -> list[str]:
    """Return names that a caller lists; one alone may stand for itself."""
    if isinstance(given, str):
        return [given]
    names = list(given) if isinstance(given, Iterable) else None
    if names is None or not all(isinstance(each, str) for each in names):
        raise InputError(f"'{what}' is a list of names, not a {type(given).__name__}")
    return names


def query_source(queries: str | Path | Source) -> Source:
    """Return the text of queries: a `Path` is a file of them, a `str` is the text itself."""
    if isinstance(queries, str | Source):
        return make_source(queries, "<query>")
    _check_path(queries, "a query")
    return decode(str(queries), file_bytes(queries), QueryError, Code.QUERY_SYNTAX)


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """Which query of a text is run, and with which parameters."""

    name: str | None
    params: dict[str, object]


def named_query(
    name: "str | Mapping[str, object] | None",
    params: "Mapping[str, object] | None",
    keywords: Mapping[str, object],
) -> NamedQuery:
    """Return the query and the parameters of a call.

    They come in a mapping, which may stand where the name does, as keywords, or as both.
    """
    if name is not None and isinstance(name, Mapping):
        if params is not None:
            raise InputError(
                "the parameters are given twice", hint="the name of the query is first"
            )
        name, params = None, name
    if name is not None and not isinstance(name, str):
        raise InputError(f"the name of a query is a str, not a {type(name).__name__}")
    if params is not None and not isinstance(params, Mapping):
        raise InputError(f"parameters are a dict, not a {type(params).__name__}")
    for each in params or ():
        if not isinstance(each, str):
            raise InputError(f"the name of a parameter is a str, not a {type(each).__name__}")
        if each in keywords:
            raise InputError(f"the parameter '{each}' is given twice")
    return NamedQuery(name, {**(params or {}), **keywords})


def schema_source(schema: str | Path | Source) -> Source:
    """Return the text of a schema: a `Path` is a file of it, a `str` is the text itself."""
    if isinstance(schema, str | Source):
        return make_source(schema, "<schema>")
    _check_path(schema, "a schema")
    return decode(str(schema), file_bytes(schema), SchemaError, Code.SCHEMA_SYNTAX)


def _check_path(given: object, what: str) -> None:
    if not isinstance(given, Path):
        hint = "a str is the text itself, and a Path is a file of it"
        raise InputError(f"{what} is a str or a Path, not a {type(given).__name__}", hint=hint)
