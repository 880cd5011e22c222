"""Orders: patterns in any order in which they can be matched, not only in the cheapest."""

from itertools import permutations
from random import Random

import pytest

from omnigraph.read.planner import planner
from omnigraph.read.planner.order import Outcome, PatternOrder
from tests.engine.generate import Block, Clause, RandomQuery


def in_any_order(monkeypatch: pytest.MonkeyPatch, random: Random) -> None:
    """Let every pattern be matched in a random order that is possible."""

    class _AnyOrder(PatternOrder):
        def _order_part(self, part: frozenset[str], rows: float) -> Outcome:
            bound, outcome = random.choice(list(self._starts(part, rows)))
            while bound != part:
                bound, outcome = random.choice(list(self._moves_from(bound, outcome)))
            return outcome

    monkeypatch.setattr(planner, "PatternOrder", _AnyOrder)
    # A plan that was made for about the same sizes would be used again.
    monkeypatch.setattr(planner, "_classify", lambda *_: (random.getrandbits(60),))


def written_orders(query: RandomQuery, random: Random, most: int) -> list[tuple[Clause, ...]]:
    """Give the clauses of a query in every order, or in so many; blocks keep theirs, at the end."""
    plain = [each for each in query.clauses if not isinstance(each, Block)]
    blocks = [each for each in query.clauses if isinstance(each, Block)]
    if len(plain) > 5:
        shuffled = [random.sample(plain, len(plain)) for _ in range(most)]
    else:
        shuffled = [list(each) for each in permutations(plain)]
        random.shuffle(shuffled)
    return [(*each, *blocks) for each in shuffled[:most]]
