"""Optimize, cleanup and fsck do in a bucket what they do on a disk."""

import time

import obstore
import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError
from omnigraph.storage import layout
from omnigraph.storage.forward import attached_versions
from omnigraph.storage.store import store_at
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.writes import Append, Upsert
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write
from tests.stores import Lane

# Buckets cut the time of an object to the second.
A_SECOND = 1.1


@pytest.mark.parametrize("lane", ["moto", "seaweedfs"], indirect=True)
def test_a_graph_in_a_bucket_is_kept_in_good_order(lane: Lane) -> None:
    graph = new_graph(lane.root)
    commits = [write(graph, {PERSON: (Append(people({f"p{n}": n})),)}) for n in range(6)]
    write(graph, {KNOWS: (Append(knows([("p1", "p2")])),)})
    graph.create_branch("draft", commits[1].id)

    optimized = graph.optimize()

    assert optimized.commit is not None
    assert len(graph.snapshot().table(PERSON).dataset.get_fragments()) == 1
    assert graph.optimize().commit is None
    assert graph.fsck().findings == ()

    preview = graph.cleanup(keep=1, grace="0s")
    done = graph.cleanup(keep=1, grace="0s", confirm=True)

    assert done.old_versions_removed == preview.old_versions_removed == 6
    assert done.bytes_removed == preview.bytes_removed > 5_000
    again = open_graph(lane.root)
    assert ages(again) == {f"p{n}": n for n in range(6)}
    assert edges(again) == {("p1", "p2")}
    assert ages(again, "draft") == {"p0": 0, "p1": 1}
    with pytest.raises(CommitCleanedError):
        ages(again, commits[3].id)
    write(again, {PERSON: (Upsert(people({"p0": 100})),)}, "draft")
    again.merge("draft", "main")
    assert ages(again)["p0"] == 100
    assert again.fsck().findings == ()

    data = next(each for each in again.snapshot().table(PERSON).files() if "/data/" in each)
    obstore.delete(store_at(lane.root).objects.store, data)
    assert Damage.DATA_MISSING in {each.kind for each in again.fsck().findings}


@pytest.mark.parametrize("lane", ["local", "moto", "seaweedfs"], indirect=True)
def test_versions_of_the_manifest_go_by_the_clock_of_the_store(lane: Lane) -> None:
    graph = new_graph(lane.root)
    graph.create_branch("early")
    repository = graph.repository
    old = repository.manifest.newest().version
    time.sleep(A_SECOND)
    before = repository.store.now()
    time.sleep(A_SECOND)
    for name in ("late", "later"):
        graph.create_branch(name)
    newest = repository.manifest.newest()
    objects = repository.store.objects

    freed = repository.tables.forget_old(newest, before)

    left = attached_versions(objects.listing(f"{layout.MANIFEST}/_versions"))
    assert left == {1, *range(old + 1, newest.version + 1)}
    assert freed > 0
    assert repository.tables.forget_old(newest, before) == 0
    assert set(open_graph(lane.root).branches()) == {"main", "early", "late", "later"}
