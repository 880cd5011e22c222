"""Inputs: turns whatever a user passes to a load into sources that tasks can read."""

import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, find_type
from omnigraph.write.load.files import files_at
from omnigraph.write.load.splits import Format, Source, refuse_type, source_of
from omnigraph.write.load.spool import Spool, frames_by_type, is_frame

# Paths and URIs of files, JSON lines as text, a stream of them, frames, or frames by type.
Data: TypeAlias = (
    str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BinaryIO | Mapping[str, Any] | Any
)

_LONGEST_SHOWN = 60
_URI = re.compile(r"(?:s3|gs|az|file)://\S+", re.IGNORECASE)


def sources_of(data: Data, type_name: str | None, catalog: Catalog, spool: Spool) -> list[Source]:
    """Return the sources of an input; a `str` that is not a URI is the text itself."""
    if isinstance(data, Mapping) or is_frame(data):
        return [
            source
            for name, frame in frames_by_type(data, type_name).items()
            for source in spool.frame(frame, find_type(name, catalog).name)
        ]
    if isinstance(data, str) and not is_uri(data):
        refuse_name(data)
        refuse_type("<text>", type_name)
        return [
            Source(
                spool.stream(io.BytesIO(data.encode(errors="surrogatepass")), "<text>"),
                Format.JSONL,
            )
        ]
    if hasattr(data, "read"):
        refuse_type("<stdin>", type_name)
        stream = cast(BinaryIO, getattr(data, "buffer", data))
        return [Source(spool.stream(stream, "<stdin>"), Format.JSONL)]
    return [source_of(file, type_name, catalog) for file in files_at(places_of(data))]


def places_of(data: Data) -> list[str]:
    """Return the paths and URIs of an input; raises InputError for anything else."""
    places = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(places, Sequence) or not all(
        isinstance(place, str | os.PathLike) for place in places
    ):
        hint = "pass paths, JSON lines as text, a stream of bytes, or a frame"
        raise InputError(f"a value of type {type(data).__name__} cannot be loaded", hint=hint)
    return [os.fspath(place) for place in places]


def is_uri(text: str) -> bool:
    """Whether a text is a URI, and not data itself."""
    return _URI.fullmatch(text) is not None


def refuse_name(text: str) -> None:
    """Raise InputError for a text that is not a record and looks like a file name."""
    line = text.removeprefix("\ufeff").strip()
    if not line or "\n" in text or line.startswith(("{", "//")):
        return
    shown = line.encode(errors="backslashreplace").decode()
    shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1]}…"
    raise InputError(
        f"a str has to hold JSON lines; found '{shown}'",
        hint=f"if it is the name of a file, pass Path('{shown}')",
    )
