/** Hover: what a word of a query means, by the schema. */

import type { EdgeType, NodeType, Schema } from '../../api/shapes.ts'
import { edgeWord } from '../../graph/naming.ts'

export interface Meaning {
  /** UTF-16 offsets of the word. */
  start: number
  end: number
  title: string
  about: string
}

const WORD = /[$@]?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?/g

function wordAt(text: string, at: number): { word: string; start: number } | null {
  const line = text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  for (const found of text.slice(line, end < 0 ? text.length : end).matchAll(WORD)) {
    const start = line + found.index
    if (start <= at && at <= start + found[0].length) return { word: found[0], start }
  }
  return null
}

/** Return the type that a variable is bound to, as far as the text says it. */
export function boundType(text: string, variable: string, schema: Schema): NodeType | EdgeType | null {
  const named = new RegExp(`\\$${variable}\\s*:\\s*([A-Za-z_]\\w*)`).exec(text)?.[1]
  const direct = schema.nodes.find((each) => each.name === named) ?? schema.interfaces.find((each) => each.name === named)
  if (direct) return direct
  const edge = schema.edges.find((each) => each.name.toLowerCase() === named?.toLowerCase())
  if (edge) return edge
  for (const each of schema.edges) {
    const step = `(?:\\$\\w+\\s*:\\s*)?${edgeWord(each.name)}\\b[^$\\n]*`
    if (new RegExp(`${step}\\$${variable}\\b`).test(text)) return schema.nodes.find((node) => node.name === each.target) ?? null
    if (new RegExp(`\\$${variable}\\s+${step}\\$`).test(text)) return schema.nodes.find((node) => node.name === each.source) ?? null
  }
  return null
}

function describe(type: NodeType | EdgeType): string {
  const ends = 'source' in type ? `${type.source} → ${type.target}\n` : ''
  const properties = type.properties.map((each) => `${each.name}: ${each.type}${each.nullable ? '?' : ''}`).join('\n')
  return `${ends}${type.description === null ? '' : `${type.description}\n`}${properties}`.trim()
}

export function meaningAt(text: string, at: number, schema: Schema): Meaning | null {
  const found = wordAt(text, at)
  if (found === null) return null
  const { word, start } = found
  const end = start + word.length
  if (word.startsWith('$')) {
    const [variable = '', property] = word.slice(1).split('.')
    const type = boundType(text, variable, schema)
    if (type === null) return null
    if (property === undefined || at <= start + variable.length + 1) return { start, end: start + variable.length + 1, title: `$${variable}: ${type.name}`, about: describe(type) }
    const found = type.properties.find((each) => each.name === property)
    return found ? { start, end, title: `${type.name}.${property}: ${found.type}${found.nullable ? '?' : ''}`, about: found.description ?? '' } : null
  }
  const type =
    schema.nodes.find((each) => each.name === word) ??
    schema.interfaces.find((each) => each.name === word) ??
    schema.edges.find((each) => edgeWord(each.name) === word || each.name === word)
  return type === undefined ? null : { start, end, title: type.name, about: describe(type) }
}
