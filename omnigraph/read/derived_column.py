"""Whole column: what is computed from a whole column, kept by the version of its table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import pyarrow as pa

from omnigraph.data.derived.memory import Content
from omnigraph.data.derived.numbering import Numbers
from omnigraph.read.reader import Reader
from omnigraph.schema.catalog import column_name
from omnigraph.storage.reading import ADDRESS, read_with_addresses


@dataclass(frozen=True, slots=True)
class DerivedColumn(Generic[Content]):
    """Something made of a column in the order of its table, and the ordinals of the rows.

    The ordinals are those of `entities`, whose identity is part of the key. They are held, so
    that nothing else can get it.
    """

    content: Content
    ordinals: Numbers
    numbering: object

    @property
    def nbytes(self) -> int:
        return self.content.nbytes + self.ordinals.nbytes


def derive_column(
    reader: Reader, name: str, column: str, make: Callable[[pa.Array], Content]
) -> DerivedColumn[Content]:
    """Give what a function makes of the column of a type; it is made once."""
    table, entities = reader.table(name), reader.numbering(name)
    stored_name = column_name(reader.stored(name), column)

    def build() -> DerivedColumn[Content]:
        found = read_with_addresses(table, [stored_name])
        values = found[stored_name].combine_chunks()
        return DerivedColumn(make(values), entities.at(found[ADDRESS].to_numpy()), entities)

    return reader.cache.get((make, *table.key, stored_name, id(entities)), build)
