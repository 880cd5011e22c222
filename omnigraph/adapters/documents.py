"""Documents: nodes of one type as texts with an id, a vector and metadata, and queries for them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Self, TypeAlias

from omnigraph.adapters.rows import delete_rows, read_rows
from omnigraph.api.branch import Branch
from omnigraph.api.view import View
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, NodeType, Property, find_type
from omnigraph.schema.types import BLOB, ListType, VectorType
from omnigraph.syntax.problems import suggest

Mode: TypeAlias = Literal["hybrid", "vector", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which properties of a type hold the parts of a document.

    Keys of metadata that are properties of the type are stored there, and can be filtered by. All
    others are kept together as JSON in the property `metadata`.
    """

    type: str = "Document"
    key: str = "slug"
    text: str = "text"
    vector: str = "vector"
    metadata: str = "metadata"


@dataclass(frozen=True, slots=True)
class Found:
    """A document as it is stored; `score` says how well it fits a search."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None = None
    vector: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a branch, or of a commit, which can only be read."""

    view: View
    layout: Layout
    stored: NodeType
    columns: Mapping[str, Property]

    @classmethod
    def of(cls, view: View, layout: Layout) -> Self:
        """Return the documents of a type; raise InputError when it lacks a property."""
        stored = _checked(view.catalog, layout)
        parts = {layout.key, layout.text, layout.vector, layout.metadata}
        return cls(
            view,
            layout,
            stored,
            {
                name: each
                for name, each in stored.properties.items()
                if name not in parts and each.type != BLOB and not isinstance(each.type, VectorType)
            },
        )

    @property
    def embeds(self) -> bool:
        """Whether the graph makes the vectors itself, of texts of documents and of questions."""
        return self.stored.properties[self.layout.vector].embed is not None

    def put(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        metadatas: Sequence[Mapping[str, Any]],
        vectors: Sequence[Sequence[float]] | None,
    ) -> None:
        """Store documents as one commit; what is there is replaced, the last of an id wins."""
        rows: dict[str, dict[str, Any]] = {}
        for place, (each, text, metadata) in enumerate(zip(ids, texts, metadatas, strict=True)):
            rows[each] = {self.layout.key: each, self.layout.text: text, **self._columns(metadata)}
            if vectors is not None:
                rows[each][self.layout.vector] = list(vectors[place])
        if rows:
            self.branch.load(list(rows.values()), type=self.layout.type, mode="replace")

    def delete(self, ids: Sequence[str] | None) -> None:
        """Delete documents with their edges, or all of them; unknown ids are no error."""
        of, key = self.layout.type, self.layout.key
        if ids is None:
            self.branch.mutate(f"query drop() {{ delete {of} where {key} is not null }}")
            return
        delete_rows(self.branch, {of: ids}, key)

    def get(self, ids: Sequence[str]) -> list[Found]:
        """Return documents in the order of their ids, without those that are not there."""
        key = self.layout.key
        query = (
            f"query get($keys: [String]) {{ match {{ $d: {self.layout.type}  $d.{key} in $keys }} "
            f"return {{ {self._returned()} }} }}"
        )
        stored = [self._found(row) for row in read_rows(self.view, query, ids)]
        found = {each.id: each for each in stored}
        return [found[each] for each in ids if each in found]

    def select(self, filters: "Filters") -> list[Found]:
        """Return all documents that filters let through, by their ids."""
        query = (
            f"query some({', '.join(filters.declared)}) {{ match {{ {' '.join(filters.clauses)} }} "
            f"return {{ {self._returned()} }} order {{ $d.{self.layout.key} asc }} }}"
        )
        return [self._found(row) for row in self.view.query(query, dict(filters.values))]

    def all(self) -> "Filters":
        """Return filters that let all documents through, to which others can be added."""
        return Filters([f"$d: {self.layout.type}"])

    def search(
        self,
        text: str,
        vector: Sequence[float] | None,
        *,
        limit: int,
        where: "Mapping[str, Any] | Filters | None" = None,
        mode: Mode = "vector",
        with_vectors: bool = False,
    ) -> list[Found]:
        """Return the best documents: by meaning, by words, or by the ranks of both.

        The score is a cosine distance for `vector`, least first, and greatest first for the others.
        """
        if limit < 1:
            return []
        kind = "String" if vector is None else str(self._vector_type)
        nearest, words = f"nearest($d.{self.layout.vector}, $q)", f"bm25($d.{self.layout.text}, $t)"
        ranking = {"vector": nearest, "words": words, "hybrid": f"rrf({nearest}, {words})"}[mode]
        filters = where if isinstance(where, Filters) else self._filters(where or {})
        params: dict[str, Any] = dict(filters.values)
        declared = list(filters.declared)
        if mode != "words":
            declared.append(f"$q: {kind}")
            params["q"] = text if vector is None else list(vector)
        if mode != "vector":
            declared.append("$t: String")
            params["t"] = text
        vectors = f", $d.{self.layout.vector} as vector" if with_vectors else ""
        query = (
            f"query find({', '.join(declared)}) {{ match {{ {' '.join(filters.clauses)} }} "
            f"return {{ {self._returned()}{vectors}, {ranking} as score }} "
            f"order {{ score {'asc' if mode == 'vector' else 'desc'}, "
            f"$d.{self.layout.key} asc }} limit {int(limit)} }}"
        )
        return [self._found(row) for row in self.view.query(query, params)]

    @property
    def _vector_type(self) -> VectorType:
        found = self.stored.properties[self.layout.vector].type
        assert isinstance(found, VectorType)
        return found

    @property
    def branch(self) -> Branch:
        """The branch that documents are stored on; raises InputError for a commit."""
        if not isinstance(self.view, Branch):
            raise InputError("a commit never changes", hint="pass a branch: graph.branch()")
        return self.view

    def _columns(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata as properties; what is null or no property of its own is in the JSON."""
        own = {n: v for n, v in metadata.items() if n in self.columns and v is not None}
        rest = {name: value for name, value in metadata.items() if name not in own}
        if not rest:
            return own
        if self.layout.metadata not in self.stored.properties:
            hint = f"add `{self.layout.metadata}: String?` to {self.layout.type}, or properties"
            raise InputError(f"no property for metadata: {', '.join(map(str, rest))}", hint=hint)
        try:
            return {**own, self.layout.metadata: json.dumps(rest, ensure_ascii=False)}
        except (TypeError, ValueError) as wrong:
            raise InputError(f"metadata is JSON: {wrong}") from None

    def _returned(self) -> str:
        parts = {"id": self.layout.key, "text": self.layout.text}
        if self.layout.metadata in self.stored.properties:
            parts["metadata"] = self.layout.metadata
        named = [f"$d.{name} as {alias}" for alias, name in parts.items()]
        return ", ".join(named + [f"$d.{name} as c_{name}" for name in self.columns])

    def _found(self, row: Mapping[str, Any]) -> Found:
        rest = row.get("metadata")
        metadata = {} if rest is None else dict(json.loads(rest))
        own = {name: row[f"c_{name}"] for name in self.columns}
        metadata |= {name: value for name, value in own.items() if value is not None}
        return Found(row["id"], row["text"], metadata, row.get("score"), row.get("vector"))

    def _filters(self, where: Mapping[str, Any]) -> "Filters":
        """Return what a filter means: a value is equal, a list holds it, null is missing."""
        found = self.all()
        for name, value in where.items():
            place = f"$d.{name}"
            kind = self.filtered(name).type
            if value is None:
                found.clauses.append(f"{place} is null")
            elif isinstance(kind, ListType):
                found.add(f"{place} contains", kind.item.value, value)
            elif isinstance(value, list | tuple | set | frozenset):
                found.add(f"{place} in", f"[{plain_type(kind)}]", list(value))
            else:
                found.add(f"{place} =", plain_type(kind), value)
        return found

    def filtered(self, name: str) -> Property:
        """Return a property that can be filtered by; raise InputError when there is none."""
        own = self.stored.properties
        if name in (self.layout.key, self.layout.text) or name in self.columns:
            return own[name]
        near = suggest(name, list(self.columns))
        hint = near or f"declare it: `{name}: String?`; other metadata is kept as JSON"
        raise InputError(f"{self.layout.type} has no property '{name}' to filter by", hint=hint)


@dataclass(frozen=True, slots=True)
class Filters:
    """Clauses of a match about `$d`, and the parameters that they need."""

    clauses: list[str]
    declared: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, test: str, kind: str, value: object) -> None:
        """Add a clause that ends with a parameter."""
        self.clauses.append(f"{test} {self.param(kind, value)}")

    def param(self, kind: str, value: object) -> str:
        """Return a new parameter as it is written in a query."""
        name = f"f{len(self.values)}"
        self.declared.append(f"${name}: {kind}")
        self.values[name] = value
        return f"${name}"


def plain_type(kind: object) -> str:
    """Return the type of a parameter that is compared with a property; enums are texts there."""
    return "String" if str(kind).startswith("enum") else str(kind)


def _checked(catalog: Catalog, layout: Layout) -> NodeType:
    stored = find_type(layout.type, catalog)
    if not isinstance(stored, NodeType):
        raise InputError(f"documents are nodes, and {layout.type} is a type of edges")
    for name in (layout.key, layout.text, layout.vector):
        if name not in stored.properties:
            hint = suggest(name, list(stored.properties))
            raise InputError(f"{layout.type} has no property '{name}'", hint=hint)
    if stored.key != (layout.key,):
        raise InputError(f"'{layout.key}' is not the key of {layout.type}")
    if not isinstance(stored.properties[layout.vector].type, VectorType):
        raise InputError(f"{layout.type}.{layout.vector} is not a Vector")
    return stored
