"""A deployment converges by one flip: crashes, races, drift, deletions and rollbacks."""

import json
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.deploy import live
from omnigraph.deploy.apply import Applied, apply, approve
from omnigraph.deploy.declaration import read_declaration
from omnigraph.deploy.definition import graph_uri
from omnigraph.deploy.ledger import Ledger
from omnigraph.deploy.plan import DeploymentPlan, make_plan
from omnigraph.deploy.revision import canonical
from omnigraph.errors import (
    ApprovalNeededError,
    DeclarationError,
    DeploymentMovedError,
    GraphNotFoundError,
    OmniGraphError,
    OutcomeUnknownError,
    RevisionNotFoundError,
    StorageError,
    UnsupportedMigrationError,
)
from omnigraph.storage import steps
from omnigraph.storage.objects import Objects
from omnigraph.storage.store import store_at
from tests.changes.meanwhile import meanwhile
from tests.deploy.folder import CLUSTER, QUERIES, SCHEMA, TWO, write
from tests.stores import Lane


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "brain")


@pytest.fixture(autouse=True)
def unobserved() -> Iterator[None]:
    yield
    steps.observer = None


def applied(folder: Path, storage: str | None = None) -> Applied:
    found = read_declaration(folder)
    return apply(storage or found.storage, found.definition, actor="ann")


def planned(folder: Path) -> DeploymentPlan:
    found = read_declaration(folder)
    return make_plan(Ledger.at(found.storage), found.storage, found.definition)


def approved_removal(folder: Path, storage: str) -> None:
    """Apply two graphs, and approve of the removal of `other`, which the folder now says."""
    write(folder, cluster__yaml=TWO)
    applied(folder, storage)
    write(folder, cluster__yaml=CLUSTER)
    definition = read_declaration(folder).definition
    plan = make_plan(Ledger.at(storage), storage, definition)
    approve(storage, definition, "graph.other", plan.digest)


def resources(plan: DeploymentPlan) -> dict[str, str]:
    return {each.resource: each.action for each in plan.changes}


def test_an_apply_makes_graphs_and_lets_a_revision_serve(folder: Path, lane: Lane) -> None:
    done = applied(folder, lane.root)

    ledger = Ledger.at(lane.root)
    entry = ledger.serving()
    assert (entry.number, entry.actor, entry.kind) == (1, "ann", "apply")
    assert ledger.definition(entry.revision) == read_declaration(folder).definition
    assert resources(done.plan) == {
        "graph.people": "create",
        "query.people.add": "create",
        "query.people.everyone": "create",
        "policy.base": "create",
        "policy.server": "create",
    }
    with open_graph(graph_uri(lane.root, "people")) as graph:
        assert graph.branches() == ["main"]


def test_an_apply_again_does_nothing(folder: Path) -> None:
    first, second = applied(folder), applied(folder)

    assert first.is_new
    assert not second.is_new
    assert second.entry == first.entry


def test_a_schema_is_changed_with_its_steps_and_costs_in_the_plan(folder: Path) -> None:
    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        graph.mutate(QUERIES, "add", name="Ada")
    write(folder, people__pg=SCHEMA.replace("age: I32?", "age: I32?  nick: String? @index"))

    plan = planned(folder)
    change = next(each for each in plan.changes if each.resource == "schema.people")
    assert [each["rows_written"] for each in change.steps] != []
    assert any("nick" in each for each in change.detail)

    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert "nick" in graph.schema
        assert next(iter(graph.log())).message is not None
        assert len(graph.query(QUERIES, "everyone")) == 1


def test_what_cannot_be_done_stops_an_apply_before_it_begins(folder: Path) -> None:
    applied(folder)
    write(folder, cluster__yaml=TWO, people__pg=SCHEMA.replace("age: I32?", "age: String?"))
    (folder / "queries/people.gq").write_text(QUERIES)

    with pytest.raises(UnsupportedMigrationError, match=r"schema\.people"):
        applied(folder)

    assert Ledger.at(str(folder)).serving().number == 1
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))


def test_another_writing_of_the_same_schema_is_no_change(folder: Path) -> None:
    applied(folder)
    write(folder, people__pg=f"// people\n{SCHEMA}")

    assert resources(planned(folder)) == {}
    assert applied(folder).is_new  # the text of the revision is another one
    assert planned(folder).drift == ()


def test_drift_is_shown_and_converged(folder: Path) -> None:
    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  extra: String?"))
    write(folder, people__pg=SCHEMA.replace("age: I32?", "age: I32?  extra: String?  more: I32?"))

    plan = planned(folder)
    assert plan.drift == ("schema.people was changed by something other than an apply",)
    applied(folder)
    assert planned(folder).drift == ()
    assert planned(folder).is_empty


def test_a_graph_that_leaves_the_file_needs_an_approval_of_this_very_plan(folder: Path) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    write(folder, cluster__yaml=CLUSTER)

    with pytest.raises(ApprovalNeededError, match=r"graph\.other"):
        applied(folder)
    declared = read_declaration(folder)
    seen = planned(folder).digest
    with open_graph(graph_uri(str(folder), "other")) as graph:
        graph.mutate(QUERIES, "add", name="Eve")
    with pytest.raises(DeploymentMovedError, match="something moved"):
        approve(declared.storage, declared.definition, "graph.other", seen)

    fresh = planned(folder).digest
    approve(declared.storage, declared.definition, "graph.other", fresh, actor="ann")
    with open_graph(graph_uri(str(folder), "other")) as graph:
        graph.mutate(QUERIES, "add", name="Zoe")
    with pytest.raises(ApprovalNeededError):
        applied(folder)  # what was approved is not what is there any more

    approve(declared.storage, declared.definition, "graph.other", planned(folder).digest)
    assert applied(folder).kept == ()
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))


@pytest.mark.parametrize("way", ["branch", "run", "tag"])
def test_an_approval_of_a_deletion_ends_with_whatever_comes_to_the_graph(
    folder: Path, way: str
) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    with open_graph(graph_uri(str(folder), "other")) as graph:
        graph.create_branch("draft")
    approved_removal(folder, str(folder))

    with open_graph(graph_uri(str(folder), "other")) as graph:
        if way == "branch":
            graph.branch("draft").mutate(QUERIES, "add", name="Eve")
        elif way == "run":
            graph.branch(graph.begin_run("main").run_branch).mutate(QUERIES, "add", name="Eve")
        else:
            graph.create_tag("precious")

    with pytest.raises(ApprovalNeededError, match=r"graph\.other"):
        applied(folder)


def test_a_graph_of_which_another_branch_was_written_to_meanwhile_is_kept(folder: Path) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    with open_graph(graph_uri(str(folder), "other")) as graph:
        graph.create_branch("draft")
    approved_removal(folder, str(folder))

    def add() -> None:
        with open_graph(graph_uri(str(folder), "other")) as graph:
            graph.branch("draft").mutate(QUERIES, "add", name="Late")

    with meanwhile(add, step="cluster published"):
        assert applied(folder).kept == ("other",)
    with open_graph(graph_uri(str(folder), "other")) as graph:
        assert len(graph.branch("draft").query(QUERIES, "everyone")) == 1


def test_an_approval_of_a_drop_ends_with_the_next_commit_of_its_graph(folder: Path) -> None:
    applied(folder)
    write(folder, people__pg="node Person { name: String @key }\n")
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "schema.people", planned(folder).digest)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        graph.load([{"name": "Late", "age": 9}], type="Person")

    with pytest.raises(ApprovalNeededError, match=r"schema\.people"):
        applied(folder)
    approve(declared.storage, declared.definition, "schema.people", planned(folder).digest)
    assert applied(folder).is_new


STEPS = [
    "cluster texts",
    "cluster revision",
    "cluster graph",
    "cluster schema",
    "cluster published",
    "cluster deleted",
]


class CrashError(Exception):
    """The process ends here."""


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_every_step_leaves_what_the_next_apply_finishes(folder: Path, step: str) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    third = CLUSTER.replace("policies:", "  third: {schema: third.pg}\npolicies:")
    write(
        folder,
        cluster__yaml=third,
        people__pg=SCHEMA.replace("age: I32?", "age: I32?  nick: String?"),
        third__pg=SCHEMA,
    )
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "graph.other", planned(folder).digest)

    def observe(found: str) -> None:
        if found == step:
            raise CrashError

    steps.observer = observe
    with pytest.raises(CrashError):
        applied(folder)
    steps.observer = None
    if planned(folder).deletions:  # the flip did not happen, and the plan is another one now
        assert Ledger.at(str(folder)).serving().number == 1
        approve(declared.storage, declared.definition, "graph.other", planned(folder).digest)
    applied(folder)

    assert Ledger.at(str(folder)).serving().number == 2
    assert planned(folder).is_empty
    assert planned(folder).drift == ()
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert "nick" in graph.schema
    open_graph(graph_uri(str(folder), "third")).close()
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))


def test_a_deleted_graph_that_was_written_to_meanwhile_is_kept(folder: Path) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    write(folder, cluster__yaml=CLUSTER)
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "graph.other", planned(folder).digest)

    def add() -> None:
        with open_graph(graph_uri(str(folder), "other")) as graph:
            graph.mutate(QUERIES, "add", name="Late")

    with meanwhile(add, step="cluster published"):
        assert applied(folder).kept == ("other",)
    with open_graph(graph_uri(str(folder), "other")) as graph:
        assert len(graph.query(QUERIES, "everyone")) == 1


def test_no_error_denies_a_revision_that_serves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, cluster__yaml=TWO)
    applied(folder)
    write(folder, cluster__yaml=CLUSTER)
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "graph.other", planned(folder).digest)

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refuse)
        with pytest.raises(OutcomeUnknownError, match="revision 2 serves"):
            applied(folder)
    assert Ledger.at(str(folder)).serving().number == 2
    assert not applied(folder).is_new
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))


@pytest.mark.parametrize("where", ["local", "bucket"])
def test_a_graph_that_is_half_deleted_is_deleted_by_the_next_apply(
    folder: Path, where: str, standin: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = str(folder) if where == "local" else standin.root
    approved_removal(folder, storage)
    graph = store_at(graph_uri(storage, "other"))
    every = len(graph.objects.listing())
    delete_many = Objects.delete_many

    def schemas_only(path: str) -> None:
        for each in Path(path, "_schemas").iterdir():
            each.unlink()
        raise PermissionError(13, "Permission denied", path)

    def first_only(self: Objects, paths: Iterable[str]) -> None:
        found = sorted(paths)
        delete_many(self, found[:2])
        if where == "local" or not found:
            return
        raise StorageError("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(live, "shutil", SimpleNamespace(rmtree=schemas_only))
        patch.setattr(Objects, "delete_many", first_only)
        with pytest.raises(OutcomeUnknownError, match="revision 2 serves"):
            applied(folder, storage)
    assert 0 < len(graph.objects.listing()) < every

    assert not applied(folder, storage).is_new

    assert graph.objects.listing() == []


def test_a_graph_that_cannot_be_looked_at_is_not_said_to_be_written_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved_removal(folder, str(folder))

    def away(reached: str) -> None:
        if reached == "cluster published":
            monkeypatch.setattr("omnigraph.deploy.live.open_graph", refuse)

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(steps, "observer", away)
        with pytest.raises(OutcomeUnknownError, match=r"revision 2 serves.*the store is away"):
            applied(folder)
    monkeypatch.undo()

    assert not applied(folder).is_new
    with pytest.raises(GraphNotFoundError):
        open_graph(graph_uri(str(folder), "other"))


@pytest.mark.parametrize("lands", [True, False])
@pytest.mark.parametrize("where", ["local", "bucket"])
def test_an_approval_of_which_the_store_tells_nothing_is_not_denied(
    folder: Path, where: str, lands: bool, standin: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = str(folder) if where == "local" else standin.root
    write(folder, cluster__yaml=TWO)
    applied(folder, storage)
    write(folder, cluster__yaml=CLUSTER)
    definition = read_declaration(folder).definition
    plan = make_plan(Ledger.at(storage), storage, definition)
    create = Objects.create

    def lost(self: Objects, path: str, data: bytes) -> bool:
        if lands:
            create(self, path, data)
        raise StorageError("no answer")

    told: OmniGraphError | None = None
    with monkeypatch.context() as patch:
        patch.setattr(Objects, "create", lost)
        try:
            approve(storage, definition, "graph.other", plan.digest)
        except OmniGraphError as failed:
            told = failed

    assert Ledger.at(storage).is_approved(plan.digest, "graph.other") == lands
    unsure = OutcomeUnknownError if where == "bucket" else StorageError
    assert type(told) is (type(None) if lands else unsure)


def test_a_revision_that_cannot_be_flushed_serves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(root: Path, paths: list[str]) -> None:
        if "/serving/" in paths[0]:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("omnigraph.deploy.ledger.sync", flush)
    with pytest.raises(OutcomeUnknownError, match="revision 1 serves but could not be flushed"):
        applied(folder)
    assert Ledger.at(str(folder)).serving().number == 1


def test_who_loses_the_race_to_publish_is_told_so_whether_or_not_it_can_be_flushed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Objects.create

    def late(self: Objects, path: str, data: bytes) -> bool:
        if "/serving/" in path:
            create(self, path, canonical({**json.loads(data), "id": "other"}))
        return create(self, path, data)

    def flush(root: Path, paths: list[str]) -> None:
        if "/serving/" in paths[0]:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(Objects, "create", late)
    monkeypatch.setattr("omnigraph.deploy.ledger.sync", flush)
    with pytest.raises(DeploymentMovedError, match="revision 1 was published by somebody else"):
        applied(folder)


@pytest.mark.parametrize("lands", [True, False])
def test_a_revision_of_which_the_store_tells_nothing_serves_or_nobody_can_tell(
    folder: Path, standin: Lane, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    create = Objects.create

    def lost(self: Objects, path: str, data: bytes) -> bool:
        if "/serving/" not in path:
            return create(self, path, data)
        if lands:
            create(self, path, data)
        raise StorageError("no answer")

    monkeypatch.setattr(Objects, "create", lost)
    if lands:
        assert applied(folder, standin.root).entry.number == 1
        return
    with pytest.raises(OutcomeUnknownError, match="while publishing revision 1"):
        applied(folder, standin.root)


def test_a_drop_hides_no_row_that_came_after_its_approval(folder: Path) -> None:
    applied(folder)
    write(folder, people__pg="node Person { name: String @key }\n")
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "schema.people", planned(folder).digest)

    def add() -> None:
        with open_graph(graph_uri(str(folder), "people")) as graph:
            graph.load([{"name": "Late", "age": 9}], type="Person")

    with (
        meanwhile(add, step="cluster revision"),
        pytest.raises(DeploymentMovedError, match="stands at"),
    ):
        applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert "age" in graph.schema
    with pytest.raises(ApprovalNeededError):
        applied(folder)  # the drop of a value is another plan


def test_of_two_applies_at_once_one_wins(folder: Path, lane: Lane) -> None:
    lane.skip_second_opinion()
    applied(folder, lane.root)
    both = threading.Barrier(2, timeout=60)

    def meet(step: str) -> None:
        if step == "cluster revision":
            both.wait()

    steps.observer = meet
    outcomes: list[object] = []

    def run(age: str) -> None:
        changed = QUERIES + f"query {age}() {{ match {{ $p: Person }} return {{ $p.age }} }}\n"
        other = write(folder.parent / age)
        (other / "queries/people.gq").write_text(changed)
        try:
            outcomes.append(applied(other, lane.root).entry.number)
        except DeploymentMovedError as moved:
            outcomes.append(moved)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)

    assert sorted(type(each).__name__ for each in outcomes) == ["DeploymentMovedError", "int"]
    assert Ledger.at(lane.root).serving().number == 2


def test_a_rollback_lets_earlier_definitions_serve_and_no_data_is_lost(folder: Path) -> None:
    applied(folder)
    (folder / "queries/people.gq").write_text(QUERIES.replace("query add", "query add_one"))
    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        graph.mutate(QUERIES, "add", name="Ada")
    ledger = Ledger.at(str(folder))

    earlier = ledger.find("1")
    done = apply(str(folder), ledger.definition(earlier.revision), earlier=earlier)

    assert (done.entry.number, done.entry.revision) == (3, earlier.revision)
    assert [each.kind for each in ledger.entries()] == ["rollback", "apply", "apply"]
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert len(graph.query(QUERIES, "everyone")) == 1
    with pytest.raises(RevisionNotFoundError):
        ledger.find("9")


def test_no_secret_is_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", "sk-very-secret")
    provider = "providers:\n  embedding:\n    one: {kind: openai, api_key: '${EMBED_KEY}'}\n"
    write(folder, cluster__yaml=CLUSTER + provider)
    entry = applied(folder).entry

    assert json.loads(Ledger.at(str(folder)).document(entry.revision))["providers"]["one"] == {
        "kind": "openai",
        "api_key": "${EMBED_KEY}",
    }
    everything = b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())
    assert b"sk-very-secret" not in everything


def test_a_schema_that_drops_something_is_applied_once_it_is_approved(folder: Path) -> None:
    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        graph.mutate('query q() { insert Person { name: "ann", age: 3 } }')
    write(folder, people__pg=SCHEMA.replace("  age: I32?", ""))
    plan = planned(folder)

    assert plan.to_json()["needs_approval"] == ["schema.people"]
    (change,) = (each for each in plan.changes if each.resource == "schema.people")
    assert "drop property Person.age: hides 1 value until a cleanup removes them" in change.detail
    with pytest.raises(ApprovalNeededError, match=r"schema\.people would lose data"):
        applied(folder)
    declared = read_declaration(folder)
    approve(declared.storage, declared.definition, "schema.people", plan.digest)
    applied(folder)
    with open_graph(graph_uri(str(folder), "people")) as graph:
        assert "age" not in graph.catalog.nodes["Person"].properties


def test_a_query_that_needs_what_is_dropped_is_named(folder: Path) -> None:
    applied(folder)
    ages = "query ages() { match { $p: Person } return { $p.age as age } }\n"
    (folder / "queries/ages.gq").write_text(ages)
    applied(folder)
    write(folder, people__pg=SCHEMA.replace("  age: I32?", ""))

    with pytest.raises(DeclarationError) as refused:
        planned(folder)
    assert "ages.gq" in str(refused.value)
