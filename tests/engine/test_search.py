"""Search by words, by likeness and by meaning, as filters and as rankings, on any variable."""

import math
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.embedding import EmbeddingTask
from omnigraph.embedding.mock import MockEmbedder
from omnigraph.errors import ParamsError, QueryError
from omnigraph.read.road import Road
from omnigraph.versioning.writes import DeleteRows
from tests.engine.asking import column, made, pairs, rows
from tests.engine.trial import by_index
from tests.pipeline.loads import edge, node, text
from tests.sample import write

SCHEMA = """
interface Titled { title: String? @index }
node Doc implements Titled {
  slug: String @key  text: String? @index  plain: String?  pages: I32?
  point: Vector(3)?  vector: Vector(16)? @embed("text", model="mock")
}
node Memo implements Titled { slug: String @key  note: String? @index }
node Author { slug: String @key }
edge Wrote: Author -> Doc
edge Cites: Doc -> Doc
"""
TEXTS = {
    "a": "the quick brown fox",
    "b": "quick brown dogs running",
    "c": "lazy dog sleeps",
    "d": "running foxes quickly run",
    "e": None,
    "f": "fox fox fox fox",
    "g": "Café au lait, naïve",
}
POINTS = {
    "a": [1.0, 0.0, 0.0],
    "b": [1.0, 1.0, 0.0],
    "c": [0.0, 1.0, 0.0],
    "d": [2.0, 0.0, 0.0],
    "f": [-1.0, 0.0, 0.0],
    "g": [0.0, 0.0, 0.0],
}
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")


def doc(slug: str, **data: object) -> str:
    return node("Doc", slug=slug, **data)


@pytest.fixture
def docs(tmp_path: Path) -> Graph:
    lines = [
        doc(slug, text=words, pages=at, point=POINTS.get(slug), title=f"title {slug}")
        for at, (slug, words) in enumerate(TEXTS.items())
    ]
    return made(
        tmp_path,
        SCHEMA,
        *lines,
        node("Memo", slug="a", title="a fox", note="brown"),
        node("Author", slug="x"),
        node("Author", slug="y"),
        edge("Wrote", "x", "a"),
        edge("Wrote", "x", "f"),
        edge("Wrote", "y", "b"),
        edge("Wrote", "y", "c"),
        edge("Cites", "a", "f"),
        edge("Cites", "b", "f"),
        edge("Cites", "b", "d"),
    )


@pytest.fixture
def twice(tmp_path: Path) -> Graph:
    """Documents with the same text in a property that has an index and in one that has none."""
    lines = [doc(slug, text=words, plain=words) for slug, words in TEXTS.items()]
    return made(tmp_path, SCHEMA, *lines)


def found(graph: Graph, predicate: str) -> str:
    """Return the slugs of the documents for which a predicate is true, as one word."""
    body = f"match {{ $d: Doc  {predicate} }} return {{ $d.slug }}"
    return "".join(map(str, column(graph, body)))


# Predicates


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("fox", "adf"),
        ("FOX", "adf"),
        ("foxes", "adf"),
        ("run dog", "bcd"),
        ("the", "a"),
        ("cafe NAIVE", "g"),
        ("fo", ""),
        ("zebra", ""),
        ("", ""),
        ("?!", ""),
    ],
)
def test_search_finds_rows_with_any_word_whatever_its_case_and_ending(
    docs: Graph, query: str, slugs: str
) -> None:
    assert found(docs, f'search($d.text, "{query}")') == slugs


@pytest.mark.parametrize(
    ("phrase", "slugs"),
    [
        ("quick brown", "ab"),
        ("brown quick", ""),
        ("quick fox", ""),
        ("Quick BROWN fox", "a"),
        ("fox fox", "f"),
        ("fox", "adf"),
        ("fox zebra", ""),
        ("", ""),
    ],
)
def test_match_text_finds_the_words_of_a_phrase_one_after_the_other(
    docs: Graph, phrase: str, slugs: str
) -> None:
    assert found(docs, f'match_text($d.text, "{phrase}")') == slugs


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ('"foxx"', "adf"),
        ('"fox", 0', "af"),
        ('"FOX", 0', "af"),
        ('"fx", 0', ""),
        ('"fx", 1', "af"),
        ('"quikc", 1', ""),
        ('"quikc", 2', "ab"),
        ('"slep", 1', ""),
        ('"slep", 2', "c"),
        ('"running"', "bd"),
        ('"foxes", 1', "d"),
        ('"CAFE nave", 1', "g"),
        ('"zebra lzy"', "c"),
        ('"zebra"', ""),
        ('"quick", 10', "abcdfg"),
        ('""', ""),
        ('"?!"', ""),
    ],
)
def test_fuzzy_finds_words_within_so_many_edits(docs: Graph, query: str, slugs: str) -> None:
    assert found(docs, f"fuzzy($d.text, {query})") == slugs


@pytest.mark.parametrize(("query", "slugs"), [("runing", "bd"), ("lzy", "c")])
def test_fuzzy_compares_words_and_not_their_stems(docs: Graph, query: str, slugs: str) -> None:
    assert found(docs, f'fuzzy($d.text, "{query}", 1)') == slugs


@pytest.mark.parametrize(
    "predicate",
    [
        'search($d.%s, "fox")',
        'search($d.%s, "FOXES cafe")',
        'match_text($d.%s, "quick brown")',
        'fuzzy($d.%s, "runing", 1)',
        'not search($d.%s, "the")',
        'search($d.%s, "")',
    ],
)
def test_a_text_without_an_index_is_searched_in_the_same_way(twice: Graph, predicate: str) -> None:
    assert found(twice, predicate % "plain") == found(twice, predicate % "text")


def test_a_text_without_an_index_has_the_same_scores(twice: Graph) -> None:
    body = 'match { $d: Doc } return { $d.slug, bm25($d.%s, "fox run") as s } order { s desc }'

    assert rows(twice, body % "plain") == rows(twice, body % "text")
    assert len(rows(twice, body % "plain")) == 4


def test_a_text_without_an_index_is_searched_as_it_is_now(twice: Graph) -> None:
    assert found(twice, 'search($d.plain, "fox")') == "adf"
    lines = [doc("a", plain="a dog"), doc("h", plain="Foxes")]
    twice.load(text(*lines), mode="merge", engine="inline")
    write(twice, {"node:Doc": (DeleteRows(pa.array(["f"])),)})

    assert found(twice, 'search($d.plain, "fox")') == "dh"
    assert found(twice, 'fuzzy($d.plain, "fox", 2)') == "acdh"
    assert found(twice, 'search($d.id, "a h")') == "ah"


def test_texts_of_a_table_without_rows_are_searched_too(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA)

    for predicate in ('search($d.plain, "fox")', 'fuzzy($d.text, "fox")', 'search($d.text, "a")'):
        assert found(graph, predicate) == ""


def test_text_predicates_are_combined_like_any_other(docs: Graph) -> None:
    assert found(docs, 'search($d.text, "fox")  search($d.text, "quick")') == "ad"
    assert found(docs, 'search($d.text, "fox") and search($d.text, "quick")') == "ad"
    assert found(docs, 'search($d.text, "lazy") or match_text($d.text, "fox fox")') == "cf"
    assert found(docs, 'not search($d.text, "fox")') == "bcg"
    assert found(docs, 'not (search($d.text, "fox") or fuzzy($d.text, "lzy"))') == "bg"
    assert found(docs, 'search($d.text, "fox") or $d.pages = 4') == "adef"
    assert found(docs, 'search($d.text, "fox")  $d.pages > 0  fuzzy($d.title, "titl")') == "df"
    assert found(docs, 'not { $d cites $e  search($e.text, "foxes") }') == "cdefg"


def test_text_predicates_work_on_variables_however_they_are_bound(docs: Graph) -> None:
    body = (
        'match { $x: Author  $x wrote $d  $d cites $e  search($e.text, "run") } return { $x.slug }'
    )
    assert column(docs, body) == ["y"]
    both = 'match { $x wrote $d  search($d.text, "fox")  $d.pages > 0 } return { $x.slug, $d.slug }'
    assert rows(docs, both) == [("x", "f")]
    either = 'match { $x: Titled  search($x.title, "fox a") } return { $x.id, $x.title }'
    assert sorted(rows(docs, either)) == [("a", "a fox"), ("a", "title a")]
    maybe = """
        match { $d: Doc  $d.pages < 2  optional { $d cites $e  search($e.text, "run") } }
        return { $d.slug as d, $e.slug as e }
    """
    assert rows(docs, maybe) == [("a", None), ("b", "d")]


def test_a_text_predicate_in_return_is_null_for_a_missing_text(docs: Graph) -> None:
    body = 'match { $d: Doc } return { $d.slug, search($d.text, "fox") as hit }'

    assert pairs(docs, body) == {
        slug: None if words is None else "fox" in words for slug, words in TEXTS.items()
    }


# Rankings by words


def test_bm25_ranks_only_rows_that_match_the_best_first(docs: Graph) -> None:
    body = 'match { $d: Doc } return { $d.slug } order { bm25($d.text, "fox") }'

    assert column(docs, body) == ["f", "a", "d"]
    worst = 'match { $d: Doc } return { $d.slug } order { bm25($d.text, "fox") asc }'
    assert column(docs, worst) == ["a", "d", "f"]


def test_a_score_that_is_only_projected_is_null_where_there_is_none(docs: Graph) -> None:
    body = 'match { $d: Doc } return { $d.slug, bm25($d.text, "fox") as score }'

    found = pairs(docs, body)

    assert {slug for slug, score in found.items() if score is not None} == set("adf")
    ordered = f"{body} order {{ score desc, $d.slug }}"
    assert [slug for slug, _ in rows(docs, ordered)] == ["f", "a", "d"]
    having = f"{body} having {{ score > 0.7 }}"
    assert [slug for slug, _ in rows(docs, having)] == ["f"]


def test_bm25_is_what_its_formula_says(tmp_path: Path) -> None:
    random = Random(7)
    texts = [" ".join(random.choices(WORDS, k=random.randint(1, 9))).split() for _ in range(30)]
    lines = [doc(f"d{at:02}", text=" ".join(words)) for at, words in enumerate(texts)]
    graph = made(tmp_path, SCHEMA, *lines)
    body = 'match { $d: Doc } return { $d.slug, bm25($d.text, "alpha echo") as s } order { s desc }'

    scores = pairs(graph, body)

    for at, words in enumerate(texts):
        expected = sum(_bm25(word, words, texts) for word in ("alpha", "echo"))
        assert scores.get(f"d{at:02}", 0.0) == pytest.approx(expected, rel=1e-5)


def _bm25(word: str, words: list[str], texts: list[list[str]]) -> float:
    """Return the part of a score that one word makes, with k₁ = 1.2 and b = 0.75."""
    having = sum(word in each for each in texts)
    rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    often = words.count(word)
    length = len(words) / (sum(map(len, texts)) / len(texts))
    return rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length))


def test_rankings_come_after_patterns_filters_and_before_the_limit(docs: Graph) -> None:
    body = """
        match { $x: Author { slug: "y" }  $x wrote $d  $d cites $e  $e.slug != "f" }
        return { $e.slug, bm25($e.text, "fox") as score } order { score desc } limit 1
    """

    ((slug, score),) = rows(docs, body)

    assert slug == "d"
    assert isinstance(score, float)
    skipped = 'match { $d: Doc } return { $d.slug } order { bm25($d.text, "fox") } skip 1 limit 1'
    assert column(docs, skipped) == ["a"]


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA, *(doc(slug, text="same words") for slug in "cabed"))
    body = 'match { $d: Doc } return { $d.slug } order { bm25($d.text, "words") } limit 3'

    assert column(graph, body) == ["a", "b", "c"]
    worst = 'match { $d: Doc } return { $d.slug } order { bm25($d.text, "words") asc } limit 3'
    assert column(graph, worst) == ["a", "b", "c"]


# Rankings by meaning


def test_nearest_gives_the_cosine_distance(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    points = generator.normal(size=(60, 3)).astype(np.float32)
    known = {f"d{at:02}": point for at, point in enumerate(points) if at % 7}
    lines = [doc(slug, point=point.tolist()) for slug, point in known.items()]
    graph = made(tmp_path, SCHEMA, *lines, doc("none"))
    wanted = [0.3, -0.2, 0.9]
    body = """
        match { $d: Doc } return { $d.slug, nearest($d.point, $v) as far }
        order { nearest($d.point, $v) } limit 20
    """

    found = rows(graph, body, "$v: Vector(3)", v=wanted)

    expected = {slug: _distance(point, np.array(wanted)) for slug, point in known.items()}
    best = sorted(expected, key=expected.__getitem__)[:20]
    assert [slug for slug, _ in found] == best
    assert [far for _, far in found] == pytest.approx([expected[slug] for slug in best], abs=1e-6)


def _distance(one: "np.ndarray", other: "np.ndarray") -> float:
    one = one.astype(np.float64)
    return float(1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_nearest_orders_the_closest_first_and_drops_rows_without_a_vector(docs: Graph) -> None:
    ranked = """
        match { $d: Doc } return { $d.slug }
        order { nearest($d.point, [1.0, 0.0, 0.0])%s } limit 9
    """

    assert column(docs, ranked % "") == ["a", "d", "b", "c", "f"]
    assert column(docs, ranked % " desc") == ["a", "d", "b", "c", "f"]
    assert column(docs, ranked % " asc") == ["f", "c", "b", "a", "d"]
    alias = """
        match { $d: Doc } return { $d.slug, nearest($d.point, [1.0, 0.0, 0.0]) as far }
        order { far desc } limit 2
    """
    assert [slug for slug, _ in rows(docs, alias)] == ["f", "c"]
    shown = """
        match { $d: Doc } return { $d.slug, nearest($d.point, [1.0, 0.0, 0.0]) as far } limit 9
    """
    nulls = [slug for slug, far in rows(docs, shown) if far is None]
    assert nulls == ["e", "g"]


def test_the_rows_of_a_union_are_as_far_as_those_of_its_reads(docs: Graph) -> None:
    def read(point: str) -> str:
        shown = f"$d.slug as s, nearest($d.point, {point}) as far"
        return f"match {{ $d: Doc }} return {{ {shown} }}"

    points = ("[1.0, 0.0, 0.0]", "[0.0, 1.0, 0.0]")
    both = {row for point in points for row in rows(docs, f"{read(point)} limit 99")}

    asked = " union ".join(map(read, points)) + " order { far desc } limit 99"
    found = rows(docs, asked)

    assert set(found) == both
    assert rows(docs, asked.replace("99", "2")) == found[:2] == [("f", 2.0), ("a", 1.0)]


def test_nearest_gives_as_many_rows_as_the_limit_says_when_there_are_so_many(docs: Graph) -> None:
    body = """
        match { $d: Doc  $d.pages >= 2  not { $_ wrote $d } }
        return { $d.slug } order { nearest($d.point, [1.0, 0.0, 0.0]) } limit 1
    """

    assert column(docs, body) == ["d"]


def test_a_text_is_embedded_by_the_model_of_the_property(docs: Graph) -> None:
    body = """
        match { $d: Doc } return { $d.slug, nearest($d.vector, $q) as far }
        order { nearest($d.vector, $q) } limit 9
    """

    found = rows(docs, body, "$q: String", q="quick brown dogs running")

    known = {slug: words for slug, words in TEXTS.items() if words is not None}
    vectors = MockEmbedder().embed(list(known.values()), 16, EmbeddingTask.DOCUMENT)
    (wanted,) = MockEmbedder().embed(["quick brown dogs running"], 16, EmbeddingTask.QUERY)
    expected = {
        slug: _distance(vector, wanted.astype(np.float64))
        for slug, vector in zip(known, vectors, strict=True)
    }
    assert [slug for slug, _ in found] == sorted(expected, key=expected.__getitem__)
    assert found[0][0] == "b"
    assert [far for _, far in found] == pytest.approx(sorted(expected.values()), abs=1e-6)


def test_equal_vectors_are_equally_far_and_ordered_by_id(tmp_path: Path) -> None:
    schema = "node Doc { slug: String @key  point: Vector(1536)? }"
    point = np.random.default_rng(2).normal(size=1536).astype(np.float32).tolist()
    slugs = [f"d{at:03}" for at in range(150)]
    graph = made(tmp_path, schema, *(doc(slug, point=point) for slug in reversed(slugs)))
    body = """
        match { $d: Doc } return { $d.slug, nearest($d.point, $v) as far } order { far } limit 150
    """

    found = rows(graph, body, "$v: Vector(1536)", v=list(reversed(point)))

    assert [slug for slug, _ in found] == slugs
    assert len({far for _, far in found}) == 1


def test_the_distance_of_a_vector_does_not_depend_on_the_other_rows(tmp_path: Path) -> None:
    schema = "node Doc { slug: String @key  part: I32  point: Vector(100)? }"
    points = np.random.default_rng(4).normal(size=(300, 100)).astype(np.float32)
    lines = [doc(f"d{at:03}", part=at % 60, point=p.tolist()) for at, p in enumerate(points)]
    graph = made(tmp_path, schema, *lines)
    shown = "return { $d.slug, nearest($d.point, $v) as far } limit 300"
    wanted = {"v": points[0].tolist()}

    every = pairs(graph, f"match {{ $d: Doc }} {shown}", "$v: Vector(100)", **wanted)

    assert len(every) == 300
    for part in range(0, 60, 7):
        few = f"match {{ $d: Doc {{ part: {part} }} }} {shown}"
        found = pairs(graph, few, "$v: Vector(100)", **wanted)
        assert len(found) == 5
        assert all(every[slug] == far for slug, far in found.items())


def test_rows_that_are_looked_up_are_as_far_as_in_whole_tables(
    docs: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
        match { $d: Doc { slug: "b" }  $d cites $e }
        return { $e.slug, nearest($e.point, [1.0, 0.5, 0.0]) as far } limit 9
    """
    whole = rows(docs, body)

    roads = by_index(monkeypatch)

    assert rows(docs, body) == whole
    assert roads == [Road.INDEX]


def test_vectors_of_extreme_length_have_a_distance_like_all_others(tmp_path: Path) -> None:
    points = {"a": [3e38, 3e38, 0.0], "b": [1e-38, 0.0, 0.0], "c": [0.0, 3e38, 0.0]}
    graph = made(tmp_path, SCHEMA, *(doc(slug, point=point) for slug, point in points.items()))
    body = "match { $d: Doc } return { $d.slug, nearest($d.point, $v) as far } limit 9"

    for scale in (1e-38, 1.0, 3e38):
        found = pairs(graph, body, "$v: Vector(3)", v=[scale, 0.0, 0.0])
        assert found == pytest.approx({"a": 1 - math.sqrt(0.5), "b": 0.0, "c": 1.0}, abs=1e-6)


def test_a_vector_of_another_length_is_refused_before_anything_is_read(docs: Graph) -> None:
    body = "match { $d: Doc } return { $d.slug } order { nearest($d.point, $v) } limit 1"
    with pytest.raises(ParamsError):
        rows(docs, body, "$v: Vector(3)", v=[1.0, 2.0])
    with pytest.raises(QueryError):
        rows(docs, body, "$v: Vector(4)", v=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(QueryError):
        rows(
            docs, "match { $d: Doc } return { $d.slug } order { nearest($d.point, [1.0]) } limit 1"
        )


@pytest.mark.parametrize("index", ["", " @index"])
@pytest.mark.parametrize(
    "test", ["search($d.text, $q)", "match_text($d.text, $q)", "fuzzy($d.text, $q, 0)"]
)
def test_a_question_with_accents_of_their_own_finds_letters_with_accents(
    tmp_path: Path, index: str, test: str
) -> None:
    schema = f"node Doc {{ slug: String @key  text: String{index} }}"
    graph = made(tmp_path, schema, node("Doc", slug="a", text="na\u00efve"))
    body = f"match {{ $d: Doc  {test} }} return {{ $d.slug }}"

    for asked in ("naive", "na\u00efve", "nai\u0308ve"):
        assert column(graph, body, "$q: String", q=asked) == ["a"]


# Fusion


def test_rrf_adds_the_reciprocal_ranks_of_its_rankings(docs: Graph) -> None:
    fused = 'rrf(bm25($d.text, "fox"), nearest($d.point, [1.0, 0.0, 0.0])%s)'
    by_words, by_point = ["f", "a", "d"], ["a", "d", "b", "c", "f"]

    for given, k in (("", 60), (", 5", 5)):
        shown = f"return {{ $d.slug, {fused % given} as s }}"
        body = f"match {{ $d: Doc }} {shown} order {{ s desc }} limit 9"
        expected = {
            slug: sum(
                1 / (k + ranks.index(slug) + 1) for ranks in (by_words, by_point) if slug in ranks
            )
            for slug in {*by_words, *by_point}
        }
        found = pairs(docs, body)
        assert list(found) == sorted(expected, key=lambda s: (-expected[s], s))
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("k", [2**63 - 1, 2**63 + 5, 2**64 - 1])
def test_the_constant_of_a_fusion_may_be_as_large_as_a_u64(docs: Graph, k: int) -> None:
    fused = 'rrf(bm25($d.text, "fox"), nearest($d.point, [1.0, 0.0, 0.0]), $k) as s'
    body = f"match {{ $d: Doc }} return {{ {fused} }} limit 20"
    scores = {score for score in column(docs, body, "$k: U64", k=k) if score is not None}

    assert scores
    assert scores <= {1 / k, 2 / k}


def test_rrf_ranks_only_what_the_pattern_left(docs: Graph) -> None:
    body = """
        match { $x: Author  $x wrote $d  $d.slug != "f" }
        return { $d.slug, rrf(bm25($d.text, "fox"), nearest($d.point, $v), 1) as s }
        order { rrf(bm25($d.text, "fox"), nearest($d.point, $v), 1) } limit 2
    """

    found = pairs(docs, body, "$v: Vector(3)", v=[0.0, 1.0, 0.0])

    assert list(found) == ["a", "c"]
    assert found == pytest.approx({"a": 1 / 2 + 1 / 4, "c": 1 / 2})


def test_a_node_that_several_rows_reach_has_one_rank(docs: Graph) -> None:
    body = """
        match { $d cites $e }
        return { $d.slug as d, $e.slug as e, rrf(bm25($e.text, "fox"), nearest($e.point, $v)) as s }
        order { s desc } limit 9
    """

    found = rows(docs, body, "$v: Vector(3)", v=[-1.0, 0.0, 0.0])

    assert [row[:2] for row in found] == [("a", "f"), ("b", "f"), ("b", "d")]
    assert [row[2] for row in found] == pytest.approx([2 / 61, 2 / 61, 2 / 62])


# Rows that came later, changed or went


@pytest.fixture
def texts() -> dict[str, str]:
    random = Random(3)
    return {
        f"d{at:02}": " ".join(random.choices(WORDS, k=random.randint(1, 8))) for at in range(40)
    }


def test_rows_that_are_added_later_are_searched_as_if_they_had_been_there(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    lines = [doc(slug, text=words) for slug, words in texts.items()]
    once = made(tmp_path / "once", SCHEMA, *lines)
    later = made(tmp_path / "later", SCHEMA, *lines[:30])
    for at in range(30, 40, 3):
        later.load(text(*lines[at : at + 3]), engine="inline")

    for body in (
        'match { $d: Doc } return { $d.slug, bm25($d.text, "alpha echo") as s } order { s desc }',
        'match { $d: Doc  match_text($d.text, "alpha bravo") } return { $d.slug }',
        'match { $d: Doc  fuzzy($d.text, "brvo") } return { $d.slug }',
        'match { $d: Doc  not search($d.text, "delta") } return { $d.slug }',
    ):
        assert rows(later, body) == rows(once, body)
        assert rows(later, body) == rows(later, body)


def test_rows_that_changed_or_went_are_found_by_what_they_say_now(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    graph = made(tmp_path, SCHEMA, *(doc(slug, text=words) for slug, words in texts.items()))
    before = graph.snapshot().commit.id
    graph.create_branch("draft")
    changed = {slug: f"golf {texts[slug]}" for slug in list(texts)[::4]}
    lines = [doc(slug, text=words) for slug, words in changed.items()]
    graph.load(text(*lines), mode="merge", engine="inline")
    gone = list(texts)[::5]
    write(graph, {"node:Doc": (DeleteRows(pa.array(gone)),)})
    now = {slug: words for slug, words in {**texts, **changed}.items() if slug not in gone}

    body = "match { $d: Doc  search($d.text, $q) } return { $d.slug }"
    for words in ("golf", "alpha", "golf alpha", "zulu"):
        wanted = set(words.split())
        query = f"query q($q: String) {{ {body} }}"
        for view, known in (
            (graph.at(), now),
            (graph.at(before), texts),
            (graph.at("draft"), texts),
        ):
            slugs = [row["d.slug"] for row in view.query(query, q=words)]
            assert slugs == [slug for slug in sorted(known) if wanted & set(known[slug].split())]
    phrase = 'match { $d: Doc  match_text($d.text, "golf alpha") } return { $d.slug }'
    assert column(graph, phrase) == [
        s for s in sorted(now) if f"{now[s]} ".startswith("golf alpha ")
    ]


def test_scores_do_not_depend_on_rows_that_are_no_more_once_a_graph_is_optimized(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    lines = [doc(slug, text=words) for slug, words in texts.items()]
    fresh = made(tmp_path / "fresh", SCHEMA, *lines[::2])
    other = made(tmp_path / "other", SCHEMA, *lines)
    write(other, {"node:Doc": (DeleteRows(pa.array(list(texts)[1::2])),)})
    found = 'match { $d: Doc  search($d.text, "alpha echo") } return { $d.slug }'
    scored = (
        'match { $d: Doc } return { $d.slug, bm25($d.text, "alpha echo") as s } order { s desc }'
    )

    assert rows(other, found) == rows(fresh, found)
    other.optimize()
    assert rows(other, scored) == rows(fresh, scored)
