"""Traces and metrics of OpenTelemetry: from a request to its operators, and nothing when off."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from omnigraph import connect
from omnigraph.telemetry import otel, spans
from tests.sample import new_graph
from tests.server.serving import ADD, ALL, TOKENS, Served, serving

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Watched:
    """What OpenTelemetry was handed."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        traces = TracerProvider()
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        otel.watch_with(traces, MeterProvider([self.reader]))

    def clear(self) -> None:
        self.exporter.clear()

    def of(self, kind: str) -> list[ReadableSpan]:
        """Return the spans of a kind, of which one may end just after its answer was sent."""
        until = time.monotonic() + 60
        found: list[ReadableSpan] = []
        while not found and time.monotonic() < until:
            ended = self.exporter.get_finished_spans()
            found = [each for each in ended if about(each)["omnigraph.kind"] == kind]
            time.sleep(0 if found else 0.01)
        return found

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests have ended, which they do after their answers were sent."""
        until = time.monotonic() + 60
        while len(self.of("request")) < count and time.monotonic() < until:
            time.sleep(0.01)
        assert len(self.of("request")) == count

    def points(self, name: str) -> list[Any]:
        """Return the points of a metric."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


def about(span: ReadableSpan) -> Mapping[str, Any]:
    assert span.attributes is not None
    return span.attributes


def is_inside(inner: ReadableSpan, outer: ReadableSpan) -> bool:
    assert outer.context is not None
    return inner.parent is not None and inner.parent.span_id == outer.context.span_id


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def watched() -> Iterator[Watched]:
    found = Watched()
    yield found
    spans.watch(None)


def test_a_read_is_a_trace_from_the_request_to_its_operators(
    served: Served, watched: Watched
) -> None:
    answer = served.ask("POST", "/read", {"query_source": ALL}, headers={"traceparent": PARENT})

    (request,), (operation,), (query,) = map(watched.of, ("request", "operation", "query"))
    operators = watched.of("operator")
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == "b7ad6b7169203331"
    assert about(request)["http.route"] == "/read"
    assert about(request)["http.response.status_code"] == 200
    assert about(request)["enduser.id"] == "owner"
    assert about(request)["omnigraph.request.id"] == answer.headers["x-request-id"]
    assert is_inside(operation, request)
    assert (operation.name, query.name) == ("ReadRows", "all")
    assert is_inside(query, operation)
    assert {each.name for each in operators} >= {"NodeScan"}
    assert all(is_inside(each, query) for each in operators)
    assert next(each for each in operators if each.name == "NodeScan").attributes is not None
    commit = answer.json()["graph_commit_id"]
    assert about(operation)["omnigraph.commit.id"] == commit
    assert about(query)["omnigraph.commit.id"] == commit


def test_a_change_names_its_commit(served: Served, watched: Watched) -> None:
    asked = {"query_source": ADD, "params": {"slug": "cy"}}

    answer = served.ask("POST", "/change", asked)

    (commit,), (operation,) = watched.of("commit"), watched.of("operation")
    assert answer.status_code == 200, answer.text
    head = served.graph.snapshot().commit.id
    assert about(commit)["omnigraph.commit.id"] == head
    assert about(operation)["omnigraph.commit.id"] == head
    assert about(operation)["omnigraph.branch"] == "main"
    assert is_inside(commit, operation)
    assert sum(each.value for each in watched.points("omnigraph.commits")) == 1


def test_an_error_is_told_by_its_code_and_never_by_its_text(
    served: Served, watched: Watched
) -> None:
    secret = 'query q() { match { $p: Persn { name: "secret" } } return { $p } }'

    served.ask("POST", "/read", {"query_source": secret})

    (request,), (operation,) = watched.of("request"), watched.of("operation")
    assert about(request)["error.type"] == about(operation)["error.type"] == "T1"
    assert not operation.status.is_ok
    shown = "".join(each.to_json() for each in watched.exporter.get_finished_spans())
    assert "secret" not in shown
    assert TOKENS["owner"] not in shown
    assert not any(each.events for each in watched.exporter.get_finished_spans())


def test_requests_and_operations_are_measured(served: Served, watched: Watched) -> None:
    served.ask("POST", "/read", {"query_source": ALL})
    served.ask("GET", "/nowhere")
    watched.wait_for_requests(2)

    requests = watched.points("http.server.request.duration")
    assert all(isinstance(each, HistogramDataPoint) for each in requests)
    counted = {
        (each.attributes.get("http.route"), each.attributes["http.response.status_code"])
        for each in requests
    }
    assert counted == {("/read", 200), (None, 404)}
    (operation,) = watched.points("omnigraph.operation.duration")
    assert operation.attributes == {"omnigraph.operation": "ReadRows"}
    assert sum(each.value for each in watched.points("http.server.active_requests")) == 0


def test_a_handle_of_python_sends_its_trace_along(
    served: Served, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(f"http://{served.address}", token=TOKENS["owner"]) as graph:
        watched.clear()
        with spans.span(spans.Kind.OPERATION, "mine"):
            graph.query(ALL).to_dicts()

    mine = next(each for each in watched.of("operation") if each.name == "mine")
    requests = watched.of("request")
    assert requests
    assert all(is_inside(each, mine) for each in requests)


def test_nothing_of_it_is_imported_while_it_is_off(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    program = (
        "import sys, omnigraph as og\n"
        "import omnigraph.server.serve\n"
        f"graph = og.open({str(tmp_path / 'graph')!r})\n"
        "graph.mutate('query a() { insert Company { name: \"c\" } }')\n"
        f"graph.query({ALL!r}).to_dicts()\n"
        "from omnigraph.telemetry import otel\n"
        "off = {'OTEL_SDK_DISABLED': 'true', 'OTEL_TRACES_EXPORTER': 'otlp'}\n"
        "assert otel.start(off) is False\n"
        "assert otel.start({}) is False\n"
        "print([each for each in sys.modules if each.startswith('opentelemetry')])\n"
    )

    assert run(program) == "[]\n"


def test_variables_of_opentelemetry_say_where_spans_go(tmp_path: Path) -> None:
    new_graph(tmp_path / "graph")
    program = (
        "import os, omnigraph as og\n"
        "from omnigraph.telemetry import otel\n"
        "assert otel.start(os.environ)\n"
        f"og.open({str(tmp_path / 'graph')!r}).query({ALL!r}).to_dicts()\n"
        "otel.stop()\n"
    )

    told = run(program, OTEL_TRACES_EXPORTER="console", OTEL_RESOURCE_ATTRIBUTES="team=graphs")

    assert '"name": "ReadRows"' in told
    assert '"service.name": "omnigraph-server"' in told
    assert '"team": "graphs"' in told


def test_an_exporter_that_is_not_installed_is_told() -> None:
    program = (
        "import os\n"
        "from omnigraph.errors import ConfigError\n"
        "from omnigraph.telemetry import otel\n"
        "try:\n    otel.start(os.environ)\n"
        "except ConfigError as wrong:\n    print(wrong.message, wrong.hint)\n"
    )

    told = run(program, OTEL_TRACES_EXPORTER="nowhere")

    assert told.startswith("OTEL_TRACES_EXPORTER names the exporter 'nowhere', which is not")
    assert "pip install 'omnigraph[telemetry]'" in told


@pytest.mark.parametrize(
    ("variables", "is_asked"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, True),
        ({"OTEL_METRICS_EXPORTER": "console"}, True),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318",
                "OTEL_TRACES_EXPORTER": "none",
                "OTEL_METRICS_EXPORTER": "none",
            },
            False,
        ),
    ],
)
def test_it_is_on_when_a_variable_asks_for_it(variables: dict[str, str], is_asked: bool) -> None:
    assert otel.is_asked_for(variables) is is_asked


def run(program: str, **variables: str) -> str:
    """Return what a Python program prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
