"""Lower: a checked query to a plan, in a fixed order and without cleverness."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from omnigraph.query import plan
from omnigraph.query.checked import Bound, CheckedQuery, CheckedRead, Direction, Link, Pattern, Step
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import conjuncts, equality, variables
from omnigraph.query.tail import binds, lower_tail
from omnigraph.schema.catalog import Catalog

_FLIPPED = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}


def lower(query: CheckedQuery, catalog: Catalog) -> plan.Plan:
    """Give the plan of a checked query."""
    if not isinstance(query.body, CheckedRead):
        return plan.MutationPlan(
            name=query.name, params=query.params, statements=query.body.statements
        )
    operators = [*_pattern(query.body.pattern, frozenset(), catalog), *lower_tail(query.body)]
    columns = tuple(
        plan.ResultColumn(column.name, kind)
        for column in query.body.columns
        if (kind := type_of(column.expr)) is not None
    )
    return plan.ReadPlan(
        name=query.name, params=query.params, operators=tuple(operators), columns=columns
    )


def _pattern(pattern: Pattern, outer: frozenset[str], catalog: Catalog) -> list[plan.Operator]:
    """Give the operators that match a pattern, given rows that bind the outer variables."""
    steps = _Steps(pattern, outer, catalog)
    operators: list[plan.Operator] = steps.operators()
    bound = outer | {each.name for each in pattern.bound}
    late_negations = []
    for negation in pattern.negations:
        if set(negation.outer) <= bound:
            inner = _pattern(negation, bound, catalog)
            operators.append(plan.AntiJoin(negation.outer, tuple(inner)))
        else:
            late_negations.append(negation)
    for optional in pattern.optionals:
        inner = _pattern(optional, bound, catalog)
        names = binds(optional)
        operators.append(plan.Optional(optional.outer, names, tuple(inner)))
        bound |= set(names)
    operators += [plan.Filter(each) for each in pattern.filters]
    for negation in late_negations:
        inner = _pattern(negation, bound, catalog)
        operators.append(plan.AntiJoin(negation.outer, tuple(inner)))
    return operators


@dataclass(slots=True)
class _Steps:
    """Orders the scans and expands of one pattern, one connected part after the other."""

    pattern: Pattern
    outer: frozenset[str]
    catalog: Catalog
    done: list[plan.Operator] = field(default_factory=list)

    def operators(self) -> list[plan.Operator]:
        nodes = {each.name: each for each in self.pattern.bound if each.is_node}
        links: defaultdict[str, list[int]] = defaultdict(list)
        for at, link in enumerate(self.pattern.links):
            links[link.source].append(at)
            links[link.target].append(at)
        bound = set(self.outer)
        used: set[int] = set()
        self._grow(list(self.pattern.outer), links, bound, used, nodes)
        for root in sorted(nodes.values(), key=_selectivity(self.pattern, self.catalog)):
            if root.name not in bound:
                scan = plan.NodeScan(variable=root.name, types=root.type.types)
                self.done.append(scan)
                bound.add(root.name)
                self._grow([root.name], links, bound, used, nodes)
        return self.done

    def _grow(
        self,
        frontier: list[str],
        links: dict[str, list[int]],
        bound: set[str],
        used: set[int],
        nodes: dict[str, Bound],
    ) -> None:
        """Follow every link that leads out of the frontier, nearest first."""
        at = 0
        while at < len(frontier):
            for number in links.get(frontier[at], ()):
                if number in used:
                    continue
                used.add(number)
                link = self._from(self.pattern.links[number], frontier[at])
                closes = link.target in bound
                self.done.append(self._expand(link, nodes, closes=closes))
                if not closes:
                    bound.add(link.target)
                    frontier.append(link.target)
            at += 1

    def _from(self, link: Link, source: str) -> Link:
        return link if link.source == source else _reversed(link)

    def _expand(self, link: Link, nodes: dict[str, Bound], *, closes: bool) -> plan.Expand:
        target = nodes.get(link.target)
        return plan.Expand(
            source=link.source,
            target=link.target,
            types=() if closes or target is None else target.type.types,
            steps=link.steps,
            hops=link.hops,
            closes=closes,
            edge_variable=link.edge_variable,
        )


def _reversed(link: Link) -> Link:
    steps = tuple(
        Step(step.edge, _FLIPPED.get(step.direction, step.direction)) for step in link.steps
    )
    return Link(
        source=link.target,
        target=link.source,
        steps=steps,
        hops=link.hops,
        edge_variable=link.edge_variable,
    )


def _selectivity(pattern: Pattern, catalog: Catalog) -> Callable[[Bound], tuple[int, int]]:
    """Give the order in which variables are tried as roots: by key, by filter, as written."""
    equal: defaultdict[str, set[str]] = defaultdict(set)
    filtered: set[str] = set()
    for predicate in pattern.filters:
        for part in conjuncts(predicate):
            names = variables(part)
            if len(names) == 1:
                filtered |= names
            if (found := equality(part)) is not None and found[0].variable is not None:
                equal[found[0].variable].add(found[0].property)
    places = {each.name: at for at, each in enumerate(pattern.bound)}

    def rank(bound: Bound) -> tuple[int, int]:
        given = equal[bound.name]
        key = catalog.nodes[bound.type.types[0]].key if len(bound.type.types) == 1 else ()
        by_key = "id" in given or (key and set(key) <= given)
        return (0 if by_key else 1 if bound.name in filtered else 2, places[bound.name])

    return rank
