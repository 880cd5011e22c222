"""Sending: objects put into a bucket and read from it, many at the same time."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, partial
from typing import TypeVar

from omnigraph.errors import StorageError
from omnigraph.storage.objects import Objects
from omnigraph.storage.store import Store

_AT_A_TIME = 64
_BESIDE = 32

_Found = TypeVar("_Found")


def beside(work: Callable[[], _Found]) -> Future[_Found]:
    """Do something that waits for a store beside what the caller does meanwhile."""
    return _helpers().submit(copy_context().run, work)


def at_once(store: Store, works: Iterable[Callable[[], _Found]]) -> list[_Found]:
    """Return the results of functions; those that wait for a bucket are called side by side.

    None of them may call this, or wait for what `beside` returns. When this raises, none runs.
    """
    pieces = list(works)
    if store.is_local:
        return [each() for each in pieces]
    running = [beside(each) for each in pieces[1:]]
    try:
        first = [each() for each in pieces[:1]]
    finally:
        wait(running)
    return [*first, *(each.result() for each in running)]


def send(objects: Objects, files: Mapping[str, bytes]) -> None:
    """Write objects side by side; when it returns or raises, no write is under way."""
    _together(partial(objects.write, path, data) for path, data in files.items())


def create(objects: Objects, files: Mapping[str, bytes]) -> bool:
    """Create objects side by side; False when there was another instead of one of them."""
    return all(_together(partial(_create, objects, *each) for each in files.items()))


def _create(objects: Objects, path: str, data: bytes) -> bool:
    # A store may answer "exists" to the retry of a request whose reply was lost.
    return objects.create(path, data) or objects.read(path) == data


def fetch(objects: Objects, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of objects by path; raises StorageError when one is missing."""
    wanted = list(paths)
    found = dict(
        zip(wanted, _together(partial(objects.read, each) for each in wanted), strict=True)
    )
    for path, data in found.items():
        if data is None:
            raise StorageError(f"{path} is gone")
    return {path: data for path, data in found.items() if data is not None}


def _together(works: Iterable[Callable[[], _Found]]) -> list[_Found]:
    """Return the results of functions that wait for a store, all called at the same time."""
    pieces = list(works)
    if len(pieces) == 1:
        return [pieces[0]()]
    running = [_requests().submit(each) for each in pieces]
    wait(running)
    return [each.result() for each in running]


@cache
def _requests() -> ThreadPoolExecutor:
    """Threads that wait for one request each, and for nobody else."""
    return ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="omnigraph-send")


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_BESIDE, thread_name_prefix="omnigraph-beside")
