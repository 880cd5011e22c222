/** Health: which indexes lack rows that an optimize would add, and which are left alone for a reason. */

import type { IndexCoverage } from '../../api/shapes.ts'

export interface IndexHealth {
  /** Indexes that an optimize would complete. */
  pending: IndexCoverage[]
  /** Indexes that are left alone, by the reason for it. */
  left: Map<string, number>
}

// The server says so of indexes that wait for one; any other reason is one to leave them alone.
const DUE = /optimize/

export function indexHealth(indexes: readonly IndexCoverage[]): IndexHealth {
  const pending: IndexCoverage[] = []
  const left = new Map<string, number>()
  for (const each of indexes) {
    if (each.rows_pending === 0) continue
    if (each.reason === null || DUE.test(each.reason)) pending.push(each)
    else left.set(each.reason, (left.get(each.reason) ?? 0) + 1)
  }
  return { pending: pending.sort((one, other) => other.rows_pending - one.rows_pending), left }
}
