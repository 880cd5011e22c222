/** Address: room, graph, branch, commit and what a room adds, as the part of the address behind `#`. */

export const ROOMS = ['overview', 'explore', 'query', 'history', 'review', 'live'] as const

export type Room = (typeof ROOMS)[number]

export interface Address {
  room: Room
  graph: string | null
  branch: string
  /** A commit or tag to look at instead of the newest of the branch. */
  commit: string | null
  /** What the room itself puts into the address, such as a query or a selection. */
  extra: Readonly<Record<string, string>>
}

export const MAIN = 'main'
const OWN = ['graph', 'branch', 'commit']

/** Return the address that a fragment such as `#/query?branch=main` names; what is wrong means the overview. */
export function parseAddress(fragment: string): Address {
  const text = fragment.replace(/^#\/?/, '')
  const cut = text.indexOf('?')
  const name = cut < 0 ? text : text.slice(0, cut)
  const search = new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1))
  const room = ROOMS.find((each) => each === name) ?? 'overview'
  const extra: Record<string, string> = {}
  for (const [key, value] of search) if (!OWN.includes(key)) extra[key] = value
  return { room, graph: search.get('graph'), branch: search.get('branch') || MAIN, commit: search.get('commit') || null, extra }
}

export function formatAddress(address: Address): string {
  const search = new URLSearchParams()
  if (address.graph !== null) search.set('graph', address.graph)
  if (address.branch !== MAIN) search.set('branch', address.branch)
  if (address.commit !== null) search.set('commit', address.commit)
  for (const key of Object.keys(address.extra).sort()) {
    const value = address.extra[key]
    if (value) search.set(key, value)
  }
  const text = search.toString()
  return `#/${address.room}${text ? `?${text}` : ''}`
}

/** What changes about an address; going to another room leaves the extras of the room behind. */
export interface Move {
  room?: Room
  graph?: string | null
  branch?: string
  commit?: string | null
  extra?: Readonly<Record<string, string | null>>
}

export function moved(from: Address, move: Move): Address {
  const room = move.room ?? from.room
  const graph = move.graph === undefined ? from.graph : move.graph
  const branch = move.branch ?? (graph === from.graph ? from.branch : MAIN)
  const keepsPlace = graph === from.graph && branch === from.branch
  const extra: Record<string, string> = room === from.room && graph === from.graph ? { ...from.extra } : {}
  for (const [key, value] of Object.entries(move.extra ?? {})) {
    if (value === null || value === '') delete extra[key]
    else extra[key] = value
  }
  return { room, graph, branch, commit: move.commit === undefined ? (keepsPlace ? from.commit : null) : move.commit, extra }
}

/** Return the one-time code of an address such as `#code=…`, if it is one. */
export function codeOf(fragment: string): string | null {
  const found = /^#code=([^&]+)$/.exec(fragment)
  return found?.[1] ? decodeURIComponent(found[1]) : null
}
