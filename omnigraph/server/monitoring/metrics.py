"""Metrics: what the server counts, as the text that Prometheus reads."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from omnigraph.frozen import dataclass

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(slots=True)
class Metrics:
    """Counts of requests by route and status, of their time, and of what is going on."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    running: int = 0
    connections: int = 0
    evicted: int = 0
    out_of_service: int = 0
    reloads: Counter[str] = field(default_factory=Counter)
    failing: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self.requests[route, status] += 1
            self.seconds[route] = self.seconds.get(route, 0.0) + seconds
            for bound in _BOUNDS:
                if seconds <= bound:
                    self.buckets[route, bound] += 1

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON, for the other workers of a server."""
        with self._lock:
            return {
                "requests": [[*key, count] for key, count in self.requests.items()],
                "seconds": dict(self.seconds),
                "buckets": [[*key, count] for key, count in self.buckets.items()],
                "denied": dict(self.denied),
                "reloads": dict(self.reloads),
                "evicted": self.evicted,
                "gauges": {"running": self.running, "connections": self.connections},
            }

    def with_others(self, others: Iterable[Mapping[str, Any]]) -> "Metrics":
        """Return these counts and those of other workers together."""
        with self._lock:
            whole = replace(
                self,
                requests=Counter(self.requests),
                seconds=dict(self.seconds),
                buckets=Counter(self.buckets),
                denied=Counter(self.denied),
                reloads=Counter(self.reloads),
                _lock=threading.Lock(),
            )
        for each in others:
            for route, status, count in each["requests"]:
                whole.requests[route, status] += count
            for route, seconds in each["seconds"].items():
                whole.seconds[route] = whole.seconds.get(route, 0.0) + seconds
            for route, bound, count in each["buckets"]:
                whole.buckets[route, bound] += count
            whole.denied.update(each["denied"])
            whole.reloads.update(each["reloads"])
            whole.evicted += each["evicted"]
            whole.running += each["gauges"].get("running", 0)
            whole.connections += each["gauges"].get("connections", 0)
        return whole

    def text(self) -> str:
        """Return all counts."""
        with self._lock:
            lines = [
                *_head("omnigraph_requests_total", "counter", "Requests by route and status."),
                *(
                    f'omnigraph_requests_total{{route="{route}",status="{status}"}} {count}'
                    for (route, status), count in sorted(self.requests.items())
                ),
                *_head("omnigraph_request_seconds", "histogram", "Time of requests by route."),
                *(line for route in sorted(self.seconds) for line in self._histogram(route)),
                *_head("omnigraph_denied_total", "counter", "Requests that policy denied."),
                *(
                    f'omnigraph_denied_total{{action="{action}"}} {count}'
                    for action, count in sorted(self.denied.items())
                ),
                *_head("omnigraph_reloads_total", "counter", "Tokens and policies read again."),
                *(
                    f'omnigraph_reloads_total{{outcome="{outcome}"}} {count}'
                    for outcome, count in sorted(self.reloads.items())
                ),
                *_head("omnigraph_reload_failing", "gauge", "1 while old ones are in force."),
                *(
                    f'omnigraph_reload_failing{{what="{what}"}} {int(what in self.failing)}'
                    for what in ("policy", "revision", "tokens")
                ),
                *_head("omnigraph_graphs_out_of_service", "gauge", "Graphs that cannot be opened."),
                f"omnigraph_graphs_out_of_service {self.out_of_service}",
                *_head("omnigraph_running", "gauge", "Requests that are worked on."),
                f"omnigraph_running {self.running}",
                *_head("omnigraph_connections", "gauge", "Open connections."),
                f"omnigraph_connections {self.connections}",
                *_head("omnigraph_evicted_total", "counter", "Idle connections closed for others."),
                f"omnigraph_evicted_total {self.evicted}",
            ]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> list[str]:
        name = "omnigraph_request_seconds"
        count = sum(n for (each, _), n in self.requests.items() if each == route)
        return [
            *(
                f'{name}_bucket{{route="{route}",le="{bound:g}"}} {self.buckets[route, bound]}'
                for bound in _BOUNDS
            ),
            f'{name}_bucket{{route="{route}",le="+Inf"}} {count}',
            f'{name}_sum{{route="{route}"}} {self.seconds[route]:.6f}',
            f'{name}_count{{route="{route}"}} {count}',
        ]


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
