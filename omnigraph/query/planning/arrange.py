"""Arrange: the patterns of a plan as graphs of variables and links, and back in any order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.query.checked import Step
from omnigraph.query.expr import Comparison, Predicate, PropertyRef
from omnigraph.query.parsing.ast import Hops
from omnigraph.query.parsing.ast import Operator as Comparing
from omnigraph.query.plan import (
    AntiJoin,
    Expand,
    Filter,
    Mark,
    NodeScan,
    Operator,
    Optional,
    PointRead,
    ReadPlan,
)
from omnigraph.query.planning.rewrite import rewrite_read
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import STRING


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A variable of a pattern, its types, and the conditions on it alone."""

    variable: str
    types: tuple[str, ...]
    filters: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternLink:
    """A traversal of a pattern, which can be followed from either end."""

    source: str
    target: str
    steps: tuple[Step, ...]
    hops: Hops
    edge_variable: str | None = None
    edge_filters: tuple[Predicate, ...] = ()

    @property
    def ends(self) -> tuple[str, str]:
        """The two variables; both are the same for a traversal from a variable to itself."""
        return (self.source, self.target)

    def other(self, variable: str) -> str:
        """Return the variable at the other end."""
        return self.target if variable == self.source else self.source

    def steps_from(self, variable: str) -> tuple[Step, ...]:
        """Return the steps as they are followed from one of the two ends."""
        if variable == self.source:
            return self.steps
        return tuple(each.flipped() for each in self.steps)


@dataclass(frozen=True, slots=True)
class PatternGraph:
    """The scans and expands that a plan starts with, in no order."""

    nodes: tuple[PatternNode, ...]
    links: tuple[PatternLink, ...]
    filters: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Begin with a variable, found by a scan."""

    variable: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Follow a link, given by its number, from one of its ends."""

    link: int
    source: str


Move: TypeAlias = Start | Follow
Orders: TypeAlias = tuple[tuple[Move, ...], ...]


def take_apart(
    operators: Sequence[Operator], catalog: Catalog
) -> tuple[PatternGraph, tuple[Operator, ...]]:
    """Return the pattern that a pipeline starts with, and the operators after it."""
    first = list(takewhile(lambda each: isinstance(each, NodeScan | Expand | Filter), operators))
    nodes: list[PatternNode] = []
    links: list[PatternLink] = []
    filters: list[Predicate] = []
    for operator in first:
        match operator:
            case NodeScan():
                given = (*_point_filters(operator, catalog), *operator.filters)
                nodes.append(PatternNode(operator.variable, operator.types, given))
            case Expand():
                if not operator.closes:
                    nodes.append(PatternNode(operator.target, operator.types, operator.filters))
                links.append(_link_of(operator))
            case Filter(predicate):
                filters.append(predicate)
    graph = PatternGraph(tuple(nodes), tuple(links), tuple(filters))
    return graph, tuple(operators[len(first) :])


def put_together(graph: PatternGraph, moves: Iterable[Move]) -> tuple[Operator, ...]:
    """Return the operators of a pattern in an order, and its conditions as filters after them."""
    nodes = {each.variable: each for each in graph.nodes}
    waiting = set(nodes)
    found: list[Operator] = []
    for move in moves:
        if isinstance(move, Start):
            waiting.discard(move.variable)
            found.append(NodeScan(variable=move.variable, types=nodes[move.variable].types))
            continue
        link = graph.links[move.link]
        target = link.other(move.source)
        closes = target not in waiting
        waiting.discard(target)
        found.append(
            Expand(
                source=move.source,
                target=target,
                types=() if closes else nodes[target].types,
                steps=link.steps_from(move.source),
                hops=link.hops,
                closes=closes,
                edge_variable=link.edge_variable,
            )
        )
    tests = [test for node in graph.nodes for test in node.filters]
    tests += [test for link in graph.links for test in link.edge_filters]
    return (*found, *map(Filter, (*tests, *graph.filters)))


def rearrange(plan: ReadPlan, orders: Iterable[Sequence[Move]], catalog: Catalog) -> ReadPlan:
    """Return a plan with its patterns in other orders, one for each: outer patterns come first."""
    operators = _rearrange(plan.operators, iter(orders), catalog)
    return rewrite_read(replace(plan, operators=operators), catalog)


def _rearrange(
    operators: Sequence[Operator], orders: Iterator[Sequence[Move]], catalog: Catalog
) -> tuple[Operator, ...]:
    graph, rest = take_apart(operators, catalog)
    found = list(put_together(graph, next(orders)))
    for each in rest:
        if isinstance(each, AntiJoin | Optional | Mark):
            found.append(replace(each, inner=_rearrange(each.inner, orders, catalog)))
        else:
            found.append(each)
    return tuple(found)


def _link_of(expand: Expand) -> PatternLink:
    return PatternLink(
        source=expand.source,
        target=expand.target,
        steps=expand.steps,
        hops=expand.hops,
        edge_variable=expand.edge_variable,
        edge_filters=expand.edge_filters,
    )


def _point_filters(scan: NodeScan, catalog: Catalog) -> list[Predicate]:
    """Return a point read as the conditions that it was made of."""
    point: PointRead | None = scan.point
    if point is None:
        return []
    node = catalog.nodes[scan.types[0]]
    names = node.key if point.by_key else ("id",)
    kinds = [node.properties[name].type if point.by_key else STRING for name in names]
    return [
        Comparison(PropertyRef(scan.variable, name, kind), Comparing.EQUAL, value)
        for name, kind, value in zip(names, kinds, point.values, strict=True)
    ]
