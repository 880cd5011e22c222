"""Order: the cheapest order of a pattern's scans and expands.

The match is a graph of variables and links. Subsets of the variables are bound in every connected
way, each subset at its least cost (dynamic programming); with many links only the most promising
move is made at a time. A part that hangs from one link and that nothing reads is counted: its
variables are not bound, so that rows are multiplied instead of made.

Of orders that cost the same, one that begins with what rows are grouped by is taken, then the names
of variables and edges decide, never the text: a pattern has one order, however it is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from math import exp, prod

from omnigraph.frozen import dataclass
from omnigraph.query.planning.arrange import (
    Follow,
    Move,
    PatternGraph,
    PatternLink,
    PatternNode,
    Start,
)
from omnigraph.query.planning.explain import predicate_text
from omnigraph.query.planning.rewrite import MOST_COUNTED_LINKS
from omnigraph.read.planner import cost
from omnigraph.read.planner.estimate import Estimator

MOST_LINKS = 10
# Counted targets of more rows than this part of all are summed as whole arrays.
_WHOLE_PART = 16


def check_nothing() -> None:
    """Stand for a check of the time where there is no limit to it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Some moves, what they cost, and about how many rows there are after them."""

    moves: tuple[Move, ...]
    cost: float
    rows: float

    @property
    def total(self) -> float:
        """The cost together with what the rows cost that are left."""
        return self.cost + self.rows * cost.RESULT


@dataclass(frozen=True, slots=True)
class _Counted:
    """A part that is counted: what that costs, and how often it occurs for one row."""

    moves: tuple[Move, ...]
    cost: float
    occurs: float


_Variables = frozenset[str]


@dataclass(frozen=True)
class PatternOrder:
    """Orders one pattern; `outer` holds the types of the variables that are bound before it.

    `needed` are the variables that something reads, so that they cannot be counted, and `grouped`
    those that rows are grouped by: beginning with one, the rows of a group follow each other.
    `check` is asked at every move of a large pattern, and raises when there is no time left.
    """

    graph: PatternGraph
    estimator: Estimator
    outer: Mapping[str, tuple[str, ...]]
    needed: _Variables
    grouped: _Variables = frozenset()
    check: Callable[[], None] = check_nothing
    _far: dict[Follow, _Variables | None] = field(default_factory=dict, init=False)

    def best(self, rows: float) -> Outcome:
        """Return the cheapest order, starting from about `rows` rows."""
        found = Outcome((), 0.0, rows)
        for part in self._parts:
            more = self._order_part(part, found.rows)
            found = Outcome((*found.moves, *more.moves), found.cost + more.cost, more.rows)
        return found

    @cached_property
    def _nodes(self) -> dict[str, PatternNode]:
        known = {name: PatternNode(name, types) for name, types in self.outer.items()}
        known |= {each.variable: each for each in self.graph.nodes}
        return dict(sorted(known.items()))

    @cached_property
    def _links(self) -> list[int]:
        """The links in an order that is the same however the pattern is written."""
        links = self.graph.links
        return sorted(range(len(links)), key=lambda at: _written_alike(links[at]))

    @cached_property
    def _touching(self) -> dict[str, list[int]]:
        """The links at each variable."""
        found: dict[str, list[int]] = {name: [] for name in self._nodes}
        for at in self._links:
            for name in dict.fromkeys(self.graph.links[at].ends):
                found[name].append(at)
        return found

    @cached_property
    def _parts(self) -> list[_Variables]:
        """The connected parts: what hangs from outer variables first, then small ones."""
        found: list[_Variables] = []
        for name in self._nodes:
            if not any(name in part for part in found):
                found.append(self._reachable(name, without=None))
        own = {each.variable for each in self.graph.nodes}
        joined = [part for part in found if part & self.outer.keys() and self._has_links(part)]
        others = [part for part in found if part <= own]
        others.sort(key=lambda part: (not part & self.needed, self._fewest_rows(part)))
        return [*([frozenset().union(*joined)] if joined else []), *others]

    def _has_links(self, part: _Variables) -> bool:
        return any(self._touching[name] for name in part)

    def _fewest_rows(self, part: _Variables) -> float:
        return min(self.estimator.rows(self._nodes[name]) for name in part)

    def _reachable(self, start: str, without: int | None) -> _Variables:
        """Return the variables that links join to one, not by way of one of the links."""
        found, waiting = {start}, [start]
        while waiting:
            name = waiting.pop()
            for at in self._touching[name]:
                other = self.graph.links[at].other(name)
                if at != without and other not in found:
                    found.add(other)
                    waiting.append(other)
        return frozenset(found)

    def _order_part(self, part: _Variables, rows: float) -> Outcome:
        """Return the cheapest order of a connected part."""
        starts = list(self._starts(part, rows))
        if sum(len(self._touching[name]) for name in part) > 2 * MOST_LINKS:
            return self._order_greedily(part, starts)
        reached: list[dict[_Variables, Outcome]] = [{} for _ in range(len(part) + 1)]
        for bound, outcome in starts:
            _keep_cheaper(reached[len(bound)], bound, outcome)
        for level in reached[:-1]:
            for bound, outcome in level.items():
                for more, after in self._moves_from(bound, outcome, part):
                    _keep_cheaper(reached[len(more)], more, after)
        return reached[-1][part]

    def _order_greedily(
        self, part: _Variables, starts: list[tuple[_Variables, Outcome]]
    ) -> Outcome:
        bound, outcome = min(starts, key=lambda each: each[1].total)
        while bound != part:
            self.check()
            following = self._moves_from(bound, outcome, part)
            bound, outcome = min(following, key=lambda each: each[1].total)
        return outcome

    def _starts(self, part: _Variables, rows: float) -> Iterator[tuple[_Variables, Outcome]]:
        """Yield the ways to begin a part: bound outer variables, a scan, or only counting.

        Of ways that cost the same the first is taken.
        """
        bound = frozenset(part & self.outer.keys())
        if bound:
            yield bound, self._close(Outcome((), 0.0, rows), self._links_within(bound))
            return
        for name in sorted(part, key=lambda each: (each not in self.grouped, each)):
            self.check()
            scanned = self._scan(name, rows)
            loops = [at for at in self._touching[name] if self._is_loop(at)]
            yield frozenset((name,)), self._close(scanned, loops)
            if not part & self.needed and self._is_tree(part) and self._is_flat(part, name):
                yield part, self._count_all(name, rows)

    def _scan(self, name: str, rows: float) -> Outcome:
        node = self._nodes[name]
        found = rows * self.estimator.rows(node)
        carried = found * cost.ENTRY if rows > 1 else 0.0
        return Outcome((Start(name),), self._cost_of_scan(node) + carried, found)

    def _cost_of_scan(self, node: PatternNode) -> float:
        read = self.estimator.must_be_read(node) * cost.READ
        if self.estimator.is_point(node):
            return cost.OPERATOR + read
        count = self.estimator.count(node.types)
        return cost.OPERATOR + read + count * cost.ROW + _cost_of_tests(node, count)

    def _moves_from(
        self, bound: _Variables, outcome: Outcome, part: _Variables
    ) -> Iterator[tuple[_Variables, Outcome]]:
        """Yield what can be bound or counted next: along a link, or another node by its key."""
        for name in sorted(bound):
            for at in self._touching[name]:
                other = self.graph.links[at].other(name)
                if other in bound:
                    continue
                follow = Follow(at, name)
                yield bound | {other}, self._bind(bound, outcome, follow)
                far = self._countable(follow)
                if far is not None and far.isdisjoint(bound):
                    yield bound | far, self._count(outcome, follow)
        for name in self._points:
            if name in part and name not in bound:
                yield bound | {name}, self._find(bound, outcome, name)

    @cached_property
    def _points(self) -> list[str]:
        """The variables whose nodes are found by their keys."""
        own = sorted(each.variable for each in self.graph.nodes)
        return [name for name in own if self.estimator.is_point(self._nodes[name])]

    def _find(self, bound: _Variables, before: Outcome, name: str) -> Outcome:
        """Bind a node by its key, and test all links that then have both ends."""
        found = self._scan(name, before.rows)
        both = (*before.moves, *found.moves)
        after = Outcome(both, before.cost + found.cost, found.rows)
        return self._close(after, self._closed_by(name, bound))

    def _bind(self, bound: _Variables, before: Outcome, follow: Follow) -> Outcome:
        """Bind the other end of a link, and test all other links that then have both ends."""
        link, other = self.graph.links[follow.link], self._other(follow)
        reach = self._reach(follow)
        closing = [at for at in self._closed_by(other, bound) if at != follow.link]
        node = self._nodes[other]
        entries = before.rows * reach
        tests = _cost_of_tests(node, min(entries, self.estimator.count(node.types)))
        spent = cost.OPERATOR + tests + self._cost_of_follow(follow, before.rows, reach)
        share = self.estimator.share(node.filters, node.types) if node.filters else 1.0
        share *= self.estimator.share_of_link(link) if link.edge_filters else 1.0
        found = Outcome((*before.moves, follow), before.cost + spent, entries * share)
        return self._close(found, closing)

    def _cost_of_follow(self, follow: Follow, rows: float, reach: float) -> float:
        near = self._nodes[follow.source].types
        steps = self.graph.links[follow.link].steps_from(follow.source)
        if self._is_single(follow) and self.estimator.leads_to_one(steps, near):
            return rows * cost.ONLY
        return rows * cost.FOLLOW + rows * reach * cost.ENTRY

    def _close(self, outcome: Outcome, links: Iterable[int]) -> Outcome:
        """Test links of which both ends are bound: those that keep the fewest rows first."""
        tests = sorted(map(self._test, links), key=lambda each: each[0])
        for share, follow in tests:
            spent = cost.OPERATOR + outcome.rows * cost.JOINED
            outcome = Outcome((*outcome.moves, follow), outcome.cost + spent, outcome.rows * share)
        return outcome

    def _test(self, at: int) -> tuple[float, Follow]:
        """Return the share of rows whose ends a link joins, and the end to test it from."""
        ways = [Follow(at, name) for name in sorted(self.graph.links[at].ends)]
        follow = min(ways, key=self._reach)
        target = self._nodes[self._other(follow)]
        return min(self._reach(follow) / max(self.estimator.count(target.types), 1), 1.0), follow

    def _closed_by(self, name: str, bound: _Variables) -> list[int]:
        """Return the links of which both ends are bound as soon as a variable is."""
        ends = ((at, self.graph.links[at].other(name)) for at in self._touching[name])
        return [at for at, other in ends if other == name or other in bound]

    def _links_within(self, bound: _Variables) -> list[int]:
        return [at for at in self._links if bound.issuperset(self.graph.links[at].ends)]

    def _count(self, before: Outcome, follow: Follow) -> Outcome:
        """Count what hangs from a link."""
        starts = min(before.rows, float(self.estimator.count(self._nodes[follow.source].types)))
        found = self._weigh(follow, starts)
        spent = cost.OPERATOR + found.cost + before.rows * cost.FOLLOW
        kept = 1.0 - exp(-found.occurs)
        return Outcome((*before.moves, *found.moves), before.cost + spent, before.rows * kept)

    def _count_all(self, root: str, rows: float) -> Outcome:
        """Count a whole part that nothing reads, beginning with one of its variables."""
        node = self._nodes[root]
        children = [Follow(at, root) for at in self._touching[root]]
        starts = self.estimator.rows(node) if node.filters else self.estimator.count(node.types)
        found = [self._weigh(each, starts) for each in children]
        spent = self._cost_of_scan(node) + sum(each.cost for each in found)
        if not node.filters and len(found) == 1 and self._is_single(children[0]):
            # The degrees on the other side are multiplied, and no edge is visited.
            other = self._nodes[self._other(children[0])]
            spent = min(spent, cost.OPERATOR + self._cost_of_worth(children[0], other))
        moves = tuple(move for each in found for move in each.moves)
        return Outcome((Start(root), *moves), spent, rows)

    def _cost_of_worth(self, follow: Follow, node: PatternNode) -> float:
        """Return what it costs to weigh all nodes at the other end of a link."""
        count = self.estimator.count(node.types)
        below = (self._weigh(each, count) for each in self._below(follow))
        spent = count * cost.ROW + _cost_of_tests(node, count)
        return spent + sum(each.cost for each in below)

    def _weigh(self, follow: Follow, starts: float) -> _Counted:
        """Weigh by what hangs from a link so many nodes at its near end."""
        node, reach = self._nodes[self._other(follow)], self._reach(follow)
        link = self.graph.links[follow.link]
        near = self.estimator.count(self._nodes[follow.source].types)
        count = self.estimator.count(node.types)
        if self._is_single(follow) and starts * _WHOLE_PART > near:
            reached = float(count)
            is_plain = not node.filters and not self._below(follow)
            spent = 0.0 if is_plain else self.estimator.entries(link.steps) * cost.SUMMED_ENTRY
        else:
            reached = min(starts * reach, count)
            spent = starts * cost.FOLLOW + starts * reach * cost.COUNTED_ENTRY
        tests = _cost_of_tests(node, reached)
        below = [self._weigh(each, reached) for each in self._below(follow)]
        share = self.estimator.share(node.filters, node.types) if node.filters else 1.0
        share *= self.estimator.share_of_link(link) if link.edge_filters else 1.0
        return _Counted(
            (follow, *(move for each in below for move in each.moves)),
            cost.OPERATOR + spent + tests + sum(each.cost for each in below),
            reach * share * prod(each.occurs for each in below),
        )

    def _below(self, follow: Follow) -> list[Follow]:
        """Return the links that lead on from the far end of another."""
        other = self._other(follow)
        return [Follow(at, other) for at in self._touching[other] if at != follow.link]

    def _countable(self, follow: Follow) -> _Variables | None:
        """Return the variables beyond a link if all of them can be counted, else None."""
        if follow not in self._far:
            far = self._reachable(self._other(follow), without=follow.link)
            named = self.graph.links[follow.link].edge_variable
            fits = follow.source not in far and named not in self.needed
            fits = fits and not far & self.needed and self._is_tree(far, beside=follow.link)
            fits = fits and self._is_flat(far, self._other(follow), without=follow.link)
            self._far[follow] = far if fits else None
        return self._far[follow]

    def _is_tree(self, part: _Variables, beside: int | None = None) -> bool:
        """Return whether links join some variables in one way only, with no named edge needed."""
        within = [at for at in self._links_within(part) if at != beside]
        names = {self.graph.links[at].edge_variable for at in within}
        return len(within) == len(part) - 1 and not names & self.needed

    def _is_flat(self, part: _Variables, root: str, without: int | None = None) -> bool:
        """Return whether no more links follow each other from a variable than can be counted."""
        if len(part) <= MOST_COUNTED_LINKS:
            return True
        found, level = {root}, {root}
        for _ in range(MOST_COUNTED_LINKS):
            links = ((at, name) for name in level for at in self._touching[name] if at != without)
            level = {self.graph.links[at].other(name) for at, name in links} - found
            found |= level
        return found == part

    def _is_loop(self, at: int) -> bool:
        link = self.graph.links[at]
        return link.source == link.target

    def _is_single(self, follow: Follow) -> bool:
        link = self.graph.links[follow.link]
        return link.hops.is_single and link.edge_variable is None

    def _other(self, follow: Follow) -> str:
        return self.graph.links[follow.link].other(follow.source)

    def _reach(self, follow: Follow) -> float:
        """Return about how many nodes a link leads to from one."""
        link = self.graph.links[follow.link]
        near, far = self._nodes[follow.source].types, self._nodes[self._other(follow)].types
        degree = self.estimator.degree(link.steps_from(follow.source), near, far)
        return self.estimator.reach(link.hops, degree, float(self.estimator.count(far)))


def _cost_of_tests(node: PatternNode, rows: float) -> float:
    """Return what it costs to test the conditions on a variable for so many rows."""
    return cost.TESTS + rows * cost.TEST if node.filters else 0.0


def _written_alike(link: PatternLink) -> tuple[object, ...]:
    """Return what a link is, not in which direction or where it is written."""
    first, last = sorted(link.ends)
    steps = tuple((step.edge, step.direction.value) for step in link.steps_from(first))
    hops = (link.hops.minimum, link.hops.maximum or -1)
    tests = tuple(map(predicate_text, link.edge_filters))
    return (first, last, steps, hops, link.edge_variable or "", tests)


def _keep_cheaper(known: dict[_Variables, Outcome], bound: _Variables, outcome: Outcome) -> None:
    before = known.get(bound)
    if before is None or outcome.total < before.total:
        known[bound] = outcome
