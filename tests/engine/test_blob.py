"""Blobs: what is given comes back byte by byte, in ranges, and nothing else touches it."""

import pickle
import tracemalloc
from base64 import b64encode
from pathlib import Path
from random import randbytes

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.errors import InputError, RowNotFoundError, ViolationsError
from omnigraph.read.blob import Blob
from omnigraph.storage.reading import metered
from tests.templates import fresh_graph

SCHEMA = """
node Photo { slug: String @key  title: String?  content: Blob?  thumb: Blob? }
node Page { text: Blob }
node Odd { slug: String @key  raw: Blob?  times: [DateTime]? }
edge Shows: Photo -> Photo { proof: Blob?  @key(src, dst) }
"""
PUT = """query put($slug: String, $content: Blob?, $thumb: Blob?) {
  insert Photo { slug: $slug, content: $content, thumb: $thumb }
}"""
RENAME = """query rename($slug: String, $title: String) {
  update Photo set { title: $title } where slug = $slug
}"""

TITLED = (
    "query titled($slug: String, $title: String) { insert Photo { slug: $slug, title: $title } }"
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "g.omni", SCHEMA)


def stored(graph: Graph) -> dict[str, object]:
    rows = graph.snapshot().table("node:Photo").scan(["id", "content"]).to_pylist()
    return {row["id"]: row["content"] for row in rows}


def found(view: View, *which: str) -> Blob:
    blob = view.blob(*which)
    assert blob is not None
    return blob


@pytest.mark.parametrize("content", [b"", b"a", b"ab", b"abc", bytes(range(256)) * 40])
def test_bytes_come_back_as_they_were_given(graph: Graph, content: bytes) -> None:
    graph.mutate(PUT, slug="raw", content=content)
    graph.mutate(PUT, slug="text", content=f"base64:{b64encode(content).decode()}")

    for slug in ("raw", "text"):
        blob = found(graph.at(), "Photo", slug, "content")
        assert (blob.size, blob.uri) == (len(content), None)
        assert blob.read() == content
        assert b"".join(blob.chunks(7)) == content


@given(content=st.binary(max_size=50), data=st.data())
def test_any_range_is_what_slicing_gives(content: bytes, data: st.DataObject) -> None:
    blob = Blob(None, pa.py_buffer(content))
    offset = data.draw(st.integers(0, 55))
    length = data.draw(st.none() | st.integers(0, 55))
    size = data.draw(st.integers(1, 55))
    expected = content[offset:] if length is None else content[offset : offset + length]

    assert blob.size == len(content)
    assert blob.read(offset, length) == expected
    pieces = list(blob.chunks(size, offset, length))
    assert b"".join(pieces) == expected
    assert all(len(piece) == size for piece in pieces[:-1])
    assert all(0 < len(piece) <= size for piece in pieces)


def test_a_range_of_a_large_blob_copies_no_more_than_the_range() -> None:
    blob = Blob(None, pa.py_buffer(b"ABC" * 4_000_000))

    tracemalloc.start()
    try:
        assert blob.read(6_000_001, 5) == b"BCABC"
        assert sum(len(piece) for piece in blob.chunks(1 << 16)) == 12_000_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1 << 20


def test_null_and_empty_are_kept_apart(graph: Graph) -> None:
    graph.mutate(PUT, slug="null")
    graph.mutate(PUT, slug="empty", content=b"")
    graph.load('{"type": "Photo", "data": {"slug": "loaded", "content": "base64:"}}')
    view = graph.at()

    assert view.blob("Photo", "null", "content") is None
    for slug in ("empty", "loaded"):
        blob = found(view, "Photo", slug, "content")
        assert (blob.size, blob.read(), list(blob.chunks())) == (0, b"", [])
    graph.mutate(PUT, slug="empty")
    assert graph.at().blob("Photo", "empty", "content") is None
    assert view.blob("Photo", "empty", "content") == blob


def test_a_uri_is_a_reference_that_nobody_fetches(graph: Graph) -> None:
    graph.mutate(PUT, slug="far", content="https://example.org/é.png")

    blob = found(graph.at(), "Photo", "far", "content")

    assert (blob.size, blob.uri) == (None, "https://example.org/é.png")
    for take in (blob.read, blob.chunks):
        with pytest.raises(InputError, match=r"refers to https://example\.org/é\.png") as raised:
            take()
        assert raised.value.hint == "fetch it there"


def test_other_changes_leave_a_blob_bit_by_bit_as_it_is(graph: Graph) -> None:
    given: dict[str, object] = {
        "a": b"\x00\xff",
        "b": "base64:AB==",
        "c": "s3://x/y",
        "d": b"",
        "e": None,
    }
    for slug, content in given.items():
        graph.mutate(PUT, slug=slug, content=content)
    before = stored(graph)

    for slug in given:
        graph.mutate(RENAME, slug=slug, title="new")
    graph.mutate('query q() { update Photo set { thumb: "base64:AAEC" } where title = "new" }')
    graph.mutate('query q() { update Photo set { content: "base64:AAEC" } where slug = "a" }')

    assert before["b"] == b"base64:AB=="
    assert stored(graph) == {**before, "a": b"base64:AAEC"}


def test_an_update_to_the_same_blob_is_no_change(graph: Graph) -> None:
    graph.mutate(PUT, slug="a", content=b"abc")
    again = graph.mutate(PUT, slug="a", content="base64:YWJj")

    assert again.commit is None


def test_blobs_of_edges_of_rows_without_a_key_and_of_old_commits_are_found(graph: Graph) -> None:
    graph.mutate(PUT, slug="a")
    first = graph.mutate('query q() { insert Shows { from: "a", to: "a", proof: "base64:AAEC" } }')
    graph.mutate('query q() { insert Page { id: "one", text: "base64:YQ==" } }')
    graph.mutate('query q() { delete Photo where slug = "a" }')
    assert first.commit is not None

    assert found(graph.at(first.commit.id), "Shows", '["a","a"]', "proof").read() == b"\0\1\2"
    assert found(graph.at(), "Page", "one", "text").read() == b"a"
    with pytest.raises(RowNotFoundError, match="no Shows"):
        graph.at().blob("Shows", '["a","a"]', "proof")


def test_a_table_on_which_lance_takes_no_conditions_has_blobs_too(graph: Graph) -> None:
    graph.load('{"type": "Odd", "data": {"slug": "a", "raw": "base64:YQ==", "times": [0]}}')

    assert found(graph.at(), "Odd", "a", "raw").read() == b"a"


@pytest.mark.parametrize(
    ("which", "kind", "told", "hint"),
    [
        (("Phto", "a", "content"), InputError, "no type 'Phto'", "did you mean 'Photo'?"),
        (("Photo", "z", "content"), RowNotFoundError, "no Photo 'z'", None),
        (("Photo", "", "content"), RowNotFoundError, "no Photo ''", None),
        (("Photo", "a", "contnt"), InputError, "Photo has no property 'contnt'", "did you mean 'c"),
        (("Photo", "a", "id"), InputError, "Photo has no property 'id'", None),
        (
            ("Photo", "a", "title"),
            InputError,
            "Photo.title is String, not Blob",
            "read it with a q",
        ),
    ],
)
def test_what_is_no_blob_is_told(
    graph: Graph, which: tuple[str, ...], kind: type[InputError], told: str, hint: str | None
) -> None:
    graph.mutate(PUT, slug="a")

    with pytest.raises(kind) as raised:
        graph.at().blob(*which)

    assert raised.value.message == told
    assert (raised.value.hint or "").startswith(hint or "")
    assert (raised.value.hint is None) == (hint is None)


def test_a_range_that_makes_no_sense_is_refused() -> None:
    blob = Blob(None, pa.py_buffer(b"abc"))
    for offset, length in ((-1, None), (0, -1)):
        with pytest.raises(InputError, match="0 or more"):
            blob.read(offset, length)
    with pytest.raises(InputError, match="at least 1 byte"):
        blob.chunks(0)


@pytest.mark.parametrize("wrong", ["hello", "base64:A", "base64:====", "two words:x"])
def test_what_is_neither_base64_nor_a_uri_is_refused(graph: Graph, wrong: str) -> None:
    with pytest.raises(InputError):
        graph.mutate(PUT, slug="a", content=wrong)
    with pytest.raises(ViolationsError):
        graph.load(f'{{"type": "Photo", "data": {{"slug": "a", "content": "{wrong}"}}}}')


def test_a_blob_is_a_small_value(graph: Graph) -> None:
    blob = Blob(None, pa.py_buffer(b"abc" * 1000))

    assert len(repr(blob)) < 40
    assert pickle.loads(pickle.dumps(blob)) == blob


def test_inserts_do_not_write_earlier_blobs_again(graph: Graph) -> None:
    for number in range(12):
        graph.mutate(PUT, slug=f"photo{number}", content=randbytes(1 << 20))

    folder = Path(graph.uri, graph.snapshot().state("node:Photo").path, "data")
    written = sum(each.stat().st_size for each in folder.iterdir())

    assert len(stored(graph)) == 12
    assert written < 13 << 20


def test_one_of_several_long_texts_is_read_alone(graph: Graph) -> None:
    for number in range(6):
        title = chr(97 + number) * (1 << 20)
        graph.mutate(TITLED, slug=str(number), title=title)

    with metered() as meter:
        rows = graph.query(
            'query q() { match { $p: Photo { slug: "3" } } return { $p.title as title } }'
        )

    assert rows[0]["title"] == "d" * (1 << 20)
    assert meter.bytes < 2 << 20


@pytest.mark.parametrize("content", [b"xyz", b"\xff\x00", b"", "s3://bucket/key", "base64:eHl6"])
def test_a_blob_that_is_given_is_returned_as_one_that_is_stored(
    graph: Graph, content: bytes | str
) -> None:
    graph.mutate(PUT, slug="a", content=content)
    query = """query q($given: Blob) { match { $p: Photo }
      return { $p.content as stored, $given as given, coalesce($p.thumb, $given) as chosen } }"""

    found = graph.query(query, given=content)

    (row,) = found.to_dicts()
    assert row["stored"] == row["given"] == row["chosen"]
    (line,) = found.to_json()
    assert isinstance(line, dict)
    assert line["stored"] == line["given"] == line["chosen"]
