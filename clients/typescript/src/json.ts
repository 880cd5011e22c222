/** Json: texts that are sent and received, without the loss of a digit. */

/** A value of an answer. An integer that a number cannot hold is a bigint, or a string of its digits. */
export type Value = null | boolean | number | bigint | string | Value[] | { [name: string]: Value }

/** A value that can be sent: a parameter, or a property of a row. */
export type Sent =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | Float32Array
  | Float64Array
  | readonly Sent[]
  | { readonly [name: string]: Sent }

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown

interface RawJson {
  parse(text: string, reviver: Reviver): unknown
  rawJSON(text: string): object
}

const raw = JSON as unknown as RawJson
/** Whether this JavaScript lets integers of any size through. */
export const isExact = typeof raw.rawJSON === 'function'

const LONG_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/

/** Return the value of a JSON text; integers beyond 2^53 - 1 are bigints. */
export function parseJson(text: string): Value {
  // A reviver costs far more than the rest, and few texts have an integer of so many digits.
  return (LONG_DIGITS.test(text) ? raw.parse(text, exact) : JSON.parse(text)) as Value
}

const exact: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context.source
  return source !== undefined && INTEGER.test(source) ? BigInt(source) : value
}

/**
 * Return a value as JSON: bigints as integers, bytes as the text of a Blob, arrays of floats as vectors.
 *
 * A number beyond 2^53 - 1 is written as a float, which no integer type takes: its last digits may be
 * lost already, and only a bigint has them. Raises RangeError for NaN, infinities and a Date without a time.
 */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, function (this: { readonly [name: string]: unknown }, key: string, each: unknown) {
    const given = this[key]
    if (given instanceof Date && Number.isNaN(given.getTime())) throw new RangeError('a Date without a time cannot be sent')
    // `toJSON` has run before: that of a Buffer makes an object of its bytes, and one that pages add to BigInt a text.
    return written(typeof given === 'bigint' || ArrayBuffer.isView(given) ? given : each)
  })
}

function written(value: unknown): unknown {
  if (typeof value === 'bigint') return raw.rawJSON(value.toString())
  if (typeof value === 'number') return number(value)
  if (value instanceof Uint8Array) return `base64:${base64(value)}`
  if (value instanceof Float32Array || value instanceof Float64Array) return Array.from(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw new TypeError('bytes are sent as a Uint8Array, vectors as a Float32Array')
  return value
}

function number(value: number): unknown {
  if (!Number.isFinite(value)) throw new RangeError(`${value} cannot be sent: JSON has no such number`)
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value
  const text = String(value)
  return raw.rawJSON(text.includes('e') ? text : `${text}.0`)
}

const BYTES_AT_A_TIME = 0x8000

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += BYTES_AT_A_TIME) text += String.fromCharCode(...bytes.subarray(at, at + BYTES_AT_A_TIME))
  return btoa(text)
}
