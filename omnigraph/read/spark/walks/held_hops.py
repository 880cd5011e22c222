"""Held hops: which nodes are within so many hops of others, found by tasks that hold all edges.

A job for each hop takes a second or more however few the edges are. Where they fit into every task,
one job walks all hops.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.adjacency import Adjacency, EdgeEntries, build_adjacency
from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.values.columns import to_array
from omnigraph.frozen import dataclass
from omnigraph.query.parsing.ast import Hops
from omnigraph.read.reader import DirectedEdge, Reader
from omnigraph.storage.reading import read_columns

# Edges that are sent to every task, some 50 bytes each.
MOST_EDGES = 200_000
# Pairs of a start and a node that are marked at a time.
_MOST_MARKS = 1 << 21
_SCHEMA = pa.schema(
    [("start", pa.utf8()), ("kind", pa.int32()), ("end", pa.utf8()), ("end_kind", pa.int32())]
)


def is_held(reader: Reader, ways: Iterable[DirectedEdge]) -> bool:
    """Return whether the edges of some ways are few enough for every task to hold them."""
    return sum(reader.count(way.edge.name) for way in ways) <= MOST_EDGES


@dataclass(frozen=True)
class HeldWalk:
    """Returns the pairs within the hops from the starts that come in, by id and number of type.

    A node is known by its place in `keys`, which are numbers of types and ids. `first` leads from
    starts to targets, `onward` goes on from there, and `targets` are the types that a target has.
    """

    keys: pa.Array
    first: Adjacency
    onward: Adjacency
    targets: tuple[int, ...]
    hops: Hops

    @staticmethod
    def along(
        reader: Reader,
        ways: tuple[Sequence[DirectedEdge], Sequence[DirectedEdge]],
        targets: Sequence[int],
        hops: Hops,
    ) -> "HeldWalk":
        """Return a walk along the edges of a snapshot: the ways of the first step, and the rest."""
        ends = [[_end_keys(reader, way) for way in each] for each in ways]
        parts = [keys for each in ends for pair in each for keys in pair]
        known = pa.chunked_array(parts, pa.utf8()).unique()
        first, onward = (_adjacency(each, known) for each in ends)
        return HeldWalk(known, first, onward, tuple(targets), hops)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        split = pc.split_pattern(self.keys, ":", max_splits=1)
        ids = pc.list_element(split, 1)
        numbers = pc.list_element(split, 0).cast(pa.int32())
        size = max(1, _MOST_MARKS // max(len(self.keys), 1))
        for batch in batches:
            for at in range(0, batch.num_rows, size):
                starts = batch.slice(at, size)
                places, nodes = self._pairs(starts)
                columns = [*_taken(starts, places), ids.take(nodes), numbers.take(nodes)]
                yield pa.record_batch(columns, schema=_SCHEMA)
                if self.hops.minimum == 0:
                    own = _taken(starts, pa.array(self._own(starts)))
                    yield pa.record_batch([*own, *own], schema=_SCHEMA)

    def _own(self, starts: pa.RecordBatch) -> Numbers:
        """Return the places of the starts that can be targets."""
        kinds = starts.column(1).to_numpy(zero_copy_only=False)
        return np.flatnonzero(np.isin(kinds, self.targets))

    def _pairs(self, starts: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Return each start, by place, with the other nodes within the hops and its own loop."""
        hops, width = self.hops, len(self.keys)
        found = pc.index_in(_keys(*starts.columns), value_set=self.keys)
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        places = np.flatnonzero(codes >= 0)
        seen = np.zeros(len(codes) * width, bool)
        seen[places * width + codes[places]] = True
        level = _step(self.first, places, codes[places], width)
        frontier = level[~seen[level]]
        reached = [] if hops.minimum > 1 else [frontier if hops.minimum == 0 else level]
        seen[frontier] = True
        distance = 1
        while len(frontier) and (hops.maximum is None or distance < hops.maximum):
            distance += 1
            owners, nodes = np.divmod(frontier, width)
            further = _step(self.onward, owners, nodes, width)
            frontier = further[~seen[further]]
            seen[frontier] = True
            reached += [frontier] if distance >= hops.minimum else []
        pairs = np.concatenate([np.empty(0, np.int64), *reached])
        start, node = np.divmod(pairs, max(width, 1))
        return pa.array(start), pa.array(node)


def _step(edges: Adjacency, owners: Numbers, nodes: Numbers, width: int) -> Numbers:
    """Return the pairs that one more step leads to, each once, as numbers."""
    places, targets, _ = edges.follow(nodes)
    return np.unique(owners[places] * width + targets)


def _end_keys(reader: Reader, way: DirectedEdge) -> tuple[pa.Array, pa.Array]:
    """Return the keys of the nodes at which the edges of a way start and end."""
    rows = read_columns(reader.table(way.edge.name), ["src", "dst"])
    start, end = ("dst", "src") if way.backwards else ("src", "dst")
    return (
        _keys(to_array(rows[start]), pa.scalar(reader.number(way.start))),
        _keys(to_array(rows[end]), pa.scalar(reader.number(way.end))),
    )


def _adjacency(ends: Sequence[tuple[pa.Array, pa.Array]], known: pa.Array) -> Adjacency:
    starts, targets = (
        np.concatenate(
            [
                np.empty(0, np.int64),
                *(pc.index_in(keys[side], value_set=known).to_numpy() for keys in ends),
            ]
        ).astype(np.int64)
        for side in (0, 1)
    )
    return build_adjacency(EdgeEntries(starts, targets), len(known))


def _keys(ids: pa.Array, numbers: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(numbers.cast(pa.utf8()), ids.cast(pa.utf8()), ":")


def _taken(starts: pa.RecordBatch, places: pa.Array) -> list[pa.Array]:
    kinds = (pa.utf8(), pa.int32())
    columns = zip(starts.columns, kinds, strict=True)
    return [column.take(places).cast(kind) for column, kind in columns]
