"""Blame, revert and tags: who did it, how it is undone, and what it is called."""

from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNameError,
    BranchNotFoundError,
    CommitNotFoundError,
    InputError,
    MergeConflictsError,
    OmniGraphError,
    RowNotFoundError,
    TableNotFoundError,
    TagExistsError,
    TagNotFoundError,
)
from tests.changes.town import content, do
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, THEIRS, each, joined, of, part


def head(graph: Graph, target: str = OURS) -> str:
    return graph.snapshot(target).commit.id


def blamed(graph: Graph, *which: str) -> dict[str, tuple[object, str]]:
    return {one.property: (one.value, one.commit.id) for one in graph.blame(*which)}


# Blame.


def test_each_property_is_blamed_on_the_commit_that_set_it(graph: Graph) -> None:
    first = head(graph)
    do(graph.branch(OURS, actor="eve", message="a birthday"), update("ada", age=31))
    second = head(graph)
    each(graph, update("bob", age=1))

    assert blamed(graph, "Person", "ada") == {
        "slug": ("ada", first),
        "name": ("Ada", first),
        "age": (31, second),
        "email": (None, first),
    }
    age = next(one for one in graph.blame("Person", "ada") if one.property == "age").to_json()
    assert age == {
        "property": "age",
        "value": 31,
        "commit": second,
        "actor_id": "eve",
        "created_at": graph.commit(second).created_at,
        "message": "a birthday",
        "or_earlier": False,
    }


def test_what_a_merge_brought_is_blamed_on_who_wrote_it(graph: Graph) -> None:
    first = head(graph)
    part(graph, [update("ada", age=1)], [update("ada", name="A"), person("dan", age=4)])
    ours, (dan, name) = head(graph), [commit.id for commit in graph.log(THEIRS, limit=2)]
    graph.merge(THEIRS)
    each(graph, update("cy", age=3))

    found = blamed(graph, "Person", "ada")

    assert found == {
        "slug": ("ada", first),
        "name": ("A", name),
        "age": (1, ours),
        "email": (None, first),
    }
    assert {commit for _, commit in blamed(graph, "Person", "dan").values()} == {dan}


def test_a_fast_forward_is_blamed_on_nobody(graph: Graph) -> None:
    part(graph, [], [update("ada", age=1)])
    theirs = head(graph, THEIRS)
    graph.merge(THEIRS)

    assert blamed(graph, "Person", "ada")["age"] == (1, theirs)


def test_a_row_that_came_back_is_blamed_on_its_return(graph: Graph) -> None:
    each(graph, remove("cy"), person("cy"))

    assert {commit for _, commit in blamed(graph, "Person", "cy").values()} == {head(graph)}


def test_an_edge_and_an_older_commit_can_be_blamed(graph: Graph) -> None:
    first = head(graph)
    each(graph, weigh("ada", "bob", 2))

    row = "Knows", joined("ada", "bob")
    assert blamed(graph, *row) == {
        "from": ("ada", first),
        "to": ("bob", first),
        "weight": (2, head(graph)),
    }
    assert blamed(graph, *row, first)["weight"] == (1, first)


def test_what_is_not_there_cannot_be_blamed(graph: Graph) -> None:
    with pytest.raises(RowNotFoundError):
        graph.blame("Person", "nobody")
    with pytest.raises(TableNotFoundError):
        graph.blame("Persn", "ada")


# Revert.


@pytest.mark.parametrize(
    "statement",
    [
        person("dan", age=4),
        update("ada", age=31),
        remove("ada"),
        remove("cy"),
        edge("Knows", "bob", "cy"),
        part_ways("ada", "bob"),
    ],
)
def test_a_revert_is_a_commit_that_leaves_what_was_before(graph: Graph, statement: str) -> None:
    before = content(graph)
    each(graph, statement)
    undone = head(graph)

    done = graph.revert(undone, actor="eve")

    assert content(graph) == before
    assert done.commit is not None
    assert (done.commit.parents, done.commit.actor) == ((undone,), "eve")
    assert done.commit.message == f"revert {undone}"


def test_a_commit_that_is_not_the_newest_is_undone_alone(graph: Graph) -> None:
    each(graph, update("ada", age=31), update("ada", name="A"), person("dan"))
    undone = [commit.id for commit in graph.log()][2]

    graph.revert(undone)

    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert (ada["age"], ada["name"], of(graph, "Person", "dan") is None) == (30, "A", False)


@pytest.mark.parametrize(
    ("first", "then", "kind"),
    [
        (update("ada", age=31), update("ada", age=32), "DivergentUpdate"),
        (person("dan"), update("dan", age=5), "DeleteVsUpdate"),
        (person("dan"), edge("Knows", "dan", "ada"), "OrphanEdge"),
        (update("cy", age=5), remove("cy"), "DeleteVsUpdate"),
    ],
)
def test_a_commit_that_others_built_upon_cannot_simply_be_undone(
    graph: Graph, first: str, then: str, kind: str
) -> None:
    each(graph, first, then)
    undone, now = graph.snapshot().commit.parent or "", content(graph)

    with pytest.raises(MergeConflictsError) as caught:
        graph.revert(undone)

    assert [one.kind for one in caught.value.conflicts] == [kind]
    assert content(graph) == now


def test_a_preview_of_a_revert_says_what_it_would_do_and_does_nothing(graph: Graph) -> None:
    each(graph, update("ada", age=31))
    undone = head(graph)

    found = graph.branch().preview_revert(undone)

    assert (found.commit, head(graph)) == (None, undone)
    done = graph.branch().revert(undone)
    assert (found.outcome, found.stats) == (done.outcome, done.stats)
    assert str(graph.branch().preview_revert(undone).outcome) == "already_up_to_date"


def test_a_revert_can_be_settled_and_reverted(graph: Graph) -> None:
    each(graph, update("ada", age=31), update("ada", age=32))
    undone, last = graph.snapshot().commit.parent or "", content(graph)

    graph.revert(undone, resolutions="theirs")

    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert ada["age"] == 30
    graph.revert(head(graph))
    assert content(graph) == last


def test_what_was_undone_is_not_undone_again(graph: Graph) -> None:
    each(graph, update("ada", age=31), update("bob", age=2))
    undone = graph.snapshot().commit.parent or ""
    graph.revert(undone)
    before = head(graph)

    again = graph.revert(undone)

    assert (str(again.outcome), again.commit, again.conflicts) == ("already_up_to_date", None, ())
    assert head(graph) == before


def test_a_merge_is_undone_as_a_whole(graph: Graph) -> None:
    part(graph, [update("bob", age=2)], [update("ada", age=1), person("dan")])
    before = content(graph)
    graph.merge(THEIRS)

    graph.revert(head(graph))

    assert content(graph) == before


def test_a_commit_of_another_branch_can_be_undone_where_it_was_merged(graph: Graph) -> None:
    part(graph, [update("bob", age=2)], [update("ada", age=1), person("dan")])
    graph.merge(THEIRS)

    graph.revert(graph.snapshot(THEIRS).commit.parent or "")

    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert (ada["age"], of(graph, "Person", "dan") is None) == (30, False)


def test_the_first_commit_and_unknown_ones_cannot_be_undone(graph: Graph) -> None:
    first = list(graph.log())[-1].id
    with pytest.raises(InputError, match="is the first"):
        graph.revert(first)
    with pytest.raises(CommitNotFoundError):
        graph.revert("01ARZ3NDEKTSV4RRFFQ69G5FAV")


# Tags.


def test_a_tag_names_a_commit_and_stays_there(graph: Graph) -> None:
    first, before = head(graph), content(graph)
    assert graph.create_tag("v1") == first
    each(graph, update("ada", age=31))
    graph.create_tag("older/v0", graph.snapshot().commit.parent or "")

    assert graph.tags() == {"older/v0": first, "v1": first}
    assert content(open_graph(graph.uri, read_only=True), "v1") == before
    assert graph.branches() == ["main"]


def test_the_commit_of_a_tag_outlives_its_branch(graph: Graph) -> None:
    part(graph, [], [update("ada", age=99)])
    kept = content(graph, THEIRS)
    graph.create_tag("v1", THEIRS)
    graph.delete_branch(THEIRS)

    assert content(open_graph(graph.uri, read_only=True), "v1") == kept
    graph.merge("v1")
    assert content(graph) == kept


def test_a_commit_outlives_its_branch_and_its_tag(graph: Graph) -> None:
    part(graph, [], [update("ada", age=99)])
    kept, commit = content(graph, THEIRS), graph.create_tag("v1", THEIRS)
    graph.delete_branch(THEIRS)
    graph.delete_tag("v1")

    assert content(open_graph(graph.uri, read_only=True), commit) == kept


def test_a_branch_can_begin_at_a_tag_and_a_tag_at_a_tag(graph: Graph) -> None:
    first = graph.create_tag("v1")
    each(graph, update("ada", age=31))

    graph.create_branch("fix", "v1")
    graph.create_tag("v1-again", "v1")

    assert head(graph, "fix") == first
    assert graph.tags() == {"v1": first, "v1-again": first}


def test_a_tag_is_made_once_and_taken_away_once(graph: Graph) -> None:
    graph.create_tag("v1")
    for name in ("v1", "V1"):
        with pytest.raises(TagExistsError, match="already"):
            graph.create_tag(name)

    graph.delete_tag("v1")

    assert graph.tags() == {}
    with pytest.raises(TagNotFoundError):
        graph.delete_tag("v1")
    with pytest.raises(BranchNotFoundError):
        graph.snapshot("v1")


def test_a_name_stands_for_a_branch_or_for_a_tag(graph: Graph) -> None:
    graph.create_tag("v1")
    graph.create_branch(THEIRS)

    with pytest.raises(BranchExistsError, match="there is a tag 'v1' already"):
        graph.create_branch("v1")
    with pytest.raises(BranchExistsError, match="there is a tag 'v1' already"):
        graph.rename_branch(THEIRS, "V1")
    with pytest.raises(BranchExistsError, match="there is a tag 'v1' already"):
        graph.ingest('{"type": "Person", "data": {"slug": "eve"}}', branch="v1", engine="inline")
    for name in (THEIRS, "main"):
        with pytest.raises(TagExistsError, match=f"there is a branch '{name}' already"):
            graph.create_tag(name)
    assert (graph.branches(), list(graph.tags())) == (["main", THEIRS], ["v1"])


def test_a_branch_and_a_tag_of_one_name_made_at_the_same_moment_are_one_of_them(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = graph.repository.manifest
    flip = manifest.flip

    def late(*args: Any, **named: Any) -> Any:
        monkeypatch.undo()
        graph.create_branch("v1")
        return flip(*args, **named)

    monkeypatch.setattr(type(manifest), "flip", lambda _, *args, **named: late(*args, **named))

    with pytest.raises(TagExistsError):
        graph.create_tag("v1")
    assert (graph.branches(), graph.tags()) == (["main", "v1"], {})


def test_a_tag_needs_a_name_and_a_commit_that_is_there(graph: Graph) -> None:
    for name in ("", "a b", "__tag__x", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        with pytest.raises(BranchNameError):
            graph.create_tag(name)
    with pytest.raises(OmniGraphError):
        graph.create_tag("v1", "nowhere")
    with pytest.raises(TagNotFoundError, match="v1"):
        graph.delete_tag("v1")


def test_a_name_that_is_unknown_is_not_answered_with_one_of_the_system(graph: Graph) -> None:
    graph.create_tag("draft")

    with pytest.raises(BranchNotFoundError) as caught:
        graph.snapshot("__tag__drafts")

    assert caught.value.hint is None


def test_nobody_writes_to_a_tag(graph: Graph) -> None:
    graph.create_tag("v1")

    with pytest.raises(BranchNotFoundError):
        do(graph.branch("v1"), update("ada", age=1))
    each(graph, update("ada", age=2))
    for attempt in (
        lambda: do(graph.branch("__tag__v1"), update("ada", age=1)),
        lambda: graph.merge(OURS, "__tag__v1"),
        lambda: graph.load('{"type": "Club", "data": {"slug": "x"}}', branch="__tag__v1"),
    ):
        with pytest.raises(OmniGraphError):
            attempt()
    assert graph.tags() == {"v1": graph.snapshot().commit.parent}
