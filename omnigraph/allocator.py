"""Allocator: how much memory that was freed a process keeps, for what it makes next."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

# As large a block is freed once, so that the allocator keeps twice as much.
_FREED_ONCE = 16 << 20
# Options of malloc.h, and the variables with which a user sets them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_TUNABLES = "GLIBC_TUNABLES"
_CHOSEN_HEAPS = ("MALLOC_ARENA_MAX", _TUNABLES)
_CHOSEN_LIMITS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", _TUNABLES)
_SOON = 128 << 10  # what glibc gives back at first: more than so many bytes
# The largest block that is made in a heap; glibc goes no further by itself.
_LARGEST_BLOCK = 32 << 20


def keep_freed_memory() -> None:
    """Have the allocator keep what arrays give back, for the arrays that are made next.

    That of Linux gives back to the system what is more than twice the largest block that was ever
    freed. The arrays of a query are many and alike: each time, the system would clear their memory
    again, which takes longer than what is computed in them. The block is never written to.
    """
    np.empty(_FREED_ONCE, np.uint8)


@cache
def share_heaps() -> None:
    """Have the allocator of glibc make a heap for each core, instead of eight.

    Lance allocates on dozens of threads, and what is free in the heap of one is of no use to
    another. More threads than cores never allocate at the same time. It has to be said before a
    process has many of them. What the environment says about it counts more.
    """
    library = _glibc()
    if library is not None and not _has_any(_CHOSEN_HEAPS):
        library.mallopt(_ARENA_MAX, max(os.cpu_count() or 1, 2))


def give_back() -> None:
    """Have the allocator of glibc give back to the system whatever is free, which takes 1 ms.

    Blocks that last, such as those of caches, come to lie anywhere in a heap, and what was free
    between them is held although nothing needs it any more.
    """
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@contextmanager
def giving_back() -> Iterator[None]:
    """Have the allocator of glibc give back to the system what work that is seldom done frees.

    `give_back` leaves out the free end of every heap but the first. That of another is given back
    only when something next to it is freed, and when it is larger than a limit, which is low while
    the work is done. What the environment says about limits counts more.
    """
    library = None if _has_any(_CHOSEN_LIMITS) else _glibc()
    if library is not None:
        library.mallopt(_TRIM_THRESHOLD, _SOON)
    try:
        yield
    finally:
        give_back()
        if library is not None:
            # To set one of the limits ends that glibc adapts them to what is freed.
            library.mallopt(_TRIM_THRESHOLD, 2 * _FREED_ONCE)
            library.mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)


def _has_any(names: tuple[str, ...]) -> bool:
    return any(name in os.environ for name in names)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # on Windows, no library is without a name
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None
