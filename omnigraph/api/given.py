"""Arguments: what callers hand over, as the engine takes it: texts and files, words, filters."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from omnigraph.errors import Code, InputError, QueryError, SchemaError
from omnigraph.files.bytes import file_bytes
from omnigraph.merge.changes import ChangeFilter
from omnigraph.merge.diff import Op
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.query.expr import EntityKind
from omnigraph.span import Source
from omnigraph.syntax.source import decode, make_source

_Choice = TypeVar("_Choice", bound=StrEnum)


def query_source(queries: str | Path | Source) -> Source:
    """Give the text of queries: a `Path` is a file of them, a `str` is the text itself."""
    if isinstance(queries, str | Source):
        return make_source(queries, "<query>")
    return decode(str(queries), file_bytes(queries), QueryError, Code.QUERY_SYNTAX)


def schema_source(schema: str | Path | Source) -> Source:
    """Give the text of a schema: a `Path` is a file of it, a `str` is the text itself."""
    if isinstance(schema, str | Source):
        return make_source(schema, "<schema>")
    return decode(str(schema), file_bytes(schema), SchemaError, Code.SCHEMA_SYNTAX)


def change_filter(kinds: Iterable[str], types: Iterable[str], ops: Iterable[str]) -> ChangeFilter:
    """Give which changes are of interest; a kind or an operation that is none is refused."""
    return ChangeFilter(
        frozenset(_choice(EntityKind, each) for each in kinds),
        frozenset(types),
        frozenset(_choice(Op, each) for each in ops),
    )


def resolutions_of(given: Resolutions | Side | str | None) -> Resolutions:
    """Give whose version is taken; a side that does not exist is refused."""
    found = given if isinstance(given, Resolutions) else Resolutions(given)  # type: ignore[arg-type]
    return Resolutions(
        None if found.default is None else _choice(Side, found.default),
        {key: _choice(Side, side) for key, side in found.types.items()},
        {key: _choice(Side, side) for key, side in found.rows.items()},
        {key: _choice(Side, side) for key, side in found.properties.items()},
    )


def refuse_expect(expected: str | None) -> None:
    """Refuse to check where a branch stands for what works wherever it stands."""
    if expected is not None:
        hint = "take the branch without it for this"
        raise InputError("'expect' is for mutations and schemas only", hint=hint)


def _choice(kinds: type[_Choice], given: str) -> _Choice:
    """Give what a word stands for, or raise InputError with the words that there are."""
    try:
        return kinds(given)
    except ValueError:
        known = ", ".join(kinds)
        raise InputError(f"there is no '{given}'", hint=f"it is one of: {known}") from None
