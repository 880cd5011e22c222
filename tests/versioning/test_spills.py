"""Heads that are rows of the manifest are found, moved and deleted like those that are keys."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import BranchExistsError, BranchNotFoundError, StorageError
from omnigraph.storage.failures import CommitRejectedError
from omnigraph.storage.layout import FRESH, SPILLED
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.heads import layers
from omnigraph.versioning.heads.head import BRANCH_KEY, Head
from omnigraph.versioning.heads.layers import Layer, hot_heads, layers_of
from omnigraph.versioning.manifest import manifest
from omnigraph.versioning.manifest.records import FORMAT, stamp_of
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, new_graph, people, write

MOST = 4


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


def spill(graph: Graph) -> None:
    graph.repository.manifest.spill(graph.repository.manifest.newest())


def hot(graph: Graph) -> set[str]:
    return {name for name, _ in hot_heads(graph.repository.manifest.newest())}


def test_few_branches_stay_keys_and_the_format_stays(graph: Graph) -> None:
    for number in range(20):
        graph.create_branch(f"b{number}")

    newest = graph.repository.manifest.newest()

    assert layers_of(newest) == ()
    assert stamp_of(newest) == FORMAT


def test_many_branches_become_rows_and_the_manifest_stays_small(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "MOST_HOT", MOST)
    monkeypatch.setattr(manifest, "SPILLED_EVERY", 4)
    for number in range(16):
        graph.create_branch(f"b{number}")
        write(graph, {PERSON: (Append(people({f"p{number}": number})),)}, f"b{number}")

    newest = graph.repository.manifest.newest()

    assert 0 < len(layers_of(newest)) < 8
    assert stamp_of(newest) == FRESH
    assert len(hot(graph)) < MOST + 8
    for one in (graph, open_graph(graph.uri)):
        assert len(one.branches()) == 17
        assert all(ages(one, f"b{number}") == {f"p{number}": number} for number in (0, 7, 15))
    assert graph.fsck().findings == ()


def test_a_spill_without_a_commit_raises_the_format_no_further_than_it_must(graph: Graph) -> None:
    graph.create_branch("draft")
    spill(graph)
    assert stamp_of(graph.repository.manifest.newest()) == SPILLED


def test_a_spilled_branch_is_found_by_its_name_its_commit_and_among_all(graph: Graph) -> None:
    graph.create_branch("Draft")
    made = write(graph, {PERSON: (Append(people({"ada": 1})),)}, "Draft")
    spill(graph)

    for one in (graph, open_graph(graph.uri)):  # the second has read no layer yet
        found = one.repository.manifest
        at = found.newest()
        assert "draft" not in hot(one)
        assert found.head("Draft", at).commit == made.id
        assert [each.name for each in found.standing_at(made.id, at)] == ["Draft"]
        assert found.is_published(made.id, at)
        with pytest.raises(BranchNotFoundError, match="no branch 'draft'"):
            found.head("draft", at)
        with pytest.raises(BranchExistsError):
            one.create_branch("draft")
        assert one.branches() == ["main", "Draft"]


def test_a_spilled_branch_is_moved_merged_renamed_and_deleted(graph: Graph) -> None:
    for name in ("moved", "merged", "renamed", "deleted"):
        graph.create_branch(name)
        write(graph, {PERSON: (Append(people({name: 1})),)}, name)
    graph.create_tag("v1", "moved")
    spill(graph)

    write(graph, {PERSON: (Append(people({"again": 2})),)}, "moved")
    graph.merge("merged")
    graph.rename_branch("renamed", "kept")
    graph.delete_branch("deleted")

    for _ in range(3):
        other = open_graph(graph.uri)
        assert graph.branches() == other.branches() == ["main", "kept", "merged", "moved"]
        assert ages(other, "moved") == {"moved": 1, "again": 2}
        assert ages(other, "main") == {"merged": 1}
        assert ages(other, "kept") == {"renamed": 1}
        assert ages(other, "v1") == {"moved": 1}
        assert graph.fsck().findings == ()
        spill(graph)


def test_cleanup_keeps_what_spilled_branches_need(graph: Graph, tmp_path: Path) -> None:
    for number in range(3):
        graph.create_branch(f"b{number}")
        write(graph, {PERSON: (Append(people({f"p{number}": number})),)}, f"b{number}")
    spill(graph)
    graph.delete_branch("b1")
    gone = write(graph, {PERSON: (Append(people({"q": 1})),)})
    write(graph, {PERSON: (Append(people({"r": 1})),)})

    graph.cleanup(keep=1, grace="0s", confirm=True)
    graph.backup(tmp_path / "copy")

    for one in (graph, open_graph(graph.uri), open_graph(tmp_path / "copy", read_only=True)):
        assert one.branches() == ["main", "b0", "b2"]
        assert ages(one, "b0") == {"p0": 0}
        assert ages(one, "b2") == {"p2": 2}
        assert gone.id in [each.id for each in one.log()]
        assert one.fsck().findings == ()


def test_a_release_that_knows_no_layers_fails_where_it_would_miss_branches(graph: Graph) -> None:
    graph.create_branch("draft")
    spill(graph)

    keys = graph.repository.manifest.newest().metadata

    with pytest.raises(TypeError):  # as 0.1 reads all heads
        [Head(*json.loads(text)) for key, text in keys.items() if key.startswith(BRANCH_KEY)]
    assert graph.branches() == ["main", "draft"]


def test_a_layer_that_lacks_rows_is_told_and_never_taken_for_fewer_branches(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("draft")
    monkeypatch.setattr(layers, "Layer", lambda name, rows: Layer(name, rows + 1))
    spill(graph)
    monkeypatch.undo()

    broken = open_graph(graph.uri)

    with pytest.raises(StorageError, match="expected 2 heads in layer"):
        broken.branches()
    assert [each.kind for each in broken.fsck().findings] == [Damage.HEAD_MISSING]


def test_no_acknowledged_write_is_lost_beside_spills(graph: Graph) -> None:
    names = [f"b{number}" for number in range(3)]
    for name in names:
        graph.create_branch(name)
    spill(graph)

    def work(name: str) -> list[str]:
        own = open_graph(graph.uri, durable=False)
        made = [write(own, {PERSON: (Append(people({f"{name}-{n}": n})),)}, name) for n in range(8)]
        return [each.id for each in made]

    with ThreadPoolExecutor(len(names)) as pool:
        running = [pool.submit(work, name) for name in names]
        while not all(each.done() for each in running):
            with suppress(CommitRejectedError):
                spill(graph)
            time.sleep(0.02)  # so that others get on, too
        acknowledged = [each.result(60) for each in running]

    for name, made in zip(names, acknowledged, strict=True):
        for one in (graph, open_graph(graph.uri)):
            assert [each.id for each in one.log(name)][:8] == made[::-1]
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("seed", range(3))
def test_branches_are_those_of_a_plain_dict_whatever_is_spilled_when(
    graph: Graph, seed: int
) -> None:
    chance, rival = random.Random(seed), open_graph(graph.uri, durable=False)
    wanted: dict[str, str] = {"main": graph.snapshot().commit.id}
    for number in range(40):
        one = chance.choice([graph, rival])
        name, other = f"b{chance.randrange(6)}", f"b{chance.randrange(6)}"
        match chance.choice(["create", "delete", "rename", "write", "spill", "spill", "reopen"]):
            case "create" if name not in wanted:
                source = chance.choice(sorted(wanted))
                one.create_branch(name, source)
                wanted[name] = wanted[source]
            case "delete" if name in wanted:
                one.delete_branch(name)
                del wanted[name]
            case "rename" if name in wanted and other not in wanted:
                one.rename_branch(name, other)
                wanted[other] = wanted.pop(name)
            case "write" if name in wanted:
                made = write(one, {PERSON: (Append(people({f"p{number}": 1})),)}, name)
                wanted[name] = made.id
            case "spill":
                spill(one)
            case "reopen":
                rival = open_graph(graph.uri, durable=False)
        for each in (graph, rival):
            found = each.repository.manifest
            heads = found.heads(found.newest()).values()
            assert {head.name: head.commit for head in heads} == wanted
    assert graph.fsck().findings == ()
