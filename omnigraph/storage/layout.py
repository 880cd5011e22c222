"""Layout: where everything of a graph lies below its root."""

from datetime import timedelta

from omnigraph.schema.identity import fnv1a64

# The newest shape of a ledger that this release knows, and the one that it writes.
FORMAT = 2

MANIFEST = "__manifest"
SCHEMA_SOURCE = "_schema.pg"
SCHEMA_IR = "_schema.ir.json"
ASIDE = "_aside"
EMBEDDINGS = "_embeddings"
TOPOLOGY = "_topology"
RUNS = "_runs"
OPERATIONS = "_operations"
SCHEMAS = "_schemas"
BACKUP = "_backup"

# A server knows a key for less than this; then nothing needs the answer that it led to.
OPERATIONS_AGE = timedelta(weeks=2)

# Versions from here on do not move a table forward.
DETACHED = 1 << 63
# Lance names the manifests of the others by what is missing to this one.
NEWEST_VERSION = 2**64 - 1

_FOLDERS = {"node": "nodes", "edge": "edges"}
TABLES = tuple(_FOLDERS.values())


def table_path(identity: str, attempt: int = 1) -> str:
    """Give the folder of a type's table; a later attempt stands beside what a crash left."""
    kind, _, _ = identity.partition(":")
    suffix = "" if attempt == 1 else f".{attempt}"
    return f"{_FOLDERS[kind]}/{fnv1a64(identity):016x}{suffix}"


def schema_path(digest: str) -> str:
    """Give the object that holds one accepted schema, source and IR."""
    return f"{SCHEMAS}/{digest}.json"


def manifest_name(version: int) -> str:
    """Give the name of the manifest of a version, in the folder of all versions of a table."""
    if version & DETACHED:
        return f"d{version}.manifest"
    return f"{NEWEST_VERSION - version:020d}.manifest"
