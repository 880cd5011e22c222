"""Durable: flushes files on a local disk, so that they survive a power loss."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path


def sync(root: Path, paths: Iterable[str]) -> None:
    """Flush files, all files of folders, and every folder on the way to them."""
    wanted = [root / path for path in paths]
    files = [path for path in wanted if path.is_file()]
    files += [each for path in wanted if path.is_dir() for each in path.iterdir()]
    folders = {folder for path in files for folder in path.parents if folder.is_relative_to(root)}
    for group in (files, folders):
        list(_pool().map(_flush, group))


def sync_folders(root: Path, paths: Iterable[str]) -> None:
    """Flush every folder on the way to files, so that their names last."""
    parents = (folder for path in paths for folder in (root / path).parents)
    list(_pool().map(_flush, {each for each in parents if each.is_relative_to(root)}))


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
