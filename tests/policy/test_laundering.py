"""No road leads around the policy to what an actor may not read, or may not change."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from omnigraph import errors
from omnigraph.api.graph import Graph
from omnigraph.merge.review.record import Review
from omnigraph.versioning.publish import head_moved
from tests.policy.world import INSERT, POLICY, READ, World, add, state

Road = Callable[[Graph, World], object]
NO_ULID = "01K9ZZZZZZZZZZZZZZZZZZZZZZ"

ROADS: dict[str, Road] = {
    "the branch": lambda g, _: g.branch("vault").query(READ),
    "the branch in upper case": lambda g, _: g.branch("VAULT").query(READ),
    "a snapshot": lambda g, _: g.snapshot("vault"),
    "a version": lambda g, _: g.snapshot_at_version(2, "vault"),
    "one entity": lambda g, _: g.entity_at("node:Person", "secret", 2, "vault"),
    "a commit": lambda g, w: g.at(w.secret).query(READ),
    "a commit in lower case": lambda g, w: g.at(w.secret.lower()).query(READ),
    "the record of a commit": lambda g, w: g.commit(w.secret),
    "a tag": lambda g, _: g.at("tag-vault").query(READ),
    "the branch of a tag": lambda g, _: g.at("__tag__tag-vault").query(READ),
    "a run": lambda g, w: g.run_record(w.secret_run),
    "the branch of a run": lambda g, w: g.branch(f"__run__{w.secret_run}").query(READ),
    "an export": lambda g, _: list(g.export("vault")),
    "an export of a commit": lambda g, w: list(g.export(w.secret)),
    "an export of a tag": lambda g, _: list(g.export("tag-vault")),
    "files": lambda g, w: g.export_to(w.root.parent / "out", w.secret),
    "a difference": lambda g, _: list(g.diff("open", "vault")),
    "a difference the other way": lambda g, _: list(g.diff("vault", "open")),
    "a difference to a commit": lambda g, w: list(g.branch("open").diff(w.secret)),
    "its changes": lambda g, _: list(g.changes("vault")),
    "its log": lambda g, _: list(g.log("vault")),
    "a log that goes on elsewhere": lambda g, w: list(g.log("open", after=w.secret)),
    "blame": lambda g, _: g.blame("Person", "secret", "vault"),
    "blame at a commit": lambda g, w: g.blame("Person", "secret", w.secret),
    "a merge": lambda g, _: g.merge("vault", "open"),
    "a merge of a commit": lambda g, w: g.merge(w.secret, "open"),
    "a merge of a tag": lambda g, _: g.merge("tag-vault", "open"),
    "a merge of a run": lambda g, w: g.merge(f"__run__{w.secret_run}", "open"),
    "a preview": lambda g, _: g.preview_merge("vault", "open"),
    "a preview the other way": lambda g, _: g.preview_merge("open", "vault"),
    "a merge base": lambda g, _: g.merge_base("vault", "open"),
    "a new branch": lambda g, _: g.create_branch("mine", "vault"),
    "a new branch from a commit": lambda g, w: g.create_branch("mine", w.secret),
    "a new branch from a tag": lambda g, _: g.create_branch("mine", "tag-vault"),
    "a new branch from a run": lambda g, w: g.create_branch("mine", f"__run__{w.secret_run}"),
    "a new tag": lambda g, _: g.create_tag("mine", "vault"),
    "a new tag of a commit": lambda g, w: g.create_tag("mine", w.secret),
    "another name": lambda g, _: g.rename_branch("vault", "mine"),
    "an ingest": lambda g, _: g.ingest("", branch="mine", base="vault"),
    "a revert": lambda g, w: g.revert(w.secret, "open"),
    "a run on it": lambda g, _: g.begin_run("vault"),
    "its schema": lambda g, _: g.branch("vault").schema,
    "a plan of its schema": lambda g, _: g.plan_schema("node A { a: String @key }", "vault"),
}
CHANGES: dict[str, Road] = {
    "a mutation": lambda g, _: g.branch("vault").mutate(INSERT, slug="x"),
    "a mutation in upper case": lambda g, _: g.branch("VAULT").mutate(INSERT, slug="x"),
    "a load": lambda g, _: g.load('{"type": "Person", "data": {"slug": "x"}}', branch="vault"),
    "an ingest": lambda g, _: g.ingest("", branch="vault"),
    "a merge": lambda g, _: g.merge("open", "vault"),
    "a revert": lambda g, w: g.revert(w.shown, "vault"),
    "its deletion": lambda g, _: g.delete_branch("vault"),
    "another name for another": lambda g, _: g.rename_branch("lab", "vault"),
    "a publication": lambda g, w: g.publish_run(w.secret_run),
    "an abortion": lambda g, w: g.abort_run(w.secret_run),
    "a failure": lambda g, w: g.fail_run(w.secret_run),
    "the branch of a run": lambda g, w: add(g, f"__run__{w.secret_run}", "x"),
    "a merge into a run": lambda g, w: g.merge("open", f"__run__{w.secret_run}"),
    "the branch of a tag": lambda g, _: add(g, "__tag__tag-vault", "x"),
    "the end of a tag": lambda g, _: g.delete_tag("tag-vault"),
    "a schema": lambda g, _: g.apply_schema("node A { a: String @key }", "vault"),
    "a tag of its name": lambda g, _: g.create_tag("vault", "open"),
    "a branch of its name": lambda g, _: g.create_branch("Vault", "open"),
}


@pytest.mark.parametrize("road", [*ROADS, *(f"change by {name}" for name in CHANGES)])
def test_no_road_leads_to_a_protected_branch(road: str, unchanged_world: World) -> None:
    walk = ROADS[road] if road in ROADS else CHANGES[road.removeprefix("change by ")]

    with pytest.raises((errors.DeniedError, errors.NotFoundError)):
        walk(unchanged_world.graph("una"), unchanged_world)


@pytest.mark.parametrize("road", [name for name in ROADS if "upper case" not in name])
def test_every_road_is_open_to_who_may_everything(road: str, world: World) -> None:
    nowhere = ("the branch of a tag", "a commit in lower case", "another name")
    if road in (*nowhere, "a log that goes on elsewhere"):
        pytest.skip("it leads nowhere for anybody")
    ROADS[road](world.graph("ann"), world)


HIDDEN: dict[str, tuple[Road, Road]] = {
    "commit": (lambda g, w: g.commit(w.secret), lambda g, _: g.commit(NO_ULID)),
    "view": (lambda g, w: g.at(w.secret), lambda g, _: g.at(NO_ULID)),
    "export": (lambda g, w: g.export(w.secret), lambda g, _: g.export(NO_ULID)),
    "tag": (lambda g, _: g.at("tag-vault"), lambda g, _: g.at("tag-vaunt")),
    "short id": (lambda g, w: g.commit(w.secret[:6]), lambda g, _: g.commit("0" * 6)),
    "system tag": (
        lambda g, _: g.at("__tag__tag-vault"),
        lambda g, _: g.at("__tag__tag-vaunt"),
    ),
    "tag deletion": (
        lambda g, _: g.delete_tag("tag-vault"),
        lambda g, _: g.delete_tag("tag-vaunt"),
    ),
    "run": (lambda g, w: g.run_record(w.secret_run), lambda g, _: g.run_record(NO_ULID)),
    "publication": (
        lambda g, w: g.publish_run(w.secret_run),
        lambda g, _: g.publish_run(NO_ULID),
    ),
    "abortion": (lambda g, w: g.abort_run(w.secret_run), lambda g, _: g.abort_run(NO_ULID)),
    "branch of a run": (
        lambda g, w: g.at(f"__run__{w.secret_run}"),
        lambda g, _: g.at(f"__run__{NO_ULID}"),
    ),
    "merge": (lambda g, w: g.merge(w.secret, "lab"), lambda g, _: g.merge(NO_ULID, "lab")),
    "revert": (lambda g, w: g.revert(w.secret, "lab"), lambda g, _: g.revert(NO_ULID, "lab")),
    "new branch": (
        lambda g, w: g.create_branch("mine", w.secret),
        lambda g, _: g.create_branch("mine", NO_ULID),
    ),
    "log": (
        lambda g, w: g.log("open", after=w.secret),
        lambda g, _: g.log("open", after=NO_ULID),
    ),
    "since": (
        lambda g, w: list(g.changes("open", since=w.secret)),
        lambda g, _: list(g.changes("open", since=NO_ULID)),
    ),
}


def failure(road: Road, graph: Graph, world: World) -> tuple[type, str, str | None]:
    with pytest.raises(errors.OmniGraphError) as caught:
        road(graph, world)
    ids = (world.secret, world.secret_run, NO_ULID)
    names = (*ids, "tag-vaunt", "tag-vault", world.secret[:6], "0" * 6)
    message = caught.value.message
    for name in names:
        message = message.replace(name, "X")
    return type(caught.value), message, caught.value.hint


@pytest.mark.parametrize("actor", ["una", "nil", "zed", None])
@pytest.mark.parametrize("what", HIDDEN)
def test_what_may_not_be_seen_looks_like_what_is_not_there(
    what: str, actor: str | None, unchanged_world: World
) -> None:
    hidden, missing = HIDDEN[what]
    graph = unchanged_world.graph(actor)
    assert failure(hidden, graph, unchanged_world) == failure(missing, graph, unchanged_world)


def test_a_denied_name_is_denied_whether_it_is_there_or_not(world: World) -> None:
    there = world.graph("una")
    assert failure(lambda g, _: g.at("vault"), there, world)[0] is errors.DeniedError
    world.owner().abort_run(world.secret_run)
    world.owner().rename_branch("vault", "elsewhere")
    assert failure(lambda g, _: g.at("vault"), world.graph("una"), world)[0] is errors.DeniedError


def test_no_hint_names_a_branch_or_a_tag_that_may_not_be_seen(world: World) -> None:
    graph = world.graph("una")
    for road in (
        lambda g, _: g.at("vautl"),
        lambda g, _: g.branch("vautl").query(READ),
        lambda g, _: add(g, "vautl", "x"),
        lambda g, _: g.delete_branch("vautl"),
        lambda g, _: g.merge("open", "vautl"),
        lambda g, _: g.log("vautl"),
        lambda g, _: g.delete_tag("tag-vautl"),
    ):
        assert failure(road, graph, world)[2] is None


def test_lists_show_only_what_may_be_read(world: World) -> None:
    outside, inside = world.graph("una"), world.graph("pia")
    assert outside.branches() == ["lab", "open"]
    assert inside.branches() == ["main", "vault"]
    assert outside.tags() == {"tag-open": world.shown}
    assert inside.tags() == {"tag-vault": world.secret}
    assert [run.run_id for run in outside.runs()] == [world.shown_run]
    assert [run.run_id for run in inside.runs()] == [world.secret_run]
    assert set(world.graph("ann").tags()) == {"tag-open", "tag-vault"}
    for actor in ("nil", "zed", None):
        for listed in (Graph.branches, Graph.tags, Graph.runs):
            with pytest.raises(errors.DeniedError):
                listed(world.graph(actor))


def test_a_commit_is_judged_as_a_branch_that_contains_it(world: World) -> None:
    owner, outside = world.owner(), world.graph("una")
    first = list(owner.log("main"))[-1].id
    assert outside.commit(first).id == first, "it is in an open branch as well"
    with pytest.raises(errors.CommitNotFoundError):
        outside.at(world.secret)

    owner.merge("vault", "open")
    assert outside.at(world.secret).commit.id == world.secret


def test_a_commit_that_no_branch_contains_any_more_is_seen_by_nobody(world: World) -> None:
    world.owner().abort_run(world.shown_run)
    gone = add(world.owner(), "lab", "gone")
    world.owner().delete_branch("lab")
    assert world.owner().commit(gone)
    for actor in ("ann", "una"):
        with pytest.raises(errors.CommitNotFoundError):
            world.graph(actor).commit(gone)


def test_a_commit_of_a_run_is_judged_as_the_target_of_the_run(world: World) -> None:
    written = world.owner().snapshot(f"__run__{world.shown_run}").commit.id
    assert world.graph("una").commit(written).id == written
    with pytest.raises(errors.CommitNotFoundError):
        world.graph("pia").commit(written)
    assert add(world.graph("una"), f"__run__{world.shown_run}", "x")
    assert world.graph("una").publish_run(world.shown_run).status == "published"


def test_to_export_a_commit_that_may_only_be_read_is_denied(world: World) -> None:
    text = """
    version: 1
    groups: {g: [ann]}
    rules:
      - {id: r, allow: {actors: {group: g}, actions: [read], branch_scope: any}}
    """
    graph = world.graph("ann", text)
    assert graph.commit(world.shown)
    for place in (world.shown, "open", "main"):
        with pytest.raises(errors.DeniedError, match="'export'"):
            graph.export(place)


def test_who_may_change_without_reading_can_change(world: World) -> None:
    text = """
    version: 1
    groups: {g: [ann]}
    rules:
      - {id: r, allow: {actors: {group: g}, actions: [change], branch_scope: any}}
    """
    graph = world.graph("ann", text)
    assert add(graph, "open", "x")
    assert add(graph, f"__run__{world.shown_run}", "y")
    with pytest.raises(errors.DeniedError):
        graph.branch("open").query(READ)


BLIND = """
version: 1
groups: {g: [ann]}
protected_branches: [vault]
rules:
  - {id: a, allow: {actors: {group: g}, actions: [read], branch_scope: unprotected}}
  - {id: b, allow: {actors: {group: g}, actions: [change], branch_scope: any}}
  - id: c
    allow: {actors: {group: g}, actions: [branch_merge, run_publish], target_branch_scope: any}
"""
WIDER = """
node Person { slug: String @key  name: String?  picture: Blob?  mail: String? @unique  age: I32? }
edge Knows: Person -> Person
"""
RENAME = 'query q($name: String) { update Person set { name: $name } where slug = "both" }'


def test_conflicts_do_not_show_the_rows_of_a_branch_that_may_not_be_read(world: World) -> None:
    owner = world.owner()
    for branch, name in (("open", "x"), ("lab", "y"), (f"__run__{world.secret_run}", "z")):
        owner.branch(branch).mutate(RENAME, name=name)
    undone = owner.branch("open").mutate(RENAME, name="w").commit
    owner.branch("vault").mutate(RENAME, name="a secret")
    assert undone is not None
    blind = world.graph("ann", BLIND)
    roads: list[Callable[[], object]] = [
        lambda: blind.merge("open", "vault"),
        lambda: blind.revert(undone.id, "vault"),
        lambda: blind.publish_run(world.secret_run),
    ]
    for road in roads:
        with pytest.raises(errors.DeniedError, match="'read' on 'vault'") as caught:
            road()
        assert "a secret" not in str(caught.value.to_json())
    with pytest.raises(errors.MergeConflictsError):
        blind.merge("open", "lab")
    with pytest.raises(errors.MergeConflictsError):
        world.graph("ann").merge("open", "vault")


SECRETS = ("secret", "both", "41")
BREAKING: dict[str, Road] = {
    "one value for all": lambda g, _: g.branch("vault").mutate(
        'query q() { update Person set { mail: "same" } where slug != "nobody" }'
    ),
    "a value that is computed": lambda g, _: g.branch("vault").mutate(
        "query q() { update Person set { age: 2147483647 + age } where age > 40 }"
    ),
    "a value that is taken": lambda g, _: g.branch("vault").mutate(
        'query q() { insert Person { slug: "new"  mail: "m" } }'
    ),
    "rows without those that edges need": lambda g, _: g.load(
        '{"type": "Person", "data": {"slug": "new"}}', branch="vault", mode="overwrite"
    ),
    "rows with a value that is taken": lambda g, _: g.load(
        '{"type": "Person", "data": {"slug": "new", "mail": "m"}}', branch="vault"
    ),
    "rows for an ingest": lambda g, _: g.ingest(
        '{"type": "Person", "data": {"slug": "new"}}', branch="vault", mode="overwrite"
    ),
}


@pytest.mark.parametrize("road", BREAKING)
def test_what_breaks_a_rule_does_not_show_the_rows_of_a_branch_that_may_not_be_read(
    road: str, world: World
) -> None:
    owner = world.owner()
    owner.branch("vault").apply_schema(WIDER)
    for text in (
        'query q() { update Person set { mail: "m"  age: 41 } where slug = "secret" }',
        'query q() { insert Knows { from: "secret"  to: "both" } }',
    ):
        owner.branch("vault").mutate(text)

    with pytest.raises(errors.ViolationsError) as caught:
        BREAKING[road](world.graph("ann", BLIND), world)
    with pytest.raises(errors.ViolationsError) as shown:
        BREAKING[road](world.graph("ann"), world)

    said = str(caught.value.to_json())
    assert not [each for each in SECRETS if each in said], said
    assert caught.value.total == len({(each.type, each.field) for each in shown.value.violations})
    assert caught.value.code == shown.value.code
    first, known = caught.value.violations[0], shown.value.violations[0]
    assert (first.type, first.field, first.line) == (known.type, known.field, known.line)


def test_vectors_for_a_branch_that_keeps_moving_do_not_show_where_it_stands(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = world.owner().branch("vault").commit.id

    def moves(*_: object) -> NoReturn:
        raise head_moved("vault", world.shown, head)

    monkeypatch.setattr("omnigraph.api.local.writes._embed_at", moves)

    with pytest.raises(errors.HeadMovedError) as hidden:
        world.graph("ann", BLIND).branch("vault").embed_again()
    with pytest.raises(errors.HeadMovedError) as shown:
        world.graph("ann").branch("vault").embed_again()

    assert head in shown.value.message
    assert head not in str(hidden.value.to_json())


def test_what_is_wrong_with_rows_that_were_sent_is_told_to_who_may_not_read(world: World) -> None:
    rows = '{"type": "Person", "data": {"slug": "both"}}\n{"type": "Person", "data": {"slug": 4}}'
    blind = world.graph("ann", BLIND)

    with pytest.raises(errors.ViolationsError) as caught:
        blind.load(rows, branch="vault")

    assert [each.line for each in caught.value.violations] == [2]
    assert "String" in caught.value.message


def test_who_may_delete_a_branch_without_reading_it_is_not_told_its_runs(world: World) -> None:
    text = """
    version: 1
    groups: {g: [ann]}
    rules:
      - {id: r, allow: {actors: {group: g}, actions: [branch_delete], target_branch_scope: any}}
    """
    for actor, policy, is_told in (("ann", text, False), ("ann", POLICY, True)):
        with pytest.raises(errors.InputError, match="to be published to 'vault'") as caught:
            world.graph(actor, policy).delete_branch("vault")
        assert (world.secret_run in caught.value.message) is is_told


def test_a_review_shows_no_commit_of_a_branch_that_may_not_be_read(world: World) -> None:
    ann, una = world.graph("ann"), world.graph("una")
    ann.set_review("open", "open", into="vault")
    made = ann.merge("open", "vault").commit
    assert made is not None

    shown, hidden = ann.review_record("open"), una.review_record("open")

    assert shown is not None
    assert hidden is not None
    assert shown.events[-1].commit == made.id
    assert made.id not in str(hidden.to_json())
    said = una.comment_review("open", "what became of it?")
    assert made.id not in str(said.to_json())
    assert [each.state for each in hidden] == [each.state for each in shown]


def test_a_review_names_no_branch_that_may_not_be_read(world: World) -> None:
    ann, una = world.graph("ann"), world.graph("una")
    ann.comment_review("open", "look", into="lab")
    ann.set_review("open", "open", "for the others", into="vault")

    shown, hidden = ann.review_record("open"), una.review_record("open")
    said = una.comment_review("open", "where does it go?", into="vault")

    assert shown is not None
    assert hidden is not None
    assert (shown.into, [each.into for each in shown]) == ("vault", ["lab", "vault"])
    assert (hidden.into, [each.into for each in hidden]) == (None, ["lab", None])
    assert "vault" not in str(said.to_json())
    assert Review.from_json(hidden.to_json()) == hidden


def test_a_handle_notes_its_actor_with_every_change(world: World) -> None:
    graph = world.graph("ann")
    commits = [
        graph.commit(add(graph, "lab", "x")),
        graph.load('{"type": "Person", "data": {"slug": "y"}}', branch="lab").commit,
        graph.ingest('{"type": "Person", "data": {"slug": "z"}}', branch="new").loaded.commit,
        graph.merge("open", "lab").commit,
        graph.revert(world.shown, "open").commit,
    ]
    assert {None if each is None else each.actor for each in commits} == {"ann"}
    assert graph.begin_run("lab").actor_id == "ann"
    assert graph.acting_as("pia").actor == "pia"
    assert graph.actor == "ann"


@pytest.mark.parametrize("policy", [None, "the policy"])
def test_nobody_acts_for_somebody_else(world: World, policy: str | None) -> None:
    graph = world.graph("ann") if policy else world.graph("ann", None)
    before = state(world.owner())
    roads: list[Callable[[Graph], object]] = [
        lambda g: g.branch("lab", actor="pia"),
        lambda g: g.load("", branch="lab", actor="pia"),
        lambda g: g.ingest("", branch="lab", actor="pia"),
        lambda g: g.merge("open", "lab", actor="pia"),
        lambda g: g.branch("lab").merge("open", actor="pia"),
        lambda g: g.revert(world.shown, "open", actor="pia"),
        lambda g: g.begin_run("lab", actor="pia"),
        lambda g: g.publish_run(world.shown_run, actor="pia"),
    ]
    for road in roads:
        with pytest.raises(errors.InputError, match="this handle acts as 'ann', not as 'pia'"):
            road(graph)
    assert state(world.owner()) == before
    assert graph.branch("lab", actor="ann").mutate(INSERT, slug="x").actor == "ann"


def test_acting_as_another_asks_the_policy_about_that_one(world: World) -> None:
    graph = world.graph("ann")
    assert graph.branch("vault").query(READ).to_dicts()
    with pytest.raises(errors.DeniedError) as caught:
        graph.acting_as("una").branch("vault").query(READ)
    assert caught.value.to_json() == {
        "error": "the policy does not allow 'una' to 'read' on 'vault'",
        "code": "denied",
        "hint": None,
        "actor": "una",
        "action": "read",
        "branch": "vault",
    }
    with pytest.raises(errors.DeniedError, match="'read' on 'main' without an actor"):
        graph.acting_as(None).query(READ)


@pytest.mark.parametrize(
    "name", ["", "a b", "va%75lt", "vault\x00", "vau\u200blt", "../vault", "-x"]
)
def test_a_name_that_no_branch_can_have_is_refused_as_ever(world: World, name: str) -> None:
    with pytest.raises(errors.BranchNameError):
        world.graph("una").at(name)


def test_what_is_missing_and_may_be_known_is_not_found(world: World) -> None:
    graph = world.graph("ann")
    for road, kind in (
        (lambda g, _: g.at("nowhere"), errors.BranchNotFoundError),
        (lambda g, _: g.commit(NO_ULID), errors.CommitNotFoundError),
        (lambda g, _: g.run_record(NO_ULID), errors.RunNotFoundError),
        (lambda g, _: g.delete_tag("nowhere"), errors.TagNotFoundError),
    ):
        assert failure(road, graph, world)[0] is kind
