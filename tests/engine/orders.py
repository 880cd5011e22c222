"""Orders: patterns in any order in which they can be matched, not only in the cheapest."""

import re
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from bench.permuted import random_question
from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.errors import ExpressionError, QueryError, ResultOverflowError
from omnigraph.query.compile import compile_query
from omnigraph.query.plan import ReadPlan
from omnigraph.query.planning.explain import explain_text
from omnigraph.read.planner import planner
from omnigraph.read.planner.order import Outcome, PatternOrder
from tests.engine.generate import Block, Clause, RandomQuery, random_query
from tests.engine.oracle import TooManyRows
from tests.engine.trial import answered
from tests.engine.worlds import World
from tests.sample import access_of


def in_any_order(monkeypatch: pytest.MonkeyPatch, random: Random) -> None:
    """Let every pattern be matched in a random order that is possible."""

    class _AnyOrder(PatternOrder):
        def _order_part(self, part: frozenset[str], rows: float) -> Outcome:
            bound, outcome = random.choice(list(self._starts(part, rows)))
            while bound != part:
                bound, outcome = random.choice(list(self._moves_from(bound, outcome, part)))
            return outcome

    monkeypatch.setattr(planner, "PatternOrder", _AnyOrder)
    # A plan that was made for about the same sizes would be used again.
    monkeypatch.setattr(planner, "_classify", lambda *_: (random.getrandbits(60),))


def try_written_orders(
    world: World, view: View, random: Random, *, queries: int, most: int
) -> None:
    """Ask random queries with their clauses in every order, or in so many; all give the same rows.

    How ties are broken depends on the order of the text, so the order of the rows may differ, and
    lists of them are left out.
    """
    tried = 0
    while tried < queries:
        query = replace(random_query(random, world), skip=None, limit=None)
        if "collect(" in str(query):
            continue
        orders = _written_orders(query, random, most)
        try:
            answered(world, query)
        except (QueryError, TooManyRows):
            continue
        if len(orders) > 2:
            tried += 1
            found = [_rows(view, replace(query, clauses=clauses)) for clauses in orders]
            known = [each for each in found if each is not None]
            assert all(each == known[0] for each in known), str(query)


def _rows(view: View, query: RandomQuery) -> list[str] | None:
    """Return the rows of a query in an order of their own, or that there is no answer.

    None is for a text that is another one in this order: a clause that begins with a minus goes on
    with a value at the end of the one before.
    """
    try:
        found = view.query(str(query), **query.given)
    except (ResultOverflowError, ExpressionError):
        return ["no answer"]
    except QueryError:
        return None
    return sorted(repr(tuple(row.values())) for row in found)


def _written_orders(query: RandomQuery, random: Random, most: int) -> list[tuple[Clause, ...]]:
    """Return the clauses of a query in every order, or in some; blocks keep theirs, at the end."""
    plain = [each for each in query.clauses if not isinstance(each, Block)]
    blocks = [each for each in query.clauses if isinstance(each, Block)]
    if len(plain) > 5:
        shuffled = [random.sample(plain, len(plain)) for _ in range(most)]
    else:
        shuffled = [list(each) for each in permutations(plain)]
        random.shuffle(shuffled)
    return [(*each, *blocks) for each in shuffled[:most]]


def try_questions(
    graph: Graph, random: Random, *, sizes: tuple[int, int], questions: int, most: int
) -> None:
    """Write random questions in every order, or in so many; each has one plan and one answer."""
    for _ in range(questions):
        written = list(random_question(random, *sizes).written(random))
        texts = random.sample(written, min(len(written), most))
        answers = [graph.query(text).to_dicts() for text in texts]
        assert all(each == answers[0] for each in answers), texts[0]
        plans = {plan_run(graph, text): text for text in texts}
        assert len(plans) == 1, "\n\n".join(f"{text}\n{plan}" for plan, text in plans.items())


def plan_run(graph: Graph, text: str) -> str:
    """Return the plan that is run, but for what breaks ties: the variables as they are written."""
    snapshot, topology = graph.snapshot(), access_of(graph).topology
    compiled = compile_query(text, snapshot.catalog)
    assert isinstance(compiled, ReadPlan)
    found = planner.arrange_plan(compiled, snapshot, topology).plan
    shown = explain_text(found, planner.expect_rows(found, snapshot, topology))
    return re.sub(r"(?m)^(  Order .*?)  ties by [\w, ]*?(?=  ~|$)", r"\1", shown)
