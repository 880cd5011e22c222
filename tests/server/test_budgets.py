"""Long work of a server has a budget of time and memory, by kind of work, graph and actor."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import httpx
import pytest

from omnigraph.api.budgets import BYTES, SECONDS, Budgets
from omnigraph.api.graph import Graph
from omnigraph.api.operation import Work
from omnigraph.errors import BudgetError, ConfigError, DeclarationError
from omnigraph.server.config import load_config
from omnigraph.server.limits import Limits, parse_limit
from tests.deploy.folder import CLUSTER, write
from tests.deploy.serving import applied, fleet
from tests.docs.blocks import ROOT
from tests.sample import new_graph
from tests.server.serving import PATIENT, Served, serving

ROWS = "".join(
    f'{{"type": "Person", "data": {{"slug": "p{number}", "name": "{"n" * 200}"}}}}\n'
    for number in range(500)
)
PEOPLE = "match { $p: Person } return { $p.slug }"
OTHER = 'query q() { insert Company { name: "c" } }'
TINY = 20_000
# Less than the ids of all rows.
TINIEST = 2_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), replace(PATIENT, threads=4)) as found:
        found.graph.create_branch("draft")
        found.graph.branch("draft").load(ROWS)
        yield found


@pytest.fixture
def limited(served: Served, request: pytest.FixtureRequest) -> Iterator[Served]:
    """The server with other budgets for the actor `owner`."""
    app = served.server.app
    before = app.site
    assert before.only is not None
    only = replace(before.only, budgets=Budgets(actors={"owner": request.param}))
    app.site = replace(before, only=only, graphs={only.name: only})
    yield served
    app.site = before


def refused(answer: httpx.Response) -> tuple[str, str, str]:
    document = answer.json()
    assert (answer.status_code, document["code"]) == (400, "budget_exceeded"), document
    return document["error"], document["detail"]["limit"], document["detail"]["hint"]


@pytest.mark.parametrize("limited", [{"load_seconds": 1e-9}], indirect=True)
def test_a_load_ends_at_its_time_and_says_which_limit_it_was(limited: Served) -> None:
    before = limited.graph.snapshot().commit

    message, limit, hint = refused(limited.ask("POST", "/load", {"data": ROWS, "mode": "append"}))

    assert message == "the load ran longer than 1e-09 s"
    assert limit == "seconds"
    assert "load fewer rows at a time" in hint
    assert "raise its limit load_seconds" in hint
    assert limited.graph.snapshot().commit == before


@pytest.mark.parametrize("limited", [{"load_bytes": TINY}], indirect=True)
def test_a_load_that_would_hold_too_much_changes_nothing(limited: Served) -> None:
    before = limited.graph.snapshot().commit

    message, limit, _ = refused(limited.ask("POST", "/load", {"data": ROWS, "mode": "append"}))

    assert message == "the load needs more than 0.01907 MiB of memory"
    assert limit == "bytes"
    assert limited.graph.snapshot().commit == before


@pytest.mark.parametrize("limited", [{"merge_bytes": TINIEST}], indirect=True)
def test_a_merge_that_would_hold_too_much_changes_nothing(limited: Served) -> None:
    limited.graph.mutate(OTHER)
    before = limited.graph.snapshot().commit
    asked = {"source": "draft", "target": "main"}

    message, _, hint = refused(limited.ask("POST", "/branches/merge", asked))

    assert message.startswith("the merge needs more than 0.001907 MiB")
    assert "raise its limit merge_bytes" in hint
    assert limited.graph.snapshot().commit == before


@pytest.mark.parametrize("limited", [{"changes_bytes": TINY // 2}], indirect=True)
def test_a_diff_and_the_feed_hold_no_more_than_they_may(limited: Served) -> None:
    message, _, hint = refused(limited.ask("POST", "/diff", {"from": "main", "to": "draft"}))
    assert message.startswith("the diff needs more than")
    assert "raise its limit changes_bytes" in hint
    refused(limited.ask("POST", "/diff", {"from": "main", "to": "draft", "stat": True}))
    refused(limited.ask("GET", "/changes?branch=draft"))


@pytest.mark.parametrize("limited", [{"export_bytes": 1}], indirect=True)
def test_an_answer_about_changes_is_as_large_as_the_limit_that_is_named(limited: Served) -> None:
    message, _, hint = refused(limited.ask("POST", "/diff", {"from": "main", "to": "draft"}))

    assert message == "the answer is larger than 0 MiB"
    assert "raise its limit export_bytes" in hint


@pytest.mark.parametrize("limited", [{"answer_seconds": 1e-9}], indirect=True)
def test_an_answer_that_is_not_taken_in_time_names_its_limit(limited: Served) -> None:
    message, _, hint = refused(limited.ask("POST", "/read", {"query_source": PEOPLE}))

    assert message == "the answer was not taken within 1e-09 s"
    assert "raise its limit answer_seconds" in hint


@pytest.mark.parametrize("limited", [{"changes_seconds": 1e-9}], indirect=True)
def test_changes_and_blame_end_at_their_time(limited: Served) -> None:
    refused(limited.ask("POST", "/diff", {"from": "main", "to": "draft"}))
    refused(limited.ask("GET", "/changes?branch=draft"))
    refused(limited.ask("GET", "/blame?type=Person&id=ana"))


@pytest.mark.parametrize("limited", [{"export_seconds": 1e-9}], indirect=True)
def test_an_export_ends_at_its_time(limited: Served) -> None:
    _, _, hint = refused(limited.ask("POST", "/export", {}))

    assert "export some of the types at a time" in hint


@pytest.mark.parametrize("limited", [{"write_seconds": 1e-9}], indirect=True)
def test_checks_and_cleanups_over_http_end_at_their_time(limited: Served) -> None:
    message, _, hint = refused(limited.ask("GET", "/fsck"))
    assert message.startswith("the check of the files ran longer")
    assert "raise its limit write_seconds" in hint
    refused(limited.ask("POST", "/cleanup", {"keep": 1}))
    refused(limited.ask("POST", "/cleanup", {"keep": 1, "confirm": True}))


@pytest.mark.parametrize("limited", [{"query_bytes": 1, "load_bytes": 1}], indirect=True)
def test_the_budget_of_one_actor_is_not_that_of_another(limited: Served) -> None:
    asked = {"query_source": "query all() { match { $p: Person } return { $p.slug } }"}

    refused(limited.ask("POST", "/read", asked))

    assert limited.ask("POST", "/read", asked, actor="reader").status_code == 200


def test_a_load_within_little_memory_gives_the_same_rows(tmp_path: Path) -> None:
    graphs: list[Graph] = []
    for name, size in (("narrow", 700_000), ("wide", None)):
        graphs.append(new_graph(tmp_path / name))
        graphs[-1].load(ROWS, bytes=size)

    narrow, wide = (list(each.export()) for each in graphs)

    assert b"".join(narrow) == b"".join(wide)


def test_a_merge_in_python_takes_a_limit_of_memory(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    graph.create_branch("draft")
    graph.branch("draft").load(ROWS)
    graph.mutate(OTHER)

    with pytest.raises(BudgetError, match=r"the merge needs more than 0\.001907 MiB") as large:
        graph.merge("draft", bytes=TINIEST)
    assert large.value.limit == "bytes"
    assert graph.merge("draft", bytes=TINY).commit is not None
    assert sum(each.count(b"\n") for each in graph.export(types=["Person"])) == 500


@pytest.mark.parametrize("limited", [{"changes_seconds": 1e-9}], indirect=True)
def test_a_review_is_counted_as_changes(limited: Served) -> None:
    _, _, hint = refused(limited.ask("GET", "/review?branch=draft"))

    assert "raise its limit changes_seconds" in hint


def test_every_budget_is_a_limit_of_the_server() -> None:
    names = {each.name for each in fields(Limits)}

    assert {*SECONDS, *BYTES} <= names
    assert all(Limits().seconds_of(work) > 0 for work in Work)
    assert Limits(write_seconds=7).seconds_of(Work.LOAD) == 7
    assert Limits(write_seconds=7, load_seconds=3).seconds_of(Work.LOAD) == 3
    assert parse_limit("load_seconds=1.5") == ("load_seconds", 1.5)
    assert parse_limit("load_bytes=5") == ("load_bytes", 5)


def test_the_page_of_the_server_names_every_limit_with_its_default() -> None:
    page = (ROOT / "docs" / "server.md").read_text()
    section = page.partition("\n## Limits\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    pairs = [(n, d) for n, d in rows for n, d in zip(n.split(", "), d.split(", "), strict=True)]
    told = {name.strip(" `"): default.strip(" `") for name, default in pairs}

    assert sorted(told) == sorted(each.name for each in fields(Limits))
    plain = {name: float(each.split()[0]) for name, each in told.items() if each[0].isdigit()}
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    for name, number in plain.items():
        if "core" not in told[name]:
            unit = units[told[name].split()[1]] if name.endswith("_bytes") else 1
            assert getattr(Limits(), name) == number * unit, name
    unset = {name for name, default in told.items() if default in told}
    assert {name for name in told if getattr(Limits(), name) is None} == unset


def test_omnigraph_yaml_has_budgets_for_all_and_for_actors(tmp_path: Path) -> None:
    file = tmp_path / "omnigraph.yaml"
    file.write_text(
        "server:\n  limits:\n    load_seconds: 2.5\n    load_bytes: 1_000_000\n"
        "    actors: {guest: {query_seconds: 1}}\n"
    )

    budgets = load_config(file).server.budgets

    assert budgets.of(None) == {"load_seconds": 2.5, "load_bytes": 1_000_000}
    assert budgets.of("guest") == {**budgets.common, "query_seconds": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{load_second: 1}", "unknown key 'server.limits.load_second'; did you mean"),
        ("{threads: 1}", "unknown key 'server.limits.threads'"),
        ("{load_seconds: 0}", "'server.limits.load_seconds' must be a number of more than 0"),
        ("{load_seconds: .nan}", "'server.limits.load_seconds' must be a number of more than 0"),
        ("{load_bytes: 1.5}", "'server.limits.load_bytes' must be a number"),
        ("{actors: {a: {threads: 1}}}", "unknown key 'server.limits.actors.a.threads'"),
    ],
)
def test_wrong_budgets_are_told(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "omnigraph.yaml"
    file.write_text(f"server: {{limits: {text}}}\n")

    with pytest.raises(ConfigError) as wrong:
        load_config(file)

    assert told in wrong.value.message


def test_a_deployment_has_budgets_for_each_graph_and_a_new_revision_changes_them(
    tmp_path: Path,
) -> None:
    limits = "    limits: {query_bytes: 1, actors: {cy: {query_bytes: 1_000_000}}}\npolicies:\n"
    two = CLUSTER.replace("policies:\n", f"  other:\n    schema: people.pg\n{limits}")
    folder = write(tmp_path / "brain", cluster__yaml=two)
    applied(folder)
    asked = {"query_source": "query q() { match { $p: Person } return { $p.name } }"}
    add = {"query_source": 'query a() { insert Person { name: "Ada" } }'}

    with fleet(folder) as served:
        for graph in ("people", "other"):
            assert served.ask("POST", f"/graphs/{graph}/change", add, "bob").status_code == 200
        assert served.ask("POST", "/graphs/people/read", asked, "bob").status_code == 200
        refused(served.ask("POST", "/graphs/other/read", asked, "bob"))
        assert served.ask("POST", "/graphs/other/read", asked, "cy").status_code == 200

        write(folder, cluster__yaml=two.replace("query_bytes: 1,", "query_seconds: 5,"))
        changes = applied(folder).plan.changes
        assert [each.resource for each in changes] == ["graph.other.limits"]
        served.wait_for(
            lambda: served.ask("POST", "/graphs/other/read", asked, "bob").status_code == 200
        )


def test_limits_of_a_deployment_hold_where_a_graph_has_none(tmp_path: Path) -> None:
    from omnigraph.deploy.declaration import read_declaration

    text = "limits: {load_seconds: 9, actors: {cy: {query_seconds: 1}}}\n" + CLUSTER.replace(
        "queries: queries/\n", "queries: queries/\n    limits: {load_seconds: 3}\n"
    )
    found = read_declaration(write(tmp_path, cluster__yaml=text))
    assert found.definition.graphs["people"].budgets.of("cy") == {
        "load_seconds": 3,
        "query_seconds": 1,
    }

    write(tmp_path, cluster__yaml=text.replace("query_seconds", "query_secs"))
    with pytest.raises(DeclarationError) as wrong:
        read_declaration(tmp_path)
    assert "cluster.yaml:1: unknown key 'limits.actors.cy.query_secs'" in str(
        wrong.value.file_problems[0]
    )
