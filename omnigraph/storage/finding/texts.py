"""Texts: finds rows by words, in the text index of a table or in one made in memory."""

from unicodedata import normalize

import lance
import pyarrow as pa
from lance import LanceDataset
from lance.query import FullTextQuery, MatchQuery, PhraseQuery

from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.indexes import TOKENIZER, IndexKind, IndexSpec, covers, create_index
from omnigraph.storage.reading import count_bytes
from omnigraph.storage.table import Table

SCORE = "_score"

_MEMORY = "memory://"
_WORDS = {name: value for name, value in TOKENIZER.items() if name not in ("stem", "with_position")}
# Bytes of an index in memory beyond the texts themselves: its words, rows and positions.
_INDEX_SIZE = 3


@dataclass(frozen=True, slots=True)
class TextIndex:
    """The text index of one column; `nbytes` is its size in memory."""

    path: str
    dataset: LanceDataset
    column: str
    nbytes: int = 0

    def words(self, words: str) -> pa.Table:
        """Return address and BM25 score of the rows that contain any of the words."""
        return self._found(MatchQuery(_compose(words), self.column))

    def best(self, words: str, most: int) -> pa.Table:
        """Return address and score of the rows with the best scores for any of the words."""
        return self._found(MatchQuery(_compose(words), self.column), most)

    def phrase(self, phrase: str) -> pa.Table:
        """Return address and score of the rows that contain the words of a phrase in order."""
        return self._found(PhraseQuery(_compose(phrase), self.column))

    def _found(self, query: FullTextQuery, most: int | None = None) -> pa.Table:
        with report_as(f"cannot search {self.path}"):
            scanner = self.dataset.scanner(
                columns=[SCORE], full_text_query=query, with_row_address=True, limit=most
            )
            return count_bytes(scanner.to_table())


def text_index(table: Table, column: str) -> TextIndex | None:
    """Return the text index of a column, or None when there is none that covers all rows."""
    covered = covers(table.dataset, IndexSpec(column, IndexKind.TEXT))
    return TextIndex(table.path, table.dataset, column) if covered else None


def index_in_memory(texts: pa.Array) -> TextIndex:
    """Index texts in memory as a table's index would; the address of a text is its position."""
    spec = IndexSpec("text", IndexKind.TEXT)
    with report_as("cannot index texts in memory"):
        rows = pa.table({spec.column: texts})
        dataset = lance.write_dataset(rows, _MEMORY, max_rows_per_file=max(len(texts), 1))
        create_index(dataset, spec)
    return TextIndex(_MEMORY, dataset, spec.column, texts.nbytes * (1 + _INDEX_SIZE))


def words_of(text: str) -> list[str]:
    """Return the words of a text as an index splits them, before stemming."""
    return [token.text for token in lance.tokenize(text, stem=False, **_WORDS)]


def asked_words(question: str) -> list[str]:
    """Return the different words of a question, before stemming."""
    return list(dict.fromkeys(words_of(_compose(question))))


def _compose(question: str) -> str:
    """Return a question with each letter and its accents as one character.

    The tokenizer ends a word at an accent that is a character of its own, as macOS writes them.
    """
    return normalize("NFC", question)
