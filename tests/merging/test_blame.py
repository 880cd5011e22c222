"""Blame finds what a walk through every commit would find, and stops where a cleanup did."""

import random
from collections.abc import Callable

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError, OmniGraphError
from omnigraph.merge.blamed import Blamed
from omnigraph.versioning.commit import Commit, Touched, row_mark
from tests.changes.town import rows
from tests.merging.statements import person, remove, update
from tests.merging.village import OURS, THEIRS, each
from tests.merging.village import SCHEMA as VILLAGE

SLUGS = ("ada", "bob", "cy", "dan")


def by_steps(graph: Graph, slug: str) -> dict[str, str]:
    """Return the commit of each property, by comparing the row at every commit with its parents."""
    found: dict[str, str] = {}

    def at(commit: Commit) -> dict[str, object] | None:
        return next((row for row in rows(graph, "Person", commit.id) if row["slug"] == slug), None)

    def visit(commit: Commit, names: set[str]) -> None:
        row = at(commit)
        for parent in map(graph.commit, commit.parents):
            before = at(parent)
            same = {name for name in names if before and row and before[name] == row[name]}
            if same:
                visit(parent, same)
            names = names - same
        found.update(dict.fromkeys(names, commit.id))

    visit(graph.snapshot().commit, {"slug", "name", "age", "email"})
    return found


def blamed(graph: Graph, slug: str) -> dict[str, str]:
    return {one.property: one.commit.id for one in graph.blame("Person", slug)}


def sure(found: list[Blamed]) -> dict[str, bool]:
    return {one.property: not one.or_earlier for one in found}


def _steps(graph: Graph, chance: random.Random) -> list[Callable[[], object]]:
    """Return what may happen to a graph next."""
    slug = chance.choice(SLUGS)
    age, name = chance.randrange(3), chance.choice("AB")
    loaded = f'{{"type": "Person", "data": {{"slug": "{slug}", "age": {age}}}}}'
    return [
        lambda: each(graph, update(slug, age=age)),
        lambda: each(graph, update(slug, name=name)),
        lambda: each(graph, remove(slug)),
        lambda: each(graph, person(slug, age=age)),
        lambda: graph.load(loaded, mode="merge"),
        lambda: graph.revert(chance.choice([one.id for one in graph.log(limit=4)])),
        lambda: each(graph, update(slug, age=age), branch=THEIRS),
        lambda: each(graph, update(slug, name=name), branch=THEIRS),
        lambda: graph.merge(THEIRS, resolutions="theirs"),
        lambda: graph.merge(OURS, THEIRS, resolutions="ours"),
        graph.optimize,
    ]


@pytest.mark.parametrize("seed", range(4))
def test_blame_is_that_of_a_walk_through_every_commit(
    graph: Graph, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So many versions make a stretch of commits that is kept for the next question.
    monkeypatch.setattr("omnigraph.versioning.manifest.stretch._VERSIONS", seed + 2)
    chance = random.Random(seed)
    graph.create_branch(THEIRS)
    made = 0
    while made < 40:
        try:
            chance.choice(_steps(graph, chance))()
            graph.blame("Person", chance.choice(SLUGS))
        except OmniGraphError:
            continue  # nobody to change, twice the same, or a conflict with a rule
        made += 1

    present = [row["slug"] for row in rows(graph, "Person")]

    assert present
    for slug in present:
        assert blamed(graph, str(slug)) == by_steps(graph, str(slug))


def test_a_row_is_blamed_through_many_rewrites_of_its_table(graph: Graph) -> None:
    first = graph.snapshot().commit.id
    each(graph, *(update("bob", age=age % 100) for age in range(60)))
    each(graph, update("ada", age=1), *(update("bob", age=age) for age in range(5)))
    last, *_, ada = [one.id for one in graph.log(limit=6)]

    assert blamed(graph, "ada") == {"slug": first, "name": first, "age": ada, "email": first}
    assert blamed(graph, "bob") == {"slug": first, "name": first, "age": last, "email": first}


def test_the_commit_of_a_small_change_names_its_rows_and_what_changed_in_them(graph: Graph) -> None:
    each(graph, update("ada", age=77), person("eve", age=1), remove("eve"))
    gone, made, changed = (one.touched["node:Person"] for one in graph.log(limit=3))
    loaded = graph.load('{"type": "Person", "data": {"slug": "ada", "age": 3}}', mode="merge")

    assert changed == Touched((row_mark("ada"),), ("age",))
    assert made == gone == Touched((row_mark("eve"),), None)
    assert loaded.commit is not None
    assert not loaded.commit.touched


def test_a_property_is_blamed_under_the_names_that_it_had(graph: Graph) -> None:
    each(graph, update("ada", name="A"), *(update("ada", age=age) for age in (1, 2, 1)))
    aged, *_, named = (one.id for one in graph.log(limit=4))
    renamed = VILLAGE.replace("age: I32?", 'years: I32? @rename_from("age")')
    renamed = renamed.replace("range(age", "range(years")
    graph.apply_schema(renamed.replace("name: String?", 'title: String? @rename_from("name")'))
    # What commits of before call `name` is not what is called so now.
    graph.apply_schema(
        renamed.replace("name: String?", "title: String?  name: I32?").replace(
            '@rename_from("age")', ""
        )
    )
    each(graph, update("ada", name=7), update("bob", years=4), update("ada", name=8))
    last = graph.snapshot().commit.id

    found = blamed(graph, "ada")

    assert (found["years"], found["title"], found["name"]) == (aged, named, last)


def test_who_set_a_property_is_shown_in_one_line(graph: Graph) -> None:
    each(graph, update("ada", age=7))
    commit = graph.snapshot().commit

    (age,) = (one for one in graph.blame("Person", "ada") if one.property == "age")

    assert repr(age).startswith("Blamed(age = 7, 20")
    assert f"({commit.id})" in repr(age)
    assert "\n" not in repr(age)


def test_after_a_cleanup_blame_ends_at_the_oldest_commit_that_can_be_read(graph: Graph) -> None:
    each(graph, update("ada", age=1), update("ada", age=2), update("bob", age=3))
    second, newest = [one.id for one in graph.log(limit=2)][::-1]
    each(graph, update("ada", name="A"))
    graph.cleanup(keep=3, grace="0s", confirm=True)
    named = graph.snapshot().commit.id

    for one in (graph, open_graph(graph.uri, read_only=True)):
        found = one.blame("Person", "ada")
        assert {each.property: each.commit.id for each in found} == {
            "slug": second,
            "name": named,
            "age": second,
            "email": second,
        }
        assert sure(found) == {"slug": False, "name": True, "age": False, "email": False}
    bob = {
        each.property: (each.commit.id, each.or_earlier) for each in graph.blame("Person", "bob")
    }
    assert bob["age"] == (newest, False)
    assert bob["slug"] == (second, True)
    assert graph.blame("Person", "ada")[0].to_json()["or_earlier"] is True


def test_a_row_that_was_not_moved_is_blamed_beyond_what_was_removed(graph: Graph) -> None:
    graph.create_tag("start")
    first = graph.snapshot().commit.id
    each(graph, update("bob", age=1), update("bob", age=2))
    graph.cleanup(keep=1, grace="0s", confirm=True)

    found = graph.blame("Person", "ada")

    assert {one.commit.id for one in found} == {first}
    assert not any(one.or_earlier for one in found)


def test_a_feed_without_a_cursor_begins_where_history_begins(graph: Graph) -> None:
    each(graph, update("ada", age=1), update("ada", age=2), update("ada", age=3))
    lost = [one.id for one in graph.log()][2]
    graph.cleanup(keep=2, grace="0s", confirm=True)

    for one in (graph, open_graph(graph.uri, read_only=True)):
        lines = [[str(change) for change in commit.changes] for commit in one.changes()]
        assert lines == [["~ Person ada  age 2 → 3"]]
        with pytest.raises(CommitCleanedError):
            [list(commit.changes) for commit in one.changes(since=lost)]
