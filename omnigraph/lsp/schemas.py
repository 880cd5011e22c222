"""Schemas: which schema the queries of a file are written for."""

from collections.abc import Iterator
from pathlib import Path

from omnigraph.deploy.declaration import FILE_NAME, declared_schemas
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass

QUERIES, SCHEMA = ".gq", ".pg"


@dataclass(frozen=True, slots=True)
class SchemaFinder:
    """Finds the schema of a file of queries.

    It is the one that was `given`; else that of the graph of a `cluster.yaml`, in the folder of
    the file or above it, whose stored queries the file has; else the only schema of the nearest
    folder that has any, or the one with the name of the file.
    """

    given: Path | None = None
    roots: tuple[Path, ...] = ()

    def find(self, queries: Path) -> Path | None:
        """Return the schema of a file; None where there is none, or more than one."""
        if self.given is not None:
            return self.given
        for folder in self._folders(queries):
            declared = _declared(folder, queries)
            if declared is not None:
                return declared
        for folder in self._folders(queries):
            found = sorted(folder.glob(f"*{SCHEMA}"))
            same = [each for each in found if each.stem == queries.stem]
            if same or found:
                return same[0] if same else found[0] if len(found) == 1 else None
        return None

    def _folders(self, queries: Path) -> Iterator[Path]:
        """Yield the folder of a file and those above it, up to that of the project."""
        for folder in queries.parents:
            yield folder
            if folder in self.roots or not self.roots:
                return


def _declared(folder: Path, queries: Path) -> Path | None:
    """Return the schema that a deployment has for a file of its stored queries."""
    file = folder / FILE_NAME
    if not file.exists():
        return None
    try:
        found = [schema for schema, places in declared_schemas(file) if _has(places, queries)]
    except OmniGraphError:  # `omnigraph cluster validate` tells what is wrong in it
        return None
    return found[0] if len(set(found)) == 1 else None


def _has(places: tuple[Path, ...], queries: Path) -> bool:
    return any(each in (queries, queries.parent) for each in places)
