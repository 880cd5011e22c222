/** Fetch: the changes between two commits, as many of them as a page can show. */

import { chunks, type Client } from '../api/client.ts'
import { parseJson } from '../api/json.ts'
import { wholeItems } from '../api/partial.ts'
import type { Change, Diff } from '../api/shapes.ts'

export interface Changes {
  changes: Change[]
  /** Whether there are more than were read. */
  isCut: boolean
}

const MOST_BYTES = 2 << 20

/** Return the counts of a diff, without its rows. */
export function askStats(client: Client, from: string, to: string, signal: AbortSignal): Promise<Diff> {
  return client.post<Diff>('/diff', { from, to, stat: true }, { signal })
}

/** Return the first changes of a diff; the rest is not read, however much it is. */
export async function askChanges(client: Client, about: { from: string; to: string; types?: string[] }, signal: AbortSignal): Promise<Changes> {
  const stop = new AbortController()
  const response = await client.open('POST', '/diff', about, { signal: AbortSignal.any([signal, stop.signal]) })
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of chunks(response)) {
    text += decoder.decode(part, { stream: true })
    if (text.length <= MOST_BYTES) continue
    stop.abort()
    return { changes: wholeItems<Change>(text, 'changes'), isCut: true }
  }
  return { changes: (parseJson(text + decoder.decode()) as Diff).changes, isCut: false }
}
