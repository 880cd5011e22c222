"""Serve: opens a graph and serves it until a signal says stop."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import Any, cast

import uvicorn

from omnigraph.api.budgets import NO_BUDGETS, Budgets
from omnigraph.api.graph import open as open_graph
from omnigraph.api.registry import QueryFiles
from omnigraph.errors import ConfigError, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.policy.readers import ReadersOnly
from omnigraph.policy.reload import ReloadedPolicy
from omnigraph.server.access.gate import Gate, NotedPolicy
from omnigraph.server.access.tokens import FILE, JSON, SINGLE, token_source
from omnigraph.server.app import App
from omnigraph.server.call import About
from omnigraph.server.deployed import Deployment
from omnigraph.server.limits import Limits
from omnigraph.server.monitoring.logs import configure, log, logger, warn
from omnigraph.server.monitoring.metrics import Metrics
from omnigraph.server.process.descriptors import Exhaustion, connections_within
from omnigraph.server.process.moves import Moves
from omnigraph.server.process.shared import SharedTurns
from omnigraph.server.process.sides import NICENESS
from omnigraph.server.process.workers import Supervisor, WorkerSettings, check_free
from omnigraph.server.protocol import Guarded, evict_idle
from omnigraph.server.routes.openapi import openapi
from omnigraph.server.routes.router import Router
from omnigraph.server.site import ServedGraph, Site
from omnigraph.server.studio.handover import Handover
from omnigraph.server.table import AGENTS, FLEET_AGENTS, FLEET_TABLE, TABLE
from omnigraph.spark import session
from omnigraph.spark.settings import SparkSettings

_WATCH_SECONDS = 1.0
_SWEEP_SECONDS = 3600.0
_COUNT_SECONDS = 0.2
_YIELD_SECONDS = 0.002
# At a stop requests have this part of the grace period to end by themselves, then are cancelled.
_UNDISTURBED = 2 / 3
_LAST_SECONDS = 0.5
# A thread that computes lets others have the interpreter after so long.
_SWITCH_SECONDS = 0.0005
_TOKENS = f"set {FILE}; see docs/server.md, Tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is served, at which address, to whom, and within which limits."""

    uri: str = ""
    host: str
    port: int
    cluster: str | None = None
    needs_all_graphs: bool = False
    workers: int = 1
    worker: WorkerSettings | None = None
    policy: Path | None = None
    queries: QueryFiles | None = None
    budgets: Budgets = NO_BUDGETS
    hosts: tuple[str, ...] = ()
    is_public: bool = False
    allows_writes: bool = False
    limits: Limits = field(default_factory=Limits)
    spark: SparkSettings = field(default_factory=SparkSettings)
    # `omnigraph studio`: how the browser gets its token, and who is told the address.
    handover: Handover | None = field(default=None, repr=False)
    announce: Callable[[str], None] | None = field(default=None, repr=False)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def worker_limits(self) -> Limits:
        """The limits of one process: workers share what the server as a whole may do."""
        if self.worker is None:
            return self.limits
        count = self.worker.workers
        return replace(
            self.limits,
            threads=max(2, -(-self.limits.threads // count)),
            connections=max(16, -(-self.limits.connections // count)),
        )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """The names by which clients may call the server; None when any will do."""
        if self.hosts:
            return frozenset(each.lower() for each in self.hosts)
        if self.is_loopback:
            return frozenset({"localhost", "127.0.0.1", "[::1]", self.host.lower()})
        return None


def app_of(settings: Settings) -> App:
    """Open the graph and return the server of it; raises when that would be open to everybody."""
    source = token_source(settings.environment)
    if not source.is_given and not settings.is_loopback and not settings.is_public:
        raise ConfigError(
            f"without tokens the server is only for this machine, and {settings.host} is not",
            hint=f"set {FILE}, bind 127.0.0.1, or say --unauthenticated-public",
        )
    if settings.policy is not None and not source.is_given:
        raise ConfigError("a policy needs tokens, which tell who asks", hint=_TOKENS)
    metrics = Metrics()
    policy, deployment = _policy(settings, has_tokens=source.is_given), None
    if settings.cluster is None:
        graph = open_graph(settings.uri, policy=policy, queries=settings.queries)
        name = graph.uri.rpartition("/")[2]
        only = ServedGraph.of(name, graph, policy, settings.budgets)
        site, table, met = Site(graphs={only.name: only}, only=only), TABLE, AGENTS
    else:
        deployment = Deployment.at(
            settings.cluster,
            metrics,
            needs_all=settings.needs_all_graphs,
            environment=settings.environment,
            default=policy,
        )
        site, table, met, policy = deployment.site, FLEET_TABLE, FLEET_AGENTS, None
        _check_policies(site, has_tokens=source.is_given)
    shared = None
    if settings.worker is not None:
        worker = settings.worker
        shared = SharedTurns.at(worker.folder, worker.index, worker.workers)
    document = cache(partial(openapi, table, has_tokens=source.is_given))
    others = tuple if shared is None else shared.counts_of_others
    about = About(metrics, document, others)
    if settings.handover is not None:
        about = replace(about, hand_over=settings.handover.take)
    return App(
        site=site,
        deployment=deployment,
        shared=shared,
        router=Router((*table, *met)),
        gate=Gate(source, policy, metrics),
        limits=settings.worker_limits,
        about=about,
        hosts=settings.known_hosts,
    )


def _policy(settings: Settings, *, has_tokens: bool) -> NotedPolicy | None:
    """Return what decides; with tokens and without a policy, actors may only read."""
    if settings.policy is not None:
        return NotedPolicy(ReloadedPolicy(settings.policy))
    if not has_tokens or settings.allows_writes:
        return None
    return NotedPolicy(ReadersOnly(is_deployed=settings.cluster is not None))


def _check_policies(site: Site, *, has_tokens: bool) -> None:
    is_judged = site.list_policy is not None or any(each.policy for each in site.graphs.values())
    if is_judged and not has_tokens:
        raise ConfigError("policies need tokens, which tell who asks", hint=_TOKENS)


class Server(uvicorn.Server):
    """An app on a socket: it finishes running requests on SIGINT and SIGTERM, reloads on SIGHUP."""

    def __init__(self, app: App, settings: Settings) -> None:
        self.app = app
        self.abandoned = 0
        self._coming: set[asyncio.Task[Any]] = set()
        self.settings = settings
        limits = settings.worker_limits
        fitting = replace(limits, connections=connections_within(limits.connections))
        self._moves = None
        if app.shared is not None:
            self._moves = Moves(app.shared, min(fitting.connections, fitting.address_connections))
        own = {"limits": fitting, "metrics": app.about.metrics, "moves": self._moves}
        protocol = type("Protocol", (Guarded,), own)
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host.strip("[]"),
                port=settings.port,
                http=protocol,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=limits.keep_alive_seconds,
                timeout_graceful_shutdown=max(1, int(limits.stop_seconds) - 1),
                backlog=256,
            )
        )

    @property
    def address(self) -> str:
        """Where the server listens."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def startup(self, sockets: list[socket] | None = None) -> None:
        worker = self.settings.worker
        if worker is None:
            await super().startup(sockets)
            self._announce()
        else:
            await super().startup([])
            listening = worker.socket()
            self._accepting = asyncio.create_task(self._accept(listening))
            assert self._moves is not None
            self._moves.take(self._welcome)
            worker.stop_when_alone()
        asyncio.get_running_loop().set_exception_handler(Exhaustion(self._make_room))
        self.app.gate.warn_of_readers()
        self._warn_of_no_policy()
        with suppress(NotImplementedError, ValueError, RuntimeError):  # only on the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)
        self._background = [
            asyncio.create_task(_again("reload", _WATCH_SECONDS, self._reload_changed)),
            asyncio.create_task(_again("sweep", _SWEEP_SECONDS, self._sweep)),
        ]
        if worker is not None:
            self._background += [
                self._accepting,
                asyncio.create_task(_again("counts", _COUNT_SECONDS, self._write_counts)),
            ]
            worker.ready()
        if self.settings.spark.is_configured:
            threading.Thread(target=self._warm_up, name="omnigraph-spark", daemon=True).start()

    async def _accept(self, listening: socket) -> None:
        """Take connections of the socket that all workers share; a busy one leaves them to idle."""
        loop = asyncio.get_running_loop()
        while True:
            while self.app.admission.yields:
                await asyncio.sleep(_YIELD_SECONDS)
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as failed:
                loop.call_exception_handler({"message": "accept failed", "exception": failed})
                await asyncio.sleep(_WATCH_SECONDS)
                continue
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> Guarded:
        make = cast(Any, self.config.http_protocol_class)
        found: Guarded = make(config=self.config, server_state=self.server_state, app_state={})
        return found

    def _welcome(self, connection: socket, is_known: bool) -> None:
        """Take a connection that another worker sent."""

        def make() -> Guarded:
            found = self._protocol()
            found.came(is_known=is_known)
            return found

        loop = asyncio.get_running_loop()
        coming = loop.create_task(loop.connect_accepted_socket(make, connection))
        self._coming.add(coming)
        coming.add_done_callback(self._coming.discard)

    async def _write_counts(self) -> None:
        """Let the other workers know what this one counted."""
        shared = self.app.shared
        assert shared is not None
        counts = self.app.about.metrics.to_json()
        await asyncio.get_running_loop().run_in_executor(None, shared.write_counts, counts)

    def _announce(self) -> None:
        source = self.app.gate.source.variable
        log(
            "serving",
            address=self.address,
            uri=self.settings.cluster or self.app.backend.uri,
            tokens=source or "none: everybody on this machine may do everything",
            policy=self._has_policy,
        )
        if self.settings.announce is not None:
            self.settings.announce(self.address)
        elif self.settings.port == 0:
            print(f"http://{self.address}", flush=True)  # noqa: T201 - nobody else knows the port

    @property
    def _has_policy(self) -> bool:
        """Whether any graph, or the deployment, has a policy that somebody wrote."""
        site = self.app.site
        policies = [site.list_policy, *(each.policy for each in site.graphs.values())]
        return any(each is not None and not isinstance(each.held, ReadersOnly) for each in policies)

    def _warn_of_no_policy(self) -> None:
        for each in self.app.site.graphs.values():
            if each.policy is not None and isinstance(each.policy.held, ReadersOnly):
                hint = each.policy.held.hint
                warn("without a policy, those with a token may only read", hint=hint)
                return

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        log("stopping", running=self.app.admission.running)
        self.app.is_stopping = True
        for task in self._background:
            task.cancel()
        if self._moves is not None:
            self._moves.close()
        loop = asyncio.get_running_loop()
        patience = loop.call_later(
            self.settings.limits.stop_seconds * _UNDISTURBED, self.app.cancel
        )
        await super().shutdown(sockets)
        patience.cancel()
        await self.app.speaker.close()
        self._captured_signals.clear()  # else uvicorn raises them again, and the exit is no success
        self.abandoned = await loop.run_in_executor(None, self.app.close, _LAST_SECONDS)
        if self.abandoned:
            warn("stopped while requests were running", running=self.abandoned)
        log("stopped")

    def _make_room(self) -> None:
        """Close one idle connection, because no file descriptor is left."""
        evict_idle([each for each in self.server_state.connections if isinstance(each, Guarded)])

    def reload(self) -> None:
        """Read tokens and policy again, beside the requests."""
        asyncio.get_running_loop().run_in_executor(None, self.app.gate.reload)
        asyncio.get_running_loop().run_in_executor(None, self.app.look)

    async def _reload_changed(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.app.gate.reload_changed)
        await loop.run_in_executor(None, self.app.look)

    async def _sweep(self) -> None:
        """Forget old keys."""
        await self.app.quickly(self.app.sweep)

    def _warm_up(self) -> None:
        """Start Spark, so that the first large load need not wait for it."""
        try:
            session.session(self.settings.spark)
        except OmniGraphError as failed:
            warn("spark did not start", code=failed.code)
        else:
            log("spark is ready")


async def _again(what: str, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do something now and then for as long as the server runs, whatever goes wrong with it."""
    while True:
        try:
            await work()
        except Exception as failed:
            warn("background work failed", what=what, kind=type(failed).__name__)
        await asyncio.sleep(seconds)


def serve_studio(settings: Settings) -> None:
    """Serve a graph to the browser of this machine until a signal says stop, without a log."""
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    app = app_of(settings)
    check_free(settings.host, settings.port, option="--port")
    server = Server(app, settings)
    with suppress(KeyboardInterrupt):
        server.run()
    _leave(server)


def _watch() -> bool:
    """Hand spans to OpenTelemetry when its variables ask for it; a server without it serves."""
    from omnigraph.telemetry import otel

    try:
        is_watched = otel.start(os.environ)
    except ConfigError as failed:
        warn("telemetry is off", reason=failed.message, hint=failed.hint)
        return False
    if is_watched:
        log("telemetry is on", service=os.environ["OTEL_SERVICE_NAME"])
    return is_watched


def serve(settings: Settings) -> None:
    """Serve a graph or a deployment until a signal says stop, in one process or in several."""
    configure()
    if settings.workers > 1 and settings.worker is None:
        Supervisor(
            settings.host, settings.port, settings.workers, settings.limits.stop_seconds
        ).run()
        return
    sys.setswitchinterval(_SWITCH_SECONDS)
    if settings.worker is not None and settings.worker.is_back:
        os.nice(NICENESS)
    app = app_of(settings)
    if settings.worker is None:
        check_free(settings.host, settings.port)
    server = Server(app, settings)
    is_watched = _watch()
    for variable in (JSON, SINGLE):  # what this process starts need not know them
        os.environ.pop(variable, None)
    with suppress(KeyboardInterrupt):
        server.run()
    if is_watched:
        from omnigraph.telemetry import otel

        otel.stop()
    _leave(server)


def _leave(server: Server) -> None:
    """End the process at once if requests are still running."""
    if server.abandoned:
        # The interpreter would wait for their threads. What they have not published is as if they
        # had never begun, as after a kill.
        sys.stderr.flush()
        os._exit(0)
