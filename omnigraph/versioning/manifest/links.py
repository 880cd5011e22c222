"""Links: versions and parents of commits, which are read without the commits themselves."""

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, commit_row_id
from omnigraph.versioning.manifest.fresh import fresh_between, fresh_commits
from omnigraph.versioning.manifest.records import is_between

_COLUMNS = ("object_id", "table_version", "base_objects")


@dataclass(frozen=True, slots=True)
class Link:
    """The version of a commit, and the commits that it came from."""

    version: int
    parents: tuple[str, ...]


def links_between(at: Table, versions: tuple[int, int], most: int) -> dict[str, Link] | None:
    """Return the links of all commits from one version to another; None for more than `most`."""
    fresh = fresh_between(at, versions)
    rows = at.scan_few(_COLUMNS, is_between(versions), most - len(fresh))
    return None if rows is None else _links(rows) | _links_of(fresh.values())


def links_of(at: Table, ids: Collection[str]) -> dict[str, Link]:
    """Return the links of those of some commits that the manifest holds."""
    fresh = fresh_commits(at)
    found = _links_of(fresh[each].commit for each in ids if each in fresh)
    left = [commit_row_id(each) for each in ids if each not in fresh]
    if not left:
        return found
    names = pa.array(left, pa.utf8())
    return found | _links(at.scan(_COLUMNS, pc.field("object_id").isin(names)))


def _links_of(commits: Iterable[Commit]) -> dict[str, Link]:
    return {each.id: Link(each.version, each.parents) for each in commits}


def _links(rows: pa.Table) -> dict[str, Link]:
    columns = (rows[name].to_pylist() for name in _COLUMNS)
    return {
        _commit_id(name): Link(version, tuple(map(_commit_id, parents)))
        for name, version, parents in zip(*columns, strict=True)
    }


def _commit_id(row_id: str) -> str:
    return row_id.removeprefix(commit_row_id(""))
