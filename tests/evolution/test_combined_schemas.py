"""What schemas of two branches say only together: about interfaces, and about what is gone."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import SchemaConflictError
from tests.evolution.test_drops import change
from tests.evolution.town import rows
from tests.templates import fresh_graph

SIDES = pytest.mark.parametrize(("source", "target"), [("draft", "main"), ("main", "draft")])


def parted(root: Path, row: str, schema: str, ours: str, theirs: str) -> Graph:
    """Make a graph of one row, and two branches of it with other schemas."""
    graph = fresh_graph(root / "graph", schema)
    change(graph, f"insert {row}")
    graph.create_branch("draft")
    graph.apply_schema(ours, allow_data_loss=True)
    graph.apply_schema(theirs, "draft", allow_data_loss=True)
    return graph


@SIDES
@pytest.mark.parametrize("kind", ["String", "String?"])
@pytest.mark.parametrize(
    "renamed",
    [
        'node Q { slug: String @key  title: %s @rename_from("name") }',
        'node Q { slug: String @key  title: %s @rename_from("name") }\nnode Other { x: I32? }',
    ],
)
def test_a_property_that_one_side_renames_is_not_that_of_an_interface_of_the_other(
    tmp_path: Path, source: str, target: str, kind: str, renamed: str
) -> None:
    named = "interface Named { name: %s }\nnode Q implements Named { slug: String @key }"
    texts = ("node Q { slug: String @key  name: %s }", renamed, named)
    graph = parted(tmp_path, 'Q { slug: "a" name: "x" }', *(each % kind for each in texts))
    told = "Q implements Named, whose 'name' one side renamed or dropped"

    for merge in (graph.preview_merge, graph.merge):
        with pytest.raises(SchemaConflictError, match=told):
            merge(source, target)
    assert rows(graph, "node:Q")[0]["title"] == "x"


@SIDES
def test_a_property_that_one_side_drops_is_not_brought_back_by_an_interface_of_the_other(
    tmp_path: Path, source: str, target: str
) -> None:
    named = "interface Named { name: String? }\nnode Q implements Named { slug: String @key }"
    texts = ("node Q { slug: String @key  name: String? }", "node Q { slug: String @key }", named)
    graph = parted(tmp_path, 'Q { slug: "a" name: "x" }', *texts)

    with pytest.raises(SchemaConflictError, match="whose 'name' one side renamed or dropped"):
        graph.merge(source, target)


NAMED = "interface Named { name: String? }\n"
TITLED = 'interface Named { title: String? @rename_from("name") }\n'
KEYED = "{ slug: String @key }"
HELD = "{ slug: String @key  name: String? }"


@SIDES
@pytest.mark.parametrize(
    ("first", "ours", "theirs"),
    [
        pytest.param(
            f"{NAMED}node Q implements Named {KEYED}",
            f"{TITLED}node Q implements Named {KEYED}",
            f"{NAMED}node Q implements Named {KEYED}\nnode R implements Named {KEYED}",
            id="a new type",
        ),
        pytest.param(
            f"{NAMED}node Q {HELD}",
            f"{TITLED}node Q {HELD}",
            f"{NAMED}node Q implements Named {HELD}",
            id="an old one that had the property",
        ),
    ],
)
def test_a_property_renamed_in_an_interface_does_not_begin_anew_in_types_of_the_other_side(
    tmp_path: Path, source: str, target: str, first: str, ours: str, theirs: str
) -> None:
    graph = parted(tmp_path, 'Q { slug: "a" name: "x" }', first, ours, theirs)

    with pytest.raises(SchemaConflictError, match=r"whose 'title' one side renamed or dropped"):
        graph.merge(source, target)


@SIDES
def test_a_new_property_of_an_interface_is_added_to_types_that_the_other_side_adds_to_it(
    tmp_path: Path, source: str, target: str
) -> None:
    texts = [
        f"interface I {{ k: I32 @default(3) {more} }} node P implements I {{ slug: String @key }} "
        f"node Q {implemented} {{ slug: String @key }}"
        for more, implemented in (("", ""), ("", "implements I"), ("m: I32 @default(4)", ""))
    ]
    graph = parted(tmp_path, 'Q { slug: "a" }', *texts)

    graph.merge(source, target)

    assert rows(graph, "node:Q", target) == [{"id": "a", "slug": "a", "k": 3, "m": 4}]
    assert graph.fsck().is_sound


@SIDES
def test_an_interface_does_not_change_a_type_that_the_other_side_adds_to_it(
    tmp_path: Path, source: str, target: str
) -> None:
    bare = "interface I { k: I32? } node Q { m: I32  k: I32? }"
    wider = bare.replace("k: I32? }", "k: I32?  m: I32 @default(4) }", 1)
    implementing = bare.replace("node Q", "node Q implements I")
    graph = parted(tmp_path, "Q { m: 1 }", bare, wider, implementing)

    with pytest.raises(SchemaConflictError, match=r"Q\.m: the default of a property cannot change"):
        graph.merge(source, target)


@SIDES
@pytest.mark.parametrize(
    ("kind", "value"), [("I32?", 5), ("I32 @default(3)", 3), ("String?", None)]
)
def test_a_dropped_property_comes_back_with_an_interface_only_if_it_fits(
    tmp_path: Path, source: str, target: str, kind: str, value: object
) -> None:
    shared = "interface I { k: I32? }\nnode P implements I { slug: String @key }\n"
    wider = shared.replace("k: I32?", f"k: I32?  m: {kind}")
    graph = fresh_graph(tmp_path / "graph", shared + "node Q { slug: String @key  m: I32? }")
    change(graph, 'insert Q { slug: "a" m: 5 }')
    graph.apply_schema(shared + "node Q { slug: String @key }", allow_data_loss=True)
    graph.create_branch("draft")
    graph.apply_schema(wider + "node Q { slug: String @key }")
    graph.apply_schema(shared + "node Q implements I { slug: String @key }", "draft")

    graph.merge(source, target)

    assert [row["m"] for row in rows(graph, "node:Q", target)] == [value]


NOTED = "node P { slug: String @key  note: String? }"
NOTELESS = "node P { slug: String @key }"
WITH_Q = " node Q { slug: String @key }"


@SIDES
@pytest.mark.parametrize("elsewhere", ["", WITH_Q])
def test_what_one_side_restored_and_dropped_again_comes_back_as_it_was_last(
    tmp_path: Path, source: str, target: str, elsewhere: str
) -> None:
    graph = fresh_graph(tmp_path / "graph", NOTED)
    change(graph, 'insert P { slug: "a" note: "old" }')
    graph.apply_schema(NOTELESS, allow_data_loss=True)
    graph.create_branch("draft")
    graph.apply_schema(NOTED, source)
    change(graph, 'update P set { note: "new" } where slug = "a"', source)
    graph.apply_schema(NOTELESS, source, allow_data_loss=True)
    change(graph, 'insert P { slug: "z" }', target)
    graph.apply_schema(NOTELESS + elsewhere, target)

    graph.merge(source, target)
    graph.merge(target, source)

    for branch in (source, target):
        graph.apply_schema(NOTED + elsewhere, branch)
        found = {row["id"]: row["note"] for row in rows(graph, "node:P", branch)}
        assert found == {"a": "new", "z": None}


def test_what_both_sides_dropped_comes_back_as_ours_was(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "graph", NOTED)
    graph.create_branch("draft")
    for branch in ("main", "draft"):
        change(graph, f'insert P {{ slug: "{branch}" note: "{branch}" }}', branch)
        graph.apply_schema(NOTELESS, branch, allow_data_loss=True)

    graph.merge("draft")

    graph.apply_schema(NOTED)
    found = {row["id"]: row["note"] for row in rows(graph, "node:P")}
    assert found == {"main": "main", "draft": None}


LINKED = "node P { slug: String @key }\nedge E: P -> P\n"
UNLINKED = "node P { slug: String @key }\n"
RENAMED = 'node Q @rename_from("P") { slug: String @key }\n'
RELINKED = RENAMED + "edge E: Q -> Q\n"


@SIDES
@pytest.mark.parametrize(
    ("first", "ours", "theirs"),
    [
        pytest.param(UNLINKED, [RENAMED], [UNLINKED + "node X {}"], id="dropped before"),
        pytest.param(LINKED, [RELINKED], [UNLINKED], id="dropped by the other side"),
        pytest.param(UNLINKED, [RENAMED], [LINKED], id="restored by the other side"),
        pytest.param(UNLINKED, [LINKED, RELINKED], [UNLINKED + "node X {}"], id="restored too"),
    ],
)
def test_a_dropped_edge_type_comes_back_between_nodes_that_one_side_renames(
    tmp_path: Path, source: str, target: str, first: str, ours: list[str], theirs: list[str]
) -> None:
    graph = fresh_graph(tmp_path / "graph", LINKED)
    change(graph, 'insert P { slug: "a" } insert P { slug: "b" }')
    change(graph, 'insert E { from: "a" to: "b" }')
    graph.apply_schema(first, allow_data_loss=True)
    graph.create_branch("draft")
    for branch, schemas in ((target, ours), (source, theirs)):
        for schema in schemas:
            graph.apply_schema(schema, branch, allow_data_loss=True)

    graph.merge(source, target)

    if "E" not in graph.snapshot(target).catalog.edges:
        graph.apply_schema(RELINKED, target, allow_data_loss=True)
    assert [row["dst"] for row in rows(graph, "edge:E", target)] == ["b"]
    assert graph.fsck().is_sound


RANKLESS = "node P { slug: String @key }"
RANKED = "node P { slug: String @key  rank: I32 }"


def rank(graph: Graph, branch: str) -> None:
    """Give P a required property without a default, which only a dropped one can become."""
    for schema in (RANKED.replace("I32", "I32 @default(1)"), RANKLESS, RANKED):
        graph.apply_schema(schema, branch, allow_data_loss=True)


@pytest.fixture
def rankless(tmp_path: Path) -> Graph:
    """A graph of one node, with a branch at the same commit."""
    graph = fresh_graph(tmp_path / "graph", RANKLESS)
    change(graph, 'insert P { slug: "a" }')
    graph.create_branch("draft")
    return graph


@SIDES
@pytest.mark.parametrize("elsewhere", ["", WITH_Q])
def test_a_required_property_is_a_conflict_with_rows_that_never_had_it(
    rankless: Graph, source: str, target: str, elsewhere: str
) -> None:
    rank(rankless, "main")
    rankless.apply_schema(RANKLESS + elsewhere, "draft")
    change(rankless, 'insert P { slug: "b" }', "draft")

    for merge in (rankless.preview_merge, rankless.merge):
        with pytest.raises(SchemaConflictError, match=r"P\.rank of .a.: is required"):
            merge(source, target)


@SIDES
def test_a_required_property_that_both_sides_have_may_be_missing_in_their_base(
    rankless: Graph, source: str, target: str
) -> None:
    for branch in ("main", "draft"):
        rank(rankless, branch)
        change(rankless, f'insert P {{ slug: "{branch}", rank: 2 }}', branch)

    rankless.merge(source, target)

    found = {row["id"]: row["rank"] for row in rows(rankless, "node:P", target)}
    assert found == {"a": 1, "main": 2, "draft": 2}


@SIDES
@pytest.mark.parametrize("elsewhere", ["", WITH_Q])
def test_a_required_property_is_no_conflict_with_a_type_without_rows(
    rankless: Graph, source: str, target: str, elsewhere: str
) -> None:
    for branch in ("main", "draft"):
        change(rankless, 'delete P where slug = "a"', branch)
    rankless.apply_schema(RANKLESS + elsewhere, "draft")
    rank(rankless, "main")
    heads = [rankless.snapshot(branch).commit.id for branch in ("main", "draft")]

    rankless.merge(heads[1])
    rankless.merge(heads[0], "draft")
    for branch in ("main", "draft"):
        change(rankless, f'insert P {{ slug: "{branch}", rank: 2 }}', branch)
    rankless.merge(source, target)

    found = {row["id"]: row["rank"] for row in rows(rankless, "node:P", target)}
    assert found == {"main": 2, "draft": 2}
