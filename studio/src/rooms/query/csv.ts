/** CSV: rows as a spreadsheet reads them; texts that it would take for a formula are kept texts. */

import type { Row } from '../../api/shapes.ts'
import { valueText } from '../../look/format.ts'

function cell(value: unknown): string {
  const text = valueText(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function toCsv(columns: readonly string[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((name) => cell(row[name])).join(','))
  return `${[columns.map(cell).join(','), ...lines].join('\r\n')}\r\n`
}
