"""Scene: a graph of people with a draft branch, a policy and tokens, served for a browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import omnigraph as og
from omnigraph.api.graph import Graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.server.limits import Limits
from omnigraph.server.serve import Server, Settings
from omnigraph.server.studio.handover import Handover
from tests.server.serving import started
from tests.templates import copied_graph

EXAMPLE = Path(__file__).parents[2] / "examples/people"
TOKENS = {"ana": "token-of-the-lead", "bob": "token-of-the-drafter", "eve": "token-of-the-reader"}
POLICY = """
version: 1
groups:
  leads: [ana]
  team: [ana, bob]
  all: [ana, bob, eve]
protected_branches: [main]
rules:
  - {id: reads, allow: {actors: {group: all}, actions: [read], branch_scope: any}}
  - {id: drafts, allow: {actors: {group: team}, actions: [change], branch_scope: unprotected}}
  - {id: reviews, allow: {actors: {group: team}, actions: [review], branch_scope: unprotected}}
  - {id: leads, allow: {actors: {group: leads}, actions: [change, export], branch_scope: any}}
  - {id: queries, allow: {actors: {group: all}, actions: [invoke_query]}}
  - id: leads-branches
    allow:
      actors: {group: leads}
      actions: [branch_create, branch_delete, branch_merge, admin]
      target_branch_scope: any
"""
_GUS = {"slug": "gus", "name": "Gus Moe", "email": "gus@mill.example"}
HIRES = f"""\
{{"type": "Person", "data": {json.dumps({**_GUS, "joined": "2026-01-05T09:00:00+01:00"})}}}
{{"edge": "WorksAt", "from": "gus", "to": "north-mill", "data": {{"role": "weaver"}}}}
"""
HIRE = """
query hire($person: String, $company: String, $role: String) {
  insert WorksAt { from: $person, to: $company, role: $role }
}
"""
EMBEDDING = {"OMNIGRAPH_EMBED_MODEL": "mock"}
# A connection of a browser stays open, and its feed as well.
LIMITS = Limits(threads=8, share=4)


@dataclass(frozen=True, slots=True)
class Scene:
    """A served graph: where its page is, and a handle for whoever may do everything."""

    server: Server

    @property
    def origin(self) -> str:
        """The address of the server."""
        return f"http://{self.server.address}"

    @property
    def graph(self) -> Graph:
        """The graph, past the policy."""
        return Graph(LocalBackend(replace(self.server.app.backend.access, policy=None)))


def make_graph(uri: Path) -> Graph:
    """Make the people of the example, a tag, and a branch that is ahead of main and behind it."""
    og.init(uri, EXAMPLE / "people.pg", durable=False).close()
    graph = og.open(uri, durable=False, environment=EMBEDDING)
    main = graph.branch()
    main.load(EXAMPLE / "people.jsonl", mode="append", message="people and where they work")
    graph.create_tag("loaded")
    draft = graph.create_branch("review/hires")
    draft.load(HIRES, message="Gus joins the mill")
    main.mutate(HIRE, person="ana", company="north-mill", role="lead")
    return graph


def settings_of(folder: Path, *, port: int = 0, with_tokens: bool = True) -> Settings:
    """Return how the graph of a folder is served."""
    policy, tokens = folder / "policy.yaml", folder / "tokens.json"
    policy.write_text(POLICY)
    policy.chmod(0o600)
    tokens.write_text(json.dumps(TOKENS))
    tokens.chmod(0o600)
    queries = folder / "queries"
    queries.mkdir(exist_ok=True)
    (queries / "people.gq").write_text((EXAMPLE / "people.gq").read_text())
    environment = dict(EMBEDDING)
    if with_tokens:
        environment["OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"] = str(tokens)
    return Settings(
        uri=str(folder / "people.omni"),
        host="127.0.0.1",
        port=port,
        policy=policy if with_tokens else None,
        queries=queries,
        limits=LIMITS,
        handover=Handover("ana", seconds=600.0, token=TOKENS["ana"]),
        environment=environment,
    )


@contextmanager
def served(folder: Path, *, port: int = 0, with_tokens: bool = True) -> Iterator[Scene]:
    """Serve the graph of a folder, which is made when it is not there, until the block ends."""
    if not (folder / "people.omni").exists():
        copied_graph(folder / "people.omni", make_graph).close()
    with started(settings_of(folder, port=port, with_tokens=with_tokens)) as server:
        yield Scene(server)
