/** Naming: what a node is called, and the key that tells it from all others on a canvas. */

import type { Row } from '../api/shapes.ts'

/** Return the text that names a node: its name, its title, or its id. */
export function labelOf(entity: Row): string {
  for (const name of ['name', 'title', 'label']) if (typeof entity[name] === 'string' && entity[name] !== '') return entity[name]
  return String(entity['id'] ?? '')
}

export function keyOf(type: string, id: unknown): string {
  return `${type}\n${String(id)}`
}
