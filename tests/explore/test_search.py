"""Search: a text finds nodes by key, by words, by part and by meaning, and says what it missed."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import InputError
from omnigraph.read import hits

SCHEMA = """
node Paper {
  slug: String @key
  title: String @index
  abstract: String? @index
  meaning: Vector(32)? @embed("abstract", model="mock")
}
node Note { text: String  stars: I32? }
node Year { number: I32 @key }
interface Named { name: String }
node Person implements Named { slug: String @key  name: String }
"""
ROWS = """\
{"type": "Paper", "data": {"slug": "p1", "title": "Walking on ice", \
"abstract": "Frozen lakes carry people."}}
{"type": "Paper", "data": {"slug": "p10", "title": "Ice cream", "abstract": "Cold and sweet."}}
{"type": "Paper", "data": {"slug": "p2", "title": "Deserts", \
"abstract": "Sand, and no ice at all."}}
{"type": "Note", "data": {"text": "buy icecream for <b>Ana</b>"}}
{"type": "Year", "data": {"number": 1999}}
{"type": "Person", "data": {"slug": "ana", "name": "Ana of the Ice"}}
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    found = init(tmp_path_factory.mktemp("search") / "g", SCHEMA)
    found.load(ROWS)
    return found


def labels(graph: Graph, text: str, **how: object) -> list[str]:
    return [each.label for each in graph.branch().search(text, **how)]  # type: ignore[arg-type]


def test_the_key_that_was_typed_comes_first_and_longer_ones_follow(graph: Graph) -> None:
    found = graph.branch().search("p1", types=["Paper"])

    assert [each.id for each in found][:2] == ["p1", "p10"]
    assert found[0].key == {"slug": "p1"}
    assert found[0].matched == hits.SearchMatch("slug", "p1")
    assert found[0].score > 10 * found[1].score


def test_a_number_is_found_as_a_key(graph: Graph) -> None:
    found = graph.branch().search("1999")

    assert [(each.type, each.key) for each in found if each.score >= 1] == [
        ("Year", {"number": 1999})
    ]


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("I32", 0, "0"),
        ("Bool", True, "true"),
        ("DateTime", "2024-01-31T12:00:00Z", "2024-01-31T12:00:00.000Z"),
    ],
)
def test_a_key_that_is_no_text_is_shown_as_it_was_typed(
    kind: str, key: object, text: str, tmp_path: Path
) -> None:
    graph = init(tmp_path / "g", f"node Mark {{ at: {kind} @key }}")
    graph.load([{"at": key}], type="Mark")

    found = graph.branch().search(text)

    assert found[0].matched == hits.SearchMatch("at", text)


def test_words_are_found_in_all_their_forms_where_the_schema_indexes_them(graph: Graph) -> None:
    found = graph.branch().search("walk lake", types=["Paper"])

    assert found[0].label == "Walking on ice"
    assert found[0].matched.property in ("title", "abstract")


def test_a_part_of_a_word_is_found_in_any_text(graph: Graph) -> None:
    found = graph.branch().search("cecrea")

    assert found[0].type == "Note"
    assert found[0].key is None
    assert found[0].matched.excerpt == "buy icecream for <b>Ana</b>"


def test_texts_are_found_by_meaning_where_the_schema_makes_vectors_of_them(graph: Graph) -> None:
    """The stand-in for a model gives one text one vector, and others unrelated ones."""
    found = graph.branch().search("Frozen lakes carry people.", types=["Paper"])

    assert found[0].id == "p1"
    assert found.notes == ()


def test_an_interface_stands_for_its_types(graph: Graph) -> None:
    assert labels(graph, "ice", types=["Named"]) == ["Ana of the Ice"]
    with pytest.raises(InputError, match="no node type 'Papr'") as wrong:
        graph.branch().search("ice", types=["Papr"])
    assert wrong.value.hint == "did you mean 'Paper'?"


@pytest.mark.parametrize("text", ["!!!", "%", "a'b\"c", "\\", "(", "ice AND (", "日本", "🧊"])
def test_any_text_can_be_searched_for(graph: Graph, text: str) -> None:
    assert isinstance(graph.branch().search(text), hits.Hits)


def test_no_text_and_too_long_ones_are_refused(graph: Graph) -> None:
    for text in ("", "  ", "x" * 1_001):
        with pytest.raises(InputError, match="1 to 1,000 characters"):
            graph.branch().search(text)


def test_a_search_reads_the_commit_that_it_is_asked_of(graph: Graph) -> None:
    before = graph.at()
    draft = graph.create_branch("draft")
    draft.load('{"type": "Note", "data": {"text": "only in the draft"}}')

    assert [each.label for each in draft.search("only in", types=["Note"])] == ["only in the draft"]
    assert all("draft" not in each.label for each in before.search("only in"))


def test_the_best_hits_are_kept_when_few_are_wanted(graph: Graph) -> None:
    every = labels(graph, "ice")

    assert labels(graph, "ice", limit=2) == every[:2]


def test_without_a_model_words_are_found_and_a_note_says_what_was_not(tmp_path: Path) -> None:
    schema = SCHEMA.replace('model="mock"', 'model="openai/text-embedding-3-small"')
    init(tmp_path / "g", schema)
    graph = open_graph(tmp_path / "g", environment={})
    graph.load('{"type": "Paper", "data": {"slug": "p1", "title": "Ice"}}')

    found = graph.branch().search("ice")

    assert [each.id for each in found] == ["p1"]
    assert len(found.notes) == 1
    assert found.notes[0].startswith("nothing was searched by meaning: ")


def test_of_many_rows_without_an_index_the_first_are_searched_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "MOST_COMPARED", 10)
    graph = init(tmp_path / "g", SCHEMA)
    graph.load([{"text": f"note {number}"} for number in range(40)], type="Note")

    found = graph.branch().search("note")

    assert 0 < len(found) <= 10
    assert "of its 40 rows the first 10 were searched" in found.notes[0]


def test_excerpts_of_long_texts_show_where_the_word_is() -> None:
    text = "x " * 500 + "needle" + " y" * 500

    shown = hits.excerpt(text, "Needle")

    assert "needle" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 200
