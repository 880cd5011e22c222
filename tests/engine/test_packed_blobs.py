"""Blobs are stored as bytes; graphs that have them as text are read and written as before."""

import json
import tarfile
from base64 import b64encode
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.schema import blobs
from omnigraph.schema.blobs import pack, pack_values, unpack
from omnigraph.storage.layout import FORMAT, FRESH
from omnigraph.versioning.manifest.records import stamp_of
from tests.archives import unpack as unpack_archive
from tests.templates import fresh_graph
from tests.versioning.formats import FIXTURES, PACKED, unpacked

SCHEMA = """
node Photo { slug: String @key  title: String?  content: Blob? }
node Note { slug: String @key  text: String? }
"""
PUT = """query put($slug: String, $content: Blob?) {
  insert Photo { slug: $slug, content: $content }
}"""
RENAME = """query rename($slug: String, $title: String?) {
  update Photo set { title: $title } where slug = $slug
}"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "g.omni", SCHEMA)


@pytest.fixture
def old(tmp_path: Path) -> Graph:
    """A graph of release 0.1, whose blobs are text."""
    with tarfile.open(FIXTURES / "blobs-as-text.tar.gz") as archive:
        unpack_archive(archive, tmp_path)
    return open_graph(tmp_path / "graph", durable=False)


def stored(graph: Graph) -> dict[str, bytes | None]:
    """Return what the files of a table hold."""
    rows = graph.snapshot().table("node:Photo").dataset.to_table(["id", "content"]).to_pylist()
    return {row["id"]: row["content"] for row in rows}


def exported(graph: Graph, *place: str) -> list[str]:
    lines = b"".join(graph.at(*place).export()).decode().splitlines()
    return sorted(line for line in lines if '"Photo"' in line)


def stamp(graph: Graph) -> int:
    return stamp_of(graph.repository.manifest.newest())


texts = st.one_of(
    st.binary(max_size=40).map(lambda data: b"base64:" + b64encode(data)),
    st.text("AQBz+/=!é", max_size=14).map(lambda text: f"base64:{text}".encode()),
    st.sampled_from([b"", b"base64:", b"base6", b"s3://b/k", b"base64:AB==", b"base64:AA=="]),
)


@given(values=st.lists(st.none() | texts, max_size=6), cut=st.integers(0, 6))
def test_whatever_text_a_blob_has_comes_back_from_its_stored_form(
    values: list[bytes | None], cut: int
) -> None:
    column = pa.array(values, pa.large_binary()).slice(cut)
    packed = pack(column)
    packed.validate(full=True)

    assert unpack(packed).to_pylist() == values[cut:]
    assert pack(packed).to_pylist() == packed.to_pylist()


@given(content=st.binary(max_size=60))
def test_a_large_content_is_worked_on_piece_by_piece(content: bytes) -> None:
    text = f"base64:{b64encode(content).decode()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blobs, "_PIECE", 8)
        packed = pack_values([content, text, None])
        again = unpack(packed).to_pylist()

    assert packed.to_pylist() == [b"\0" + content] * 2 + [None]
    assert again == [text.encode()] * 2 + [None]


def test_tables_hold_bytes_and_rows_hold_text(graph: Graph) -> None:
    content = bytes(range(256))
    graph.mutate(PUT, slug="bytes", content=content)
    graph.load(
        json.dumps(
            {
                "type": "Photo",
                "data": {"slug": "loaded", "content": f"base64:{b64encode(content).decode()}"},
            }
        )
    )
    graph.mutate(PUT, slug="far", content="s3://bucket/key")
    rows = graph.query("query q() { match { $p: Photo } return { $p.slug as s, $p.content as c } }")

    packed = b"\0" + content
    assert stored(graph) == {"bytes": packed, "loaded": packed, "far": b"s3://bucket/key"}
    text = b"base64:" + b64encode(content)
    assert {row["s"]: row["c"] for row in rows.to_dicts()} == {
        "bytes": text,
        "loaded": text,
        "far": b"s3://bucket/key",
    }


def test_the_format_changes_with_the_first_commit_and_stays_when_heads_are_spilled(
    graph: Graph,
) -> None:
    before = stamp(graph)
    graph.mutate(PUT, slug="a")
    written = stamp(graph)
    manifest = graph.repository.manifest
    manifest.spill(manifest.newest())

    assert (before, written, stamp(graph)) == (FORMAT, FRESH, FRESH)
    assert open_graph(graph.uri).at().blob("Photo", "a", "content") is None


def test_a_stored_graph_of_the_format_has_its_blobs(tmp_path: Path) -> None:
    graph = open_graph(unpacked(PACKED, tmp_path), durable=False)
    blob = graph.at().blob("Photo", "a", "content")

    assert stamp(graph) == PACKED
    assert blob is not None
    assert blob.read() == b"\0\1\2"


def test_blobs_that_are_text_are_read_and_exported_as_they_are(old: Graph) -> None:
    before = exported(old)
    view = old.at()
    contents = {}
    for slug in ("raw", "odd", "empty"):
        blob = view.blob("Photo", slug, "content")
        assert blob is not None
        contents[slug] = blob.read()

    assert contents == {"raw": b"\x00\xff abc", "odd": b"\0", "empty": b""}
    assert stamp(old) == FORMAT
    for slug in ("far", "odd", "raw"):
        old.mutate(RENAME, slug=slug, title="t")
        old.mutate(RENAME, slug=slug, title=None)
    assert exported(old) == before
    assert (stamp(old), stored(old)["raw"]) == (FRESH, b"\0\x00\xff abc")
    assert old.fsck().findings == ()


def test_the_same_content_as_text_and_as_bytes_is_no_change(old: Graph) -> None:
    again = old.mutate(PUT, slug="raw", content=b"\x00\xff abc")
    assert again.commit is None

    old.mutate(RENAME, slug="raw", title="now as bytes")
    found = {each.id: each.changed for each in old.diff("main", "review")}
    assert found == {"new": (), "raw": ("title",)}


def test_branches_merge_when_one_has_text_and_the_other_bytes(old: Graph) -> None:
    old.mutate(RENAME, slug="odd", title="kept")
    old.mutate(PUT, slug="more", content=b"more")
    before = {**stored(old)}
    old.merge("review")

    rows = {row["data"]["slug"]: row["data"] for row in map(json.loads, exported(old))}
    assert rows["raw"]["title"] == "reviewed"
    assert rows["raw"]["content"] == "base64:AP8gYWJj"
    assert rows["odd"]["content"] == "base64:AB=="
    assert rows["new"]["content"] == "base64:bmV3"
    assert rows["more"]["content"] == "base64:bW9yZQ=="
    assert stored(old)["more"] == before["more"] == b"\0more"
