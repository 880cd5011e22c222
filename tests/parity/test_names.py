"""What a graph at hand offers, one behind a server offers too, or it says why it does not."""

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.remote.graph import RemoteGraph, connect
from omnigraph.api.remote.view import RemoteBranch, RemoteView
from omnigraph.api.view import View
from omnigraph.errors import UnavailableError
from omnigraph.maintain.optimize import OptimizeHow
from omnigraph.write.load.options import BulkHow, LoadHow

TWINS = {Graph: RemoteGraph, View: RemoteView, Branch: RemoteBranch}
HOW = {"LoadHow": LoadHow, "BulkHow": BulkHow, "OptimizeHow": OptimizeHow}
# Keywords that only the handles of a graph at hand have, and why.
ONLY_HERE = {
    "actor": "the token says who acts",
    "budget": "the server has budgets of its own",
    "cancelled": "who ends the connection cancels a query",
    "engine": "the server chooses it",
    "spark": "the server has its own",
    "concurrency": "the server has its own",
    "progress": "nothing is told before the answer",
    "report": "a file of the violations is written where the rows are checked",
    "shown": "a server sends as many violations as it does",
    "operation_id": "the branch has it",
}
REFUSED: dict[str, Callable[[RemoteGraph], object]] = {
    "actor": lambda graph: graph.actor,
    "acting_as": lambda graph: graph.acting_as("ana"),
    "Graph.export_to": lambda graph: graph.export_to("out"),
    "Branch.export_to": lambda graph: graph.branch().export_to("out", format="parquet"),
}


@pytest.mark.parametrize(("here", "there"), TWINS.items(), ids=lambda kind: kind.__name__)
def test_both_have_the_same_names(here: type, there: type) -> None:
    assert public(there) == public(here)


@pytest.mark.parametrize(("here", "there"), TWINS.items(), ids=lambda kind: kind.__name__)
def test_a_keyword_is_missing_only_where_it_is_known_why(here: type, there: type) -> None:
    methods = [name for name in public(here) if callable(getattr(here, name))]
    for name in set(methods) - {"export_to"}:
        own, other = (set(keywords(getattr(kind, name))) for kind in (here, there))
        assert other <= own, name
        assert own - other <= ONLY_HERE.keys(), name


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_server_cannot_do_is_refused_with_a_reason(name: str) -> None:
    with connect("http://127.0.0.1:9") as graph, pytest.raises(UnavailableError) as refused:
        REFUSED[name](graph)
    assert refused.value.message


def public(kind: type) -> list[str]:
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def keywords(method: Callable[..., object]) -> Iterator[str]:
    """Give the names of the parameters; of typed keywords, those of the type."""
    for each in inspect.signature(method).parameters.values():
        typed = re.search(r"Unpack\[(\w+)\]", str(each.annotation))
        yield from HOW[typed[1]].__annotations__ if typed else [each.name]
