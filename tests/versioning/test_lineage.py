"""A lineage has the commits of a branch that changed a table, and skips those that left a row."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.versioning.commit import Commit, row_mark
from omnigraph.versioning.history.lineage import Lineage
from tests.merging.statements import edge, person, update
from tests.merging.village import each, village
from tests.sample import access_of

KEY = "node:Person"
SLUGS = ("ada", "bob", "cy", "dan", "nobody")
COLUMNS: tuple[set[str], ...] = ({"age"}, {"name"}, {"email", "name"}, {"slug"})


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Return a graph whose people changed over some stretches of a few versions."""
    monkeypatch.setattr("omnigraph.versioning.manifest.stretch._VERSIONS", 4)
    graph = village(tmp_path)
    for age in range(6):
        each(graph, update("ada", age=age), edge("Likes", "ada", "bob", weight=age))
    each(graph, person("dan"), update("bob", name="B"))
    graph.optimize()
    each(graph, *(update("cy", age=age) for age in range(5)))
    return graph


def lineage(graph: Graph, commit: Commit | None = None) -> Lineage:
    repository = access_of(graph).repository
    at = repository.manifest.newest()
    return Lineage(repository, at, KEY, commit or repository.snapshot().commit)


def ids(found: Lineage) -> list[str]:
    numbers: list[str] = []
    while found.has(len(numbers)):
        numbers.append(found[len(numbers)].step.id)
    return numbers


def changing(graph: Graph) -> list[str]:
    """Return the commits that changed the people, newest first."""
    commits = [access_of(graph).repository.commit(each.id) for each in graph.log()]
    pairs = zip(commits, [*commits[1:], None], strict=True)
    return [
        new.id for new, old in pairs if old is None or old.tables.get(KEY) != new.tables.get(KEY)
    ]


def test_the_commits_that_changed_a_table_follow_each_other(graph: Graph) -> None:
    found = lineage(graph)

    assert ids(found) == changing(graph)[: len(ids(found))]
    assert len(ids(found)) > 12
    assert [found.commit(number).id for number in range(len(ids(found)))] == ids(found)


def test_no_commit_is_passed_over_that_may_have_changed_a_row(graph: Graph) -> None:
    found = lineage(graph)
    last = len(ids(found)) - 1

    for slug, columns, start in product(SLUGS, COLUMNS, range(last + 1)):
        mark = row_mark(slug)
        stops = (number for number in range(start, last) if not found[number].leaves(mark, columns))
        assert found.first_that_may_change(mark, columns, start) == next(stops, last)


def test_what_one_question_read_the_next_one_knows(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ids(lineage(graph))
    each(graph, update("ada", name="A"))
    graph.create_branch("draft")
    each(graph, update("bob", name="A"), branch="draft")
    read = _count(monkeypatch)

    for name in ("main", "draft"):
        commit = access_of(graph).repository.snapshot(name).commit
        assert ids(lineage(graph, commit))[-len(first) :] == first
    # Of each branch the stretch at its tip.
    assert len(read) == 2


def test_a_gap_that_a_cleanup_made_is_seen_where_it_was_not_before(graph: Graph) -> None:
    before = lineage(graph)
    assert not any(before[number].is_cut for number in range(len(ids(before))))
    graph.cleanup(keep=3, grace="0s", confirm=True)

    after = lineage(graph)

    assert len(ids(after)) < len(ids(before))
    (cut,) = (number for number in range(len(ids(after))) if after[number].is_cut)
    assert after.first_that_may_change(row_mark("nobody"), {"age"}, 0) == cut


def test_there_is_nothing_behind_the_last_one(graph: Graph) -> None:
    found = lineage(graph)

    with pytest.raises(IndexError):
        found[len(ids(found))]


def _count(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list to which each stretch that is read adds its first step."""
    read, real = [], Lineage._read

    def counted(self: Lineage, first: Any) -> Any:
        read.append(first)
        return real(self, first)

    monkeypatch.setattr(Lineage, "_read", counted)
    return read
