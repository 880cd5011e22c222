"""Handles that threads share are never used for a call that changes them."""

from pathlib import Path
from typing import Any

import lance
import pytest

from omnigraph.storage import indexes, steps
from omnigraph.storage import table as storage
from omnigraph.versioning.writes import Append, Upsert
from tests.sample import PERSON, ages, new_graph, people, write


def test_an_index_is_built_on_a_handle_that_nobody_else_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "g")
    kept = graph.repository.tables._handles
    build = indexes.build_segments
    built: list[bool] = []

    def watched(dataset: lance.LanceDataset, *more: object) -> object:
        built.append(any(each.dataset is dataset for each in kept.values()))
        return build(dataset, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(storage, "build_segments", watched)
    for number in range(20):
        write(graph, {PERSON: (Append(people({f"k{number}": number})),)})

    assert built
    assert not any(built)


def test_a_kept_handle_stays_at_its_version(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    for number in range(20):
        write(graph, {PERSON: (Append(people({f"k{number}": number})),)})

    kept = graph.repository.tables._handles
    assert {table.dataset.version == version for (_, version), table in kept.items()} == {True}


def test_of_the_versions_that_a_write_makes_the_last_alone_is_kept(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    made: list[str] = []
    steps.observer = made.append
    try:
        write(graph, {PERSON: (Append(people({"ann": 1})), Upsert(people({"bob": 2})))})
    finally:
        steps.observer = None

    last = graph.snapshot().state(PERSON)
    detached = [each for each in graph.repository.tables._handles if each[1] >= 1 << 63]
    assert made.count("version staged") == 3
    assert detached == [(last.path, last.version)]


def test_rows_that_make_a_fold_due_are_written_once(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    trace: list[str] = []
    fragments: list[int] = []
    for number in range(9):
        steps.observer = trace.append
        try:
            write(graph, {PERSON: (Append(people({f"k{number}": number})),)})
        finally:
            steps.observer = None
        fragments.append(len(graph.snapshot().table(PERSON).dataset.get_fragments()))

    assert fragments == [1, 2, 3, 4, 1, 2, 3, 4, 1]
    assert trace.count("fragments written") == len(fragments)
    assert ages(graph) == {f"k{number}": number for number in range(9)}


def test_a_table_of_many_rows_shares_its_cache_only_with_others_like_it(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    write(graph, {PERSON: (Upsert(people({"ada": 36})),)})
    tables, state = graph.repository.tables, graph.snapshot().state(PERSON)
    small = tables.open(state.path, state.version)

    large = tables.open(state.path, state.version, rows=1_000_000)

    assert not _share_cache(large, small)
    assert tables.open(state.path, state.version) is large
    assert large.dataset.to_table().equals(small.dataset.to_table())
    write(graph, {PERSON: (Upsert(people({"ada": 37})),)})
    assert _share_cache(graph.snapshot().table(PERSON), large)


def _share_cache(one: storage.Table, other: storage.Table) -> bool:
    session: Any = one.dataset.session()
    return bool(session.is_same_as(other.dataset.session()))
