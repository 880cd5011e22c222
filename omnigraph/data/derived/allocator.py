"""Allocator: how much memory that was freed a process keeps, for what it makes next."""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

# As large a block is freed once, so that the allocator keeps twice as much.
_FREED_ONCE = 16 << 20
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")


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
    adjust = None if any(name in os.environ for name in _CHOSEN) else _mallopt()
    if adjust is not None:
        adjust(_ARENA_MAX, max(os.cpu_count() or 1, 2))


def _mallopt() -> Callable[[int, int], Any] | None:
    """Return `mallopt` of glibc; None with another C library."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # on Windows, no library is without a name
        return None
    return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
