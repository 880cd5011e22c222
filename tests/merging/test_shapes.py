"""Whatever the shape of the history, a merge brings over what is new, once, and by pointer."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    CommitCleanedError,
    InputError,
    MergeConflictsError,
    OmniGraphError,
)
from omnigraph.merge.bulk import TaskMerger
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.merge import preview
from omnigraph.merge.options import MergeOptions
from omnigraph.merge.threeway import Threeway
from omnigraph.storage.table import Table
from tests.changes.meanwhile import READY, STAGED, meanwhile
from tests.changes.town import content, do, rows
from tests.merging.nursery import IN_PARTS
from tests.merging.statements import edge, person, remove, update
from tests.merging.village import OURS, SCHEMA, THEIRS, of, part


def ages(graph: Graph, target: str = OURS) -> dict[str, object]:
    return {row["id"]: row["age"] for row in rows(graph, "Person", target)}


def versions(graph: Graph, target: str) -> dict[str, tuple[str, int]]:
    tables = graph.snapshot(target).commit.tables
    return {key: (state.path, state.version) for key, state in tables.items()}


def refused(*_: object) -> object:
    raise AssertionError("a table was written in a way that is not needed")


def no_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("appended", "upserted", "deleted", "overwritten", "settled"):
        monkeypatch.setattr(Table, name, refused)


def test_a_fast_forward_takes_their_tables_as_they_are(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(graph, [], [update("ada", age=1), edge("Knows", "cy", "ada"), remove("bob")])
    no_writes(monkeypatch)

    done = graph.merge(THEIRS)

    assert str(done.outcome) == "fast_forward"
    assert versions(graph, OURS) == versions(graph, THEIRS)
    assert {name: dict(each) for name, each in done.stats.items()} == {
        "Person": {"insert": 0, "update": 1, "delete": 1},
        "Knows": {"insert": 1, "update": 0, "delete": 1},
        "Hosts": {"insert": 0, "update": 0, "delete": 1},
    }
    head = graph.snapshot().commit
    assert head.parents == (done.ours.id, graph.snapshot(THEIRS).commit.id)


def test_a_table_that_one_side_alone_changed_is_taken_as_it_is(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(graph, [edge("Knows", "cy", "ada")], [update("ada", age=1), edge("Likes", "cy", "ada")])
    ours = versions(graph, OURS)
    no_writes(monkeypatch)

    graph.merge(THEIRS)

    merged, theirs = versions(graph, OURS), versions(graph, THEIRS)
    assert (merged["node:Person"], merged["edge:Likes"]) == (
        theirs["node:Person"],
        theirs["edge:Likes"],
    )
    assert merged["edge:Knows"] == ours["edge:Knows"]


def test_what_was_changed_and_changed_back_takes_no_table(graph: Graph) -> None:
    part(graph, [person("dan")], [update("ada", age=1), update("ada", age=30)])
    ours = versions(graph, OURS)

    done = graph.merge(THEIRS)

    assert (str(done.outcome), done.stats) == ("merged", {})
    assert versions(graph, OURS) == ours


def test_a_second_merge_is_up_to_date_and_makes_no_commit(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])
    first = graph.merge(THEIRS)

    again = graph.merge(THEIRS)

    assert (str(again.outcome), again.commit) == ("already_up_to_date", None)
    assert graph.snapshot().commit == first.commit


def test_a_merge_commit_has_two_parents_and_is_a_base_from_then_on(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])
    theirs = graph.snapshot(THEIRS).commit.id
    ours = graph.snapshot().commit.id

    done = graph.merge(THEIRS)

    assert done.commit is not None
    assert done.commit.parents == (ours, theirs)
    assert graph.merge_base(OURS, THEIRS).id == theirs
    assert [each.id for each in graph.log(limit=2)] == [done.commit.id, ours]


def test_of_three_merges_in_turn_each_brings_what_is_new(graph: Graph) -> None:
    graph.create_branch(THEIRS)
    for turn in range(3):
        do(graph, person(f"ours{turn}", age=turn), update("ada", age=turn))
        do(graph.branch(THEIRS), person(f"theirs{turn}", age=turn), update("bob", age=turn))

        done = graph.merge(THEIRS)

        assert str(done.outcome) == "merged"
        assert {name: dict(each) for name, each in done.stats.items()} == {
            "Person": {"insert": 1, "update": 1, "delete": 0}
        }
    people = {f"{side}{turn}": turn for side in ("ours", "theirs") for turn in range(3)}
    assert ages(graph) == {"ada": 2, "bob": 2, "cy": None, **people}


def test_a_row_that_was_merged_can_be_changed_and_merged_again(graph: Graph) -> None:
    part(graph, [], [update("ada", age=1)])
    graph.merge(THEIRS)
    do(graph.branch(THEIRS), update("ada", age=2))
    do(graph, update("bob", age=9))

    graph.merge(THEIRS)
    graph.merge(OURS, THEIRS)

    assert ages(graph) == ages(graph, THEIRS) == {"ada": 2, "bob": 9, "cy": None}


def cross(graph: Graph) -> None:
    """Merge each side into the other as it was before."""
    heads = [graph.snapshot(branch).commit.id for branch in (OURS, THEIRS)]
    graph.merge(heads[1], OURS)
    graph.merge(heads[0], THEIRS)


def criss_cross(graph: Graph, ours: str | None = None, theirs: str | None = None) -> None:
    """Let both sides set a property, and merge each into the other as it was before."""
    part(graph, [ours or update("ada", age=1)], [theirs or update("bob", age=2)])
    cross(graph)


def test_branches_that_were_merged_into_each_other_merge_again(graph: Graph) -> None:
    criss_cross(graph)
    do(graph, person("dan"), update("cy", age=3))
    do(graph.branch(THEIRS), person("eli"), update("cy", name="Cy"))

    graph.merge(THEIRS)
    back = graph.merge(OURS, THEIRS)

    assert str(back.outcome) == "fast_forward"
    assert content(graph) == content(graph, THEIRS)
    cy = of(graph, "Person", "cy")
    assert cy is not None
    assert (cy["age"], cy["name"]) == (3, "Cy")
    assert set(ages(graph)) == {"ada", "bob", "cy", "dan", "eli"}


@pytest.mark.parametrize(("slug", "back"), [("ada", 30), ("bob", 20)])
@pytest.mark.parametrize("branch", [OURS, THEIRS])
def test_what_was_set_back_after_a_criss_cross_is_not_set_again(
    graph: Graph, slug: str, back: int, branch: str
) -> None:
    criss_cross(graph)
    do(graph.branch(branch), update(slug, age=back))
    do(graph.branch(THEIRS if branch == OURS else OURS), person("dan"))

    assert graph.preview_merge(THEIRS).conflicts == ()
    graph.merge(THEIRS)
    assert ages(graph)[slug] == back


@pytest.mark.parametrize("bulk", [None, IN_PARTS], ids=["whole", "in parts"])
def test_after_a_criss_cross_only_what_is_new_to_the_target_is_counted(
    graph: Graph, bulk: TaskMerger | None
) -> None:
    criss_cross(graph, person("dan"), person("eli"))
    do(graph.branch(THEIRS), person("fay"), update("dan", age=4), update("cy", age=3))
    do(graph.branch(THEIRS), remove("eli"), remove("bob"))
    do(graph, update("ada", age=5))

    how = MergeOptions() if bulk is None else MergeOptions(bulk=bulk)
    found = preview(graph.repository, THEIRS, OURS, how).stats
    assert dict(found["Person"]) == {"insert": 1, "update": 2, "delete": 2}


@pytest.mark.parametrize("bulk", [None, IN_PARTS], ids=["whole", "in parts"])
def test_what_was_set_back_after_a_criss_cross_is_counted(
    graph: Graph, bulk: TaskMerger | None
) -> None:
    criss_cross(graph)
    do(graph.branch(THEIRS), update("bob", age=20))
    do(graph, update("cy", age=5))

    how = MergeOptions() if bulk is None else MergeOptions(bulk=bulk)
    found = preview(graph.repository, THEIRS, OURS, how).stats
    assert dict(found["Person"]) == {"insert": 0, "update": 1, "delete": 0}


def test_what_both_sides_changed_after_a_criss_cross_is_a_conflict(graph: Graph) -> None:
    criss_cross(graph)
    do(graph, update("ada", age=7))
    do(graph.branch(THEIRS), update("ada", age=8))

    found = graph.preview_merge(THEIRS).conflicts

    assert [(each.row_id, each.property) for each in found] == [("ada", "age")]


def test_each_conflict_after_a_criss_cross_takes_a_side(graph: Graph) -> None:
    criss_cross(graph)
    do(graph, update("ada", age=81))
    do(graph.branch(THEIRS), update("ada", age=82))
    found = graph.preview_merge(THEIRS).conflicts_json()
    assert found

    chosen = Resolutions.chosen([{**each, "take": "theirs"} for each in found])

    assert graph.preview_merge(THEIRS, resolutions=chosen).conflicts == ()
    for name in ("city", "email"):
        with pytest.raises(InputError, match=f"{name} is not a conflict"):
            graph.merge(
                THEIRS, resolutions=Resolutions(properties={("Person", "ada", name): Side.OURS})
            )


def test_what_one_side_changed_and_deleted_after_a_criss_cross_is_merged(graph: Graph) -> None:
    criss_cross(graph)
    do(graph.branch(THEIRS), 'delete Person where slug = "ada"')
    do(graph, update("bob", age=5))

    graph.merge(THEIRS)

    assert ages(graph) == {"bob": 5, "cy": None}


@pytest.mark.parametrize("branch", [OURS, THEIRS])
def test_a_row_that_both_sides_changed_before_a_criss_cross_can_be_deleted_after_it(
    graph: Graph, branch: str
) -> None:
    criss_cross(graph, update("ada", age=1), update("ada", name="Ada"))
    do(graph.branch(branch), 'delete Person where slug = "ada"')
    do(graph.branch(THEIRS if branch == OURS else OURS), person("dan"))

    assert graph.preview_merge(THEIRS).conflicts == ()
    graph.merge(THEIRS)
    assert set(ages(graph)) == {"bob", "cy", "dan"}


def test_what_each_side_set_back_of_a_row_after_a_criss_cross_is_set_back(graph: Graph) -> None:
    before = of(graph, "Person", "ada")
    assert before is not None
    criss_cross(graph, update("ada", age=1), update("ada", name="Ada"))
    do(graph, update("ada", age=before["age"]))
    do(graph.branch(THEIRS), update("ada", name=before["name"]))

    graph.merge(THEIRS)

    assert of(graph, "Person", "ada") == before


@pytest.mark.parametrize("branch", [OURS, THEIRS])
def test_after_two_criss_crosses_every_property_that_is_in_doubt_is_a_conflict(
    graph: Graph, branch: str
) -> None:
    criss_cross(graph, update("bob", age=1), update("bob", name="Bob"))
    do(graph, update("ada", age=1))
    do(graph.branch(THEIRS), update("ada", name="A"))
    cross(graph)
    do(graph.branch(branch), update("ada", age=30, name="Ada"))
    do(graph.branch(THEIRS if branch == OURS else OURS), person("dan"))

    found = graph.preview_merge(THEIRS).conflicts
    graph.merge(THEIRS, resolutions="ours" if branch == OURS else "theirs")

    assert [(each.row_id, each.property) for each in found] == [("ada", "age"), ("ada", "name")]
    ada = of(graph, "Person", "ada")
    assert ada is not None
    assert (ada["age"], ada["name"]) == (30, "Ada")


@pytest.mark.parametrize("schema", [None, SCHEMA + "node Street { name: String @key }"])
def test_a_criss_cross_merges_also_when_a_cleanup_removed_where_its_sides_parted(
    graph: Graph, schema: str | None
) -> None:
    parted = graph.snapshot().commit.id
    criss_cross(graph, update("ada", age=1), update("ada", name="A"))
    if schema is not None:
        graph.apply_schema(schema)
    graph.cleanup(keep=1, grace="0s", confirm=True)
    with pytest.raises(CommitCleanedError):
        graph.repository.refuse_cleaned(parted)
    graph = open_graph(graph.uri, durable=False)  # one that remembers no table
    do(graph.branch(THEIRS), update("ada", age=30))
    do(graph, update("bob", age=5))

    (conflict,) = graph.preview_merge(THEIRS).conflicts
    graph.merge(THEIRS, resolutions="theirs")

    assert (conflict.row_id, conflict.property) == ("ada", "age")
    assert ages(graph) == {"ada": 30, "bob": 5, "cy": None}


def test_any_branch_takes_a_branch_a_commit_or_a_tag(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])
    for name, source in [
        ("one", THEIRS),
        ("two/deep", graph.snapshot(THEIRS).commit.id),
        ("three", "v1"),
    ]:
        if source == "v1":
            graph.create_tag("v1", THEIRS)
        graph.create_branch(name)

        done = graph.merge(source, name)

        assert (done.source, done.target, str(done.outcome)) == (source, name, "merged")
        assert done.commit is not None
        assert done.commit.branch == name
        assert ages(graph, name) == {"ada": 1, "bob": 2, "cy": None}
    assert ages(graph) == {"ada": 1, "bob": 20, "cy": None}


def test_an_older_commit_of_a_branch_brings_what_was_done_until_then(graph: Graph) -> None:
    part(graph, [], [update("bob", age=1), update("bob", age=2)])
    older = graph.snapshot(THEIRS).commit.parent or ""

    graph.merge(older)

    assert ages(graph)["bob"] == 1
    assert str(graph.merge(older).outcome) == "already_up_to_date"
    assert str(graph.merge(THEIRS).outcome) == "merged"


def test_a_branch_merged_into_itself_is_up_to_date(graph: Graph) -> None:
    assert str(graph.merge(OURS, OURS).outcome) == "already_up_to_date"


def test_only_a_branch_can_be_merged_into_and_both_must_be_there(graph: Graph) -> None:
    part(graph, [], [update("bob", age=1)])
    graph.create_tag("v1", THEIRS)

    with pytest.raises(BranchNotFoundError):
        graph.merge(THEIRS, "v1")
    with pytest.raises(OmniGraphError):
        graph.merge(THEIRS, graph.snapshot().commit.id)
    with pytest.raises(BranchNotFoundError, match="nowhere"):
        graph.merge("nowhere")
    assert ages(graph)["bob"] == 20


def test_a_graph_opened_for_reading_previews_and_does_not_merge(graph: Graph) -> None:
    part(graph, [], [update("bob", age=1)])
    reader = open_graph(graph.uri, read_only=True)

    assert str(reader.preview_merge(THEIRS).outcome) == "fast_forward"
    with pytest.raises(OmniGraphError, match="reading only"):
        reader.merge(THEIRS)


def on_the_side(graph: Graph, *statements: str) -> Callable[[], object]:
    """Return what somebody else does with a handle of their own."""
    return lambda: do(open_graph(graph.uri, durable=False), *statements)


def test_a_target_that_moved_meanwhile_is_merged_with_again(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", name="A"), update("bob", age=2)])

    with meanwhile(on_the_side(graph, update("cy", age=3)), step=STAGED):
        done = graph.merge(THEIRS)

    assert str(done.outcome) == "merged"
    assert ages(graph) == {"ada": 1, "bob": 2, "cy": 3}
    assert [str(each.kind) for each in graph.log(limit=3)] == ["merge", "write", "write"]


def test_a_conflict_that_came_meanwhile_is_told(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", name="A"), update("bob", age=2)])

    with (
        meanwhile(on_the_side(graph, update("bob", age=3)), step=STAGED),
        pytest.raises(MergeConflictsError, match="Person 'bob' was updated by both sides"),
    ):
        graph.merge(THEIRS)

    assert ages(graph) == {"ada": 1, "bob": 3, "cy": None}


def test_a_fast_forward_whose_target_moved_becomes_a_merge(graph: Graph) -> None:
    part(graph, [], [update("ada", age=1)])

    with meanwhile(on_the_side(graph, update("bob", age=3)), step=READY):
        done = graph.merge(THEIRS)

    assert str(done.outcome) == "merged"
    assert ages(graph) == {"ada": 1, "bob": 3, "cy": None}


def test_a_fast_forward_never_leaves_an_edge_whose_end_was_removed_meanwhile(
    graph: Graph,
) -> None:
    part(graph, [], [edge("Knows", "ada", "cy")])

    with (
        meanwhile(on_the_side(graph, remove("cy")), step=READY),
        pytest.raises(MergeConflictsError, match="no Person 'cy'"),
    ):
        graph.merge(THEIRS)

    assert {row["dst"] for row in rows(graph, "Knows")} == {"bob"}


def test_a_merge_never_leaves_an_edge_whose_end_was_removed_meanwhile(graph: Graph) -> None:
    part(graph, [person("dan")], [edge("Knows", "ada", "cy")])

    with (
        meanwhile(on_the_side(graph, remove("cy")), step=READY),
        pytest.raises(MergeConflictsError, match="no Person 'cy'"),
    ):
        graph.merge(THEIRS)


def test_what_a_merge_left_is_read_like_any_other_commit(graph: Graph, tmp_path: Path) -> None:
    part(graph, [person("dan", age=4)], [edge("Knows", "cy", "ada"), remove("bob")])
    text = "query q() { match { $a: Person $a knows $b } return { $a.slug as a, $b.slug as b } }"
    graph.query(text)

    graph.merge(THEIRS)

    assert graph.query(text).to_dicts() == [{"a": "cy", "b": "ada"}]
    assert open_graph(graph.uri, read_only=True).query(text).to_dicts() == [{"a": "cy", "b": "ada"}]


def test_rows_that_both_sides_only_moved_are_not_taken_for_changed(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = range(12)  # so many small fragments are joined, with the rows that were there before
    part(graph, [person(f"o{n}") for n in many], [person(f"t{n}") for n in many])
    before = {*ages(graph), *ages(graph, THEIRS)}

    def compared(*_: object) -> object:
        raise AssertionError("rows were compared that nobody changed")

    monkeypatch.setattr(Threeway, "merged", compared)
    graph.merge(THEIRS, OURS, strict=True)

    assert {*ages(graph)} == before
    assert len(before) == len(rows(graph, "Person", THEIRS)) + len(many)


def test_rows_that_are_new_to_us_are_added_without_looking_for_them(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(
        graph,
        [person("eve"), update("ada", age=7)],
        [person("dan"), edge("Knows", "dan", "ada"), remove("bob")],
    )
    monkeypatch.setattr(Table, "upserted", refused)

    graph.merge(THEIRS, OURS)

    assert ages(graph).keys() >= {"eve", "dan"}
    assert ages(graph)["ada"] == 7
    assert "bob" not in ages(graph)
    assert of(graph, "Knows", '["dan","ada"]') is not None


def test_a_row_that_both_sides_added_is_never_there_twice(graph: Graph, other: Graph) -> None:
    part(graph, [update("ada", age=7)], [person("dan", age=1)])
    late = partial(do, other, person("dan", age=2))

    with meanwhile(late, step=READY), pytest.raises(MergeConflictsError):
        graph.merge(THEIRS, OURS)

    assert [row["age"] for row in rows(graph, "Person") if row["id"] == "dan"] == [2]
    assert graph.fsck().findings == ()
