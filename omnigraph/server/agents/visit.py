"""Visit: one request of an agent: its graph within the limits of the server, and its desk."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from threading import Event
from typing import Any

from omnigraph.api.backend import USUAL, CallOptions
from omnigraph.api.graph import Graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operation import Operation, R
from omnigraph.errors import BudgetError, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import Desk, own_branch
from omnigraph.mcp.wording import problem_text
from omnigraph.policy.rights import rights_of
from omnigraph.read.execution import Budget
from omnigraph.server.call import ServedBackend, WriteTurns
from omnigraph.server.handlers import engine_of, turn_of
from omnigraph.server.limits import Limits
from omnigraph.server.refusal import Refusal, refusal_of
from omnigraph.server.site import ServedGraph


@dataclass(frozen=True, slots=True)
class AgentBackend(ServedBackend):
    """The graph of a server for an agent: each operation is run as if it had been sent alone."""

    limits: Limits
    cancelled: Event
    turns: WriteTurns

    def acting_as(self, actor: str | None) -> "AgentBackend":
        """Return the same graph for another actor."""
        return replace(self, access=self.access.acting_as(actor))

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Run an operation within the limits of the server."""
        limits, work = self.limits, operation.work
        rows = getattr(operation, "data", None)
        size = len(rows.getbuffer()) if isinstance(rows, BytesIO) else None
        bounded = replace(
            options,
            budget=Budget(seconds=limits.query_seconds, bytes=limits.query_bytes),
            cancelled=self.cancelled,
            seconds=limits.seconds_of(work),
            bytes=limits.bytes_of(work),
            engine=engine_of(operation, size),
        )
        try:
            with turn_of(self.turns, operation):
                return LocalBackend.run(self, operation, bounded)
        except BudgetError as exceeded:
            raise limits.explain(work, exceeded) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request of an agent: to which graph, as whom, and how its work is done."""

    graph: ServedGraph
    actor: str | None
    run: str | None
    limits: Limits
    cancelled: Event
    worked: Callable[[Callable[[], Any]], Awaitable[Any]]
    note: Callable[[str], None]

    def desk(self) -> Desk:
        """Return the desk of who asks.

        A server keeps nothing between requests, so an agent that names no run has one for each
        day.
        """
        access = self.graph.access.acting_as(self.actor)
        graph = Graph(AgentBackend(access, self.limits, self.cancelled, self.graph.turns))
        policy = self.graph.policy
        run = self.run or datetime.now(UTC).date().isoformat()
        return Desk(
            opened=lambda: graph,
            # The policy itself: what it is asked here is not what the request came to.
            rights=rights_of(self.actor, None if policy is None else policy.held),
            own=own_branch(self.actor, run),
            tell=_told,
        )


def _told(error: OmniGraphError) -> str:
    """Return an error for a model; those of the server's own are told without details."""
    refusal: Refusal = refusal_of(error)
    if refusal.message != error.message:
        return f"error[{refusal.code}]: {refusal.message}"
    return problem_text(error)
