/** Grown: which neighbours of which nodes are on the canvas, as a part of the address, and what they draw. */

import type { Direction, EdgeGroup, Neighbors, NodeType, Row } from '../../api/shapes.ts'
import { edgeWord, keyOf } from '../../graph/naming.ts'
import type { GraphEdge, GraphNode } from '../../graph/shapes.ts'

/** A node by its type and id. */
export type NodeName = readonly [type: string, id: string]

/** Some pages of the edges of one type that leave a node, or reach it. */
export interface Grown {
  node: NodeName
  edge: string
  direction: Direction
  pages: number
}

export const MOST_GROWN = 60

export function formatNode(node: NodeName): string {
  return JSON.stringify(node)
}

/** Return the node that an address names; what is no node is none. */
export function parseNode(text: string | undefined): NodeName | null {
  const found = parsed(text)
  return isNode(found) ? found : null
}

export function formatGrown(grown: readonly Grown[]): string {
  return JSON.stringify(grown.map((each) => [...each.node, each.edge, each.direction, each.pages]))
}

export function parseGrown(text: string | undefined): Grown[] {
  const found = parsed(text)
  if (!Array.isArray(found)) return []
  return found.slice(0, MOST_GROWN).flatMap((each: unknown): Grown[] => {
    if (!Array.isArray(each) || each.length !== 5) return []
    const [type, id, edge, direction, pages] = each as unknown[]
    if (typeof type !== 'string' || typeof id !== 'string' || typeof edge !== 'string') return []
    if ((direction !== 'out' && direction !== 'in') || typeof pages !== 'number' || pages < 1) return []
    return [{ node: [type, id], edge, direction, pages: Math.min(pages, 100) }]
  })
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isNode(value: unknown): value is NodeName {
  return Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'string')
}

function isSame(one: Grown, node: NodeName, group: Pick<EdgeGroup, 'edge' | 'direction'>): boolean {
  return one.node[0] === node[0] && one.node[1] === node[1] && one.edge === group.edge && one.direction === group.direction
}

export function grownOf(all: readonly Grown[], node: NodeName, group: Pick<EdgeGroup, 'edge' | 'direction'>): Grown | undefined {
  return all.find((each) => isSame(each, node, group))
}

/** Return what is grown with one more page of a group, or without the group. */
export function grow(all: readonly Grown[], node: NodeName, group: Pick<EdgeGroup, 'edge' | 'direction'>, by: 1 | 'none'): Grown[] {
  const known = grownOf(all, node, group)
  if (by === 'none') return all.filter((each) => each !== known)
  if (known === undefined) return [...all, { node, edge: group.edge, direction: group.direction, pages: 1 }].slice(-MOST_GROWN)
  return all.map((each) => (each === known ? { ...each, pages: each.pages + 1 } : each))
}

/** The neighbours that were fetched for something grown. */
export interface Fetched {
  grown: Grown
  answer: Neighbors
}

export function keyOfNode(node: NodeName): string {
  return keyOf(...node)
}

export function nodeOfKey(key: string): NodeName {
  const cut = key.indexOf('\n')
  return [key.slice(0, cut), key.slice(cut + 1)]
}

/** Return what is on the canvas: the node that was chosen, and all that grew. */
export function draw(start: { node: NodeName; label: string } | null, fetched: readonly Fetched[]): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes = new Map<string, GraphNode>()
  const edges = new Map<string, GraphEdge>()
  const add = (node: NodeName, label: string): string => {
    const key = keyOfNode(node)
    if (!nodes.has(key)) nodes.set(key, { key, type: node[0], label })
    return key
  }
  for (const { grown, answer } of fetched) {
    const from = add(grown.node, answer.node.label)
    for (const each of answer.neighbors) {
      const to = add([each.type, each.id], each.label)
      const [source, target] = grown.direction === 'out' ? [from, to] : [to, from]
      edges.set(`${grown.edge}\n${each.edge_id}`, { key: `${grown.edge}\n${each.edge_id}`, type: grown.edge, source, target })
    }
  }
  // By now its own name may be known, from what grew around it.
  if (start !== null) add(start.node, start.label)
  return { nodes: [...nodes.values()], edges: [...edges.values()] }
}

/** Return a value as a query writes it; integers that a number cannot hold come as texts. */
function literal(value: unknown, type: string): string {
  if (typeof value !== 'string' || /^[IU]\d+\??$/.test(type)) return String(value)
  // The language has no names for these two.
  const text = JSON.stringify(value).replace(/\\(.)/g, (escape, char: string) => (char === 'b' ? '\\u0008' : char === 'f' ? '\\u000c' : escape))
  if (type.startsWith('DateTime')) return `datetime(${text})`
  return type.startsWith('Date') ? `date(${text})` : text
}

/** Return the query that answers with a node and its neighbours of one group, or with the node alone. */
export function queryOf(type: NodeType, properties: Row, group: { edge: string; direction: Direction; type: string } | null): string | null {
  if (type.key.length === 0) return null
  const key = type.key.map((name) => `${name}: ${literal(properties[name], type.properties.find((each) => each.name === name)?.type ?? '')}`).join(', ')
  const start = `$n: ${type.name} { ${key} }`
  if (group === null) return `match { ${start} }\nreturn { $n.* }`
  const edge = edgeWord(group.edge)
  const pattern = group.direction === 'out' ? `$n ${edge} $m` : `$m ${edge} $n`
  return `match {\n  ${start}\n  $m: ${group.type}\n  ${pattern}\n}\nreturn { $m.* }\nlimit 100`
}
