"""Collect: the values of each group's rows as a list, in order, objects and lists in it too."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers
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


def collect_items(rows: ItemRows, groups: Numbers, count: int, collect: Collect) -> pa.Array:
    """Return a list for each of `count` groups, to which `groups` assigns the rows."""
    ties = [rows.tie_numbers(each.variable) for each in reversed(collect.ties)]
    places = np.lexsort(ties) if ties else np.arange(rows.count)
    return _Collecting(rows, places).lists(groups[places], count, collect)


@dataclass(frozen=True, slots=True)
class _Items:
    """Items before they are ordered: the place of a row for each, its group, and inner lists."""

    places: Numbers
    owners: Numbers
    inner: dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class _Collecting:
    """Lists from rows at `places`, which are in the order that breaks ties."""

    rows: ItemRows
    places: Numbers

    def lists(self, groups: Numbers, count: int, collect: Collect) -> pa.Array:
        items = self._items(groups, collect.item)
        values = self._values(items, collect.item)
        kept = np.flatnonzero(self._is_there(items, collect.item, values))
        if collect.distinct:
            same = [items.owners[kept], *self._numbers(items, collect.item, values, kept)]
            first, _ = number_combinations(same, len(kept))
            kept = kept[np.sort(first)]
        kept = kept[self._order(items, kept, collect.order)]
        owners = items.owners[kept]
        limit = self.rows.limit(collect)
        if limit is not None:
            inside = np.arange(len(owners)) - np.searchsorted(owners, owners) < limit
            kept, owners = kept[inside], owners[inside]
        ends = np.cumsum(np.bincount(owners, minlength=count))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(kept)))

    def _items(self, groups: Numbers, item: Expr) -> _Items:
        """Return an item for each row; with inner lists, one for the rows of the same entities."""
        nested = _inner_lists(item)
        if not nested:
            return _Items(self.places, groups, {})
        alike = [groups, *(self.rows.identities(name)[self.places] for name in _outer(item))]
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

    def _is_there(self, items: _Items, item: Expr, values: pa.Array) -> "np.ndarray":
        """Return for each item whether it has a value, or an object any node or edge."""
        if not isinstance(item, ObjectOf):
            return np.asarray(values.is_valid(), bool)
        bound = [self.rows.identities(name)[items.places] >= 0 for name in _outer(item)]
        return np.logical_or.reduce(bound) if bound else np.ones(len(items.places), bool)

    def _numbers(
        self, items: _Items, item: Expr, values: pa.Array, kept: Numbers
    ) -> Sequence[Numbers]:
        """Return numbers that are equal where items are."""
        if isinstance(item, VariableRef):
            return [self.rows.identities(item.variable)[items.places[kept]]]
        if not isinstance(item, ObjectOf):
            return [encode(values.take(pa.array(kept)))]
        fields = zip(item.fields, values.flatten(), strict=True)
        return [
            numbers
            for (_, value), array in fields
            for numbers in self._numbers(items, value, array, kept)
        ]

    def _order(self, items: _Items, kept: Numbers, order: Sequence[SortKey]) -> Numbers:
        """Return the items by group and by the keys; what comes first among ties stays so."""
        keys = [self.rows.sort_numbers(key)[items.places[kept]] for key in reversed(order)]
        return np.lexsort([*keys, items.owners[kept]])


def _inner_lists(item: Expr) -> dict[str, Collect]:
    fields = item.fields if isinstance(item, ObjectOf) else ()
    return {name: value for name, value in fields if isinstance(value, Collect)}


def _outer(item: ObjectOf | Expr) -> list[str]:
    """Return the variables that the plain fields of an object read."""
    fields = item.fields if isinstance(item, ObjectOf) else ()
    plain = [value for _, value in fields if not isinstance(value, Collect)]
    return sorted({name for value in plain for name in variables(value)})
