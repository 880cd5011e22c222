"""Langgraph store: what agents remember across threads, as nodes of one type."""

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from omnigraph.adapters.extras import missing_extra
from omnigraph.adapters.rows import delete_rows, read_rows
from omnigraph.api.branch import Branch
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.schema.types import VectorType

try:
    from langchain_core.embeddings import Embeddings
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
    )
except ImportError:
    raise missing_extra("langgraph", "langgraph-checkpoint") from None

_WHOLE = "$"
_DECODER = json.JSONDecoder()
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_RETURNED = """$i.slug as slug, $i.namespace as namespace, $i.key as key, $i.value as value,
  $i.created as created, $i.updated as updated"""
_ONE = f"""query one($keys: [String]) {{
  match {{ $i: StoreItem  $i.slug in $keys }} return {{ {_RETURNED} }}
}}"""
_BELOW = f"""query below($prefix: String) {{
  match {{ $i: StoreItem  $i.namespace starts_with $prefix }} return {{ {_RETURNED} }}
  order {{ $i.namespace asc, $i.key asc }}
}}"""
_NAMESPACES = """query namespaces() {
  match { $i: StoreItem } return { $i.namespace as namespace, count($i) as items }
}"""


def store_schema(dimensions: int | None = None) -> str:
    """Return the type of the items of a store; with dimensions they have vectors."""
    vector = "" if dimensions is None else f"\n  vector: Vector({int(dimensions)})?"
    return f"""
node StoreItem {{
  slug: String @key
  namespace: String @index
  key: String
  value: String
  text: String? @index
  created: DateTime
  updated: DateTime{vector}
}}
"""


@dataclass(frozen=True, slots=True)
class _Stored:
    """An item, and the key of its node."""

    slug: str
    item: Item


class OmniGraphStore(BaseStore):
    """Items by namespace and key, on a branch; what is put together is one commit.

    A search with a query ranks by meaning when an `index` says who embeds, and by words otherwise.
    An item has one vector, of all its indexed fields together.
    """

    def __init__(self, branch: Branch, *, index: IndexConfig | None = None) -> None:
        stored = branch.catalog.nodes.get("StoreItem")
        if stored is None:
            raise InputError("no type 'StoreItem'", hint="store_schema() declares it")
        self._branch = branch
        self._embeddings: Embeddings | None = None
        self._fields: Sequence[str] = [_WHOLE]
        if index is not None:
            kind = stored.properties["vector"].type if "vector" in stored.properties else None
            if not isinstance(kind, VectorType) or kind.dimension != index["dims"]:
                hint = f"store_schema({index['dims']}) declares it"
                raise InputError(f"StoreItem has no vector of {index['dims']} numbers", hint=hint)
            self._embeddings = ensure_embeddings(index["embed"])
            self._fields = index.get("fields") or [_WHOLE]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations; what is read is the state before what they put."""
        given = list(ops)
        results = [self._read(each) for each in given]
        puts = {_slug(each.namespace, each.key): each for each in given if isinstance(each, PutOp)}
        self._put({slug: each for slug, each in puts.items() if each.value is not None})
        gone = [slug for slug, each in puts.items() if each.value is None]
        delete_rows(self._branch, {"StoreItem": gone})
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread; what is read is the state before what they put."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, operation: Op) -> Result:
        match operation:
            case GetOp():
                rows = read_rows(self._branch, _ONE, [_slug(operation.namespace, operation.key)])
                return next((_stored(each).item for each in rows), None)
            case SearchOp():
                return self._search(operation)
            case ListNamespacesOp():
                return self._namespaces(operation)
            case PutOp():
                return None

    def _put(self, puts: Mapping[str, PutOp]) -> None:
        if not puts:
            return
        values = {slug: _json(each.value) for slug, each in puts.items()}
        now = datetime.now(UTC)
        known = {str(each["slug"]): each["created"] for each in read_rows(self._branch, _ONE, puts)}
        texts = {slug: self._text(each) for slug, each in puts.items()}
        vectors = self._vectors(texts)
        rows = []
        for slug, each in puts.items():
            row: dict[str, Any] = {
                "slug": slug,
                "namespace": _path(each.namespace),
                "key": each.key,
                "value": values[slug],
                "text": texts[slug],
                "created": known.get(slug, now),
                "updated": now,
            }
            rows.append(row if slug not in vectors else {**row, "vector": vectors[slug]})
        self._branch.load(rows, type="StoreItem", mode="replace")

    def _text(self, put: PutOp) -> str | None:
        """Return what an item is found by; None when it is not indexed."""
        if put.index is False:
            return None
        paths = self._fields if put.index is None else put.index
        found: list[str] = []
        for path in paths:
            found += get_text_at_path(put.value, path if path == _WHOLE else tokenize_path(path))
        return "\n".join(found) or None

    def _vectors(self, texts: Mapping[str, str | None]) -> dict[str, list[float]]:
        if self._embeddings is None:
            return {}
        wanted = {slug: text for slug, text in texts.items() if text is not None}
        made = self._embeddings.embed_documents(list(wanted.values())) if wanted else []
        return dict(zip(wanted, made, strict=True))

    def _search(self, operation: SearchOp) -> list[SearchItem]:
        prefix = _path(operation.namespace_prefix)
        below = [_stored(each) for each in self._branch.query(_BELOW, prefix=prefix)]
        wanted = operation.filter or {}
        found = [each for each in below if _has(each.item.value, wanted)]
        scores: dict[str, float] = {}
        if operation.query and found:
            scores = self._scores(operation.query, prefix, len(below))
            # Items without a score come last, in their order.
            found.sort(key=lambda each: -scores.get(each.slug, float("-inf")))
        shown = found[operation.offset : operation.offset + operation.limit]
        return [_searched(each.item, scores.get(each.slug)) for each in shown]

    def _scores(self, query: str, prefix: str, most: int) -> dict[str, float]:
        """Return how well items below a namespace fit a query: cosine similarity, or BM25."""
        value: object = query
        kind, ranking = "String", "bm25($i.text, $q)"
        if self._embeddings is not None:
            value = self._embeddings.embed_query(query)
            kind, ranking = f"Vector({len(value)})", "nearest($i.vector, $q)"
        text = (
            f"query scores($prefix: String, $q: {kind}) {{ "
            f"match {{ $i: StoreItem  $i.namespace starts_with $prefix }} "
            f"return {{ $i.slug as slug, {ranking} as score }} order {{ score }} limit {most} }}"
        )
        rows: Iterable[Mapping[str, Any]] = self._branch.query(text, prefix=prefix, q=value)
        is_distance = self._embeddings is not None
        return {
            each["slug"]: 1.0 - each["score"] if is_distance else each["score"] for each in rows
        }

    def _namespaces(self, operation: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = [_names(str(each["namespace"])) for each in self._branch.query(_NAMESPACES)]
        conditions = operation.match_conditions or ()
        found = [each for each in every if all(_matches(test, each) for test in conditions)]
        depth = operation.max_depth
        shown = sorted({each if depth is None else each[:depth] for each in found})
        return shown[operation.offset : operation.offset + operation.limit]


def _path(namespace: Sequence[str]) -> str:
    """Return a namespace so that one begins with another only where its names do."""
    return "".join(f"{json.dumps(name, ensure_ascii=False)}/" for name in namespace)


def _names(path: str) -> tuple[str, ...]:
    """Return the namespace of a path."""
    found, place = [], 0
    while place < len(path):
        name, end = _DECODER.raw_decode(path, place)
        found.append(name)
        place = end + 1
    return tuple(found)


def _slug(namespace: Sequence[str], key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False)


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"values of a store are JSON: {wrong}") from None


def _stored(row: Mapping[str, Any]) -> _Stored:
    item = Item(
        value=json.loads(row["value"]),
        key=row["key"],
        namespace=tuple(json.loads(row["slug"])[:-1]),
        created_at=row["created"],
        updated_at=row["updated"],
    )
    return _Stored(row["slug"], item)


def _searched(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))


def _has(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_fits(value.get(name), other) for name, other in wanted.items())


def _fits(value: object, wanted: object) -> bool:
    """Return whether a value is as a filter says, which may compare and go inside objects."""
    if not isinstance(wanted, dict):
        return value == wanted
    if any(name.startswith("$") for name in wanted):
        return all(_compared(value, test, other) for test, other in wanted.items())
    return isinstance(value, dict) and _has(value, wanted)


def _compared(value: Any, test: str, other: Any) -> bool:  # noqa: ANN401 - values of JSON
    if test not in _TESTS:
        hint = f"expected one of {', '.join(_TESTS)}"
        raise InputError(f"unknown operator '{test}' in a filter", hint=hint)
    if test in ("$eq", "$ne"):
        return bool(_TESTS[test](value, other))
    comparable = isinstance(value, int | float) and isinstance(other, int | float)
    if not comparable and not (isinstance(value, str) and isinstance(other, str)):
        return False
    return bool(_TESTS[test](value, other))
