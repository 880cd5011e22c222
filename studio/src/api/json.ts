/** JSON as the server sends it, with integers that a number cannot hold kept whole. */

export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json }

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown

const LONG_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/

const keepIntegers: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source
  return source !== undefined && INTEGER.test(source) ? BigInt(source) : value
}

/** Return the value of a JSON text; integers past 2^53 become bigints instead of being rounded. */
export function parseJson(text: string): unknown {
  return LONG_DIGITS.test(text) ? JSON.parse(text, keepIntegers as (key: string, value: unknown) => unknown) : JSON.parse(text)
}

type RawJson = { rawJSON?: (text: string) => unknown }

/** Return a value as JSON text; bigints are written as the integers that they are. */
export function writeJson(value: unknown, indent?: number): string {
  const raw = (JSON as unknown as RawJson).rawJSON
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? (raw ? raw(String(each)) : String(each)) : each), indent)
}
