"""Hits: the nodes that a text may mean: by key, by words and by meaning."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_timestamps
from omnigraph.embedding import embedder_for, query_vector
from omnigraph.errors import BudgetError, CancelledError, InputError, Json, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, NodeType, Property, embedded_in
from omnigraph.schema.labels import key_of, label_of, shown_columns
from omnigraph.schema.types import STRING, VectorType
from omnigraph.schema.values import to_json_value
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.finding.nearest import DISTANCE, nearest_rows
from omnigraph.storage.finding.texts import SCORE, text_index, words_of
from omnigraph.storage.reading import (
    ADDRESS,
    first_rows,
    read_with_addresses,
    rows_at,
    rows_where,
)
from omnigraph.storage.table import Table
from omnigraph.syntax.problems import shorten, suggest
from omnigraph.versioning.snapshot import Snapshot

LONGEST_TEXT = 1_000
# Rows of a type whose texts are compared one by one.
MOST_COMPARED = 50_000
_LONGEST_EXCERPT = 160
_BEFORE_MATCH = 40
# Of several rankings, a node gets 1 / (_DAMPING + its rank) for each that it is in.
_DAMPING = 60
# An exact key is what was meant, whatever else was found.
_EXACT = 1.0
_LAST_CHARACTER = "\U0010ffff"
# Further away than a right angle, a text has nothing in common with another.
_UNRELATED = 1.0


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """The property by which a node was found, and the part of it that shows why."""

    property: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A node that was found; of two hits, the one with the greater score is the better one."""

    type: str
    id: str
    key: Mapping[str, Json] | None
    label: str
    score: float
    matched: SearchMatch

    def to_json(self) -> dict[str, Json]:
        """Return the hit as JSON."""
        return {
            "type": self.type,
            "id": self.id,
            "key": None if self.key is None else dict(self.key),
            "label": self.label,
            "score": self.score,
            "matched": {"property": self.matched.property, "excerpt": self.matched.excerpt},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the hit that `to_json` wrote."""
        return cls(**{**document, "matched": SearchMatch(**document["matched"])})


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, best first; `notes` say what could not be searched, and why."""

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, at: int) -> SearchHit:
        return self.hits[at]

    def to_json(self) -> dict[str, Json]:
        """Return the hits as JSON."""
        return {"hits": [each.to_json() for each in self.hits], "notes": [*self.notes]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the hits that `to_json` wrote."""
        hits = tuple(SearchHit.from_json(each) for each in document["hits"])
        return cls(hits, tuple(document["notes"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """A text to search for, in which types, and how many hits are wanted."""

    text: str
    types: tuple[str, ...] = ()
    limit: int = 20


# A node by its type and address, and what was better or worse about it than of others.
_Found = tuple[str, int]


@dataclass(slots=True)
class _Rankings:
    """What is known of the nodes that were found so far."""

    scores: dict[_Found, float] = field(default_factory=dict)
    matched: dict[_Found, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, ranked: Iterable[tuple[_Found, str]], *, exact: bool = False) -> None:
        """Add a ranking, best first, with the property by which each node was found."""
        for rank, (node, name) in enumerate(ranked, 1):
            score = _EXACT if exact else 1 / (_DAMPING + rank)
            self.scores[node] = self.scores.get(node, 0.0) + score
            self.matched.setdefault(node, name)

    def best(self, most: int) -> list[_Found]:
        return sorted(self.scores, key=lambda each: (-self.scores[each], each))[:most]


def search(
    snapshot: Snapshot,
    question: SearchQuestion,
    environment: Mapping[str, str],
    deadline: Deadline,
) -> Hits:
    """Return the nodes that a text may mean, best first.

    Keys are found by their beginning. Words are found in the texts that the schema indexes, and
    meaning in the vectors that it makes of texts. Other texts are compared within a bound.
    """
    if not question.text.strip() or len(question.text) > LONGEST_TEXT:
        raise InputError(f"a search is for 1 to {LONGEST_TEXT:,} characters")
    found = _Rankings()
    types = [
        (each, snapshot.table(each.identity))
        for each in _searched(snapshot.catalog, question.types)
        if snapshot.state(each.identity).row_count
    ]
    for step in (_by_key, _by_words, _by_part):
        deadline.check()
        step(types, question, found, deadline)
    deadline.check()
    _by_meaning(snapshot, types, question, found, environment, deadline)
    nodes = found.best(question.limit)
    return Hits(tuple(_hits(types, question, found, nodes)), tuple(found.notes))


def _searched(catalog: Catalog, names: tuple[str, ...]) -> list[NodeType]:
    """Return the node types that some names mean; without any, all."""
    chosen: dict[str, None] = {}
    for name in names:
        meant = catalog.node_types(name)
        if meant is None:
            hint = suggest(name, [*catalog.nodes, *catalog.interfaces])
            raise InputError(f"no node type '{name}'", hint=hint)
        chosen |= dict.fromkeys(meant)
    return [each for each in catalog.nodes.values() if not names or each.name in chosen]


_Types = list[tuple[NodeType, Table]]


def _by_key(types: _Types, question: SearchQuestion, found: _Rankings, deadline: Deadline) -> None:
    """Find the nodes whose ids are the text, or begin with it."""
    text = question.text.strip()
    for stored, table in types:
        deadline.check()
        for beginning in dict.fromkeys((text, text.casefold())):
            end = beginning + _LAST_CHARACTER
            where = (pc.field("id") >= beginning) & (pc.field("id") <= end)
            rows = _limited(table, where, question.limit)
            ids = {str(each): int(at) for each, at in zip(rows["id"], rows[ADDRESS], strict=True)}
            exact = [each for each in ids if each == beginning]
            name = stored.key[0] if stored.key else "id"
            found.add([((stored.name, ids[each]), name) for each in exact], exact=True)
            rest = sorted(each for each in ids if each != beginning)
            found.add([((stored.name, ids[each]), name) for each in rest])


def _limited(table: Table, where: pc.Expression, most: int) -> pa.Table:
    """Return id and address of some rows that meet a condition."""
    schema = pa.schema([("id", pa.utf8()), (ADDRESS, pa.uint64())])
    if not table.takes_conditions:
        rows = read_with_addresses(table, ["id"])
        some = rows.filter(where).slice(0, most)
        return some.select(schema.names)
    return rows_where(table, ["id"], where, most).select(schema.names)


def _by_words(
    types: _Types, question: SearchQuestion, found: _Rankings, deadline: Deadline
) -> None:
    """Rank the nodes by the words that indexed texts share with the question."""
    best: dict[_Found, tuple[float, str]] = {}
    for stored, table in types:
        for name in _texts(stored):
            deadline.check()
            index = text_index(table, name) if _is_indexed(stored, name) else None
            if index is None:
                continue
            rows = index.best(question.text, _asked(question))
            for at, score in zip(rows[ADDRESS].to_pylist(), rows[SCORE].to_pylist(), strict=True):
                node = (stored.name, at)
                best[node] = max(best.get(node, (0.0, name)), (score, name))
    ranked = sorted(best, key=lambda each: (-best[each][0], each))
    found.add((each, best[each][1]) for each in ranked)


def _by_part(types: _Types, question: SearchQuestion, found: _Rankings, deadline: Deadline) -> None:
    """Find the nodes that have the text in one of their own, also within a word.

    A type with more rows than are compared one by one is found by its indexes; without any,
    only its first rows are looked at, which a note tells.
    """
    for stored, table in types:
        names = _texts(stored)
        is_indexed = any(_is_indexed(stored, name) for name in names)
        rows = table.count()
        if not names or (is_indexed and rows > MOST_COMPARED):
            continue
        if rows > MOST_COMPARED:
            found.notes.append(
                f"{stored.name} has no text that is indexed: of its {rows:,} rows the first"
                f" {MOST_COMPARED:,} were searched"
            )
        found.add(_parts(stored.name, table, names, question, deadline))


def _parts(
    type_name: str, table: Table, names: list[str], question: SearchQuestion, deadline: Deadline
) -> list[tuple[_Found, str]]:
    """Return the rows with the text in one of their own; a text that begins with it is better."""
    wanted = question.text.strip()
    better: list[tuple[_Found, str]] = []
    rest: list[tuple[_Found, str]] = []
    for part in first_rows(table, names, MOST_COMPARED):
        deadline.check()
        for name in names:
            has = pc.match_substring(part[name], wanted, ignore_case=True)
            begins = pc.starts_with(part[name], wanted, ignore_case=True)
            for kind, mask in ((better, begins), (rest, pc.and_not(has, begins))):
                # A text that is null is in neither.
                places = part[ADDRESS].filter(mask).to_pylist()
                kind += [((type_name, at), name) for at in places[: _asked(question)]]
        if len(better) >= _asked(question):
            break
    return list(dict(reversed([*better, *rest])).items())[::-1][: _asked(question)]


def _by_meaning(
    snapshot: Snapshot,
    types: _Types,
    question: SearchQuestion,
    found: _Rankings,
    environment: Mapping[str, str],
    deadline: Deadline,
) -> None:
    """Rank the nodes by how near the vectors of their texts are to that of the question."""
    near: dict[_Found, tuple[float, str]] = {}
    for stored, table in types:
        for item in embedded_in(stored):
            filled_by = dict(snapshot.models(stored.identity)).get(item.identity)
            wanted = _vector(item, question.text, environment, filled_by, found, deadline)
            if wanted is None or item.embed is None:
                continue
            rows = nearest_rows(table, item.name, wanted, _asked(question))
            for at, distance in zip(
                rows[ADDRESS].to_pylist(), rows[DISTANCE].to_pylist(), strict=True
            ):
                if distance is not None and distance < _UNRELATED:
                    node, source = (stored.name, at), item.embed.source
                    near[node] = min(near.get(node, (distance, source)), (distance, source))
    ranked = sorted(near, key=lambda each: (near[each][0], each))
    found.add((each, near[each][1]) for each in ranked)


def _vector(
    item: Property,
    text: str,
    environment: Mapping[str, str],
    filled_by: str | None,
    found: _Rankings,
    deadline: Deadline,
) -> "np.ndarray | None":
    """Return the vector of the question for a property; None, with a note, when none can be had."""
    assert item.embed is not None
    assert isinstance(item.type, VectorType)
    try:
        embedder = embedder_for(item.embed.model, environment, filled_by=filled_by)
        return query_vector(embedder, text, item.type.dimension, deadline.check)
    except (BudgetError, CancelledError):
        raise
    except OmniGraphError as failed:
        note = f"nothing was searched by meaning: {failed.message}"
        found.notes += [] if note in found.notes else [note]
        return None


def _hits(
    types: _Types, question: SearchQuestion, found: _Rankings, nodes: list[_Found]
) -> Iterator[SearchHit]:
    """Yield hits in the order of their nodes; the rows of each type are read together."""
    rows: dict[_Found, Mapping[str, Any]] = {}
    stored_types = {stored.name: stored for stored, _ in types}
    for stored, table in types:
        places = np.array(sorted(at for name, at in nodes if name == stored.name), np.uint64)
        if len(places):
            columns = ["id", *shown_columns(stored)]
            read = with_timestamps(rows_at(table, places, columns)).to_pylist()
            rows |= {(stored.name, int(at)): row for at, row in zip(places, read, strict=True)}
    for node in nodes:
        stored, row, name = stored_types[node[0]], rows[node], found.matched[node]
        key = key_of(stored, row)
        yield SearchHit(
            stored.name,
            str(row["id"]),
            None if key is None else {each: to_json_value(value) for each, value in key.items()},
            label_of(stored, row),
            round(found.scores[node], 6),
            SearchMatch(name, excerpt(_as_text(row[name]), question.text)),
        )


def _as_text(value: object) -> str:
    """Return a value as it is written in an id."""
    shown = to_json_value(value)
    if shown is None:
        return ""
    return shown if isinstance(shown, str) else json.dumps(shown)


def excerpt(text: str, wanted: str) -> str:
    """Return the part of a text around the first of the words that were searched for."""
    words = [wanted.strip(), *words_of(wanted)]
    folded = text.casefold()
    places = (folded.find(each.casefold()) for each in words if each)
    first = next((each for each in places if each >= 0), 0)
    start = max(first - _BEFORE_MATCH, 0) if len(text) > _LONGEST_EXCERPT else 0
    part = " ".join(text[start : start + 2 * _LONGEST_EXCERPT].split())
    return ("…" if start else "") + shorten(part, _LONGEST_EXCERPT)


def _asked(question: SearchQuestion) -> int:
    """Return how many rows each ranking has: more than are wanted, for those that others lack."""
    return max(2 * question.limit, 50)


def _texts(stored: NodeType) -> list[str]:
    return [each.name for each in stored.properties.values() if each.type == STRING]


def _is_indexed(stored: NodeType, name: str) -> bool:
    return any(name in columns for columns in stored.indexes)
