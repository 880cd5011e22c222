"""Network: the nodes and edges of a snapshot as arrays, nodes numbered by their ids.

Numbers follow the ids and links their ends, so that nothing depends on where rows are stored.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import NO_ROW, Numbers
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction
from omnigraph.read.algorithms.asked import Scope
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.reader import Domain
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.types import STRING
from omnigraph.syntax.problems import shorten

Weights = np.ndarray


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of nodes, each once, by source and then target.

    The weight of a pair is the sum of those of its edges, or the least of them.
    """

    count: int
    sources: Numbers
    targets: Numbers
    weights: Weights

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def offsets(self) -> Numbers:
        """Where the links of each source begin, and after the last one their number."""
        counts = np.bincount(self.sources, minlength=self.count)
        return np.concatenate([[0], np.cumsum(counts)])

    def keep(self, mask: "np.ndarray") -> "Links":
        """Return those of the links that a mask chooses."""
        return Links(self.count, self.sources[mask], self.targets[mask], self.weights[mask])


@dataclass(frozen=True, slots=True)
class Network:
    """All nodes that take part, in the order of their ids, and the ends of every edge."""

    domain: Domain
    codes: Numbers
    sources: Numbers
    targets: Numbers
    weights: Weights

    def __len__(self) -> int:
        return len(self.codes)

    def links(self, direction: Direction, *, least: bool = False) -> Links:
        """Return the pairs that edges join; with `both` each from either end, loops once."""
        sources, targets, weights = self.sources, self.targets, self.weights
        if direction is Direction.IN:
            sources, targets = targets, sources
        if direction is Direction.BOTH:
            other = sources != targets
            sources, targets, weights = (
                np.concatenate([sources, self.targets[other]]),
                np.concatenate([targets, self.sources[other]]),
                np.concatenate([weights, weights[other]]),
            )
        return _join_pairs(len(self), sources, targets, weights, least)

    def pairs(self, *, least: bool = False) -> Links:
        """Return the pairs that edges join in either direction, each from the lower end."""
        ends = np.minimum(self.sources, self.targets), np.maximum(self.sources, self.targets)
        return _join_pairs(len(self), *ends, self.weights, least)

    def ids(self, places: Numbers) -> tuple[pa.Array, pa.Array]:
        """Return the types and the ids of nodes by their places."""
        codes = self.codes[places]
        return self.domain.type_names(codes), self.domain.values("id", codes, STRING)


def read_network(reader: DenseReader, scope: Scope, weight: str | None) -> Network:
    """Return the network of some types; without a weight each edge counts one.

    Raises InputError for an edge whose weight is null, negative or no finite number.
    """
    domain = reader.domain(scope.nodes)
    codes = domain.all()
    codes = codes[np.argsort(domain.ranks(codes))]
    places = np.full(len(domain), NO_ROW)
    places[codes] = np.arange(len(codes))
    sources, targets, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for edge in scope.edges:
        found = reader.entries(edge, named=weight is not None)
        sources.append(places[found.sources + domain.offset(edge.source)])
        targets.append(places[found.targets + domain.offset(edge.target)])
        if weight is None:
            weights.append(np.ones(len(found.sources)))
        else:
            assert found.edges is not None
            weights.append(_weights(reader, edge, weight, found.edges))
    ends = np.concatenate(sources), np.concatenate(targets)
    return Network(domain, codes, *ends, np.concatenate(weights))


def _weights(reader: DenseReader, edge: EdgeType, name: str, edges: Numbers) -> Weights:
    values = pc.cast(reader.values(edge.name, name, edges), pa.float64(), safe=False)
    found: Weights = values.fill_null(np.nan).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        ids = reader.values(edge.name, "id", edges[wrong])
        first = int(np.argmin(ids.to_numpy(zero_copy_only=False)))
        value = values[int(wrong[first])].as_py()
        shown = "null" if value is None else f"{value:g}"
        raise InputError(
            f"'{name}' of {edge.name} '{shorten(ids[first].as_py())}' is {shown}",
            hint="a weight is a finite number that is not negative",
        )
    return found


def weights_too_large(name: str) -> InputError:
    """Return what is wrong with weights that add up to infinity."""
    return InputError(
        f"the weights '{name}' of all edges add up to more than F64 holds",
        hint="divide them all by the same number",
    )


def _join_pairs(
    count: int, sources: Numbers, targets: Numbers, weights: Weights, least: bool
) -> Links:
    """Return every pair once, with the sum of its weights, or the least of them."""
    keys = sources * max(count, 1) + targets
    # Equal pairs by weight, so that their sum does not depend on the order of edges.
    order = np.lexsort((weights, keys))
    keys, weights = keys[order], weights[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    with np.errstate(over="ignore"):  # whoever adds the sums finds out
        add = np.minimum if least else np.add
        joined = add.reduceat(weights, first) if len(first) else weights
    ends = np.divmod(keys[first], max(count, 1))
    return Links(count, ends[0], ends[1], joined)
