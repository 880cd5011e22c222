"""Again: the rows of types whose vectors are to be made anew, without those vectors."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.rules import has_text
from omnigraph.errors import InputError
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import Catalog, Property, StoredType, embedded_in, find_type
from omnigraph.storage.reading import batches_where
from omnigraph.versioning.snapshot import Snapshot


def rows_to_embed(snapshot: Snapshot, names: Iterable[str]) -> dict[str, pa.RecordBatchReader]:
    """Return the ids and texts of all rows of some types, or of all that have vectors of texts.

    The vectors are null in them. Raises InputError for a row that has a vector and no text: it
    would keep a vector of the old model.
    """
    found = _types(snapshot.catalog, tuple(names))
    for stored in found:
        for item in embedded_in(stored):
            _refuse_textless(snapshot, stored, item)
    return {each.name: _reader(snapshot, each) for each in found}


def _types(catalog: Catalog, names: tuple[str, ...]) -> list[StoredType]:
    if not names:
        found: list[StoredType] = [each for each in catalog.nodes.values() if embedded_in(each)]
        if not found:
            raise InputError("no property of this schema has @embed")
        return found
    wanted = [find_type(name, catalog) for name in dict.fromkeys(names)]
    for stored in wanted:
        if not embedded_in(stored):
            raise InputError(f"no property of {stored.name} has @embed")
    return wanted


def _reader(snapshot: Snapshot, stored: StoredType) -> pa.RecordBatchReader:
    kept = dict.fromkeys(["id", *stored.key, *(_source(each) for each in embedded_in(stored))])
    table = snapshot.table(stored.identity)
    fields = [table.schema.field(name) for name in kept]
    made = [pa.field(each.name, arrow_type(each.type)) for each in embedded_in(stored)]
    schema = pa.schema([*fields, *made])
    return pa.RecordBatchReader.from_batches(schema, _batches(snapshot, stored, schema))


def _batches(snapshot: Snapshot, stored: StoredType, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    made = {each.name for each in embedded_in(stored)}
    kept = [each.name for each in schema if each.name not in made]
    for batch in batches_where(snapshot.table(stored.identity), kept, None):
        columns = [
            pa.nulls(len(batch), each.type) if each.name in made else batch[each.name]
            for each in schema
        ]
        yield pa.record_batch(columns, schema=schema)


def _source(item: Property) -> str:
    assert item.embed is not None
    return item.embed.source


def _refuse_textless(snapshot: Snapshot, stored: StoredType, item: Property) -> None:
    table, text = snapshot.table(stored.identity), _source(item)
    for batch in batches_where(table, ["id", text, item.name], None):
        is_stuck = pc.and_(batch[item.name].is_valid(), pc.invert(has_text(batch[text])))
        lost = batch["id"].filter(is_stuck)
        if len(lost):
            raise InputError(
                f"{stored.name} '{lost[0].as_py()}' has a vector in {item.name} and no text in "
                f"{text}, so that its vector cannot be made anew",
                hint="give it a text, or set the vector to null",
            )
