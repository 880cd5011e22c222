"""What is derived from tables stays within its bounds, however many versions there are."""

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from omnigraph.data.derived.memory import MemoryCache

# Makes and frees arrays as a query does, and prints how many pages the system cleared for them.
_MAKE_ARRAYS = """
import resource
import numpy as np
from omnigraph.allocator import keep_freed_memory

def make():
    some = [np.ones(1 << 17) for _ in range(4)]

keep_freed_memory()
make()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    make()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

# Allocates on many threads, and prints how many heaps there are.
_MAKE_HEAPS = """
import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from omnigraph.allocator import share_heaps

share_heaps()
threads, library = 64, ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
together = Barrier(threads)

def allocate(_):
    library.malloc(4_096)
    together.wait(60)

with ThreadPoolExecutor(threads) as pool:
    list(pool.map(allocate, range(threads)))
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""

# Fills and frees 16 MB in the heap of a thread, and prints how many bytes the process holds for it;
# then makes and frees arrays twice, and prints how many pages the system cleared the second time.
_GIVE_BACK = """
import ctypes
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from omnigraph.allocator import giving_back, keep_freed_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

def allocate(size, number):
    blocks = [library.malloc(size) for _ in range(number)]
    for each in blocks:
        ctypes.memset(each, 1, size)
    for each in blocks:
        library.free(each)

def make():
    some = [np.ones(1 << 17) for _ in range(4)]

def cleared():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed_memory()
with ThreadPoolExecutor(1) as pool:
    pool.submit(allocate, 64, 1).result()
    before = held()
    with giving_back():
        pool.submit(allocate, 1 << 16, 256).result()
    print(held() - before)
make()
before = cleared()
make()
print(cleared() - before)
"""

# Joins 17 fragments of a table, and prints by how many bytes the process grew.
_FOLD = """
import resource
import sys
from pathlib import Path
import pyarrow as pa
from omnigraph.allocator import keep_freed_memory, share_heaps
from omnigraph.storage.fold import MANIFEST_LEVELS
from omnigraph.storage.store import store_at
from omnigraph.storage.tables import Tables

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))

def rows(start, number):
    texts = [f"{each:0400}" for each in range(start, start + number)]
    return pa.table({"id": texts})

def folded(path, of):
    tables.create_exclusively(path, rows(0, 1))
    for each in range(17):
        tables.add_rows(tables.newest(path), rows(each * of, of))
    before = held()
    tables.fold(tables.newest(path), MANIFEST_LEVELS, ())
    return held() - before

keep_freed_memory()
share_heaps()
tables = Tables(store_at(sys.argv[1]), durable=False)
folded("small", 10)
print(folded("large", 1_040))
"""
_needs_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="it is the allocator of glibc"
)


@dataclass(frozen=True)
class Block:
    nbytes: int


def test_the_values_used_longest_ago_go_when_there_are_too_many_bytes() -> None:
    cache = MemoryCache(100)
    for name in "abc":
        cache.get(name, lambda: Block(40), family=name)
        cache.peek("a")

    assert [name for name in "abc" if cache.peek(name)] == ["a", "c"]


def test_a_family_keeps_its_newest_values_and_those_in_use() -> None:
    cache = MemoryCache(1 << 30)
    for version in range(500):
        cache.get(("column", version), lambda: Block(8), family="column")
        cache.get(("other", version), lambda: Block(8), family="other", most=2)
        cache.peek(("column", 0))

    kept = [version for version in range(500) if cache.peek(("column", version))]

    assert len(kept) == 16
    assert kept[0] == 0
    assert kept[-1] == 499
    assert cache.newest("column") is cache.peek(("column", 499))
    assert [each for each in range(500) if cache.peek(("other", each))] == [498, 499]


def test_a_family_that_has_nothing_left_is_forgotten() -> None:
    cache = MemoryCache(100)
    for number in range(500):
        cache.get(number, lambda: Block(40), family=("of", number))

    assert len(cache._newest) == len(cache._families) == len(cache._kept) == 2


def test_what_was_dropped_is_made_again() -> None:
    cache, made = MemoryCache(50), []

    def make() -> Block:
        made.append(1)
        return Block(40)

    for name in ("a", "b", "a"):
        cache.get(name, make, family="f")

    assert len(made) == 3
    cache.clear()
    assert cache.newest("f") is None


def test_what_holds_values_is_shared_until_one_is_dropped_for_want_of_room() -> None:
    cache = MemoryCache(100)
    first = cache.share("reader", lambda: [cache.get("a", lambda: Block(60), family="a")])

    assert cache.share("reader", list) is first
    cache.get("b", lambda: Block(60), family="b")
    assert cache.share("reader", list) is not first


def test_few_of_those_who_hold_values_are_kept() -> None:
    cache = MemoryCache(100)
    for number in range(500):
        cache.share(number, list)

    assert len(cache._shared) <= 4
    cache.clear()
    assert not cache._shared


@_needs_glibc
def test_arrays_are_made_in_the_memory_of_those_before() -> None:
    asked = [sys.executable, "-c", _MAKE_ARRAYS]
    pages = int(subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout)

    assert pages < 256  # each time anew it would be ten times four arrays of 256 pages


@_needs_glibc
def test_what_work_that_is_seldom_done_frees_is_given_back_also_in_the_heap_of_a_thread() -> None:
    held, pages = _numbers(_GIVE_BACK)

    assert held < 1 << 20
    assert pages < 256


@_needs_glibc
def test_a_large_fold_of_a_moving_table_leaves_little_memory_behind(tmp_path: Path) -> None:
    (grown,) = _numbers(_FOLD, str(tmp_path))

    assert grown < 4 << 20


@_needs_glibc
def test_threads_share_as_many_heaps_as_there_are_cores(tmp_path: Path) -> None:
    assert _heaps(tmp_path / "info", {}) <= max(os.cpu_count() or 1, 2)


@_needs_glibc
def test_what_the_environment_says_about_heaps_counts_more(tmp_path: Path) -> None:
    assert _heaps(tmp_path / "info", {"MALLOC_ARENA_MAX": "1"}) == 1


def _numbers(script: str, *options: str) -> list[int]:
    asked = [sys.executable, "-c", script, *options]
    done = subprocess.run(asked, capture_output=True, check=True, timeout=60)
    return [int(each) for each in done.stdout.split()]


def _heaps(info: Path, chosen: dict[str, str]) -> int:
    asked = [sys.executable, "-c", _MAKE_HEAPS, str(info)]
    subprocess.run(asked, check=True, timeout=60, env={**os.environ, **chosen})
    return info.read_text().count("<heap ")
