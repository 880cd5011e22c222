"""Inputs: turns whatever a user passes to a load into sources that tasks can read."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, StoredType, find_type
from omnigraph.write.load.sources.files import files_at
from omnigraph.write.load.sources.rows import (
    is_network,
    is_uri,
    network_lines,
    refuse_name,
    row_lines,
    rows_in,
)
from omnigraph.write.load.sources.splits import Format, LoadSource, source_of
from omnigraph.write.load.sources.spool import Spool, frames_by_type, is_frame

# Paths and URIs of files, JSON lines as text, a stream of them, frames, or frames by type.
Data: TypeAlias = (
    str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BinaryIO | Mapping[str, Any] | Any
)


def sources_of(
    data: Data, type_name: str | None, catalog: Catalog, spool: Spool
) -> list[LoadSource]:
    """Return the sources of an input; a `str` that is not a URI is the text itself."""
    if is_network(data):
        return [_spooled(spool, _Joined(network_lines(data, catalog)), "<networkx>", None)]
    if isinstance(data, Mapping) or is_frame(data):
        return [
            source
            for name, frame in frames_by_type(data, type_name).items()
            for source in _given(frame, find_type(name, catalog), catalog, spool)
        ]
    kind = None if type_name is None else find_type(type_name, catalog).name
    if isinstance(data, str) and not is_uri(data):
        refuse_name(data)
        text = io.BytesIO(data.encode(errors="surrogatepass"))
        return [_spooled(spool, text, "<text>", kind)]
    if hasattr(data, "read"):
        stream = cast(BinaryIO, getattr(data, "buffer", data))
        return [_spooled(spool, stream, "<stdin>", kind)]
    rows = rows_in(data)
    if rows is not None:
        lines = _Joined(row_lines(rows, type_name, lambda: catalog))
        return [_spooled(spool, lines, "<rows>", None)]
    return [source_of(file, type_name, catalog) for file in files_at(places_of(data))]


def _given(data: object, stored: StoredType, catalog: Catalog, spool: Spool) -> list[LoadSource]:
    """Return the sources of one type: a frame, or dicts."""
    rows = rows_in(data)
    if rows is None:
        return spool.frame(data, stored)
    lines = _Joined(row_lines(rows, stored.name, lambda: catalog))
    return [_spooled(spool, lines, f"<{stored.name}>", None)]


def _spooled(
    spool: Spool, stream: "BinaryIO | _Joined", name: str, type_name: str | None
) -> LoadSource:
    return LoadSource(spool.stream(cast(BinaryIO, stream), name), Format.JSONL, type_name)


class _Joined:
    """Lines as a stream, of which each read returns the next ones, whatever their size."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    def read(self, size: int) -> bytes:
        """Return lines of about `size` bytes; none when there are no more."""
        found: list[bytes] = []
        held = 0
        for line in self._lines:
            found.append(line)
            held += len(line)
            if held >= size:
                break
        return b"".join(found)


def places_of(data: Data) -> list[str]:
    """Return the paths and URIs of an input; raises InputError for anything else."""
    places = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(places, Sequence) or not all(
        isinstance(place, str | os.PathLike) for place in places
    ):
        hint = "pass paths, JSON lines as text, a stream of bytes, a frame, or dicts"
        raise InputError(f"a value of type {type(data).__name__} cannot be loaded", hint=hint)
    return [os.fspath(place) for place in places]
