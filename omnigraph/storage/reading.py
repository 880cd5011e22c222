"""Reading: rows of one version of a table by address, by value, by words."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.query import FullTextQuery, MatchQuery, PhraseQuery

from omnigraph.storage.failures import reported
from omnigraph.storage.table import Table

ADDRESS = "_rowaddr"
SCORE = "_score"
# So many words of the index may be like one that is sought.
_MOST_LIKE = 10_000


def read_columns(table: Table, columns: Sequence[str]) -> pa.Table:
    """Give whole columns, in the order of the rows' addresses."""
    with reported(f"cannot read {table.path}"):
        return table.dataset.scanner(columns=list(columns), scan_in_order=True).to_table()


def read_with_addresses(table: Table, columns: Sequence[str]) -> pa.Table:
    """Give whole columns with the address of every row, in the order of the addresses."""
    with reported(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(
            columns=list(columns), with_row_address=True, scan_in_order=True
        )
        return scanner.to_table()


def rows_where(table: Table, columns: Sequence[str], where: pc.Expression) -> pa.Table:
    """Give the rows that meet a condition, with their addresses; an index is used if it helps."""
    with reported(f"cannot read {table.path}"):
        scanner = table.dataset.scanner(columns=list(columns), filter=where, with_row_address=True)
        return scanner.to_table()


def rows_at(
    table: Table, addresses: "np.ndarray[tuple[int], np.dtype[np.uint64]]", columns: Sequence[str]
) -> pa.Table:
    """Give the rows of some addresses, in their order."""
    with reported(f"cannot read {table.path}"):
        return table.dataset._take_rows(pa.array(addresses), columns=list(columns))


def word_matches(table: Table, column: str, words: str, edits: int) -> pa.Table:
    """Give address and BM25 score of the rows that hold any of the words, or one like it."""
    query = MatchQuery(words, column, fuzziness=edits, max_expansions=_MOST_LIKE)
    return _scored(table, query)


def phrase_matches(table: Table, column: str, phrase: str) -> pa.Table:
    """Give address and score of the rows that hold the words of a phrase, in their order."""
    return _scored(table, PhraseQuery(phrase, column))


def _scored(table: Table, query: FullTextQuery) -> pa.Table:
    with reported(f"cannot search {table.path}"):
        scanner = table.dataset.scanner(
            columns=[SCORE], full_text_query=query, with_row_address=True
        )
        return scanner.to_table()
