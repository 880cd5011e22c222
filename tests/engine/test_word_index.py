"""The words of texts are those that a text index has, whatever the texts are made of."""

import sys
from random import Random

import lance
import pyarrow as pa
import pytest
from lance.query import MatchQuery
from rapidfuzz.distance import Levenshtein

from omnigraph.data.derived.word_index import index_words
from omnigraph.storage.finding.texts import words_of
from omnigraph.storage.indexes import TOKENIZER

ODD = [
    "don't U.S.A. re-use x_y 1.5e3 2024-01-02",
    "naïve Äpfel STRASSE straße İstanbul ΣΑΣ ﬁne Œuvre ½ ² ① Ⅷ",
    "日本語 テキスト 한국어 नमस्ते ไทย",
    "😀smile👩‍👩‍👧 a\u0301b a\u200bb so\u00adft x\x00y",
    "x" * 3000 + " ünïcode" * 50,
    "\u2028line\u3000ideographic—dash“quotes”…",
    "",
    " ",
    "!",
    "é",
    "word",
    "Word",
    "same same same",
]
ALPHABET = [chr(code) for code in range(1, 0x250)] + list("ΣςЖя字語かカ한ไ۵٣₂Ⅷ😀\u0301\u200d\u00ad")


def words_in(texts: list[str | None]) -> list[set[str]]:
    """Return the words of each text, as its vocabulary has them."""
    vocabulary = index_words(pa.array(texts, pa.utf8()))
    found: list[set[str]] = [set() for _ in texts]
    for word, piece in zip(vocabulary.words, vocabulary.pieces.tolist(), strict=True):
        start, end = vocabulary.offsets[piece : piece + 2]
        for place in vocabulary.texts[start:end].tolist():
            found[place].add(word)
    return found


def test_odd_texts_have_the_words_of_the_tokenizer() -> None:
    assert words_in([*ODD, None]) == [*(set(words_of(each)) for each in ODD), set()]


def test_texts_of_random_characters_have_the_words_of_the_tokenizer() -> None:
    random = Random(5)
    texts = ["".join(random.choices(ALPHABET, k=random.randint(0, 30))) for _ in range(500)]

    assert words_in(list(texts)) == [set(words_of(each)) for each in texts]


def test_a_character_is_part_of_a_word_or_not_as_the_tokenizer_says() -> None:
    surrogates = range(0xD800, 0xE000)
    texts = [f"a{chr(code)}B" for code in range(sys.maxunicode) if code not in surrogates][::50]

    assert words_in(list(texts)) == [set(words_of(each)) for each in texts]


@pytest.mark.parametrize("odd", ODD)
def test_an_index_without_stems_finds_a_text_by_each_of_its_words(odd: str) -> None:
    dataset = lance.write_dataset(pa.table({"text": [odd, "other"]}), "memory://")
    dataset.create_scalar_index("text", "INVERTED", **{**TOKENIZER, "stem": False})

    # What becomes of "İ" is cut in two when it is read again.
    for word in (each for each in words_of(odd) if words_of(each) == [each]):
        query = MatchQuery(word, "text")
        assert 0 in dataset.to_table(full_text_query=query, with_row_id=True)["_rowid"].to_pylist()


def test_a_slice_of_a_column_has_the_words_of_its_own_texts() -> None:
    column = pa.array(["zero", "one two", None, "Two", "four"]).slice(1, 3)
    vocabulary = index_words(column)

    assert sorted(vocabulary.words) == ["one", "two"]
    assert vocabulary.find_similar("two", 0).tolist() == [0, 2]


@pytest.mark.parametrize("texts", [[], [None], [""], ["", None]])
def test_texts_without_words_have_an_empty_vocabulary(texts: list[str | None]) -> None:
    vocabulary = index_words(pa.array(texts, pa.utf8()))

    assert vocabulary.words == []
    assert vocabulary.find_similar("word", 10).tolist() == []


def test_words_are_alike_by_the_letters_that_have_to_be_changed() -> None:
    random = Random(6)
    texts = ["".join(random.choices("abé", k=random.randint(1, 6))) for _ in range(300)]
    vocabulary = index_words(pa.array(texts))

    for word in texts[:20]:
        for edits in (0, 1, 2, 3):
            near = [
                place
                for place, other in enumerate(texts)
                if Levenshtein.distance(word.replace("é", "e"), other.replace("é", "e")) <= edits
            ]
            assert sorted(vocabulary.find_similar(word.replace("é", "e"), edits).tolist()) == near
