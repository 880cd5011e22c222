"""Infer: the types of a pattern's variables and the directions of its traversals."""

from collections import defaultdict, deque
from dataclasses import dataclass

from omnigraph.errors import Code
from omnigraph.query import ast
from omnigraph.query.checked import Bound, Direction, Link, Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.syntax.problems import Problems


@dataclass(slots=True)
class Inference:
    """Narrows the types of variables, one traversal at a time, until all are known.

    A traversal between two variables of unknown type waits for another one to tell; when none
    does, it is read in text order, from the edge's source to its target.
    """

    catalog: Catalog
    problems: Problems
    known: dict[str, tuple[str, ...]]

    def resolve(self, traversals: list[ast.Traversal]) -> list[Link]:
        """Give the links of all traversals that fit their types; report the others."""
        waiting = _by_variable(traversals)
        ready = deque(at for name in self.known for at in waiting.pop(name, ()))
        unread = iter(range(len(traversals)))
        links: dict[int, Link | None] = {}
        while len(links) < len(traversals):
            at = ready.popleft() if ready else next(unread)
            if at not in links:
                links[at] = self._link(traversals[at])
                for name in _ends(traversals[at]):
                    ready.extend(waiting.pop(name, ()))
        found = [links[at] for at in range(len(traversals))]
        return [link for link in found if link is not None]

    def _anchored(self, traversal: ast.Traversal) -> bool:
        return traversal.source.name in self.known or traversal.target.name in self.known

    def _edges(self, traversal: ast.Traversal) -> list[tuple[ast.EdgeName, EdgeType]]:
        """Give the edge types that a traversal names, or none when one is unknown."""
        found: list[tuple[ast.EdgeName, EdgeType]] = []
        for edge in traversal.edges:
            declared = self.catalog.edges_by_traversal.get(edge.name.text.casefold())
            if declared is None:
                names = [name[0].lower() + name[1:] for name in self.catalog.edges]
                hint = self.problems.nearest(edge.name.text, names)
                message = f"unknown edge '{edge.name.text}'"
                self.problems.report(Code.UNKNOWN_EDGE, edge.name.span, message, hint)
            elif any(declared is other for _, other in found):
                message = f"'{edge.name.text}' is named twice"
                self.problems.report(Code.DUPLICATE_NAME, edge.name.span, message)
            else:
                found.append((edge, declared))
        return found if len(found) == len(traversal.edges) else []

    def _link(self, traversal: ast.Traversal) -> Link | None:
        edges = self._edges(traversal)
        if not edges:
            return None
        steps = [self._step(traversal, name, edge) for name, edge in edges]
        resolved = [step for step in steps if step is not None]
        self._narrow(traversal, resolved)
        if len(resolved) < len(steps) or not self._hops_fit(traversal, [e for _, e in edges]):
            return None
        named = traversal.edge_variable
        return Link(
            source=traversal.source.name,
            target=traversal.target.name,
            steps=tuple(resolved),
            hops=traversal.hops,
            edge_variable=None if named is None else named.name,
        )

    def _step(self, traversal: ast.Traversal, name: ast.EdgeName, edge: EdgeType) -> Step | None:
        if name.undirected and not edge.chains:
            message = f"{edge.name} cannot go both ways: it joins {edge.source} to {edge.target}"
            hint = f"write {name.name.text} without < >"
            self.problems.report(Code.AMBIGUOUS_DIRECTION, name.name.span, message, hint)
            return None
        outwards = self._fits(traversal, edge.source, edge.target)
        inwards = not edge.chains and self._fits(traversal, edge.target, edge.source)
        if outwards and inwards and self._anchored(traversal):
            message = f"{edge.name} could be followed either way between these variables"
            hint = f"give one of them the type {edge.source} or {edge.target}"
            self.problems.report(Code.AMBIGUOUS_DIRECTION, traversal.span, message, hint)
            return None
        if not outwards and not inwards:
            self._report_ends(traversal, edge)
            return None
        if name.undirected:
            return Step(edge.name, Direction.BOTH)
        return Step(edge.name, Direction.OUT if outwards else Direction.IN)

    def _fits(self, traversal: ast.Traversal, source: str, target: str) -> bool:
        sources = self.known.get(traversal.source.name)
        targets = self.known.get(traversal.target.name)
        return (sources is None or source in sources) and (targets is None or target in targets)

    def _report_ends(self, traversal: ast.Traversal, edge: EdgeType) -> None:
        ends = " and ".join(
            f"${variable.name} is {'|'.join(self.known[variable.name])}"
            for variable in (traversal.source, traversal.target)
            if variable.name in self.known
        )
        message = f"{edge.name} goes from {edge.source} to {edge.target}, but {ends}"
        self.problems.report(Code.EDGE_ENDPOINTS, traversal.span, message)

    def _narrow(self, traversal: ast.Traversal, steps: list[Step]) -> None:
        """Keep of both ends only the types that the edges reach."""
        sources, targets = set(), set()
        for step in steps:
            edge = self.catalog.edges[step.edge]
            ends = (edge.source, edge.target)
            source, target = reversed(ends) if step.direction is Direction.IN else ends
            sources.add(source)
            targets.add(target)
        for variable, types in ((traversal.source, sources), (traversal.target, targets)):
            if types:
                before = self.known.get(variable.name, sorted(types))
                self.known[variable.name] = tuple(each for each in before if each in types)

    def _hops_fit(self, traversal: ast.Traversal, edges: list[EdgeType]) -> bool:
        hops = traversal.hops
        chained = len({(edge.source, edge.target) for edge in edges}) == 1 and edges[0].chains
        single = (hops.minimum, hops.maximum) == (1, 1)
        message = None
        if hops.maximum is not None and hops.maximum < hops.minimum:
            message = f"{hops.minimum} hops or more cannot be {hops.maximum} or less"
        elif hops.maximum == 0:
            message = "a traversal follows at least one edge"
        elif traversal.edge_variable is not None and not single:
            message = "a named edge is one hop"
        elif not single and not chained and (len(edges) > 1 or hops.minimum != 1):
            names = ", ".join(edge.name for edge in edges)
            message = f"{names} cannot be followed {_times(hops.minimum)}: the ends differ in type"
        if message is not None:
            span = hops.span or traversal.span
            self.problems.report(Code.BAD_HOPS, span, message)
        return message is None


def node_variable(name: str, types: tuple[str, ...], interface: str | None) -> Bound:
    """Give the variable that stands for nodes of these types."""
    return Bound(name=name, type=EntityType(EntityKind.NODE, types), interface=interface)


def edge_variable(link: Link) -> Bound | None:
    """Give the variable that stands for the edges of a link, when it names them."""
    if link.edge_variable is None:
        return None
    types = tuple(step.edge for step in link.steps)
    return Bound(name=link.edge_variable, type=EntityType(EntityKind.EDGE, types))


def _ends(traversal: ast.Traversal) -> tuple[str, str]:
    return traversal.source.name, traversal.target.name


def _by_variable(traversals: list[ast.Traversal]) -> dict[str, list[int]]:
    """Give the places of the traversals that touch each variable."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, traversal in enumerate(traversals):
        for name in _ends(traversal):
            places[name].append(at)
    return places


def _times(hops: int) -> str:
    return "zero times" if hops == 0 else "several times in a row"
