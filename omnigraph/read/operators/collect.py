"""Collect: the values of each group's rows as a list, in order, objects and lists in it too."""

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers, is_row_range, row_range, take_numbers
from omnigraph.data.derived.sorting import sort_places
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Collect, Expr, ObjectOf, SortKey, VariableRef, variables


class ItemRows(Protocol):
    """The rows that lists are made of, as one of the engines holds them."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        ...

    def values(self, expr: Expr, places: Numbers) -> pa.Array:
        """Return an expression for the rows at some places, as a result shows it."""
        ...

    def identities(self, variable: str) -> Numbers:
        """Return numbers that are equal for the same node or edge, and negative for none."""
        ...

    def sort_numbers(self, key: SortKey) -> "np.ndarray":
        """Return numbers that sort the rows as a key does."""
        ...

    def tie_numbers(self, variable: str) -> "np.ndarray":
        """Return numbers that sort the rows by the ids of a variable."""
        ...

    def limit(self, collect: Collect) -> int | None:
        """Return how many items a list has at most."""
        ...


def collect_items(
    rows: ItemRows,
    groups: Numbers,
    count: int,
    collect: Collect,
    fixed: Collection[str] = (),
) -> pa.Array:
    """Return a list for each of `count` groups, to which `groups` assigns the rows.

    `fixed` are variables that are the same node or edge in all rows of a group.
    """
    names = [each.variable for each in collect.ties if each.variable not in fixed]
    ties = [rows.tie_numbers(name) for name in names]
    places = sort_places([groups, *ties], rows.count)
    return _Collecting(rows, places).lists(take_numbers(groups, places), count, collect)


@dataclass(frozen=True, slots=True)
class _Items:
    """Items before they are ordered: the place of a row for each, its group, and inner lists."""

    places: Numbers
    owners: Numbers
    inner: dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class _Collecting:
    """Lists from rows at `places`, by group and within each in the order that breaks ties."""

    rows: ItemRows
    places: Numbers

    def lists(self, groups: Numbers, count: int, collect: Collect) -> pa.Array:
        items = self._items(groups, collect.item)
        values = self._values(items, collect.item)
        kept = self._known(items, collect.item, values)
        if collect.distinct:
            same = [
                take_numbers(items.owners, kept),
                *self._numbers(items, collect.item, values, kept),
            ]
            first, _ = number_combinations(same, len(kept))
            kept = take_numbers(kept, _all_or(np.sort(first), len(kept)))
        kept = take_numbers(kept, self._order(items, kept, collect.order))
        owners = take_numbers(items.owners, kept)
        limit = self.rows.limit(collect)
        if limit is not None:
            inside = np.arange(len(owners)) - np.searchsorted(owners, owners) < limit
            kept, owners = kept[inside], owners[inside]
        ends = np.cumsum(np.bincount(owners, minlength=count))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        is_all = len(kept) == len(values) and is_row_range(kept)
        found = values if is_all else values.take(pa.array(kept))
        return pa.ListArray.from_arrays(pa.array(offsets), found)

    def _items(self, groups: Numbers, item: Expr) -> _Items:
        """Return an item for each row; with inner lists, one for the rows of the same entities."""
        nested = _inner_lists(item)
        if not nested:
            return _Items(self.places, groups, {})
        alike = [groups, *(self._identities(name, self.places) for name in _outer(item))]
        first, inner = number_combinations(alike, len(groups))
        order = np.argsort(first)
        lists = {
            name: self.lists(inner, len(first), each).take(pa.array(order))
            for name, each in nested.items()
        }
        return _Items(self.places[first[order]], groups[first[order]], lists)

    def _values(self, items: _Items, item: Expr) -> pa.Array:
        if not isinstance(item, ObjectOf):
            return self.rows.values(item, items.places)
        arrays = [
            items.inner[name] if name in items.inner else self.rows.values(value, items.places)
            for name, value in item.fields
        ]
        return pa.StructArray.from_arrays(arrays, names=[name for name, _ in item.fields])

    def _known(self, items: _Items, item: Expr, values: pa.Array) -> Numbers:
        """Return the items that have a value, or of an object any node or edge."""
        if not isinstance(item, ObjectOf):
            every = row_range(len(values))
            return every if not values.null_count else np.flatnonzero(values.is_valid())
        bound = [self._identities(name, items.places) >= 0 for name in _outer(item)]
        every = row_range(len(items.places))
        return _all_or(np.flatnonzero(np.logical_or.reduce(bound)), len(every)) if bound else every

    def _identities(self, variable: str, places: Numbers) -> Numbers:
        return take_numbers(self.rows.identities(variable), places)

    def _numbers(
        self, items: _Items, item: Expr, values: pa.Array, kept: Numbers
    ) -> Sequence[Numbers]:
        """Return numbers that are equal where items are."""
        if isinstance(item, VariableRef):
            return [self._identities(item.variable, take_numbers(items.places, kept))]
        if not isinstance(item, ObjectOf):
            return [encode(values if is_row_range(kept) else values.take(pa.array(kept)))]
        fields = zip(item.fields, values.flatten(), strict=True)
        return [
            numbers
            for (_, value), array in fields
            for numbers in self._numbers(items, value, array, kept)
        ]

    def _order(self, items: _Items, kept: Numbers, order: Sequence[SortKey]) -> Numbers:
        """Return the items by group and by the keys; what comes first among ties stays so."""
        places = take_numbers(items.places, kept)
        keys = [take_numbers(self.rows.sort_numbers(key), places) for key in order]
        return sort_places([take_numbers(items.owners, kept), *keys], len(kept))


def _all_or(places: Numbers, count: int) -> Numbers:
    """Return ascending places, as the range of `count` rows if they are all of them."""
    return row_range(count) if len(places) == count else places


def _inner_lists(item: Expr) -> dict[str, Collect]:
    fields = item.fields if isinstance(item, ObjectOf) else ()
    return {name: value for name, value in fields if isinstance(value, Collect)}


def _outer(item: ObjectOf | Expr) -> list[str]:
    """Return the variables that the plain fields of an object read."""
    fields = item.fields if isinstance(item, ObjectOf) else ()
    plain = [value for _, value in fields if not isinstance(value, Collect)]
    return sorted({name for value in plain for name in variables(value)})
