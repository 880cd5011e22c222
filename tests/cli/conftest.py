"""What the tests of commands share."""

import sys

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from tests.cli.scene import Run


@pytest.fixture
def run(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, in the folder of the `graph` of its test file."""

    def invoke(*given: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, list(given))

    return invoke
