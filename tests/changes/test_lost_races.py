"""A change that somebody else overtook is made again on what they left, or says that it is not."""

from collections.abc import Callable
from functools import partial

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import HeadMovedError, ViolationsError
from omnigraph.versioning.attempts import Patience
from tests.changes.meanwhile import READY, STAGED, meanwhile
from tests.changes.statements import link, person
from tests.changes.town import column, commits, content, counts, do, ends, refused, rows

STEPS = (STAGED, READY)


@pytest.fixture
def other(settled: Graph) -> Graph:
    """Somebody else with an own handle."""
    return open_graph(settled.uri, durable=False)


@pytest.mark.parametrize("step", STEPS)
def test_both_writes_of_one_table_arrive(settled: Graph, other: Graph, step: str) -> None:
    version = commits(settled)
    with meanwhile(partial(do, other, person("eve", age="9")), step=step):
        receipt = do(settled, person("dan", age="8"))

    assert counts(receipt) == (1, 0)
    assert commits(settled) == version + 2
    ages = column(settled, "Person", "age")
    assert (ages["dan"], ages["eve"]) == (8, 9)
    assert receipt.commit == settled.snapshot().commit


@pytest.mark.parametrize("step", STEPS)
def test_a_row_that_would_stay_as_it_is_is_written_when_the_other_removed_it(
    settled: Graph, other: Graph, step: str
) -> None:
    do(settled, 'insert Note { id: "n1", text: "t" }')
    both = f'{person("dan", age="8")} insert Note {{ id: "n1", text: "t" }}'
    with meanwhile(partial(do, other, 'delete Note where id = "n1"'), step=step):
        receipt = do(settled, both)

    assert counts(receipt) == (2, 0)
    assert column(settled, "Note", "text") == {"n1": "t"}


@pytest.mark.parametrize("step", STEPS)
def test_a_condition_that_found_nothing_finds_what_the_other_wrote(
    settled: Graph, other: Graph, step: str
) -> None:
    both = f'{person("dan", age="8")} update Note set {{ text: "new" }} where text = "old"'
    with meanwhile(partial(do, other, 'insert Note { id: "n1", text: "old" }'), step=step):
        receipt = do(settled, both)

    assert counts(receipt) == (2, 0)
    assert column(settled, "Note", "text") == {"n1": "new"}


@pytest.mark.parametrize("step", STEPS)
def test_a_write_of_another_table_is_built_upon(settled: Graph, other: Graph, step: str) -> None:
    with meanwhile(partial(do, other, 'insert Note { text: "t" }'), step=step) as seen:
        do(settled, person("dan"))
    assert seen.seen.count(STAGED) == 1, "nothing was staged again"
    assert "dan" in column(settled, "Person", "age")
    assert len(rows(settled, "Note")) == 1


def test_an_update_is_made_on_what_the_other_left(settled: Graph, other: Graph) -> None:
    grow = 'update Person set { kind: "staff" } where age > 30'
    with meanwhile(partial(do, other, 'update Person set { age: 40 } where slug = "bob"')):
        receipt = do(settled, grow)
    assert counts(receipt) == (2, 0)
    assert column(settled, "Person", "kind") == {"ada": "staff", "bob": "staff", "cy": "guest"}
    assert column(settled, "Person", "age")["bob"] == 40


def test_an_upsert_of_the_same_key_keeps_what_the_other_wrote_and_it_does_not_name(
    settled: Graph, other: Graph
) -> None:
    with meanwhile(partial(do, other, person("dan", name='"Theirs"', age="5"))):
        receipt = do(settled, person("dan", name='"Ours"'))
    assert counts(receipt) == (1, 0)
    assert column(settled, "Person", "name")["dan"] == "Ours"
    assert column(settled, "Person", "age")["dan"] == 5


def test_the_same_insert_of_both_is_one_commit(settled: Graph, other: Graph) -> None:
    version = commits(settled)
    with meanwhile(partial(do, other, person("dan"))):
        receipt = do(settled, person("dan"))
    assert (receipt.commit, counts(receipt)) == (None, (0, 0))
    assert commits(settled) == version + 1


def test_an_end_that_was_removed_meanwhile_is_missed(settled: Graph, other: Graph) -> None:
    with meanwhile(partial(do, other, 'delete Person where slug = "cy"')):
        found = refused(settled, link("Knows", "ada", "cy"))
    assert len(found) == 1
    assert found[0].startswith("error[V14]: Knows.to of ")
    assert found[0].endswith("there is no Person 'cy'")
    assert ends(settled, "Knows") == [("ada", "bob"), ("bob", "ada")]


@pytest.mark.parametrize("step", STEPS)
def test_an_edge_that_was_added_meanwhile_goes_with_its_node(
    settled: Graph, other: Graph, step: str
) -> None:
    added = (link("Knows", "bob", "cy"), link("Lives", "cy", "ulm"))
    with meanwhile(partial(do, other, *added), step=step):
        receipt = do(settled, 'delete Person where slug = "cy"')
    assert counts(receipt) == (1, 3), "the loop and both new edges"
    assert ends(settled, "Knows") == [("ada", "bob"), ("bob", "ada")]
    assert ends(settled, "Lives") == [("ada", "ulm")]


def test_a_node_that_was_added_meanwhile_and_meets_the_condition_is_deleted(
    settled: Graph, other: Graph
) -> None:
    with meanwhile(partial(do, other, person("dan", age="20"), link("Knows", "dan", "dan"))):
        receipt = do(settled, "delete Person where age = 20")
    assert counts(receipt) == (2, 3)
    assert set(column(settled, "Person", "age")) == {"ada", "cy"}


@pytest.mark.parametrize(
    ("theirs", "ours", "told"),
    [
        (person("dan", email='"d@x"'), person("eve", email='"d@x"'), "V13"),
        (link("Lives", "bob", "ulm"), link("Lives", "bob", "rom"), "V15"),
        (link("Twinned", "ulm", "ulm"), link("Twinned", "rom", "ulm"), "V13"),
    ],
)
def test_rules_between_rows_hold_against_what_came_meanwhile(
    settled: Graph, other: Graph, theirs: str, ours: str, told: str
) -> None:
    with meanwhile(partial(do, other, theirs)), pytest.raises(ViolationsError) as caught:
        do(settled, ours)
    assert caught.value.code == told


def test_a_change_is_given_up_when_its_time_is_over(settled: Graph, other: Graph) -> None:
    settled.repository.patience = Patience(seconds=0.0)
    with (
        meanwhile(partial(do, other, person("eve")), step=READY),
        pytest.raises(HeadMovedError, match="kept moving; gave up after 0 s"),
    ):
        do(settled, person("dan"))
    assert "dan" not in column(settled, "Person", "age")


def test_a_change_is_made_again_as_often_as_it_takes(settled: Graph, other: Graph) -> None:
    def winner(number: int) -> Callable[[], object]:
        return lambda: do(other, person(f"w{number}"))

    with meanwhile(*map(winner, range(30)), step=READY):
        do(settled, person("dan"))
    assert "dan" in column(settled, "Person", "age")


# Expectations


def head(graph: Graph, branch: str = "main") -> str:
    return graph.snapshot(branch).commit.id


def test_a_branch_that_stands_where_it_is_expected_is_changed(settled: Graph) -> None:
    receipt = do(settled.branch(expect=head(settled)), person("dan"))
    assert receipt.commit is not None
    assert receipt.commit.id == head(settled)


@pytest.mark.parametrize("statement", [person("dan"), 'delete Person where slug = "nobody"'])
def test_a_branch_that_moved_before_is_not_changed(settled: Graph, statement: str) -> None:
    expected = head(settled)
    do(settled, 'insert Note { text: "t" }')
    before = content(settled)
    with pytest.raises(HeadMovedError, match=f"stands at {head(settled)}, not at {expected}"):
        do(settled.branch(expect=expected), statement)
    assert content(settled) == before


@pytest.mark.parametrize("theirs", [person("eve"), 'insert Note { text: "t" }'])
@pytest.mark.parametrize("step", STEPS)
def test_a_branch_that_moves_meanwhile_is_not_changed(
    settled: Graph, other: Graph, step: str, theirs: str
) -> None:
    expected, version = head(settled), commits(settled)
    with (
        meanwhile(partial(do, other, theirs), step=step),
        pytest.raises(HeadMovedError, match=f"not at {expected}"),
    ):
        do(settled.branch(expect=expected), person("dan"))
    assert commits(settled) == version + 1
    assert "dan" not in column(settled, "Person", "age")


def test_a_commit_of_another_branch_is_not_expected_here(settled: Graph) -> None:
    settled.create_branch("draft")
    expected = head(settled)
    do(settled, person("dan"))
    do(settled.branch("draft", expect=expected), person("eve"))
    with pytest.raises(HeadMovedError):
        do(settled.branch(expect=head(settled, "draft")), person("fay"))


def test_a_part_of_an_id_is_not_where_a_branch_is_expected(settled: Graph) -> None:
    for part in (head(settled)[:12], head(settled)[-8:]):
        with pytest.raises(HeadMovedError) as raised:
            do(settled.branch(expect=part), person("dan"))
        assert raised.value.hint == "'expect' takes a whole commit id"


def test_a_change_is_not_given_up_because_others_write_other_tables(
    settled: Graph, other: Graph
) -> None:
    notes = [partial(do, other, 'insert Note { text: "t" }')] * 6
    with meanwhile(*notes, step=READY):
        do(settled, person("dan"))
    assert "dan" in column(settled, "Person", "age")
    assert len(rows(settled, "Note")) == len(notes)
