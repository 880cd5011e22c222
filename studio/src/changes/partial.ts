/** Partial: the changes of an answer of which only the beginning was read. */

import { parseJson } from '../api/json.ts'
import type { Change } from '../api/shapes.ts'

/** Return where the JSON value that begins at an offset ends, or -1 when it is not whole. */
function endOf(text: string, start: number): number {
  let depth = 0
  let isText = false
  for (let at = start; at < text.length; at += 1) {
    const each = text[at]
    if (isText) {
      if (each === '\\') at += 1
      else if (each === '"') isText = false
    } else if (each === '"') isText = true
    else if (each === '{' || each === '[') depth += 1
    else if (each === '}' || each === ']') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return -1
}

/** Return the changes that are whole in the beginning of a diff. */
export function wholeChanges(text: string): Change[] {
  const mark = text.indexOf('"changes":[')
  const found: Change[] = []
  let at = mark < 0 ? text.length : mark + '"changes":['.length
  while (at < text.length) {
    while (text[at] === ',' || text[at] === ' ' || text[at] === '\n') at += 1
    const end = text[at] === '{' ? endOf(text, at) : -1
    if (end < 0) break
    found.push(parseJson(text.slice(at, end)) as Change)
    at = end
  }
  return found
}
