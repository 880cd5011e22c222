/** Naming: what a node is called, the key that tells it from all others on a canvas, and edges as queries write them. */

import type { Row } from '../api/shapes.ts'

/** Return the text that names a node: its name, its title, or its id. */
export function labelOf(entity: Row): string {
  for (const name of ['name', 'title', 'label']) if (typeof entity[name] === 'string' && entity[name] !== '') return entity[name]
  return String(entity['id'] ?? '')
}

export function keyOf(type: string, id: unknown): string {
  return `${type}\n${String(id)}`
}

/** Return the name of an edge type as queries write it. */
export function edgeWord(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1)
}
