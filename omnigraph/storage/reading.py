"""Reading: rows of one version of a table, by address and by condition."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.failures import reported
from omnigraph.storage.table import Table

ADDRESS = "_rowaddr"


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
    with reported(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(columns=list(columns), scan_in_order=True)
        return counted(scanner.to_table())


def read_with_addresses(table: Table, columns: Sequence[str]) -> pa.Table:
    """Return whole columns with the address of every row, in the order of the addresses."""
    with reported(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), with_row_address=True, scan_in_order=True
        )
        return counted(scanner.to_table())


def rows_where(table: Table, columns: Sequence[str], where: pc.Expression, most: int) -> pa.Table:
    """Return rows that meet a condition, at most `most` of them, with their addresses.

    An index is used where it helps.
    """
    with reported(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), filter=where, limit=most, with_row_address=True
        )
        return counted(scanner.to_table())


def batches_where(
    table: Table, columns: Sequence[str], where: pc.Expression | None
) -> Iterator[pa.RecordBatch]:
    """Return the rows that meet a condition, or all rows, batch by batch."""
    with reported(f"cannot read {table.path}"):
        found = table.dataset.to_batches(columns=list(columns), filter=where)
        yield from map(counted, found)


def rows_at(
    table: Table, addresses: "np.ndarray[tuple[int], np.dtype[np.uint64]]", columns: Sequence[str]
) -> pa.Table:
    """Return the rows at some addresses, in the order of the addresses."""
    with reported(f"cannot read {table.path}"):
        return counted(table.dataset._take_rows(pa.array(addresses), columns=list(columns)))


def counted(rows: pa.Table) -> pa.Table:
    """Return rows after adding their bytes to the meter in use, if there is one."""
    meter = _METER.get()
    if meter is not None:
        meter.bytes += rows.nbytes
    return rows
