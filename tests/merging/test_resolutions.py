"""Where both sides changed the same, somebody says whose version is taken, and it is recorded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import InputError, OmniGraphError
from omnigraph.merge.bulk import TaskMerger
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.merge import merge
from omnigraph.merge.options import MergeOptions
from tests.changes.town import Row, content, do, rows
from tests.merging.nursery import IN_PARTS
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, THEIRS, brief, conflicts, joined, of, part

Content = set[tuple[str, str]]
Look = Callable[[Graph], Content]


def seen(graph: Graph, type_name: str, row_id: str) -> Row:
    found = of(graph, type_name, row_id)
    assert found is not None
    return found


def quarrel(graph: Graph) -> None:
    """Let both sides set two properties of ada and one of bob, and weigh how ada knows bob."""
    ours = [update("ada", age=1, name="one"), update("bob", age=1), weigh("ada", "bob", 10)]
    theirs = [update("ada", age=2, name="two"), update("bob", age=2), weigh("ada", "bob", 20)]
    part(graph, ours, theirs)


def ages_names_weight(graph: Graph) -> tuple[object, ...]:
    ada, bob = seen(graph, "Person", "ada"), seen(graph, "Person", "bob")
    weight = seen(graph, "Knows", joined("ada", "bob"))["weight"]
    return ada["age"], ada["name"], bob["age"], weight


@pytest.mark.parametrize(
    ("side", "left"), [("ours", (1, "one", 1, 10)), ("theirs", (2, "two", 2, 20))]
)
def test_one_side_can_be_taken_everywhere(
    graph: Graph, side: str, left: tuple[object, ...]
) -> None:
    quarrel(graph)

    done = graph.merge(THEIRS, resolutions=side, actor="judge")

    assert ages_names_weight(graph) == left
    assert done.commit is not None
    assert done.commit.message == f"merge 'draft' into 'main'; resolved: all {side}"
    assert (done.commit.actor, str(done.commit.kind)) == ("judge", "merge")


def test_sides_are_taken_by_type_by_row_and_by_property(graph: Graph) -> None:
    quarrel(graph)
    chosen = Resolutions(
        Side.OURS,
        types={"Knows": Side.THEIRS},
        rows={("Person", "ada"): Side.THEIRS},
        properties={("Person", "ada", "name"): Side.OURS},
    )

    done = graph.merge(THEIRS, resolutions=chosen)

    assert ages_names_weight(graph) == (2, "one", 1, 20)
    assert done.commit is not None
    assert done.commit.message == (
        "merge 'draft' into 'main'; resolved: "
        "all ours, Knows theirs, Person.ada theirs, Person.ada.name ours"
    )


def test_what_is_not_settled_stays_a_conflict(graph: Graph) -> None:
    quarrel(graph)
    chosen = Resolutions(rows={("Person", "ada"): Side.THEIRS}, types={"Knows": Side.OURS})

    assert brief(conflicts(graph, resolutions=chosen)) == [
        ("DivergentUpdate", "Person", "bob", "age")
    ]


def test_the_conflicts_of_a_preview_can_be_filled_in_and_given_back(
    graph: Graph, tmp_path: Path
) -> None:
    do(graph, edge("Knows", "bob", "cy", weight=1))
    ours = [update("ada", age=1, name="one"), remove("cy"), person("dan", age=1)]
    theirs = [update("ada", age=2, name="two"), update("cy", age=2), person("dan", age=2)]
    part(graph, ours, theirs)
    path = tmp_path / "choices.json"
    path.write_text(json.dumps(graph.preview_merge(THEIRS).conflicts_json()))

    choices = json.loads(path.read_text())
    for choice in choices:
        choice["take"] = "ours" if choice["property"] == "name" else "theirs"
    done = graph.merge(THEIRS, resolutions=Resolutions.chosen(choices))

    assert {row["id"]: (row["age"], row["name"]) for row in rows(graph, "Person")} == {
        "ada": (2, "one"),
        "bob": (20, None),
        "cy": (2, None),
        "dan": (2, None),
    }
    assert done.commit is not None
    assert done.commit.message is not None
    assert "Person.cy theirs" in done.commit.message
    assert "Person.ada.name ours" in done.commit.message


def test_a_side_for_a_property_that_does_not_conflict_is_refused(graph: Graph) -> None:
    part(graph, [update("ada", name="one")], [update("ada", age=2)])
    (strict, other) = graph.preview_merge(THEIRS, strict=True).conflicts_json()
    assert {strict["property"], other["property"]} == {"age", "name"}
    chosen = Resolutions.chosen([{**each, "take": "ours"} for each in (strict, other)])

    for attempt in (graph.preview_merge, graph.merge):
        with pytest.raises(InputError, match=r"Person 'ada': \w+ is not a conflict of this merge"):
            attempt(THEIRS, resolutions=chosen)
    graph.merge(THEIRS, resolutions=chosen, strict=True)

    assert (seen(graph, "Person", "ada")["age"], seen(graph, "Person", "ada")["name"]) == (
        30,
        "one",
    )


def test_a_side_for_a_property_is_refused_by_a_fast_forward(graph: Graph) -> None:
    part(graph, [], [update("ada", age=2)])
    chosen = Resolutions(properties={("Person", "ada", "age"): Side.OURS})

    with pytest.raises(InputError, match="age is not a conflict of this merge"):
        graph.merge(THEIRS, resolutions=chosen)


def test_a_choice_that_is_left_open_is_no_choice(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", age=2)])
    open_ones = [{**each, "take": None} for each in graph.preview_merge(THEIRS).conflicts_json()]

    assert len(conflicts(graph, resolutions=Resolutions.chosen(open_ones))) == 1


@pytest.mark.parametrize(("side", "stays"), [("ours", False), ("theirs", True)])
def test_a_row_that_we_removed_and_they_set_stays_as_is_chosen(
    graph: Graph, side: str, stays: bool
) -> None:
    part(graph, [remove("cy")], [update("cy", age=5)])

    graph.merge(THEIRS, resolutions=side)

    found = of(graph, "Person", "cy")
    assert (found is not None and found["age"] == 5) is stays


@pytest.mark.parametrize(("side", "stays"), [("ours", True), ("theirs", False)])
def test_a_row_that_they_removed_and_we_set_stays_as_is_chosen(
    graph: Graph, side: str, stays: bool
) -> None:
    part(graph, [update("cy", age=5)], [remove("cy")])

    graph.merge(THEIRS, resolutions=side)

    found = of(graph, "Person", "cy")
    assert (found is not None and found["age"] == 5) is stays


def test_with_ours_their_edges_to_nodes_that_we_removed_stay_out(graph: Graph) -> None:
    part(graph, [remove("cy")], [edge("Knows", "bob", "cy"), edge("Knows", "bob", "ada")])

    graph.merge(THEIRS, resolutions="ours")

    assert {(row["src"], row["dst"]) for row in rows(graph, "Knows")} == {
        ("ada", "bob"),
        ("bob", "ada"),
    }


@pytest.mark.parametrize("ends", [("cy", "cy"), ("cy", "bob")])
def test_with_ours_an_edge_that_lost_both_ends_stays_out(
    graph: Graph, ends: tuple[str, str]
) -> None:
    graph.create_branch(THEIRS)
    do(graph, remove("cy"), remove("bob"))
    do(graph.branch(THEIRS), edge("Knows", *ends))

    graph.merge(THEIRS, resolutions="ours")

    assert rows(graph, "Knows") == []


def test_with_ours_their_row_with_our_unique_value_stays_out_and_its_edges_too(
    graph: Graph,
) -> None:
    theirs = [person("eve", email="x@x"), edge("Knows", "eve", "ada"), edge("Likes", "ada", "eve")]
    part(graph, [person("dan", email="x@x")], theirs)

    graph.merge(THEIRS, resolutions="ours")

    assert of(graph, "Person", "eve") is None
    assert len(rows(graph, "Knows")) == 1
    assert rows(graph, "Likes") == []


def test_with_theirs_an_edge_that_they_weighed_brings_back_the_end_that_we_removed(
    graph: Graph,
) -> None:
    part(graph, [remove("ada")], [weigh("ada", "bob", 9)])

    graph.merge(THEIRS, resolutions="theirs")

    assert seen(graph, "Knows", joined("ada", "bob"))["weight"] == 9
    assert seen(graph, "Person", "ada") == of(graph, "Person", "ada", THEIRS)


def friends(graph: Graph) -> Content:
    return {(str(row["src"]), str(row["dst"])) for row in rows(graph, "Knows")}


def clubs(graph: Graph) -> Content:
    return {(str(row["src"]), str(row["dst"])) for row in rows(graph, "Joined")}


def hosts(graph: Graph) -> Content:
    return {(str(row["src"]), str(row["dst"])) for row in rows(graph, "Hosts")}


def owners(graph: Graph) -> Content:
    found = {(str(row["id"]), str(row["email"])) for row in rows(graph, "Person")}
    return {pair for pair in found if pair[1].startswith("x")}


ADA_BOB = ("ada", "bob")
# What each side does, what is looked at, and what is left of it with ours and with theirs.
BROKEN_TOGETHER: dict[str, tuple[list[str], list[str], Look, Content, Content]] = {
    "they removed the end of our edge": (
        [edge("Knows", "bob", "cy")],
        [remove("cy")],
        friends,
        {ADA_BOB, ("bob", "cy")},
        {ADA_BOB},
    ),
    "we removed the end of their edge": (
        [remove("cy")],
        [edge("Knows", "bob", "cy")],
        friends,
        {ADA_BOB},
        {ADA_BOB, ("bob", "cy")},
    ),
    "two rows got one unique value": (
        [person("dan", email="x")],
        [update("cy", email="x")],
        owners,
        {("dan", "x")},
        {("cy", "x")},
    ),
    "a unique value was set beside another property": (
        [update("cy", email="x")],
        [update("cy", age=7), person("dan", email="x")],
        owners,
        {("cy", "x")},
        {("dan", "x")},
    ),
    "both joined one club too many": (
        [edge("Joined", "ada", "chess")],
        [edge("Joined", "ada", "choir")],
        clubs,
        {("ada", "chess")},
        {("ada", "choir")},
    ),
    "both took one host away": (
        [part_ways("chess", "ada", "Hosts")],
        [part_ways("chess", "bob", "Hosts")],
        hosts,
        {("chess", "bob"), ("choir", "ada")},
        {("chess", "ada"), ("choir", "ada")},
    ),
    "the only host of their club left with us": (
        [remove("cy")],
        ['insert Club { slug: "go" } insert Hosts { from: "go", to: "cy" }'],
        hosts,
        {("chess", "ada"), ("chess", "bob"), ("choir", "ada")},
        {("chess", "ada"), ("chess", "bob"), ("choir", "ada"), ("go", "cy")},
    ),
}


@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize("broken", BROKEN_TOGETHER)
def test_a_rule_that_is_broken_together_is_settled_as_the_chosen_side_has_it(
    graph: Graph, broken: str, side: str
) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    ours, theirs, look, with_ours, with_theirs = BROKEN_TOGETHER[broken]
    part(graph, ours, theirs)
    assert conflicts(graph)

    graph.merge(THEIRS, resolutions=side)

    assert look(graph) == (with_ours if side == "ours" else with_theirs)


def test_the_conflict_of_a_node_with_too_many_edges_is_chosen_by_the_node(graph: Graph) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    part(graph, [edge("Joined", "ada", "chess")], [edge("Joined", "ada", "choir")])
    (found,) = conflicts(graph)
    assert (found["table_key"], found["row_id"]) == ("edge:Joined", "ada")

    chosen = Resolutions.chosen([{**found, "take": "theirs"}])
    done = graph.merge(THEIRS, resolutions=chosen)

    assert clubs(graph) == {("ada", "choir")}
    assert done.commit is not None
    assert (done.commit.message or "").endswith("resolved: Joined.ada theirs")


def test_what_settles_a_rule_takes_no_other_change_away(graph: Graph) -> None:
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    part(
        graph,
        [edge("Joined", "ada", "chess"), update("ada", age=1), update("cy", email="x")],
        [
            edge("Joined", "ada", "choir"),
            update("ada", name="A"),
            update("cy", age=7),
            person("dan", email="x"),
        ],
    )

    graph.merge(THEIRS, resolutions="ours")

    assert (seen(graph, "Person", "ada")["age"], seen(graph, "Person", "ada")["name"]) == (1, "A")
    assert (seen(graph, "Person", "cy")["email"], seen(graph, "Person", "cy")["age"]) == ("x", 7)


def test_an_own_message_is_kept(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])

    done = graph.merge(THEIRS, message="two in one")

    assert done.commit is not None
    assert done.commit.message == "two in one"


def test_resolutions_that_nothing_needs_change_nothing(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", name="A"), part_ways("ada", "bob")])
    graph.create_branch("plain")
    graph.merge(THEIRS, "plain")

    graph.merge(THEIRS, resolutions="theirs")

    assert content(graph) == content(graph, "plain")


def contested_email(graph: Graph) -> None:
    """Let both sides rename cy, and give two people one email: cy by them, bob by us."""
    do(graph, update("cy", age=1, name="Cy", email="old"))
    ours = [update("cy", name="ours"), update("bob", email="x@x")]
    part(graph, ours, [update("cy", name="theirs", email="x@x", age=9)])


def name_age_email(graph: Graph, slug: str = "cy") -> tuple[object, ...]:
    row = seen(graph, "Person", slug)
    return row["name"], row["age"], row["email"]


@pytest.mark.parametrize("bulk", [None, IN_PARTS])
@pytest.mark.parametrize(
    ("side", "cy", "bob"), [("ours", "old", "x@x"), ("theirs", "x@x", "bob@x")]
)
def test_what_is_chosen_for_a_unique_value_leaves_the_rest_of_the_row(
    graph: Graph, side: str, cy: str, bob: str, bulk: TaskMerger | None
) -> None:
    contested_email(graph)
    found = {each["property"]: each for each in graph.preview_merge(THEIRS).conflicts_json()}
    assert brief([*found.values()]) == [
        ("DivergentUpdate", "Person", "cy", "name"),
        ("UniqueViolation", "Person", "cy", "email"),
    ]
    choices = [{**found["name"], "take": "theirs"}, {**found["email"], "take": side}]

    how = MergeOptions(resolutions=Resolutions.chosen(choices), bulk=bulk)
    done = merge(graph.repository, THEIRS, OURS, how)

    assert name_age_email(graph) == ("theirs", 9, cy)
    assert seen(graph, "Person", "bob")["email"] == bob
    assert done.commit is not None
    assert (done.commit.message or "").endswith(
        f"resolved: Person.cy.name theirs, Person.cy.email {side}"
    )


def test_a_third_value_stays_beside_what_is_chosen_for_a_unique_value(graph: Graph) -> None:
    contested_email(graph)
    chosen = Resolutions(
        values={("Person", "cy", "name"): "third"}, rules={("Person", "cy", "email"): Side.OURS}
    )

    graph.merge(THEIRS, resolutions=chosen)

    assert name_age_email(graph) == ("third", 9, "old")


def test_what_is_chosen_for_one_property_settles_no_other_one(graph: Graph) -> None:
    contested_email(graph)
    chosen = Resolutions(rules={("Person", "cy", "email"): Side.OURS})

    assert brief(conflicts(graph, resolutions=chosen)) == [
        ("DivergentUpdate", "Person", "cy", "name")
    ]


def test_what_is_chosen_for_one_row_does_not_overrule_what_is_for_another(graph: Graph) -> None:
    part(
        graph,
        [update("bob", email="x@x"), update("cy", email="y@x")],
        [update("bob", email="z@x"), update("cy", email="x@x")],
    )
    ours_of_bob = {("Person", "bob", "email"): Side.OURS}
    theirs_of_cy = {("Person", "cy", "email"): Side.THEIRS}

    found = conflicts(graph, resolutions=Resolutions(properties={**ours_of_bob, **theirs_of_cy}))

    assert brief(found) == [("UniqueViolation", "Person", "cy", "email")]


def test_a_choice_for_a_rule_that_nobody_breaks_is_not_refused(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("ada", name="A")])

    graph.merge(THEIRS, resolutions=Resolutions(rules={("Person", "ada", "email"): Side.OURS}))

    assert name_age_email(graph, "ada") == ("A", 1, None)


def test_a_side_can_be_chosen_for_a_property_that_breaks_a_rule(graph: Graph) -> None:
    part(graph, [update("bob", email="x@x")], [update("cy", email="x@x", age=9)])

    graph.merge(
        THEIRS, resolutions=Resolutions(properties={("Person", "cy", "email"): Side.THEIRS})
    )

    assert name_age_email(graph) == (None, 9, "x@x")


UNIQUE = {"kind": "UniqueViolation", "type_name": "Person", "row_id": "cy", "property": "email"}
SET = {**UNIQUE, "kind": "DivergentUpdate"}
ORPHAN = {"kind": "OrphanEdge", "type_name": "Likes", "row_id": "e"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([{**UNIQUE, "take": "ours"}, {**SET, "take": "theirs"}], "has both ours and theirs"),
        ([{**UNIQUE, "take": "ours"}, {**SET, "value": "z@x"}], "has both `take` and `value`"),
        ([{**SET, "take": "ours"}, {**SET, "take": "theirs"}], "has both ours and theirs"),
        (
            [
                {**ORPHAN, "property": "from", "take": "ours"},
                {**ORPHAN, "property": "to", "take": "theirs"},
            ],
            "the resolution of Likes 'e' has both ours and theirs",
        ),
    ],
)
def test_choices_that_exclude_each_other_are_refused(
    choices: list[dict[str, str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Resolutions.chosen(choices)


def test_choices_come_back_from_the_fields_of_a_request() -> None:
    chosen = Resolutions(
        properties={("Person", "cy", "name"): Side.THEIRS},
        rules={("Person", "cy", "email"): Side.OURS},
    )

    assert Resolutions.from_json(**chosen.to_json()) == chosen


MOVED = '{{"edge": "Likes", "from": "{}", "to": "bob", "data": {{"id": "e", "weight": {}}}}}'


@pytest.mark.parametrize(("side", "source"), [("ours", "cy"), ("theirs", "ada")])
def test_what_settles_the_end_of_an_edge_leaves_its_weight(
    graph: Graph, side: str, source: str
) -> None:
    graph.load(MOVED.format("ada", 1), engine="inline")
    graph.create_branch(THEIRS)
    graph.load(MOVED.format("cy", 1), mode="merge", engine="inline")
    graph.load(MOVED.format("ada", 7), mode="merge", branch=THEIRS, engine="inline")
    do(graph.branch(THEIRS), remove("cy"))

    graph.merge(THEIRS, resolutions=side)

    (like,) = rows(graph, "Likes")
    assert (like["src"], like["weight"]) == (source, 7)


def test_a_merge_sent_again_with_its_choices_in_another_order_is_the_same(graph: Graph) -> None:
    quarrel(graph)
    main = graph.branch(OURS, operation_id="once")
    types = {"Person": Side.OURS, "Knows": Side.THEIRS}
    done = main.merge(THEIRS, resolutions=Resolutions(types=types))

    again = main.merge(THEIRS, resolutions=Resolutions(types=dict(reversed(types.items()))))

    assert again.commit == done.commit


@pytest.mark.parametrize("what", ["moved", "gone"])
def test_a_merge_sent_again_is_answered_whatever_became_of_its_source(
    graph: Graph, what: str
) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])
    main, expected = graph.branch(OURS, operation_id="once"), graph.snapshot(THEIRS).commit.id
    done = main.merge(THEIRS, expect_source=expected)
    if what == "moved":
        do(graph.branch(THEIRS), update("bob", age=3))
    else:
        graph.delete_branch(THEIRS)

    again = main.merge(THEIRS, expect_source=expected)

    assert again.commit == done.commit
    with pytest.raises(OmniGraphError):
        graph.branch(OURS, operation_id="another").merge(THEIRS, expect_source=expected)
