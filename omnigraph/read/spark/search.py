"""Search: texts and vectors searched by tasks of Spark, their hits joined to rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.window import Window

from omnigraph.data.derived.vectors import build_matrix
from omnigraph.data.derived.word_index import index_words
from omnigraph.frozen import dataclass
from omnigraph.query.expr import (
    Bm25,
    Nearest,
    PropertyRef,
    Rrf,
    TextFunction,
    TextMatch,
)
from omnigraph.query.plan import Rank
from omnigraph.read.execution import Execution
from omnigraph.read.operators.search import DEFAULT_EDITS
from omnigraph.read.spark.frames import SnapshotFrames
from omnigraph.read.spark.matches import ComputedColumn, EntityColumns, FrameMatches, join
from omnigraph.schema.types import F64
from omnigraph.schema.values import Value
from omnigraph.storage.finding.texts import (
    SCORE,
    TextIndex,
    asked_words,
    index_in_memory,
    text_index,
)
from omnigraph.storage.reading import ADDRESS, read_columns, rows_at
from omnigraph.storage.staging import Share, TablePlace, place_of, shares

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FOUND = pa.schema([("id", pa.utf8()), ("type", pa.int32()), ("score", pa.float64())])
_FOUND_SQL = "id string, type int, score double"
_SHARE_ROWS = 100_000


class SearchTask(Protocol):
    """A search over some rows of one type."""

    @property
    def number(self) -> int:
        """The place of the type in the catalog."""

    def search(self) -> Iterator[tuple[pa.Array, "np.ndarray"]]:
        """Yield ids and scores; NaN is no score."""


@dataclass(frozen=True, slots=True)
class WordSearch:
    """The rows with any word of a query, or all as a phrase, by the text index of a column."""

    number: int
    place: TablePlace
    column: str
    query: str
    is_phrase: bool

    def search(self) -> Iterator[tuple[pa.Array, "np.ndarray"]]:
        table = self.place.open()
        index = text_index(table, self.column)
        if index is None:
            rows = read_columns(table, ["id", self.column])
            hits = self._hits(index_in_memory(rows[self.column].combine_chunks()))
            ids = rows["id"].take(hits[ADDRESS])
        else:
            hits = self._hits(index)
            ids = rows_at(table, hits[ADDRESS].to_numpy(), ["id"])["id"]
        yield ids.combine_chunks(), hits[SCORE].to_numpy()

    def _hits(self, index: TextIndex) -> pa.Table:
        return index.phrase(self.query) if self.is_phrase else index.words(self.query)


@dataclass(frozen=True, slots=True)
class FuzzySearch:
    """The rows of a share with a word that is like one of `words`."""

    number: int
    share: Share
    column: str
    words: tuple[str, ...]
    edits: int

    def search(self) -> Iterator[tuple[pa.Array, "np.ndarray"]]:
        for batch in self.share.batches(["id", self.column]):
            vocabulary = index_words(batch[self.column])
            places = [np.empty(0, np.int32)]
            places += [vocabulary.find_similar(word, self.edits) for word in self.words]
            once = np.unique(np.concatenate(places))
            yield batch["id"].take(pa.array(once)), np.zeros(len(once))


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """The rows of a share with the cosine distance of their vectors to another."""

    number: int
    share: Share
    column: str
    vector: tuple[float, ...]

    def search(self) -> Iterator[tuple[pa.Array, "np.ndarray"]]:
        wanted = np.asarray(self.vector, np.float32)
        for batch in self.share.batches(["id", self.column]):
            yield batch["id"], build_matrix(batch[self.column]).distances(wanted)


@dataclass(frozen=True, slots=True)
class FrameSearch:
    """The searches of one query."""

    execution: Execution
    frames: SnapshotFrames

    def match_text(self, matches: FrameMatches, match: TextMatch) -> FrameMatches:
        """Return the rows with a column that is not null where a text matches."""
        query = self.execution.constant(match.query)
        if not isinstance(query, str) or match in matches.found:
            return matches
        found, column = self._join_hits(matches, match.field, self._text_tasks(match, query))
        return replace(found, found={**matches.found, match: column})

    def rank(self, matches: FrameMatches, rank: Rank) -> FrameMatches:
        """Return the rows with a column of scores; rows without one go if the rank restricts."""
        if isinstance(rank.ranking, Rrf):
            matches, score = self._fuse(matches, rank.ranking)
        else:
            matches, column = self._score(matches, rank.ranking)
            score = fn.col(column)
        name = self.frames.names.new()
        columns = {**matches.columns, rank.column: ComputedColumn(F64, name)}
        frame = matches.frame.withColumn(name, score)
        kept = frame.filter(fn.col(name).isNotNull()) if rank.restricts else frame
        return replace(matches, frame=kept, columns=columns)

    def _text_tasks(self, match: TextMatch, query: str) -> list[SearchTask]:
        names, column = self._types(match.field), match.field.property
        if match.function is not TextFunction.FUZZY:
            is_phrase = match.function is TextFunction.MATCH_TEXT
            return [self._word_task(name, column, query, is_phrase=is_phrase) for name in names]
        given = None if match.edits is None else self.execution.constant(match.edits)
        edits = given if isinstance(given, int) else DEFAULT_EDITS
        words = tuple(asked_words(query))
        return [
            FuzzySearch(self._number(name), share, column, words, edits)
            for name in names
            for share in self._shares(name)
        ]

    def _score(self, matches: FrameMatches, ranking: Bm25 | Nearest) -> tuple[FrameMatches, str]:
        query, field = self.execution.constant(ranking.query), ranking.field
        if isinstance(ranking, Bm25):
            names = self._types(field) if isinstance(query, str) else []
            tasks: list[SearchTask] = [
                self._word_task(name, field.property, str(query), is_phrase=False) for name in names
            ]
        else:
            tasks = [] if query is None else self._vector_tasks(field, query)
        return self._join_hits(matches, field, tasks)

    def _vector_tasks(self, field: PropertyRef, query: Value) -> list[SearchTask]:
        vector = tuple(self.execution.vector(field, query).tolist())
        return [
            VectorSearch(self._number(name), share, field.property, vector)
            for name in self._types(field)
            for share in self._shares(name)
        ]

    def _fuse(self, matches: FrameMatches, ranking: Rrf) -> "tuple[FrameMatches, Column]":
        """Return the rows with the ranks of their nodes, and the sum of 1 / (k + rank)."""
        k = self.execution.constant(ranking.k)
        assert isinstance(k, int)
        parts: list[Column] = []
        for each in ranking.rankings:
            matches, rank = self._add_rank(matches, each)
            parts.append(fn.lit(1.0) / (fn.lit(float(k)) + fn.col(rank)))
        total = reduce(add, (fn.coalesce(part, fn.lit(0.0)) for part in parts))
        return matches, fn.when(fn.coalesce(*parts).isNotNull(), total)

    def _add_rank(self, matches: FrameMatches, ranking: Bm25 | Nearest) -> tuple[FrameMatches, str]:
        """Return the rows with the rank of their node among all nodes that have a score."""
        scored, column = self._score(matches, ranking)
        entity = scored.entities[_variable(ranking.field)]
        score = fn.col(column)
        best = score.asc() if isinstance(ranking, Nearest) else score.desc()
        names = self.frames.names.new_list(3)
        once = scored.frame.filter(score.isNotNull()).select(*entity.identity, column).distinct()
        place = fn.row_number().over(Window.orderBy(best, *entity.identity))
        ranks = once.select(*entity.identity, place).toDF(*names)
        on = list(zip(entity.identity, names, strict=False))
        return replace(scored, frame=join(scored.frame, ranks, on, "left")), names[2]

    def _join_hits(
        self, matches: FrameMatches, field: PropertyRef, tasks: Sequence[SearchTask]
    ) -> tuple[FrameMatches, str]:
        """Return the rows with the score of what tasks find, or null."""
        names = self.frames.names.new_list(3)
        entity: EntityColumns = matches.entities[_variable(field)]
        found = self._run_tasks(tasks).toDF(*names)
        on = list(zip(entity.identity, names, strict=False))
        return replace(matches, frame=join(matches.frame, found, on, "left")), names[2]

    def _run_tasks(self, tasks: Sequence[SearchTask]) -> "DataFrame":
        count = len(tasks)
        numbers = self.frames.spark.range(0, count, 1, max(count, 1))
        return numbers.mapInArrow(_Search(tuple(tasks)), _FOUND_SQL)

    def _word_task(self, name: str, column: str, query: str, *, is_phrase: bool) -> WordSearch:
        place = place_of(self.execution.reader.table(name))
        return WordSearch(self._number(name), place, column, query, is_phrase)

    def _shares(self, name: str) -> list[Share]:
        return shares(self.execution.reader.table(name), _SHARE_ROWS)

    def _types(self, field: PropertyRef) -> list[str]:
        """Return the types of a variable that have the property."""
        reader, types = self.execution.reader, self.execution.domains[_variable(field)].types
        return [name for name in types if reader.type_of(name, field.property) == field.type]

    def _number(self, name: str) -> int:
        return self.execution.reader.number(name)


@dataclass(frozen=True, slots=True)
class _Search:
    """Runs the tasks whose numbers come in."""

    tasks: tuple[SearchTask, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._search(self.tasks[number])

    def _search(self, task: SearchTask) -> Iterator[pa.RecordBatch]:
        for ids, scores in task.search():
            known = np.flatnonzero(~np.isnan(scores))
            numbers = pa.array(np.full(len(known), task.number), pa.int32())
            arrays = [ids.take(pa.array(known)), numbers, pa.array(scores[known], pa.float64())]
            yield pa.record_batch(arrays, schema=_FOUND)


def _variable(field: PropertyRef) -> str:
    assert field.variable is not None
    return field.variable
