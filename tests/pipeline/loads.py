"""Loads: how tests write records, load them with either engine, and read what came of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import Violation, ViolationsError
from omnigraph.write.load.keywords import LoadKeywords
from omnigraph.write.load.sources.inputs import Data


@pytest.fixture(params=["inline", pytest.param("spark", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest) -> str:
    """Return each engine in turn; the session of Spark is the one that all tests share."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


def node(type_name: str, /, **data: object) -> str:
    """Return the line of a node."""
    return json.dumps({"type": type_name, "data": data})


def edge(name: str, source: str, target: str, /, **data: object) -> str:
    """Return the line of an edge."""
    ends = {"edge": name, "from": source, "to": target}
    return json.dumps({**ends, "data": data} if data else ends)


def person(slug: str, age: int | None = None) -> str:
    """Return the line of a person of the sample graph."""
    return node("Person", slug=slug, name=f"{slug} of the north", age=age)


def text(*lines: str) -> str:
    """Return lines as one text."""
    return "".join(f"{line}\n" for line in lines)


def written(path: Path, *lines: str) -> Path:
    """Write lines to a file, and give it."""
    path.write_text(text(*lines))
    return path


def rows(graph: Graph, key: str, target: str = "main") -> list[dict[str, Any]]:
    """Return the rows of a table at a branch or commit, in the order of their ids."""
    found = graph.snapshot(target).table(key).scan().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def refused(
    graph: Graph, data: Data, *, type_name: str | None = None, **how: Unpack[LoadKeywords]
) -> ViolationsError:
    """Load what breaks rules, and give the error; the graph is what it was."""
    before = history(graph)
    with pytest.raises(ViolationsError) as raised:
        graph.load(data, type=type_name, **how)
    assert history(graph) == before
    return raised.value


def broken(
    graph: Graph, data: Data, *, type_name: str | None = None, **how: Unpack[LoadKeywords]
) -> list[str]:
    """Load what breaks rules, and give what is said of each violation."""
    return told(refused(graph, data, type_name=type_name, **how).violations)


def told(violations: Sequence[Violation]) -> list[str]:
    """Return violations as text; of their files only the names."""
    return [
        each.render().replace(f"{Path(each.file).parent}/", "") if each.file else each.render()
        for each in violations
    ]


def history(graph: Graph) -> dict[str, list[str]]:
    """Return all that can be seen of a graph: its branches and the ids of their commits."""
    return {name: [commit.id for commit in graph.log(name)] for name in graph.branches()}


class Heard:
    """Progress that remembers what it was told."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.steps: list[tuple[int, int]] = []

    def begin(self, stage: str, size: int = 0) -> None:
        self.stages.append(stage)

    def advance(self, done: int, total: int) -> None:
        self.steps.append((done, total))


def couple_ingested(graph: Graph, actor: str) -> dict[str, object]:
    """Return the machine form of an ingest that made `draft` with two people and an edge."""
    return {
        "uri": graph.uri,
        "branch": "draft",
        "base_branch": "main",
        "branch_created": True,
        "mode": "merge",
        "engine": "inline",
        "tables": [
            {"table_key": "node:Person", "rows_loaded": 2},
            {"table_key": "edge:Knows", "rows_loaded": 1},
        ],
        "inserted": 3,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "actor_id": actor,
        "commit": graph.snapshot("draft").commit.id,
    }
