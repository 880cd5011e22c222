"""Algorithms: what the shape of a graph says of its nodes, one method for each algorithm."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.api.operations.algorithms import RunAlgorithm, WriteAlgorithm
from omnigraph.api.texts import names_of
from omnigraph.syntax.problems import parse_choice
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    from omnigraph.api.computed import AlgorithmResult, Placed

# What runs an operation with the options of a handle, and some more.
Run = Callable[..., Any]


class Algorithms:
    """What the shape of a graph says of its nodes.

    `edges` are the types of the edges that count, without any all; `types` those of the nodes in
    the result, without any those at the ends of the edges. With `engine="spark"` Spark computes
    components, PageRank, communities and triangles.
    """

    def __init__(self, run: Run, place: Mapping[str, Any]) -> None:
        self._run = run
        self._place = place

    def __repr__(self) -> str:
        return f"Algorithms({next(iter(self._place.values()))!r})"

    def pagerank(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        weight: str | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return the `rank` of each node; all of them together are 1.

        Ranks are passed on along the edges (`direction` is `out`, `in` or `both`), by the numbers
        in the property `weight`; the damping is 0.85. It ends when the ranks of all nodes together
        change by less than the tolerance, 1e-9.
        """
        settings = {"direction": direction, "weight": weight, "damping": damping}
        return self._result("pagerank", edges, types, engine, tolerance=tolerance, **settings)

    def components(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return the `component` of each node: nodes that edges join have the same number.

        With the direction `out` these are nodes that can reach each other along the edges (strong
        components), with `both`, the usual one, direction does not matter (weak components).
        """
        return self._result("components", edges, types, engine, direction=direction)

    def communities(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        method: str | None = None,
        weight: str | None = None,
        resolution: float | None = None,
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return the `community` of each node: groups with many edges inside, and few between.

        The method `labels`, the usual one, passes labels on between neighbours until each has the
        one that most of its neighbours have. `louvain` makes groups of the highest modularity that
        it finds; it takes a `weight`, and a `resolution` above 1 for more and smaller groups.
        """
        settings = {"method": method, "weight": weight, "resolution": resolution}
        return self._result("communities", edges, types, engine, **settings)

    def betweenness(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        weight: str | None = None,
        samples: int | None = None,
        seed: int | None = None,
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return the `betweenness` of each node: which part of all shortest paths leads through it.

        The property `weight` is the length of an edge. The time grows with nodes times edges;
        `samples` estimates it from the paths of so many nodes, chosen by the `seed`.
        """
        settings = {"direction": direction, "weight": weight, "samples": samples, "seed": seed}
        return self._result("betweenness", edges, types, engine, **settings)

    def k_core(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return the `core` of each node: the largest k such that it is in the k-core.

        That is the part of a graph in which each node has at least k neighbours.
        """
        return self._result("k_core", edges, types, engine)

    def triangles(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return in how many `triangles` each node is; direction does not matter."""
        return self._result("triangles", edges, types, engine)

    def similarity(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        limit: int | None = None,
        least: float | None = None,
        engine: str | None = None,
    ) -> "AlgorithmResult":
        """Return for each node the `other` nodes that are most like it, at most `limit` of them.

        Their `similarity` is the part of the neighbours of both that they have in common
        (Jaccard), and `least` or more. The usual limit is 10.
        """
        settings = {"direction": direction, "limit": limit, "least": least}
        return self._result("similarity", edges, types, engine, **settings)

    def _result(
        self,
        name: str,
        edges: str | Iterable[str],
        types: str | Iterable[str],
        engine: str | None,
        **settings: Any,  # noqa: ANN401 - numbers and words
    ) -> "AlgorithmResult":
        from omnigraph.api.computed import AlgorithmResult

        how = {} if engine is None else {"engine": _engine(engine)}
        settings |= {"edges": names_of(edges, "edges"), "types": names_of(types, "types")}
        rows = self._run(RunAlgorithm(name=name, **settings, **self._place), **how).to_result()

        def write(branch: "str | Placed", **about: Any) -> Receipt:  # noqa: ANN401
            name_of_branch = branch if isinstance(branch, str) else branch.place
            fields = {**settings, **about, "branch": name_of_branch, "snapshot": rows.commit}
            done: Receipt = self._run(WriteAlgorithm(name=name, **fields), **how)
            return done

        return AlgorithmResult(rows.query_name, rows.table, rows.commit, _write=write)


def _engine(name: str) -> str:
    """Return who computes, by its name; raise InputError for another."""
    from omnigraph.spark.choice import Engine

    return parse_choice(Engine, name).value
