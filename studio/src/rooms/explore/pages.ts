/** Pages: the neighbours of what grew, each page asked for once. */

import type { Client } from '../../api/client.ts'
import type { Neighbors } from '../../api/shapes.ts'
import type { Fetched, Grown } from './grown.ts'

export const PAGE = 50

/** The pages that were read at one place, in their order, by what grew. */
export type ReadPages = Map<string, readonly Neighbors[]>

/** Return the neighbours of something grown; asks for the pages that were not read before. */
export async function askGrown(client: Client, grown: Grown, where: Record<string, string>, read: ReadPages, signal: AbortSignal): Promise<Fetched> {
  const { node, edge, direction } = grown
  const name = JSON.stringify([...node, edge, direction])
  let pages = read.get(name) ?? []
  while (pages.length < grown.pages && pages.at(-1)?.cursor !== null) {
    const cursor = pages.at(-1)?.cursor ?? null
    pages = [...pages, await client.get<Neighbors>('/neighbors', { type: node[0], id: node[1], edge, direction, limit: PAGE, cursor, ...where }, { signal })]
    read.set(name, pages)
  }
  const shown = pages.slice(0, grown.pages)
  return { grown, answer: { ...(shown.at(-1) as Neighbors), neighbors: shown.flatMap((each) => each.neighbors) } }
}
