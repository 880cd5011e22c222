"""Search: which rows match a text, and how rows rank by words, by meaning, or by both."""

from typing import Any, TypeAlias

import numpy as np

from omnigraph.engine.reader import Domain
from omnigraph.engine.rows import Rows
from omnigraph.engine.run import Run
from omnigraph.engine.topology import Numbers
from omnigraph.query.expr import Bm25, Nearest, PropertyRef, Ranking, Rrf, TextFunction, TextMatch
from omnigraph.schema.values import Value
from omnigraph.storage.reading import ADDRESS, SCORE, phrase_matches, word_matches

_Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
_Scores: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

DEFAULT_EDITS = 2


def matching(run: Run, match: TextMatch) -> _Mask:
    """Tell for every row of the field's domain whether its text matches; NONE does not."""
    domain, query = _domain(run, match.field), run.constant(match.query)
    found = np.zeros(len(domain) + 1, bool)
    if not isinstance(query, str):
        return found
    edits = _edits(run, match)
    for name in _types(run, match.field):
        table = run.reader.table(name)
        if match.function is TextFunction.MATCH_TEXT:
            hits = [phrase_matches(table, match.field.property, query)]
        else:
            # With edits Lance compares words as they are given with stems, and would not find
            # the very words that it finds without.
            tried = sorted({0, edits})
            hits = [word_matches(table, match.field.property, query, each) for each in tried]
        for each in hits:
            found[_codes(run, domain, name, each[ADDRESS].to_numpy())] = True
    return found


def _edits(run: Run, match: TextMatch) -> int:
    if match.function is not TextFunction.FUZZY:
        return 0
    given = None if match.edits is None else run.constant(match.edits)
    return given if isinstance(given, int) else DEFAULT_EDITS


def scores(run: Run, ranking: Ranking, rows: Rows) -> _Scores:
    """Give the score of each row; NaN for one that has none."""
    match ranking:
        case Bm25(field, query):
            return _word_scores(run, field, run.constant(query), rows)
        case Nearest(field, query):
            return _distances(run, field, run.constant(query), rows)
        case Rrf(rankings, k):
            constant = run.constant(k)
            assert isinstance(constant, int)
            return _fused(run, rankings, constant, rows)


def _word_scores(run: Run, field: PropertyRef, query: Value | None, rows: Rows) -> _Scores:
    domain, codes = _domain(run, field), rows.codes[_variable(field)]
    found = np.full(len(domain) + 1, np.nan)
    if isinstance(query, str):
        for name in _types(run, field):
            hits = word_matches(run.reader.table(name), field.property, query, 0)
            places = _codes(run, domain, name, hits[ADDRESS].to_numpy())
            found[places] = hits[SCORE].to_numpy()
    return found[codes]


def _distances(run: Run, field: PropertyRef, query: Value | None, rows: Rows) -> _Scores:
    """Give the cosine distance of each row's vector to the one asked for."""
    codes = rows.codes[_variable(field)]
    if query is None:
        return np.full(len(codes), np.nan)
    distinct, inverse = np.unique(codes, return_inverse=True)
    vectors = _domain(run, field).values(field.property, distinct, field.type)
    wanted = run.vector(field, query)
    present = np.asarray(vectors.is_valid(), bool)
    matrix = vectors.drop_null().flatten().to_numpy().reshape(-1, len(wanted))
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    lengths *= np.linalg.norm(wanted)
    found = np.full(len(distinct), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        # The product of BLAS differs with the place of a row, so equal vectors would not tie.
        found[present] = 1.0 - np.einsum("ij,j->i", matrix, wanted, dtype=np.float64) / lengths
    return found[inverse]


def _fused(run: Run, rankings: tuple[Bm25 | Nearest, ...], k: int, rows: Rows) -> _Scores:
    """Give the sum of 1 / (k + rank) over the rankings in which a row has a rank."""
    total = np.zeros(rows.count)
    ranked = np.zeros(rows.count, bool)
    for ranking in rankings:
        found = scores(run, ranking, rows)
        best_first = found if isinstance(ranking, Nearest) else -found
        ranks = _ranks(
            best_first, rows.codes[_variable(ranking.field)], _domain(run, ranking.field)
        )
        has = ranks > 0
        total[has] += 1.0 / (k + ranks[has])
        ranked |= has
    return np.where(ranked, total, np.nan)


def _ranks(values: _Scores, codes: Numbers, domain: Domain) -> Numbers:
    """Give the rank of each row's node among all nodes with a score, from 1; 0 for none.

    The smallest value comes first, and of equal ones the smallest id.
    """
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    value = values[first]
    order = np.lexsort((domain.ranks(distinct), value))
    order = order[~np.isnan(value[order])]
    ranks = np.zeros(len(distinct), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks[inverse]


def _domain(run: Run, field: PropertyRef) -> Domain:
    return run.domains[_variable(field)]


def _types(run: Run, field: PropertyRef) -> list[str]:
    """Give the types of a variable that have the property."""
    types = _domain(run, field).types
    return [name for name in types if run.reader.type_of(name, field.property) == field.type]


def _variable(field: PropertyRef) -> str:
    assert field.variable is not None
    return field.variable


def _codes(run: Run, domain: Domain, name: str, addresses: "np.ndarray") -> Numbers:
    return run.reader.entities(name).at(addresses) + domain.base(name)
