"""Reads: the rows that a change depends on, and whether they moved since it was planned."""

from collections.abc import Iterable, Iterator
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.comparison import unify_zeros
from omnigraph.data.values.lookup import look_up_rows, present_ids
from omnigraph.frozen import dataclass
from omnigraph.storage.finding.delta import delta_between
from omnigraph.storage.reading import rows_at
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

# When more rows of a table differ, a change is planned again, which reads less.
_MOST_MOVED = 10_000


@dataclass(frozen=True, slots=True)
class LookUp:
    """The rows of a table that have one of some values in a column, also if there were none."""

    key: str
    column: str
    values: pa.Array = field(repr=False)

    def finds(self, rows: pa.Table) -> bool:
        """Whether one of some rows would have been found."""
        own = unify_zeros(to_array(rows[self.column]))
        sought = unify_zeros(self.values).cast(own.type)
        return bool(pc.any(pc.is_in(own, value_set=sought)).as_py())


@dataclass(slots=True)
class Reads:
    """What was looked up in a snapshot, while that goes on."""

    snapshot: Snapshot
    look_ups: list[LookUp] = field(default_factory=list)

    def look_up(self, key: str, column: str, values: pa.Array, columns: list[str]) -> pa.Table:
        """Return columns of the rows that have one of some values, and note that it was asked."""
        self.note(key, column, values.drop_null())
        return look_up_rows(self.snapshot.table(key), column, values, columns)

    def present(self, key: str, ids: pa.Array) -> pa.Array:
        """Return those of some ids that a table has, and note that it was asked."""
        self.note(key, "id", ids)
        return present_ids(self.snapshot.table(key), ids)

    def note(self, key: str, column: str, values: pa.Array) -> None:
        """Note that the change depends on the rows that have one of some values."""
        self.look_ups.append(LookUp(key, column, values))


def have_moved(look_ups: Iterable[LookUp], old: Snapshot, new: Snapshot) -> bool:
    """Whether a look-up may find other rows in a later snapshot of the same schema.

    The rows in which the tables differ are looked at, as they were and as they are.
    """
    by_key: dict[str, list[LookUp]] = {}
    for each in look_ups:
        if len(each.values) and old.state(each.key).place != new.state(each.key).place:
            by_key.setdefault(each.key, []).append(each)
    return any(
        rows is None or any(each.finds(rows) for each in asked)
        for key, asked in by_key.items()
        for rows in _differing(old.table(key), new.table(key), {each.column for each in asked})
    )


def _differing(old: Table, new: Table, columns: set[str]) -> Iterator[pa.Table | None]:
    """Yield the rows that only one of two versions has; None when there are too many."""
    delta = delta_between(old, new, _MOST_MOVED)
    if delta is None:
        yield None
        return
    for table, addresses in ((old, delta.removed), (new, delta.added)):
        if len(addresses):
            yield rows_at(table, addresses, sorted(columns))
