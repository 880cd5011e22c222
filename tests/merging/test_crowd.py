"""Many processes merge into one branch at once: all of it lands or is told, and nothing is lost."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.changes.town import do, rows
from tests.crashes.nursery import Nursery
from tests.merging.nursery import MODULE, Answer
from tests.merging.village import OURS, edge, person, update

PROCESSES = 8


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery(MODULE) as nursery:
        yield nursery


def merged(graph: Graph, nursery: Nursery, folder: Path, names: list[str]) -> list[Answer]:
    """Merge all branches at once, each in a process of its own."""
    folder.mkdir()
    answers: list[Answer] = nursery.answer(
        "merge in a crowd", root=graph.uri, sources=names, into=OURS, folder=str(folder)
    )
    return answers


def check_line(graph: Graph, answers: list[Answer]) -> None:
    """Fail unless main is a line of exactly the commits that were promised."""
    commits = list(open_graph(graph.uri, read_only=True).log())
    assert all(newer.parents[0] == older.id for newer, older in pairwise(commits))
    promised = {answer["commit"] for answer in answers if answer.get("commit")}
    assert {commit.id for commit in commits if str(commit.kind) == "merge"} == promised
    assert len(promised) == sum("commit" in answer for answer in answers)


def test_merges_of_different_rows_all_land(graph: Graph, nursery: Nursery, tmp_path: Path) -> None:
    names = [f"b{number}" for number in range(PROCESSES)]
    for name in names:
        graph.create_branch(name)
        do(graph.branch(name), person(name, age=1), edge("Knows", name, "ada"))

    answers = merged(graph, nursery, tmp_path / "answers", names)

    assert {answer.get("error") for answer in answers} == {None}
    check_line(graph, answers)
    assert {row["id"] for row in rows(graph, "Person")} == {"ada", "bob", "cy", *names}
    assert {row["src"] for row in rows(graph, "Knows")} == {"ada", *names}


def test_of_merges_of_one_row_one_lands_and_the_others_are_told(
    graph: Graph, nursery: Nursery, tmp_path: Path
) -> None:
    names = [f"b{number}" for number in range(PROCESSES)]
    for number, name in enumerate(names):
        graph.create_branch(name)
        do(graph.branch(name), update("ada", age=100 + number))

    answers = merged(graph, nursery, tmp_path / "answers", names)

    errors = [answer["error"] for answer in answers if "error" in answer]
    assert errors == ["merge_conflicts"] * (PROCESSES - 1)
    check_line(graph, answers)
    (won,) = (number for number, answer in enumerate(answers) if "commit" in answer)
    assert {row["id"]: row["age"] for row in rows(graph, "Person")}["ada"] == 100 + won


def test_one_branch_merged_by_all_is_merged_once(
    graph: Graph, nursery: Nursery, tmp_path: Path
) -> None:
    graph.create_branch("draft")
    do(graph.branch("draft"), person("dan"), update("ada", age=1))
    do(graph, update("bob", age=2))

    answers = merged(graph, nursery, tmp_path / "answers", ["draft"] * PROCESSES)

    outcomes = sorted(answer["outcome"] for answer in answers)
    assert outcomes == ["already_up_to_date"] * (PROCESSES - 1) + ["merged"]
    ages = {row["id"]: row["age"] for row in rows(open_graph(graph.uri), "Person")}
    assert ages == {"ada": 1, "bob": 2, "cy": None, "dan": None}
