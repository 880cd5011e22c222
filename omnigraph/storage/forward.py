"""Forward: the newest version of a moving table, and whether it is still the same table."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.objects import Stored
from omnigraph.storage.store import Store

# Tells the file of a version from a later one at the same path.
Mark: TypeAlias = tuple[object, ...]
Moment: TypeAlias = tuple[float, float]

_MANIFEST = ".manifest"
# Nobody removes versions of the manifest that are younger than ten minutes, so all versions after
# one that was the newest a short time ago are there.
_MOST_SECONDS = 300.0
# The first version stays when those after it go. So where nothing follows it there may be a gap,
# should a clock have missed the time since: it is then looked for anew so soon.
_FIRST, _FIRST_SECONDS = 1, 5.0
# For so long a sighting is not dated anew: reads that follow each other closely share it.
_SAME_SECONDS = 1.0
# One page of a listing costs about as much as this many probes in sequence.
_MOST_PROBES = 8
_PROBES_AT_A_TIME = 16
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# Whether `os.access`, which asks for the user who started a process, asks for the one it acts as.
_IS_ITSELF = hasattr(os, "geteuid") and os.getuid() == os.geteuid()


def moment() -> Moment:
    """Return the time on two clocks: one that nobody sets, and the wall clock.

    The first keeps counting while a machine sleeps; the second is corrected after a suspend.
    """
    return time.clock_gettime(_STEADY), time.time()


def seconds_between(early: Moment, late: Moment) -> float:
    """Return the seconds from one moment to another, by the clock that says more."""
    return max(late[0] - early[0], late[1] - early[1])


@dataclass(frozen=True, slots=True)
class Sighting:
    """The newest version of a moving table when it was last looked up.

    The anchor is the file of a version that existed then or earlier. While that file is unchanged,
    nobody has removed the table and created another in its place.
    """

    version: int
    anchor: int
    mark: Mark
    at: Moment


def sighting(version: int, mark: Mark, at: Moment) -> Sighting:
    """Return the sighting of a table at a version that has this mark, and is the anchor.

    `at` is from before the look: a process may be stopped for long after it.
    """
    return Sighting(version, version, mark, at)


def sighting_after(store: Store, path: str, seen: Sighting, version: int) -> Sighting:
    """Return the sighting of a version that this process made after one that was seen.

    On a disk that version becomes the anchor, so that it is missed when files are taken back to an
    earlier state and somebody else makes the same version. A bucket is asked for what it holds.
    """
    now = moment()
    mark = mark_of(store, path, version) if store.is_local else None
    # Looked at last: while the anchor is there, so is the table to which the newer file belongs.
    if mark is not None and mark_of(store, path, seen.anchor) == seen.mark:
        return sighting(version, mark, now)
    return Sighting(version, seen.anchor, seen.mark, now)


def mark_of(store: Store, path: str, version: int) -> Mark | None:
    """Return the mark of the file of a version, or None when there is none."""
    name = layout.manifest_path(path, version)
    return _local_mark(f"{store.root}/{name}") if store.is_local else store.objects.mark(name)


def _local_mark(file: str) -> Mark | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - as text, because this is hot
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def newest_since(
    store: Store, path: str, seen: Sighting, content: bytes | None = None
) -> Sighting | None:
    """Return the newest version of a table in a bucket, which is the anchor from then on.

    None when that cannot be decided: the anchor or the version that was seen is gone or is another
    file, the sighting is old, or too many versions came after it. It costs two small requests at
    the same time, however long the history; a listing has an entry for every commit. A version that
    this process made is looked at once more, by a third: `content` is what it wrote.
    """
    now = moment()
    age = seconds_between(seen.at, now)
    if age > _MOST_SECONDS:
        return None
    anchored = _pool().submit(mark_of, store, path, seen.anchor)
    is_anchor = seen.version == seen.anchor
    begun = anchored if is_anchor else _pool().submit(_mark_if, store, path, seen.version, content)
    version, newest = seen.version, None
    while (later := mark_of(store, path, version + 1)) is not None:
        version, newest = version + 1, later
        if version - seen.version > _MOST_PROBES:
            break
    mark, first = anchored.result(), begun.result()
    if mark != seen.mark or first is None or version - seen.version > _MOST_PROBES:
        return None
    if version == _FIRST and age > _FIRST_SECONDS:
        return None
    return sighting(version, newest or first, now)


def _mark_if(store: Store, path: str, version: int, content: bytes | None) -> Mark | None:
    """Return the mark of the file of a version in a bucket; None if it holds something else."""
    if content is None:
        return mark_of(store, path, version)
    found = store.objects.marked(layout.manifest_path(path, version))
    return None if found is None or found[0] != content else found[1]


def look_again(store: Store, path: str, seen: Sighting) -> Sighting | None:
    """Return the newest version of a table on a local disk, which is the anchor from then on.

    None when it is not the table that was seen, or its newest version was lost. Mostly nothing
    changed; then this costs two looks at files, each of which takes longer than most steps of a
    small query. Where the sighting was long ago, or many versions came since, the look begins at
    Lance's hint, and without one at a listing.
    """
    folder = f"{store.root}/{path}/_versions"  # as text, because this is on every path
    now = moment()
    age = seconds_between(seen.at, now)
    version = _soon_after(folder, seen) if age <= _MOST_SECONDS else None
    if version is None or (version == _FIRST and age > _FIRST_SECONDS):
        known = _hinted_version(folder) or _listed_version(Path(folder))
        version = _last_from(folder, known or seen.version)
    mark = _local_mark(f"{folder}/{layout.manifest_name(version)}")
    if mark is None or mark[-1] == 0:
        return None
    if version == seen.anchor:
        if mark != seen.mark:
            return None
        is_same = version == seen.version and age < _SAME_SECONDS
        return seen if is_same else sighting(version, mark, now)
    # Looked at last: while the anchor is there, so is the table to which the newer file belongs.
    is_there = mark_of(store, path, seen.anchor) == seen.mark
    return sighting(version, mark, now) if is_there else None


def newest_named(names: Iterable[str]) -> int | None:
    """Return the newest version that has a manifest among these names."""
    numbers = (each.removesuffix(_MANIFEST) for each in names if each.endswith(_MANIFEST))
    left = [int(each) for each in numbers if each.isdigit()]
    return layout.NEWEST_VERSION - min(left) if left else None


def attached_versions(files: Iterable[Stored]) -> set[int]:
    """Return the versions of a moving table, from the names of their manifests."""
    names = (each.path.rpartition("/")[2] for each in files if each.path.endswith(_MANIFEST))
    numbers = (each.removesuffix(_MANIFEST) for each in names)
    return {layout.NEWEST_VERSION - int(each) for each in numbers if each.isdigit()}


def newest_local(store: Store, path: str) -> int | None:
    """Return the newest version of a table on a local disk, about which nothing is known.

    The look begins at Lance's hint, if there is one; after the first commit there is none. A
    listing grows with the history, so it is the last resort: after a power loss that took the hint,
    or the version that it names.
    """
    folder = f"{store.root}/{path}/_versions"
    hinted = _hinted_version(folder)
    if hinted is None:
        return _listed_version(Path(folder))
    version = _last_from(folder, hinted)
    mark = mark_of(store, path, version)
    return _listed_version(Path(folder)) if mark is None or mark[-1] == 0 else version


def _soon_after(folder: str, seen: Sighting) -> int | None:
    """Return the newest version if it is, or came soon after, one that was seen a short time ago.

    None when that cannot be said.
    """
    for version in range(seen.version, seen.version + _MOST_PROBES):
        if not _exists(folder, version + 1):
            return version
    return None


def _last_from(folder: str, version: int) -> int:
    """Return the last of the versions that follow each other from one on."""
    while _exists(folder, version + 1):
        version += 1
    return version


def _hinted_version(folder: str) -> int | None:
    """Return the version that Lance's hint names, or None."""
    try:
        with open(f"{folder}/latest_version_hint.json", "rb") as hint:  # noqa: PTH123
            return int(json.loads(hint.read())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _exists(folder: str, version: int) -> bool:
    file = f"{folder}/{layout.manifest_name(version)}"
    # Mostly there is none, which raises nothing here; that would take longer than the look itself.
    return os.access(file, os.F_OK) if _IS_ITSELF else _local_mark(file) is not None


def blank_manifests(folder: Path) -> Iterator[Path]:
    """Iterate over the newest manifests that a power loss left empty."""
    for manifest in _newest_first(folder):
        if not _is_blank(manifest):
            return
        yield manifest


def _listed_version(folder: Path) -> int | None:
    """Return the newest version that has content, from a listing."""
    whole = (each for each in _newest_first(folder) if not _is_blank(each))
    found = next(whole, None)
    return None if found is None else layout.NEWEST_VERSION - int(found.stem)


def _newest_first(folder: Path) -> Iterator[Path]:
    """Iterate over the manifests of a moving table; their names count down."""
    if not folder.is_dir():
        return iter(())
    # There is one for every commit, and most callers look at the first alone.
    names = (each for each in sorted(os.listdir(folder)) if each.endswith(_MANIFEST))  # noqa: PTH208
    numbered = (each for each in names if each.removesuffix(_MANIFEST).isdigit())
    return map(folder.joinpath, numbered)


def _is_blank(path: Path) -> bool:
    """Whether a file exists and is empty, as a power loss leaves what was not flushed."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return False


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_PROBES_AT_A_TIME, thread_name_prefix="omnigraph-probe")
