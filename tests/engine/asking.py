"""Asking: small graphs made of lines, and short ways to read them."""

from pathlib import Path
from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.data.result import Result
from tests.pipeline.loads import text
from tests.templates import fresh_graph


def made(folder: Path, schema: str, *lines: str) -> Graph:
    """Make a graph with these rows."""
    return fresh_graph(folder / "g", schema, text(*lines))


def result(graph: Graph | View, body: str, /, params: str = "", **given: object) -> Result:
    """Run a read that is written without its head."""
    return graph.query(f"query q({params}) {{ {body} }}", **given)


def rows(
    graph: Graph | View, body: str, /, params: str = "", **given: object
) -> list[tuple[object, ...]]:
    """Return the rows of a read as tuples."""
    return [tuple(row.values()) for row in result(graph, body, params, **given)]


def column(graph: Graph, body: str, /, params: str = "", **given: object) -> list[object]:
    """Return the only column of a read."""
    return [only for (only,) in rows(graph, body, params, **given)]


def pairs(graph: Graph, body: str, /, params: str = "", **given: object) -> dict[Any, Any]:
    """Return the two columns of a read as a dict, in the order of the rows."""
    return {row[0]: row[1] for row in rows(graph, body, params, **given)}
