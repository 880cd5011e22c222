"""Old versions of the manifest go while a graph is written to, and nobody misses them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.storage import layout
from omnigraph.storage.failures import CommitRejectedError
from omnigraph.versioning.manifest import freshness, manifest
from omnigraph.versioning.writes import Upsert
from tests.sample import PERSON, ages, new_graph, people, write

EVERY, MOST = 16, 8


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(manifest, "PRUNED_EVERY", EVERY)
    monkeypatch.setattr(manifest, "MOST_VERSIONS", MOST)
    return new_graph(tmp_path / "g")


def folder(graph: Graph) -> Path:
    return Path(graph.uri, layout.MANIFEST, "_versions")


def versions(graph: Graph) -> list[int]:
    names = (each.stem for each in folder(graph).glob("*.manifest"))
    return sorted(layout.NEWEST_VERSION - int(each) for each in names)


def grow(graph: Graph, count: int) -> None:
    for age in range(count):
        write(graph, {PERSON: (Upsert(people({"ada": age})),)})


def make_old(graph: Graph) -> None:
    for each in folder(graph).glob("*.manifest"):
        written = each.stat().st_mtime - 3_600
        os.utime(each, (written, written))


def test_young_versions_stay_however_many_they_are(graph: Graph) -> None:
    grow(graph, 30)

    assert versions(graph) == list(range(1, versions(graph)[-1] + 1))
    assert len(versions(graph)) > 30


def test_old_versions_go_but_for_the_newest_and_the_first(graph: Graph) -> None:
    grow(graph, 30)
    make_old(graph)
    grow(graph, EVERY)

    left = versions(graph)

    assert left[0] == 1
    assert left[1] > 30
    assert len(left) < 2 * EVERY + 2 * MOST
    assert graph.fsck().findings == ()


def test_whoever_had_the_graph_open_reads_and_writes_on(graph: Graph) -> None:
    grow(graph, 20)
    reader, writer = open_graph(graph.uri, read_only=True), open_graph(graph.uri, durable=False)
    assert ages(reader) == ages(writer) == {"ada": 19}
    make_old(graph)
    grow(graph, 2 * EVERY)
    make_old(graph)
    grow(graph, EVERY)

    write(writer, {PERSON: (Upsert(people({"bob": 1})),)})

    assert ages(reader) == {"ada": EVERY - 1, "bob": 1}
    assert len(list(reader.log())) == len(list(graph.log())) == 20 + 3 * EVERY + 2


@pytest.mark.parametrize("what", ["begin", "mark", "revoke"])
def test_a_cleanup_that_slept_for_longer_than_versions_are_kept_starts_again(
    graph: Graph, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, ulid = graph.repository.manifest, graph.repository.clock.ulid()
    cleanup, _ = ledger.begin_cleanup(ledger.newest(), ulid)
    at = ledger.newest()
    later = [each + 360 for each in freshness.moment()]
    monkeypatch.setattr(freshness, "moment", lambda: tuple(later))

    steps: dict[str, Callable[[], object]] = {
        "begin": lambda: ledger.begin_cleanup(at, graph.repository.clock.ulid()),
        "mark": lambda: ledger.mark_cleaning(at, cleanup),
        "revoke": lambda: ledger.revoke(at, [cleanup]),
    }
    with pytest.raises(CommitRejectedError, match="too long ago"):
        steps[what]()

    ledger.mark_cleaning(ledger.newest(), cleanup)


def test_a_process_keeps_few_handles_of_the_manifest(graph: Graph) -> None:
    grow(graph, 10)

    held = [path for path, _ in graph.repository.tables._handles if path == layout.MANIFEST]

    assert len(held) < 4


def test_a_crowd_of_files_is_listed_in_pages(graph: Graph) -> None:
    objects = graph.repository.store.objects
    crowd = Path(graph.uri, "_crowd")
    crowd.mkdir()
    for number in range(2_500):
        (crowd / str(number)).touch()

    pages = list(objects.pages("_crowd"))

    assert max(map(len, pages)) <= 1_000
    assert {each.path for page in pages for each in page} == {f"_crowd/{at}" for at in range(2_500)}
    assert objects.find("_crowd/7") in objects.listing("_crowd")
    assert objects.find("_crowd/none") is None
