/** Layout: places of the types of a schema in layers, so that most edges go from left to right. */

export interface Box {
  name: string
  x: number
  y: number
}

export interface Link {
  source: string
  target: string
}

export interface Point {
  x: number
  y: number
}

export interface Drawing {
  boxes: Map<string, Box>
  /** Where an edge passes between the boxes of the columns in between, by `source\ntarget`. */
  bends: Map<string, Point[]>
  width: number
  height: number
}

/** What stands in a column: a box, or the gap through which a long edge goes. */
interface Item {
  name: string
  link: string | null
  near: Item[]
}

export const BOX_WIDTH = 176
export const BOX_HEIGHT = 52
const GAP_X = 104
const GAP_Y = 28
const BEND_HEIGHT = 12
const MARGIN = 24
const SWEEPS = 8

export function linkKey(link: Link): string {
  return `${link.source}\n${link.target}`
}

/** Return the layer of each name; edges that would close a circle are left out of the count. */
export function layersOf(names: readonly string[], links: readonly Link[]): Map<string, number> {
  const next = new Map<string, string[]>(names.map((name) => [name, []]))
  const incoming = new Map<string, number>()
  for (const { source, target } of links) {
    if (source === target || !next.has(target)) continue
    next.get(source)?.push(target)
    incoming.set(target, (incoming.get(target) ?? 0) + 1)
  }
  const state = new Map<string, 'open' | 'done'>()
  const kept = new Map<string, string[]>()
  const order: string[] = []
  const visit = (name: string): void => {
    state.set(name, 'open')
    const reached = (next.get(name) ?? []).filter((to) => {
      if (!state.has(to)) visit(to)
      return state.get(to) === 'done'
    })
    kept.set(name, reached)
    state.set(name, 'done')
    order.push(name)
  }
  const byIncoming = [...names].sort((one, other) => (incoming.get(one) ?? 0) - (incoming.get(other) ?? 0))
  for (const name of byIncoming) if (!state.has(name)) visit(name)
  const layers = new Map<string, number>(names.map((name) => [name, 0]))
  for (const name of order.reverse()) {
    for (const to of kept.get(name) ?? []) layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(name) ?? 0) + 1))
  }
  return layers
}

/** Return the column of each name, with columns of at most so many boxes; what no edge touches comes last. */
function columnsOf(names: readonly string[], links: readonly Link[], tallest: number): string[][] {
  const touched = new Set(links.flatMap((each) => [each.source, each.target]))
  const columns: string[][] = []
  for (const [name, layer] of layersOf(names.filter((name) => touched.has(name)), links)) (columns[layer] ??= []).push(name)
  const alone = names.filter((name) => !touched.has(name))
  return [...columns.filter((each) => each !== undefined), ...(alone.length ? [alone] : [])].flatMap((column) => {
    const parts = Math.ceil(column.length / tallest)
    const size = Math.ceil(column.length / parts)
    return Array.from({ length: parts }, (_, at) => column.slice(at * size, (at + 1) * size))
  })
}

/** Return the columns as items, with a gap in each column that an edge passes. */
function withBends(columns: readonly string[][], links: readonly Link[]): Item[][] {
  const places = new Map<string, { column: number; item: Item }>()
  const items = columns.map((column, at) =>
    column.map((name) => {
      const item: Item = { name, link: null, near: [] }
      places.set(name, { column: at, item })
      return item
    }),
  )
  for (const link of new Map(links.map((each) => [linkKey(each), each])).values()) {
    const from = places.get(link.source)
    const to = places.get(link.target)
    if (from === undefined || to === undefined || from === to) continue
    const step = to.column > from.column ? 1 : -1
    let last = from.item
    for (let column = from.column + step; from.column !== to.column && column !== to.column; column += step) {
      const bend: Item = { name: '', link: linkKey(link), near: [last] }
      last.near.push(bend)
      items[column]?.push(bend)
      last = bend
    }
    last.near.push(to.item)
    to.item.near.push(last)
  }
  return items
}

/** Order each column by the middle of the neighbours in other columns, which uncrosses edges. */
function untangle(columns: Item[][]): void {
  const height = new Map<Item, number>()
  const measure = (column: Item[]): void => column.forEach((item, at) => height.set(item, (at + 0.5) / column.length))
  columns.forEach(measure)
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const own = new Set(column)
      const middles = new Map(
        column.map((item) => {
          const others = item.near.filter((each) => !own.has(each)).map((each) => height.get(each) ?? 0.5)
          return [item, others.length ? others.reduce((sum, each) => sum + each, 0) / others.length : (height.get(item) ?? 0.5)]
        }),
      )
      column.sort((one, other) => (middles.get(one) ?? 0) - (middles.get(other) ?? 0))
      measure(column)
    }
  }
}

const heightOf = (item: Item): number => (item.link === null ? BOX_HEIGHT : BEND_HEIGHT)

function columnHeight(column: readonly Item[]): number {
  return column.reduce((sum, item) => sum + heightOf(item) + GAP_Y, -GAP_Y)
}

export function layOut(names: readonly string[], links: readonly Link[]): Drawing {
  const columns = withBends(columnsOf(names, links, Math.max(4, Math.ceil(Math.sqrt(names.length) * 1.2))), links)
  untangle(columns)
  const height = Math.max(BOX_HEIGHT, ...columns.map(columnHeight)) + MARGIN * 2
  const boxes = new Map<string, Box>()
  const bends = new Map<string, Point[]>()
  columns.forEach((column, across) => {
    const x = MARGIN + across * (BOX_WIDTH + GAP_X)
    let y = (height - columnHeight(column)) / 2
    for (const item of column) {
      if (item.link === null) boxes.set(item.name, { name: item.name, x, y })
      else bends.set(item.link, [...(bends.get(item.link) ?? []), { x: x + BOX_WIDTH / 2, y: y + BEND_HEIGHT / 2 }])
      y += heightOf(item) + GAP_Y
    }
  })
  for (const [key, points] of bends) {
    const from = boxes.get(key.slice(0, key.indexOf('\n')))
    const to = boxes.get(key.slice(key.indexOf('\n') + 1))
    const isForward = (from?.x ?? 0) < (to?.x ?? 0)
    points.sort((one, other) => (isForward ? one.x - other.x : other.x - one.x))
  }
  return { boxes, bends, width: columns.length * (BOX_WIDTH + GAP_X) - GAP_X + MARGIN * 2, height }
}
