/** Reading: asks for the answer of a query, as far as the page holds it. */

import type { Client } from '../../api/client.ts'
import { headOf, wholeItems } from '../../api/partial.ts'
import type { Row, Rows } from '../../api/shapes.ts'

const MOST_BYTES = 64 << 20

interface Reading {
  signal: AbortSignal
  /** Told how many bytes have come. */
  progress: (bytes: number) => void
}

/** Return the rows that came before an answer was too large; null if not one of them did. */
function firstRows(text: string): Rows | null {
  const head = headOf(text, 'rows')
  const rows = wholeItems<Row>(text, 'rows')
  return head === null || rows.length === 0 ? null : { ...(head as unknown as Rows), rows }
}

/** Return the rows of a query, of a very large answer only the first ones. */
export function askRows(client: Client, path: string, body: unknown, reading: Reading): Promise<Rows> {
  return client.ask<Rows>(path, body, { ...reading, most: MOST_BYTES, begun: firstRows })
}

/** Return how a query is run; raises ApiError when that is too large. */
export function askPlan<T>(client: Client, body: unknown, reading: Reading): Promise<T> {
  return client.ask<T>('/read', body, { ...reading, most: MOST_BYTES })
}
