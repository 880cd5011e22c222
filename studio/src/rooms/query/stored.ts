/** Stored: the parameters of a stored query, from the JSON Schema that the server sends. */

import type { QueryParameter, StoredQuery } from '../../api/shapes.ts'

const FORMATS: Record<string, string> = { date: 'Date', 'date-time': 'DateTime' }

/** Return the name of the type that a JSON Schema describes. */
export function typeOfSchema(schema: Record<string, unknown>): string {
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) {
    const main = (options as Record<string, unknown>[]).find((each) => each['type'] !== 'null')
    return main === undefined ? 'Json' : typeOfSchema(main)
  }
  if (Array.isArray(schema['enum'])) return `enum(${(schema['enum'] as unknown[]).filter((each) => each !== null).join(', ')})`
  const types = Array.isArray(schema['type']) ? (schema['type'] as string[]).filter((each) => each !== 'null') : [String(schema['type'])]
  switch (types[0]) {
    case 'string':
      return FORMATS[String(schema['format'])] ?? 'String'
    case 'integer':
      return 'I64'
    case 'number':
      return 'F64'
    case 'boolean':
      return 'Bool'
    case 'array':
      return `[${typeOfSchema((schema['items'] ?? {}) as Record<string, unknown>)}]`
    default:
      return 'Json'
  }
}

export function storedParameters(query: StoredQuery): QueryParameter[] {
  const required = query.params.required ?? []
  return Object.entries(query.params.properties ?? {}).map(([name, schema]) => ({ name, type: typeOfSchema(schema), required: required.includes(name) }))
}
