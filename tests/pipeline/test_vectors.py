"""A load makes the vectors that are missing, and pays for each text once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import EmbeddingError
from omnigraph.schema.compile import compile_schema
from omnigraph.storage.store import Store
from omnigraph.write.embed.embed import embed_file
from omnigraph.write.filling import VectorFiller
from omnigraph.write.load.keywords import LoadKeywords
from omnigraph.write.load.loaded import Loaded
from tests.embedding.providers import raw_vector
from tests.pipeline.loads import broken, history, node, rows, text
from tests.pipeline.purse import Purse
from tests.templates import fresh_graph

SCHEMA = """
node Doc { slug: String @key  body: String?  v: Vector(4)? @embed("body") }
node Note { slug: String @key  body: String?  v: Vector(4) @embed("body") }
"""
DOC, NOTE = "node:Doc", "node:Note"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    return fresh_graph(tmp_path / "graph", SCHEMA)


@pytest.fixture
def paying(tmp_path: Path, purse: Purse) -> Graph:
    """A graph whose vectors come from the provider."""
    return fresh_graph(tmp_path / "graph", SCHEMA)


def load(graph: Graph, data: str, **how: Unpack[LoadKeywords]) -> Loaded:
    how.setdefault("engine", "inline")
    return graph.load(data, **how)


def docs(count: int, first: int = 0) -> str:
    numbers = range(first, first + count)
    return text(*(node("Doc", slug=f"d{n:04}", body=f"text {n}") for n in numbers))


def vectors(graph: Graph, key: str = DOC) -> dict[str, list[float] | None]:
    return {row["slug"]: row["v"] for row in rows(graph, key)}


def mocked(body: str) -> list[float]:
    (row,) = embedder_for("mock", {}).embed([body], 4, EmbeddingTask.DOCUMENT)
    return [float(number) for number in row]


def test_only_missing_vectors_are_made(graph: Graph, engine: str) -> None:
    data = text(
        node("Doc", slug="absent", body="one"),
        node("Doc", slug="null", body="two", v=None),
        node("Doc", slug="given", body="three", v=[3, 4, 0, 0]),
        node("Doc", slug="no-text", v=[1, 0, 0, 0]),
        node("Note", slug="required", body="one"),
    )
    load(graph, data, engine=engine)

    assert vectors(graph) == {
        "absent": mocked("one"),
        "null": mocked("two"),
        "given": [3, 4, 0, 0],
        "no-text": [1, 0, 0, 0],
    }
    assert vectors(graph, NOTE) == {"required": mocked("one")}


def test_what_is_made_has_the_length_one_and_is_the_vector_of_its_text(
    paying: Graph, purse: Purse, engine: str
) -> None:
    load(paying, docs(300), engine=engine)

    found = vectors(paying)
    assert purse.paid == len(found) == 300
    for number in range(300):
        raw = np.array(raw_vector(f"text {number}", 4, "none"))
        np.testing.assert_allclose(
            np.array(found[f"d{number:04}"]), raw / np.linalg.norm(raw), rtol=1e-6
        )


@pytest.mark.parametrize("body", [None, "", " ", "\t\n\u2003\x1c"])
def test_a_blank_text_is_no_text(graph: Graph, engine: str, body: str | None) -> None:
    load(graph, text(node("Doc", slug="a", body=body)), engine=engine)
    assert vectors(graph) == {"a": None}

    required = text(node("Note", slug="a", body="fine"), node("Note", slug="b", body=body))
    found = broken(graph, required, engine=engine)
    assert found == ["error[V6]: <text>:2: Note.v: is required"]


def test_texts_are_sent_as_documents(
    tmp_path: Path, purse: Purse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", purse.environment["OPENAI_API_KEY"])
    monkeypatch.setenv("OMNIGRAPH_GEMINI_BASE_URL", f"{purse.provider.url}/v1beta")
    schema = SCHEMA.replace('@embed("body")', '@embed("body", model="gemini-embedding-001")')
    load(init(tmp_path / "graph", schema), docs(1))
    (sent,) = purse.provider.received
    assert sent.body["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"


def test_several_vectors_of_one_row_are_made_each_by_its_own_model(
    tmp_path: Path, purse: Purse
) -> None:
    schema = (
        'node Doc { slug: String @key  body: String  v: Vector(4) @embed("body")\n'
        '  w: Vector(3) @embed("slug", model="mock") }'
    )
    graph = init(tmp_path / "graph", schema)
    load(graph, docs(2))
    assert purse.paid == 2
    assert [len(row["w"]) for row in rows(graph, DOC)] == [3, 3]


def test_what_was_paid_once_is_not_paid_again(
    paying: Graph, purse: Purse, engine: str, tmp_path: Path
) -> None:
    load(paying, docs(200), engine=engine)
    before = vectors(paying)

    load(paying, docs(200), engine=engine, mode="merge")
    load(paying, docs(200), engine=engine, mode="overwrite")

    assert purse.paid == 200
    assert vectors(paying) == before
    assert any((tmp_path / "graph" / "_embeddings").iterdir())


def test_equal_texts_of_one_load_are_paid_once(paying: Graph, purse: Purse) -> None:
    load(paying, text(*(node("Doc", slug=f"d{n}", body="same") for n in range(50))))
    assert purse.paid == 1


def test_a_failing_provider_fails_the_load_and_the_retry_pays_the_rest(
    paying: Graph, purse: Purse, engine: str
) -> None:
    before = history(paying)
    purse.money = 200

    with pytest.raises(EmbeddingError, match="no money left"):
        load(paying, docs(400), engine=engine)
    assert history(paying) == before
    assert vectors(paying) == {}
    assert 100 < purse.paid <= 200

    purse.money = 400 - purse.paid
    load(paying, docs(400), engine=engine)
    assert purse.paid == 400
    assert len(vectors(paying)) == 400


def test_a_load_that_breaks_a_rule_between_rows_is_not_paid_twice(
    paying: Graph, purse: Purse
) -> None:
    broken(paying, docs(100) + docs(1, first=50), engine="inline")
    load(paying, docs(100))
    assert purse.paid <= 100 + 96


def test_a_missing_key_is_named(
    paying: Graph, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    before = history(paying)
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY is not set"):
        load(paying, docs(1), engine=engine)
    assert history(paying) == before


def test_no_model_is_needed_when_no_vector_is_missing(
    paying: Graph, purse: Purse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in purse.environment:
        monkeypatch.delenv(name)
    load(paying, text(node("Doc", slug="a", body="one", v=[1, 2, 3, 4]), node("Doc", slug="b")))
    assert vectors(paying) == {"a": [1, 2, 3, 4], "b": None}


def test_a_dry_run_pays_nothing_and_needs_no_key(
    paying: Graph, purse: Purse, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    loaded = load(
        paying, docs(3) + text(node("Note", slug="a", body="b")), dry_run=True, engine=engine
    )
    assert (loaded.commit, loaded.nodes) == (None, {"Doc": 3, "Note": 1})
    assert purse.provider.received == []


def test_a_row_that_breaks_a_rule_pays_nothing(paying: Graph, purse: Purse) -> None:
    found = broken(paying, docs(3) + text(node("Doc", body="no key")), engine="inline")
    assert found == ["error[V6]: <text>:4: Doc.slug: is required"]
    assert purse.provider.received == []


def test_rows_of_a_parquet_file_get_their_vectors_too(
    graph: Graph, engine: str, tmp_path: Path
) -> None:
    table = pa.table({"slug": ["a", "b"], "body": ["one", None]})
    pq.write_table(table, tmp_path / "docs.parquet")
    graph.load(tmp_path / "docs.parquet", type="Doc", engine=engine)
    assert vectors(graph) == {"a": mocked("one"), "b": None}


def test_an_offline_embed_makes_the_vectors_that_a_load_makes(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(docs(20))
    spec = {"dimension": 4, "types": {"Doc": {"source": "body", "target": "v"}}}
    embed_file(tmp_path / "in", tmp_path / "out", spec, engine="inline")
    load(graph, docs(20))
    made = vectors(graph)

    graph.load(tmp_path / "out", mode="overwrite", engine="inline")

    assert vectors(graph) == made


def filled(store: Path, vectors: Sequence[object], bodies: Sequence[str | None]) -> pa.Array:
    """Return the vectors of a batch after the missing ones were made."""
    stored = compile_schema(SCHEMA).nodes["Doc"]
    batch = pa.record_batch(
        {
            "slug": pa.array(["s"] * len(bodies)),
            "v": pa.array(vectors, pa.list_(pa.float32(), 4)),
            "body": pa.array(bodies, pa.utf8()),
        }
    )
    made = VectorFiller.of(Store(str(store), is_local=True), {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"})
    # A slice has an offset, which the whole batch does not have.
    return made.filled(stored, batch.slice(1))[0]["v"]


def test_vectors_stand_beside_their_own_texts_whatever_is_given_around_them(
    tmp_path: Path,
) -> None:
    one = [1.0, 0.0, 0.0, 0.0]
    given = [one, None, one, None, None, one, None]
    bodies = ["a", "b", "c", None, "d", None, "e"]
    found = filled(tmp_path, given, bodies)
    assert found.to_pylist() == [mocked("b"), one, None, mocked("d"), one, mocked("e")]
    assert found.type == pa.list_(pa.float32(), 4)


@pytest.mark.parametrize("bodies", [["", "b", "c"], ["", None, None]])
def test_batches_without_any_or_with_only_missing_vectors_are_filled(
    tmp_path: Path, bodies: list[str | None]
) -> None:
    found = filled(tmp_path, [None] * 3, bodies)
    assert found.to_pylist() == [None if each is None else mocked(each) for each in bodies[1:]]


def test_keys_are_not_shown() -> None:
    made = VectorFiller.of(Store("/nowhere", is_local=True), {"OPENAI_API_KEY": "sk-secret"})
    assert "sk-secret" not in repr(made)


def test_only_variables_of_embedding_go_to_the_tasks() -> None:
    given = {"OPENAI_API_KEY": "k", "AWS_SECRET_ACCESS_KEY": "s", "PATH": "p"}
    made = VectorFiller.of(Store("/nowhere", is_local=True), given)
    assert json.loads(json.dumps(made.environment)) == [["OPENAI_API_KEY", "k"]]
