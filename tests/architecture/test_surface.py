"""Every request is one operation: declared once, run by one function, served by one route."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.local.backend import function_of
from omnigraph.api.operation import Operation
from omnigraph.api.operations.branches import CreateTag, DeleteTag, RenameBranch
from omnigraph.api.operations.commits import GetCommit
from omnigraph.api.operations.maintenance import CleanUp, GetCoverage
from omnigraph.api.operations.runs import BeginRun
from omnigraph.api.operations.schemas import PlanSchema
from omnigraph.server.handlers import perform
from omnigraph.server.table import TABLE

ROOT = Path(__file__).parents[2]
DOORS = [
    path for room in ("api", "server", "cli") for path in (ROOT / "omnigraph" / room).rglob("*.py")
]
MOST_FILES = 5
# Operations, and the methods of the handles that run them.
ADDED = {
    CreateTag: "create_tag",
    DeleteTag: "delete_tag",
    RenameBranch: "rename_branch",
    GetCommit: "commit",
    GetCoverage: "coverage",
    CleanUp: "cleanup",
    BeginRun: "begin_run",
    PlanSchema: "plan_schema",
}


@pytest.mark.parametrize(("operation", "method"), ADDED.items(), ids=str)
def test_a_new_operation_touches_at_most_five_files(
    operation: type[Operation[Any]], method: str
) -> None:
    """Whoever adds one more writes the engine, the operation, its function, a method, a command."""
    named = re.compile(rf"\b{operation.__name__}\b|graph\(\S*\)\.{method}\(|graph\.{method}\(")
    touched = [path for path in DOORS if named.search(path.read_text())]
    engine = 1
    assert len(touched) + engine <= MOST_FILES, touched


def test_every_operation_has_a_function_and_what_is_served_has_one_route() -> None:
    served = [route.operation for route in TABLE if route.operation is not None]
    families = [path.stem for path in (ROOT / "omnigraph" / "api" / "local").glob("*.py")]
    rooms = [import_module(f"omnigraph.api.local.{family}") for family in families]
    run = {kind: room for room in rooms for kind in getattr(room, "FUNCTIONS", ())}
    assert all(function_of(kind) is room.FUNCTIONS[kind] for kind, room in run.items())
    with_endpoint = [operation for operation in run if operation.endpoint is not None]
    assert sorted(served, key=str) == sorted(with_endpoint, key=str)


def test_most_operations_need_no_handler_of_their_own() -> None:
    special = [route.name for route in TABLE if route.operation and route.handler is not perform]
    assert sorted(special) == [
        "algorithm",
        "blob",
        "changes",
        "diff",
        "export",
        "invoke_query",
        "read",
        "schema",
        "watch",
    ]


def test_no_class_of_the_doors_has_the_name_of_another_class() -> None:
    defined = re.compile(r"^class (\w+)", re.MULTILINE)
    everywhere = [
        name
        for path in (ROOT / "omnigraph").rglob("*.py")
        # Nodes of a syntax tree are always written with their module: `ast.Access`.
        if "examples" not in path.parts and path.name != "ast.py"
        for name in defined.findall(path.read_text())
    ]
    own = {name for path in DOORS for name in defined.findall(path.read_text())}
    assert sorted(name for name in own if everywhere.count(name) > 1) == []
