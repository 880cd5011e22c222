/** Colours: a type keeps its colour wherever it is drawn. */

export const COLOURS = 10

function hash(text: string): number {
  let value = 2166136261
  for (const each of text) value = Math.imul(value ^ (each.codePointAt(0) ?? 0), 16777619)
  return value >>> 0
}

/** Return a colour for each type, nodes first; those of few types all differ, and a new type changes few others. */
export function colourTypes(nodes: readonly string[], edges: readonly string[]): Map<string, number> {
  const chosen = new Map<string, number>()
  const used = new Array<number>(COLOURS).fill(0)
  for (const name of [...[...nodes].sort(), ...[...edges].sort()]) {
    let colour = hash(name) % COLOURS
    const least = Math.min(...used)
    while (used[colour] !== least) colour = (colour + 1) % COLOURS
    used[colour] = least + 1
    chosen.set(name, colour)
  }
  return chosen
}
