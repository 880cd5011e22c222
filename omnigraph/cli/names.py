"""Names: the branches, tags and types of a graph for completion, kept until the graph changes."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from omnigraph.cli.address import Address


@dataclass(frozen=True, slots=True)
class Names:
    """What can be named in a graph."""

    branches: list[str]
    tags: list[str]
    types: list[str]


def names_at(address: "Address") -> Names:
    """Give the names of a graph.

    To read them from a local graph takes half a second, most of it to load Lance. So they are
    kept in a file, together with the time of the ledger's last change, while that is the same.
    """
    if address.is_remote:
        return _of_server(address)
    stamp = _stamp(address.uri)
    kept = None if stamp is None else _kept(address.uri, stamp)
    if kept is not None:
        return kept
    names = _of_graph(address.uri)
    if stamp is not None:
        _keep(address.uri, stamp, names)
    return names


def _of_server(address: "Address") -> Names:
    from omnigraph.api.client import Client
    from omnigraph.schema.compile import compile_schema

    with Client(address.uri, address.token, seconds=2) as client:
        branches, tags, schema = (
            cast(dict[str, Any], client.get(path)) for path in ("/branches", "/tags", "/schema")
        )
    catalog = compile_schema(schema["schema_source"])
    return Names(
        branches["branches"],
        [each["name"] for each in tags["tags"]],
        [*catalog.nodes, *catalog.edges],
    )


def _of_graph(uri: str) -> Names:
    from omnigraph.versioning.branches import list_branches
    from omnigraph.versioning.repository import open_repository
    from omnigraph.versioning.tags import list_tags

    repository = open_repository(uri, read_only=True)
    catalog = repository.snapshot("main").catalog
    types = [*catalog.nodes, *catalog.edges]
    return Names(list_branches(repository), list(list_tags(repository)), types)


def _stamp(uri: str) -> list[int] | None:
    """Give which ledger a graph on a local disk has, and when it last changed."""
    from omnigraph.storage import layout

    if "://" in uri:
        return None
    try:
        found = Path(uri, layout.MANIFEST, "_versions").stat()
    except OSError:
        return None
    return [found.st_ino, found.st_mtime_ns]


def _kept(uri: str, stamp: list[int]) -> Names | None:
    try:
        found = json.loads(_file(uri).read_bytes())
        return Names(**found["names"]) if found["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(uri: str, stamp: list[int], names: Names) -> None:
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
