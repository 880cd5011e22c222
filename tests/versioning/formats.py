"""Formats: makes the stored graphs of each format that tests open.

`python -m tests.versioning.formats N` writes tests/fixtures/format-N.tar.gz. A fixture is made
once, with the release that first wrote its format, and never again.
"""

import sys
import tarfile
import tempfile
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from omnigraph.api.graph import Graph
from omnigraph.storage.layout import SPILLED
from omnigraph.versioning import repository
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest.records import PRIMARY_KEY, STAMP, new_manifest
from omnigraph.versioning.writes import Append, TableWrite, Upsert
from tests.archives import unpack
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write

PHOTO = "node Photo { slug: String @key  content: Blob? }"
# The format of a manifest once blobs are stored as bytes.
PACKED = 5
FIXTURES = Path(__file__).parents[1] / "fixtures"


def unpacked(number: int, folder: Path) -> Path:
    """Return the stored graph of a format, unpacked into a folder."""
    with tarfile.open(FIXTURES / f"format-{number}.tar.gz") as archive:
        unpack(archive, folder)
    return folder / "graph"


def unstamped_manifest(commit: Commit) -> pa.Table:
    """Return the manifest as format 1 had it: no stamp, and no mark on `object_id`."""
    rows = new_manifest(commit)
    kept = {k: v for k, v in rows.schema.metadata.items() if k != STAMP.encode()}
    unmarked = [field.remove_metadata() for field in rows.schema]
    assert PRIMARY_KEY.encode() in rows.schema.field("object_id").metadata
    return rows.cast(pa.schema(unmarked, metadata=kept))


def _fill(root: Path) -> Graph:
    graph = new_graph(root)
    write(graph, {PERSON: (Append(people({"ada": 36, "bob": None})),)}, message="two people")
    graph.create_branch("review/one")
    changes: dict[str, tuple[TableWrite, ...]] = {
        PERSON: (Upsert(people({"ada": 37})),),
        KNOWS: (Append(knows([("ada", "bob")])),),
    }
    write(graph, changes, "review/one", message="a birthday")
    return graph


def _make(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "graph")
        first_rows = unstamped_manifest if number == 1 else new_manifest
        with patch.object(repository, "new_manifest", first_rows):
            graph = _fill(root)
        if number >= SPILLED:
            graph.repository.manifest.spill(graph.repository.manifest.newest())
        if number >= PACKED:
            graph.apply_schema(f"{graph.schema}\n{PHOTO}")
            graph.mutate('query q() { insert Photo { slug: "a", content: "base64:AAEC" } }')
        FIXTURES.mkdir(exist_ok=True)
        with tarfile.open(FIXTURES / f"format-{number}.tar.gz", "w:gz") as archive:
            archive.add(root, "graph")


if __name__ == "__main__":
    _make(int(sys.argv[1]))
