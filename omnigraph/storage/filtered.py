"""Filtered: the rows of a share of a table that meet a condition."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.failures import reported
from omnigraph.storage.staging import Share

_SCAN_ROWS = 65_536
_SCAN_BYTES = 32 << 20


def filtered(
    share: Share, columns: Sequence[str], where: pc.Expression
) -> Iterable[pa.RecordBatch]:
    """Give the rows of the fragments for which a condition is true, a few at a time."""
    dataset = share.place.open().dataset
    with reported(f"cannot read {share.place.path}"):
        every = {each.fragment_id: each for each in dataset.get_fragments()}
        scanner = dataset.scanner(
            columns=list(columns),
            filter=where,
            fragments=[every[number] for number in share.fragments],
            batch_size=_SCAN_ROWS,
            batch_size_bytes=_SCAN_BYTES,
        )
        yield from scanner.to_batches()
