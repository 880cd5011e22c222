"""The rows that differ between two versions are told by fragments, whichever way they came."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.storage.finding.delta import Delta, delta_between
from omnigraph.storage.reading import ADDRESS, read_with_addresses
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, TableWrite, Upsert
from tests.sample import PERSON, new_graph, people, write

MANY = 10_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph with ten persons."""
    graph = new_graph(tmp_path / "g")
    write(graph, {PERSON: (Append(persons(range(10))),)})
    return graph


def persons(numbers: Iterable[int], age: int = 30) -> pa.Table:
    return people({f"p{number:03}": age for number in numbers})


def ids(numbers: Iterable[int]) -> pa.Array:
    return pa.array([f"p{number:03}" for number in numbers])


def table(graph: Graph, branch: str = "main") -> Table:
    return graph.snapshot(branch).table(PERSON)


def written(graph: Graph, *writes: TableWrite, branch: str = "main") -> Table:
    """Change the persons of a branch, and give their table."""
    write(graph, {PERSON: writes}, branch)
    return table(graph, branch)


def names(version: Table, addresses: object) -> list[str]:
    """Return the ids of the rows of some addresses, in their order."""
    where = set(pa.array(addresses).to_pylist())
    found = read_with_addresses(version, ["id"]).to_pylist()
    return sorted(row["id"] for row in found if row[ADDRESS] in where)


def told(old: Table, new: Table) -> tuple[list[str], list[str]]:
    """Return the ids of the rows that went and of those that came; each difference is a row."""
    delta = delta_between(old, new, MANY)
    assert delta is not None
    gone, came = names(old, delta.removed), names(new, delta.added)
    assert (len(gone), len(came)) == (len(delta.removed), len(delta.added))
    return gone, came


def check_leads_from_one_to_the_other(old: Table, new: Table) -> None:
    """Fail unless the old rows without some and with others are the new rows."""
    delta = delta_between(old, new, MANY)
    assert delta is not None
    assert applied(old, new, delta) == rows(new)
    assert len(delta_between(new, old, MANY) or ()) == len(delta)


def rows(version: Table) -> dict[int, tuple[object, ...]]:
    """Return the rows of a version by their addresses."""
    found = read_with_addresses(version, ["id", "age"]).to_pylist()
    return {row[ADDRESS]: (row["id"], row["age"]) for row in found}


def applied(old: Table, new: Table, delta: Delta) -> dict[int, tuple[object, ...]]:
    gone, came = set(delta.removed.tolist()), delta.added.tolist()
    kept = {where: row for where, row in rows(old).items() if where not in gone}
    fresh = rows(new)
    assert not kept.keys() & set(came)
    return kept | {where: fresh[where] for where in came}


def test_a_version_differs_from_itself_in_nothing(graph: Graph) -> None:
    assert told(table(graph), table(graph)) == ([], [])


def test_appended_rows_came(graph: Graph) -> None:
    before = table(graph)

    after = written(graph, Append(persons(range(20, 23))))

    assert told(before, after) == ([], ["p020", "p021", "p022"])
    assert told(after, before) == (["p020", "p021", "p022"], [])


def test_deleted_rows_went(graph: Graph) -> None:
    before = table(graph)

    after = written(graph, DeleteRows(ids([3, 4])))
    more = written(graph, DeleteRows(ids([5])))

    assert told(before, after) == (["p003", "p004"], [])
    assert told(before, more) == (["p003", "p004", "p005"], [])
    assert told(after, more) == (["p005"], [])
    assert told(more, before) == ([], ["p003", "p004", "p005"])


def test_a_replaced_row_went_and_came(graph: Graph) -> None:
    before = table(graph)

    after = written(graph, Upsert(persons([2, 30], age=31)))

    assert told(before, after) == (["p002"], ["p002", "p030"])


def test_a_row_that_came_and_went_between_two_versions_is_no_difference(graph: Graph) -> None:
    before = table(graph)
    written(graph, Append(persons([40])))

    after = written(graph, DeleteRows(ids([40])))

    assert told(before, after) == ([], [])


def test_all_rows_differ_after_an_overwrite(graph: Graph) -> None:
    before = table(graph)

    after = written(graph, Overwrite(persons(range(3))))

    assert told(before, after) == ([f"p{n:03}" for n in range(10)], ["p000", "p001", "p002"])


def test_rows_that_a_fold_moved_are_told_and_no_others(graph: Graph) -> None:
    versions = [table(graph)]
    versions += [written(graph, Append(persons([number]))) for number in range(100, 140)]
    fragments = [len(version.dataset.get_fragments()) for version in versions]

    assert max(fragments) < 40, "small fragments were folded"
    for old, new in pairwise(versions):
        check_leads_from_one_to_the_other(old, new)
    check_leads_from_one_to_the_other(versions[0], versions[-1])


def test_fragments_of_two_branches_that_share_a_number_are_told_apart(graph: Graph) -> None:
    graph.create_branch("draft")
    one = written(graph, Append(persons([50, 51])))
    other = written(graph, Append(persons([60, 61])), branch="draft")
    numbers = [{each.fragment_id for each in each.dataset.get_fragments()} for each in (one, other)]

    assert numbers[0] == numbers[1], "both branches gave the new fragment one number"
    assert told(one, other) == (["p050", "p051"], ["p060", "p061"])


def test_deletions_of_two_branches_in_one_fragment_are_told_apart(graph: Graph) -> None:
    graph.create_branch("draft")
    one = written(graph, DeleteRows(ids([1, 2])))
    other = written(graph, DeleteRows(ids([2, 3])), branch="draft")

    assert told(one, other) == (["p003"], ["p001"])


@pytest.mark.parametrize("seed", range(3))
def test_any_two_versions_of_a_random_history_differ_by_their_rows(graph: Graph, seed: int) -> None:
    random = Random(seed)
    graph.create_branch("draft")
    versions = [table(graph)]
    for step in range(12):
        branch = random.choice(("main", "draft"))
        here = sorted(str(row[0]) for row in rows(table(graph, branch)).values())
        some = random.sample(here, min(len(here), random.randint(1, 3)))
        change = random.choice(
            (
                Append(persons([100 + step])),
                DeleteRows(pa.array(some)),
                Upsert(people(dict.fromkeys([*some, f"p{200 + step}"], step))),
            )
        )
        versions.append(written(graph, change, branch=branch))

    for _ in range(30):
        check_leads_from_one_to_the_other(*random.sample(versions, 2))


def test_more_differences_than_wanted_are_not_told(graph: Graph) -> None:
    before = table(graph)
    after = written(graph, Upsert(persons([1, 2, 30])))

    assert delta_between(before, after, 4) is None
    delta = delta_between(before, after, 5)
    assert delta is not None
    assert len(delta) == 5
    assert delta.nbytes == 40


def test_more_deletions_than_wanted_are_not_told_when_they_are_as_many_on_both_sides(
    graph: Graph,
) -> None:
    graph.create_branch("draft")
    one = written(graph, DeleteRows(ids([1, 2, 3])))
    other = written(graph, DeleteRows(ids([4, 5, 6])), branch="draft")

    assert delta_between(one, other, 5) is None
    assert delta_between(one, other, 6) is not None
