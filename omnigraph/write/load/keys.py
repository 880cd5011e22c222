"""Keys: values that rows share or refer to, hashed into buckets so that equal ones meet."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))
_MIX = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_HASHED_BYTES = 1 << 16
_SLICE_BYTES = 1 << 17
_POWERS_BITS = 18
# Up to so many buckets, their numbers take 16 bits.
_MOST_SMALL = 1 << 16
# Hashes are counted in so many cells; one with so many more than by chance has one value often.
_CELLS = 1 << 16
_OFTEN = 64


def split_into_buckets(
    keys: pa.RecordBatch, buckets: int, by: Sequence[str] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each bucket; equal rows of any batch are in the same bucket.

    With `by`, rows that are equal in these columns are.
    """
    if buckets == 1:
        yield 0, keys
        return
    hashed = keys if by is None else keys.select(list(by))
    yield from split_by_hash(keys, hash_rows(hashed), buckets)


def split_by_hash(
    keys: pa.RecordBatch, hashes: Hashes, buckets: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each bucket, of which `hashes` has what `hash_rows` returns."""
    if buckets == 1:
        yield 0, keys
        return
    # Numbers of 16 bits are sorted by counting them, in a tenth of the time.
    small = np.uint16 if buckets <= _MOST_SMALL else np.uint64
    places = (hashes % np.uint64(buckets)).astype(small)
    sorted_keys = keys.take(pa.array(np.argsort(places, kind="stable")))
    last = 0
    for bucket, count in enumerate(np.bincount(places.astype(np.int64)).tolist()):
        if count:
            yield bucket, sorted_keys.slice(last, count)
        last += count


def are_worth_joining(hashes: Hashes) -> bool:
    """Whether rows are so often equal that each should be kept once, with its count.

    A count takes as many bytes as a third of a short text. So rows are joined where there are more
    equal pairs than a quarter of all rows, or where one row comes often: all others would wait for
    the bucket that gets it.
    """
    cells = np.bincount((hashes & np.uint64(_CELLS - 1)).astype(np.int64), minlength=_CELLS)
    by_chance = len(hashes) / _CELLS
    pairs = (int((cells * cells).sum()) - len(hashes)) / 2 - len(hashes) * by_chance / 2
    return pairs > len(hashes) / 4 or int(cells.max()) > _OFTEN + 4 * by_chance


def pack(keys: pa.RecordBatch) -> bytes:
    """Return keys as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, keys.schema) as writer:
        writer.write_batch(keys)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.Table:
    """Return the keys that `pack` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def hash_rows(keys: pa.RecordBatch) -> Hashes:
    """Return a hash of each row, which only spreads rows and decides nothing."""
    total = np.zeros(len(keys), np.uint64)
    for column in keys.columns:
        texts = _to_short(column.cast(pa.large_utf8()))
        parts = [_text_hashes(each) for each in _slices(texts)]
        total = total * _MIX + np.concatenate([np.empty(0, np.uint64), *parts])
    return (total ^ (total >> _HALF)) * _FACTOR >> _HALF


def _to_short(texts: pa.Array) -> pa.Array:
    """Return texts as bytes of which the first ones are enough to spread them."""
    data = texts.cast(pa.large_binary())
    longest = pc.max(pc.binary_length(data)).as_py() or 0
    return pc.binary_slice(data, 0, _HASHED_BYTES) if longest > _HASHED_BYTES else data


def _slices(texts: pa.Array) -> Iterator[pa.Array]:
    """Yield texts a few at a time: hashing takes sixteen bytes of memory for each of theirs."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    start = 0
    while start < len(texts):
        end = int(np.searchsorted(offsets, offsets[start] + _SLICE_BYTES, side="right")) - 1
        end = min(max(end, start + 1), len(texts))
        yield texts.slice(start, end - start)
        start = end


def _text_hashes(column: pa.Array) -> Hashes:
    """Return, for each text, the sum of its bytes times the powers of a factor, modulo 2^64.

    All are computed from one running sum over all texts: the sum before a text is subtracted, and
    its offset in the running powers is divided out.
    """
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset :][: len(column) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    starts, ends = offsets[:-1] - first, offsets[1:] - first
    content = column.buffers()[2]
    data = np.frombuffer(content, np.uint8)[first:last] if content else np.empty(0, np.uint8)
    powers, inverses = _powers(max(len(data).bit_length(), _POWERS_BITS))
    sums = np.zeros(len(data) + 1, np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[: len(data)], out=sums[1:])
    return (sums[ends] - sums[starts]) * inverses[starts]


@lru_cache(maxsize=2)
def _powers(bits: int) -> tuple[Hashes, Hashes]:
    count = (1 << bits) + 1
    powers, inverses = np.full(count, _FACTOR), np.full(count, _INVERSE)
    powers[0] = inverses[0] = 1
    return np.cumprod(powers), np.cumprod(inverses)
