"""Rows: nodes by their keys: read in pieces that a request can hold, deleted in few commits."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from omnigraph.api.branch import Branch
from omnigraph.api.view import View

# A list in a request is not longer.
_MOST_KEYS = 8_000
# Half of what a server takes as a body, unless it is told otherwise.
_MOST_BYTES = 512 << 10


def delete_rows(branch: Branch, keys: Mapping[str, Iterable[str]], key: str = "slug") -> None:
    """Delete nodes of some types by their keys; unknown keys are no error.

    It is one commit, unless there are more keys than a request holds.
    """
    rest = {name: list(dict.fromkeys(each)) for name, each in keys.items()}
    while some := _take(rest):
        declared = ", ".join(f"$k{place}: [String]" for place in range(len(some)))
        deletes = " ".join(f"delete {of} where {key} in $k{n}" for n, of in enumerate(some))
        given = {f"k{place}": each for place, each in enumerate(some.values())}
        branch.mutate(f"query drop({declared}) {{ {deletes} }}", given)


def read_rows(view: View, query: str, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query about `$keys`, of which there may be any number."""
    rest = {"keys": list(dict.fromkeys(keys))}
    while some := _take(rest):
        yield from view.query(query, some)


def _take(rest: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return some keys of each type, as many as a request holds, and leave the others."""
    some: dict[str, list[str]] = {}
    left = _MOST_BYTES
    for name, keys in rest.items():
        count = _count(keys, left, least=0 if some else 1)
        if count:
            some[name], rest[name] = keys[:count], keys[count:]
            left -= sum(map(_size, some[name]))
    return some


def _count(keys: list[str], most_bytes: int, least: int) -> int:
    """Return how many of the first keys a request holds beside what it has."""
    size = 0
    for place, key in enumerate(keys[:_MOST_KEYS]):
        size += _size(key)
        if size > most_bytes and place >= least:
            return place
    return min(len(keys), _MOST_KEYS)


def _size(key: str) -> int:
    """Return how many bytes a key and a comma have in a request."""
    return len(msgspec.json.encode(key)) + 1
