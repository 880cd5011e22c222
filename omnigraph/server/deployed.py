"""Deployed: the deployment that is served: its revision, and how a newer one takes its place."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.deploy.declaration import FILE_NAME, storage_of
from omnigraph.deploy.definition import CLUSTER, Definition, GraphDefinition, graph_uri
from omnigraph.deploy.ledger import Entry, Ledger
from omnigraph.errors import ConfigError, GraphNotFoundError, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.policy.policy import parse_policy
from omnigraph.policy.reload import FixedPolicy
from omnigraph.server.access.gate import NotedPolicy
from omnigraph.server.monitoring.logs import log, warn
from omnigraph.server.monitoring.metrics import Metrics
from omnigraph.server.site import ServedGraph, Site

_TRY_AGAIN_SECONDS = 10.0
_WHAT = "revision"


@dataclass(slots=True)
class Deployment:
    """A deployment in service. A revision that does not load leaves the one before in service."""

    ledger: Ledger
    storage: str
    metrics: Metrics
    needs_all: bool = False
    # For graphs without a policy of their own.
    default: NotedPolicy | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    entry: Entry = field(init=False)
    site: Site = field(init=False)
    _refused: str | None = None
    _tried: float = 0.0
    _looking: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def at(
        cls,
        place: str,
        metrics: Metrics,
        *,
        needs_all: bool,
        environment: Mapping[str, str],
        default: NotedPolicy | None = None,
    ) -> "Deployment":
        """Return the deployment of a folder with cluster.yaml, or of a storage, in service."""
        folder = Path(place)
        is_declared = "://" not in place and (folder / FILE_NAME).exists()
        storage = storage_of(folder / FILE_NAME) if is_declared else place
        found = cls(Ledger.at(storage), storage, metrics, needs_all, default, environment)
        found.entry = found.ledger.serving()
        found.site = found._load(found.entry, None)
        return found

    def look(self) -> Site:
        """Return the site of now: of a newer revision, if there is one that loads."""
        with self._looking:
            newest = self.ledger.newer(self.entry)
            is_due = time.monotonic() > self._tried + _TRY_AGAIN_SECONDS
            is_new = newest != self.entry and (is_due or newest.id != self._refused)
            if not (is_new and self._take(newest)) and is_due and not self._is_whole():
                self.site = self._load(self.entry, self.site)
            return self.site

    def _is_whole(self) -> bool:
        """Return whether every graph is in service, and still is the graph that was opened."""
        self._tried = time.monotonic()
        return all(each.graph is not None and _stands(each) for each in self.site.graphs.values())

    def _take(self, entry: Entry) -> bool:
        """Serve a newer revision; return whether it loads. One that does not is tried again."""
        try:
            site = self._load(entry, self.site)
        except OmniGraphError as failed:
            self._note_refusal(entry, failed)
            return False
        self.entry, self.site, self._refused = entry, site, None
        self.metrics.failing.pop(_WHAT, None)
        self.metrics.reloads[_WHAT] += 1
        log("revision serves", number=entry.number, revision=entry.revision)
        return True

    def _note_refusal(self, entry: Entry, failed: OmniGraphError) -> None:
        """Count and log a refusal, once for as long as it stays the same."""
        if (self._refused, self.metrics.failing.get(_WHAT)) != (entry.id, failed.code):
            self.metrics.reloads[f"{_WHAT}_failed"] += 1
            warn("revision refused", number=entry.number, code=failed.code)
        self._refused = entry.id
        self.metrics.failing[_WHAT] = failed.code

    def _load(self, entry: Entry, before: Site | None) -> Site:
        """Return the site of an entry, with open graphs as they are; raise what is wrong in it."""
        self._tried = time.monotonic()
        definition = self.ledger.definition(entry.revision)
        policies = {
            target: NotedPolicy(FixedPolicy(parse_policy(name, each.source.text.encode())))
            for name, each in definition.policies.items()
            for target in each.applies_to
        }
        opened = {
            name: self._open(name, graph, definition, before)
            for name, graph in definition.graphs.items()
        }
        graphs = {
            name: each.under(policies.get(name, self.default)) for name, each in opened.items()
        }
        site = Site(graphs=graphs, list_policy=policies.get(CLUSTER), number=entry.number)
        is_serving = before is not None and entry == self.entry
        self._report(site, needs_all=self.needs_all and not is_serving)
        return site

    def _open(
        self, name: str, definition: GraphDefinition, whole: Definition, before: Site | None
    ) -> ServedGraph:
        known = None if before is None else before.graphs.get(name)
        try:
            environment = self._environment(definition, whole)
            if known is None or not _fits(known, environment) or not _stands(known):
                graph = open_graph(graph_uri(self.storage, name), environment=environment)
                known = ServedGraph.of(name, graph)
            access = known.access.with_queries(definition.queries)
            graph = Graph(LocalBackend(access))
            return replace(known, graph=graph, budgets=definition.budgets, problem=None)
        except OmniGraphError as failed:
            warn("graph out of service", graph=name, code=failed.code)
            return ServedGraph(name=name, graph=None, problem=failed)

    def _environment(
        self, definition: GraphDefinition, whole: Definition
    ) -> Mapping[str, str] | None:
        if definition.provider is None:
            return None
        provider = whole.providers[definition.provider]
        return {
            **self.environment,
            **provider.environment(definition.provider, self.environment),
        }

    def _report(self, site: Site, *, needs_all: bool) -> None:
        """Count the graphs out of service; raise ConfigError for some if all are needed.

        Those of the revision that serves already go out of service alone.
        """
        broken = site.out_of_service
        if broken and needs_all:
            names = ", ".join(each.name for each in broken)
            message = f"graphs that cannot be opened: {names}"
            raise ConfigError(message, hint="mend them, or leave --require-all-graphs out")
        self.metrics.out_of_service = len(broken)


def _fits(known: ServedGraph, environment: Mapping[str, str] | None) -> bool:
    """Return whether a graph is open, with the same embedding provider."""
    return known.graph is not None and known.access.repository.store.environment == environment


def _stands(known: ServedGraph) -> bool:
    """Return whether an open graph is there; not where it was removed, or another one was made.

    A store that cannot be asked is no reason to give up what is open.
    """
    try:
        known.access.repository.manifest.newest()
    except GraphNotFoundError:
        return False
    except OmniGraphError:
        return True
    return True
