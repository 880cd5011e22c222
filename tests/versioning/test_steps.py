"""A step says of a commit, for one table, just what the whole commit says."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.versioning.history.walk import StepWalk
from omnigraph.versioning.manifest.steps import Step, step_of, steps_between, steps_of
from tests.merging.statements import person, update
from tests.merging.village import each, village
from tests.sample import access_of

MANY = 40


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Return a graph with commits of every kind, of which the newest are keys of the manifest."""
    graph = village(Path(tmp_path_factory.mktemp("steps")))
    graph.create_branch("draft")
    for age in range(MANY):
        each(graph, update("ada", age=age))
    each(graph, person("dan"), branch="draft")
    graph.merge("draft")
    graph.optimize()
    graph.load('{"type": "Person", "data": {"slug": "eve"}}', mode="merge")
    return graph


def test_steps_are_those_of_all_commits(graph: Graph) -> None:
    repository = access_of(graph).repository
    at = repository.manifest.newest()
    commits = repository.manifest.page(at, (0, 1_000), 1_000)
    assert commits is not None
    assert len(commits) > MANY

    for key in repository.snapshot().commit.tables:
        expected = {name: step_of(commit, key) for name, commit in commits.items()}

        assert steps_between(at, key, (0, 1_000), 1_000) == expected
        assert steps_of(at, key, list(commits)) == expected


def test_too_many_steps_are_not_read(graph: Graph) -> None:
    at = access_of(graph).repository.manifest.newest()

    assert steps_between(at, "node:Person", (0, 1_000), MANY) is None


def test_a_table_that_a_commit_did_not_have_stands_nowhere(graph: Graph) -> None:
    at = access_of(graph).repository.manifest.newest()
    found = steps_between(at, "node:Nobody", (0, 1_000), 1_000)

    assert found
    assert {step.place for step in found.values()} == {None}


def test_steps_go_back_as_commits_do(graph: Graph) -> None:
    commits = list(graph.log())

    for key in ("node:Person", "edge:Knows", "node:Person"):
        assert _behind_newest(graph, key) == [step_of(each, key) for each in commits[1:]]


def test_what_a_walk_read_is_known_to_the_next_one(graph: Graph) -> None:
    read = _behind_newest(graph, "edge:Hosts")

    known = access_of(graph).repository.manifest.known_steps("edge:Hosts")
    assert read == [known[each.id] for each in read]


def test_steps_are_forgotten_when_they_are_many(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = _behind_newest(graph, "node:Club")
    monkeypatch.setattr("omnigraph.versioning.manifest.manifest._MOST_STEPS", MANY)

    assert access_of(graph).repository.manifest.known_steps("node:Club") == {}
    assert _behind_newest(graph, "node:Club") == read


def _behind_newest(graph: Graph, key: str) -> list[Step]:
    """Return what one table saw of all commits but the newest, newest first."""
    repository = access_of(graph).repository
    newest = repository.snapshot().commit
    walk = StepWalk(repository, repository.manifest.newest(), key, newest)
    went, step = list[Step](), walk.parent(step_of(newest, key))
    while step is not None:
        went.append(step)
        step = walk.parent(step)
    return went
