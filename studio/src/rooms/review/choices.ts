/** Choices: whose version is taken where both sides changed the same: for all, a type, a row, a property, or a third value. */

import type { Conflict } from '../../api/shapes.ts'

export type Side = 'ours' | 'theirs'

/** A side, or a value of neither. */
export type Choice = { take: Side } | { value: unknown }

export interface Choices {
  readonly all: Side | null
  readonly types: Readonly<Record<string, Side>>
  readonly rows: Readonly<Record<string, Side>>
  readonly properties: Readonly<Record<string, Choice>>
}

export const NONE: Choices = { all: null, types: {}, rows: {}, properties: {} }

/** What a choice is made for; the narrowest one counts. */
export type Scope = { for: 'all' } | { for: 'type'; type: string } | { for: 'row'; conflict: Conflict } | { for: 'property'; conflict: Conflict }

export function rowKey(conflict: Conflict): string {
  return JSON.stringify([conflict.type_name, conflict.row_id])
}

export function conflictKey(conflict: Conflict): string {
  return JSON.stringify([conflict.type_name, conflict.row_id, conflict.property, conflict.kind])
}

// The server settles all others with their row, also when they name a property, such as the end that an edge lacks.
const OF_A_PROPERTY = ['DivergentInsert', 'DivergentUpdate', 'UniqueViolation', 'ValueConstraintViolation']

/** Whether a choice for a conflict is one for its whole row. */
export function isOfRow(conflict: Conflict): boolean {
  return conflict.property === null || !OF_A_PROPERTY.includes(conflict.kind)
}

/** The key of a property, or of several that are unique together; all of its conflicts have the same choice. */
function propertyKey(conflict: Conflict): string {
  return JSON.stringify([conflict.type_name, conflict.row_id, conflict.property])
}

function ownChoice(choices: Choices, conflict: Conflict): Choice | null {
  if (!isOfRow(conflict)) return choices.properties[propertyKey(conflict)] ?? null
  const side = choices.rows[rowKey(conflict)]
  return side === undefined ? null : { take: side }
}

function without<T>(all: Readonly<Record<string, T>>, key: string, value: T | null): Record<string, T> {
  const { [key]: _, ...rest } = all
  return value === null ? rest : { ...rest, [key]: value }
}

/** Return the choices with one more, or with one taken back when it is null; narrower ones give way to a wider one. */
export function choose(choices: Choices, scope: Scope, choice: Choice | null): Choices {
  const side = choice !== null && 'take' in choice ? choice.take : null
  switch (scope.for) {
    case 'all':
      return { ...NONE, all: side }
    case 'type': {
      const isOfType = (key: string): boolean => (JSON.parse(key) as string[])[0] === scope.type
      const keep = <T>(all: Readonly<Record<string, T>>): Record<string, T> => Object.fromEntries(Object.entries(all).filter(([key]) => !isOfType(key)))
      return { ...choices, types: without(choices.types, scope.type, side), rows: keep(choices.rows), properties: keep(choices.properties) }
    }
    case 'row': {
      const row = rowKey(scope.conflict)
      const properties = Object.fromEntries(Object.entries(choices.properties).filter(([key]) => JSON.stringify((JSON.parse(key) as unknown[]).slice(0, 2)) !== row))
      return { ...choices, rows: without(choices.rows, row, side), properties }
    }
    case 'property':
      if (isOfRow(scope.conflict)) return choose(choices, { for: 'row', conflict: scope.conflict }, choice)
      return { ...choices, properties: without(choices.properties, propertyKey(scope.conflict), choice) }
  }
}

/** Return what was chosen for a conflict, by the narrowest choice that there is. */
export function choiceOf(choices: Choices, conflict: Conflict): Choice | null {
  const own = ownChoice(choices, conflict)
  if (own !== null) return own
  const side = choices.rows[rowKey(conflict)] ?? choices.types[conflict.type_name] ?? choices.all
  return side === null ? null : { take: side }
}

/** Return the fields of a request for a merge that say what was chosen. */
export function mergeFields(choices: Choices, conflicts: readonly Conflict[]): Record<string, unknown> {
  const rows = Object.entries(choices.rows).map(([key, take]) => {
    const [type_name, row_id] = JSON.parse(key) as [string, string]
    return { type_name, row_id, take }
  })
  const known = new Map(conflicts.filter((each) => !isOfRow(each)).reverse().map((each) => [propertyKey(each), each]))
  const properties = Object.entries(choices.properties).flatMap(([key, choice]) => {
    const conflict = known.get(key)
    if (conflict === undefined) return []
    const about = { type_name: conflict.type_name, row_id: conflict.row_id, property: conflict.property }
    return [{ ...about, ...('take' in choice ? { kind: conflict.kind } : {}), ...choice }]
  })
  return { take: choices.all, types: choices.types, resolutions: [...rows, ...properties] }
}

/** Conflicts of one type, by row, in the order in which they came. */
export interface TypeConflicts {
  type: string
  rows: Conflict[][]
}

export function grouped(conflicts: readonly Conflict[]): TypeConflicts[] {
  const types = new Map<string, Map<string, Conflict[]>>()
  for (const each of conflicts) {
    const rows = types.get(each.type_name) ?? new Map<string, Conflict[]>()
    types.set(each.type_name, rows)
    rows.set(rowKey(each), [...(rows.get(rowKey(each)) ?? []), each])
  }
  return [...types].map(([type, rows]) => ({ type, rows: [...rows.values()] }))
}

/** Return all conflicts: those that there were at first, and those that a choice brought up. */
export function joined(first: readonly Conflict[], left: readonly Conflict[]): Conflict[] {
  const known = new Set(first.map(conflictKey))
  return [...first, ...left.filter((each) => !known.has(conflictKey(each)))]
}

/** Return the conflicts to show: those that there were at first, and of those that choices raised what is left or has a choice of its own. */
export function shownOf(first: readonly Conflict[], raised: readonly Conflict[], left: readonly Conflict[], choices: Choices): Conflict[] {
  const open = new Set(left.map(conflictKey))
  const isShown = (each: Conflict): boolean => open.has(conflictKey(each)) || ownChoice(choices, each) !== null
  return joined(joined(first, left), raised.filter(isShown))
}
