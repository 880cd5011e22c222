"""A load is one commit or nothing, whatever the mode, the files and the engine."""

import gzip
import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    Code,
    InputError,
    ReadOnlyError,
    UnreadableError,
    ViolationsError,
)
from omnigraph.versioning.ulid import is_ulid
from omnigraph.write.counts import RowCounts
from omnigraph.write.load.sources import splits as sources
from tests.pipeline.loads import (
    Heard,
    broken,
    edge,
    engine,
    history,
    node,
    person,
    refused,
    rows,
    text,
    written,
)
from tests.sample import COMPANY, KNOWS, PERSON, WORKS_AT, ages, edges, new_graph

__all__ = ["engine"]

MEBIBYTE = 1 << 20


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def test_append_adds_rows_to_those_that_are_there(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30)), mode="append", engine="inline")

    graph.load(text(person("bob", 31)), mode="append", engine=engine)

    assert ages(graph) == {"ann": 30, "bob": 31}


def test_append_refuses_a_key_that_exists(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    found = broken(graph, text(person("bob"), person("ann", 99)), mode="append", engine=engine)

    assert found == ["error[V12]: <text>:2: Person.id: Person 'ann' exists already"]
    assert ages(graph) == {"ann": 30}
    with pytest.raises(ViolationsError) as refused:
        graph.load(text(person("ann", 99)), engine=engine)
    assert refused.value.render().endswith(
        "1 violation; nothing was written\n   = hint: --mode merge changes rows that exist, "
        '--mode replace writes them whole; in Python, mode="merge" and mode="replace"'
    )
    with pytest.raises(ViolationsError) as other:
        graph.load('{"type": "Person"}', engine=engine)
    assert other.value.hint is None


def test_append_is_the_mode_unless_another_is_given(graph: Graph) -> None:
    loaded = graph.load(text(person("ann", 30)), engine="inline")

    assert str(loaded.mode) == "append"
    assert refused(graph, text(person("ann", 31)), engine="inline").code == Code.EXISTING_KEY


def test_merge_replaces_rows_of_known_keys_and_adds_the_others(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    graph.load(text(person("bob", 32), person("cleo", 33)), mode="merge", engine=engine)

    assert ages(graph) == {"ann": 30, "bob": 32, "cleo": 33}


def test_replace_writes_the_whole_row(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    loaded = graph.load(text(node("Person", slug="ann", name="Ann")), mode="replace", engine=engine)

    assert loaded.counts == RowCounts(updated=1)
    assert rows(graph, PERSON) == [{"id": "ann", "slug": "ann", "name": "Ann", "age": None}]


def test_merge_keeps_what_a_record_does_not_name(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    loaded = graph.load(text(node("Person", slug="ann", name="A")), mode="merge", engine=engine)

    assert loaded.counts == RowCounts(updated=1)
    assert rows(graph, PERSON)[0] == {"id": "ann", "slug": "ann", "name": "A", "age": 30}


def test_merge_clears_what_a_record_sets_to_null(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    given = text(node("Person", slug="ann", age=None), node("Person", slug="bob", name="B"))
    graph.load(given, mode="merge", engine=engine)

    assert ages(graph) == {"ann": None, "bob": 31}


def test_merge_finds_null_and_nothing_different_in_lines_that_need_a_closer_look(
    graph: Graph,
) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    unusual = ' {"data": {"slug": "ann", "age": null}, "type": "Person"}\n'
    graph.load(unusual + text(node("Person", slug="bob")), mode="merge", engine="inline")

    assert ages(graph) == {"ann": None, "bob": 31}


def test_merge_may_leave_out_what_is_required_of_rows_that_are_there(graph: Graph) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    graph.load(text(node("Person", slug="ann", age=31)), mode="merge", engine="inline")

    assert rows(graph, PERSON) == [
        {"id": "ann", "slug": "ann", "name": "ann of the north", "age": 31}
    ]


def test_merge_refuses_a_new_row_without_what_is_required(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    given = text(node("Person", slug="ann", age=31), node("Person", slug="bob", age=32))

    found = broken(graph, given, mode="merge", engine=engine)
    assert found == ["error[V6]: <text>:2: Person.name: is required"]
    assert ages(graph) == {"ann": 30}


def test_merge_refuses_null_for_what_is_required(graph: Graph) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    found = broken(
        graph, text(node("Person", slug="ann", name=None)), mode="merge", engine="inline"
    )

    assert found == ["error[V6]: <text>:1: Person.name: is required"]


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_rows_that_are_so_already_make_no_commit(graph: Graph, engine: str, mode: str) -> None:
    given = text(person("ann", 30), person("bob", 31))
    graph.load(given, engine="inline")
    before = history(graph)

    loaded = graph.load(given, mode=mode, engine=engine)

    assert (loaded.commit, loaded.nodes) == (None, {"Person": 2})
    assert loaded.counts == RowCounts(unchanged=2)
    assert history(graph) == before


def test_a_load_counts_what_is_new_what_changes_and_what_stays(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    given = text(person("ann", 30), person("bob", 32), person("cleo", 33))
    loaded = graph.load(given, mode="merge", engine=engine)

    assert loaded.counts == RowCounts(inserted=1, updated=1, unchanged=1)
    assert loaded.nodes == {"Person": 3}
    shown = loaded.to_json(graph.uri)
    assert [shown[name] for name in ("inserted", "updated", "unchanged")] == [1, 1, 1]


@pytest.mark.parametrize("second", [30, 31])
def test_a_record_that_changes_nothing_may_not_come_twice_either(
    graph: Graph, engine: str, second: int
) -> None:
    graph.load(text(person("ann", 30)), engine="inline")

    given = text(person("ann", 30), person("ann", second))

    found = broken(graph, given, mode="merge", engine=engine)
    assert found == ["error[V11]: <text>:2: Person.id: 'ann' is given already in <text>:1"]
    assert not list(Path(graph.uri, "_aside").rglob("*.parquet"))


def test_merge_keeps_the_ends_of_an_edge_that_only_its_id_names(tmp_path: Path) -> None:
    schema = "node P { k: String @key } edge Knows: P -> P { since: I32?  weight: F64? }"
    graph = init(tmp_path / "g", schema, durable=False)
    first = edge("Knows", "a", "b", id="e", since=1, weight=0.5)
    graph.load(text(node("P", k="a"), node("P", k="b")) + first, engine="inline")

    graph.load('{"edge": "Knows", "data": {"id": "e", "since": 2}}\n', mode="merge")

    (row,) = rows(graph, "edge:Knows")
    assert (row["src"], row["dst"], row["since"], row["weight"]) == ("a", "b", 2, 0.5)


def test_a_default_is_for_new_rows(tmp_path: Path, engine: str) -> None:
    schema = 'node P { k: String @key  kind: String @default("guest")  n: I32? }'
    graph = init(tmp_path / "g", schema, durable=False)
    graph.load(text(node("P", k="a", kind="staff")), engine="inline")

    given = text(node("P", k="a", n=1), node("P", k="b", n=1))
    graph.load(given, mode="merge", engine=engine)

    assert {row["k"]: row["kind"] for row in rows(graph, "node:P")} == {"a": "staff", "b": "guest"}
    graph.load(given, mode="replace", engine=engine)
    assert {row["k"]: row["kind"] for row in rows(graph, "node:P")} == {"a": "guest", "b": "guest"}


def test_merge_reports_a_value_that_a_row_kept_and_another_now_has(tmp_path: Path) -> None:
    schema = "node P { k: String @key  a: I32?  b: I32?  @unique(a, b) }"
    graph = init(tmp_path / "g", schema, durable=False)
    first = text(node("P", k="x", a=1, b=1), node("P", k="y", a=2, b=1))
    graph.load(first, engine="inline")

    found = broken(graph, text(node("P", k="y", a=1)), mode="merge", engine="inline")

    assert found == ["error[V13]: <text>:1: P.a,b: another P has '1, 1' already"]


def test_a_frame_in_merge_mode_keeps_the_columns_that_it_lacks(graph: Graph, engine: str) -> None:
    graph.load(text(person("ann", 30), person("bob", 31)), engine="inline")

    frame = pa.table({"slug": ["ann", "bob"], "age": pa.array([None, 32], pa.int32())})
    graph.load(frame, type="Person", mode="merge", engine=engine)

    assert ages(graph) == {"ann": None, "bob": 32}
    assert [row["name"] for row in rows(graph, PERSON)] == ["ann of the north", "bob of the north"]


def test_a_csv_in_merge_mode_needs_its_key_and_nothing_else(graph: Graph, tmp_path: Path) -> None:
    graph.load(text(person("ann", 30)), engine="inline")
    written(tmp_path / "some.csv", "slug,age", "ann,31")
    written(tmp_path / "keyless.csv", "age", "31")

    graph.load(tmp_path / "some.csv", type="Person", mode="merge", engine="inline")
    found = broken(
        graph, tmp_path / "keyless.csv", type_name="Person", mode="merge", engine="inline"
    )

    assert ages(graph) == {"ann": 31}
    assert found == ["error[V6]: keyless.csv:1: Person.slug: has no column"]


def test_merge_replaces_an_edge_of_the_same_id_and_adds_one_without(graph: Graph) -> None:
    people = text(*map(person, ("ann", "bob", "cleo")))
    graph.load(people + edge("Knows", "ann", "bob", id="first"), engine="inline")

    merged = text(edge("Knows", "ann", "cleo", id="first"), edge("Knows", "bob", "cleo"))
    graph.load(merged, mode="merge", engine="inline")

    assert edges(graph) == {("ann", "cleo"), ("bob", "cleo")}


def test_merge_into_a_type_without_rows_adds_them(graph: Graph) -> None:
    graph.load(text(person("ann", 30)), mode="merge", engine="inline")

    assert ages(graph) == {"ann": 30}


def test_overwrite_replaces_the_types_in_the_data_and_no_other(graph: Graph, engine: str) -> None:
    acme = node("Company", name="Acme")
    graph.load(text(person("ann", 30), person("bob", 31), acme), engine="inline")

    graph.load(text(person("cleo", 33)), mode="overwrite", engine=engine)

    assert ages(graph) == {"cleo": 33}
    assert [row["id"] for row in rows(graph, COMPANY)] == ["Acme"]


def test_a_mode_or_engine_that_does_not_exist_is_refused_with_those_that_do(graph: Graph) -> None:
    with pytest.raises(InputError, match="invalid mode 'upsert'") as mode:
        graph.load(text(person("ann")), mode="upsert")
    with pytest.raises(InputError, match="invalid engine 'flink'") as engine:
        graph.load(text(person("ann")), engine="flink")

    assert mode.value.hint == "expected append, merge, replace, overwrite"
    assert engine.value.hint == "expected auto, spark, inline"


def test_an_edge_may_stand_before_its_nodes(graph: Graph, engine: str) -> None:
    graph.load(text(edge("Knows", "ann", "bob"), person("bob"), person("ann")), engine=engine)

    assert edges(graph) == {("ann", "bob")}


def test_an_edge_may_stand_in_a_file_before_that_of_its_nodes(graph: Graph, tmp_path: Path) -> None:
    first = written(tmp_path / "edges.jsonl", edge("Knows", "ann", "bob"))
    second = written(tmp_path / "nodes.jsonl", person("ann"), person("bob"))

    graph.load([first, second], engine="inline")

    assert edges(graph) == {("ann", "bob")}


def test_one_load_is_one_commit_however_many_types_and_files(
    graph: Graph, tmp_path: Path, engine: str
) -> None:
    before = history(graph)["main"]
    nodes = written(
        tmp_path / "nodes.jsonl", person("ann"), person("bob"), node("Company", name="Acme")
    )
    between = written(
        tmp_path / "edges.jsonl", edge("Knows", "ann", "bob"), edge("WorksAt", "ann", "Acme")
    )

    loaded = graph.load([nodes, str(between)], engine=engine, message="first", actor="ann")

    assert loaded.commit is not None
    assert history(graph)["main"] == [loaded.commit.id, *before]
    assert (loaded.engine, loaded.branch, str(loaded.mode)) == (engine, "main", "append")
    assert loaded.nodes == {"Company": 1, "Person": 2}
    assert loaded.edges == {"Knows": 1, "WorksAt": 1}
    assert (loaded.commit.message, loaded.commit.actor) == ("first", "ann")
    counts = {key: state.row_count for key, state in graph.snapshot().commit.tables.items()}
    assert counts == {PERSON: 2, COMPANY: 1, KNOWS: 1, WORKS_AT: 1}


def test_the_result_for_programs_has_the_documented_keys(graph: Graph) -> None:
    loaded = graph.load(
        text(person("ann"), person("bob"), edge("Knows", "ann", "bob")), engine="inline"
    )

    assert loaded.commit is not None
    assert loaded.to_json(graph.uri) == {
        "uri": graph.uri,
        "branch": "main",
        "mode": "append",
        "engine": "inline",
        "nodes_loaded": 2,
        "edges_loaded": 1,
        "node_types_loaded": 1,
        "edge_types_loaded": 1,
        "inserted": 3,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "commit": loaded.commit.id,
    }


def test_the_files_of_a_pattern_are_loaded_in_their_order(graph: Graph, tmp_path: Path) -> None:
    for number, slug in enumerate(["ann", "bob", "cleo"]):
        written(tmp_path / f"part-{number}.jsonl", person(slug))
    written(tmp_path / "other.jsonl", "not a record")

    graph.load([f"{tmp_path}/part-*.jsonl"], engine="inline")

    assert list(ages(graph)) == ["ann", "bob", "cleo"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(graph: Graph, tmp_path: Path) -> None:
    graph.load(written(tmp_path / "part[1].jsonl", person("ann")), engine="inline")

    assert ages(graph) == {"ann": None}


def test_a_file_named_twice_is_loaded_once(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "people.jsonl", person("ann"))

    loaded = graph.load([path, "people.jsonl", f"{tmp_path}/*.jsonl"], engine="inline")

    assert loaded.nodes == {"Person": 1}


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("missing.jsonl", "cannot read '{}': No such file or directory"),
        ("part-*.jsonl", "no file matches '{}'"),
        ("", "'{}' is a folder"),
    ],
)
def test_what_names_no_file_is_refused(
    graph: Graph, tmp_path: Path, place: str, reason: str
) -> None:
    named = os.path.join(tmp_path, place)  # noqa: PTH118 - keeps the slash of a folder

    with pytest.raises(UnreadableError) as raised:
        graph.load([named], engine="inline")

    assert raised.value.message == reason.format(named)


def test_a_pipe_is_no_file(graph: Graph, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UnreadableError, match="is not a file"):
        graph.load(tmp_path / "pipe", engine="inline")


def test_gzip_of_several_members_is_read_to_its_end(
    graph: Graph, tmp_path: Path, engine: str
) -> None:
    whole = text(*(person(f"p{number}", number) for number in range(1000))).encode()
    members = [whole[:7], whole[7:30_001], b"", whole[30_001:]]
    packed = tmp_path / "people.jsonl.gz"
    packed.write_bytes(b"".join(map(gzip.compress, members)))

    graph.load(packed, engine=engine)

    assert ages(graph) == {f"p{number}": number for number in range(1000)}


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_gzip_that_is_not_sound_is_an_error_and_loads_nothing(
    graph: Graph, tmp_path: Path, damage: str
) -> None:
    sound = gzip.compress(text(*(person(f"p{number}") for number in range(1000))).encode())
    changed = sound[:-8] + bytes(4) + sound[-4:]
    damaged = {"cut": sound[:-100], "changed": changed, "other": b"no gzip at all"}
    packed = tmp_path / "people.gz"
    packed.write_bytes(damaged[damage])
    before = history(graph)

    with pytest.raises(UnreadableError, match=r"people\.gz' is not a valid gzip file"):
        graph.load(packed, engine="inline")

    assert history(graph) == before


def test_a_stream_a_text_and_a_file_give_the_same_rows(tmp_path: Path, engine: str) -> None:
    content = text(person("ann", 30), person("bob"))
    path = written(tmp_path / "people.jsonl", person("ann", 30), person("bob"))
    for number, data in enumerate([content, io.BytesIO(content.encode()), path, [str(path)]]):
        graph = new_graph(tmp_path / f"graph{number}")

        graph.load(data, engine=engine)

        assert ages(graph) == {"ann": 30, "bob": None}
        assert not list(Path(graph.uri, "_aside").rglob("*.jsonl")), "the spool is left behind"


def test_what_was_laid_down_for_a_stream_is_removed_when_it_is_refused(graph: Graph) -> None:
    assert broken(graph, io.BytesIO(b"[]\n"), engine="inline")

    assert not list(Path(graph.uri, "_aside").rglob("*.jsonl"))


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "// nothing\n", "\ufeff", "\r\n"])
def test_nothing_to_load_makes_no_commit(graph: Graph, engine: str, content: str) -> None:
    before = history(graph)

    loaded = graph.load(io.BytesIO(content.encode()), mode="overwrite", engine=engine)

    assert (loaded.commit, loaded.nodes, loaded.edges) == (None, {}, {})
    assert loaded.to_json(graph.uri)["commit"] is None
    assert history(graph) == before


def test_an_empty_file_and_an_empty_list_of_files_make_no_commit(
    graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))

    assert (
        graph.load([tmp_path / "empty.jsonl", tmp_path / "empty.gz"], engine="inline").commit
        is None
    )
    assert graph.load([], engine="inline").commit is None


@pytest.mark.parametrize(
    "content",
    [
        "{ann}\n{bob}\n",
        "{ann}\n{bob}",
        "{ann}\r\n{bob}\r\n",
        "\ufeff{ann}\n{bob}\n",
        "\n\n{ann}\n   \n\t{bob}  \n\n",
        "// people\n{ann}\n  // more of them\n//\n{bob}\n",
    ],
    ids=["plain", "no newline at the end", "CRLF", "BOM", "blank lines", "comments"],
)
def test_line_ends_blank_lines_and_comments_do_not_matter(
    graph: Graph, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "people.jsonl"
    path.write_bytes(content.format(ann=person("ann", 30), bob=person("bob", 31)).encode())

    graph.load(path, engine="inline")

    assert ages(graph) == {"ann": 30, "bob": 31}


def test_every_file_may_begin_with_a_mark_and_no_other_line_may(
    graph: Graph, tmp_path: Path
) -> None:
    first = written(tmp_path / "a.jsonl", "\ufeff" + person("ann"))
    second = written(tmp_path / "b.jsonl", "\ufeff" + person("bob"), "\ufeff" + person("cleo"))

    error = refused(graph, [first, second], engine="inline")

    assert [(each.code, each.line) for each in error.violations] == [(Code.RECORD_SYNTAX, 2)]


@pytest.mark.parametrize(
    "line",
    [
        '{"data":{"name":"Ann","slug":"ann"},"type":"Person"}',
        ' { "type" : "Person" , "data" : { "slug" : "ann" , "name" : "Ann" } } ',
        '{"type": "Person", "data": {"sl\\u0075g": "\\u0061nn", "name": "Ann", "age": null}}',
        '{"t\\u0079pe": "Person", "data": {"slug": "ann", "name": "Ann"}}',
        '{\t"type":\t"Person",\t"data":\t{"slug":\t"ann",\t"name":\t"Ann"}\t}',
    ],
)
def test_a_record_may_be_spelt_in_any_way_that_json_allows(graph: Graph, line: str) -> None:
    graph.load(line, engine="inline")

    assert rows(graph, PERSON) == [{"id": "ann", "slug": "ann", "name": "Ann", "age": None}]


def test_a_line_longer_than_a_block_and_a_split_is_one_line(tmp_path: Path, engine: str) -> None:
    graph = init(tmp_path / "graph", "node Page { slug: String @key  content: String }")
    pages = [node("Page", slug=str(size), content="x" * size) for size in (1, 9 * MEBIBYTE, 3)]
    path = written(tmp_path / "pages.jsonl", *pages[:2], "not a record", pages[2])

    assert broken(graph, path, engine=engine) == [
        "error[V1]: pages.jsonl:3: is not JSON: Expecting value at column 1"
    ]
    graph.load(written(path, *pages), engine=engine)
    sizes = {row["slug"]: len(row["content"]) for row in rows(graph, "node:Page")}
    assert sizes == {slug: int(slug) for slug in sizes}
    assert len(sizes) == 3


@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 101, 1000])
def test_where_blocks_and_splits_are_cut_does_not_matter(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    content = [
        person("ann", 1),
        "",
        "[1]",
        person("é", 2),
        "// x",
        '{"type":"Nobody"}',
        person("b"),
    ]
    path = written(tmp_path / "people.jsonl", *content)
    for name in ("_BLOCK_BYTES", "_LEAST_SPLIT", "_MOST_SPLIT"):
        monkeypatch.setattr(sources, name, size)

    found = refused(graph, path, engine="inline").violations
    good = [line for line in content if line.startswith('{"type": "Person"')]
    graph.load(written(path, *good), engine="inline")

    assert [(each.line, each.code) for each in found] == [
        (3, Code.RECORD_SHAPE),
        (6, Code.RECORD_TYPE),
    ]
    assert ages(graph) == {"ann": 1, "é": 2, "b": None}


def test_a_dry_run_counts_and_checks_everything_and_changes_nothing(
    graph: Graph, engine: str
) -> None:
    graph.load(text(person("ann", 30)), engine="inline")
    before = history(graph)

    loaded = graph.load(text(person("bob")), mode="overwrite", dry_run=True, engine=engine)

    assert (loaded.commit, loaded.nodes) == (None, {"Person": 1})
    assert history(graph) == before
    assert ages(graph) == {"ann": 30}
    assert broken(graph, text(person("ann")), dry_run=True, engine=engine) == [
        "error[V12]: <text>:1: Person.id: Person 'ann' exists already"
    ]


def test_a_load_changes_the_branch_that_is_named_and_no_other(graph: Graph) -> None:
    graph.load(text(person("ann")), engine="inline")
    graph.create_branch("draft")

    loaded = graph.load(text(person("bob")), branch="draft", engine="inline")

    assert loaded.branch == "draft"
    assert (sorted(ages(graph)), sorted(ages(graph, "draft"))) == (["ann"], ["ann", "bob"])


def test_a_branch_that_is_not_there_is_not_made_by_a_load(graph: Graph) -> None:
    with pytest.raises(BranchNotFoundError, match="draft"):
        graph.load(text(person("ann")), branch="draft")

    assert graph.branches() == ["main"]


def test_a_graph_opened_for_reading_takes_no_load(graph: Graph, tmp_path: Path) -> None:
    reader = open_graph(graph.uri, read_only=True)
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(ReadOnlyError):
        reader.load(text(person("ann")), engine="inline")
    with pytest.raises(ReadOnlyError):
        reader.ingest(text(person("ann")), branch="draft", engine="inline")

    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_no_data_at_all_is_refused(graph: Graph) -> None:
    for nothing in (7, [7], None):
        with pytest.raises(InputError, match="cannot be loaded"):
            graph.load(nothing)


def test_a_text_with_half_of_a_surrogate_pair_is_refused_in_our_words(graph: Graph) -> None:
    with pytest.raises(InputError):
        graph.load('{"type": "Company", "data": {"name": "\ud800"}}', engine="inline")


def test_half_of_a_surrogate_pair_where_a_number_is_expected_is_a_violation(
    graph: Graph, engine: str
) -> None:
    row = {"slug": "ann", "name": "Ann", "age": "\ud800"}

    with pytest.raises(ViolationsError, match=r'expected I32, got "\\ud800"') as told:
        graph.load(text(node("Person", **row)), engine=engine)

    assert str(told.value).encode()


def test_an_error_about_a_name_that_cannot_be_written_can_be(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"\\ud800") as told:
        graph.load([{"slug": "ann"}], type="\ud800")

    assert str(told.value).encode()


def test_a_stream_of_text_is_read_by_its_bytes(graph: Graph, tmp_path: Path) -> None:
    with written(tmp_path / "people.jsonl", person("é")).open() as stream:
        graph.load(stream, engine="inline")

    assert ages(graph) == {"é": None}


def test_rows_without_a_key_get_the_id_they_give_or_a_new_one(graph: Graph, engine: str) -> None:
    people = text(person("ann"), person("bob"))
    given = text(edge("Knows", "ann", "bob", id="given"), edge("Knows", "bob", "ann"))

    graph.load(people + given, engine=engine)

    by_end = {row["src"]: row["id"] for row in rows(graph, KNOWS)}
    assert by_end["ann"] == "given"
    assert is_ulid(by_end["bob"])


def test_many_new_ids_are_all_different_and_in_the_order_of_their_lines(graph: Graph) -> None:
    people = [f"p{number}" for number in range(300)]
    lines = [edge("Knows", one, other) for one in people for other in people[:10]]

    graph.load(text(*map(person, people), *lines), engine="inline")

    found = graph.snapshot().table(KNOWS).scan(["id", "src", "dst"]).to_pylist()
    assert len({row["id"] for row in found}) == 3000
    assert [(row["src"], row["dst"]) for row in sorted(found, key=lambda row: row["id"])] == [
        (one, other) for one in people for other in people[:10]
    ]


def test_progress_hears_of_every_stage_and_all_of_its_tasks(graph: Graph, engine: str) -> None:
    heard = Heard()

    graph.load(text(person("ann"), person("bob")), engine=engine, progress=heard)

    assert heard.stages == ["reading", "checking", "indexing", "publishing"]
    assert all(0 <= done <= total for done, total in heard.steps)


def test_both_engines_leave_the_same_graph(tmp_path: Path, engine: str) -> None:
    graph = new_graph(tmp_path / "graph")
    lines = [person(f"p{number}", number) for number in range(500)]
    lines += [
        edge("Knows", f"p{number}", f"p{number // 2}", id=f"k{number}") for number in range(500)
    ]
    path = written(tmp_path / "people.jsonl", *lines)

    graph.load(path, engine=engine)
    graph.load(text(person("p7", 700), person("new", 1)), mode="merge", engine=engine)

    people = [json.loads(line)["data"] for line in lines[:500]]
    people[7]["age"] = 700
    people.append({"slug": "new", "name": "new of the north", "age": 1})
    expected = sorted(({"id": each["slug"], **each} for each in people), key=lambda row: row["id"])
    assert rows(graph, PERSON) == expected
    assert {row["id"]: (row["src"], row["dst"]) for row in rows(graph, KNOWS)} == {
        f"k{number}": (f"p{number}", f"p{number // 2}") for number in range(500)
    }
