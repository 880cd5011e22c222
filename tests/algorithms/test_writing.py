"""Writing: what an algorithm says of nodes becomes a property of them, as one commit."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import HeadMovedError, InputError, ViolationsError

SCHEMA = """
node Person {
    slug: String @key
    name: String?
    rank: F64?
    small: F32?
    group: I64?
    size: U32?
    once: I64? @unique
    low: F64?
    @range(low, 0.0..0.1)
}
node Topic { slug: String @key  rank: F64? }
edge Knows: Person -> Person
edge Likes: Person -> Topic
"""
RANKS = "query ranks() { match { $p: Person } return { $p.slug, $p.name, $p.rank } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    found = init(tmp_path / "g", SCHEMA)
    people = [{"slug": each, "name": each.upper()} for each in "abcd"]
    found.load({"Person": people, "Topic": [{"slug": "t"}]})
    found.load([{"from": x, "to": y} for x, y in ("ab", "bc", "ca", "da")], type="Knows")
    found.load([{"from": "a", "to": "t"}], type="Likes")
    return found


def ranks(graph: Graph, branch: str = "main") -> dict[str, float]:
    rows = graph.branch(branch).query(RANKS, "ranks").to_dicts()
    assert [row["p.name"] for row in rows] == [str(row["p.slug"]).upper() for row in rows]
    return {str(row["p.slug"]): row["p.rank"] for row in rows}  # type: ignore[misc]


def test_values_become_a_property_in_one_commit_and_all_else_stays(graph: Graph) -> None:
    before = graph.branch().commit
    found = graph.algo.pagerank("Knows")

    receipt = found.write_to("main", "rank")

    assert receipt.commit is not None
    assert graph.branch().commit.parent == before.id
    assert graph.branch().commit.message == "pagerank as 'rank'"
    assert (receipt.query_name, receipt.affected_nodes) == ("pagerank", 4)
    assert receipt.counts is not None
    assert (receipt.counts.updated, receipt.counts.inserted) == (4, 0)
    assert ranks(graph) == {row["id"]: row["rank"] for row in found}


def test_unchanged_values_make_no_commit(graph: Graph) -> None:
    graph.algo.pagerank("Knows").write_to("main", "rank")
    head = graph.branch().commit.id

    receipt = graph.algo.pagerank("Knows").write_to("main", "rank")

    assert receipt.commit is None
    assert receipt.counts is not None
    assert receipt.counts.unchanged == 4
    assert graph.branch().commit.id == head


def test_values_of_a_commit_go_to_another_branch_without_nodes_that_are_not_there(
    graph: Graph,
) -> None:
    branch = graph.create_branch("scores")
    found = graph.at().algo.components("Knows")
    branch.mutate('query gone() { delete Person where slug = "d" }', "gone")
    branch.mutate('query more() { insert Person { slug: "e", name: "E" } }', "more")

    receipt = found.write_to(branch, "group", message="who belongs together")

    assert receipt.branch == "scores"
    assert receipt.affected_nodes == 3
    assert branch.commit.message == "who belongs together"
    assert set(ranks(graph, "scores")) == {"a", "b", "c", "e"}


def test_several_types_get_their_values_together(graph: Graph) -> None:
    receipt = graph.algo.pagerank(["Knows", "Likes"]).write_to("main", "rank")

    assert receipt.affected_nodes == 5


def test_a_property_has_to_be_there_and_of_a_fitting_type(graph: Graph) -> None:
    found = graph.algo.pagerank("Knows")
    with pytest.raises(InputError, match="Person has no property 'rnak'"):
        found.write_to("main", "rnak")
    with pytest.raises(InputError, match="'name' of Person is String, and pagerank is F32 or F64"):
        found.write_to("main", "name")
    with pytest.raises(InputError, match="'rank' of Person is F64, and k_core is I32 or"):
        graph.algo.k_core("Knows").write_to("main", "rank")
    with pytest.raises(InputError, match="'slug' is of the key of Person"):
        found.write_to("main", "slug")
    with pytest.raises(InputError, match="Topic has no property 'group'"):
        graph.algo.components(["Knows", "Likes"]).write_to("main", "group")
    with pytest.raises(InputError, match="similarity is about pairs of nodes"):
        graph.algo.similarity("Knows").write_to("main", "rank")
    assert len(list(graph.branch().log())) == 4


def test_narrower_numbers_hold_what_fits_them(graph: Graph) -> None:
    graph.algo.pagerank("Knows").write_to("main", "small")
    graph.algo.triangles("Knows").write_to("main", "size")

    rows = graph.query(
        "query q() { match { $p: Person } return { $p.small, $p.size } }", "q"
    ).to_dicts()
    assert [row["p.size"] for row in rows] == [1, 1, 1, 0]
    assert graph.algo.pagerank("Knows").write_to("main", "small").commit is None


def test_a_rule_that_values_break_is_a_violation_and_nothing_changes(graph: Graph) -> None:
    head = graph.branch().commit.id

    with pytest.raises(ViolationsError):
        graph.algo.components("Knows").write_to("main", "once")
    with pytest.raises(ViolationsError):
        graph.algo.pagerank("Knows").write_to("main", "low")

    assert graph.branch().commit.id == head


def test_with_expect_the_branch_has_to_stand_there(graph: Graph) -> None:
    found = graph.algo.pagerank("Knows")
    found.write_to("main", "rank", expect=found.commit)

    with pytest.raises(HeadMovedError):
        found.write_to("main", "small", expect=found.commit)
