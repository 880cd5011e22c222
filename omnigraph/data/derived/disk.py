"""Disk: derived arrays in files beside a graph, so that a new process need not compute them.

The files can be removed at any time. They are mapped into memory; a file that does not hold exactly
what was asked for counts as missing. Numbers are stored in as few bytes as they need.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4
from zlib import crc32

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.narrow import narrow, widen
from omnigraph.frozen import dataclass
from omnigraph.storage.durable import sync

Family: TypeAlias = tuple[object, ...]
Arrays: TypeAlias = Mapping[str, "np.ndarray | pa.Array"]

_FORMAT = 3
# The name of a column with the rest of numbers, after the name of the one with their low bytes.
_REST = "{} rest"
_WIDE = ("int64", "uint64")
_CHECKSUM_BYTES = 4
_MOST_FILES = 256
_MOST_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """Arrays by name, and the versions of the tables that they were made from."""

    versions: tuple[int, ...]
    arrays: Mapping[str, pa.Array]

    def numbers(self, name: str) -> "np.ndarray":
        """Return an array of numbers without copying it again."""
        found: np.ndarray = self.arrays[name].to_numpy()
        return found


@dataclass(frozen=True, slots=True)
class DiskCache:
    """A folder with one file for each family of derived arrays: the newest that was made."""

    folder: Path
    writable: bool = True

    def has(self, family: Family) -> bool:
        """Return whether there is a file for a family; it may still turn out to be damaged."""
        return os.path.exists(self._path(family))  # noqa: PTH110 - Path's raises for some errors

    def get(self, family: Family) -> StoredArrays | None:
        """Return the newest arrays of a family, or None if the file is missing or damaged."""
        try:
            with pa.memory_map(str(self._path(family))) as mapped:
                content = _verify_checksum(mapped.read_buffer())
                batch = pa.ipc.open_file(content).get_batch(0)
                header = json.loads(batch.schema.metadata[b"omnigraph"])
                if header["format"] != _FORMAT or header["family"] != repr(family):
                    return None
                arrays = dict(_unpack(batch, header["kinds"]))
                return StoredArrays(tuple(header["versions"]), arrays)
        except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
            return None

    def put(self, family: Family, versions: tuple[int, ...], arrays: Arrays) -> None:
        """Replace the arrays of a family; a disk that refuses to write is ignored."""
        if not self.writable:
            return
        kinds = {name: str(each.dtype) for name, each in arrays.items() if _is_wide(each)}
        header = {"format": _FORMAT, "family": repr(family), "versions": versions, "kinds": kinds}
        columns = {name: _to_one_row(values) for name, values in _pack(arrays)}
        batch = pa.record_batch(columns).replace_schema_metadata({"omnigraph": json.dumps(header)})
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
        """Remove the oldest files when there are too many, or too many bytes."""
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
    """Return the content before its checksum; raises ValueError when the two do not agree."""
    end = content.size - _CHECKSUM_BYTES
    if end < 0 or crc32(content.slice(0, end)) != int.from_bytes(content.slice(end)):
        raise ValueError("the checksum does not match the content")
    return content.slice(0, end)


def _is_wide(values: "np.ndarray | pa.Array") -> bool:
    return isinstance(values, np.ndarray) and str(values.dtype) in _WIDE


def _pack(arrays: Arrays) -> "Iterator[tuple[str, np.ndarray | pa.Array]]":
    """Yield arrays as they are stored: numbers as their low bytes, and the rest where needed."""
    for name, values in arrays.items():
        parts = narrow(values) if _is_wide(values) else (values,)
        yield from zip((name, _REST.format(name)), parts, strict=False)


def _unpack(batch: pa.RecordBatch, kinds: Mapping[str, str]) -> Iterator[tuple[str, pa.Array]]:
    """Yield the arrays that were packed, those of numbers as the kinds that they had."""
    rests = {_REST.format(name) for name in kinds}
    for name in batch.schema.names:
        if name not in kinds:
            if name not in rests:
                yield name, batch[name].values
            continue
        found = (each for each in (name, _REST.format(name)) if each in batch.schema.names)
        parts = tuple(batch[each].values.to_numpy() for each in found)
        yield name, pa.array(widen(parts, kinds[name]))


def _to_one_row(values: "np.ndarray | pa.Array") -> pa.Array:
    """Return an array as a column with one value, so that arrays of any length make a batch."""
    items = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.LargeListArray.from_arrays(pa.array([0, len(items)], pa.int64()), items)
