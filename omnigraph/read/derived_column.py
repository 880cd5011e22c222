"""Derived column: what is computed from a whole column, cached by the version of its table."""

from collections.abc import Callable
from typing import Generic

import pyarrow as pa

from omnigraph.data.derived.memory import Content
from omnigraph.data.derived.numbering import Numbers
from omnigraph.frozen import dataclass
from omnigraph.read.reader import Reader
from omnigraph.schema.catalog import column_name
from omnigraph.storage.reading import ADDRESS, read_with_addresses

# Versions of a column of which what was made is kept: it may be as large as the column.
_MOST = 8


@dataclass(frozen=True, slots=True)
class DerivedColumn(Generic[Content]):
    """What was made of a column in table order, and the ordinals of the rows in that order.

    `numbering` is held because its identity is part of the cache key: while it lives, no other
    object can have that identity.
    """

    content: Content
    ordinals: Numbers
    numbering: object

    @property
    def nbytes(self) -> int:
        return self.content.nbytes + self.ordinals.nbytes


def derive_column(
    reader: Reader, name: str, column: str, make: Callable[[pa.ChunkedArray], Content]
) -> DerivedColumn[Content]:
    """Return what `make` makes of the column of a type; it is made once per table version.

    The column comes in the chunks in which it is read.
    """
    table, numbering = reader.table(name), reader.numbering(name)
    stored_name = column_name(reader.stored(name), column)

    def build() -> DerivedColumn[Content]:
        found = read_with_addresses(table, [stored_name])
        content = make(found[stored_name])
        return DerivedColumn(content, numbering.at(found[ADDRESS].to_numpy()), numbering)

    graph, path, version = table.key
    family = (make, graph, path, stored_name)
    return reader.cache.get((*family, version, id(numbering)), build, family=family, most=_MOST)
