"""Templates: new graphs, copied from one of the kind; to make one costs four times as much."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph


def fresh_graph(root: Path, schema: str, lines: str = "") -> Graph:
    """Return a graph in a new folder, with the rows of these lines; it is not flushed to disk."""
    return copied_graph(root, _maker(schema, lines))


def copied_graph(root: Path, make: Callable[[Path], Graph]) -> Graph:
    """Return a graph in a new folder as `make` makes it, which does so once for all tests."""
    shutil.copytree(_template(make), root)
    return open_graph(root, durable=False)


@cache
def _maker(schema: str, lines: str) -> Callable[[Path], Graph]:
    def make(root: Path) -> Graph:
        graph = init(root, schema, durable=False)
        if lines:
            graph.load(lines, engine="inline")
        return graph

    return make


@cache
def _template(make: Callable[[Path], Graph]) -> Path:
    root = Path(tempfile.mkdtemp(dir=_folder()), "graph")
    make(root).close()
    return root


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-templates-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
