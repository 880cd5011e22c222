/** Rooms: every room, with its key and how it is fetched; each is a file of its own until somebody enters. */

import type { ComponentType } from 'preact'
import type { Room } from './address.ts'

export interface RoomEntry {
  room: Room
  title: string
  /** Behind `g`, goes to the room. */
  key: string
  load: () => Promise<{ default: ComponentType }>
}

export const ENTRIES: readonly RoomEntry[] = [
  { room: 'overview', title: 'Overview', key: 'o', load: () => import('../rooms/overview/index.tsx') },
  { room: 'explore', title: 'Explore', key: 'e', load: () => import('../rooms/explore/index.tsx') },
  { room: 'query', title: 'Query', key: 'q', load: () => import('../rooms/query/index.tsx') },
  { room: 'history', title: 'History', key: 'h', load: () => import('../rooms/history/index.tsx') },
  { room: 'review', title: 'Review', key: 'v', load: () => import('../rooms/review/index.tsx') },
  { room: 'live', title: 'Live', key: 'l', load: () => import('../rooms/live/index.tsx') },
]
