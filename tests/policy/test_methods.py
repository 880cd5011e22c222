"""Every method of the handles asks the policy, and for exactly this."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import pytest

from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.operations.algorithms import WriteAlgorithm
from omnigraph.api.view import View
from omnigraph.errors import DeniedError, InputError, NotFoundError, QueryNotFoundError
from omnigraph.policy.actions import Decision, Request
from tests.policy.world import INSERT, READ, SCHEMA, World

Need = tuple[str, str | None]
LINE = '{"type": "Person", "data": {"slug": "new"}}\n'
MAIN: Need = ("read", "main")
OPEN: Need = ("read", "open")
VAULT: Need = ("read", "vault")


BLOCKS: list[AbstractContextManager[object]] = []


@dataclass(frozen=True, slots=True)
class Use:
    """How a method is called, and what the actor has to be allowed for it.

    Without one of `shows` it does not fail, but leaves that out.
    """

    call: Callable[[Graph, World], object]
    needs: tuple[Need, ...] = ()
    shows: tuple[Need, ...] = ()


def enter_run(graph: Graph) -> None:
    """Begin the block of a run; it is kept, because one that goes aborts its run."""
    BLOCKS.append(graph.run("open"))
    BLOCKS[-1].__enter__()


@pytest.fixture(autouse=True)
def _blocks_end() -> Iterator[None]:
    """End the blocks of runs with the test that began them."""
    yield
    BLOCKS.clear()


def make_vectors(call: Callable[[], object]) -> None:
    """Make vectors anew, of which this schema has none."""
    with suppress(InputError):
        call()


def resolve(graph: Graph, _: World) -> None:
    """Make two nodes one, of which this branch has only one."""
    with suppress(NotFoundError):
        graph.branch("open").resolve("Person", into="shown", duplicate="nobody")


def at(graph: Graph, world: World) -> View:
    return graph.at(world.shown)


GRAPH = {
    "uri": Use(lambda g, _: g.uri),
    "actor": Use(lambda g, _: g.actor),
    "acting_as": Use(lambda g, _: g.acting_as("ann")),
    "branch": Use(lambda g, _: g.branch("vault")),
    "close": Use(lambda g, _: g.close()),
    "catalog": Use(lambda g, _: g.catalog, (MAIN,)),
    "schema": Use(lambda g, _: g.schema, (MAIN,)),
    "schema_hash": Use(lambda g, _: g.schema_hash, (MAIN,)),
    "at": Use(lambda g, _: g.at("open"), (OPEN,)),
    "snapshot": Use(lambda g, w: g.snapshot(w.shown), (OPEN,)),
    "snapshot_at_version": Use(lambda g, _: g.snapshot_at_version(0, "open"), (OPEN,)),
    "entity_at": Use(lambda g, _: g.entity_at("node:Person", "shown", 2, "open"), (OPEN,)),
    "query": Use(lambda g, _: g.query(READ), (MAIN,)),
    "queries": Use(lambda g, _: g.queries["all"](), (("invoke_query", "main"),)),
    "algo": Use(lambda g, _: g.algo.pagerank(), (MAIN,)),
    "explain": Use(lambda g, _: g.explain(READ), (MAIN,)),
    "profile": Use(lambda g, _: g.profile(READ), (MAIN,)),
    "mutate": Use(lambda g, _: g.mutate(INSERT, slug="new"), (("change", "main"),)),
    "load": Use(lambda g, _: g.load(LINE, branch="open"), (("change", "open"),)),
    "embed_again": Use(
        lambda g, _: make_vectors(lambda: g.embed_again(branch="open")), (("change", "open"),)
    ),
    "ingest": Use(
        lambda g, _: g.ingest(LINE, branch="new", base="open"),
        (("change", "new"), ("branch_create", "new"), OPEN),
    ),
    "export": Use(lambda g, _: list(g.export("open")), (("export", "open"),)),
    "export_to": Use(
        lambda g, w: g.export_to(w.root.parent / "out", "open"), (("export", "open"),)
    ),
    "blame": Use(lambda g, _: g.blame("Person", "shown", "open"), (OPEN,)),
    "schema_view": Use(lambda g, _: g.schema_view("open"), (OPEN,)),
    "log": Use(lambda g, w: list(g.log("vault", after=w.secret)), (VAULT,)),
    "diff": Use(lambda g, _: list(g.diff("vault", "open")), (VAULT, OPEN)),
    "review": Use(lambda g, _: list(g.review("open", into="vault")), (VAULT, OPEN)),
    "changes": Use(lambda g, _: list(g.changes("open")), (OPEN,)),
    "merge_base": Use(lambda g, _: g.merge_base("vault", "open"), (VAULT, OPEN)),
    "commit": Use(lambda g, w: g.commit(w.shown), (OPEN,)),
    "rights": Use(lambda g, _: g.rights()),
    "branches": Use(lambda g, _: g.branches()),
    "branch_status": Use(lambda g, _: g.branch_status(), (), (MAIN, OPEN, VAULT, ("read", "lab"))),
    "review_page": Use(lambda g, _: g.review_page("open", into="vault"), (OPEN, VAULT)),
    "review_record": Use(lambda g, _: g.review_record("open"), (OPEN,)),
    "set_review": Use(
        lambda g, _: g.set_review("open", "approved", into="lab"), (OPEN, ("branch_merge", "lab"))
    ),
    "comment_review": Use(
        lambda g, _: g.comment_review("open", "why?"), (OPEN, ("review", "open"))
    ),
    "tags": Use(lambda g, _: g.tags()),
    "runs": Use(lambda g, _: g.runs()),
    "run_record": Use(lambda g, w: g.run_record(w.shown_run), (OPEN,)),
    "run": Use(lambda g, _: enter_run(g), (("change", "open"),)),
    "begin_run": Use(lambda g, _: g.begin_run("open"), (("change", "open"),)),
    "publish_run": Use(lambda g, w: g.publish_run(w.shown_run), (("run_publish", "open"),)),
    "abort_run": Use(lambda g, w: g.abort_run(w.shown_run), (("run_abort", "open"),)),
    "fail_run": Use(lambda g, w: g.fail_run(w.shown_run), (("run_abort", "open"),)),
    "create_branch": Use(
        lambda g, _: g.create_branch("new", "open"), (("branch_create", "new"), OPEN)
    ),
    "rename_branch": Use(
        lambda g, _: g.rename_branch("lab", "new"),
        (("branch_delete", "lab"), ("read", "lab"), ("branch_create", "new")),
    ),
    "delete_branch": Use(lambda g, _: g.delete_branch("lab"), (("branch_delete", "lab"),)),
    "create_tag": Use(lambda g, _: g.create_tag("new", "open"), (("branch_create", "new"), OPEN)),
    "delete_tag": Use(lambda g, _: g.delete_tag("tag-open"), (("branch_delete", "tag-open"),)),
    "merge": Use(lambda g, _: g.merge("open", "lab"), (("branch_merge", "lab"), OPEN)),
    "preview_merge": Use(lambda g, _: g.preview_merge("open", "lab"), (("read", "lab"), OPEN)),
    "revert": Use(lambda g, w: g.revert(w.shown, "open"), (("change", "open"), OPEN)),
    "plan_schema": Use(lambda g, _: g.plan_schema(SCHEMA, "open"), (OPEN,)),
    "apply_schema": Use(
        lambda g, _: g.apply_schema(SCHEMA + "node City { slug: String @key }", "open"),
        (("schema_apply", "open"),),
    ),
    "report": Use(lambda g, _: g.report("open"), (OPEN,), (MAIN, VAULT, ("read", "lab"))),
    "coverage": Use(lambda g, _: g.coverage("open"), (OPEN,)),
    "optimize": Use(lambda g, _: g.optimize("open"), (("admin", None),)),
    "ensure_indices": Use(lambda g, _: g.ensure_indices("open"), (("admin", None),)),
    "cleanup": Use(lambda g, _: g.cleanup(keep=1), (("admin", None),)),
    "backup": Use(lambda g, w: g.backup(w.root.parent / "copy"), (("admin", None),)),
    "fsck": Use(lambda g, _: g.fsck(), (("admin", None),)),
}
VIEW = {
    "place": Use(lambda g, w: at(g, w).place, (OPEN,)),
    "snapshot": Use(lambda g, w: at(g, w).snapshot, (OPEN,)),
    "commit": Use(lambda g, w: at(g, w).commit, (OPEN,)),
    "catalog": Use(lambda g, w: at(g, w).catalog, (OPEN,)),
    "schema": Use(lambda g, w: at(g, w).schema, (OPEN,)),
    "query": Use(lambda g, w: at(g, w).query(READ), (OPEN,)),
    "queries": Use(lambda g, w: at(g, w).queries["all"](), (OPEN, ("invoke_query", "open"))),
    "stream": Use(lambda g, w: list(at(g, w).stream(READ)), (OPEN,)),
    "profile": Use(lambda g, w: at(g, w).profile(READ), (OPEN,)),
    "explain": Use(lambda g, w: at(g, w).explain(READ), (OPEN,)),
    "lint": Use(lambda g, w: at(g, w).lint(READ), (OPEN,)),
    "complete": Use(lambda g, w: at(g, w).complete(READ, 0), (OPEN,)),
    "search": Use(lambda g, w: at(g, w).search("shown"), (OPEN,)),
    "neighbors": Use(lambda g, w: at(g, w).neighbors("Person", "shown"), (OPEN,)),
    "algo": Use(lambda g, w: at(g, w).algo.pagerank(), (OPEN,)),
    "blob": Use(lambda g, w: at(g, w).blob("Person", "shown", "picture"), (OPEN,)),
    "blame": Use(lambda g, w: at(g, w).blame("Person", "shown"), (OPEN,)),
    "schema_view": Use(lambda g, w: at(g, w).schema_view(), (OPEN,)),
    "diff": Use(lambda g, w: list(at(g, w).diff("vault")), (OPEN, VAULT)),
    "export": Use(lambda g, w: list(at(g, w).export()), (OPEN, ("export", "open"))),
    "export_to": Use(
        lambda g, w: at(g, w).export_to(w.root.parent / "out"), (OPEN, ("export", "open"))
    ),
    "to_networkx": Use(lambda g, w: at(g, w).to_networkx(), (OPEN, ("export", "open"))),
}
BRANCH = {
    "name": Use(lambda g, _: g.branch("open").name),
    "place": Use(lambda g, _: g.branch("open").place),
    "snapshot": Use(lambda g, _: g.branch("open").snapshot, (OPEN,)),
    "commit": Use(lambda g, _: g.branch("open").commit, (OPEN,)),
    "catalog": Use(lambda g, _: g.branch("open").catalog, (OPEN,)),
    "schema": Use(lambda g, _: g.branch("open").schema, (OPEN,)),
    "query": Use(lambda g, _: g.branch("open").query(READ), (OPEN,)),
    "queries": Use(lambda g, _: g.branch("open").queries["all"](), (("invoke_query", "open"),)),
    "stream": Use(lambda g, _: list(g.branch("open").stream(READ)), (OPEN,)),
    "profile": Use(lambda g, _: g.branch("open").profile(READ), (OPEN,)),
    "explain": Use(lambda g, _: g.branch("open").explain(READ), (OPEN,)),
    "lint": Use(lambda g, _: g.branch("open").lint(READ), (OPEN,)),
    "complete": Use(lambda g, _: g.branch("open").complete(READ, 0), (OPEN,)),
    "search": Use(lambda g, _: g.branch("open").search("shown"), (OPEN,)),
    "neighbors": Use(lambda g, _: g.branch("open").neighbors("Person", "shown"), (OPEN,)),
    "algo": Use(lambda g, _: g.branch("open").algo.pagerank(), (OPEN,)),
    "blob": Use(lambda g, _: g.branch("open").blob("Person", "shown", "picture"), (OPEN,)),
    "blame": Use(lambda g, _: g.branch("open").blame("Person", "shown"), (OPEN,)),
    "schema_view": Use(lambda g, _: g.branch("open").schema_view(), (OPEN,)),
    "diff": Use(lambda g, _: list(g.branch("open").diff("vault")), (OPEN, VAULT)),
    "export": Use(lambda g, _: list(g.branch("open").export()), (("export", "open"),)),
    "export_to": Use(
        lambda g, w: g.branch("open").export_to(w.root.parent / "out"), (("export", "open"),)
    ),
    "to_networkx": Use(lambda g, _: g.branch("open").to_networkx(), (("export", "open"),)),
    "log": Use(lambda g, _: list(g.branch("open").log()), (OPEN,)),
    "changes": Use(lambda g, _: list(g.branch("open").changes()), (OPEN,)),
    "watch": Use(lambda g, _: list(g.branch("open").watch(seconds=0)), (OPEN,)),
    "mutate": Use(lambda g, _: g.branch("open").mutate(INSERT, slug="x"), (("change", "open"),)),
    "resolve": Use(resolve, (("change", "open"),)),
    "load": Use(lambda g, _: g.branch("open").load(LINE), (("change", "open"),)),
    "embed_again": Use(
        lambda g, _: make_vectors(g.branch("open").embed_again), (("change", "open"),)
    ),
    "merge": Use(lambda g, _: g.branch("lab").merge("open"), (("branch_merge", "lab"), OPEN)),
    "preview_merge": Use(
        lambda g, _: g.branch("lab").preview_merge("open"), (("read", "lab"), OPEN)
    ),
    "revert": Use(lambda g, w: g.branch("open").revert(w.shown), (("change", "open"), OPEN)),
    "preview_revert": Use(lambda g, w: g.branch("open").preview_revert(w.shown), (OPEN,)),
    "plan_schema": Use(lambda g, _: g.branch("open").plan_schema(SCHEMA), (OPEN,)),
    "apply_schema": Use(
        lambda g, _: g.branch("open").apply_schema(SCHEMA + "node City { slug: String @key }"),
        (("schema_apply", "open"),),
    ),
}
TABLES = {Graph: GRAPH, View: VIEW, Branch: BRANCH}
USES = {
    f"{kind.__name__}.{name}": use for kind, table in TABLES.items() for name, use in table.items()
}
NEEDS = [(name, need) for name, use in USES.items() for need in use.needs]


class AllBut:
    """Denies one thing, or nothing, and allows all else."""

    def __init__(self, denied: Need | None = None) -> None:
        self.denied = denied

    def decide(self, request: Request) -> Decision:
        asked = (request.action, request.branch or request.target_branch)
        return Decision(asked != self.denied, "all", "as the test says")

    def groups_of(self, actor: str | None) -> tuple[str, ...]:
        return ()

    def somewhere(self, actor: str | None, action: str, query: str | None = None) -> bool:
        return True

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        return True


class Nothing:
    """Denies everything."""

    def decide(self, request: Request) -> Decision:
        return Decision(allowed=False, rule_id=None, reason=f"{request.action} is denied")

    def groups_of(self, actor: str | None) -> tuple[str, ...]:
        return ()

    def somewhere(self, actor: str | None, action: str, query: str | None = None) -> bool:
        return False

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        return False


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_public_method_is_in_the_table(kind: type) -> None:
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert sorted(public) == sorted(TABLES[kind])


@pytest.mark.parametrize("name", USES)
def test_a_method_asks_for_what_the_table_says(
    name: str, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="omnigraph.policy")

    USES[name].call(world.graph("ann", AllBut()), world)

    asked = {(record.__dict__["action"], record.__dict__["branch"]) for record in caplog.records}
    assert asked == {*USES[name].needs, *USES[name].shows}


@pytest.mark.parametrize(("name", "need"), NEEDS, ids=str)
def test_without_one_of_its_needs_a_method_does_nothing(
    name: str, need: Need, unchanged_world: World
) -> None:
    with pytest.raises((DeniedError, NotFoundError)):
        USES[name].call(unchanged_world.graph("ann", AllBut(need)), unchanged_world)


@pytest.mark.parametrize(
    "name", [name for name in USES if name not in ("Graph.uri", "Graph.actor")]
)
def test_who_may_nothing_gets_nothing(name: str, unchanged_world: World) -> None:
    harmless = {
        "Graph.acting_as",
        "Graph.close",
        "Graph.rights",
        "Graph.branch",
        "Branch.name",
        "Branch.place",
    }
    graph = unchanged_world.graph("ann", Nothing())

    if name in harmless:
        USES[name].call(graph, unchanged_world)
    else:
        with pytest.raises((DeniedError, QueryNotFoundError)):
            USES[name].call(graph, unchanged_world)


def test_to_write_what_an_algorithm_says_needs_a_change_there_and_a_read_of_what_it_runs_on(
    world: World,
) -> None:
    ranks = world.owner().at("open").algo.pagerank()
    asked = WriteAlgorithm(
        name="pagerank", property="name", branch="lab", snapshot=str(ranks.commit)
    )

    for need in (("change", "lab"), OPEN):
        with pytest.raises((DeniedError, NotFoundError)):
            world.graph("ann", AllBut(need)).backend.run(asked)

    with pytest.raises(InputError, match="'name' of Person is String"):
        world.graph("ann", AllBut()).backend.run(asked)
