"""A diff gives the rows that differ between any two points, and costs what they cost."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import BranchNotFoundError, TableNotFoundError
from omnigraph.merge.compare.row_change import Change
from omnigraph.storage.reading import metered
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, Upsert
from tests.changes.town import do
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, THEIRS, each, joined, part
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write


def lines(graph: Graph, old: str, new: str = OURS, **filters: list[str]) -> list[str]:
    return sorted(str(change) for change in graph.diff(old, new, **filters))


def brief(changes: list[Change]) -> list[tuple[str, str]]:
    return sorted((str(change.op), change.id) for change in changes)


def test_a_diff_reads_like_a_list_of_what_happened(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(
        graph,
        person("dan", age=4),
        update("ada", age=31, name="Lady"),
        edge("Knows", "bob", "ada"),
        remove("cy"),
        weigh("ada", "bob", 7),
    )

    assert lines(graph, start) == [
        "+ Person dan  age 4",
        "+ bob -Knows-> ada",
        "- Person cy",
        "~ Person ada  name Ada → Lady, age 30 → 31",
        "~ ada -Knows-> bob  weight 1 → 7",
    ]
    assert lines(graph, OURS, start) == [
        "+ Person cy",
        "- Person dan",
        "- bob -Knows-> ada",
        "~ Person ada  name Lady → Ada, age 31 → 30",
        "~ ada -Knows-> bob  weight 7 → 1",
    ]


def test_lists_read_as_their_items(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node N { slug: String @key  at: [DateTime]? }", durable=False)
    do(graph, 'insert N { slug: "n" }')
    before = graph.snapshot().commit.id
    do(graph, 'update N set { at: [datetime("2024-01-31T12:00:00Z")] } where slug = "n"')

    assert lines(graph, before, "main") == ["~ N n  at null → [2024-01-31 12:00:00+00:00]"]


def test_the_machine_form_has_both_images_and_what_changed(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(graph, update("ada", age=31), edge("Knows", "bob", "ada", weight=2), remove("cy"))

    found = graph.diff(start).to_json()

    assert json.loads(json.dumps(found)) == found
    assert (found["from_version"], found["to_version"], found["branch"]) == (1, 4, "main")
    assert found["stats"] == {
        "Person": {"insert": 0, "update": 1, "delete": 1},
        "Knows": {"insert": 1, "update": 0, "delete": 0},
    }
    ada = {"id": "ada", "slug": "ada", "name": "Ada", "age": 30, "email": None}
    cy = {"id": "cy", "slug": "cy", "name": None, "age": None, "email": None}
    person_: dict[str, object] = {"table_key": "node:Person", "kind": "node", "type_name": "Person"}
    person_["manifest_version"] = 4
    new = {"id": joined("bob", "ada"), "from": "bob", "to": "ada", "weight": 2}
    assert found["changes"] == [
        {**person_, "id": "cy", "op": "delete", "before": cy},
        {
            **person_,
            "id": "ada",
            "op": "update",
            "before": ada,
            "after": {**ada, "age": 31},
            "changed": ["age"],
        },
        {
            "table_key": "edge:Knows",
            "kind": "edge",
            "type_name": "Knows",
            "id": joined("bob", "ada"),
            "op": "insert",
            "manifest_version": 4,
            "after": new,
            "endpoints": {"src": "bob", "dst": "ada"},
        },
    ]


def test_a_diff_names_the_branch_that_it_is_compared_to(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(graph, update("ada", age=31))
    head = graph.snapshot().commit.id
    graph.create_tag("v1", head)

    found = {name: graph.diff(start, name).to_json()["branch"] for name in ("main", "v1", head)}

    assert found == {"main": "main", "v1": None, head: None}
    assert [each.changes.branch for each in graph.changes("main", since=start)] == [None]


def test_a_diff_is_narrowed_by_type_by_kind_and_by_what_happened(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(graph, person("dan"), update("ada", age=1), edge("Knows", "bob", "ada"), remove("cy"))

    assert lines(graph, start, types=["Knows"]) == ["+ bob -Knows-> ada"]
    assert lines(graph, start, kinds=["edge"]) == ["+ bob -Knows-> ada"]
    assert lines(graph, start, ops=["delete"]) == ["- Person cy"]
    assert lines(graph, start, ops=["insert"], kinds=["node"]) == ["+ Person dan"]
    assert lines(graph, start, types=["Likes"]) == []
    narrowed = graph.diff(start, ops=["insert"]).stats
    assert {name: dict(counts) for name, counts in narrowed.items()} == {
        "Person": {"insert": 1},
        "Knows": {"insert": 1},
    }


def test_a_type_that_is_not_there_is_refused_with_the_nearest_name(graph: Graph) -> None:
    with pytest.raises(TableNotFoundError, match="no type 'Persn'") as refused:
        graph.diff(OURS, OURS, types=["Persn"])
    assert refused.value.hint == "did you mean 'Person'?"
    with pytest.raises(TableNotFoundError, match="no type 'knows'"):
        graph.changes(types=["Person", "knows"])


def test_what_was_changed_back_is_no_change(graph: Graph) -> None:
    start = graph.snapshot().commit.id
    each(graph, update("ada", age=1), part_ways("ada", "bob"), person("dan"))
    each(graph, update("ada", age=30), edge("Knows", "ada", "bob", weight=1), remove("dan"))

    found = graph.diff(start)

    assert (list(found), found.stats) == ([], {})


def test_a_diff_of_a_point_with_itself_is_empty_and_reads_nothing(graph: Graph) -> None:
    with metered() as meter:
        assert list(graph.diff(OURS, OURS)) == []
    assert meter.bytes == 0


def test_a_diff_goes_between_branches_commits_and_tags(graph: Graph) -> None:
    part(graph, [update("ada", age=1)], [update("bob", age=2)])
    graph.create_tag("v1", THEIRS)
    wanted = ["~ Person ada  age 1 → 30", "~ Person bob  age 20 → 2"]

    for target in (THEIRS, "v1", graph.snapshot(THEIRS).commit.id):
        assert lines(graph, OURS, target) == wanted
    with pytest.raises(BranchNotFoundError, match="nowhere"):
        graph.diff(OURS, "nowhere")


def test_branches_whose_fragments_have_the_same_numbers_are_told_apart(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    write(graph, {PERSON: (Append(people({"a": 1, "b": 2})),)})
    graph.create_branch(THEIRS)
    write(graph, {PERSON: (Append(people({"ours": 3})),)})
    write(graph, {PERSON: (Append(people({"theirs": 4})), DeleteRows(pa.array(["a"])))}, THEIRS)
    numbers = [
        [one.fragment_id for one in graph.snapshot(name).table(PERSON).dataset.get_fragments()]
        for name in (OURS, THEIRS)
    ]
    assert set(numbers[0]) & set(numbers[1]) > {0}

    assert brief(list(graph.diff(OURS, THEIRS))) == [
        ("delete", "a"),
        ("delete", "ours"),
        ("insert", "theirs"),
    ]


def test_rows_that_were_only_moved_are_no_change(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    first = people({f"p{n}": n for n in range(50)})
    write(graph, {PERSON: (Append(first),)})
    start = graph.snapshot().commit.id
    for number in range(12):
        write(graph, {PERSON: (Append(people({f"q{number}": number})),)})
    write(graph, {PERSON: (Overwrite(first),), KNOWS: (Append(knows([("p1", "p2")])),)})

    assert lines(graph, start) == ["+ p1 -Knows-> p2"]


def _cost(folder: Path, rows: int, changed: int) -> int:
    """Return the bytes that a diff reads after so many of so many rows were changed."""
    graph = new_graph(folder / f"g{rows}-{changed}")
    write(graph, {PERSON: (Append(people({f"p{n:06}": n for n in range(rows)})),)})
    start = graph.snapshot().commit.id
    write(graph, {PERSON: (Upsert(people({f"p{n:06}": -n - 1 for n in range(changed)})),)})
    with metered() as meter:
        assert len(list(graph.diff(start))) == changed
    return meter.bytes


def test_the_cost_of_a_diff_grows_with_what_changed_and_not_with_what_is_there(
    tmp_path: Path,
) -> None:
    few, many_rows, many_changes = (
        _cost(tmp_path, rows, changed)
        for rows, changed in [(1_000, 10), (20_000, 10), (20_000, 800)]
    )

    assert many_rows == few
    assert 60 * few < many_changes < 100 * few


def test_a_merge_reads_what_changed_and_not_what_is_there(tmp_path: Path) -> None:
    read = []
    for rows in (1_000, 20_000):
        graph = new_graph(tmp_path / f"g{rows}")
        write(graph, {PERSON: (Append(people({f"p{n:06}": n for n in range(rows)})),)})
        graph.create_branch(THEIRS)
        write(graph, {PERSON: (Upsert(people({f"p{n:06}": -1 for n in range(5)})),)})
        write(graph, {PERSON: (Upsert(people({f"p{n:06}": -2 for n in range(5, 10)})),)}, THEIRS)
        with metered() as meter:
            graph.merge(THEIRS)
        read.append(meter.bytes)

    assert read[0] == read[1]
