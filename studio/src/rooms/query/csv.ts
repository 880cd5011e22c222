/** CSV: rows as a spreadsheet reads them; texts that it would take for a formula are kept texts. */

import type { QueryColumn, Row } from '../../api/shapes.ts'
import { valueText } from '../../look/format.ts'

// These come as texts where a number would lose digits, and are no formulas.
const LONG_INTEGER = /^[IU]64\??$/

function cell(value: unknown, isInteger: boolean): string {
  const text = valueText(value)
  const safe = typeof value === 'string' && !isInteger && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Return the columns of rows as CSV; `known` has the types of those that are known. */
export function toCsv(columns: readonly string[], known: readonly QueryColumn[], rows: readonly Row[]): string {
  const integers = new Set(known.filter((each) => LONG_INTEGER.test(each.type)).map((each) => each.name))
  const lines = rows.map((row) => columns.map((name) => cell(row[name], integers.has(name))).join(','))
  return `${[columns.map((name) => cell(name, false)).join(','), ...lines].join('\r\n')}\r\n`
}
