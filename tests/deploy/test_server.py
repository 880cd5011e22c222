"""A server of a deployment: every graph below its name, new revisions without a dropped request."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph import connect
from omnigraph.api.graph import open as open_graph
from omnigraph.deploy.definition import Definition, graph_uri
from omnigraph.deploy.ledger import ROOT, Ledger
from omnigraph.errors import (
    ConfigError,
    QueryNotFoundError,
    RevisionNotFoundError,
    StorageError,
)
from tests.deploy.folder import CLUSTER, POLICY, TWO, write
from tests.deploy.serving import TOKENS, Fleet, applied, fleet

FREE = CLUSTER.partition("policies:")[0]
ADD = "query add($name: String) { insert Person { name: $name } }"
ALL = "query q() { match { $p: Person } return { $p.name as name } order { name } }"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = write(tmp_path / "brain", cluster__yaml=TWO)
    applied(found)
    return found


@pytest.fixture
def served(folder: Path) -> Iterator[Fleet]:
    with fleet(folder) as found:
        yield found


def test_every_graph_has_all_routes_below_its_name(served: Fleet) -> None:
    for graph in ("people", "other"):
        body = {"query_source": ADD, "params": {"name": graph}}
        assert served.ask("POST", f"/graphs/{graph}/change", body).status_code == 200
        rows = served.ask("POST", f"/graphs/{graph}/read", {"query_source": ALL}).json()["rows"]
        assert rows == [{"name": graph}]
    astray = served.ask("POST", "/read", {"query_source": ALL})
    assert (astray.status_code, astray.json()["code"]) == (404, "no_route")
    assert astray.json()["error"] == "this server has its graphs at /graphs/NAME"
    assert "GET /graphs" in astray.json()["detail"]["hint"]
    assert "openapi.json" in served.ask("GET", "/nowhere").json()["error"]
    paths = served.client.get("/openapi.json").json()["paths"]
    assert "/graphs/{graph}/read" in paths
    assert "/graphs" in paths


def test_the_log_says_whether_there_is_a_policy(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "omnigraph.server"), fleet(folder):
        pass
    free = write(tmp_path / "free", cluster__yaml=FREE)
    applied(free)
    with caplog.at_level("INFO", "omnigraph.server"), fleet(free):
        pass
    started = [vars(each)["fields"] for each in caplog.records if each.getMessage() == "serving"]
    assert [each["policy"] for each in started] == [True, False]


def test_a_graph_without_a_policy_says_where_one_is_written(tmp_path: Path) -> None:
    free = write(tmp_path / "free", cluster__yaml=FREE)
    applied(free)
    with fleet(free, allows_writes=False) as served:
        refused = served.ask("POST", "/graphs/people/change", {"query_source": ADD})

    assert refused.json()["error"] == "'bob' may only read: this graph has no policy"
    assert "give the graph a policy in cluster.yaml" in refused.json()["detail"]["hint"]


def test_graphs_are_listed_to_those_whom_the_policy_of_the_cluster_lets(served: Fleet) -> None:
    assert served.ask("GET", "/graphs").json() == {
        "graphs": [
            {"id": "other", "path": "/graphs/other", "in_service": True},
            {"id": "people", "path": "/graphs/people", "in_service": True},
        ],
        "revision": 1,
    }
    assert served.ask("GET", "/graphs", actor="ann").status_code == 403
    assert served.ask("GET", "/graphs", actor=None).status_code == 401


def test_a_graph_that_an_actor_may_not_know_of_is_not_there(served: Fleet) -> None:
    body = {"query_source": ALL}
    hidden = served.ask("POST", "/graphs/people/read", body, actor="cy")
    missing = served.ask("POST", "/graphs/peeple/read", body, actor="cy")

    assert hidden.status_code == missing.status_code == 404
    assert hidden.json()["error"].replace("people", "peeple") == missing.json()["error"]


def test_policies_and_stored_queries_are_those_of_the_revision(served: Fleet) -> None:
    listed = served.ask("GET", "/graphs/people/queries", actor="ann").json()["queries"]

    assert [each["name"] for each in listed] == ["everyone"]
    assert served.ask("POST", "/graphs/people/queries/everyone", {}, actor="ann").status_code == 200
    assert (
        served.ask("POST", "/graphs/people/read", {"query_source": ALL}, "ann").status_code == 403
    )


def test_the_handles_of_python_work_on_a_graph_of_a_deployment(served: Fleet) -> None:
    url = f"http://{served.server.address}/graphs/other"
    with connect(url, token=TOKENS["bob"]) as graph:
        graph.mutate(ADD, name="Ada")
        assert graph.query(ALL).to_dicts() == [{"name": "Ada"}]
        with pytest.raises(QueryNotFoundError):
            graph.queries["everyone"]


def test_a_new_revision_is_taken_while_requests_run_and_none_is_dropped(
    folder: Path, served: Fleet
) -> None:
    failed: list[object] = []
    done = threading.Event()

    def ask_on() -> None:
        while not done.is_set():
            answer = served.ask("POST", "/graphs/people/queries/everyone", {}, actor="ann")
            if answer.status_code != 200:
                failed.append(answer.text)

    asking = threading.Thread(target=ask_on)
    asking.start()
    try:
        (folder / "queries/more.gq").write_text(
            "query more() { match { $p: Person } return { $p.age } }"
        )
        policy = POLICY.replace("[everyone]", "[everyone, more]")
        write(folder, cluster__yaml=TWO, base__policy__yaml=policy)
        assert applied(folder).entry.number == 2
        served.wait_for(
            lambda: (
                served.ask("POST", "/graphs/people/queries/more", {}, actor="ann").status_code
                == 200
            )
        )
    finally:
        done.set()
        asking.join(60)
    assert failed == []
    assert served.client.get("/healthz").json()["revision"] == 2


def test_a_feed_ends_with_the_revision_that_no_longer_lets_its_actor_read(
    folder: Path, served: Fleet
) -> None:
    both = POLICY.replace("writers: [bob]", "writers: [bob, cy]")
    write(folder, cluster__yaml=TWO, base__policy__yaml=both)
    applied(folder)
    served.wait_for(lambda: served.ask("GET", "/graphs/people/snapshot", actor="cy").is_success)
    headers = {"authorization": f"Bearer {TOKENS['bob']}"}
    stream = "/graphs/people/changes/stream"
    with served.client.stream("GET", stream, headers=headers, timeout=60) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: baseline"
        write(folder, cluster__yaml=TWO, base__policy__yaml=both.replace("[bob, cy]", "[cy]"))
        applied(folder)
        served.wait_for(lambda: served.ask("GET", "/graphs/people/snapshot").status_code == 404)

        body = {"query_source": ADD, "params": {"name": "Eve"}}
        assert served.ask("POST", "/graphs/people/change", body, actor="cy").is_success

        assert next(each for each in lines if each.startswith("event: ")) == "event: error"
        assert "no graph 'people'" in next(lines)


def test_a_revision_that_could_not_be_read_is_tried_again(
    folder: Path, served: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failures = Ledger.definition, [StorageError("the store is away")]

    def definition(self: Ledger, revision: str) -> Definition:
        if failures:
            raise failures.pop()
        return read(self, revision)

    monkeypatch.setattr(Ledger, "definition", definition)
    monkeypatch.setattr("omnigraph.server.deployed._TRY_AGAIN_SECONDS", 0.1)
    (folder / "queries/more.gq").write_text("query more() { match { $p: Person } return { $p } }")
    applied(folder)

    served.wait_for(lambda: served.ask("GET", "/graphs").json()["revision"] == 2)
    assert served.client.get("/healthz").json()["reload_failing"] == []


def test_a_revision_that_does_not_load_is_refused_as_a_whole(folder: Path, served: Fleet) -> None:
    (folder / "queries/more.gq").write_text("query more() { match { $p: Person } return { $p } }")
    ledger = Ledger.at(str(folder))
    before = set((folder / ROOT / "texts").iterdir())
    revision = applied_text(folder, before)

    served.wait_for(lambda: served.client.get("/healthz").json()["reload_failing"] == ["revision"])
    assert served.client.get("/healthz").json()["revision"] == 1
    assert ledger.serving().revision == revision
    assert served.ask("POST", "/graphs/people/queries/everyone", {}, actor="ann").status_code == 200
    assert 'omnigraph_reload_failing{what="revision"} 1' in served.ask("GET", "/metrics").text


def applied_text(folder: Path, before: set[Path]) -> str:
    """Apply, and lose a text of the new revision at the same moment."""
    from omnigraph.storage import steps

    def observe(step: str) -> None:
        if step == "cluster revision":
            for each in set((folder / ROOT / "texts").iterdir()) - before:
                each.unlink()

    steps.observer = observe
    try:
        return applied(folder).entry.revision
    finally:
        steps.observer = None


def test_a_broken_graph_is_out_of_service_alone_and_comes_back(folder: Path) -> None:
    place = Path(graph_uri(str(folder), "other"))
    place.rename(folder / "aside")
    with fleet(folder) as served:
        broken = served.ask("POST", "/graphs/other/read", {"query_source": ALL})
        assert (broken.status_code, broken.json()["code"]) == (503, "graph_unavailable")
        assert str(folder) not in broken.text
        assert served.ask("POST", "/graphs/people/read", {"query_source": ALL}).status_code == 200
        health = served.client.get("/healthz").json()
        assert (health["graphs"], health["graphs_out_of_service"]) == (2, 1)
        assert served.client.get("/readyz").status_code == 200
        assert "omnigraph_graphs_out_of_service 1" in served.ask("GET", "/metrics").text

        (folder / "aside").rename(place)
        served.wait_for(
            lambda: (
                served.ask("POST", "/graphs/other/read", {"query_source": ALL}).status_code == 200
            )
        )


def test_a_graph_that_was_removed_and_made_anew_is_served_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.server.deployed._TRY_AGAIN_SECONDS", 0.1)
    body = {"query_source": ADD, "params": {"name": "Ada"}}
    with fleet(folder) as served:
        assert served.ask("POST", "/graphs/other/change", body).is_success
        shutil.rmtree(graph_uri(str(folder), "other"))
        assert served.client.get("/readyz").is_success
        served.wait_for(lambda: served.client.get("/healthz").json()["graphs_out_of_service"] == 1)

        applied(folder)
        read = {"query_source": ALL}
        served.wait_for(lambda: served.ask("POST", "/graphs/other/read", read).is_success)
        assert served.ask("POST", "/graphs/other/read", read).json()["rows"] == []

        shutil.rmtree(graph_uri(str(folder), "other"))
        applied(folder)
        served.wait_for(lambda: served.ask("POST", "/graphs/other/read", read).is_success)
        assert served.client.get("/healthz").json()["graphs_out_of_service"] == 0


def test_a_server_is_not_ready_when_no_graph_can_be_read(folder: Path) -> None:
    with fleet(folder) as served:
        assert served.client.get("/readyz").is_success
        for name in ("people", "other"):
            shutil.rmtree(graph_uri(str(folder), name))
        assert served.client.get("/readyz").status_code == 503


def test_all_graphs_can_be_required(folder: Path) -> None:
    Path(graph_uri(str(folder), "other")).rename(folder / "aside")

    with pytest.raises(ConfigError, match="other"), fleet(folder, needs_all=True):
        pass


def test_where_all_graphs_are_required_one_that_goes_while_it_is_served_goes_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.server.deployed._TRY_AGAIN_SECONDS", 0.1)
    with fleet(folder, needs_all=True) as served:
        shutil.rmtree(graph_uri(str(folder), "other"))
        served.wait_for(lambda: served.client.get("/healthz").json()["graphs_out_of_service"] == 1)
        read = {"query_source": ALL}
        assert served.ask("POST", "/graphs/people/read", read).is_success


def test_a_folder_that_was_never_applied_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(RevisionNotFoundError), fleet(write(tmp_path / "new")):
        pass


def test_a_graph_embeds_by_the_provider_of_the_deployment(tmp_path: Path) -> None:
    schema = "node Doc { title: String @key  text: String  v: Vector(8)? @embed(text) }\n"
    provider = "providers: {embedding: {fake: {kind: mock}}}\n"
    graph = CLUSTER.replace("queries: queries/", "embedding_provider: fake")
    found = write(tmp_path / "brain", cluster__yaml=graph + provider, people__pg=schema)
    applied(found)
    line = '{"type": "Doc", "data": {"title": "a", "text": "hello"}}'
    with fleet(found) as served:
        body = {"data": line, "branch": "main"}
        assert served.ask("POST", "/graphs/people/load", body).status_code == 200
    with open_graph(graph_uri(str(found), "people")) as opened:
        rows = opened.query("query q() { match { $d: Doc } return { $d.v as v } }").to_dicts()
    assert len(rows[0]["v"]) == 8  # type: ignore[arg-type]
