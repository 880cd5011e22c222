/** Parameters: a field for each parameter of a query by its type, and the value of what is typed. */

import { parseJson, writeJson } from '../../api/json.ts'
import type { QueryParameter } from '../../api/shapes.ts'

export type Field = { kind: 'text' | 'integer' | 'decimal' | 'date' | 'time' | 'json' } | { kind: 'choice'; choices: string[] }

/** What was typed, by the name of its parameter. */
export type Typed = Readonly<Record<string, string>>

export type Parsed = { values: Record<string, unknown>; problems: Record<string, string> }

const ENUM = /^enum\((.*)\)$/

/** Return the type without the mark that it may be null. */
function plain(type: string): string {
  return type.endsWith('?') ? type.slice(0, -1) : type
}

export function fieldOf(type: string): Field {
  const name = plain(type)
  const listed = ENUM.exec(name)
  if (listed?.[1] !== undefined) return { kind: 'choice', choices: listed[1].split(',').map((each) => each.trim()) }
  if (name === 'Bool') return { kind: 'choice', choices: ['true', 'false'] }
  if (/^[IU]\d+$/.test(name)) return { kind: 'integer' }
  if (/^F\d+$/.test(name)) return { kind: 'decimal' }
  if (name === 'Date') return { kind: 'date' }
  if (name === 'DateTime') return { kind: 'time' }
  return { kind: name === 'String' ? 'text' : 'json' }
}

function parseOne(type: string, text: string): unknown {
  const field = fieldOf(type)
  switch (field.kind) {
    case 'integer': {
      if (!/^[+-]?\d+$/.test(text.trim())) throw new Error('a whole number is expected')
      const value = BigInt(text.trim().replace(/^\+/, ''))
      return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
    }
    case 'decimal': {
      const value = Number(text)
      if (text.trim() === '' || !Number.isFinite(value)) throw new Error('a number is expected')
      return value
    }
    case 'choice':
      if (!field.choices.includes(text)) throw new Error(`one of ${field.choices.join(', ')} is expected`)
      return plain(type) === 'Bool' ? text === 'true' : text
    case 'json':
      try {
        return parseJson(text)
      } catch {
        throw new Error(`JSON of the type ${type} is expected, such as ["a", "b"]`)
      }
    default:
      return text
  }
}

/** Return the values of all fields, and what is wrong with those that have none. An empty optional field is null. */
export function parseParameters(parameters: readonly QueryParameter[], typed: Typed): Parsed {
  const values: Record<string, unknown> = {}
  const problems: Record<string, string> = {}
  for (const each of parameters) {
    const text = typed[each.name]
    if (text === undefined || (text === '' && plain(each.type) !== 'String')) {
      if (each.required) problems[each.name] = 'a value is needed'
      continue
    }
    if (text === '' && !each.required) continue
    try {
      values[each.name] = parseOne(each.type, text)
    } catch (error) {
      problems[each.name] = error instanceof Error ? error.message : String(error)
    }
  }
  return { values, problems }
}

/** Return a value as it would be typed. */
export function typedOf(value: unknown): string {
  return typeof value === 'string' ? value : writeJson(value)
}
