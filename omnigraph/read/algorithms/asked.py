"""Asked: an algorithm, the nodes and edges that it runs on, and its settings."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.types import FLOATS, INTEGERS
from omnigraph.syntax.problems import list_names, parse_choice, suggest
from omnigraph.versioning.snapshot import Snapshot


class Algorithm(StrEnum):
    """The algorithms, by the names of their methods, commands and routes."""

    PAGERANK = "pagerank"
    COMPONENTS = "components"
    COMMUNITIES = "communities"
    BETWEENNESS = "betweenness"
    K_CORE = "k_core"
    TRIANGLES = "triangles"
    SIMILARITY = "similarity"


class Method(StrEnum):
    """How communities are found."""

    LABELS = "labels"
    LOUVAIN = "louvain"


# The column in which each algorithm says something of a node.
COLUMNS = {
    Algorithm.PAGERANK: "rank",
    Algorithm.COMPONENTS: "component",
    Algorithm.COMMUNITIES: "community",
    Algorithm.BETWEENNESS: "betweenness",
    Algorithm.K_CORE: "core",
    Algorithm.TRIANGLES: "triangles",
    Algorithm.SIMILARITY: "similarity",
}
# What each algorithm can be told beside the edges and the types of nodes.
_SETTINGS = {
    Algorithm.PAGERANK: ("direction", "weight", "damping", "tolerance"),
    Algorithm.COMPONENTS: ("direction",),
    Algorithm.COMMUNITIES: ("weight", "method", "resolution"),
    Algorithm.BETWEENNESS: ("direction", "weight", "samples", "seed"),
    Algorithm.K_CORE: (),
    Algorithm.TRIANGLES: (),
    Algorithm.SIMILARITY: ("direction", "limit", "least"),
}
_DIRECTIONS = {
    Algorithm.PAGERANK: Direction.OUT,
    Algorithm.BETWEENNESS: Direction.OUT,
    Algorithm.SIMILARITY: Direction.OUT,
}
# The least and the greatest number that a setting can be. Ranks with more damping than this do
# not settle in any time.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "damping": (0.0, 0.999),
    "tolerance": (1e-14, 1.0),
    "resolution": (0.0, 1e6),
    "samples": (1, 1_000_000),
    "seed": (0, 2**32 - 1),
    "limit": (1, 10_000),
    "least": (0.0, 1.0),
}
_WHOLE = ("samples", "seed", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCall:
    """An algorithm with what it runs on; without `edges` on all, None is the usual setting.

    `types` are those of the nodes of the result, without any those at the ends of the edges.
    """

    algorithm: Algorithm
    edges: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    direction: Direction | None = None
    weight: str | None = None
    damping: float | None = None
    tolerance: float | None = None
    method: Method | None = None
    resolution: float | None = None
    samples: int | None = None
    seed: int | None = None
    limit: int | None = None
    least: float | None = None

    @classmethod
    def parse(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """Return the call of an algorithm by its name; raise InputError for what it cannot take."""
        algorithm = parse_choice(Algorithm, name)
        given = {key: each for key, each in settings.items() if each is not None}
        allowed = ("edges", "types", *_SETTINGS[algorithm])
        for key in given:
            if key not in allowed:
                known = list_names(sorted(allowed))
                raise InputError(f"'{key}' is not for {algorithm}", hint=f"it takes {known}")
            _check_bounds(key, given[key])
        if "direction" in given:
            given["direction"] = parse_choice(Direction, given["direction"])
        if "method" in given:
            given["method"] = parse_choice(Method, given["method"])
        for key in ("edges", "types"):
            given[key] = tuple(dict.fromkeys(given.get(key, ())))
        made = cls(algorithm=algorithm, **given)
        made._check_method()
        return made

    def _check_method(self) -> None:
        if self.algorithm is Algorithm.BETWEENNESS:
            if self.seed is not None and self.samples is None:
                raise InputError("'seed' is for samples", hint="say how many 'samples' there are")
            if self.weight is not None and self.samples is not None:
                raise InputError("'samples' are for edges without a weight")
        is_louvain = self.method is Method.LOUVAIN
        for key in ("weight", "resolution") if self.algorithm is Algorithm.COMMUNITIES else ():
            if getattr(self, key) is not None and not is_louvain:
                raise InputError(f"'{key}' is for the method louvain")

    def __str__(self) -> str:
        if self.method is not None:
            return f"the method {self.method}"
        by = " by direction" if self.direction is not None else ""
        return f"{self.algorithm}{by}"

    @property
    def column(self) -> str:
        """The column in which the result says something of a node."""
        return COLUMNS[self.algorithm]

    @property
    def followed(self) -> Direction:
        """How edges are followed."""
        return self.direction or _DIRECTIONS.get(self.algorithm, Direction.BOTH)

    def on(self, catalog: Catalog) -> "Scope":
        """Return the types that it runs on; raise InputError for those that are not there."""
        edges = tuple(_edge(name, catalog) for name in self.edges or catalog.edges)
        if not edges:
            raise InputError("the graph has no edge types")
        ends = (end for edge in edges for end in (edge.source, edge.target))
        shown = tuple(_node(name, catalog) for name in self.types) or tuple(dict.fromkeys(ends))
        taking = {*shown, *(end for edge in edges for end in (edge.source, edge.target))}
        if self.weight is not None:
            for edge in edges:
                _check_weight(edge, self.weight)
        return Scope(tuple(name for name in catalog.nodes if name in taking), edges, shown)

    def to_json(self) -> dict[str, Any]:
        """Return what was given, as the fields of an operation."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        known = {
            key: list(each) if isinstance(each, tuple) else each
            for key, each in found.items()
            if each is not None and each != ()
        }
        return {**known, "algorithm": self.algorithm.value}


def runs_on_spark(call: AlgorithmCall) -> bool:
    """Return whether Spark can compute it as well."""
    if call.algorithm is Algorithm.COMMUNITIES:
        return call.method is not Method.LOUVAIN
    if call.algorithm is Algorithm.COMPONENTS:
        return call.followed is Direction.BOTH
    return call.algorithm in (Algorithm.PAGERANK, Algorithm.TRIANGLES)


@dataclass(frozen=True, slots=True)
class Scope:
    """The types of nodes and edges that take part, and the types of nodes that are shown."""

    nodes: tuple[str, ...]
    edges: tuple[EdgeType, ...]
    shown: tuple[str, ...]

    def count_rows(self, snapshot: Snapshot) -> int:
        """Return how many nodes and edges take part."""
        keys = [snapshot.catalog.nodes[name].identity for name in self.nodes]
        keys += [edge.identity for edge in self.edges]
        return sum(snapshot.state(key).row_count for key in keys)


def _check_bounds(key: str, value: Any) -> None:  # noqa: ANN401 - whatever a caller passed
    if key not in _BOUNDS:
        return
    low, high = _BOUNDS[key]
    kinds: tuple[type, ...] = (int,) if key in _WHOLE else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        word = "whole number" if key in _WHOLE else "number"
        raise InputError(f"'{key}' is a {word} from {low:,g} to {high:,.16g}, not {value!r}")


def _edge(name: str, catalog: Catalog) -> EdgeType:
    found = catalog.edges.get(name)
    if found is None:
        raise InputError(f"no edge type '{name}'", hint=_near(name, catalog.edges))
    return found


def _node(name: str, catalog: Catalog) -> str:
    if name not in catalog.nodes:
        raise InputError(f"no node type '{name}'", hint=_near(name, catalog.nodes))
    return name


def _near(name: str, known: Iterable[str]) -> str | None:
    return suggest(name, known) if isinstance(name, str) else None


def _check_weight(edge: EdgeType, name: str) -> None:
    found = edge.properties.get(name)
    if found is None:
        hint = suggest(name, edge.properties)
        raise InputError(f"{edge.name} has no property '{name}'", hint=hint)
    if found.type not in INTEGERS | FLOATS:
        raise InputError(f"'{name}' of {edge.name} is {found.type}, and a weight is a number")
