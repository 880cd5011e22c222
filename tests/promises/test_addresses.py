"""A graph has one address: no other spelling of it and no link leads half to another graph."""

from pathlib import Path

import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import StoreError
from omnigraph.storage.store import store_at
from omnigraph.versioning.writes import Append, Upsert
from tests.sample import PERSON, SCHEMA, ages, new_graph, people, write
from tests.standin import Bucket
from tests.stores import BUCKET, Lane


def _relink(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def test_a_handle_stays_with_the_graph_that_a_link_led_to(tmp_path: Path) -> None:
    link, one, two = (tmp_path / name for name in ("current", "one", "two"))
    write(new_graph(one), {PERSON: (Append(people({"ann": 1})),)})
    new_graph(two)
    _relink(link, one)
    old = open_graph(link)

    _relink(link, two)
    new = open_graph(link)
    for graph, name in ((old, "bob"), (new, "dan")):
        write(graph, {PERSON: (Upsert(people({name: 2})),)})
        graph.apply_schema(SCHEMA + f"node {name.title()} {{ name: String @key }}")

    assert (old.uri, new.uri) == (str(one), str(two))
    assert ages(open_graph(one)) == {"ann": 1, "bob": 2}
    assert ages(open_graph(two)) == {"dan": 2}
    for place in (one, two):
        assert open_graph(place).fsck().findings == ()


def test_a_cleanup_through_a_changed_link_removes_nothing_of_the_other_graph(
    tmp_path: Path,
) -> None:
    link, one, two = (tmp_path / name for name in ("current", "one", "two"))
    for place in (one, two):
        graph = new_graph(place)
        for number in range(3):
            write(graph, {PERSON: (Upsert(people({"ann": number})),)})
    _relink(link, one)
    open_graph(link)

    _relink(link, two)
    open_graph(link).cleanup(keep=1, grace="0s", confirm=True)

    left = open_graph(one)
    assert left.fsck().findings == ()
    assert [ages(left, each.id) for each in left.log()] == [
        *({"ann": number} for number in (2, 1, 0)),
        {},
    ]


def test_a_load_through_a_changed_link_reads_the_file_that_is_there_now(tmp_path: Path) -> None:
    graph, link = new_graph(tmp_path / "graph"), tmp_path / "current"
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "people.csv").write_text(f"slug,name\n{name},{name}\n")
        _relink(link, tmp_path / name)
        graph.load(link / "people.csv", type="Person", engine="inline")

    assert [*ages(graph)] == ["ann", "bob"]


def test_a_file_uri_names_the_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    (tmp_path / "8f3a").write_text("slug,name\nann,Ann\n")
    (tmp_path / "people.csv").symlink_to(tmp_path / "8f3a")

    graph.load([(tmp_path / "people.csv").as_uri()], type="Person", engine="inline")

    assert [*ages(graph)] == ["ann"]


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")

    with pytest.raises(StoreError, match="one"):
        store_at(tmp_path / "one" / "graph")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("people?region=eu", r"'\?'"),
        ("people?", r"'\?'"),
        ("team#2", "'#'"),
        ("a\tb", r"'\\t'"),
        ("a%20b", "'%20'"),
        ("a%2Fb", "'%2F'"),
        ("a%2fb", "'%2f'"),
        ("a//b", "empty"),
        ("a/./b", r"'\.'"),
        ("a/../b", r"'\.\.'"),
        ("..", r"'\.\.'"),
        ("people ", "space"),
        ("people /", "space"),
    ],
)
def test_an_address_of_a_bucket_with_another_spelling_is_refused(
    standin: Lane, bucket: Bucket, address: str, found: str
) -> None:
    for use in (open_graph, lambda uri: init(uri, SCHEMA)):
        with pytest.raises(StoreError, match=f"cannot hold.*{found}") as told:
            use(f"s3://{BUCKET}/{address}")
        assert told.value.hint

    assert bucket.objects == {}


@pytest.mark.parametrize("bucket_name", ["user@graphs", "graphs:80", "user:secret@graphs"])
def test_a_bucket_has_its_name_alone(bucket_name: str) -> None:
    with pytest.raises(StoreError, match="in the name of the bucket") as told:
        store_at(f"s3://{bucket_name}/people")

    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["100%", "a b", "a+b=c&d", "ünïcödé", "quo'te\"s", "a:b@c", "[x]*"]
)
def test_any_other_letters_are_taken_as_they_are(standin: Lane, bucket: Bucket, name: str) -> None:
    write(new_graph(f"s3://{BUCKET}/{name}/graph"), {PERSON: (Append(people({"ann": 1})),)})

    assert ages(open_graph(f"s3://{BUCKET}/{name}/graph/")) == {"ann": 1}
    assert {key.partition("/")[0] for key in bucket.objects} == {name}
