/** Schema: the types of a graph, from the document in which the server describes them. */

import { parseJson } from './json.ts'
import type { EdgeType, NodeType, Property, Schema } from './shapes.ts'

interface SchemaDocument {
  schema_source: string
  schema_hash: string
  schema_ir: string
}

interface StoredType {
  name: string
  properties: Property[]
  description?: string | null
  implements?: string[]
  key?: string[]
  source?: string
  target?: string
}

interface Catalog {
  interfaces: StoredType[]
  nodes: StoredType[]
  edges: StoredType[]
}

function nodeType(each: StoredType): NodeType {
  return {
    name: each.name,
    implements: each.implements ?? [],
    properties: each.properties,
    key: each.key ?? [],
    description: each.description ?? null,
  }
}

function edgeType(each: StoredType): EdgeType {
  return {
    name: each.name,
    source: each.source ?? '',
    target: each.target ?? '',
    properties: each.properties,
    description: each.description ?? null,
  }
}

export function parseSchema(document: SchemaDocument): Schema {
  const catalog = parseJson(document.schema_ir) as Catalog
  return {
    source: document.schema_source,
    hash: document.schema_hash,
    interfaces: catalog.interfaces.map(nodeType),
    nodes: catalog.nodes.map(nodeType),
    edges: catalog.edges.map(edgeType),
  }
}
