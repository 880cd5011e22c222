"""Workbench: a folder of this machine in which versions of a table in a bucket are made.

Lance sends the files of a version one after the other, and asks for some that it has just written.
Here it writes them to a disk, and they go to the bucket side by side.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.dataset import Transaction
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.storage import layout
from omnigraph.storage.indexes import IndexSpec, create_index
from omnigraph.storage.near.sending import create, fetch, send
from omnigraph.storage.objects import Objects

_VERSIONS = "_versions"
# A manifest also holds its transaction, so that nobody needs the file of it.
_OF_VERSIONS = (_VERSIONS, "_transactions")


class Workbench:
    """Versions of one table on top of one that the bucket has; nobody sees them until sent.

    Only the manifest of that version is here at first. Data files that a step reads have to be
    fetched before it.
    """

    def __init__(self, objects: Objects, path: str) -> None:
        self._objects, self._path = objects, path
        self._folder = Path(tempfile.mkdtemp(prefix="omnigraph-near-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        # Names relative to the table of all files that the bucket has already.
        self._sent: set[str] = set()
        self.base = 0
        self.dataset: LanceDataset

    def lay_out(self, version: int, manifest: bytes) -> None:
        """Begin with a version that the bucket has."""
        name = f"{_VERSIONS}/{layout.manifest_name(version)}"
        self._sent.add(name)
        self._put(name, manifest)
        self.base = version
        self.dataset = lance.dataset(str(self._folder), version=version)

    def begin(self, rows: pa.Table, indexes: Iterable[IndexSpec]) -> None:
        """Begin with a new table of these rows, and indexes over them."""
        self.dataset = lance.write_dataset(rows, str(self._folder))
        for each in indexes:
            create_index(self.dataset, each)

    def write(self, rows: pa.Table) -> list[FragmentMetadata]:
        """Write rows as fragments that belong to no version yet."""
        return list(write_fragments(rows, self.dataset, schema=self.dataset.schema))

    def commit(
        self, change: "Transaction | LanceOperation.BaseOperation", *, detached: bool
    ) -> LanceDataset:
        """Make the next version and return it; later steps start from it."""
        if not isinstance(change, Transaction):
            change = Transaction(read_version=self.dataset.version, operation=change)
        self.dataset = LanceDataset.commit(self.dataset, change, detached=detached)
        return self.dataset

    def fetch(self, names: Iterable[str]) -> None:
        """Bring files of the table here, unless they are."""
        missing = {f"{self._path}/{each}" for each in names if not (self._folder / each).exists()}
        for path, data in fetch(self._objects, missing).items():
            name = path.removeprefix(f"{self._path}/")
            self._sent.add(name)
            self._put(name, data)

    def manifest(self) -> tuple[str, bytes]:
        """Return the name and the content of the manifest of the last version."""
        name = f"{_VERSIONS}/{layout.manifest_name(self.dataset.version)}"
        return name, (self._folder / name).read_bytes()

    def create(self) -> bool:
        """Create the table in the bucket; False when there is one, which is left as it is.

        The first version decides who creates it. Later ones only add indexes to no rows.
        """
        self.send_files()
        versions = range(1, self.dataset.version + 1)
        manifests = {each: f"{_VERSIONS}/{layout.manifest_name(each)}" for each in versions}
        data = {each: (self._folder / name).read_bytes() for each, name in manifests.items()}
        due = {each: (f"{self._path}/{name}", data[each]) for each, name in manifests.items()}
        first = create(self._objects, dict([due.pop(1)]))
        return first and create(self._objects, dict(due.values()))

    def send_files(self) -> None:
        """Send what was made here but the manifests, which make a version of it."""
        self._send(self._made())

    def send_version(self) -> None:
        """Send the last version, which is detached, with all that it needs.

        Until a commit names it nobody looks for it, so its manifest may arrive before its files.
        Versions on the way to it are not sent.
        """
        name, data = self.manifest()
        self._send({**self._made(), name: data})

    def _made(self) -> dict[str, bytes]:
        """Return the files that were made here and not sent yet, but for those of versions."""
        files = (each for each in self._folder.rglob("*") if each.is_file())
        named = {each.relative_to(self._folder).as_posix(): each for each in files}
        due = {name for name in named.keys() - self._sent if not name.startswith(_OF_VERSIONS)}
        return {name: named[name].read_bytes() for name in due}

    def _send(self, files: Mapping[str, bytes]) -> None:
        send(self._objects, {f"{self._path}/{name}": data for name, data in files.items()})
        self._sent |= files.keys()

    def _put(self, name: str, data: bytes) -> None:
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def workbench(objects: Objects, path: str) -> Workbench | None:
    """Return a workbench for a table; None when no temporary folder can be made."""
    try:
        return Workbench(objects, path)
    except OSError:
        return None
