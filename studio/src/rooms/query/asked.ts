/** Asked: the questions that were asked in this browser, newest first. */

export interface Question {
  graph: string
  text: string
  name: string | null
  params: Readonly<Record<string, string>>
  /** Milliseconds since 1970. */
  at: number
  /** How many rows there were, or null for what is no read. */
  rows: number | null
  millis: number
}

const KEY = 'omnigraph.asked'
const MOST = 100
const LONGEST = 20_000

/** Return the list with one more question; the same one again only moves to the front. */
export function withQuestion(list: readonly Question[], question: Question): Question[] {
  if (question.text.length > LONGEST) return [...list]
  const same = (each: Question): boolean => each.graph === question.graph && each.text === question.text && each.name === question.name && JSON.stringify(each.params) === JSON.stringify(question.params)
  return [question, ...list.filter((each) => !same(each))].slice(0, MOST)
}

export function readAsked(storage: Storage): Question[] {
  try {
    const found: unknown = JSON.parse(storage.getItem(KEY) ?? '[]')
    return Array.isArray(found) ? (found as Question[]) : []
  } catch {
    // Something else wrote there; a list of questions is no loss.
    return []
  }
}

/** Keep the list; when the storage is full, as much of it as there is room for. */
export function keepAsked(storage: Storage, list: readonly Question[]): void {
  for (let size = list.length; size >= 0; size = size > 0 ? Math.floor(size / 2) : -1) {
    try {
      storage.setItem(KEY, JSON.stringify(list.slice(0, size)))
      return
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
    }
  }
}
