/** Feed: the newest commits of a branch with their changes, as events bring them. */

import { parseJson } from '../../api/json.ts'
import type { ServerEvent } from '../../api/events.ts'
import type { Change, Commit, CommitChanges, SchemaStep, Stats } from '../../api/shapes.ts'

export interface LiveCommit {
  commit: Commit
  stats: Stats
  schemaSteps: SchemaStep[]
  /** The first of its changes. */
  changes: Change[]
  count: number
}

export interface LiveState {
  /** Where to go on after the connection broke. */
  cursor: string | null
  commits: LiveCommit[]
  /** Changes of a commit whose end has not come yet. */
  pending: Change[]
  pendingCount: number
  total: number
}

const MOST_COMMITS = 200
const MOST_CHANGES = 50

export const NOTHING: LiveState = { cursor: null, commits: [], pending: [], pendingCount: 0, total: 0 }

/** Return the state after one more event. */
export function withEvent(state: LiveState, event: ServerEvent): LiveState {
  const cursor = event.id ?? state.cursor
  if (event.name === 'changes') {
    const { changes } = parseJson(event.data) as { changes: Change[] }
    return { ...state, cursor, pending: [...state.pending, ...changes].slice(0, MOST_CHANGES), pendingCount: state.pendingCount + changes.length }
  }
  if (event.name !== 'commit') return { ...state, cursor }
  const { commit, stats, schema_steps } = parseJson(event.data) as CommitChanges
  const made: LiveCommit = { commit, stats, schemaSteps: schema_steps, changes: state.pending, count: state.pendingCount }
  const isKnown = state.commits.some((each) => each.commit.graph_commit_id === commit.graph_commit_id)
  return {
    cursor,
    commits: isKnown ? state.commits : [made, ...state.commits].slice(0, MOST_COMMITS),
    pending: [],
    pendingCount: 0,
    total: state.total + (isKnown ? 0 : 1),
  }
}

/** Forget what came of a commit before the connection broke; it is sent again as a whole. */
export function broken(state: LiveState): LiveState {
  return { ...state, pending: [], pendingCount: 0 }
}
