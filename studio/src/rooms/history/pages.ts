/** Pages: how many commits are asked for. */

export const PAGE = 100
/** A server lists no more at once. */
export const MOST_COMMITS = 10_000

/** Return the limit that brings older commits too; null when there is none. */
export function olderLimit(limit: number): number | null {
  return limit < MOST_COMMITS ? Math.min(limit + PAGE * 4, MOST_COMMITS) : null
}
