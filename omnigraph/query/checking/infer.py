"""Infer: the types of a pattern's variables and the directions of its traversals."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import BoundVariable, Direction, Link, LinkPath, Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.parsing import ast
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.syntax.problems import Problems

_Pair: TypeAlias = tuple[str, str]  # the types of a traversal's source and target


@dataclass(slots=True)
class Inference:
    """Finds the types of variables and the directions of edges that agree with all traversals.

    Every edge allows one pair of types for its two variables, or two when it could be followed
    either way. Pairs that contradict the known types of a variable are dropped until nothing
    changes. An edge that could still go either way, between variables that no binding types, is
    read in text order; if that fits nothing, or a binding leaves it open, it is an error.
    The order of the traversals makes no difference.
    """

    catalog: Catalog
    problems: Problems
    typed: Mapping[str, tuple[str, ...]]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def resolve(self, traversals: list[ast.Traversal]) -> list[Link]:
        """Return the links of all traversals that fit their types; report the others."""
        open_links = [_Open(each, edges) for each in traversals if (edges := self._edges(each))]
        self._settle(open_links)
        undecided = [link for link in open_links if link.is_open]
        unbound = [link for link in undecided if not any(name in self.typed for name in link.ends)]
        for link in unbound:
            link.read_in_text_order()
        if unbound:
            self._settle(open_links)
        found = [self._link(link, was_open=link in undecided) for link in open_links]
        return [link for link in found if link is not None]

    def types(self, name: str) -> tuple[str, ...] | None:
        """Return the types that a variable can still have, or None if nothing is known."""
        found = self.known.get(name)
        return self.typed.get(name) if found is None else found

    def _settle(self, links: list["_Open"]) -> None:
        """Drop pairs and narrow types until both agree everywhere."""
        touching: defaultdict[str, list[_Open]] = defaultdict(list)
        for link in links:
            for name in set(link.ends):
                touching[name].append(link)
        waiting = deque(links)
        while waiting:
            link = waiting.popleft()
            link.drop(self.types(link.ends[0]), self.types(link.ends[1]))
            for at, name in enumerate(link.ends):
                if self._narrow(name, link.reachable(at)):
                    waiting.extend(each for each in touching[name] if each is not link)

    def _narrow(self, name: str, reachable: set[str]) -> bool:
        """Keep of a variable only the types that a link reaches; True when some went."""
        before = self.types(name)
        after = tuple(
            sorted(reachable) if before is None else (t for t in before if t in reachable)
        )
        if not after or after == before:
            return False
        self.known[name] = after
        return True

    def _edges(self, traversal: ast.Traversal) -> list[tuple[ast.EdgeName, EdgeType]]:
        """Return the edge types that a traversal names; report unknown ones and return none."""
        found: list[tuple[ast.EdgeName, EdgeType]] = []
        seen: set[str] = set()
        for edge in traversal.edges:
            declared = self.catalog.edges_by_traversal.get(edge.name.text.casefold())
            if declared is None:
                names = (name[0].lower() + name[1:] for name in self.catalog.edges)
                hint = self.problems.nearest(edge.name.text, names)
                message = f"unknown edge '{edge.name.text}'"
                self.problems.report(Code.UNKNOWN_EDGE, edge.name.span, message, hint)
            elif declared.name in seen:
                message = f"'{edge.name.text}' is named twice"
                self.problems.report(Code.DUPLICATE_NAME, edge.name.span, message)
            else:
                seen.add(declared.name)
                found.append((edge, declared))
        return found if len(found) == len(traversal.edges) else []

    def _link(self, link: "_Open", *, was_open: bool) -> Link | None:
        traversal = link.traversal
        steps = [self._step(link, at, was_open=was_open) for at in range(len(link.edges))]
        resolved = [step for step in steps if step is not None]
        fits = self._hops_fit(traversal, [edge for _, edge in link.edges])
        if len(resolved) < len(steps) or not fits:
            return None
        named = traversal.edge_variable
        return Link(
            source=traversal.source.name,
            target=traversal.target.name,
            steps=tuple(resolved),
            hops=traversal.hops,
            edge_variable=None if named is None or traversal.path is not None else named.name,
            path=_path_of(traversal),
        )

    def _step(self, link: "_Open", at: int, *, was_open: bool) -> Step | None:
        (name, edge), pairs = link.edges[at], link.pairs[at]
        if name.undirected and not edge.chains:
            ends = f"from {edge.source} to {edge.target}"
            message = f"{edge.name} cannot be followed both ways: it goes {ends}"
            hint = f"write {name.name.text} without < >"
            self.problems.report(Code.AMBIGUOUS_DIRECTION, name.name.span, message, hint)
            return None
        if len(pairs) == 2 or (was_open and not pairs):
            message = f"{edge.name} could be followed either way between these variables"
            hint = f"give one of them the type {edge.source} or {edge.target}"
            self.problems.report(Code.AMBIGUOUS_DIRECTION, link.traversal.span, message, hint)
            return None
        if not pairs:
            self._report_ends(link.traversal, edge)
            return None
        if name.undirected:
            return Step(edge.name, Direction.BOTH)
        outwards = pairs[0] == (edge.source, edge.target)
        return Step(edge.name, Direction.OUT if outwards else Direction.IN)

    def _report_ends(self, traversal: ast.Traversal, edge: EdgeType) -> None:
        ends = " and ".join(
            f"${variable.name} is {'|'.join(types)}"
            for variable in (traversal.source, traversal.target)
            if (types := self.types(variable.name)) is not None
        )
        if traversal.source.name == traversal.target.name:
            ends = f"${traversal.source.name} cannot be both"
        message = f"{edge.name} goes from {edge.source} to {edge.target}, but {ends}"
        self.problems.report(Code.EDGE_ENDPOINTS, traversal.span, message)

    def _hops_fit(self, traversal: ast.Traversal, edges: list[EdgeType]) -> bool:
        hops = traversal.hops
        chained = len({(edge.source, edge.target) for edge in edges}) == 1 and edges[0].chains
        message = None
        if hops.maximum is not None and hops.maximum < hops.minimum:
            message = (
                f"the minimum of {hops.minimum} hops is greater than the maximum of {hops.maximum}"
            )
        elif hops.maximum == 0:
            message = "a traversal must follow at least one edge"
        elif traversal.path is not None:
            message = _path_problem(traversal, chained=chained)
        elif traversal.edge_variable is not None and not hops.is_single:
            message = "a named edge must be a single hop"
        elif not hops.is_single and not chained and (len(edges) > 1 or hops.minimum != 1):
            names = ", ".join(edge.name for edge in edges)
            message = (
                f"{names} cannot be followed {_times(hops.minimum)}: the ends have different types"
            )
        if message is not None:
            span = hops.span or traversal.span
            self.problems.report(Code.BAD_HOPS, span, message)
        return message is None


class _Open:
    """A traversal with the pairs of types that each of its edges still allows."""

    def __init__(
        self, traversal: ast.Traversal, edges: list[tuple[ast.EdgeName, EdgeType]]
    ) -> None:
        self.traversal = traversal
        self.edges = edges
        self.ends = (traversal.source.name, traversal.target.name)
        self.pairs: list[list[_Pair]] = [_pairs(edge) for _, edge in edges]

    @property
    def is_open(self) -> bool:
        return any(len(pairs) > 1 for pairs in self.pairs)

    def read_in_text_order(self) -> None:
        """Follow every edge that is open from its source to its target."""
        self.pairs = [pairs[:1] for pairs in self.pairs]

    def drop(self, sources: tuple[str, ...] | None, targets: tuple[str, ...] | None) -> None:
        """Drop the pairs that disagree with the types of the two ends."""
        loop = self.ends[0] == self.ends[1]
        self.pairs = [
            [
                (source, target)
                for source, target in pairs
                if (sources is None or source in sources)
                and (targets is None or target in targets)
                and (not loop or source == target)
            ]
            for pairs in self.pairs
        ]

    def reachable(self, end: int) -> set[str]:
        """Return the types that one end can have."""
        return {pair[end] for pairs in self.pairs for pair in pairs}


def _pairs(edge: EdgeType) -> list[_Pair]:
    outwards = (edge.source, edge.target)
    return [outwards] if edge.chains else [outwards, (edge.target, edge.source)]


def node_variable(name: str, types: tuple[str, ...], interface: str | None) -> BoundVariable:
    """Return the variable that stands for nodes of these types."""
    return BoundVariable(name=name, type=EntityType(EntityKind.NODE, types), interface=interface)


def edge_variable(link: Link) -> BoundVariable | None:
    """Return the variable that stands for the edges of a link, or None if it has no name."""
    if link.edge_variable is None:
        return None
    types = tuple(step.edge for step in link.steps)
    return BoundVariable(name=link.edge_variable, type=EntityType(EntityKind.EDGE, types))


def _path_of(traversal: ast.Traversal) -> LinkPath | None:
    path = traversal.path
    if path is None:
        return None
    weight = None if path.by is None else path.by.key.text
    return LinkPath(path.variable.name, path.keeps_all, weight)


def _path_problem(traversal: ast.Traversal, *, chained: bool) -> str | None:
    """Return why there are no shortest paths along a traversal."""
    path = traversal.path
    assert path is not None
    if not chained:
        return "a path follows edges between nodes of one type"
    if path.by is not None and path.keeps_all:
        return "the paths of least weight are not all found; write shortest without all"
    if path.by is not None and traversal.hops.minimum > 1:
        return "a path of least weight has a minimum of 0 or 1 hops"
    return None


def _times(hops: int) -> str:
    return "zero times" if hops == 0 else "several times in a row"
