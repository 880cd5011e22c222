"""Whatever one side does and whatever the other does, the outcome and the content are as told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, count

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import MergeConflictsError
from omnigraph.merge.outcome import Merge
from tests.changes.town import content, do
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import brief, joined, village

# What both sides do to one row and what comes of it, if they do it with different values.
CONFLICTS: dict[frozenset[str], list[tuple[object, ...]]] = {
    frozenset({"add node"}): [("DivergentInsert", "Person", "new", "age")],
    frozenset({"set property"}): [("DivergentUpdate", "Person", "ada", "age")],
    frozenset({"set property", "remove node"}): [("DeleteVsUpdate", "Person", "ada", None)],
    frozenset({"add edge"}): [("DivergentInsert", "Knows", joined("bob", "ada"), "weight")],
    frozenset({"add edge", "remove node"}): [("OrphanEdge", "Knows", joined("bob", "ada"), "to")],
    frozenset({"set weight"}): [("DivergentUpdate", "Knows", joined("ada", "bob"), "weight")],
    frozenset({"set weight", "remove edge"}): [
        ("DeleteVsUpdate", "Knows", joined("ada", "bob"), None)
    ],
    frozenset({"set weight", "remove node"}): [
        ("DeleteVsUpdate", "Knows", joined("ada", "bob"), None)
    ],
}
# Those of them that are none when both sides give the same values.
AGREEABLE = [frozenset({name}) for name in ("add node", "set property", "add edge", "set weight")]


@dataclass
class World:
    """The people's ages and the weights of who knows whom, as plain dicts."""

    ages: dict[str, int | None]
    knows: dict[tuple[str, str], int]

    def remove(self, slug: str) -> None:
        self.ages.pop(slug, None)
        self.knows = {ends: each for ends, each in self.knows.items() if slug not in ends}


@dataclass(frozen=True)
class Subject:
    """The rows that one side works on, and the value that it gives them."""

    new: str
    old: str
    friend: str
    value: int


Told = Callable[[Subject], list[str]]
Done = Callable[[World, Subject], object]

ACTIONS: dict[str, tuple[Told, Done]] = {
    "no-op": (lambda _: [], lambda world, _: None),
    "add node": (
        lambda s: [person(s.new, age=s.value)],
        lambda world, s: world.ages.update({s.new: s.value}),
    ),
    "remove node": (lambda s: [remove(s.old)], lambda world, s: world.remove(s.old)),
    "add edge": (
        lambda s: [edge("Knows", s.friend, s.old, weight=s.value)],
        lambda world, s: world.knows.update({(s.friend, s.old): s.value}),
    ),
    "remove edge": (
        lambda s: [part_ways(s.old, s.friend)],
        lambda world, s: world.knows.pop((s.old, s.friend), None),
    ),
    "set property": (
        lambda s: [update(s.old, age=s.value)],
        lambda world, s: world.ages.update({s.old: s.value}),
    ),
    "set weight": (
        lambda s: [weigh(s.old, s.friend, s.value)],
        lambda world, s: world.knows.update({(s.old, s.friend): s.value}),
    ),
    "net-zero": (
        lambda s: [
            *(update(s.old, age=age) for age in (99, 30)),
            *(weigh(s.old, s.friend, weight) for weight in (99, 1)),
        ],
        lambda world, _: None,
    ),
}
# Every case is merged one way and the other, so one order of each two is enough.
PAIRS = list(combinations_with_replacement(ACTIONS, 2))
IDS = [f"{ours} and {theirs}" for ours, theirs in PAIRS]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A village in which also dan, who is as old as ada, knows eli."""
    graph = village(tmp_path_factory.mktemp("table"))
    more = [person("dan", age=30), person("eli", age=20), edge("Knows", "dan", "eli", weight=1)]
    do(graph, *more)
    do(graph, remove("chess", "Club"))
    return graph


_NUMBERS = count()


@dataclass(frozen=True)
class Case:
    """Two branches from main that each did something, and a third where the second one stands."""

    graph: Graph
    names: tuple[str, str]
    subjects: tuple[Subject, Subject]
    ours: str
    theirs: str
    mirror: str

    @staticmethod
    def of(graph: Graph, names: tuple[str, str], subjects: tuple[Subject, Subject]) -> "Case":
        number = next(_NUMBERS)
        branches = f"ours{number}", f"theirs{number}"
        for branch, name, subject in zip(branches, names, subjects, strict=True):
            graph.create_branch(branch)
            for statement in ACTIONS[name][0](subject):
                do(graph.branch(branch), statement)
        graph.create_branch(f"mirror{number}", branches[1])
        return Case(graph, names, subjects, *branches, f"mirror{number}")

    @property
    def outcomes(self) -> tuple[str, str]:
        """The outcomes of the merge and of the one the other way, if nothing clashes."""
        match [name == "no-op" for name in self.names]:
            case [_, True]:
                back = "already_up_to_date" if self.names[0] == "no-op" else "fast_forward"
                return "already_up_to_date", back
            case [True, False]:
                return "fast_forward", "already_up_to_date"
        return "merged", "merged"

    def expected(self) -> World:
        """Return what the graph holds after both sides did their part."""
        world = self.seen("main")
        for name, subject in zip(self.names, self.subjects, strict=True):
            ACTIONS[name][1](world, subject)
        return world

    def seen(self, target: str) -> World:
        """Return what the graph holds."""
        found = content(self.graph, target)
        return World(
            {row["id"]: row["age"] for row in found["Person"]},
            {(row["src"], row["dst"]): row["weight"] for row in found["Knows"]},
        )

    def merges(self) -> tuple[Merge, Merge]:
        """Merge, and merge the other way from where both sides stood."""
        where = self.graph.snapshot(self.ours).commit.id
        there = self.graph.merge(self.theirs, self.ours)
        return there, self.graph.merge(where, self.mirror)

    def check_merged(self) -> None:
        done = self.merges()

        assert tuple(str(each.outcome) for each in done) == self.outcomes
        wanted = self.expected()
        assert self.seen(self.ours) == wanted
        assert self.seen(self.mirror) == wanted
        for branch, each in zip((self.ours, self.mirror), done, strict=True):
            head = self.graph.snapshot(branch).commit
            assert (each.commit or each.ours) == head
            if each.commit is not None:
                assert head.parents == (each.ours.id, each.theirs.id)

    def check_conflict(self, wanted: list[tuple[object, ...]]) -> None:
        before = [self.seen(branch) for branch in (self.ours, self.mirror)]
        where = self.graph.snapshot(self.ours).commit.id
        found = list(self._refused((self.theirs, self.ours), (where, self.mirror)))

        assert [brief(each) for each in found] == [wanted, wanted]
        for one, other in zip(*found, strict=True):
            assert one["base"] == other["base"]
            assert (one["ours"], one["theirs"]) == (other["theirs"], other["ours"])
        assert [self.seen(branch) for branch in (self.ours, self.mirror)] == before

    def _refused(self, *merges: tuple[str, str]) -> Iterator[list[dict[str, object]]]:
        for source, into in merges:
            with pytest.raises(MergeConflictsError) as caught:
                self.graph.merge(source, into)
            yield [dict(each) for each in caught.value.documents]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=IDS)
def test_both_sides_work_on_one_row_with_values_of_their_own(
    graph: Graph, ours: str, theirs: str
) -> None:
    subjects = Subject("new", "ada", "bob", 41), Subject("new", "ada", "bob", 42)
    case = Case.of(graph, (ours, theirs), subjects)

    wanted = CONFLICTS.get(frozenset({ours, theirs}))
    if wanted is None:
        case.check_merged()
    else:
        case.check_conflict(wanted)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=IDS)
def test_both_sides_work_on_rows_of_their_own(graph: Graph, ours: str, theirs: str) -> None:
    subjects = Subject("new", "ada", "bob", 41), Subject("other", "dan", "eli", 42)

    Case.of(graph, (ours, theirs), subjects).check_merged()


@pytest.mark.parametrize("both", AGREEABLE, ids=lambda each: next(iter(each)))
def test_both_sides_do_the_same_to_one_row(graph: Graph, both: frozenset[str]) -> None:
    subject = Subject("new", "ada", "bob", 43)
    (name,) = both

    Case.of(graph, (name, name), (subject, subject)).check_merged()
