"""Layout: where everything of a graph lies below its root."""

from omnigraph.schema.identity import fnv1a64

MANIFEST = "__manifest"
SCHEMA_SOURCE = "_schema.pg"
SCHEMA_IR = "_schema.ir.json"
ASIDE = "_aside"
EMBEDDINGS = "_embeddings"
TOPOLOGY = "_topology"
RUNS = "_runs"

_FOLDERS = {"node": "nodes", "edge": "edges"}


def table_path(identity: str, attempt: int = 1) -> str:
    """Give the folder of a type's table; a later attempt stands beside what a crash left."""
    kind, _, _ = identity.partition(":")
    suffix = "" if attempt == 1 else f".{attempt}"
    return f"{_FOLDERS[kind]}/{fnv1a64(identity):016x}{suffix}"


def schema_path(digest: str) -> str:
    """Give the object that holds one accepted schema, source and IR."""
    return f"_schemas/{digest}.json"
