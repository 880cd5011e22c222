"""World: a graph with protected and open branches, tags and runs, and a policy over it."""

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.policy.actions import Action, Decider
from omnigraph.policy.policy import Policy, parse_policy
from omnigraph.query.stored import StoredQueries, parse_stored
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems

SCHEMA = """
node Person { slug: String @key  name: String?  picture: Blob? }
edge Knows: Person -> Person
"""
INSERT = "query add($slug: String) { insert Person { slug: $slug } }"
READ = "query all() { match { $p: Person } return { $p.slug } order { $p.slug } }"
QUERIES = StoredQueries(parse_stored(Source("all.gq", READ), Problems()))
BRANCH_ACTIONS = ", ".join(action for action in Action if not action.takes_target)
TARGET_ACTIONS = ", ".join(
    action for action in Action if action.takes_target and action.needs_scope
)


def rule(name: str, scope: str) -> str:
    """Return the rules that let the group of a name do everything in a scope."""
    return f"""
  - id: {name}-branch
    allow:
      actors: {{group: {name}}}
      actions: [{BRANCH_ACTIONS}]
      branch_scope: {scope}
  - id: {name}-target
    allow:
      actors: {{group: {name}}}
      actions: [{TARGET_ACTIONS}]
      target_branch_scope: {scope}"""


POLICY = f"""\
version: 1
groups:
  everywhere: [ann]
  inside: [pia]
  outside: [una]
  idle: [nil]
protected_branches: [main, vault]
rules:{rule("everywhere", "any")}{rule("inside", "protected")}{rule("outside", "unprotected")}
"""


@cache
def parsed(policy: str) -> Policy:
    """Return what a policy says; most tests have the same one, and to check it takes a while."""
    return parse_policy("policy.yaml", policy.encode())


@dataclass(frozen=True, slots=True)
class World:
    """Where the graph is, and the ids of what is in it; `vault` holds a secret, `open` does not."""

    root: Path
    secret: str
    shown: str
    secret_run: str
    shown_run: str

    def graph(self, actor: str | None = None, policy: Decider | str | None = POLICY) -> Graph:
        """Open the graph for an actor."""
        decider = parsed(policy) if isinstance(policy, str) else policy
        return open_graph(self.root, durable=False, actor=actor, policy=decider, queries=QUERIES)

    def owner(self) -> Graph:
        """Open the graph without a policy."""
        return open_graph(self.root, durable=False)

    def copied(self, folder: Path) -> "World":
        """Return the same world in another folder."""
        shutil.copytree(self.root, folder / "world")
        return World(folder / "world", self.secret, self.shown, self.secret_run, self.shown_run)


def made(folder: Path) -> World:
    """Make the world: branches main, vault, open and lab, a tag and a run of vault and of open."""
    graph = init(folder / "made", SCHEMA, durable=False)
    add(graph, "main", "both")
    found = {}
    for name, slug in (("vault", "secret"), ("open", "shown")):
        graph.create_branch(name)
        found[name] = add(graph, name, slug)
        graph.create_tag(f"tag-{name}", name)
        run = graph.begin_run(name)
        add(graph, run.run_branch, f"run-{slug}")
        found[f"run-{name}"] = run.run_id
    graph.create_branch("lab")
    add(graph, "lab", "lab")
    return World(
        folder / "made", found["vault"], found["open"], found["run-vault"], found["run-open"]
    )


def add(graph: Graph, branch: str, slug: str) -> str:
    """Add a person to a branch; gives the id of the commit."""
    commit = graph.branch(branch).mutate(INSERT, slug=slug).commit
    assert commit is not None
    return commit.id


def state(graph: Graph) -> object:
    """Return all that a change of the graph would change."""
    heads = graph.repository.manifest.heads(graph.repository.manifest.newest())
    return heads, graph.runs()
