/** Diagram: the types of the graph as boxes with their counts, joined by the edges between them. */

import { useMemo } from 'preact/hooks'
import type { EdgeType, Schema } from '../../api/shapes.ts'
import { counted, cut } from '../../look/format.ts'
import { useStudio } from '../../shell/studio.tsx'
import { BOX_HEIGHT, BOX_WIDTH, layOut, linkKey, type Box, type Point } from './layout.ts'

interface Drawn {
  names: string[]
  source: string
  target: string
}

/** Return one line for all edges between the same two types. */
function bundled(edges: readonly EdgeType[]): Drawn[] {
  const lines = new Map<string, Drawn>()
  for (const each of edges) {
    const key = `${each.source}\n${each.target}`
    const line = lines.get(key)
    if (line) line.names.push(each.name)
    else lines.set(key, { names: [each.name], source: each.source, target: each.target })
  }
  return [...lines.values()]
}

interface Curve {
  path: string
  x: number
  y: number
}

/** Return a smooth line from one box to another through the gaps that the layout kept for it. */
function curve(from: Box, to: Box, bends: readonly Point[]): Curve {
  const middle = BOX_HEIGHT / 2
  if (from === to) {
    const x = from.x + BOX_WIDTH - 40
    return { path: `M${x} ${from.y} c0 -22 28 -22 28 0`, x: x + 14, y: from.y - 20 }
  }
  const isForward = to.x > from.x
  const isBeside = to.x === from.x
  const start = { x: isForward || isBeside ? from.x + BOX_WIDTH : from.x, y: from.y + middle + (isForward ? -6 : 6) }
  const end = { x: isForward ? to.x : to.x + BOX_WIDTH, y: to.y + middle + (isForward ? -6 : 6) }
  const side = isForward || isBeside ? 1 : -1
  let path = `M${start.x} ${start.y}`
  let last = start
  for (const point of bends) {
    // Through the whole width of a column straight, so that the line stays between its boxes.
    const before = { x: point.x - (side * BOX_WIDTH) / 2, y: point.y }
    const after = { x: point.x + (side * BOX_WIDTH) / 2, y: point.y }
    const half = Math.abs(before.x - last.x) / 2
    path += ` C${last.x + side * half} ${last.y} ${before.x - side * half} ${before.y} ${before.x} ${before.y} L${after.x} ${after.y}`
    last = after
  }
  const bend = isBeside ? 44 : Math.abs(end.x - last.x) / 2
  const c1 = last.x + side * bend
  const c2 = end.x + (isForward ? -bend : bend)
  path += ` C${c1} ${last.y} ${c2} ${end.y} ${end.x} ${end.y}`
  const label = bends[Math.floor((bends.length - 1) / 2)]
  if (label !== undefined) return { path, x: label.x, y: label.y - 4 }
  return { path, x: (last.x + 3 * c1 + 3 * c2 + end.x) / 8, y: (last.y + end.y) / 2 - 4 }
}

export function Diagram({ schema, counts, selected, select }: { schema: Schema; counts: Map<string, number>; selected: string | null; select: (name: string) => void }) {
  const { colours } = useStudio()
  const links = useMemo(() => schema.edges.flatMap((edge) => spread(schema, edge)), [schema])
  const drawing = useMemo(() => layOut(schema.nodes.map((each) => each.name), links), [schema, links])
  const isNear = (line: Drawn): boolean => selected === null || line.source === selected || line.target === selected || line.names.includes(selected)
  return (
    <div class="diagram scroll" tabIndex={0} role="region" aria-label="Diagram of the types; the table beside it says the same">
      <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} style={{ width: `${Math.round(drawing.width * 1.25)}px`, minWidth: `${Math.round(drawing.width * 0.75)}px` }} role="img" aria-label={`${counted(schema.nodes.length, 'node type')} and ${counted(schema.edges.length, 'edge type')}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
            <path d="M0 1 7 4 0 7z" />
          </marker>
        </defs>
        {bundled(links).map((line) => {
          const from = drawing.boxes.get(line.source)
          const to = drawing.boxes.get(line.target)
          if (from === undefined || to === undefined) return null
          const drawn = curve(from, to, drawing.bends.get(linkKey(line)) ?? [])
          return (
            <g key={`${line.source} ${line.target}`} class={isNear(line) ? 'edge' : 'edge far'}>
              <path d={drawn.path} marker-end="url(#arrow)" />
              <text x={drawn.x} y={drawn.y} text-anchor="middle">
                {cut(line.names.slice(0, 2).join(', '), 24)}
                {line.names.length > 2 ? ` +${line.names.length - 2}` : ''}
                <title>{line.names.join(', ')}</title>
              </text>
            </g>
          )
        })}
        {schema.nodes.map((node) => {
          const box = drawing.boxes.get(node.name)
          if (box === undefined) return null
          return (
            <g key={node.name} class={`box${node.name === selected ? ' chosen' : ''}`} transform={`translate(${box.x} ${box.y})`} data-colour={colours.get(node.name)} onClick={() => select(node.name)}>
              <rect width={BOX_WIDTH} height={BOX_HEIGHT} rx="6" />
              <path class="stripe" d={`M3 0 h3 v${BOX_HEIGHT} h-3 a3 3 0 0 1 -3 -3 v-${BOX_HEIGHT - 6} a3 3 0 0 1 3 -3`} />
              <text class="title" x="16" y="22">
                {cut(node.name, 20)}
              </text>
              <text class="about" x="16" y="40">
                {counted(counts.get(`node:${node.name}`) ?? 0, 'node')} · {counted(node.properties.length, 'property', 'properties')}
              </text>
              <title>{node.description ?? node.name}</title>
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** Return an edge for each pair of node types that it joins: an interface stands for all that implement it. */
function spread(schema: Schema, edge: EdgeType): EdgeType[] {
  const members = (name: string): string[] => {
    if (schema.nodes.some((each) => each.name === name)) return [name]
    return schema.nodes.filter((each) => each.implements.includes(name)).map((each) => each.name)
  }
  return members(edge.source).flatMap((source) => members(edge.target).map((target) => ({ ...edge, source, target })))
}
