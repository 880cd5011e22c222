"""Search: which rows match a text, and how rows rank by words, by meaning, or by both."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.derived.vectors import build_matrix
from omnigraph.data.derived.word_index import WordIndex, index_words
from omnigraph.data.values.columns import to_array
from omnigraph.data.values.equality import Mask
from omnigraph.query.expr import Bm25, Nearest, PropertyRef, Ranking, Rrf, TextFunction, TextMatch
from omnigraph.read.derived_column import derive_column
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.reader import Domain
from omnigraph.schema.values import Value
from omnigraph.storage.finding.nearest import vector_index
from omnigraph.storage.finding.texts import (
    SCORE,
    TextIndex,
    asked_words,
    index_in_memory,
    text_index,
)
from omnigraph.storage.reading import ADDRESS

_Scores: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

DEFAULT_EDITS = 2
# When more than this part of all rows has to be ranked, distances are computed for all of them.
_FEW_OF = 20
# An index of vectors is asked for this many times the wanted rows, so that enough are left of
# those that the query is about; beyond the most, all vectors are compared.
_ASKED_TIMES = 4
_LEAST_ASKED = 100
_MOST_ASKED = 4_000


def match_texts(execution: Execution, match: TextMatch) -> Mask:
    """Return for every row of the field's domain whether its text matches; false for NO_ROW."""
    domain, query = _domain(execution, match.field), execution.constant(match.query)
    found = np.zeros(len(domain) + 1, bool)
    if isinstance(query, str):
        for name in _types_with(execution, match.field):
            found[_find_matches(execution, match, name, query) + domain.offset(name)] = True
    return found


def _find_matches(execution: Execution, match: TextMatch, name: str, query: str) -> Numbers:
    """Return the ordinals of the rows of a type whose text matches."""
    column = match.field.property
    match match.function:
        case TextFunction.SEARCH:
            return _search_index(execution, name, column, lambda index: index.words(query))[0]
        case TextFunction.MATCH_TEXT:
            return _search_index(execution, name, column, lambda index: index.phrase(query))[0]
        case TextFunction.FUZZY:
            return _find_similar(execution, name, column, query, _edits(execution, match))


def _search_index(
    execution: Execution, name: str, column: str, search: Callable[[TextIndex], pa.Table]
) -> tuple[Numbers, pa.Table]:
    """Search the index of a column; return the ordinals of the hits, and their scores."""
    index = text_index(execution.reader.table(name), column)
    if index is None:
        texts = derive_column(execution.reader, name, column, _index_texts)
        found = search(texts.content)
        return texts.ordinals[found[ADDRESS].to_numpy()], found
    found = search(index)
    return execution.reader.numbering(name).at(found[ADDRESS].to_numpy()), found


def _find_similar(execution: Execution, name: str, column: str, query: str, edits: int) -> Numbers:
    """Return the ordinals of the rows with a word like one of the query."""
    vocabulary = derive_column(execution.reader, name, column, _index_words)
    places = [np.empty(0, np.int32)]
    for word in asked_words(query):
        execution.check(0)
        places.append(vocabulary.content.find_similar(word, edits))
    return vocabulary.ordinals[np.concatenate(places)]


def _index_texts(column: pa.ChunkedArray) -> TextIndex:
    return index_in_memory(to_array(column))


def _index_words(column: pa.ChunkedArray) -> WordIndex:
    return index_words(to_array(column))


def _edits(execution: Execution, match: TextMatch) -> int:
    given = None if match.edits is None else execution.constant(match.edits)
    return given if isinstance(given, int) else DEFAULT_EDITS


def score_rows(
    execution: Execution, ranking: Ranking, rows: Matches, first: int | None = None
) -> _Scores:
    """Return the score of each row; NaN for one that has none.

    When only `first` rows are wanted, others may have no score: the nearest vectors of a large
    table come from its index, if it has one.
    """
    match ranking:
        case Bm25(field, query):
            return _score_words(execution, field, execution.constant(query), rows)
        case Nearest(field, query):
            return _score_distances(execution, field, execution.constant(query), rows, first)
        case Rrf(rankings, k):
            constant = execution.constant(k)
            assert isinstance(constant, int)
            # As a float: the sum of k and a rank may be more than 64 bits hold.
            return _fuse(execution, rankings, float(constant), rows)


def _score_words(
    execution: Execution, field: PropertyRef, query: Value | None, rows: Matches
) -> _Scores:
    domain, codes = _domain(execution, field), rows.codes[_variable(field)]
    found = np.full(len(domain) + 1, np.nan)
    if isinstance(query, str):
        for name in _types_with(execution, field):
            places, hits = _search_index(
                execution, name, field.property, lambda index: index.words(query)
            )
            found[places + domain.offset(name)] = hits[SCORE].to_numpy()
    return found[codes]


def _score_distances(
    execution: Execution, field: PropertyRef, query: Value | None, rows: Matches, first: int | None
) -> _Scores:
    """Return the cosine distance of each row's vector to the query's."""
    domain, codes = _domain(execution, field), rows.codes[_variable(field)]
    if query is None:
        return np.full(len(codes), np.nan)
    wanted = execution.vector(field, query)
    if not execution.reader.is_whole or len(codes) * _FEW_OF < len(domain):
        return _measure_few(domain, field, codes, wanted)
    near = None if first is None else _find_near(execution, field, codes, wanted, first)
    if near is not None:
        found = np.full(len(codes), np.nan)
        found[near] = _measure_few(domain, field, codes[near], wanted)
        return found
    found = np.full(len(domain) + 1, np.nan)
    for name in _types_with(execution, field):
        vectors = derive_column(execution.reader, name, field.property, build_matrix)
        found[vectors.ordinals + domain.offset(name)] = vectors.content.distances(wanted)
    return found[codes]


def _measure_few(
    domain: Domain, field: PropertyRef, codes: Numbers, wanted: "np.ndarray"
) -> _Scores:
    distinct, inverse = np.unique(codes, return_inverse=True)
    few = build_matrix(domain.values(field.property, distinct, field.type))
    return few.distances(wanted)[inverse]


def _find_near(
    execution: Execution, field: PropertyRef, codes: Numbers, wanted: "np.ndarray", first: int
) -> Numbers | None:
    """Return the places of rows near a vector, by index; None when that finds too few.

    It does when the query is about few rows, or about rows that are far away.
    """
    asked = max(_ASKED_TIMES * first, _LEAST_ASKED)
    names = _types_with(execution, field)
    indexes = [vector_index(execution.reader.table(name), field.property) for name in names]
    if asked > _MOST_ASKED or not all(indexes):
        return None
    domain = _domain(execution, field)
    found = [
        execution.reader.numbering(name).at(index.nearest(wanted, asked)) + domain.offset(name)
        for name, index in zip(names, indexes, strict=True)
        if index is not None
    ]
    near = np.flatnonzero(np.isin(codes, np.concatenate(found)))
    return near if len(near) >= first else None


def _fuse(
    execution: Execution, rankings: tuple[Bm25 | Nearest, ...], k: float, rows: Matches
) -> _Scores:
    """Return the sum of 1 / (k + rank) over the rankings in which a row has a rank."""
    total = np.zeros(rows.count)
    ranked = np.zeros(rows.count, bool)
    for ranking in rankings:
        found = score_rows(execution, ranking, rows)
        best_first = found if isinstance(ranking, Nearest) else -found
        ranks = _rank_nodes(
            best_first, rows.codes[_variable(ranking.field)], _domain(execution, ranking.field)
        )
        has = ranks > 0
        total[has] += 1.0 / (k + ranks[has])
        ranked |= has
    return np.where(ranked, total, np.nan)


def _rank_nodes(values: _Scores, codes: Numbers, domain: Domain) -> Numbers:
    """Return the rank of each row's node among all nodes with a score, from 1; 0 for none.

    The smallest value ranks first; of equal values, the smallest id.
    """
    if (np.diff(codes) > 0).all():
        return _rank_values(values, domain.ranks(codes))
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return _rank_values(values[first], domain.ranks(distinct))[inverse]


def _rank_values(values: _Scores, ids: Numbers) -> Numbers:
    """Return the rank of each value, from 1; 0 for NaN."""
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known])]
    same = values[order[1:]] == values[order[:-1]]
    # Sorting by two keys takes much longer, so only equal values are sorted again by id.
    tied = np.append(same, False) | np.append(False, same) if len(order) else same
    among = order[tied]
    order[tied] = among[np.lexsort((ids[among], values[among]))]
    places = np.zeros(len(values), np.int64)
    places[order] = np.arange(1, len(known) + 1)
    return places


def _domain(execution: Execution, field: PropertyRef) -> Domain:
    return execution.domains[_variable(field)]


def _types_with(execution: Execution, field: PropertyRef) -> list[str]:
    """Return the types of a variable that have the property."""
    types = _domain(execution, field).types
    return [name for name in types if execution.reader.type_of(name, field.property) == field.type]


def _variable(field: PropertyRef) -> str:
    assert field.variable is not None
    return field.variable
