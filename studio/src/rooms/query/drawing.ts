/** Drawing: the nodes and edges of an answer, for the canvas. */

import type { QueryColumn, Row, Schema } from '../../api/shapes.ts'
import { keyOf, labelOf } from '../../graph/naming.ts'
import type { GraphEdge, GraphNode } from '../../graph/shapes.ts'
import { cellText } from '../../look/format.ts'

export interface Drawing {
  nodes: GraphNode[]
  edges: GraphEdge[]
  /** Whether edges only say that nodes came in the same row. */
  isLoose: boolean
  /** Whether there are more nodes than are drawn. */
  isCut: boolean
}

const MOST = 5000

const isEntity = (value: unknown): value is Row => value !== null && typeof value === 'object' && !Array.isArray(value) && 'id' in value

/** Return a value as one line; whole nodes and edges by what they are called. */
export function entityText(value: unknown): string {
  if (!isEntity(value)) return cellText(value)
  if ('from' in value && 'to' in value) return cellText(`${String(value['from'])} → ${String(value['to'])}`)
  const label = labelOf(value)
  const id = String(value['id'])
  return cellText(label === id ? id : `${label} · ${id}`)
}

/** Return what rows draw: their nodes, their edges, and without edges a loose line between nodes of a row. */
export function drawRows(rows: readonly Row[], columns: readonly QueryColumn[], schema: Schema): Drawing {
  const nodeTypes = new Map(schema.nodes.map((each) => [each.name, each]))
  const edgeTypes = new Map(schema.edges.map((each) => [each.name, each]))
  const base = (type: string): string => type.replace(/\?$/, '')
  const nodeColumns = columns.filter((each) => nodeTypes.has(base(each.type)))
  const edgeColumns = columns.filter((each) => edgeTypes.has(base(each.type)))
  const nodes = new Map<string, GraphNode>()
  const edges = new Map<string, GraphEdge>()
  let isCut = false
  const add = (type: string, id: unknown, label: string, isSure: boolean): string => {
    const key = keyOf(type, id)
    const known = nodes.get(key)
    if (known === undefined) {
      if (nodes.size >= MOST) isCut = true
      else nodes.set(key, { key, type, label })
    } else if (isSure) known.label = label
    return key
  }
  for (const row of rows) {
    if (isCut) break
    const inRow: string[] = []
    for (const column of nodeColumns) {
      const entity = row[column.name]
      if (isEntity(entity)) inRow.push(add(base(column.type), entity['id'], labelOf(entity), true))
    }
    for (const column of edgeColumns) {
      const edge = row[column.name]
      const type = edgeTypes.get(base(column.type))
      if (!isEntity(edge) || type === undefined) continue
      const source = add(type.source, edge['from'], String(edge['from']), false)
      const target = add(type.target, edge['to'], String(edge['to']), false)
      edges.set(`${type.name}\n${String(edge['id'])}`, { key: `${type.name}\n${String(edge['id'])}`, type: type.name, source, target })
    }
    if (edgeColumns.length > 0) continue
    for (let at = 1; at < inRow.length; at += 1) {
      const source = inRow[at - 1] as string
      const target = inRow[at] as string
      const key = `${source}\n${target}`
      if (source !== target) edges.set(key, { key, type: 'same row', source, target, isLoose: true })
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], isLoose: edgeColumns.length === 0 && edges.size > 0, isCut }
}
