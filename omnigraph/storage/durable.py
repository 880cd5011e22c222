"""Durable: flushes files on a local disk, so that they survive a power loss."""

import os
from collections.abc import Collection, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path


def sync(root: Path, paths: Iterable[str], known: Container[str] = ()) -> None:
    """Flush files, all files of folders, and every folder on the way to them.

    Of folders that are `known` the names were flushed before, so that what is above them is not.
    """
    wanted = [(path, root / path) for path in paths]
    files = [path for path, whole in wanted if whole.is_file()]
    for path, whole in wanted:
        if whole.is_dir():
            files += [f"{path}/{each.name}" for each in whole.iterdir()]
    _flush_all(root, files)
    _flush_all(root, {folder for path in files for folder in _folders(path, known)})


def sync_folders(root: Path, paths: Iterable[str]) -> None:
    """Flush every folder on the way to files, so that their names last."""
    _flush_all(root, {folder for path in paths for folder in _folders(path)})


def _folders(path: str, known: Container[str] = ()) -> Iterator[str]:
    """Yield the folders on the way to a file, up to one that is known or to the root, ''."""
    folder = path.rpartition("/")[0]
    yield folder
    while folder and folder not in known:
        folder = folder.rpartition("/")[0]
        yield folder


def _flush_all(root: Path, paths: Collection[str]) -> None:
    if len(paths) == 1:
        _flush(root.joinpath(*paths))
    else:
        list(_pool().map(_flush, [root / path for path in paths]))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that flush in parallel, to share the commits of the file system's journal."""
    return ThreadPoolExecutor(8, thread_name_prefix="omnigraph-sync")
