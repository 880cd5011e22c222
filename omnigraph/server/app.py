"""App: takes a request through the gate, its body and a turn to its handler, and answers."""

import asyncio
import contextvars
import io
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import field, replace
from functools import partial
from typing import IO, Any, NoReturn, TypeVar
from uuid import uuid4

import msgspec
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operation import Audience, Operation, SentFields, named_or_main
from omnigraph.errors import BudgetError, CancelledError, DeniedError, Json, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.server.access.admission import Admission
from omnigraph.server.access.gate import (
    Gate,
    begin_notes,
    origin_problem,
    told,
    unauthorized,
)
from omnigraph.server.access.incoming import (
    Gone,
    Incoming,
    asked,
    conditions,
    declared_size,
    decoded,
    has_body,
    key_of,
    sends_lines,
    takes_gzip,
    too_large,
    wanted_media,
)
from omnigraph.server.agents.speaker import Speaker, replayed
from omnigraph.server.agents.visit import Visit
from omnigraph.server.answers.begun import Begun, begun
from omnigraph.server.call import (
    About,
    Answer,
    KeyedRequest,
    ServedBackend,
    ServerCall,
    Stream,
    WholeAnswer,
    WriteTurns,
    json_answer,
)
from omnigraph.server.deployed import Deployment
from omnigraph.server.feed import HEARTBEAT, Feed, event
from omnigraph.server.limits import Limits
from omnigraph.server.monitoring.logs import log, log_failure
from omnigraph.server.process.shared import SharedTurns
from omnigraph.server.protocol import ACTOR, KNOWN
from omnigraph.server.refusal import Refusal, cut_off, internal, refusal_of
from omnigraph.server.routes.route import Route
from omnigraph.server.routes.router import Router
from omnigraph.server.site import ServedGraph, Site
from omnigraph.telemetry.spans import Kind, is_watched, span
from omnigraph.versioning.names import is_system
from omnigraph.versioning.ulid import is_ulid

_Found = TypeVar("_Found")
# How long a feed waits before it looks for new commits: longer while none come.
_LEAST_WAIT = 0.1
_LONGEST_WAIT = 1.0
_HEARTBEAT_SECONDS = 15.0
_PART_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A request of an agent, whose answer the protocol makes."""

    visit: Visit
    body: bytes


class Aborted(Exception):
    """An answer broke off, and the connection with it."""


@dataclass(slots=True, kw_only=True)
class App:
    """The server as ASGI: its graphs, the gate to them, and the threads that work on them."""

    site: Site
    router: Router
    gate: Gate
    limits: Limits
    about: About
    hosts: frozenset[str] | None = None
    deployment: Deployment | None = None
    shared: SharedTurns | None = None
    admission: Admission = field(init=False)
    speaker: Speaker = field(init=False)
    _workers: Executor = field(init=False)
    _side: Executor = field(init=False)
    _begun: set[Future[Any]] = field(default_factory=set)
    _open: set[threading.Event] = field(default_factory=set)
    feeds: Counter[str] = field(default_factory=Counter)
    is_stopping: bool = False

    def __post_init__(self) -> None:
        self.admission = Admission(self.limits, self.shared)
        self.speaker = Speaker(self.limits)
        self._workers = ThreadPoolExecutor(self.limits.threads, "omnigraph-work")
        self._side = ThreadPoolExecutor(2, "omnigraph-side")

    @property
    def backend(self) -> LocalBackend:
        """What runs operations on the only graph, for whoever may do everything."""
        return self.site.find(None, None).backend

    def look(self) -> None:
        """Serve the newest revision of a deployment from now on; running requests keep theirs."""
        if self.deployment is not None:
            self.site = self.deployment.look()

    def sweep(self) -> None:
        """Forget old keys of all graphs."""
        for each in self.site.graphs.values():
            if each.graph is not None:
                each.answers.sweep()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            cancelled = threading.Event()
            self._open.add(cancelled)
            try:
                await _Exchange(self, scope, receive, send, cancelled).run()
            finally:
                self._open.discard(cancelled)

    def cancel(self) -> None:
        """Cancel all requests that run; a write that begins to publish is finished."""
        for cancelled in self._open:
            cancelled.set()

    def close(self, seconds: float) -> int:
        """Let nothing more begin, wait so long for what runs, and return how much still does."""
        for executor in (self._workers, self._side):
            executor.shutdown(wait=False, cancel_futures=True)
        return len(wait(set(self._begun), seconds).not_done)

    async def worked(self, actor: str | None, work: Callable[[], _Found]) -> _Found:
        """Do a piece of work on a thread, when it is the actor's turn."""
        async with self.admission.turn(actor or ""):
            self.about.metrics.running = self.admission.running
            return await self._on_thread(self._workers, self._counted(actor or "", work))

    def _counted(self, actor: str, work: Callable[[], _Found]) -> Callable[[], _Found]:
        """Return work that lets the other workers know what it cost."""
        shared = self.shared
        if shared is None:
            return work

        def counted() -> _Found:
            before = time.thread_time()
            try:
                return work()
            finally:
                shared.spend(actor, time.thread_time() - before)

        return counted

    async def quickly(self, work: Callable[[], _Found]) -> _Found:
        """Do what tells about the server on a thread that no other work keeps busy."""
        return await self._on_thread(self._side, work)

    async def _on_thread(self, executor: Executor, work: Callable[[], _Found]) -> _Found:
        """Do work on a thread, with the notes of this request at hand."""
        context = contextvars.copy_context()
        begun = executor.submit(lambda: context.run(work))
        # A request that is given up leaves its thread at work, which a stop has to know.
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
        return await asyncio.wrap_future(begun)


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, app: App, scope: Scope, receive: Receive, send: Send, cancelled: threading.Event
    ) -> None:
        self._app = app
        self._scope = scope
        self._receive = receive
        self._send = send
        self._headers = Headers(raw=list(scope["headers"]))
        self._id = uuid4().hex
        self._begun = time.perf_counter()
        self._notes = begin_notes()
        # What is served now, for as long as this request lasts.
        self._site = app.site
        self._graph: ServedGraph | None = None
        self._limits = app.limits
        self._route: Route | None = None
        self._actor: str | None = None
        self._cancelled = cancelled
        self._is_gone = False
        self._status = 0
        self._code: str | None = None
        self._tool: str | None = None
        self._stays = ExitStack()
        self._watching: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Answer the request, and write a line about it to the log."""
        if not is_watched():
            await self._run()
            return
        method = self._scope["method"]
        about = {"http.request.method": method, "omnigraph.request.id": self._id}
        with span(Kind.REQUEST, method, about, dict(self._headers)) as watched:
            try:
                await self._run()
            finally:
                watched.note(self._facts())

    def _facts(self) -> dict[str, str | int]:
        """Return what is known of the request at its end, for those who watch."""
        found: dict[str, str | int] = {"http.response.status_code": self._status}
        if self._route is not None:
            found["http.route"] = self._route.template
        if self._graph is not None:
            found["omnigraph.graph"] = self._graph.name
        if self._actor is not None:
            found["enduser.id"] = self._actor
        if self._code is not None:
            found["error.type"] = self._code
        return found

    async def _run(self) -> None:
        try:
            await self._answer()
        except Gone:
            self._status, self._code = 499, "client_gone"
        except Aborted:
            self._code = self._code or "aborted"
            raise
        except asyncio.CancelledError:
            self._cancelled.set()
            if not self._status and not self._is_gone:
                await self._refuse(cut_off(changes=self._may_change()))
            raise
        finally:
            if self._watching is not None:
                self._watching.cancel()
            self._stays.close()
            self._finish()

    def _may_change(self) -> bool:
        """Return whether something was begun that can change a graph."""
        route, is_begun = self._route, self._watching is not None
        return route is not None and (route.is_mcp or (route.writes and is_begun))

    async def _answer(self) -> None:
        try:
            answer = await self._served()
        except Refusal as refusal:
            await self._refuse(refusal)
        except OmniGraphError as error:
            known = self._refusal_of(error)
            if known.status >= 500 and not isinstance(error, CancelledError):
                log_failure(self._id, error)
            await self._refuse(known)
        except (Gone, asyncio.CancelledError):
            raise
        except Exception as failed:
            log_failure(self._id, failed)
            await self._refuse(internal())
        else:
            is_head = self._scope["method"] == "HEAD"
            match answer:
                case WholeAnswer():
                    await self._whole(answer)
                case Begun() | Feed() if is_head:
                    await self._head(answer)
                case Feed():
                    await self._follow(answer)
                case Begun():
                    await self._stream(answer)
                case AgentRequest(visit, body):
                    await self._speak(visit, body)

    async def _served(self) -> WholeAnswer | Begun | Feed | AgentRequest:
        problem = origin_problem(self._headers, self._app.hosts)
        if problem is not None:
            raise problem
        route, found = self._app.router.match(self._scope["method"], self._scope["path"])
        self._route = route
        params = dict(found)
        name = params.pop("graph", None)
        self._actor = self._app.gate.actor_of(route, self._headers)
        if self._actor is not None:
            self._scope[KNOWN] = True
        self._scope[ACTOR] = self._actor or ""
        if not isinstance(route.guard, Audience) or route.is_mcp:
            self._stays.enter_context(self._app.admission.entered(self._actor or ""))
        if route.is_about_graph:
            self._graph = self._site.find(name, self._actor)
            self._limits = self._app.limits.within(self._graph.budgets, self._actor)
        policy = None if self._graph is None else self._graph.policy
        self._app.gate.check(route, self._actor, policy=policy, query=params.get("name"))
        lines = route.fields is not None and sends_lines(self._headers, route)
        kind = route.lines if lines and route.lines is not None else route.query
        query = asked(b"" if route.is_page else self._scope["query_string"], kind)
        if lines:
            self._check_branch(route, named_or_main(getattr(query, "branch", None)))
        if route.is_mcp:
            return await self._met(query)
        key = key_of(self._headers) if route.writes else None
        incoming = self._incoming(route)
        if incoming is None:
            return await self._handled(route, params, query, key, _Sent())
        if lines:
            with await incoming.laid_down() as file:
                sent = _Sent(file=file, digest=incoming.digest.hexdigest())
                return await self._handled(route, params, query, key, sent)
        data = await incoming.whole()
        sent = _Sent(data=data, digest=incoming.digest.hexdigest())
        return await self._handled(route, params, query, key, sent)

    async def _met(self, query: Any) -> AgentRequest:  # noqa: ANN401 - a RunQuery
        """Return a request of an agent with its body, which is read within our limits."""
        app, graph, actor = self._app, self._graph, self._actor
        assert graph is not None
        await app.speaker.load()
        graph.backend  # noqa: B018 - a Refusal when it is out of service
        limits = self._limits
        size = declared_size(self._headers)
        if size is not None and size > limits.body_bytes:
            raise too_large(limits.body_bytes)
        body = await Incoming(self._receive, limits.body_bytes, limits.body_seconds).whole()
        visit = Visit(
            graph=graph,
            actor=actor,
            run=query.run,
            limits=limits,
            cancelled=self._cancelled,
            worked=lambda work: app.worked(actor, work),
            note=self._note_tool,
        )
        return AgentRequest(visit, body)

    async def _speak(self, visit: Visit, body: bytes) -> None:
        """Have the SDK answer an agent, through what every answer goes through."""

        async def send(message: Message) -> None:
            if message["type"] != "http.response.start":
                await self._put(message)
                return
            given = Headers(raw=list(message.get("headers", ())))
            await self._start(message["status"], dict(given))

        receive = replayed(body, self._receive, self._leave)
        try:
            await self._app.speaker.serve(visit, self._scope, receive, send)
        except BaseExceptionGroup as failed:
            # What tasks of the SDK raise comes in groups.
            if failed.split((Gone, Aborted))[1] is not None:
                log_failure(self._id, failed)
            raise Gone from None

    def _note_tool(self, tool: str) -> None:
        self._tool = tool

    def _leave(self) -> None:
        self._is_gone = True
        self._cancelled.set()

    def _check_branch(self, route: Route, branch: str) -> None:
        """Ask policy about the branch that a stream of rows is for, before any is read.

        That of a run is judged as the target of the run, which is only looked up behind the body.
        """
        if not is_ulid(branch) and not is_system(branch):
            assert self._graph is not None
            self._app.gate.check(route, self._actor, branch, policy=self._graph.policy)

    def _incoming(self, route: Route) -> Incoming | None:
        """Return the body that is to be read, if there is one."""
        if route.fields is None or not (route.needs_body or has_body(self._headers)):
            return None
        limits = self._app.limits
        takes_rows = route.lines is not None
        most = limits.ingest_bytes if takes_rows else limits.body_bytes
        size = declared_size(self._headers)
        if size is not None and size > most:
            raise too_large(most)
        seconds = limits.ingest_seconds if takes_rows else limits.body_seconds
        return Incoming(self._receive, most, seconds)

    async def _handled(
        self,
        route: Route,
        params: Mapping[str, str],
        query: SentFields,
        key: str | None,
        sent: "_Sent",
    ) -> WholeAnswer | Begun | Feed:
        app = self._app

        def work() -> WholeAnswer | Begun | Feed:
            began = time.monotonic()
            answer = handle()
            return begun(answer, began) if isinstance(answer, Stream) else answer

        def handle() -> Answer:
            operation, size = sent.operation(route, params, query)
            own = None if operation is not None else sent.own(route, query)
            last = self._headers.get("last-event-id")
            if operation is not None and last is not None:
                operation = operation.resumed(last)
            graph = self._graph
            acting = None if graph is None else graph.access.acting_as(self._actor)
            call = ServerCall(
                served=None if acting is None else ServedBackend(acting),
                overview=self._site,
                actor=self._actor,
                operation=operation,
                params=params,
                sent=own,
                takes_gzip=takes_gzip(self._headers),
                rows_size=size,
                accept=wanted_media(self._headers, route),
                conditions=conditions(self._headers),
                limits=self._limits,
                cancelled=self._cancelled,
                turns=WriteTurns() if graph is None else graph.turns,
                about=app.about,
            )
            if key is None or graph is None or not call.operation.may_change(call.backend):
                return route.handler(call)
            keyed = KeyedRequest(key=key, request=self._digest(route, params, sent))
            return graph.answers.answered(
                self._actor, keyed, lambda begun: route.handler(replace(call, keyed=begun))
            )

        if isinstance(route.guard, Audience):
            return await app.quickly(work)
        self._watching = asyncio.create_task(self._watch())
        return await app.worked(self._actor, work)

    def _digest(self, route: Route, params: Mapping[str, str], sent: "_Sent") -> str:
        """Return what stands for the request: two with the same digest ask for the same."""
        query = self._scope["query_string"].decode("latin-1")
        return "\n".join(
            [route.name, *(params[name] for name in route.parts.path), query, sent.digest]
        )

    async def _watch(self) -> None:
        """Wait until the client goes away; then a query is cancelled, and an answer broken off."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    async def _whole(self, answer: WholeAnswer) -> None:
        body = answer.body
        headers = {"content-type": answer.media_type, "content-length": str(len(body))}
        await self._start(answer.status, {**headers, **answer.headers})
        # The transport takes whatever is sent; only the next part waits until the client has it.
        for start in range(0, len(body) or 1, _PART_BYTES):
            end = start + _PART_BYTES
            more = end < len(body)
            part = {"type": "http.response.body", "body": body[start:end], "more_body": more}
            await self._put(part)

    async def _head(self, answer: Begun | Feed) -> None:
        """Send the head of an answer that is made while it is sent, and make no more of it."""
        if isinstance(answer, Feed):
            await self._start(200, {"content-type": answer.media_type})
        else:
            await self._app.quickly(answer.close)
            stream = answer.stream
            await self._start(stream.status, {"content-type": stream.media_type, **stream.headers})
        await self._put({"type": "http.response.body", "body": b""})

    async def _follow(self, feed: Feed) -> None:
        """Send events as they come, until the client goes or the server stops.

        Who follows does not work: no turn and no place among the requests is held meanwhile.
        """
        feeds, actor = self._app.feeds, self._actor or ""
        if feeds[actor] >= self._app.limits.feeds:
            message = "this actor follows too many branches already"
            await self._refuse(Refusal(429, "too_many_requests", message, {"Retry-After": "10"}))
            return
        self._stays.close()
        feeds[actor] += 1
        try:
            await self._start(200, {"content-type": feed.media_type})
            await self._events(feed)
        except (OmniGraphError, Refusal) as failed:
            self._code = failed.code
            refusal = failed if isinstance(failed, Refusal) else self._refusal_of(failed)
            told: Json = dict(refusal.to_json(self._id))
            await self._put({"type": "http.response.body", "body": event("error", told)})
        finally:
            feeds[actor] -= 1

    async def _events(self, feed: Feed) -> None:
        part, waits, quiet = feed.first, _LEAST_WAIT, 0.0
        while not self._app.is_stopping:
            if part or quiet >= _HEARTBEAT_SECONDS:
                body = part or HEARTBEAT
                await self._put({"type": "http.response.body", "body": body, "more_body": True})
                waits, quiet = _LEAST_WAIT, 0.0
            if not part:
                await asyncio.sleep(waits)
                quiet += waits
                waits = min(2 * waits, _LONGEST_WAIT)
            if self._is_gone:
                raise Gone
            self._notes.clear()
            look = partial(feed.look, self._served_now())
            part = await self._app.worked(self._actor, look)
        await self._put({"type": "http.response.body", "body": b""})

    def _served_now(self) -> ServedBackend:
        """Return the graph of who follows it, as tokens and revision are by now.

        A feed has no end of its own, so who lost the token or the graph would get all that comes.
        """
        assert self._route is not None
        assert self._graph is not None
        if self._app.gate.actor_of(self._route, self._headers) != self._actor:
            raise unauthorized()
        self._site = self._app.site
        name = None if self._site.only is not None else self._graph.name
        self._graph = self._site.find(name, self._actor)
        return ServedBackend(self._graph.access.acting_as(self._actor))

    async def _stream(self, answer: Begun) -> None:
        """Send an answer part by part; the next one is made when the last was taken."""
        try:
            with self._app.admission.streaming(self._actor or ""):
                headers = {"content-type": answer.stream.media_type, **answer.stream.headers}
                await self._start(answer.stream.status, headers)
                left = int(headers.get("content-length", "-1"))
                part: bytes | None = answer.first
                while part is not None:
                    left -= len(part)
                    more = left != 0
                    await self._put({"type": "http.response.body", "body": part, "more_body": more})
                    if not more:  # a client that was told the length asks for something else now
                        return
                    part = await self._app.worked(self._actor, answer.next)
                await self._put({"type": "http.response.body", "body": b""})
        except Refusal as refusal:
            await self._refuse(refusal)
        except (Aborted, Gone):
            raise
        except OmniGraphError as failed:
            await self._cut(self._refusal_of(failed), answer.stream)
        except Exception as failed:
            log_failure(self._id, failed)
            await self._cut(internal(), answer.stream)
        finally:
            with suppress(ValueError):  # a part of it is being made, and is its last
                await asyncio.shield(self._app.quickly(answer.close))

    async def _cut(self, refusal: Refusal, stream: Stream) -> NoReturn:
        """End an answer that cannot be completed: say why on a last line, and cut the connection.

        The chunk that ends an answer is never sent, so that no client takes it for complete. One
        whose length was told has no place for such a line.
        """
        self._code = refusal.code
        if "content-length" in stream.headers:
            raise Aborted
        line = b"\n" + msgspec.json.encode(refusal.to_json(self._id)) + b"\n"
        await self._put({"type": "http.response.body", "body": line, "more_body": True})
        raise Aborted

    def _refusal_of(self, error: OmniGraphError) -> Refusal:
        """Return an error as an answer; one about a budget names the limit of the server."""
        operation = None if self._route is None else self._route.operation
        if isinstance(error, BudgetError) and operation is not None:
            error = self._limits.explain(operation.work, error)
        return refusal_of(error)

    async def _refuse(self, refusal: Refusal) -> None:
        self._code = refusal.code
        if refusal.status == 403 and self._route is not None:
            self._app.about.metrics.denied[str(self._route.guard)] += 1
        answer = json_answer(refusal.to_json(self._id), refusal.status)
        headers = {
            "content-type": answer.media_type,
            "content-length": str(len(answer.body)),
            **refusal.headers,
        }
        await self._start(refusal.status, headers)
        await self._put({"type": "http.response.body", "body": answer.body})

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self._status = status
        every = {
            "cache-control": "no-store",
            **headers,
            "x-request-id": self._id,
            "x-content-type-options": "nosniff",
        }
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in every.items()]
        await self._put({"type": "http.response.start", "status": status, "headers": raw})

    async def _put(self, message: Message) -> None:
        """Send a part; a client that does not take it in time is given up."""
        if self._is_gone:
            raise Gone
        try:
            async with asyncio.timeout(self._app.limits.send_seconds):
                await self._send(message)
        except TimeoutError:
            raise Aborted from None

    def _finish(self) -> None:
        seconds = time.perf_counter() - self._begun
        name = "none" if self._route is None else f"{self._route.method} {self._route.template}"
        metrics = self._app.about.metrics
        metrics.answered(name, self._status, seconds)
        metrics.running = self._app.admission.running
        fields: dict[str, Json] = {"request_id": self._id, "route": name, "actor": self._actor}
        if self._graph is not None and self._site.only is None:
            fields["graph"] = self._graph.name
        if self._route is not None and not isinstance(self._route.guard, Audience):
            fields["action"] = str(self._route.guard)
        if self._tool is not None:
            fields["tool"] = self._tool
        fields |= told(self._notes, is_denied=self._code == DeniedError.code)
        fields |= {"status": self._status, "code": self._code, "ms": round(seconds * 1000, 2)}
        with suppress(ValueError):  # a closed standard error is no reason to fail
            log("request", **fields)


@dataclass(frozen=True, slots=True)
class _Sent:
    """What came with a request: its body in memory or in a file, and the digest of it."""

    data: bytes | None = None
    file: IO[bytes] | None = None
    digest: str = ""

    def own(self, route: Route, query: SentFields) -> SentFields:
        """Return what came with a request for no operation: its body, or else its query."""
        if route.fields is None:
            return query
        return decoded(self.data or b"", route.fields)

    def operation(
        self, route: Route, params: Mapping[str, str], query: SentFields
    ) -> tuple[Operation[Any] | None, int | None]:
        """Return the operation that was sent, and how many bytes of rows came with it."""
        if route.operation is None:
            return None, None
        body = None
        if route.fields is not None and self.data is not None:
            body = decoded(self.data, route.fields)
        if route.lines is None:
            return route.operation.decode(params, query, body), None
        # A stream: a text of a client must never be taken for the name of a file.
        rows = self.file or io.BytesIO(getattr(body, "data", "").encode())
        size = rows.seek(0, io.SEEK_END)
        rows.seek(0)
        return route.operation.decode(params, query, body, {"data": rows}), size
