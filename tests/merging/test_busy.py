"""A merge that somebody overtakes is rebased, and planned again only where it read what changed."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import MergeConflictsError, ViolationsError
from omnigraph.merge import merge as merging
from omnigraph.merge.merge_plan import plan_merge
from omnigraph.merge.outcome import Outcome
from omnigraph.storage import steps
from omnigraph.versioning.attempts import Patience
from tests.changes.meanwhile import READY, Interruptions, meanwhile
from tests.changes.town import content, do, rows
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, THEIRS, brief, each, of, part, village

# What keeps a merge from being a fast-forward, in a type that nothing else touches.
APART = 'insert Club { slug: "go" } insert Hosts { from: "go", to: "ada" }'


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commits of our branch on which merges were planned."""
    seen: list[str] = []
    plan = plan_merge

    def counted(repository: object, ours: object, *more: object) -> object:
        seen.append(ours.commit.id)  # type: ignore[attr-defined]
        return plan(repository, ours, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "plan_merge", counted)
    return seen


def test_a_merge_is_rebased_on_rows_that_it_does_not_touch(
    graph: Graph, other: Graph, planned: list[str]
) -> None:
    part(graph, [update("ada", age=31)], [update("bob", age=21), person("dan")])

    with meanwhile(
        partial(do, other, person("eve", age=9)), partial(do, other, person("fay")), step=READY
    ):
        done = graph.merge(THEIRS, OURS)

    assert len(planned) == 1
    assert done.commit is not None
    assert done.ours.id == done.commit.parents[0] != planned[0]
    assert {row["id"] for row in rows(graph, "Person")} == {"ada", "bob", "cy", "dan", "eve", "fay"}
    ages = {row["id"]: row["age"] for row in rows(graph, "Person")}
    assert (ages["ada"], ages["bob"], ages["eve"]) == (31, 21, 9)
    assert graph.fsck().is_sound


def test_a_table_that_was_to_be_adopted_keeps_what_others_wrote_meanwhile(
    graph: Graph, other: Graph, planned: list[str]
) -> None:
    part(graph, [APART], [update("bob", age=21), remove("cy")])

    with meanwhile(partial(do, other, person("eve", age=9)), step=READY):
        graph.merge(THEIRS, OURS)

    assert len(planned) == 1
    assert {row["id"]: row["age"] for row in rows(graph, "Person")} == {
        "ada": 30,
        "bob": 21,
        "eve": 9,
    }


@pytest.mark.parametrize(
    ("theirs", "meant", "conflict"),
    [
        ([update("bob", age=21)], update("bob", age=22), "DivergentUpdate"),
        ([update("bob", age=21)], remove("bob"), "DeleteVsUpdate"),
        ([person("dan", age=1)], person("dan", age=2), "DivergentInsert"),
        ([update("cy", email="c@x")], person("dan", email="c@x"), "UniqueViolation"),
        ([edge("Knows", "cy", "ada")], remove("cy"), "OrphanEdge"),
        ([remove("cy")], edge("Knows", "cy", "ada"), "OrphanEdge"),
        ([edge("Joined", "cy", "chess")], edge("Joined", "cy", "go"), "CardinalityViolation"),
    ],
)
def test_a_merge_is_planned_again_where_what_it_read_has_changed(
    graph: Graph,
    other: Graph,
    planned: list[str],
    theirs: list[str],
    meant: str,
    conflict: str,
) -> None:
    part(graph, [APART], theirs)

    with (
        pytest.raises(MergeConflictsError) as caught,
        meanwhile(partial(do, other, meant), step=READY),
    ):
        graph.merge(THEIRS, OURS)

    assert len(planned) == 2
    assert {found[0] for found in brief([dict(each) for each in caught.value.documents])} == {
        conflict
    }


def test_a_fast_forward_that_is_overtaken_becomes_a_merge(
    graph: Graph, other: Graph, planned: list[str]
) -> None:
    part(graph, [], [update("bob", age=21)])

    with meanwhile(partial(do, other, person("eve")), step=READY):
        assert graph.merge(THEIRS, OURS).outcome is Outcome.MERGED

    assert len(planned) == 2
    assert {"eve", "bob"} <= {row["id"] for row in rows(graph, "Person")}


def test_a_merge_is_planned_again_when_part_of_it_was_merged_meanwhile(
    graph: Graph, other: Graph, planned: list[str]
) -> None:
    part(graph, [update("ada", age=31)], [update("bob", age=21)])
    graph.create_branch("half", THEIRS)
    each(graph, update("bob", age=20), update("cy", age=5), branch=THEIRS)

    with meanwhile(partial(other.merge, "half"), step=READY):
        graph.merge(THEIRS, OURS)

    assert len(planned) == 3, "once for the half, twice for the rest"
    bob = of(graph, "Person", "bob")
    assert bob is not None
    assert bob["age"] == 20, "the draft took it back after the half"


def test_a_source_that_moves_meanwhile_is_merged_as_it_is(
    graph: Graph, other: Graph, planned: list[str]
) -> None:
    part(graph, [update("ada", age=31)], [update("bob", age=21)])

    def both() -> None:
        do(other, person("eve"))
        do(other.branch(THEIRS), person("fay"))

    with meanwhile(both, step=READY):
        graph.merge(THEIRS, OURS)

    assert len(planned) == 2
    assert {"eve", "fay"} <= {row["id"] for row in rows(graph, "Person")}


def random_statements(chance: random.Random, count: int) -> Iterator[str]:
    """Yield changes that may or may not have to do with each other."""
    people = ["ada", "bob", "cy", "dan"]
    for _ in range(count):
        one, two = chance.sample(people, 2)
        yield chance.choice(
            [
                person(f"new{chance.randrange(4)}", age=chance.randrange(9)),
                update(one, age=chance.randrange(99)),
                update(one, email=f"{chance.randrange(3)}@x"),
                edge("Knows", one, two, weight=chance.randrange(9)),
                edge("Hosts", "chess", one),
                part_ways("chess", one, "Hosts"),
                weigh("ada", "bob", chance.randrange(9)),
                part_ways("ada", "bob"),
                remove(one),
            ]
        )


def tried(graph: Graph, statement: str, branch: str) -> None:
    """Make a change that changes nothing when it breaks a rule."""
    with suppress(ViolationsError):
        do(graph.branch(branch), statement)


def merged(graph: Graph) -> object:
    """Merge the draft and return what main has then, or why it was refused."""
    try:
        graph.merge(THEIRS, OURS)
    except MergeConflictsError as refused:
        return brief([dict(each) for each in refused.documents])
    return content(graph)


def parted(folder: Path, ours: list[str], theirs: list[str]) -> Graph:
    """Make a village whose branches went apart by some changes."""
    folder.mkdir(parents=True)
    graph = village(folder)
    do(graph, person("dan"))
    graph.create_branch(THEIRS, OURS)
    for branch, statements in ((OURS, [APART, *ours]), (THEIRS, theirs)):
        for statement in statements:
            tried(graph, statement, branch)
    return graph


def check_seed(folder: Path, seed: int) -> None:
    """Fail unless a merge that is overtaken ends like one that starts later."""
    chance = random.Random(seed)
    ours, theirs, late = ([*random_statements(chance, count)] for count in (2, 3, 2))

    def act(graph: Graph) -> None:
        for statement in late:
            tried(graph, statement, OURS)

    later = parted(folder / "later", ours, theirs)
    act(later)
    overtaken = parted(folder / "overtaken", ours, theirs)
    steps.observer = meant = Interruptions(
        READY, [partial(act, open_graph(overtaken.uri, durable=False))]
    )
    try:
        found = merged(overtaken)
    finally:
        steps.observer = None
    if meant.left:  # it was refused as it was, and nobody came between
        act(overtaken)
        found = merged(overtaken)
    assert found == merged(later), f"ours {ours}, theirs {theirs}, meanwhile {late}"


@pytest.mark.parametrize("seed", range(6))
def test_a_merge_that_is_overtaken_ends_like_one_that_starts_later(
    tmp_path: Path, seed: int
) -> None:
    check_seed(tmp_path, seed)


def test_merges_that_start_at_once_are_each_planned_once(graph: Graph, planned: list[str]) -> None:
    names = [f"b{number}" for number in range(8)]
    for name in names:
        graph.create_branch(name)
        do(graph.branch(name), person(name), edge("Knows", name, "ada"))
    graph.repository.patience = Patience(seconds=600, turn=600)  # nobody overtakes
    together = threading.Barrier(len(names))

    def merge(name: str) -> None:
        together.wait(60)
        graph.merge(name)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(merge, names))

    assert len(planned) == len(names)
    assert {row["id"] for row in rows(graph, "Person")} == {"ada", "bob", "cy", *names}
