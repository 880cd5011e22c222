"""Site: the graphs that the server has, each with its policy, and what can be told about them."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import cast

from omnigraph.api.access import Access
from omnigraph.api.budgets import NO_BUDGETS, Budgets
from omnigraph.api.graph import Graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.errors import DeniedError, GraphNotFoundError, Json, NotFoundError, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action, Request, denied
from omnigraph.server.access.gate import NotedPolicy
from omnigraph.server.call import WriteTurns
from omnigraph.server.idempotency import AnswerLog
from omnigraph.server.refusal import Refusal, refusal_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGraph:
    """A graph in service with its policy, or one that cannot be opened, with the reason."""

    name: str
    graph: Graph | None
    policy: NotedPolicy | None = None
    log: AnswerLog | None = None
    turns: WriteTurns = field(default_factory=WriteTurns)
    budgets: Budgets = NO_BUDGETS
    problem: OmniGraphError | None = None

    @classmethod
    def of(
        cls,
        name: str,
        graph: Graph,
        policy: NotedPolicy | None = None,
        budgets: Budgets = NO_BUDGETS,
    ) -> "ServedGraph":
        """Return a graph that is open in service."""
        log = AnswerLog(graph.repository)
        return cls(name=name, graph=graph, policy=policy, log=log, budgets=budgets)

    @property
    def backend(self) -> LocalBackend:
        """What runs operations, for whoever may do everything; a Refusal when out of service."""
        if self.graph is None:
            raise self._refusal()
        return cast(LocalBackend, self.graph.backend)

    @property
    def access(self) -> Access:
        """What all handles of the graph share; a Refusal when out of service."""
        return self.backend.access

    @property
    def answers(self) -> AnswerLog:
        """The answers to writes with a key."""
        if self.log is None:
            raise self._refusal()
        return self.log

    def is_readable(self) -> bool:
        """Return whether the graph is in service, and can be read now."""
        try:
            return self.graph is not None and bool(self.access.repository.manifest.newest())
        except OmniGraphError:
            return False

    def under(self, policy: NotedPolicy | None) -> "ServedGraph":
        """Return the graph under a policy."""
        if self.graph is None:
            return replace(self, policy=policy)
        graph = Graph(LocalBackend(self.access.under(policy, None)))
        return replace(self, graph=graph, policy=policy)

    def is_seen_by(self, actor: str | None) -> bool:
        """Return whether an actor may know of the graph: its policy has them in some group."""
        return self.policy is None or self.policy.knows(actor)

    def rights(self, actor: str | None, branch: str) -> list[str]:
        """Return the actions that an actor may do to a branch; without a policy, every one."""
        known = [each for each in Action if each is not Action.GRAPH_LIST]
        return [str(each) for each in known if self._may(actor, each, branch)]

    def _may(self, actor: str | None, action: Action, branch: str) -> bool:
        if self.policy is None:
            return True
        if action is Action.INVOKE_QUERY:
            return self.policy.may_invoke(actor, branch)
        named = {"target_branch": branch} if action.takes_target else {"branch": branch}
        # Not noted: nobody asked to do this.
        return self.policy.held.decide(Request(actor, action, **named)).allowed

    def _refusal(self) -> Refusal:
        problem = self.problem
        reason = "it was not opened" if problem is None else refusal_of(problem).message
        message = f"the graph '{self.name}' is out of service: {reason}"
        return Refusal(503, "graph_unavailable", message, {"Retry-After": "10"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All that is served at one time; a newer revision of a deployment is another site.

    A server of one graph has it as `only`. Of a deployment, `number` is the revision.
    """

    graphs: Mapping[str, ServedGraph]
    only: ServedGraph | None = None
    list_policy: NotedPolicy | None = None
    number: int | None = None

    @property
    def out_of_service(self) -> list[ServedGraph]:
        return [each for each in self.graphs.values() if each.graph is None]

    def find(self, name: str | None, actor: str | None) -> ServedGraph:
        """Return a graph by its name; one that the actor may not know of is not there."""
        if name is None:
            assert self.only is not None
            return self.only
        found = self.graphs.get(name)
        if found is None or not found.is_seen_by(actor):
            raise NotFoundError(f"no graph '{name}'", hint="GET /graphs lists those you may see")
        return found

    def listed(self, actor: str | None) -> dict[str, Json]:
        """Return the graphs of a deployment that an actor may see; raise DeniedError."""
        if self.list_policy is None:
            seen = [each for each in self.graphs.values() if each.is_seen_by(actor)]
        else:
            request = Request(actor, Action.GRAPH_LIST)
            if not (decision := self.list_policy.decide(request)).allowed:
                raise denied(request, decision)
            seen = list(self.graphs.values())
        return {
            "graphs": [
                {"id": each.name, "path": f"/graphs/{each.name}", "in_service": bool(each.graph)}
                for each in sorted(seen, key=lambda each: each.name)
            ],
            "revision": self.number,
        }

    def offered(self, actor: str | None, graph: str | None, branch: str) -> dict[str, Json]:
        """Return which graphs an actor may see, and what they may do to a branch of one.

        Where the actor may not list the graphs of a deployment, `graphs` is null.
        """
        if self.only is not None:
            named = self.find(graph, actor) if graph is not None else self.only
            return {"graph": named.name, "graphs": None, "may": [*named.rights(actor, branch)]}
        try:
            graphs = self.listed(actor)["graphs"]
        except DeniedError:
            graphs = None
        may = [] if graph is None else self.find(graph, actor).rights(actor, branch)
        return {"graph": graph, "graphs": graphs, "may": [*may]}

    def health(self) -> dict[str, Json]:
        """Return how a deployment is; nothing for a server of one graph."""
        if self.number is None:
            return {}
        return {
            "revision": self.number,
            "graphs": len(self.graphs),
            "graphs_out_of_service": len(self.out_of_service),
        }

    def check_ready(self) -> None:
        """Raise GraphNotFoundError when there are graphs, and none of them can be read.

        One that cannot be read is no reason to turn those away who ask for the others.
        """
        if self.graphs and not any(each.is_readable() for each in self.graphs.values()):
            raise GraphNotFoundError("no graph can be read")
