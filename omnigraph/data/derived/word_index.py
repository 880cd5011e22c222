"""Word index: the words of a text column, for finding the texts with a word like another."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.storage.finding.texts import words_of

_Positions: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"

# For each byte its lower-case form, and 0 for one that is in no word. Bytes beyond ASCII may be
# part of a letter; only the tokenizer knows.
_SMALL = np.array(
    [ord(chr(byte).lower()) if chr(byte).isalnum() else 0 for byte in range(128)]
    + list(range(128, 256)),
    np.uint8,
)
_BYTES_OF_A_WORD = 64


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The words of some texts as a text index has them, before stemming.

    Texts are cut into pieces at every character that cannot be part of a word. `pieces` holds for
    every word the piece it is part of. `texts` holds the texts of all pieces, one piece after the
    other; `offsets` says where each piece begins.
    """

    words: list[str]
    pieces: _Positions
    offsets: _Positions
    texts: _Positions

    @property
    def nbytes(self) -> int:
        numbers = self.pieces.nbytes + self.offsets.nbytes + self.texts.nbytes
        return numbers + len(self.words) * _BYTES_OF_A_WORD

    def find_similar(self, word: str, edits: int) -> _Positions:
        """Return the places of the texts with a word that is at most `edits` edits away."""
        if not self.words:
            return np.empty(0, np.int32)
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        distances = cdist(
            [word], self.words, scorer=Levenshtein.distance, score_cutoff=edits, dtype=np.uint8
        )
        near = np.unique(self.pieces[distances[0] <= edits])
        spans = zip(self.offsets[near], self.offsets[near + 1], strict=True)
        found = [self.texts[start:end] for start, end in spans]
        return np.concatenate(found) if found else np.empty(0, np.int32)


def index_words(texts: pa.Array) -> WordIndex:
    """Return the words of a column of texts; null has none."""
    pieces, owners = _cut_pieces(texts)
    codes = pieces.indices.to_numpy()
    counts = np.bincount(codes, minlength=len(pieces.dictionary))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    order = np.argsort(codes, kind="stable")
    words, of = _list_words(pieces.dictionary)
    return WordIndex(words, of, offsets.astype(np.int32), owners[order])


def _cut_pieces(texts: pa.Array) -> tuple[pa.DictionaryArray, _Positions]:
    """Return the pieces of texts, ASCII letters in lower case, and the place of each one's text."""
    offsets, data = _text_bytes(texts)
    small = _SMALL[data]
    inside = small > 0
    # A text begins a new piece, even if the text before ended within a word.
    apart = np.zeros(len(data) + 1, bool)
    apart[offsets] = True
    apart[1:] |= ~inside
    starts = np.flatnonzero(inside & apart[:-1])
    apart[:-1] |= ~inside
    ends = np.flatnonzero(inside & apart[1:]) + 1
    bounds = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int32)
    kept = pa.py_buffer(small[inside])
    pieces = pa.StringArray.from_buffers(len(starts), pa.py_buffer(bounds), kept)
    counts = np.diff(np.searchsorted(starts, offsets))
    return pieces.dictionary_encode(), np.repeat(np.arange(len(texts), dtype=np.int32), counts)


def _text_bytes(texts: pa.Array) -> "tuple[np.ndarray, np.ndarray]":
    """Return where each text begins and the last one ends, and the bytes of all texts."""
    known = pa.concat_arrays([texts.fill_null("")])
    if not len(known):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    _, bounds, data = known.buffers()
    offsets = np.frombuffer(bounds, np.int32)[known.offset : known.offset + len(known) + 1]
    if data is None:
        return offsets, np.empty(0, np.uint8)
    return offsets - offsets[0], np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]


def _list_words(pieces: pa.Array) -> tuple[list[str], _Positions]:
    """Return all words of pieces, and the place of the piece of each."""
    plain = np.asarray(pc.string_is_ascii(pieces), bool)
    words = pieces.filter(pa.array(plain)).to_pylist()
    of = np.flatnonzero(plain).tolist()
    for place in np.flatnonzero(~plain).tolist():
        found = words_of(pieces[place].as_py())
        words += found
        of += [place] * len(found)
    return words, np.array(of, np.int32)
