"""Llamaindex graph: entities, chunks and relations, as nodes of one type and edges of one."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omnigraph.adapters.documents import Documents, Filters, Found, Layout, plain_type
from omnigraph.adapters.extras import missing_extra
from omnigraph.adapters.llamaindex_filters import add_filters
from omnigraph.adapters.llamaindex_vectors import similarity
from omnigraph.adapters.rows import read_rows
from omnigraph.api.view import View
from omnigraph.errors import InputError, UnavailableError

try:
    from llama_index.core.graph_stores.types import (
        ChunkNode,
        EntityNode,
        LabelledNode,
        PropertyGraphStore,
        Relation,
        Triplet,
    )
    from llama_index.core.prompts import PromptTemplate
    from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
except ImportError:
    raise missing_extra("llamaindex", "llama-index-core") from None

_NODE, _EDGE = "GraphNode", "GraphRelation"
_ENTITY, _CHUNK = "entity", "chunk"
_OWN = ("kind", "label")
_TRIPLET = "$r.label as label, $r.properties as properties, $a.slug as source, $b.slug as target"
_ORDER = "order { $a.slug asc, $r.label asc, $b.slug asc }"
_TEMPLATE = PromptTemplate(
    """Write one read query in the language of OmniGraph that answers a question about a graph.
Use only types and properties of this schema:
{schema}
Entities are nodes of the type GraphNode; `label` says what they are and `text` is their name.
Relations are edges of the type GraphRelation; `label` says what they mean, in capitals.
An example, who works for whom:
query answer() {{
  match {{
    $a: GraphNode
    $a $r:graphRelation $b
    $r.label = "WORKS_FOR"
    $a.label = "person"
  }}
  return {{ $a.text as person, $b.text as employer }}
  limit 50
}}
Answer with the query and nothing else.

The question is:
{question}"""
)


def graph_schema(dimensions: int) -> str:
    """Return the types of a property graph, to be part of the schema of a graph.

    Properties that are added to `GraphNode` hold those of the same names, and can be asked for.
    """
    return f"""
node {_NODE} {{
  slug: String @key
  kind: enum({_ENTITY}, {_CHUNK})
  label: String @index
  text: String @index
  triplet_source_id: String? @index
  ref_doc_id: String? @index
  vector: Vector({int(dimensions)})?
  metadata: String?
}}
edge {_EDGE}: {_NODE} -> {_NODE} {{
  label: String @index
  triplet_source_id: String?
  properties: String?
}}
"""


class OmniGraphPropertyGraphStore(PropertyGraphStore):
    """The entities, chunks and relations of LlamaIndex on a branch; each call is one commit.

    A view of a commit can be asked, and not changed. Structured queries are reads in the language
    of OmniGraph.
    """

    supports_structured_queries = True
    supports_vector_queries = True
    text_to_cypher_template = _TEMPLATE

    def __init__(self, view: View) -> None:
        if _NODE not in view.catalog.nodes or _EDGE not in view.catalog.edges:
            hint = "graph_schema(dimensions) declares them"
            raise InputError(f"no types '{_NODE}' and '{_EDGE}'", hint=hint)
        self._nodes = Documents.of(view, Layout(type=_NODE))
        self._edge = view.catalog.edges[_EDGE]

    @property
    def client(self) -> View:
        """The branch or commit that is read."""
        return self._nodes.view

    def get(
        self, properties: dict[str, Any] | None = None, ids: list[str] | None = None
    ) -> list[LabelledNode]:
        """Return nodes that have one of some values, by their ids; without arguments, all.

        Raises InputError for a property that `GraphNode` does not declare.
        """
        if not properties and ids is not None:
            found = self._nodes.get(sorted(set(ids)))
        else:
            filters = self._nodes.all()
            if ids is not None:
                filters.add("$d.slug in", "[String]", list(ids))
            if properties:
                filters.clauses.append(f"({' or '.join(self._equal(properties, filters))})")
            found = self._nodes.select(filters)
        return [_node(each) for each in found]

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Return relations with both ends that fit everything that is given; without it, none."""
        if not (entity_names or relation_names or properties or ids):
            return []
        filters = Filters([f"$a: {_NODE}", "$a $r:graphRelation $b"])
        for names in (entity_names, ids):
            if names:
                given = filters.param("[String]", list(names))
                filters.clauses.append(f"($a.slug in {given} or $b.slug in {given})")
        if relation_names:
            filters.add("$r.label in", "[String]", list(relation_names))
        if properties:
            filters.clauses.append(f"({' or '.join(self._somewhere(properties, filters))})")
        query = (
            f"query triplets({', '.join(filters.declared)}) "
            f"{{ match {{ {' '.join(filters.clauses)} }} return {{ {_TRIPLET} }} {_ORDER} }}"
        )
        return self._triplets(self.client.query(query, dict(filters.values)))

    def get_rel_map(
        self,
        graph_nodes: list[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: list[str] | None = None,
    ) -> list[Triplet]:
        """Return the relations around nodes, the nearest first, in both directions.

        Relations that are ignored are not followed either.
        """
        found: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        reached: set[str] = set()
        frontier = {each.id for each in graph_nodes}
        for _ in range(depth):
            if not frontier or len(found) >= limit:
                break
            reached |= frontier
            for row in self._around(sorted(frontier), limit + len(found), ignore_rels or []):
                found.setdefault((row["source"], row["label"], row["target"]), row)
            frontier = {end for source, _, end in found} | {source for source, _, _ in found}
            frontier -= reached
        return self._triplets(list(found.values())[:limit])

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Store nodes as one commit; a node without a vector keeps the one that it has."""
        self._load([self._row(each) for each in nodes])

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Store relations as one commit, with entities for ends that are not there."""
        ends = {end for each in relations for end in (each.source_id, each.target_id)}
        known = {each.id for each in self._nodes.get(sorted(ends))}
        missing = [self._row(EntityNode(name=end)) for end in sorted(ends - known)]
        self._load([*missing, *(self._line(each) for each in relations)])

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Delete nodes by name, by id and by one of some values, with their relations.

        Relations that have one of some names are deleted, and their ends stay.
        """
        nodes = {*(entity_names or ()), *(ids or ())}
        if properties:
            nodes |= {each.id for each in self.get(properties=properties)}
        if nodes:
            self._nodes.delete(sorted(nodes))
        if relation_names:
            drop = f"query drop($labels: [String]) {{ delete {_EDGE} where label in $labels }}"
            self._nodes.branch.mutate(drop, labels=list(relation_names))

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:  # noqa: ANN401
        """Return the rows of a read in the language of OmniGraph; raises for a mutation."""
        return self.client.query(query, param_map or {}).to_dicts()

    def vector_query(
        self,
        query: VectorStoreQuery,
        **kwargs: Any,  # noqa: ANN401, ARG002 - as LlamaIndex has it
    ) -> tuple[list[LabelledNode], list[float]]:
        """Return the entities that are nearest to a vector, with their cosine similarities."""
        if query.mode != VectorStoreQueryMode.DEFAULT or query.query_embedding is None:
            hint = "give the query a vector, and the mode `default`"
            raise UnavailableError("entities are found by their vectors alone", hint=hint)
        filters = self._nodes.all()
        filters.clauses.append(f'$d.kind = "{_ENTITY}"')
        add_filters(filters, query.filters, self._nodes)
        found = self._nodes.search(
            "", query.query_embedding, limit=query.similarity_top_k, where=filters
        )
        return [_node(each) for each in found], [similarity(each, "vector") for each in found]

    def get_schema(self, refresh: bool = False) -> str:  # noqa: ARG002
        """Return the schema of the graph as it is written."""
        return self.client.schema

    def _load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            kept = {json.dumps([_identity(each)]): each for each in rows}
            self._nodes.branch.load(list(kept.values()), mode="merge")

    def _row(self, node: LabelledNode) -> dict[str, Any]:
        is_chunk = isinstance(node, ChunkNode)
        if not isinstance(node, ChunkNode | EntityNode):
            raise InputError(f"a {type(node).__name__} is neither an entity nor a chunk")
        columns = (name for name in self._nodes.columns if name not in _OWN)
        data: dict[str, Any] = {
            **{name: node.properties.get(name) for name in columns},
            "slug": node.id,
            "kind": _CHUNK if is_chunk else _ENTITY,
            "label": node.label,
            "text": node.text if isinstance(node, ChunkNode) else node.name,
            "metadata": _json({"properties": node.properties}),
        }
        if node.embedding is not None:
            data["vector"] = list(node.embedding)
        return {"type": _NODE, "data": data}

    def _line(self, relation: Relation) -> dict[str, Any]:
        source = relation.properties.get("triplet_source_id")
        name = json.dumps([relation.source_id, relation.label, relation.target_id])
        data = {
            "id": hashlib.sha256(name.encode()).hexdigest(),
            "label": relation.label,
            "triplet_source_id": source if isinstance(source, str) else None,
            "properties": _json(relation.properties),
        }
        ends = {"from": relation.source_id, "to": relation.target_id}
        return {"edge": _EDGE, **ends, "data": data}

    def _around(
        self, ids: Iterable[str], limit: int, ignored: Sequence[str]
    ) -> Iterable[Mapping[str, Any]]:
        names = ", ".join(json.dumps(each) for each in ignored)
        rest = f"not $r.label in [{names}]" if ignored else ""
        query = (
            f"query around($keys: [String]) {{ match {{ $a: {_NODE}  $a $r:graphRelation $b "
            f"($a.slug in $keys or $b.slug in $keys) {rest} }} "
            f"return {{ {_TRIPLET} }} {_ORDER} limit {int(limit)} }}"
        )
        return read_rows(self.client, query, ids)

    def _triplets(self, rows: Iterable[Mapping[str, Any]]) -> list[Triplet]:
        given = list(rows)
        ends = {end for row in given for end in (row["source"], row["target"])}
        nodes = {each.id: _node(each) for each in self._nodes.get(sorted(ends))}
        return [
            (nodes[row["source"]], _relation(row), nodes[row["target"]])
            for row in given
            if row["source"] in nodes and row["target"] in nodes
        ]

    def _equal(self, properties: Mapping[str, Any], filters: Filters) -> list[str]:
        tests = []
        for name, value in properties.items():
            kind = plain_type(self._nodes.filtered(name).type)
            tests.append(f"$d.{name} = {filters.param(kind, value)}")
        return tests

    def _somewhere(self, properties: Mapping[str, Any], filters: Filters) -> list[str]:
        """Return tests of both ends and of the relation, as far as they declare a property."""
        tests = []
        for name, value in properties.items():
            on_edge = self._edge.properties.get(name)
            kind = on_edge.type if on_edge is not None else self._nodes.filtered(name).type
            given = filters.param(plain_type(kind), value)
            tests += [f"$r.{name} = {given}"] if on_edge is not None else []
            if name in self._nodes.columns:
                tests += [f"$a.{name} = {given}", f"$b.{name} = {given}"]
        return tests


def _identity(row: Mapping[str, Any]) -> list[str]:
    data = row["data"]
    return ["node", data["slug"]] if "type" in row else ["edge", data["id"]]


def _node(found: Found) -> LabelledNode:
    about = found.metadata
    properties = dict(about.get("properties") or {})
    if about["kind"] == _CHUNK:
        return ChunkNode(text=found.text, id_=found.id, label=about["label"], properties=properties)
    return EntityNode(name=found.text, label=about["label"], properties=properties)


def _relation(row: Mapping[str, Any]) -> Relation:
    return Relation(
        label=row["label"],
        source_id=row["source"],
        target_id=row["target"],
        properties=json.loads(row["properties"] or "{}"),
    )


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as wrong:
        raise InputError(f"properties are JSON: {wrong}") from None
