/** Canvas: nodes and edges that can be moved, chosen and opened, by mouse and by keyboard. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { counted } from '../look/format.ts'
import { TypeName } from '../look/parts.tsx'
import { saveFile } from '../look/save.ts'
import { useStudio } from '../shell/studio.tsx'
import { GraphScene } from './scene.ts'
import type { GraphEdge, GraphNode } from './shapes.ts'
import './canvas.css'

interface Props {
  nodes: readonly GraphNode[]
  edges: readonly GraphEdge[]
  /** The key of the chosen node; everything that is not beside it is dimmed. */
  selected: string | null
  select: (key: string | null) => void
  /** What Enter and a double click do. */
  open?: (key: string) => void
  /** The file name of pictures. */
  name: string
}

export function GraphCanvas({ nodes, edges, selected, select, open, name }: Props) {
  const { colours } = useStudio()
  const element = useRef<HTMLCanvasElement>(null)
  const scene = useRef<GraphScene | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const handlers = useRef({ select, open })
  handlers.current = { select, open }
  useEffect(() => {
    if (element.current === null) return
    const made = new GraphScene(element.current, {
      select: (key) => handlers.current.select(key),
      open: (key) => handlers.current.open?.(key),
    })
    scene.current = made
    return () => made.close()
  }, [])
  useEffect(() => scene.current?.show(nodes, edges, colours), [nodes, edges, colours])
  useEffect(() => scene.current?.choose(selected), [selected, nodes])
  const chosen = nodes.find((each) => each.key === selected)
  const types = [...new Set(nodes.map((each) => each.type))].sort()
  return (
    <div class="graph-canvas">
      <canvas ref={element} tabIndex={0} role="application" aria-label={`Graph of ${counted(nodes.length, 'node')} and ${counted(edges.length, 'edge')}. Arrow keys choose a node, Enter opens it, plus and minus zoom, 0 shows all.`} />
      <div class="hidden" role="status">
        {chosen === undefined ? '' : `${chosen.type} ${chosen.label}`}
      </div>
      <div class="legend small">
        {types.map((each) => (
          <TypeName key={each} name={each} />
        ))}
        <span class="soft">
          {counted(nodes.length, 'node')}, {counted(edges.length, 'edge')}
        </span>
      </div>
      <div class="tools">
        <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => scene.current?.zoom(1.3)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => scene.current?.zoom(1 / 1.3)}>
          −
        </button>
        <button type="button" title="Show all (0)" onClick={() => scene.current?.fit()}>
          Fit
        </button>
        <button
          type="button"
          title="Save what is seen as a picture"
          onClick={() =>
            scene.current?.png().then(
              (blob) => saveFile(blob, `${name}.png`),
              (error: unknown) => setProblem(String(error)),
            )
          }
        >
          PNG
        </button>
        <button type="button" title="Save all of it as a drawing" onClick={() => scene.current && saveFile(new Blob([scene.current.svg()], { type: 'image/svg+xml' }), `${name}.svg`)}>
          SVG
        </button>
      </div>
      {problem === null ? null : (
        <p class="failure" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
