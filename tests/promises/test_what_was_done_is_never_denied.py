"""Promise: once the flip may have happened, no error says that nothing was done.

After the flip of each operation the store answers nothing any more. The caller is told that it is
done, or that nobody can tell; and when the store is back, the change is there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OmniGraphError, OutcomeUnknownError
from omnigraph.maintain.backup import restore
from omnigraph.storage.layout import MANIFEST, manifest_name
from tests.promises.faults import Faults, When
from tests.standin import Bucket, running
from tests.stores import BUCKET, Lane, s3_environment

ROOT = f"s3://{BUCKET}/prepared/graph"
COPY = f"s3://{BUCKET}/copy"
SCHEMA = "node Person { slug: String @key  group: I64? }  edge Knows: Person -> Person"
WIDER = SCHEMA + " node City { name: String @key }"
INSERT = "query add($slug: String) { insert Person { slug: $slug } }"
GROUPED = "query all() { match { $p: Person  $p.group >= 0 } return { $p.slug } }"
READ = "query all() { match { $p: Person } return { $p.slug } order { $p.slug } }"


def line(slug: str) -> str:
    return f'{{"type": "Person", "data": {{"slug": "{slug}"}}}}\n'


def slugs(graph: Graph, place: str = "main") -> list[str]:
    return [str(row["p.slug"]) for row in graph.at(place).query(READ)]


def head(graph: Graph, branch: str) -> str:
    return graph.branch(branch).commit.id


def said(graph: Graph, branch: str) -> list[str]:
    found = graph.review_record(branch)
    return [] if found is None else [str(each.message or each.state) for each in found]


@dataclass(frozen=True, slots=True)
class Write:
    """A public operation, the key or the object whose writing does it, and what is there then."""

    act: Callable[[Graph, "Prepared"], object]
    by: str
    leaves: Callable[[Graph, "Prepared"], bool]


WRITES = {
    "mutate": Write(
        lambda g, _: g.mutate(INSERT, slug="new"), "branch/main", lambda g, _: "new" in slugs(g)
    ),
    "mutate after a read": Write(
        lambda g, _: (slugs(g), g.mutate(INSERT, slug="new")),
        "branch/main",
        lambda g, _: "new" in slugs(g),
    ),
    "load": Write(lambda g, _: g.load(line("new")), "branch/main", lambda g, _: "new" in slugs(g)),
    "ingest": Write(
        lambda g, _: g.ingest(line("new"), branch="fresh"),
        "branch/fresh",
        lambda g, _: "new" in slugs(g, "fresh"),
    ),
    "ingest of nothing": Write(
        lambda g, _: g.ingest(BytesIO(), branch="fresh"),
        "branch/fresh",
        lambda g, _: "fresh" in g.branches(),
    ),
    "merge": Write(lambda g, _: g.merge("side"), "branch/main", lambda g, _: "aside" in slugs(g)),
    "merge of a schema": Write(
        lambda g, _: g.merge("wider"), "branch/main", lambda g, _: "City" in g.catalog.nodes
    ),
    "fast forward": Write(
        lambda g, _: g.merge("main", "behind"),
        "branch/behind",
        lambda g, _: slugs(g, "behind") == slugs(g),
    ),
    "revert": Write(
        lambda g, p: g.revert(p.last), "branch/main", lambda g, _: "last" not in slugs(g)
    ),
    "apply schema": Write(
        lambda g, _: g.apply_schema(WIDER), "branch/main", lambda g, _: "City" in g.catalog.nodes
    ),
    "optimize": Write(
        lambda g, _: g.optimize(), "branch/main", lambda g, _: next(g.log()).kind == "physical"
    ),
    "create branch": Write(
        lambda g, _: g.create_branch("fresh"), "branch/fresh", lambda g, _: "fresh" in g.branches()
    ),
    "create branch at an old commit": Write(
        lambda g, p: g.create_branch("fresh", p.old),
        "branch/fresh",
        lambda g, _: "fresh" in g.branches(),
    ),
    "rename branch": Write(
        lambda g, _: g.rename_branch("side", "fresh"),
        "branch/fresh",
        lambda g, _: "fresh" in g.branches() and "side" not in g.branches(),
    ),
    "delete branch": Write(
        lambda g, _: g.delete_branch("side"), "branch/side", lambda g, _: "side" not in g.branches()
    ),
    "create tag": Write(
        lambda g, _: g.create_tag("fresh"), "branch/__tag__fresh", lambda g, _: "fresh" in g.tags()
    ),
    "delete tag": Write(
        lambda g, _: g.delete_tag("kept"), "branch/__tag__kept", lambda g, _: "kept" not in g.tags()
    ),
    "begin run": Write(lambda g, _: g.begin_run(), "begun.json", lambda g, _: len(g.runs()) == 2),
    "begin run of an operation": Write(
        lambda g, _: g.begin_run(operation_hash="op"),
        "begun.json",
        lambda g, _: len(g.runs()) == 2,
    ),
    "merge of a run": Write(
        lambda g, p: g.publish_run(p.run), "branch/main", lambda g, _: "by the run" in slugs(g)
    ),
    "publish run": Write(
        lambda g, p: g.publish_run(p.run),
        "ended.json",
        lambda g, p: g.run_record(p.run).status == "published",
    ),
    "abort run": Write(
        lambda g, p: g.abort_run(p.run),
        "ended.json",
        lambda g, p: g.run_record(p.run).status == "aborted",
    ),
    "fail run": Write(
        lambda g, p: g.fail_run(p.run),
        "ended.json",
        lambda g, p: g.run_record(p.run).status == "failed",
    ),
    "comment on a branch": Write(
        lambda g, _: g.comment_review("side", "hello"),
        "-comment.json",
        lambda g, _: "hello" in said(g, "side"),
    ),
    "decide on a branch": Write(
        lambda g, _: g.set_review("side", "approved", "well done"),
        "-approved.json",
        lambda g, _: "well done" in said(g, "side"),
    ),
    "merge of a branch with a review": Write(
        lambda g, _: g.merge("reviewed"),
        "branch/main",
        lambda g, _: "reviewed" in slugs(g),
    ),
    "note that a branch was merged": Write(
        lambda g, _: g.merge("reviewed"),
        "-merged.json",
        lambda g, _: "reviewed" in slugs(g) and "merged" in said(g, "reviewed"),
    ),
    "resolve": Write(
        lambda g, _: g.branch().resolve("Person", into="first", duplicate="third"),
        "branch/main",
        lambda g, _: "third" not in slugs(g),
    ),
    "write an algorithm": Write(
        lambda g, _: g.algo.components("Knows").write_to("main", "group"),
        "branch/main",
        lambda g, _: len(list(g.query(GROUPED))) == len(slugs(g)),
    ),
    "overwrite": Write(
        lambda g, _: g.load(line("new"), mode="overwrite"),
        "branch/main",
        lambda g, _: slugs(g) == ["new"],
    ),
    "mutate of an operation": Write(
        lambda g, _: g.branch(operation_id="op").mutate(INSERT, slug="new"),
        "branch/main",
        lambda g, _: "new" in slugs(g),
    ),
    "cleanup": Write(
        lambda g, _: g.cleanup(keep=1, grace="0s", confirm=True),
        "cleaned",
        lambda g, _: "cleaned" in g.repository.manifest.newest().metadata,
    ),
}
WHENS: tuple[When | None, ...] = ("after", None)
LABELS = ["its reply is lost", "its reply comes"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph with branches, a tag and a run, as the objects of a bucket, and ids in it."""

    objects: dict[str, bytes]
    old: str
    last: str
    run: str


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    """Make the graph that every operation starts from."""
    bucket = Bucket()
    with running(bucket) as address, pytest.MonkeyPatch.context() as patch:
        for variable, value in s3_environment(address).items():
            patch.setenv(variable, value)
        graph = init(ROOT, SCHEMA)
        old = graph.snapshot().commit.id
        graph.mutate(INSERT, slug="first")
        for name in ("side", "wider", "behind", "reviewed"):
            graph.create_branch(name)
        graph.branch("side").mutate(INSERT, slug="aside")
        graph.branch("reviewed").mutate(INSERT, slug="reviewed")
        graph.set_review("reviewed", "approved")
        graph.branch("wider").apply_schema(WIDER)
        graph.create_tag("kept")
        run = graph.begin_run()
        graph.branch(run.run_branch).mutate(INSERT, slug="by the run")
        for slug in ("third", "last"):
            receipt = graph.mutate(INSERT, slug=slug)
        assert receipt.commit is not None
        yield Prepared(dict(bucket.objects), old, receipt.commit.id, run.run_id)


@pytest.mark.parametrize("when", WHENS, ids=LABELS)
@pytest.mark.parametrize("name", WRITES)
def test_when_the_store_fails_from_the_flip_on_no_error_denies_what_was_done(
    name: str,
    when: When | None,
    prepared: Prepared,
    standin: Lane,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write, bucket.objects = WRITES[name], dict(prepared.objects)
    graph = open_graph(ROOT, durable=False)

    told = _until_done(lambda: write.act(graph, prepared), write.by, when, bucket, monkeypatch)

    assert told is None or isinstance(told, OutcomeUnknownError), repr(told)
    assert write.leaves(open_graph(ROOT), prepared)


@pytest.mark.parametrize("when", WHENS, ids=LABELS)
def test_when_the_store_fails_once_a_graph_was_made_no_error_denies_it(
    when: When | None, standin: Lane, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = f"{MANIFEST}/_versions/{manifest_name(1)}"

    told = _until_done(lambda: init(ROOT, SCHEMA), first, when, bucket, monkeypatch)

    assert told is None or isinstance(told, OutcomeUnknownError), repr(told)
    assert open_graph(ROOT).branches() == ["main"]


@pytest.mark.parametrize("when", WHENS, ids=LABELS)
@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_when_the_store_fails_once_a_copy_is_a_graph_no_error_denies_it(
    verb: str,
    when: When | None,
    prepared: Prepared,
    standin: Lane,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket.objects = dict(prepared.objects)
    graph = open_graph(ROOT, read_only=True)
    newest = manifest_name(graph.repository.manifest.newest().version)
    act = (lambda: graph.backup(COPY)) if verb == "backup" else (lambda: restore(ROOT, COPY))

    told = _until_done(act, f"{MANIFEST}/_versions/{newest}", when, bucket, monkeypatch)

    assert isinstance(told, OutcomeUnknownError), repr(told)
    assert slugs(open_graph(COPY, read_only=True)) == slugs(graph)
    if verb == "backup":
        assert graph.backup(COPY).heads == {each: head(graph, each) for each in graph.branches()}


def _until_done(
    act: Callable[[], object],
    by: str,
    when: When | None,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> OmniGraphError | None:
    """Do something on a store that fails as soon as it is done; give the error that comes of it."""
    faults = Faults(done=lambda call: _stop(bucket) if call.decides(by) else None)
    faults.install(monkeypatch)
    try:
        with faults.broken(lambda call: when if call.decides(by) else None):
            act()
    except OmniGraphError as failed:
        return failed
    finally:
        assert bucket.refuses, "it was never done"
        bucket.behave()
    return None


def _stop(bucket: Bucket) -> None:
    bucket.refuses = (403, "AccessDenied", "Access Denied")
