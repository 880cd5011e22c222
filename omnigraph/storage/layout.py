"""Layout: the paths of everything that a graph keeps below its root."""

from datetime import timedelta
from functools import lru_cache

from omnigraph.schema.identity import fnv1a64

# The format of a manifest to which this release brings older ones, the one that it has once heads
# are spilled into rows of it, and the one that it has from the first commit of this release on,
# which is a key and may store blobs as bytes. Graphs with blobs as bytes and no such commit have 5.
FORMAT = 3
SPILLED = 4
FRESH = NEWEST_FORMAT = 6

MANIFEST = "__manifest"
SCHEMA_SOURCE = "_schema.pg"
SCHEMA_IR = "_schema.ir.json"
ASIDE = "_aside"
EMBEDDINGS = "_embeddings"
TOPOLOGY = "_topology"
COPIES = "_copies"
RUNS = "_runs"
REVIEWS = "_reviews"
OPERATIONS = "_operations"
SCHEMAS = "_schemas"
BACKUP = "_backup"

# A server honours an idempotency key for less than this, so its answer is not needed afterwards.
OPERATIONS_AGE = timedelta(weeks=2)

# Versions from here on are detached: they do not become a table's newest.
DETACHED = 1 << 63
# Lance names the manifests of all others by this number minus their version.
NEWEST_VERSION = 2**64 - 1

_FOLDERS = {"node": "nodes", "edge": "edges"}
TABLES = tuple(_FOLDERS.values())


def table_path(identity: str, attempt: int = 1) -> str:
    """Return the folder of a type's table; a later attempt sits beside what a crash left."""
    kind, _, _ = identity.partition(":")
    suffix = "" if attempt == 1 else f".{attempt}"
    return f"{_FOLDERS[kind]}/{_digest(identity)}{suffix}"


def copied_version(path: str, version: int) -> str:
    """Return how the folders of copies of a table's version begin."""
    return f"{_digest(path)}.{version}"


@lru_cache(4096)
def _digest(text: str) -> str:
    return f"{fnv1a64(text):016x}"


def schema_path(digest: str) -> str:
    """Return the path of the object that holds one accepted schema, source and IR."""
    return f"{SCHEMAS}/{digest}.json"


def manifest_path(path: str, version: int) -> str:
    """Return the path of the Lance manifest of a version of a table."""
    return f"{path}/_versions/{manifest_name(version)}"


def manifest_name(version: int) -> str:
    """Return the file name of a version's Lance manifest, within the table's folder of versions."""
    if version & DETACHED:
        return f"d{version}.manifest"
    return f"{NEWEST_VERSION - version:020d}.manifest"
