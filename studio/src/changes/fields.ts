/** Fields: which properties of a changed row differ, and what it is called. */

import type { Change, Row } from '../api/shapes.ts'
import { writeJson } from '../api/json.ts'

export interface FieldChange {
  name: string
  before: unknown
  after: unknown
}

const HIDDEN = new Set(['id'])

/** Return the properties that a change added, removed or set. */
export function fieldsOf(change: Pick<Change, 'op' | 'before' | 'after' | 'changed'>): FieldChange[] {
  const before: Row = change.before ?? {}
  const after: Row = change.after ?? {}
  const names = change.changed ?? [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => !HIDDEN.has(name))
    .map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }))
    .filter((each) => (change.op === 'update' ? writeJson(each.before) !== writeJson(each.after) : (change.op === 'insert' ? each.after : each.before) !== null))
}

/** Return what a changed row is called: its name or title beside its id, or its ends. */
export function labelOfChange(change: Pick<Change, 'id' | 'before' | 'after' | 'endpoints'>): string | null {
  const row = change.after ?? change.before ?? {}
  for (const name of ['name', 'title', 'label']) if (typeof row[name] === 'string') return row[name]
  const ends = change.endpoints
  if (ends?.['from'] !== undefined && ends['to'] !== undefined) return `${ends['from']} → ${ends['to']}`
  if (row['from'] !== undefined && row['to'] !== undefined) return `${String(row['from'])} → ${String(row['to'])}`
  return null
}
