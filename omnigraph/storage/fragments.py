"""Fragments: the files of which a version of a table consists, and rows removed from them."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.fragment import DataFile, FragmentMetadata

from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.indexes import segment_folders
from omnigraph.storage.steps import reached

Addresses: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

ADDRESS = "_rowaddr"
# An address is the number of a fragment and, in so many bits, the offset of the row in it.
OFFSET_BITS = 32
_OFFSETS = np.uint64((1 << OFFSET_BITS) - 1)
# So many ids are sought at a time; to hash one takes about 60 bytes.
_SOUGHT = 1_000_000
_READ_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Remains:
    """A fragment after some of its rows were removed; without metadata nothing is left of it."""

    fragment: int
    metadata: FragmentMetadata | None


def fragment_bytes(fragment: LanceFragment) -> int:
    """Return the size of a fragment's files."""
    return sum(each.file_size_bytes or 0 for each in fragment.metadata.files)


def data_path(file: DataFile) -> str:
    """Return the path of a data file.

    Its property `path` makes a class for every call, which takes longer than all else about it.
    """
    return str(file._path)


def data_files(fragments: Iterable[FragmentMetadata]) -> list[str]:
    """Return the data files of new fragments, relative to their table."""
    return [f"data/{data_path(file)}" for fragment in fragments for file in fragment.files]


def version_files(dataset: LanceDataset) -> set[str]:
    """Return all files that a version uses, relative to its table."""
    found = {f"_versions/{layout.manifest_name(dataset.version)}"}
    return found | fragment_files(dataset.get_fragments()) | segment_folders(dataset)


def fragment_files(fragments: Iterable[LanceFragment]) -> set[str]:
    """Return the files of fragments, relative to their table."""
    found = set()
    for fragment in fragments:
        found |= {f"data/{data_path(each)}" for each in fragment.metadata.files}
        deletions = fragment.deletion_file()
        if deletions is not None:
            found.add(deletions)
    return found


def remove_at(dataset: LanceDataset, addresses: Addresses) -> list[Remains]:
    """Write the deletion files of the fragments that have these addresses."""
    found = []
    addresses, start = np.unique(addresses), 0
    while start < len(addresses):
        number = int(addresses[start]) >> OFFSET_BITS
        end = int(np.searchsorted(addresses, np.uint64((number + 1) << OFFSET_BITS)))
        fragment = dataset.get_fragment(number)
        assert fragment is not None, f"{dataset.uri} has no fragment {number}"
        offsets = (addresses[start:end] & _OFFSETS).tolist()
        found.append(Remains(number, fragment.delete_rows(offsets)))
        start = end
    reached("deletions written")
    return found


def deletion_of(remains: Iterable[Remains]) -> LanceOperation.Delete:
    """Return the change that leaves these fragments as they remain."""
    remains = list(remains)
    kept = [each.metadata for each in remains if each.metadata is not None]
    gone = [each.fragment for each in remains if each.metadata is None]
    return LanceOperation.Delete(kept, gone, predicate="addresses")


def find_addresses(dataset: LanceDataset, ids: pa.Array) -> Addresses:
    """Return where the rows of very many ids are; the ids of all rows are read for some of them.

    Lance would hold all ids, and hash them, to join them with those of the table.
    """
    found: list[Addresses] = [np.empty(0, np.uint64)]
    for first in range(0, len(ids), _SOUGHT):
        some = ids.slice(first, _SOUGHT)
        scanner = dataset.scanner(
            columns=["id"], with_row_address=True, batch_size=_READ_ROWS, batch_readahead=1
        )
        for batch in scanner.to_batches():
            is_sought = pc.is_in(batch["id"], value_set=some)
            found.append(batch[ADDRESS].filter(is_sought).to_numpy(zero_copy_only=False))
    return np.concatenate(found)


def fragments_of(addresses: Addresses) -> Addresses:
    """Return the number of the fragment of each address."""
    return addresses >> np.uint64(OFFSET_BITS)
