"""Disk: derived arrays in files beside a graph, so that a new process need not compute them.

What lies there can be removed at any time. It is read by mapping it into memory, and anything
that does not say exactly what was asked for is as good as absent.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4
from zlib import crc32

import numpy as np
import pyarrow as pa

from omnigraph.storage.durable import sync

Family: TypeAlias = tuple[object, ...]
Arrays: TypeAlias = Mapping[str, "np.ndarray | pa.Array"]

_FORMAT = 2
_CHECKSUM_BYTES = 4
_MOST_FILES = 64
_MOST_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """Arrays by name, and the versions of the tables that they were made from."""

    versions: tuple[int, ...]
    arrays: Mapping[str, pa.Array]

    def numbers(self, name: str) -> "np.ndarray":
        """Give an array of numbers without copying it."""
        found: np.ndarray = self.arrays[name].to_numpy()
        return found


@dataclass(frozen=True, slots=True)
class DiskCache:
    """A folder with one file for each family of derived arrays: the newest that was made."""

    folder: Path
    writable: bool = True

    def has(self, family: Family) -> bool:
        """Tell whether anything was put for a family."""
        return os.path.exists(self._path(family))  # noqa: PTH110 - Path's raises for some errors

    def get(self, family: Family) -> StoredArrays | None:
        """Give what was put last for a family, if it is there and whole."""
        try:
            with pa.memory_map(str(self._path(family))) as mapped:
                content = _verify_checksum(mapped.read_buffer())
                batch = pa.ipc.open_file(content).get_batch(0)
                said = json.loads(batch.schema.metadata[b"omnigraph"])
                if said["format"] != _FORMAT or said["family"] != repr(family):
                    return None
                arrays = {name: batch[name].values for name in batch.schema.names}
                return StoredArrays(tuple(said["versions"]), arrays)
        except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
            return None

    def put(self, family: Family, versions: tuple[int, ...], arrays: Arrays) -> None:
        """Keep arrays in place of earlier ones of the family; a disk that refuses keeps none."""
        if not self.writable:
            return
        said = {"format": _FORMAT, "family": repr(family), "versions": versions}
        columns = {name: _to_one_row(values) for name, values in arrays.items()}
        batch = pa.record_batch(columns).replace_schema_metadata({"omnigraph": json.dumps(said)})
        with suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            aside = self.folder / f".{uuid4().hex}"
            try:
                with pa.OSFile(str(aside), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as to:
                    to.write_batch(batch)
                _add_checksum(aside)
                sync(self.folder, [aside.name])
                aside.replace(self._path(family))
            finally:
                aside.unlink(missing_ok=True)
            self._prune()

    def _prune(self) -> None:
        """Remove the oldest files when there are too many."""
        files = sorted(self.folder.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
        held = 0
        for number, each in enumerate(files):
            held += each.stat().st_size
            if number >= _MOST_FILES or held > _MOST_BYTES:
                each.unlink(missing_ok=True)

    def _path(self, family: Family) -> Path:
        return self.folder / f"{sha256(repr(family).encode()).hexdigest()[:32]}.arrow"


def _add_checksum(path: Path) -> None:
    with pa.memory_map(str(path)) as mapped:
        found = crc32(mapped.read_buffer())
    with path.open("ab") as file:
        file.write(found.to_bytes(_CHECKSUM_BYTES))


def _verify_checksum(content: pa.Buffer) -> pa.Buffer:
    """Give the content before its checksum; raises ValueError when it does not have that."""
    end = content.size - _CHECKSUM_BYTES
    if end < 0 or crc32(content.slice(0, end)) != int.from_bytes(content.slice(end)):
        raise ValueError("the content is damaged")
    return content.slice(0, end)


def _to_one_row(values: "np.ndarray | pa.Array") -> pa.Array:
    """Give an array as the only value of a column, so that arrays of any lengths make a batch."""
    items = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.LargeListArray.from_arrays(pa.array([0, len(items)], pa.int64()), items)
