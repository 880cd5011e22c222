/** Rows: which rows of a long table are in sight, where each stands, and where keys lead. */

export interface Cell {
  row: number
  column: number
}

export interface Sight {
  begin: number
  end: number
  /** The height of all rows, as far as browsers can scroll. */
  total: number
  topOf: (row: number) => number
}

// Browsers draw nothing past about 16 million pixels.
const TALLEST = 8_000_000

/** Return what is in sight; a table that is too tall is scrolled through in larger steps. */
export function placeRows(asked: { count: number; row: number; height: number; top: number; spare: number }): Sight {
  const { count, row, height, spare } = asked
  const whole = count * row
  const total = Math.min(whole, TALLEST)
  const top = Math.max(0, Math.min(asked.top, total - height))
  const reach = Math.max(1, total - height)
  const skipped = whole > TALLEST ? (top / reach) * (whole - total) : 0
  const first = Math.floor((top + skipped) / row)
  const begin = Math.max(0, first - spare)
  const end = Math.min(count, first + Math.ceil(height / row) + spare)
  const topOf = (each: number): number => {
    if (whole <= TALLEST) return each * row
    if (each >= begin && each < end) return each * row - skipped
    return (each * row * reach) / Math.max(1, whole - height)
  }
  return { begin, end, total, topOf }
}

/** Return the cell that a key leads to, or null when it leads nowhere. */
export function moveCell(from: Cell, key: string, about: { rows: number; columns: number; page: number; isFar: boolean }): Cell | null {
  const { rows, columns, page, isFar } = about
  if (rows === 0 || columns === 0) return null
  const at = (row: number, column: number): Cell => ({ row: Math.max(0, Math.min(rows - 1, row)), column: Math.max(0, Math.min(columns - 1, column)) })
  switch (key) {
    case 'ArrowDown':
      return at(isFar ? rows - 1 : from.row + 1, from.column)
    case 'ArrowUp':
      return at(isFar ? 0 : from.row - 1, from.column)
    case 'ArrowLeft':
      return at(from.row, from.column - 1)
    case 'ArrowRight':
      return at(from.row, from.column + 1)
    case 'PageDown':
      return at(from.row + page, from.column)
    case 'PageUp':
      return at(from.row - page, from.column)
    case 'Home':
      return at(isFar ? 0 : from.row, 0)
    case 'End':
      return at(isFar ? rows - 1 : from.row, columns - 1)
    default:
      return null
  }
}

/** Return how far to scroll sideways so that a column is in sight; its beginning, when it is wider than what is seen. */
export function scrollTo(asked: { widths: readonly number[]; column: number; left: number; width: number }): number {
  const from = asked.widths.slice(0, asked.column).reduce((sum, each) => sum + each, 0)
  const to = from + (asked.widths[asked.column] ?? 0)
  if (from < asked.left || to - from > asked.width) return from
  return Math.max(asked.left, to - asked.width)
}

/** Return a width in pixels for texts of a column. */
export function widthFor(name: string, texts: readonly string[]): number {
  const longest = texts.reduce((most, each) => Math.max(most, each.length), 0)
  return Math.round(Math.max(72, Math.min(360, Math.max(longest * 7.4, name.length * 8 + 40) + 20)))
}
