"""The commands say what they did, in words and as JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    for number in range(6):
        write(graph, {PERSON: (Append(people({f"p{number}": number})),)})
    return graph


def _run(*words: str) -> Result:
    return CliRunner().invoke(omnigraph, list(words))


def test_optimize_says_what_became_of_each_table(graph: Graph) -> None:
    done = json.loads(_run("optimize", graph.uri, "--json").stdout)

    assert done["uri"] == graph.uri
    assert done["commit"] == graph.snapshot().commit.id
    table = next(each for each in done["tables"] if each["table_key"] == PERSON)
    assert table["committed"] is True
    assert table["fragments_added"] == 1
    assert table["fragments_removed"] > 1
    assert {each["rows_pending"] for each in table["indexes"]} == {0}
    again = _run("optimize", graph.uri)
    assert (again.exit_code, again.stdout) == (0, "nothing had to be done\n")


def test_indexes_only_leaves_the_fragments(graph: Graph) -> None:
    done = json.loads(_run("optimize", graph.uri, "--indexes-only", "--json").stdout)

    assert {each["fragments_removed"] for each in done["tables"]} == {0}
    found = json.loads(_run("coverage", graph.uri, "--json").stdout)
    assert {each["rows_pending"] for each in found["indexes"]} == {0}
    assert "node:Person.slug btree: 6 indexed\n" in _run("coverage", graph.uri).stdout


def test_coverage_says_why_rows_are_pending(graph: Graph) -> None:
    first = next(commit for commit in graph.log() if commit.version == 1)

    now, then = (
        _run("coverage", graph.uri, *words).stdout for words in ((), ("--snapshot", first.id))
    )

    assert "node:Person.age btree: 0 indexed, 6 pending: scanning so few rows is faster" in now
    assert "node:Person.age btree: 0 indexed, 1 pending" in then


def test_cleanup_shows_a_preview_and_does_it_when_confirmed(graph: Graph) -> None:
    shown = _run("cleanup", graph.uri, "--keep", "1", "--grace", "0s")
    assert shown.stdout.splitlines()[-1] == "nothing was removed; --confirm does it"
    assert "would remove 5 versions" in shown.stdout

    done = json.loads(
        _run("cleanup", graph.uri, "--keep", "1", "--grace", "0s", "--confirm", "--json").stdout
    )

    (table,) = done["tables"]
    assert (table["table_key"], table["old_versions_removed"]) == (PERSON, 5)
    assert table["bytes_removed"] > 1_000
    assert done["confirmed"] is True


def test_cleanup_has_to_be_told_what_to_keep(graph: Graph) -> None:
    assert _run("cleanup", graph.uri).exit_code == 2
    assert _run("cleanup", graph.uri, "--keep", "0").exit_code == 2
    assert _run("cleanup", graph.uri, "--older-than", "soon").exit_code == 1


def test_fsck_of_a_sound_graph_says_so(graph: Graph) -> None:
    found = _run("fsck", graph.uri)

    assert found.exit_code == 0
    assert found.stdout.startswith("sound; looked at 7 commits")
