/** Format: numbers, times, ids and values as the page shows them; the same everywhere. */

import { writeJson } from '../api/json.ts'

const COUNT = new Intl.NumberFormat('en')
const SIGNS = { insert: '+', delete: '−', update: '~', conflict: '≠' } as const
const CLASSES = { insert: 'added', delete: 'removed', update: 'changed', conflict: 'conflict' } as const
const LONGEST_CELL = 200

export type Sign = keyof typeof SIGNS

/** Return the sign of a change: `+`, `−`, `~`, `≠`. */
export function signOf(op: Sign): string {
  return SIGNS[op]
}

/** Return the class that gives a change its colour. */
export function classOf(op: Sign): string {
  return CLASSES[op]
}

export function formatCount(value: number | bigint): string {
  return COUNT.format(value)
}

/** Return a number with its noun: `1 row`, `2,000 rows`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : plural}`
}

/** Return the part of a commit's id that tells it from others: the first part is its time. */
export function shortId(id: string): string {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(id) ? id.slice(-8) : id.length > 24 ? `${id.slice(0, 11)}…${id.slice(-11)}` : id
}

const STEPS: readonly (readonly [number, string])[] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
]

/** Return how long ago a time was, in the largest unit that fits. */
export function relativeTime(micros: number, now: number): string {
  let value = Math.round((now - micros / 1000) / 1000)
  if (value < 5) return 'just now'
  for (const [most, unit] of STEPS) {
    if (value < most) return `${counted(value, unit)} ago`
    value = Math.floor(value / most)
  }
  return `${counted(value, 'year')} ago`
}

/** Return a time exactly, in the zone of the reader. */
export function exactTime(micros: number): string {
  const date = new Date(micros / 1000)
  const pad = (value: number, size = 2): string => String(value).padStart(size, '0')
  const zone = -date.getTimezoneOffset()
  const sign = zone < 0 ? '−' : '+'
  const offset = `${sign}${pad(Math.floor(Math.abs(zone) / 60))}:${pad(Math.abs(zone) % 60)}`
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())} ${offset}`
}

/** Return a time span: `0.42 ms`, `12 ms`, `1.3 s`. */
export function formatMillis(millis: number): string {
  if (millis >= 1000) return `${(millis / 1000).toFixed(millis >= 10_000 ? 0 : 1)} s`
  if (millis >= 10) return `${Math.round(millis)} ms`
  return `${millis.toFixed(millis >= 1 ? 1 : 2)} ms`
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Return a text of at most so many characters, never half of one. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const end = most - 1
  const last = text.charCodeAt(end - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end)}…`
}

const NOT_OF_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** Return a text for a drawing or another document of XML, without the characters that XML has no way to write. */
export function xmlText(text: string): string {
  return text.replace(NOT_OF_XML, '').replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
}

/** Return a value as text, whole; null is empty. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'object') return writeJson(value)
  return String(value)
}

/** Return a value as one line that fits a cell. */
export function cellText(value: unknown): string {
  const whole = typeof value === 'string' ? value.slice(0, LONGEST_CELL * 2) : valueText(shortLists(value))
  return cut(whole.replace(/\s+/g, ' '), LONGEST_CELL)
}

function shortLists(value: unknown): unknown {
  if (!Array.isArray(value) || value.length <= 8) return value
  return [...value.slice(0, 8), `… ${value.length - 8} more`]
}

/** Return the type name of a table's key: `Person` of `node:Person`. */
export function typeOfTable(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}
