"""Durable: flushes files on a local disk, so that they survive a power loss."""

import os
from collections.abc import Collection, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path


def sync(root: Path, paths: Iterable[str], known: Container[str] = ()) -> None:
    """Flush files, all files of folders, and every folder on the way to them.

    Of folders that are `known` the names were flushed before, so that what is above them is not.
    """
    files = [each for path in paths for each in _files(root, path)]
    _flush_all(root, {*files, *(folder for path in files for folder in _folders(path, known))})


def sync_folders(root: Path, paths: Iterable[str]) -> None:
    """Flush every folder on the way to files, so that their names last."""
    _flush_all(root, {folder for path in paths for folder in _folders(path)})


def _files(root: Path, path: str) -> list[str]:
    """Return a file, or those of a folder; none when there is neither."""
    try:
        return [f"{path}/{name}" for name in os.listdir(f"{root}/{path}")]  # noqa: PTH208 - is hot
    except NotADirectoryError:
        return [path]
    except FileNotFoundError:
        return []


def _folders(path: str, known: Container[str] = ()) -> Iterator[str]:
    """Yield the folders on the way to a file, up to one that is known or to the root, ''."""
    folder = path.rpartition("/")[0]
    yield folder
    while folder and folder not in known:
        folder = folder.rpartition("/")[0]
        yield folder


def _flush_all(root: Path, paths: Collection[str]) -> None:
    """Flush files and folders at the same time, to share the commits of the disk's journal."""
    wanted = [f"{root}/{path}" for path in paths]
    others = [_pool().submit(_flush, each) for each in wanted[1:]]
    try:
        for each in wanted[:1]:  # by this thread, which would only wait
            _flush(each)
    finally:
        wait(others)
    for other in others:
        other.result()


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8, thread_name_prefix="omnigraph-sync")
