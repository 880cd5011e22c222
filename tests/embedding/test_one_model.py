"""A vector property has vectors of one model: what filled it is recorded, others are refused."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import omnigraph
from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.embedding.asked import AskedTexts
from omnigraph.errors import EmbeddingError, EmbeddingModelError, InputError
from tests.embedding.conftest import Asking
from tests.embedding.providers import Provider, failed
from tests.parity.serving import serving

SCHEMA = """
node Doc {
    slug: String @key
    text: String?
    vector: Vector(8)? @embed(text)
    @index(vector)
}
node Note { name: String @key }
"""
NEAREST = """query near($q: String) {
  match { $d: Doc } return { $d.slug as slug } order { nearest($d.vector, $q) } limit 1
}"""
VECTORS = "match { $d: Doc } return { $d.slug as slug, $d.vector as vector }"
MOCK = {"OMNIGRAPH_EMBED_MODEL": "mock"}
OTHER = "openai:other"


@pytest.fixture
def other(asking: Asking) -> dict[str, str]:
    """Variables that choose another model than the mock."""
    return asking.environment(OMNIGRAPH_EMBED_MODEL=OTHER)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    graph = og.init(tmp_path / "g", schema=SCHEMA)
    graph.close()
    opened(tmp_path / "g", MOCK).load([{"slug": "a", "text": "tides"}], type="Doc")
    return tmp_path / "g"


def opened(home: Path, environment: Mapping[str, str]) -> og.Graph:
    return og.open(home, environment=environment)


def vectors(graph: og.Graph) -> dict[object, Any]:
    return {row["slug"]: row["vector"] for row in graph.branch().query(VECTORS).to_dicts()}


def made_by(model: str, environment: Mapping[str, str], text: str) -> list[float]:
    made = embedder_for(model, environment).embed([text], 8, EmbeddingTask.DOCUMENT)
    return [float(each) for each in made[0]]


def test_a_query_by_another_model_is_refused_with_both_names(
    home: Path, other: dict[str, str]
) -> None:
    assert opened(home, MOCK).branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "a"}]
    with pytest.raises(EmbeddingModelError, match=f"made by 'mock'; '{OTHER}'") as refused:
        opened(home, other).branch().query(NEAREST, q="moon")
    assert "omnigraph embed --again" in str(refused.value.hint)


def test_a_load_and_a_mutation_by_another_model_are_refused(
    home: Path, other: dict[str, str], provider: Provider
) -> None:
    graph = opened(home, other)
    before = graph.branch().commit.id
    with pytest.raises(EmbeddingModelError, match="made by 'mock'"):
        graph.load([{"slug": "b", "text": "moon"}], type="Doc")
    with pytest.raises(EmbeddingModelError, match="made by 'mock'"):
        graph.branch().mutate('query add() { insert Doc { slug: "b", text: "moon" } }')
    assert graph.branch().commit.id == before
    assert not provider.received


def test_the_flag_for_the_mock_does_not_mix_its_vectors_with_others(
    tmp_path: Path, other: dict[str, str]
) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).close()
    opened(tmp_path / "g", other).load([{"slug": "a", "text": "tides"}], type="Doc")
    mocked = opened(tmp_path / "g", {**other, "OMNIGRAPH_EMBEDDINGS_MOCK": "1"})
    with pytest.raises(EmbeddingModelError, match=f"made by '{OTHER}'; 'mock'"):
        mocked.branch().query(NEAREST, q="moon")


def test_without_a_choice_the_model_that_filled_the_property_is_used(
    home: Path, asking: Asking, provider: Provider
) -> None:
    graph = opened(home, asking.environment())
    graph.load([{"slug": "b", "text": "moon"}], type="Doc")
    assert graph.branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "b"}]
    assert not provider.received


def test_vectors_that_are_given_are_of_no_known_model(
    tmp_path: Path, other: dict[str, str]
) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).close()
    graph = opened(tmp_path / "g", other)
    graph.load([{"slug": "a", "vector": [1.0] * 8}], type="Doc")
    assert opened(tmp_path / "g", MOCK).branch().query(NEAREST, q="x").to_dicts() == [{"slug": "a"}]


def test_what_was_recorded_survives_optimize_a_schema_change_and_other_writes(
    home: Path, other: dict[str, str]
) -> None:
    graph = opened(home, MOCK)
    graph.branch().mutate('query add() { insert Note { name: "n" } }')
    graph.load([{"slug": "c", "vector": [0.5] * 8}], type="Doc")
    graph.optimize()
    graph.branch().apply_schema(SCHEMA.replace("text: String?", "text: String?\n    size: I64?"))
    with pytest.raises(EmbeddingModelError, match="made by 'mock'"):
        opened(home, other).branch().query(NEAREST, q="moon")


def test_overwriting_all_rows_of_a_type_may_change_the_model(
    home: Path, other: dict[str, str]
) -> None:
    graph = opened(home, other)
    graph.load([{"slug": "z", "text": "moon"}], type="Doc", mode="overwrite")
    assert graph.branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "z"}]
    with pytest.raises(EmbeddingModelError, match=f"made by '{OTHER}'"):
        opened(home, MOCK).branch().query(NEAREST, q="moon")


def test_embed_again_makes_all_vectors_anew_by_the_chosen_model(
    home: Path, other: dict[str, str]
) -> None:
    opened(home, MOCK).load([{"slug": "b", "text": None}], type="Doc")
    graph = opened(home, other)
    done = graph.branch().embed_again()
    assert done.commit is not None
    assert done.commit.message == "make vectors anew"
    found = vectors(graph)
    assert found["b"] is None
    np.testing.assert_allclose(found["a"], made_by(OTHER, other, "tides"), rtol=1e-6)
    assert graph.branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "a"}]
    assert graph.branch().embed_again("Doc").commit is None
    graph.revert(done.commit.id)
    assert opened(home, MOCK).branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "a"}]


def test_embed_again_refuses_rows_whose_vectors_cannot_be_made(
    home: Path, other: dict[str, str]
) -> None:
    opened(home, MOCK).load([{"slug": "b", "vector": [1.0] * 8}], type="Doc")
    graph = opened(home, other)
    before = graph.branch().commit.id
    with pytest.raises(InputError, match="Doc 'b' has a vector in vector and no text in text"):
        graph.branch().embed_again()
    with pytest.raises(InputError, match="no property of Note has @embed"):
        graph.branch().embed_again("Note")
    assert graph.branch().commit.id == before


def test_embed_again_through_a_server_is_the_same(
    home: Path, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    with serving(home) as address:
        with pytest.raises(EmbeddingModelError, match="made by 'mock'"):
            og.connect(address).branch().query(NEAREST, q="moon")
        done = og.connect(address).branch().embed_again("Doc", message="anew")
        assert done.commit is not None
        assert done.commit.message == "anew"
    assert opened(home, other).branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "a"}]


def test_the_command_makes_vectors_anew_and_names_what_does_not_fit(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    run = CliRunner().invoke
    same = run(omnigraph, ["embed", "--again", str(home), "--type", "Doc"])
    assert (same.exit_code, same.output) == (0, "the vectors of 1 row are the same as before\n")
    both = run(omnigraph, ["embed", "--again", str(home), "--clean"])
    assert both.exit_code == 2
    assert "--again and --clean exclude each other" in both.output


def test_branches_with_vectors_of_two_models_do_not_merge(
    home: Path, other: dict[str, str]
) -> None:
    graph = opened(home, other)
    graph.create_branch("draft")
    graph.branch("draft").embed_again()
    opened(home, MOCK).load([{"slug": "b", "text": "moon"}], type="Doc")
    with pytest.raises(
        EmbeddingModelError, match=f"of 'mock' on our side and of '{OTHER}' on theirs"
    ):
        graph.branch().preview_merge("draft")
    with pytest.raises(EmbeddingModelError, match="on our side"):
        graph.branch().merge("draft")
    graph.branch().embed_again()
    graph.branch().merge("draft", resolutions="ours")
    assert graph.branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "b"}]


def test_a_branch_with_another_model_merges_where_nothing_else_changed(
    home: Path, other: dict[str, str]
) -> None:
    graph = opened(home, other)
    graph.create_branch("draft")
    graph.branch("draft").embed_again()
    graph.branch().mutate('query add() { insert Note { name: "n" } }')
    graph.branch().merge("draft")
    assert graph.branch().query(NEAREST, q="moon").to_dicts() == [{"slug": "a"}]
    with pytest.raises(EmbeddingModelError, match=f"made by '{OTHER}'"):
        opened(home, MOCK).branch().query(NEAREST, q="moon")


def test_a_text_is_embedded_once_for_many_queries(
    tmp_path: Path, other: dict[str, str], provider: Provider
) -> None:
    og.init(tmp_path / "g", schema=SCHEMA).close()
    graph = opened(tmp_path / "g", other)
    graph.load([{"slug": "a", "text": "tides"}], type="Doc")
    provider.received.clear()
    for _ in range(3):
        graph.branch().query(NEAREST, q="a text that only this test asks for")
    assert [each.texts for each in provider.received] == [["a text that only this test asks for"]]


def go_on() -> None:
    """Never give up."""


def test_threads_that_ask_at_once_wait_for_one_embedding(
    asking: Asking, provider: Provider
) -> None:
    asked, embedder = AskedTexts(), asking.embedder("text-embedding-3-small")
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: asked.vector(embedder, "moon", 8, go_on), range(32)))
    assert len(provider.received) == 1
    assert all((each == found[0]).all() for each in found)


def test_a_failure_is_not_kept(asking: Asking, provider: Provider) -> None:
    asked, embedder = AskedTexts(), asking.embedder("text-embedding-3-small")
    provider.replies.append(failed(401, "no"))
    with pytest.raises(EmbeddingError):
        asked.vector(embedder, "moon", 8, go_on)
    assert asked.vector(embedder, "moon", 8, go_on).shape == (8,)


def test_what_was_asked_longest_ago_makes_room(asking: Asking, provider: Provider) -> None:
    embedder = asking.embedder("text-embedding-3-small")
    asked = AskedTexts(most_bytes=2 * (8 * 4 + 4))
    for text in ("a", "b", "a", "c", "a", "b"):
        asked.vector(embedder, text, 8, go_on)
    assert [each.texts[0] for each in provider.received] == ["a", "b", "c", "b"]
