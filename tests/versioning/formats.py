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

from omnigraph.versioning import repository
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest import PRIMARY_KEY, STAMP, new_ledger
from omnigraph.versioning.writes import Append, TableWrite, Upsert
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write

FIXTURES = Path(__file__).parents[1] / "fixtures"


def unpacked(number: int, folder: Path) -> Path:
    """Give the stored graph of a format, unpacked into a folder."""
    with tarfile.open(FIXTURES / f"format-{number}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "graph"


def unstamped_ledger(commit: Commit) -> pa.Table:
    """Give the ledger as format 1 had it: no stamp, and no mark on `object_id`."""
    ledger = new_ledger(commit)
    kept = {k: v for k, v in ledger.schema.metadata.items() if k != STAMP.encode()}
    unmarked = [field.remove_metadata() for field in ledger.schema]
    assert PRIMARY_KEY.encode() in ledger.schema.field("object_id").metadata
    return ledger.cast(pa.schema(unmarked, metadata=kept))


def _fill(root: Path) -> None:
    graph = new_graph(root)
    write(graph, {PERSON: (Append(people({"ada": 36, "bob": None})),)}, message="two people")
    graph.create_branch("review/one")
    changes: dict[str, tuple[TableWrite, ...]] = {
        PERSON: (Upsert(people({"ada": 37})),),
        KNOWS: (Append(knows([("ada", "bob")])),),
    }
    write(graph, changes, "review/one", message="a birthday")


def _make(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "graph")
        ledger = unstamped_ledger if number == 1 else new_ledger
        with patch.object(repository, "new_ledger", ledger):
            _fill(root)
        FIXTURES.mkdir(exist_ok=True)
        with tarfile.open(FIXTURES / f"format-{number}.tar.gz", "w:gz") as archive:
            archive.add(root, "graph")


if __name__ == "__main__":
    _make(int(sys.argv[1]))
