"""What lies beside a graph is read when it is just what was asked for, and is never missed."""

import json
import os
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.data.derived import disk as module
from omnigraph.data.derived import topology
from omnigraph.data.derived.disk import DiskCache, Family, StoredArrays
from tests.engine.asking import made
from tests.pipeline.loads import node

IDS: Family = ("ids", "nodes/1")
OTHER: Family = ("ids", "nodes/2")
ARRAYS = {"ids": pa.array(["a", "é", ""]), "addresses": np.array([5, 2**63], np.uint64)}
COUNT = "query q() { match { $p: P  $p.n > 0 } return { count($p) as n } }"


@pytest.fixture
def disk(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "_topology")


def content(kept: StoredArrays | None) -> object:
    """Return what was kept as plain values."""
    if kept is None:
        return None
    return kept.versions, {name: array.to_pylist() for name, array in kept.arrays.items()}


def file_of(disk: DiskCache, family: Family = IDS) -> Path:
    return disk._path(family)


def rewritten(disk: DiskCache, **said: object) -> None:
    """Let the file of a family say something else about itself."""
    content = file_of(disk).read_bytes()[:-4]
    batch = pa.ipc.open_file(content).get_batch(0)
    before = json.loads(batch.schema.metadata[b"omnigraph"])
    batch = batch.replace_schema_metadata({"omnigraph": json.dumps({**before, **said})})
    laid = pa.BufferOutputStream()
    with pa.ipc.new_file(laid, batch.schema) as to:
        to.write_batch(batch)
    file_of(disk).unlink()
    written = laid.getvalue()
    file_of(disk).write_bytes(bytes(written) + crc32(written).to_bytes(4))


def test_what_was_put_is_given_back(disk: DiskCache) -> None:
    assert (disk.has(IDS), disk.get(IDS)) == (False, None)

    disk.put(IDS, (2**63 + 7, 3), ARRAYS)

    kept = disk.get(IDS)
    assert kept is not None
    assert disk.has(IDS)
    assert content(kept) == ((2**63 + 7, 3), {"ids": ["a", "é", ""], "addresses": [5, 2**63]})
    assert kept.numbers("addresses").dtype == np.uint64


def test_texts_are_mapped_and_not_copied(disk: DiskCache) -> None:
    disk.put(IDS, (1,), {"ids": pa.array(["a name"] * 100_000)})
    before = pa.total_allocated_bytes()

    kept = disk.get(IDS)

    assert kept is not None
    assert kept.arrays["ids"][99_999].as_py() == "a name"
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("bits", [*range(0, 63, 7), 8, 16, 24, 32, 40, 48, 63])
def test_numbers_take_the_bytes_that_the_largest_needs(
    disk: DiskCache, kind: type, bits: int
) -> None:
    numbers = np.random.default_rng(bits).integers(0, 2**bits, 10_000, endpoint=bits < 63)
    numbers[7] = 2**bits - 1
    disk.put(IDS, (1,), {"some": numbers.astype(kind), "other": pa.array(["a"])})

    kept = disk.get(IDS)

    assert kept is not None
    assert list(kept.arrays) == ["some", "other"]
    found = kept.numbers("some")
    assert found.dtype == kind
    assert np.array_equal(found, numbers)
    needed = (int(numbers.max()).bit_length() + 7) // 8
    assert file_of(disk).stat().st_size < 2_000 + 10_000 * (needed if needed <= 6 else 8)


@pytest.mark.parametrize("least", [-1, -(2**63)])
def test_negative_numbers_are_kept(disk: DiskCache, least: int) -> None:
    disk.put(IDS, (1,), {"numbers": np.array([3, least, 2**40])})

    kept = disk.get(IDS)

    assert kept is not None
    assert kept.numbers("numbers").tolist() == [3, least, 2**40]


def test_empty_arrays_are_kept(disk: DiskCache) -> None:
    disk.put(IDS, (1,), {"ids": pa.array([], pa.utf8()), "targets": np.empty(0, np.int64)})

    assert content(disk.get(IDS)) == ((1,), {"ids": [], "targets": []})


def test_of_a_family_only_the_newest_is_kept(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)
    earlier = disk.get(IDS)
    disk.put(IDS, (2,), {"ids": pa.array(["z"])})

    assert content(disk.get(IDS)) == ((2,), {"ids": ["z"]})
    assert [file.name for file in disk.folder.iterdir()] == [file_of(disk).name]
    assert content(earlier) == ((1,), {"ids": ["a", "é", ""], "addresses": [5, 2**63]})


def test_families_do_not_see_each_other(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)

    assert (disk.has(OTHER), disk.get(OTHER)) == (False, None)


def test_a_file_of_another_family_is_as_good_as_absent(disk: DiskCache) -> None:
    disk.put(OTHER, (1,), ARRAYS)
    file_of(disk, OTHER).rename(file_of(disk))

    assert disk.get(IDS) is None


@pytest.mark.parametrize("said", [{"format": 1}, {"format": None}, {"versions": None}])
def test_a_file_of_another_format_is_as_good_as_absent(
    disk: DiskCache, said: dict[str, object]
) -> None:
    disk.put(IDS, (1,), ARRAYS)
    rewritten(disk)
    assert disk.get(IDS) is not None

    rewritten(disk, **said)

    assert disk.get(IDS) is None


def test_a_file_with_a_flipped_bit_anywhere_is_as_good_as_absent(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)
    whole = file_of(disk).read_bytes()

    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        file_of(disk).write_bytes(bytes(damaged))
        assert disk.get(IDS) is None


def test_a_file_that_is_cut_anywhere_is_as_good_as_absent(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)
    whole = file_of(disk).read_bytes()

    for length in range(0, len(whole), 37):
        file_of(disk).write_bytes(whole[:length])
        assert disk.get(IDS) is None
    file_of(disk).write_bytes(bytes(len(whole)))
    assert disk.get(IDS) is None


def test_a_file_of_other_bytes_is_as_good_as_absent(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)

    for seed in range(20):
        file_of(disk).write_bytes(Random(seed).randbytes(500))
        assert disk.get(IDS) is None


def test_a_file_that_arrow_cannot_read_is_as_good_as_absent(
    disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise pa.ArrowNotImplementedError("Integers with more than 64 bits not implemented")

    disk.put(IDS, (1,), ARRAYS)
    monkeypatch.setattr(pa.ipc, "open_file", refuse)

    assert disk.get(IDS) is None


def test_an_arrow_file_of_something_else_is_as_good_as_absent(disk: DiskCache) -> None:
    disk.put(IDS, (1,), ARRAYS)
    path = file_of(disk)
    for schema in (pa.schema([("ids", pa.utf8())]), pa.schema([])):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema):
            pass
        assert disk.get(IDS) is None
    path.unlink()
    path.mkdir()
    assert disk.get(IDS) is None


def test_a_disk_cache_that_is_not_writable_writes_nothing(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path / "_topology", writable=False)

    disk.put(IDS, (1,), ARRAYS)

    assert not disk.folder.exists()


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "no" / "parent"):
        disk = DiskCache(folder)
        disk.put(IDS, (1,), ARRAYS)
        assert (disk.has(IDS), disk.get(IDS)) == (False, None)


def test_a_folder_that_cannot_be_looked_into_is_no_error(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path / ("x" * 300))  # the name is longer than the file system takes

    disk.put(IDS, (1,), ARRAYS)

    assert (disk.has(IDS), disk.get(IDS)) == (False, None)


def test_a_disk_that_refuses_leaves_nothing_behind(
    disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "sync", refuse)

    disk.put(IDS, (1,), ARRAYS)

    assert list(disk.folder.iterdir()) == []


def test_the_oldest_files_go_when_there_are_too_many(
    disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_FILES", 3)

    for number in range(6):
        disk.put(("ids", str(number)), (1,), ARRAYS)
        os.utime(file_of(disk, ("ids", str(number))), (number, number))

    assert [disk.has(("ids", str(number))) for number in range(6)] == [False] * 3 + [True] * 3


def test_the_oldest_files_go_when_they_are_too_large(
    disk: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.put(IDS, (1,), ARRAYS)
    os.utime(file_of(disk), (1, 1))
    monkeypatch.setattr(module, "_MOST_BYTES", file_of(disk).stat().st_size * 3 // 2)

    disk.put(OTHER, (1,), ARRAYS)

    assert (disk.has(IDS), disk.has(OTHER)) == (False, True)


def test_a_graph_that_is_only_read_gets_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    graph = made(tmp_path, "node P { n: I64 }", *(node("P", n=n) for n in range(5)))
    folder = tmp_path / "g" / "_topology"

    assert open_graph(graph.uri, read_only=True).query(COUNT).to_dicts() == [{"n": 4}]
    assert not folder.exists()
    assert open_graph(graph.uri).query(COUNT).to_dicts() == [{"n": 4}]
    assert folder.exists()


def test_small_graphs_leave_nothing_beside_them(tmp_path: Path) -> None:
    graph = made(tmp_path, "node P { n: I64 }", *(node("P", n=n) for n in range(5)))

    assert graph.query(COUNT).to_dicts() == [{"n": 4}]

    assert not (tmp_path / "g" / "_topology").exists()


def test_what_lies_beside_a_graph_can_be_removed_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    graph = made(tmp_path, "node P { n: I64 }", *(node("P", n=n) for n in range(5)))
    reader = open_graph(graph.uri)
    reader.query(COUNT)
    mapped = open_graph(graph.uri, read_only=True)
    assert mapped.query(COUNT).to_dicts() == [{"n": 4}]

    for file in (tmp_path / "g" / "_topology").iterdir():
        file.unlink()
    (tmp_path / "g" / "_topology").rmdir()

    for each in (reader, mapped, open_graph(graph.uri)):
        assert each.query(COUNT).to_dicts() == [{"n": 4}]


def test_a_graph_whose_folder_is_taken_by_a_file_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    graph = init(tmp_path / "g", "node P { n: I64 }", durable=False)
    (tmp_path / "g" / "_topology").write_text("in the way")
    graph.load(node("P", n=1), engine="inline")

    assert graph.query(COUNT).to_dicts() == [{"n": 1}]
