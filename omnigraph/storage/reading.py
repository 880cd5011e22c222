"""Reading: rows of one version of a table, by address and by condition."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.schema.blobs import unpack_rows
from omnigraph.storage.failures import report_as
from omnigraph.storage.fragments import ADDRESS, OFFSET_BITS, Addresses
from omnigraph.storage.table import Table

__all__ = ["ADDRESS", "OFFSET_BITS", "Addresses"]

_MOST_TAKEN = 64
_MOST_SAMPLED_FRAGMENTS = 16
_SAMPLE_SEED = 7
# Texts that mean the same between the quotes of SQL, and names that mean a column.
_PLAIN = re.compile(r"[A-Za-z0-9@._:/+ -]{1,256}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(slots=True)
class Meter:
    """How many bytes were read while it was in use."""

    bytes: int = 0


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the bytes of the rows that this thread reads within the block."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def read_columns(table: Table, columns: Sequence[str]) -> pa.Table:
    """Return whole columns, in the order of the rows' addresses."""
    with report_as(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(columns=list(columns), scan_in_order=True)
        return unpack_rows(count_bytes(scanner.to_table()))


def read_with_addresses(table: Table, columns: Sequence[str]) -> pa.Table:
    """Return whole columns with the address of every row, in the order of the addresses."""
    with report_as(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), with_row_address=True, scan_in_order=True
        )
        return unpack_rows(count_bytes(scanner.to_table()))


def rows_where(table: Table, columns: Sequence[str], where: pc.Expression, most: int) -> pa.Table:
    """Return rows that meet a condition, at most `most` of them, with their addresses.

    An index is used where it helps.
    """
    with report_as(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), filter=where, limit=most, with_row_address=True
        )
        return unpack_rows(count_bytes(scanner.to_table()))


def one_of(column: str, values: pa.Array) -> pc.Expression | str:
    """Return the condition that a column has one of some values."""
    return any_of({column: values})


def any_of(sought: Mapping[str, pa.Array]) -> pc.Expression | str:
    """Return the condition that one of several columns has one of some values.

    For one plain text each it is SQL, which takes Lance a fifth less time than an expression.
    """
    plain = [_plain_sql(column, values) for column, values in sought.items()]
    if all(plain):
        return " OR ".join(filter(None, plain))
    return reduce(or_, (pc.field(column).isin(values) for column, values in sought.items()))


def _plain_sql(column: str, values: pa.Array) -> str | None:
    """Return the condition that a column has one plain text, as SQL; None for other values."""
    only = values[0].as_py() if len(values) == 1 and pa.types.is_string(values.type) else None
    if only is None or not _PLAIN.fullmatch(only) or not _NAME.fullmatch(column):
        return None
    return f"`{column}` = '{only}'"


def batches_where(
    table: Table, columns: Sequence[str], where: pc.Expression | str | None, *, packed: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that meet a condition, or all rows, batch by batch.

    Among the columns may be the address. Packed, blobs are as the table stores them.
    """
    names = [name for name in columns if name != ADDRESS]
    with report_as(f"cannot read {table.path}"):
        found = table.dataset.to_batches(
            columns=names, filter=where, with_row_address=ADDRESS in columns
        )
        counted = (count_bytes(each.select(list(columns))) for each in found)
        yield from counted if packed else map(unpack_rows, counted)


def first_rows(table: Table, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Yield the first rows with their addresses, batch by batch."""
    with report_as(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), with_row_address=True, scan_in_order=True, limit=most
        )
        yield from (unpack_rows(count_bytes(each)) for each in scanner.to_batches())


def sample_rows(table: Table, columns: Sequence[str], most: int) -> pa.Table:
    """Return about `most` rows from all over a table, or all of a small one; always the same."""
    chance = np.random.default_rng(_SAMPLE_SEED)
    with report_as(f"cannot read {table.path}"):
        every = table.dataset.get_fragments()
        fragments = every[:: max(1, len(every) // _MOST_SAMPLED_FRAGMENTS)]
        found = []
        for fragment in fragments:
            rows, wanted = fragment.count_rows(), -(-most // len(fragments))
            offsets = np.sort(chance.choice(rows, min(rows, wanted), replace=False))
            found.append(fragment.take(offsets.tolist(), columns=list(columns)))
        schema = pa.schema([table.schema.field(name) for name in columns])
        return count_bytes(pa.concat_tables([schema.empty_table(), *found]))


def rows_at(table: Table, addresses: Addresses, columns: Sequence[str]) -> pa.Table:
    """Return the rows at some addresses, in the order of the addresses."""
    with report_as(f"cannot read {table.path}"):
        found = _rows_of_one_fragment(table, addresses, columns)
        if found is None:
            found = table.dataset._take_rows(pa.array(addresses), columns=list(columns))
        return unpack_rows(count_bytes(found))


def _rows_of_one_fragment(
    table: Table, addresses: Addresses, columns: Sequence[str]
) -> pa.Table | None:
    """Return rows that are all in one fragment without deleted rows, else None.

    That is five times as quick for a few rows, but such a fragment counts the rows that are left.
    """
    if not 0 < len(addresses) <= _MOST_TAKEN or (addresses[1:] <= addresses[:-1]).any():
        return None
    number, last = (int(addresses[each]) >> OFFSET_BITS for each in (0, -1))
    fragment = table.dataset.get_fragment(number) if number == last else None
    if fragment is None or fragment.num_deletions:
        return None
    offsets = addresses - np.uint64(number << OFFSET_BITS)
    return fragment.take(offsets.tolist(), columns=list(columns))


def count_bytes(rows: pa.Table) -> pa.Table:
    """Return rows after adding their bytes to the meter in use, if there is one."""
    meter = _METER.get()
    if meter is not None:
        meter.bytes += rows.nbytes
    return rows
