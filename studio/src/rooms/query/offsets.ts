/** Offsets: the server counts characters of a text by code points, editors by UTF-16 units. */

/** Return the UTF-16 offset of a code point. */
export function toUnits(text: string, points: number): number {
  let units = 0
  for (let left = points; left > 0 && units < text.length; left -= 1) units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1
  return units
}

/** Return how many code points are before a UTF-16 offset. */
export function toPoints(text: string, units: number): number {
  let points = 0
  for (let at = 0; at < units && at < text.length; points += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return points
}
