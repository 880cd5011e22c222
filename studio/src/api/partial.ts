/** Partial: what is whole in an answer of which only the beginning was read. */

import { parseJson } from './json.ts'

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

/** Return the members of a list of an answer that are whole in its beginning. */
export function wholeItems<T>(text: string, list: string): T[] {
  const mark = `"${list}":[`
  const start = text.indexOf(mark)
  const found: T[] = []
  let at = start < 0 ? text.length : start + mark.length
  while (at < text.length) {
    while (text[at] === ',' || text[at] === ' ' || text[at] === '\n') at += 1
    const end = text[at] === '{' ? endOf(text, at) : -1
    if (end < 0) break
    found.push(parseJson(text.slice(at, end)) as T)
    at = end
  }
  return found
}

/** Return the beginning of an answer without the list, which is the last of its fields; null when even that is not whole. */
export function headOf(text: string, list: string): Record<string, unknown> | null {
  const start = text.indexOf(`"${list}":[`)
  if (start < 0) return null
  return parseJson(`${text.slice(0, start)}"${list}":[]}`) as Record<string, unknown>
}
