/** Columns: what the values of an answer are, by the types that schemas and queries know. */

import type { Value } from './json.ts'

interface Scalars {
  String: string
  Bool: boolean
  I32: number
  U32: number
  /** Always a bigint, however small. */
  I64: bigint
  U64: bigint
  F32: number
  F64: number
  /** `YYYY-MM-DD`. */
  Date: string
  /** RFC 3339, in UTC. */
  DateTime: string
  /** `base64:` and the bytes, or a URI. */
  Blob: string
}

type Scalar = keyof Scalars

/** The name of a type as a schema has it; with `?` a value may be null. */
export type TypeName = Scalar | `[${Scalar}]` | `Vector(${number})` | `enum(${string})`

/** What a column holds: a value of a type, or an object such as a whole node, by its properties. */
export type ColumnType = TypeName | `${TypeName}?` | Columns

/** Columns by their names. */
export interface Columns {
  readonly [name: string]: ColumnType
}

type Names<Text extends string> = Text extends `${infer First}, ${infer Rest}` ? First | Names<Rest> : Text

/** The type of TypeScript for the name of a type. */
export type ValueOf<Kind> = Kind extends `${infer Inner}?`
  ? ValueOf<Inner> | null
  : Kind extends Scalar
    ? Scalars[Kind]
    : Kind extends `[${infer Inner}]`
      ? ValueOf<Inner>[]
      : Kind extends `Vector(${number})`
        ? number[]
        : Kind extends `enum(${infer Text})`
          ? Names<Text>
          : Kind extends Columns
            ? RowOf<Kind>
            : Value

/** The row that columns make. */
export type RowOf<Kinds extends Columns> = { -readonly [Name in keyof Kinds]: ValueOf<Kinds[Name]> }

/** An answer does not hold what was said about it. */
export class ColumnError extends Error {
  override readonly name = 'ColumnError'
}

/** Return an object with its values as their types say; raises ColumnError when one is of another type. */
export function decode<const Kinds extends Columns>(columns: Kinds, row: { readonly [name: string]: Value }): RowOf<Kinds> {
  return decodeObject(columns, row, '') as RowOf<Kinds>
}

/** Return a 64-bit integer of an answer, which is a number, a bigint or the text of its digits. */
export function int64(value: Value): bigint {
  return integer(value, 'the value')
}

function decodeObject(columns: Columns, row: { readonly [name: string]: Value }, prefix: string): { [name: string]: unknown } {
  const found: { [name: string]: unknown } = { ...row }
  for (const [name, kind] of Object.entries(columns)) {
    const value = row[name]
    if (value === undefined) throw new ColumnError(`there is no column '${prefix}${name}'; there are ${Object.keys(row).join(', ')}`)
    found[name] = decodeValue(kind, value, `'${prefix}${name}'`)
  }
  return found
}

function decodeValue(kind: ColumnType, value: Value, where: string): unknown {
  if (typeof kind !== 'string') return decodeNode(kind, value, where)
  const isNullable = kind.endsWith('?')
  if (value !== null) return decodeKind(isNullable ? kind.slice(0, -1) : kind, value, where)
  if (isNullable) return null
  throw new ColumnError(`${where} is null; declare it as '${kind}?'`)
}

function decodeNode(columns: Columns, value: Value, where: string): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw mismatch('an object', value, where)
  return decodeObject(columns, value, `${where.slice(1, -1)}.`)
}

function decodeKind(kind: string, value: Value, where: string): unknown {
  if (kind.startsWith('[')) return list(value, kind, where).map((each) => decodeKind(kind.slice(1, -1), each, where))
  if (kind.startsWith('Vector(')) return list(value, kind, where).map((each) => plain('number', each, kind, where))
  switch (kind) {
    case 'I64':
    case 'U64':
      return integer(value, where)
    case 'I32':
    case 'U32':
    case 'F32':
    case 'F64':
      return plain('number', typeof value === 'bigint' && kind.startsWith('F') ? Number(value) : value, kind, where)
    case 'Bool':
      return plain('boolean', value, kind, where)
    default:
      return plain('string', value, kind, where)
  }
}

function integer(value: Value, where: string): bigint {
  if (typeof value === 'bigint') return value
  if (Number.isSafeInteger(value)) return BigInt(value as number)
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value)
  throw mismatch('an integer', value, where)
}

function plain(type: 'string' | 'number' | 'boolean', value: Value, kind: string, where: string): Value {
  if (typeof value !== type) throw mismatch(kind, value, where)
  return value
}

function list(value: Value, kind: string, where: string): Value[] {
  if (!Array.isArray(value)) throw mismatch(kind, value, where)
  return value
}

function mismatch(expected: string, value: Value, where: string): ColumnError {
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `the ${typeof value} ${String(value).slice(0, 60)}`
  return new ColumnError(`${where} is ${found}, not ${expected}`)
}
