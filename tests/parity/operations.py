"""Operations: what is asked of a graph at hand and of one behind a server, in this order."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars
import pyarrow as pa

from omnigraph.merge.conflict import Resolutions, Side
from tests.api.people import QUERIES, SCHEMA

# The handles of both kinds have the same methods, and no common class.
Graph = Any
Operation = Callable[[Graph, Path], object]

OPERATIONS: dict[str, Operation] = {}
DAG = '{"type": "Person", "data": {"slug": "dag", "name": "Dag", "age": 5}}\n'
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def operation(given: Operation) -> Operation:
    OPERATIONS[given.__name__.replace("_", " ")] = given
    return given


def add(name: str, given: Operation) -> None:
    assert name not in OPERATIONS
    OPERATIONS[name] = given


def head(graph: Graph, branch: str = "main") -> str:
    return str(graph.branch(branch).commit.id)


# Reads
add("read every kind of value", lambda g, _: g.query(QUERIES, "all"))
add("read with a parameter", lambda g, _: g.branch().query(QUERIES, "person", slug="ana"))
add("read whole nodes", lambda g, _: g.query(QUERIES, "whole", slug="bo"))
add("read along edges", lambda g, _: g.at().query(QUERIES, "friends"))
add("read nothing", lambda g, _: g.query(QUERIES, "person", slug="nobody"))
add("read at a commit", lambda g, _: g.at(head(g)).query(QUERIES, "ages"))
add("read a file of queries", lambda g, at: g.query(at / "people.gq", "ages"))
add("stored queries", lambda g, _: g.queries.describe())
add("a stored query", lambda g, _: g.queries["person"].about)
add("a stored read", lambda g, _: g.queries["person"](slug="ana"))
add("a stored read at a commit", lambda g, _: g.at().queries["all"]())
add("a stored read with a wrong parameter", lambda g, _: g.queries["person"](slug=3))
add("a stored read without a parameter", lambda g, _: g.queries["person"]())
add("no stored query", lambda g, _: g.queries["persn"])
add(
    "a stored change",
    lambda g, _: (
        g.create_branch("stored").queries["birthday"](slug="ana", age=32),
        g.branch("stored").queries["person"](slug="ana"),
        g.delete_branch("stored"),
    ),
)
add("a stored change of a commit", lambda g, _: g.at().queries["remove"](slug="ana"))
add("explain", lambda g, _: g.explain(QUERIES, "friends"))
add("profile", lambda g, _: g.profile(QUERIES, "friends"))
add("a blob", lambda g, _: g.branch().blob("Person", "ana", "photo"))
add("no blob", lambda g, _: g.branch().blob("Person", "bo", "photo"))
add("export", lambda g, _: b"".join(g.export()).decode())
add("export a type", lambda g, _: b"".join(g.branch().export(types=["Team"])))
add("to networkx", lambda g, _: g.branch().to_networkx())
add("to networkx in part", lambda g, _: g.at().to_networkx(types=["Person"], edges=["Knows"]))
add("the schema", lambda g, _: (g.schema, g.schema_hash, g.branch().schema))
add("the catalog", lambda g, _: (g.catalog, g.at().catalog))
add("a snapshot", lambda g, _: g.snapshot())
add("the commit of a view", lambda g, _: g.at().commit)
add("a stream", lambda g, _: g.at().stream(QUERIES, "ages").to_result())
add("a snapshot at a version", lambda g, _: g.snapshot_at_version(1))
add("an entity", lambda g, _: g.entity_at("node:Person", "ana", 1))
add("an entity with nulls", lambda g, _: g.entity_at("node:Person", "bo", 1, "main"))
add("an entity that was not yet there", lambda g, _: g.entity_at("node:Person", "ana", 0))
add("a merge base", lambda g, _: g.merge_base("main", g.at()))
add("rights", lambda g, _: sorted(g.rights().actions))
add("branches", lambda g, _: g.branches())
add("log", lambda g, _: list(g.log()))
add("the start of the log", lambda g, _: list(g.branch().log(limit=1)))
add("the rest of the log", lambda g, _: list(g.log(after=head(g))))
add("a commit", lambda g, _: g.commit(head(g)))

add("lint", lambda g, _: g.branch().lint(QUERIES))
add("lint what is wrong", lambda g, _: g.at().lint("query q() { match { $p: Persn } }"))
add("complete", lambda g, _: g.branch().complete("match { $p: Person } return { $p.", 33))
add("complete nowhere", lambda g, _: g.branch().complete("", -1))
add("search", lambda g, _: g.branch().search("ana"))
add("search a type", lambda g, _: g.at().search("a", types="Person", limit=2))
add("the groups around a node", lambda g, _: g.branch().neighbors("Person", "ana"))
add(
    "the nodes around a node",
    lambda g, _: g.at().neighbors("Person", "ana", edge="Knows", direction="out", limit=1),
)

# Reads that fail
add("search nothing", lambda g, _: g.branch().search(" "))
add("search no type", lambda g, _: g.branch().search("ana", types=["Persn"]))
add("search no number", lambda g, _: g.branch().search("ana", limit=0))
add("the nodes around nobody", lambda g, _: g.branch().neighbors("Person", "nobody"))
add("the nodes along no edge", lambda g, _: g.branch().neighbors("Person", "ana", edge="Know"))
add("the nodes around no type", lambda g, _: g.branch().neighbors("Persn", "ana"))
add("no such query", lambda g, _: g.query(QUERIES, "agess"))
add("which query", lambda g, _: g.query(QUERIES))
add("a query that cannot be parsed", lambda g, _: g.query("query q( {"))
add(
    "a query with an unknown type",
    lambda g, _: g.query("query q() { match { $p: Persn } return { $p.x } }"),
)
add("a file with an unknown type", lambda g, at: g.query(at / "wrong.gq"))
add("a file that is not there", lambda g, at: g.query(Path("/nowhere/x.gq")))
add("a missing parameter", lambda g, _: g.query(QUERIES, "person"))
add("an unknown parameter", lambda g, _: g.query(QUERIES, "person", slug="a", slgu=1))
add("a parameter of another type", lambda g, _: g.query(QUERIES, "person", slug=3))
add("a parameter with half a character", lambda g, _: g.query(QUERIES, "person", slug="\ud800"))
add("a parameter that is no value", lambda g, _: g.query(QUERIES, "person", slug=object))
add(
    "a parameter that is no number",
    lambda g, _: g.mutate(QUERIES, "add", slug="x", age=float("nan")),
)
add("a read of a mutation", lambda g, _: g.query(QUERIES, "add", slug="x"))
add("a read of a branch without a name", lambda g, _: g.branch("").query(QUERIES, "ages"))
add("a view of nothing", lambda g, _: g.at(""))
add("a load into nothing", lambda g, _: g.branch("").load(DAG))
add("a mutation of nothing", lambda g, _: g.branch("").mutate(QUERIES, "add", slug="x"))
add("a read of no branch", lambda g, _: g.branch("nothing").query(QUERIES, "ages"))
add("a view of no branch", lambda g, _: g.at("nothing"))
add("a view of no commit", lambda g, _: g.at(NOBODY))
add("no commit", lambda g, _: g.commit(NOBODY))
add("a blob of nobody", lambda g, _: g.branch().blob("Person", "nobody", "photo"))
add("a blob that is none", lambda g, _: g.branch().blob("Person", "ana", "name"))
add("an export of no type", lambda g, _: list(g.export(types=["Persn"])))
add("no version", lambda g, _: g.snapshot_at_version(99))
add("a version of no branch", lambda g, _: g.snapshot_at_version(1, "nothing"))
add("an entity of no type", lambda g, _: g.entity_at("node:Persn", "ana", 1))
add("an entity of no version", lambda g, _: g.entity_at("node:Person", "ana", 99))
add("a merge base of nothing", lambda g, _: g.merge_base("main", "nothing"))
add("a network of no type", lambda g, _: g.branch().to_networkx(types=["Persn"]))

# Changes
add("insert", lambda g, _: g.mutate(QUERIES, "add", slug="eve", age=29))
add("insert with null", lambda g, _: g.branch().mutate(QUERIES, "add", slug="fay", age=None))
add("update", lambda g, _: g.mutate(QUERIES, "birthday", slug="bo", age=42))
add("a change of nothing", lambda g, _: g.mutate(QUERIES, "birthday", slug="bo", age=42))
add(
    "a message",
    lambda g, _: g.branch(message="hello ü").mutate(QUERIES, "birthday", slug="bo", age=43),
)
add(
    "an expectation that holds",
    lambda g, _: g.branch(expect=head(g)).mutate(QUERIES, "add", slug="gil"),
)
add(
    "an expectation that does not",
    lambda g, _: g.branch(expect=g.commit(head(g)).parent).mutate(QUERIES, "add", slug="hal"),
)
add("a load with an expectation", lambda g, _: g.branch(expect=head(g)).load(DAG))
add("a merge with an expectation", lambda g, _: g.branch(expect=head(g)).merge("main"))
add("a revert with an expectation", lambda g, _: g.branch(expect=head(g)).revert(head(g)))
add("a mutation of a read", lambda g, _: g.mutate(QUERIES, "ages"))
add("a mutation of no branch", lambda g, _: g.branch("nothing").mutate(QUERIES, "add", slug="x"))
add(
    "an existing key",
    lambda g, _: g.mutate('query q() { insert Person { slug: "ana" name: "x" } }'),
)
add(
    "a missing end",
    lambda g, _: g.mutate('query q() { insert Knows { from: "ana" to: "nobody" } }'),
)


@operation
def an_operation_id_that_was_given(g: Graph, _: Path) -> object:
    branch = g.branch(operation_id="once")
    one = branch.mutate(QUERIES, "add", slug="ida")
    return one, branch.mutate(QUERIES, "add", slug="ida") == one, head(g) == one.commit.id


# Branches and tags
add("create a branch", lambda g, _: g.create_branch("review/ünï-1"))
add("read a branch", lambda g, _: g.branch("review/ünï-1").query(QUERIES, "ages"))
add("a branch that exists", lambda g, _: g.create_branch("review/ünï-1"))
add("a name that is none", lambda g, _: g.create_branch("a..b"))
add("a branch of nothing", lambda g, _: g.create_branch("b", "nothing"))
add("rename a branch", lambda g, _: (g.rename_branch("review/ünï-1", "review/2"), g.branches()))
add("delete a branch", lambda g, _: (g.delete_branch("review/2"), g.branches()))
add(
    "delete a branch where it is expected",
    lambda g, _: (g.create_branch("moved"), g.delete_branch("moved", expect=head(g)), g.branches()),
)
add(
    "delete a branch that moved",
    lambda g, _: (g.create_branch("moved"), g.delete_branch("moved", expect="0" * 26)),
)
add("delete that branch", lambda g, _: (g.branches(), g.delete_branch("moved")))
add("delete no branch", lambda g, _: g.delete_branch("review/2"))
add("delete main", lambda g, _: g.delete_branch("main"))
add("create a tag", lambda g, _: (g.create_tag("v1"), g.tags()))
add("a tag that exists", lambda g, _: g.create_tag("v1"))
add("read a tag", lambda g, _: g.at("v1").query(QUERIES, "ages"))
add("delete a tag", lambda g, _: (g.delete_tag("v1"), g.tags()))
add("delete no tag", lambda g, _: g.delete_tag("v1"))

# Loads
add("load a text", lambda g, _: g.branch().load(DAG))
add("vectors where there are none", lambda g, _: g.embed_again("Person"))
add("ranks", lambda g, _: g.algo.pagerank("Knows"))
add("ranks at a commit", lambda g, _: g.at().algo.pagerank("Knows", direction="both").to_dicts())
add("similar nodes", lambda g, _: g.algo.similarity("Knows", types="Person", limit=2).to_dicts())
add("an algorithm with a wrong setting", lambda g, _: g.algo.pagerank("Knows", damping=2.0))
add("an algorithm over no edges", lambda g, _: g.algo.components("Konws"))
add(
    "cores as a property",
    lambda g, _: (
        g.create_branch("cores").algo.k_core("Knows").write_to("cores", "age"),
        g.branch("cores").query(QUERIES, "ages"),
        g.branch("cores").algo.k_core("Knows").write_to("cores", "name"),
        g.delete_branch("cores"),
    ),
)
add("resolve what is not there", lambda g, _: g.branch().resolve("Person", into="x", duplicate="y"))
add(
    "resolve two people",
    lambda g, _: (
        g.create_branch("same").resolve("Person", into="ana", duplicate="bo", take="from"),
        g.branch("same").query(QUERIES, "friends"),
        g.delete_branch("same"),
    ),
)
add("load it again", lambda g, _: g.load(DAG))
add("load and merge", lambda g, _: g.load(DAG.replace("5", "6"), mode="merge", message="more"))
add("load a file", lambda g, at: g.load(at / "teams.jsonl"))
add("load files", lambda g, at: g.load([at / "teams.jsonl", at / "wrong.jsonl"]))
add("load gzip", lambda g, at: g.load(at / "teams.jsonl.gz"))
add("load a pattern", lambda g, at: g.load(at / "t3*.jsonl"))
add("load no file", lambda g, at: g.load(Path("nowhere.jsonl")))
add("load a folder", lambda g, at: g.load(Path("/")))
add("load Parquet", lambda g, at: g.load(at / "teams.parquet", type="Team"))
add("load Parquet of no type", lambda g, at: g.load(at / "teams.parquet"))
add("load lines of a type", lambda g, at: g.load(at / "teams.jsonl", type="Team"))
add("load a stream", lambda g, _: g.load(io.BytesIO(DAG.replace("dag", "jon").encode())))
add("load a dry run", lambda g, _: (g.load(DAG.replace("dag", "kim"), dry_run=True), head(g)))
add(
    "load what is there, always",
    lambda g, _: [
        (g.load(DAG.replace("dag", "jon"), mode="merge", message="again", always=each), head(g))
        for each in (False, True)
    ],
)
add("load nothing, always", lambda g, _: (g.load("", always=True), head(g)))
add("ingest nothing, always", lambda g, _: (g.ingest("", branch="main", always=True), head(g)))
add(
    "load lines that are wrong",
    lambda g, _: g.load(DAG + '{"type": "Person", "data": {"slug": 1}}\n{"typ": 1}'),
)
add("load in no mode", lambda g, _: g.load(DAG, mode="apend"))
add("load a name", lambda g, _: g.load("people.jsonl"))
add("load a number", lambda g, _: g.load(3))
add("load into no branch", lambda g, _: g.load(DAG, branch="nothing"))
add(
    "load a frame",
    lambda g, _: g.load(
        pd.DataFrame({"slug": ["lea"], "name": ["Lea"], "born": [date(2000, 1, 2)]}), type="Person"
    ),
)
add("load a frame of no type", lambda g, _: g.load(pd.DataFrame({"slug": ["x"]})))
add(
    "load frames",
    lambda g, _: g.load(
        {
            "Team": polars.DataFrame({"slug": ["x"]}),
            "MemberOf": pa.table({"from": ["ana"], "to": ["x"]}),
        }
    ),
)
add(
    "load a frame that is wrong",
    lambda g, _: g.load(pa.table({"slug": ["y", "z"], "title": [1, 2]}), type="Team"),
)
add("ingest", lambda g, _: g.ingest(DAG.replace("dag", "mia"), branch="inbox"))
add("ingest again", lambda g, _: g.ingest(DAG.replace("dag", "mia"), branch="inbox"))

# Differences and merges
add("diff", lambda g, _: g.diff("main", "inbox"))
add("diff handles", lambda g, _: g.diff(g.branch(), g.branch("inbox"), kinds=["node"]))
add(
    "diff commits",
    lambda g, _: g.diff(list(g.log())[-1].id, "main", types=["Person"], ops=["update", "insert"]),
)
add("diff of nothing", lambda g, _: g.branch().diff("main"))
add("diff with no branch", lambda g, _: g.diff("main", "nothing"))
add("diff of no kind", lambda g, _: g.diff("main", "inbox", kinds=["nod"]))
add("changes", lambda g, _: list(g.changes()))
add(
    "changes since",
    lambda g, _: list(g.branch().changes(since=list(g.log())[2].id, ops=["insert"])),
)
add("blame", lambda g, _: g.blame("Person", "bo"))
add("schema_view", lambda g, _: g.schema_view())
add("blame nobody", lambda g, _: g.branch().blame("Person", "nobody"))
add("blame no type", lambda g, _: g.branch().blame("Persn", "bo"))
add("preview a merge", lambda g, _: g.preview_merge("inbox"))
add("merge", lambda g, _: g.branch(message="from the inbox").merge(g.branch("inbox")))
add("where the branches stand", lambda g, _: g.branch_status())
add("merge again", lambda g, _: g.merge("inbox"))
add("merge nothing", lambda g, _: g.merge("nothing"))
add("revert", lambda g, _: (g.branch().revert(head(g)), g.query(QUERIES, "ages")))
add("preview a revert", lambda g, _: (g.branch().preview_revert(head(g)), g.query(QUERIES, "ages")))
add("revert no commit", lambda g, _: g.revert(NOBODY))


@operation
def a_merge_with_conflicts(g: Graph, _: Path) -> object:
    draft = g.create_branch("draft")
    draft.mutate(QUERIES, "birthday", slug="bo", age=1)
    g.mutate(QUERIES, "birthday", slug="bo", age=2)
    return g.branch().merge(draft)


add("preview a merge with conflicts", lambda g, _: g.preview_merge("draft"))
add("a merge with no side", lambda g, _: g.merge("draft", resolutions="mine"))
add(
    "preview with a side for a type",
    lambda g, _: g.preview_merge("draft", resolutions=Resolutions(types={"Person": Side.OURS})),
)
add(
    "a merge with a resolution",
    lambda g, _: (
        g.merge(
            "draft", resolutions=Resolutions(properties={("Person", "bo", "age"): Side.THEIRS})
        ),
        g.query(QUERIES, "ages"),
    ),
)


@operation
def a_merge_of_dates_with_conflicts(g: Graph, _: Path) -> object:
    rows = '{"type": "Person", "data": {"slug": "cy", "name": "Cy", "born": "%s", "count": %d}}'
    draft = g.create_branch("dates")
    draft.load(rows % ("2001-01-01", 2**60), mode="merge")
    g.load(rows % ("2002-02-02", 2**61), mode="merge")
    return g.preview_merge(draft), g.diff("main", draft), g.blame("Person", "cy", draft)


# Reviews
add("a page of a review", lambda g, _: g.review_page("dates", limit=1))
add("a review of some types", lambda g, _: g.review_page("inbox", types=["Person"]))
add("a page behind no cursor", lambda g, _: g.review_page("dates", after="nothing"))
add("a page of no rows", lambda g, _: g.review_page("dates", limit=0))
add("a review of no type", lambda g, _: g.review_page("dates", types=["Persn"]))
add("a review into nothing", lambda g, _: g.review_page("dates", into="nothing"))
add("no review", lambda g, _: g.review_record("draft"))
add("open a review", lambda g, _: g.set_review("dates", "open", "look at the dates"))
add(
    "comment on a row",
    lambda g, _: g.comment_review("dates", "why?", type="Person", id="cy", property="born"),
)
add("ask for changes", lambda g, _: g.set_review("dates", "changes_asked", "too early"))
add("ask for changes without a word", lambda g, _: g.set_review("dates", "changes_asked"))
add("a review without a state", lambda g, _: g.set_review("dates", "done"))
add("a comment on nothing", lambda g, _: g.comment_review("dates", "x", property="born"))
add("a comment without a word", lambda g, _: g.comment_review("dates", " "))
add("a review of main", lambda g, _: g.set_review("main", "open"))
add("approve another commit", lambda g, _: g.set_review("dates", "approved", expect=head(g)))
add("approve", lambda g, _: g.set_review("dates", "approved", expect=head(g, "dates")))
add("the review", lambda g, _: g.review_record("dates"))
add("a merge of another commit", lambda g, _: g.merge("dates", expect_source=head(g)))
add(
    "a merge that is expected",
    lambda g, _: g.merge(
        "dates", resolutions="theirs", expect=head(g), expect_source=head(g, "dates")
    ),
)
add("the review of what is merged", lambda g, _: g.review_record("dates"))
add("a review of nothing", lambda g, _: g.review_record("nothing"))

# Runs
add("begin a run", lambda g, _: g.begin_run(operation_hash="h"))
add("runs", lambda g, _: g.runs())


@operation
def publish_a_run(g: Graph, _: Path) -> object:
    record = g.runs()[0]
    g.branch(record.run_branch).mutate(QUERIES, "add", slug="nia")
    return g.publish_run(record.run_id, message="a run"), g.run_record(record.run_id)


add("abort a run", lambda g, _: g.abort_run(g.begin_run().run_id))
add("fail a run", lambda g, _: g.fail_run(g.begin_run().run_id))
add("no run", lambda g, _: g.run_record(NOBODY))
add("publish it twice", lambda g, _: g.publish_run(g.runs()[-1].run_id))
# Schemas
OTHER = (
    SCHEMA.replace("born: Date?", 'birth: Date? @rename_from("born")').replace(
        "title: String?", 'name: String? @rename_from("title")  size: I32 @default(1)'
    )
    + "node City { slug: String @key }"
)
DROPPED = OTHER.replace("  size: I32 @default(1)", "").replace(
    "node City { slug: String @key }", ""
)
add("plan a schema", lambda g, _: g.plan_schema(OTHER))
add(
    "plan a schema in another order",
    lambda g, _: g.plan_schema(
        SCHEMA.replace(
            "age: I32?", 'first: I32 @default(1)  years: I32? @rename_from("age") @description("y")'
        )
    ),
)
add("plan what cannot be", lambda g, _: g.plan_schema(SCHEMA.replace("age: I32?", "age: String?")))
add(
    "apply what cannot be", lambda g, _: g.apply_schema(SCHEMA.replace("age: I32?", "age: String?"))
)
add("plan a schema that is none", lambda g, _: g.plan_schema("node {"))
add(
    "plan a rule that rows break",
    lambda g, _: g.plan_schema(SCHEMA.replace("age: I32?", "age: I32? @unique")),
)
add(
    "apply a rule that rows break",
    lambda g, _: g.branch().apply_schema(SCHEMA.replace("age: I32?", "age: I32? @unique")),
)
add("apply a schema", lambda g, _: g.branch(message="more").apply_schema(OTHER))
add("apply it again", lambda g, _: g.apply_schema(OTHER))
add("plan a drop", lambda g, _: g.plan_schema(DROPPED))
add("a drop that is not allowed", lambda g, _: g.apply_schema(DROPPED))
add("a drop that is", lambda g, _: g.apply_schema(DROPPED, allow_data_loss=True))
add("plan what was dropped", lambda g, _: g.plan_schema(OTHER))
add("restore it", lambda g, _: g.apply_schema(OTHER))
add("the schema then", lambda g, _: (g.schema, g.catalog, b"".join(g.export(types=["Team"]))))
add("the changes then", lambda g, _: g.diff(list(g.log())[1].id, "main"))
add("changes across schemas", lambda g, _: list(g.changes()))
add("diff across schemas", lambda g, _: g.diff(list(g.log())[-1].id, "main"))
add("blame across schemas", lambda g, _: g.blame("Person", "cy"))
add("changes since nothing", lambda g, _: g.changes(since=NOBODY))
add("changes of no type", lambda g, _: g.changes(types=["Persn"]))
add("diff of no type", lambda g, _: g.diff("main", "inbox", types=["Persn"]))
add("an entity of old", lambda g, _: g.entity_at("node:Person", "ana", 1))

# Maintenance
add("coverage", lambda g, _: g.coverage())
add("coverage of a commit", lambda g, _: g.coverage(head(g)))
add("coverage of no branch", lambda g, _: g.coverage("nothing"))
add("complete the indexes", lambda g, _: g.ensure_indices())
add("optimize", lambda g, _: g.optimize())
add("optimize no branch", lambda g, _: g.optimize("nothing"))
add("a cleanup of nothing", lambda g, _: g.cleanup())
add("a cleanup of no time", lambda g, _: g.cleanup(older_than="soon"))
add("a cleanup of a negative time", lambda g, _: g.cleanup(older_than=timedelta(days=-1)))
add("what a cleanup would remove", lambda g, _: cleaned(g, confirm=False))
add("a cleanup", lambda g, _: cleaned(g, confirm=True))
add("a check", lambda g, _: replace(g.fsck(), files=0))


def cleaned(graph: Graph, *, confirm: bool) -> object:
    """Clean up; of how many files a version is made depends on how its rows came."""
    done = graph.cleanup(keep=1, grace=timedelta(0), confirm=confirm)
    versions = {each.table_key: each.old_versions_removed for each in done.tables}
    return replace(done, tables=(), others=()), versions


add("all that came of it", lambda g, _: (b"".join(g.export()).decode(), list(g.log())))
