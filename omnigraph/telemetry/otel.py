"""Otel: hands spans and measurements to OpenTelemetry, as its variables say.

It needs `pip install 'omnigraph[telemetry]'`, and is imported only where somebody watches.
"""

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from omnigraph.errors import ConfigError, OmniGraphError, hint_install
from omnigraph.telemetry.spans import Attributes, Kind, watch

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

_NAME = "omnigraph"
_EXPORTERS = {"traces": "OTEL_TRACES_EXPORTER", "metrics": "OTEL_METRICS_EXPORTER"}
_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_HTTP = ("http.request.method", "http.route", "http.response.status_code", "error.type")
_INSTALL = hint_install("telemetry", "opentelemetry-exporter-otlp")


def is_asked_for(variables: Mapping[str, str]) -> bool:
    """Return whether the OTEL_* variables name an exporter or an endpoint."""
    if variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    named = [variables.get(name, "") for name in _EXPORTERS.values()]
    has_endpoint = any(variables.get(name) for name in _ENDPOINTS)
    return any(each not in ("", "none") for each in named) or (has_endpoint and not all(named))


def start(variables: MutableMapping[str, str]) -> bool:
    """Let OpenTelemetry watch this process if its variables ask for that; return whether it does.

    Exporters, samplers, resources and propagators are those that the variables name; with an
    endpoint and no exporter, OTLP. Raise ConfigError when what they name is not installed.
    """
    if not is_asked_for(variables):
        return False
    if any(variables.get(name) for name in _ENDPOINTS):
        for name in _EXPORTERS.values():
            variables.setdefault(name, "otlp")
    variables.setdefault("OTEL_SERVICE_NAME", "omnigraph-server")
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        message = f"OTEL_* variables are set, and {missing.name} is not installed"
        raise ConfigError(message, hint=_INSTALL) from None
    traces = TracerProvider()
    for make in _exporters("traces", variables):
        traces.add_span_processor(BatchSpanProcessor(make()))
    readers = [PeriodicExportingMetricReader(make()) for make in _exporters("metrics", variables)]
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(MeterProvider(readers))
    watch_with()
    return True


def _exporters(signal: str, variables: Mapping[str, str]) -> "list[Callable[[], Any]]":
    """Return what makes the exporters that a variable names, as OpenTelemetry registers them."""
    found = []
    for name in variables.get(_EXPORTERS[signal], "").split(","):
        if name.strip() in ("", "none"):
            continue
        entry = _otlp(signal, variables) if name.strip() == "otlp" else name.strip()
        known = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=entry))
        if not known:
            message = f"{_EXPORTERS[signal]} names the exporter '{entry}', which is not installed"
            raise ConfigError(message, hint=_INSTALL)
        found.append(known[0].load())
    return found


def _otlp(signal: str, variables: Mapping[str, str]) -> str:
    """Return the name of the OTLP exporter of a protocol."""
    general = variables.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    protocol = variables.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or general
    return "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"


def watch_with(
    traces: "TracerProvider | None" = None, metrics: "MeterProvider | None" = None
) -> None:
    """Watch all work of this process with providers of OpenTelemetry, or with the global ones."""
    watch(OtelWatcher(traces, metrics))


def stop() -> None:
    """Send what was not sent yet, and let nobody watch."""
    from opentelemetry import metrics, trace

    watch(None)
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        shutdown = getattr(provider, "shutdown", None)
        if shutdown is not None:
            shutdown()


class OtelWatcher:
    """Makes spans and measurements of OpenTelemetry."""

    def __init__(self, traces: "TracerProvider | None", metrics: "MeterProvider | None") -> None:
        from opentelemetry import metrics as global_metrics
        from opentelemetry import trace as global_trace

        self._tracer = global_trace.get_tracer(_NAME, tracer_provider=traces)
        meter = global_metrics.get_meter(_NAME, meter_provider=metrics)
        self._active = meter.create_up_down_counter(
            "http.server.active_requests", "{request}", "Requests that are not answered yet."
        )
        self._requests = meter.create_histogram(
            "http.server.request.duration", "s", "Time from the head of a request to its answer."
        )
        self._operations = meter.create_histogram(
            "omnigraph.operation.duration", "s", "Time of operations on a graph."
        )
        self._commits = meter.create_counter("omnigraph.commits", "{commit}", "Commits made.")

    @contextmanager
    def span(
        self, kind: Kind, name: str, attributes: Attributes, sent: Mapping[str, str]
    ) -> Iterator["_OpenSpan"]:
        """Make a span around a block; an error is noted by its code, never by its text."""
        from opentelemetry import propagate, trace

        began = time.perf_counter()
        is_request = kind is Kind.REQUEST
        with self._tracer.start_as_current_span(
            name,
            context=propagate.extract(sent) if sent else None,
            kind=trace.SpanKind.SERVER if is_request else trace.SpanKind.INTERNAL,
            attributes={"omnigraph.kind": str(kind), **attributes},
            record_exception=False,
            set_status_on_exception=False,
        ) as made:
            found = _OpenSpan(made, dict(attributes))
            if is_request:
                self._active.add(1)
            try:
                yield found
            except BaseException as failed:
                found.fail(failed)
                raise
            finally:
                if is_request:
                    self._active.add(-1)
                self._measure(kind, name, found.attributes, time.perf_counter() - began)

    def note(self, attributes: Attributes) -> None:
        """Add attributes to the span that is open."""
        from opentelemetry import trace

        trace.get_current_span().set_attributes(attributes)

    def headers(self) -> dict[str, str]:
        """Return the headers that name the open span, such as `traceparent`."""
        from opentelemetry import propagate

        found: dict[str, str] = {}
        propagate.inject(found)
        return found

    def _measure(self, kind: Kind, name: str, attributes: Attributes, seconds: float) -> None:
        failed = {key: attributes[key] for key in ("error.type",) if key in attributes}
        if kind is Kind.REQUEST:
            self._requests.record(
                seconds, {key: attributes[key] for key in _HTTP if key in attributes}
            )
        elif kind is Kind.OPERATION:
            self._operations.record(seconds, {"omnigraph.operation": name, **failed})
        elif kind is Kind.COMMIT and not failed:
            self._commits.add(1)


class _OpenSpan:
    """A span of OpenTelemetry, and what was noted with it."""

    def __init__(self, made: "Span", attributes: dict[str, str | int | float | bool]) -> None:
        self._made = made
        self.attributes = attributes

    def note(self, attributes: Attributes) -> None:
        """Add what was found out meanwhile."""
        self.attributes |= attributes
        self._made.set_attributes(attributes)
        if "error.type" in attributes:
            self._set_failed(str(attributes["error.type"]))

    def fail(self, error: BaseException) -> None:
        """Note an error by its code."""
        code = error.code if isinstance(error, OmniGraphError) else type(error).__name__
        if "error.type" not in self.attributes:
            self.note({"error.type": code})

    def _set_failed(self, code: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._made.set_status(Status(StatusCode.ERROR, code))
