"""Names: the branches, tags and types of a graph for completion, kept until the graph changes."""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from omnigraph.cli.address import Address


@dataclass(frozen=True, slots=True)
class GraphNames:
    """What can be named in a graph."""

    branches: list[str]
    tags: list[str]
    types: list[str]


def names_at(address: "Address") -> GraphNames:
    """Return the names of a graph.

    To read them from a local graph takes half a second, most of it to load Lance. So they are
    kept in a file, together with the time of the manifest's last change, while that is the same.
    """
    if address.is_remote:
        return _read(address)
    stamp = _stamp(address.uri)
    cached = None if stamp is None else _cached(address.uri, stamp)
    if cached is not None:
        return cached
    names = _read(address)
    if stamp is not None:
        _store(address.uri, stamp, names)
    return names


def _read(address: "Address") -> GraphNames:
    from omnigraph.api.graph import connect
    from omnigraph.api.graph import open as open_graph

    with (
        connect(address.uri, token=address.token, seconds=2)
        if address.is_remote
        else open_graph(address.uri, read_only=True)
    ) as graph:
        catalog = graph.catalog
        return GraphNames(graph.branches(), [*graph.tags()], [*catalog.nodes, *catalog.edges])


def _stamp(uri: str) -> list[int] | None:
    """Return which manifest a graph on a local disk has, and when it last changed."""
    from omnigraph.storage import layout

    if "://" in uri:
        return None
    try:
        found = Path(uri, layout.MANIFEST, "_versions").stat()
    except OSError:
        return None
    return [found.st_ino, found.st_mtime_ns]


def _cached(uri: str, stamp: list[int]) -> GraphNames | None:
    try:
        found = json.loads(_file(uri).read_bytes())
        return GraphNames(**found["names"]) if found["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _store(uri: str, stamp: list[int], names: GraphNames) -> None:
    path = _file(uri)
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"stamp": stamp, "names": asdict(names)}))
        part.replace(path)
    except OSError:
        return  # it is found again the next time


def _file(uri: str) -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    folder = Path(given) if given else Path.home() / ".cache"
    name = hashlib.sha256(str(Path(uri).absolute()).encode()).hexdigest()[:32]
    return folder / "omnigraph" / f"{name}.json"
