"""Whatever is passed to a public call, what it raises is an error of OmniGraph."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import OmniGraphError

SCHEMA = "node P { k: String @key  n: I32? }\nedge E: P -> P"
QUERY = "query q($k: String) { match { $p: P { k: $k } } return { $p.n as n } }"
ADD = 'query add() { insert P { k: "m" } }'
WRONG: tuple[object, ...] = (
    None,
    3,
    1.5,
    b"x",
    [],
    {},
    object(),
    "",
    "x" * 30,
    "\ud800",
    -1,
    True,
    ("a",),
)
ROW = [{"k": "y"}]
CALLS: dict[str, Callable[[og.Graph, object], object]] = {
    "query": lambda g, v: g.query(v),  # type: ignore[arg-type]
    "query name": lambda g, v: g.query(QUERY, v),  # type: ignore[arg-type]
    "query parameter": lambda g, v: g.query(QUERY, k=v),
    "query parameters": lambda g, v: g.query(QUERY, "q", v),  # type: ignore[arg-type]
    "mutate": lambda g, v: g.mutate(v),  # type: ignore[arg-type]
    "load": lambda g, v: g.load(v),
    "load type": lambda g, v: g.load(ROW, type=v, dry_run=True),  # type: ignore[arg-type]
    "load mode": lambda g, v: g.load(ROW, type="P", mode=v, dry_run=True),  # type: ignore[arg-type]
    "load shown": lambda g, v: g.load(ROW, type="P", shown=v, dry_run=True),  # type: ignore[arg-type]
    "at": lambda g, v: g.at(v),  # type: ignore[arg-type]
    "branch": lambda g, v: g.branch(v).commit,  # type: ignore[arg-type]
    "branch actor": lambda g, v: g.branch(actor=v).mutate(ADD),  # type: ignore[arg-type]
    "branch expect": lambda g, v: g.branch(expect=v).mutate(ADD),  # type: ignore[arg-type]
    "create_branch": lambda g, v: g.create_branch(v),  # type: ignore[arg-type]
    "create_branch from": lambda g, v: g.create_branch("zz", v),  # type: ignore[arg-type]
    "delete_branch": lambda g, v: g.delete_branch(v),  # type: ignore[arg-type]
    "rename_branch": lambda g, v: g.rename_branch("main", v),  # type: ignore[arg-type]
    "create_tag": lambda g, v: g.create_tag(v),  # type: ignore[arg-type]
    "commit": lambda g, v: g.commit(v),  # type: ignore[arg-type]
    "run_record": lambda g, v: g.run_record(v),  # type: ignore[arg-type]
    "begin_run": lambda g, v: g.begin_run(v),  # type: ignore[arg-type]
    "diff": lambda g, v: list(g.diff(v)),  # type: ignore[arg-type]
    "diff types": lambda g, v: list(g.diff("main", types=v)),  # type: ignore[arg-type]
    "review": lambda g, v: list(g.review(v)),  # type: ignore[arg-type]
    "merge": lambda g, v: g.merge(v),  # type: ignore[arg-type]
    "resolutions": lambda _, v: og.Resolutions.chosen(v),  # type: ignore[arg-type]
    "resolution": lambda _, v: og.Resolutions.chosen([v]),  # type: ignore[list-item]
    "revert": lambda g, v: g.revert(v),  # type: ignore[arg-type]
    "plan_schema": lambda g, v: g.plan_schema(v),  # type: ignore[arg-type]
    "log limit": lambda g, v: list(g.log(limit=v)),  # type: ignore[arg-type]
    "log after": lambda g, v: list(g.log(after=v)),  # type: ignore[arg-type]
    "changes": lambda g, v: list(g.changes(v)),  # type: ignore[arg-type]
    "blame": lambda g, v: g.blame("P", v),  # type: ignore[arg-type]
    "entity_at": lambda g, v: g.entity_at("node:P", "a", v),  # type: ignore[arg-type]
    "export types": lambda g, v: list(g.export(types=v)),  # type: ignore[arg-type]
    "blob": lambda g, v: g.branch().blob("P", "a", v),  # type: ignore[arg-type]
    "infer": lambda _, v: og.infer(v),
    "open": lambda _, v: og.open(v),  # type: ignore[arg-type]
    "connect": lambda _, v: og.connect(v),  # type: ignore[arg-type]
    "compile_schema": lambda _, v: og.compile_schema(v),  # type: ignore[arg-type]
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("wrong") / "g", SCHEMA, durable=False)
    graph.load([{"k": "a", "n": 1}], type="P")
    return graph


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_something_else_raises_an_error_of_omnigraph(
    graph: og.Graph, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        with suppress(OmniGraphError):
            CALLS[name](graph, value)
