"""However many small commits there were, a table stays whole and in few pieces."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.storage import steps
from omnigraph.versioning.manifest import fresh
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, Upsert
from tests.properties.folding import Fuzz, check_manifest, check_pieces, some_person
from tests.properties.persons import check_ages, check_content, check_words, rows_of
from tests.sample import PERSON, ages, new_graph, people, write

COMMITS = 200


class Crash(Exception):
    """The process ends here."""


@contextmanager
def _ending_at(wanted: str) -> Iterator[None]:
    def observer(step: str) -> None:
        if step == wanted:
            raise Crash(step)

    steps.observer = observer
    try:
        yield
    finally:
        steps.observer = None


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


@pytest.mark.parametrize("seed", [1, 2])
def test_hundreds_of_small_commits_leave_what_a_dict_would_hold(tmp_path: Path, seed: int) -> None:
    Fuzz(tmp_path, seed).run(commits=150, every=6)


def test_rows_updated_again_and_again_stay_in_few_pieces(graph: Graph) -> None:
    random = Random(3)
    rows = {f"k{number}": some_person(random) for number in range(120)}
    write(graph, {PERSON: (Append(rows_of(rows)),)})

    for _ in range(80):
        changed = {each: some_person(random) for each in random.sample(sorted(rows), 3)}
        rows.update(changed)
        write(graph, {PERSON: (Upsert(rows_of(changed)),)})
        check_pieces(graph.snapshot().table(PERSON))

    table = graph.snapshot().table(PERSON)
    check_content(table, rows)
    check_ages(table, rows, 7)
    check_words(table, rows, ("alpha", "bravo"))
    check_manifest(graph)


def test_a_table_emptied_and_filled_again_stays_in_few_pieces(graph: Graph) -> None:
    random = Random(4)
    for turn in range(20):
        rows = {f"k{number}": some_person(random) for number in range(turn % 4)}
        write(graph, {PERSON: (Append(rows_of(rows)),)})
        rows["z"] = some_person(random)
        write(graph, {PERSON: (Upsert(rows_of({"z": rows["z"]})),)})
        table = graph.snapshot().table(PERSON)
        check_content(table, rows)
        check_words(table, rows, ("alpha", "delta"))
        check_pieces(table)

        emptied = Overwrite(rows_of({})) if turn % 2 else DeleteRows(pa.array(sorted(rows)))
        write(graph, {PERSON: (emptied,)})

        table = graph.snapshot().table(PERSON)
        check_content(table, {})
        check_words(table, {}, ("alpha", "delta"))
        check_pieces(table)
    check_manifest(graph)


def test_a_writer_that_ends_while_it_folds_the_manifest_does_no_harm(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "MOST_FRESH", 0)  # each commit makes a row of the one before
    ended = 0
    for number in range(60):
        rows = people({f"k{number}": number})
        try:
            with _ending_at("manifest folded"):
                write(graph, {PERSON: (Append(rows),)})
        except Crash:
            ended += 1
            write(graph, {PERSON: (Append(rows),)})

    assert ended >= 3
    assert ages(graph) == {f"k{number}": number for number in range(60)}
    assert len(list(graph.log())) == 61
    check_manifest(graph)


def test_many_small_commits_leave_few_pieces(graph: Graph) -> None:
    for number in range(COMMITS):
        write(graph, {PERSON: (Append(people({f"k{number}": number % 50})),)})

    assert graph.snapshot().state(PERSON).row_count == COMMITS
    check_pieces(graph.snapshot().table(PERSON))
    check_manifest(graph)


def test_a_btree_of_few_rows_is_one_segment_however_they_came(graph: Graph) -> None:
    for number in range(150):
        write(graph, {PERSON: (Append(people({f"k{number}": number})),)})

    table = graph.snapshot().table(PERSON)
    segments = {each.name: len(each.segments) for each in table.dataset.describe_indices()}
    assert len(table.dataset.get_fragments()) >= 3
    assert [segments[name] for name in ("id_btree", "slug_btree", "age_btree")] == [1, 1, 1]
    assert ages(graph) == {f"k{number}": number for number in range(150)}
