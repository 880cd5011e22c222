"""Lower: a checked query to a plan, in a fixed order and without optimization."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from omnigraph.frozen import dataclass
from omnigraph.query import plan
from omnigraph.query.checked import (
    Assigned,
    BoundVariable,
    CheckedQuery,
    CheckedRead,
    CheckedUnion,
    Column,
    FromMatch,
    Link,
    Pattern,
    SetRows,
)
from omnigraph.query.comparing import result_type_of
from omnigraph.query.expr import (
    Call,
    ColumnRef,
    Constant,
    PropertyRef,
    VariableRef,
    conjuncts,
    counts_rows,
    equality,
    parts,
    variables,
)
from omnigraph.query.planning.tail import binds, lower_tail
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import BOOL, STRING, is_single


def lower(query: CheckedQuery, catalog: Catalog) -> plan.Plan:
    """Return the plan of a checked query, before any rewriting."""
    if isinstance(query.body, CheckedRead | CheckedUnion):
        read = (
            _union(query.body, query, catalog)
            if isinstance(query.body, CheckedUnion)
            else _read(query.body, query, catalog)
        )
        return replace(read, description=query.description, instruction=query.instruction)
    statements = (
        _from_match(each, query, catalog) if isinstance(each, FromMatch) else each
        for each in query.body.statements
    )
    return plan.MutationPlan(
        name=query.name,
        params=query.params,
        statements=tuple(statements),
        description=query.description,
        instruction=query.instruction,
    )


def _read(body: CheckedRead, query: CheckedQuery, catalog: Catalog) -> plan.ReadPlan:
    counts = body.grouped or body.distinct
    read = _read_by_tail(body) if counts else frozenset()
    operators = [*_pattern(body.pattern, set(), catalog, read), *lower_tail(body)]
    columns = tuple(
        plan.ResultColumn(column.name, kind)
        for column in body.columns
        if (kind := result_type_of(column.expr)) is not None
    )
    return plan.ReadPlan(
        name=query.name, params=query.params, operators=tuple(operators), columns=columns
    )


def _union(body: CheckedUnion, query: CheckedQuery, catalog: Catalog) -> plan.ReadPlan:
    reads = tuple(_read(each, query, catalog) for each in body.reads)
    if not body.keeps_all:
        reads = tuple(map(_without_order, reads))
    columns = reads[0].columns
    operators: list[plan.Operator] = [plan.Union(reads)]
    ties: tuple[str, ...] = ()
    if not body.keeps_all:
        operators.append(plan.Distinct())
        ties = tuple(each.name for each in columns)
    if body.order or ties:
        operators.append(plan.Order(body.order, ties))
    if body.skip is not None or body.limit is not None:
        operators.append(plan.Limit(body.skip, body.limit))
    return plan.ReadPlan(
        name=query.name, params=query.params, operators=tuple(operators), columns=columns
    )


def _without_order(read: plan.ReadPlan) -> plan.ReadPlan:
    kept = (each for each in read.operators if not isinstance(each, plan.Order))
    return replace(read, operators=tuple(kept))


def _from_match(statement: FromMatch, query: CheckedQuery, catalog: Catalog) -> plan.FromMatch:
    """Return the read of what a change needs of the matches, each different row once."""
    change = statement.change
    computed = {n: value for n, value in change.values if isinstance(value, PropertyRef | Call)}
    values: tuple[tuple[str, Assigned], ...] = tuple(
        (name, ColumnRef(name, computed[name].type) if name in computed else value)
        for name, value in change.values
    )
    if isinstance(change, SetRows):
        computed[plan.ROW_ID] = PropertyRef(change.variable, "id", STRING)
    columns = tuple(Column(name, value) for name, value in computed.items())
    read = CheckedRead(
        pattern=statement.pattern,
        columns=columns or (Column("#any", Constant(value=True, type=BOOL)),),
        grouped=False,
        distinct=all(is_single(each.type) for each in computed.values()),
        having=(),
        order=(),
        skip=None,
        limit=None,
    )
    return plan.FromMatch(_read(read, query, catalog), replace(change, values=values))


def _pattern(
    pattern: Pattern, bound: set[str], catalog: Catalog, read: frozenset[str] = frozenset()
) -> list[plan.Operator]:
    """Return the operators that match a pattern, starting from rows with `bound`.

    Afterwards `bound` also has the variables that the pattern binds. `read` are the variables
    that the rest of the query reads; the others can be counted when they are reached last.
    """
    operators = _PatternOrder(pattern, bound, catalog, read).operators()
    bound |= {each.name for each in pattern.bound}
    early: list[Pattern] = []
    late: list[Pattern] = []
    for negation in pattern.negations:
        (early if bound.issuperset(negation.outer) else late).append(negation)
    operators += [_negation(each, bound, catalog) for each in early]
    for optional in pattern.optionals:
        inner = _pattern(optional, bound, catalog)
        operators.append(plan.Optional(optional.outer, binds(optional), tuple(inner)))
    operators += [_negation(each, bound, catalog) for each in late]
    operators += [_mark(name, each, bound, catalog) for name, each in pattern.marks]
    return [*operators, *map(plan.Filter, pattern.filters)]


def _mark(name: str, pattern: Pattern, bound: set[str], catalog: Catalog) -> plan.Mark:
    inner = _pattern(pattern, bound, catalog)
    bound -= set(binds(pattern))
    return plan.Mark(name, pattern.outer, tuple(inner))


def _negation(pattern: Pattern, bound: set[str], catalog: Catalog) -> plan.AntiJoin:
    inner = _pattern(pattern, bound, catalog)
    bound -= set(binds(pattern))
    return plan.AntiJoin(pattern.outer, tuple(inner))


@dataclass(slots=True)
class _PatternOrder:
    """Orders the scans and expands of one pattern, one connected part after the other."""

    pattern: Pattern
    bound: set[str]
    catalog: Catalog
    read: frozenset[str]
    done: list[plan.Operator] = field(default_factory=list)

    def operators(self) -> list[plan.Operator]:
        nodes = {each.name: each for each in self.pattern.bound if each.is_node}
        links: defaultdict[str, list[int]] = defaultdict(list)
        for at, link in enumerate(self.pattern.links):
            if link.path is None:
                links[link.source].append(at)
                links[link.target].append(at)
        used: set[int] = set()
        self._grow(list(self.pattern.outer), links, used, nodes)
        paths = [link for link in self.pattern.links if link.path is not None]
        found = self._found_by_paths(paths, links)
        for root in sorted(nodes.values(), key=_selectivity(self)):
            if root.name not in self.bound and root.name not in found:
                self.done.append(plan.NodeScan(variable=root.name, types=root.type.types))
                self.bound.add(root.name)
                self._grow([root.name], links, used, nodes)
        self.done += [self._path(link, nodes) for link in paths]
        return self.done

    def _found_by_paths(self, paths: list[Link], links: Mapping[str, list[int]]) -> set[str]:
        """Return the ends of paths that nothing else binds or restricts."""
        if not paths:
            return set()
        tested = {name for test in self.pattern.filters for name in variables(test)}
        tested |= {name for inner in self.pattern.negations for name in inner.outer}
        found: set[str] = set()
        taken = self.bound | tested | {name for name, at in links.items() if at}
        for link in paths:
            for end, other in ((link.target, link.source), (link.source, link.target)):
                if end not in taken | found and other not in found and end != other:
                    found.add(end)
                    taken.add(other)
                    break
            taken |= {link.source, link.target} - found
        return found

    def _path(self, link: Link, nodes: Mapping[str, BoundVariable]) -> plan.Path:
        assert link.path is not None
        backwards = link.source not in self.bound
        way = _reversed(link) if backwards else link
        closes = way.target in self.bound
        self.bound.add(way.target)
        return plan.Path(
            source=way.source,
            target=way.target,
            types=nodes[way.target].type.types if way.target in nodes else (),
            steps=way.steps,
            hops=way.hops,
            path=link.path,
            closes=closes,
            backwards=backwards,
        )

    def _grow(
        self,
        frontier: list[str],
        links: dict[str, list[int]],
        used: set[int],
        nodes: dict[str, BoundVariable],
    ) -> None:
        """Follow every link that leads out of the frontier, nearest first."""
        at = 0
        while at < len(frontier):
            for number in links.get(frontier[at], ()):
                if number in used:
                    continue
                used.add(number)
                link = self._from(self.pattern.links[number], frontier[at])
                closes = link.target in self.bound
                self.done.append(self._expand(link, nodes, closes=closes))
                if not closes:
                    self.bound.add(link.target)
                    frontier.append(link.target)
            at += 1

    def _from(self, link: Link, source: str) -> Link:
        return link if link.source == source else _reversed(link)

    def _expand(self, link: Link, nodes: dict[str, BoundVariable], *, closes: bool) -> plan.Expand:
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
    return Link(
        source=link.target,
        target=link.source,
        steps=tuple(each.flipped() for each in link.steps),
        hops=link.hops,
        edge_variable=link.edge_variable,
    )


def _read_by_tail(read: CheckedRead) -> frozenset[str]:
    """Return the variables whose values the result needs, not only how many there are."""
    exprs = [*(each.expr for each in read.columns), *(key.expr for key in read.order)]
    nodes = [part for each in (*exprs, *read.having) for part in parts(each)]
    counted = {id(node.argument) for node in nodes if counts_rows(node)}
    return frozenset(
        node.variable
        for node in nodes
        if isinstance(node, VariableRef | PropertyRef) and node.variable and id(node) not in counted
    )


def _selectivity(steps: _PatternOrder) -> Callable[[BoundVariable], tuple[int, int]]:
    """Return a sort key for roots: by key, then filtered, then read, then as written."""
    pattern, catalog = steps.pattern, steps.catalog
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

    def rank(bound: BoundVariable) -> tuple[int, int]:
        given = equal[bound.name]
        key = catalog.nodes[bound.type.types[0]].key if len(bound.type.types) == 1 else ()
        by_key = "id" in given or (key and set(key) <= given)
        if by_key or bound.name in filtered:
            return (0 if by_key else 1, places[bound.name])
        return (2 if bound.name in steps.read else 3, places[bound.name])

    return rank
