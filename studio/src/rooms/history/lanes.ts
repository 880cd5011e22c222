/** Lanes: the commits of branches as a drawing of lines, one row for each commit, newest first. */

import type { Commit } from '../../api/shapes.ts'

export interface LaneRow {
  commit: Commit
  /** The lane of the commit itself. */
  lane: number
  /** Lines from the row above to this one and from this one to the next, by their lanes. */
  above: { from: number; to: number }[]
  below: { from: number; to: number }[]
}

export interface Lanes {
  rows: LaneRow[]
  width: number
}

export function parentsOf(commit: Commit): string[] {
  return [commit.parent_commit_id, commit.merged_parent_commit_id].filter((each) => each !== null)
}

/** Return commits of several branches, each once, so that none comes before what was made of it. */
export function sortCommits(commits: readonly Commit[]): Commit[] {
  const known = new Map(commits.map((each) => [each.graph_commit_id, each]))
  const waiting = new Map<string, number>([...known.keys()].map((id) => [id, 0]))
  for (const each of known.values()) for (const parent of parentsOf(each)) if (waiting.has(parent)) waiting.set(parent, (waiting.get(parent) ?? 0) + 1)
  const newest = (one: Commit, other: Commit): number => other.created_at - one.created_at || (other.graph_commit_id < one.graph_commit_id ? -1 : 1)
  const ready = [...known.values()].filter((each) => waiting.get(each.graph_commit_id) === 0).sort(newest)
  const sorted: Commit[] = []
  while (ready.length > 0) {
    const next = ready.shift() as Commit
    sorted.push(next)
    for (const parent of parentsOf(next)) {
      const left = (waiting.get(parent) ?? 0) - 1
      waiting.set(parent, left)
      const found = known.get(parent)
      if (left === 0 && found !== undefined) {
        const at = ready.findIndex((each) => newest(found, each) < 0)
        ready.splice(at < 0 ? ready.length : at, 0, found)
      }
    }
  }
  return sorted
}

export function layLanes(commits: readonly Commit[]): Lanes {
  const lanes: (string | null)[] = []
  const rows: LaneRow[] = []
  let width = 1
  const free = (): number => {
    const at = lanes.indexOf(null)
    return at < 0 ? lanes.length : at
  }
  for (const commit of commits) {
    const id = commit.graph_commit_id
    const found = lanes.indexOf(id)
    const lane = found < 0 ? free() : found
    // Every lane that waits for this commit ends here.
    const above = lanes.flatMap((waits, at) => (waits === null ? [] : [{ from: at, to: waits === id ? lane : at }]))
    lanes.forEach((waits, at) => {
      if (waits === id) lanes[at] = null
    })
    lanes[lane] = null
    const below: LaneRow['below'] = lanes.flatMap((waits, at) => (waits === null ? [] : [{ from: at, to: at }]))
    parentsOf(commit).forEach((parent, at) => {
      const known = lanes.indexOf(parent)
      const target = at === 0 ? lane : known >= 0 ? known : free()
      lanes[target] = parent
      below.push({ from: lane, to: target })
    })
    width = Math.max(width, lanes.length)
    rows.push({ commit, lane, above, below })
    while (lanes.length > 0 && lanes[lanes.length - 1] === null) lanes.pop()
  }
  return { rows, width }
}
