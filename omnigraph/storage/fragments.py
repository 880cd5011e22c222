"""Fragments: the files of which a version of a table consists."""

from collections.abc import Iterable

from lance import LanceDataset, LanceFragment
from lance.fragment import DataFile, FragmentMetadata

from omnigraph.storage import layout
from omnigraph.storage.indexes import segment_folders


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
