"""Rows: nodes by their keys: read in pieces that a request can hold, deleted in few commits."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from omnigraph.api.branch import Branch
from omnigraph.api.view import View

# A list in a request is not longer.
_MOST_KEYS = 8_000


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
    rest = iter(dict.fromkeys(keys))
    while some := list(islice(rest, _MOST_KEYS)):
        yield from view.query(query, keys=some)


def _take(rest: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return some keys of each type, and leave the others."""
    some = {name: each[:_MOST_KEYS] for name, each in rest.items() if each}
    for name in some:
        del rest[name][:_MOST_KEYS]
    return some
