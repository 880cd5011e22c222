/** Scene: nodes and edges on a canvas: their places, what is chosen, and how they are drawn. */

import { COLOURS } from '../look/colours.ts'
import { cut, xmlText } from '../look/format.ts'
import { fitted, nearest, toward, zoomed, type Camera } from './camera.ts'
import type { GraphEdge, GraphNode, LayoutAnswer, LayoutRequest, PinRequest } from './shapes.ts'

const RADIUS = 9
const MOST_LABELS = 220
const LABEL_SCALE = 0.55
const LONGEST_LABEL = 28
const DIM = 0.12
const SPREAD = 36

interface Palette {
  types: string[]
  line: string
  text: string
  page: string
  accent: string
}

export interface SceneEvents {
  select: (key: string | null) => void
  open: (key: string) => void
}

function readPalette(element: Element): Palette {
  const style = getComputedStyle(element)
  const token = (name: string): string => style.getPropertyValue(name).trim()
  return {
    types: Array.from({ length: COLOURS }, (_, at) => token(`--type-${at}`)),
    line: token('--soft'),
    text: token('--text'),
    page: token('--panel'),
    accent: token('--accent'),
  }
}

export class GraphScene {
  private readonly canvas: HTMLCanvasElement
  private readonly pen: CanvasRenderingContext2D
  private readonly events: SceneEvents
  private readonly worker: Worker
  private readonly observer: ResizeObserver
  private palette: Palette
  private colours = new Map<string, number>()
  private nodes: readonly GraphNode[] = []
  private edges: readonly GraphEdge[] = []
  private numbers = new Map<string, number>()
  private ends: Uint32Array = new Uint32Array()
  private places: Float32Array = new Float32Array()
  private near: number[][] = []
  private chosen = -1
  private hovered = -1
  private camera: Camera = { x: 0, y: 0, scale: 1 }
  private isFollowing = true
  private version = 0
  private frame = 0
  private readonly stop = new AbortController()

  constructor(canvas: HTMLCanvasElement, events: SceneEvents) {
    this.canvas = canvas
    const pen = canvas.getContext('2d')
    if (pen === null) throw new Error('this browser has no canvas')
    this.pen = pen
    this.events = events
    this.palette = readPalette(canvas)
    this.worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
    this.worker.onmessage = (event: MessageEvent<LayoutAnswer>) => this.place(event.data)
    this.observer = new ResizeObserver(() => this.resize())
    this.observer.observe(canvas)
    this.listen()
  }

  close(): void {
    this.stop.abort()
    this.observer.disconnect()
    this.worker.terminate()
    cancelAnimationFrame(this.frame)
  }

  /** Show other nodes and edges; those that were there stay where they are. */
  show(nodes: readonly GraphNode[], edges: readonly GraphEdge[], colours: Map<string, number>): void {
    const old = this.numbers
    const oldPlaces = this.places
    const chosen = this.nodes[this.chosen]?.key
    this.colours = colours
    this.nodes = nodes
    this.numbers = new Map(nodes.map((node, at) => [node.key, at]))
    this.edges = edges.filter((edge) => this.numbers.has(edge.source) && this.numbers.has(edge.target))
    this.ends = new Uint32Array(this.edges.flatMap((edge) => [this.numbers.get(edge.source) ?? 0, this.numbers.get(edge.target) ?? 0]))
    this.near = nodes.map(() => [])
    for (let at = 0; at < this.ends.length; at += 2) {
      this.near[this.ends[at] ?? 0]?.push(this.ends[at + 1] ?? 0)
      this.near[this.ends[at + 1] ?? 0]?.push(this.ends[at] ?? 0)
    }
    this.chosen = chosen === undefined ? -1 : (this.numbers.get(chosen) ?? -1)
    this.hovered = -1
    this.places = new Float32Array(nodes.length * 2)
    const isKnown = nodes.map((node, at) => this.keep(at, old.get(node.key), oldPlaces))
    nodes.forEach((_, at) => isKnown[at] || this.scatter(at, isKnown))
    this.isFollowing ||= !isKnown.some(Boolean)
    this.version += 1
    this.ask()
    this.draw()
  }

  choose(key: string | null): void {
    this.chosen = key === null ? -1 : (this.numbers.get(key) ?? -1)
    this.draw()
  }

  fit(): void {
    this.isFollowing = true
    this.camera = fitted(this.places, this.canvas.clientWidth, this.canvas.clientHeight)
    this.draw()
  }

  zoom(factor: number): void {
    this.isFollowing = false
    this.camera = zoomed(this.camera, factor, this.camera)
    this.draw()
  }

  /** Return what is drawn as a picture. */
  png(): Promise<Blob> {
    return new Promise((resolve, reject) => this.canvas.toBlob((blob) => (blob === null ? reject(new Error('the canvas is too large for a picture')) : resolve(blob)), 'image/png'))
  }

  /** Return everything as SVG, also what is outside of the canvas. */
  svg(): string {
    const { x, y, scale } = fitted(this.places, 1600, 1000)
    const at = (number: number): [string, string] => [(((this.places[number * 2] ?? 0) - x) * scale + 800).toFixed(1), (((this.places[number * 2 + 1] ?? 0) - y) * scale + 500).toFixed(1)]
    const lines = this.edges.map((edge, number) => {
      const [x1, y1] = at(this.ends[number * 2] ?? 0)
      const [x2, y2] = at(this.ends[number * 2 + 1] ?? 0)
      return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${this.palette.line}"${edge.isLoose ? ' stroke-dasharray="4 4"' : ''}><title>${xmlText(edge.type)}</title></line>`
    })
    const dots = this.nodes.map((node, number) => {
      const [cx, cy] = at(number)
      return `<circle cx="${cx}" cy="${cy}" r="7" fill="${this.colour(node.type)}"><title>${xmlText(`${node.type} ${node.label}`)}</title></circle><text x="${cx}" y="${Number(cy) + 19}" text-anchor="middle" fill="${this.palette.text}">${xmlText(cut(node.label, LONGEST_LABEL))}</text>`
    })
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1600 1000" font-family="system-ui, sans-serif" font-size="11"><rect width="1600" height="1000" fill="${this.palette.page}"/>${lines.join('')}${dots.join('')}</svg>`
  }

  private keep(at: number, old: number | undefined, places: Float32Array): boolean {
    if (old === undefined) return false
    this.places[at * 2] = places[old * 2] ?? 0
    this.places[at * 2 + 1] = places[old * 2 + 1] ?? 0
    return true
  }

  /** Put a new node beside one that it is joined to, or on a spiral around the middle. */
  private scatter(at: number, isKnown: readonly boolean[]): void {
    const beside = this.near[at]?.find((each) => isKnown[each])
    const angle = at * 2.39996
    const far = beside === undefined ? SPREAD * Math.sqrt(at + 1) : SPREAD
    this.places[at * 2] = (beside === undefined ? 0 : (this.places[beside * 2] ?? 0)) + Math.cos(angle) * far
    this.places[at * 2 + 1] = (beside === undefined ? 0 : (this.places[beside * 2 + 1] ?? 0)) + Math.sin(angle) * far
  }

  private ask(): void {
    const isShown = !matchMedia('(prefers-reduced-motion: reduce)').matches
    const request: LayoutRequest = { version: this.version, places: this.places.slice(), pairs: this.ends.slice(), isShown }
    this.canvas.dataset['layout'] = 'moving'
    this.worker.postMessage(request)
  }

  private place(answer: LayoutAnswer): void {
    if (answer.version !== this.version) return
    this.places = answer.places
    if (answer.isDone) this.canvas.dataset['layout'] = 'still'
    if (this.isFollowing) this.camera = fitted(this.places, this.canvas.clientWidth, this.canvas.clientHeight)
    this.draw()
  }

  private colour(type: string): string {
    return this.palette.types[this.colours.get(type) ?? 0] ?? this.palette.line
  }

  private resize(): void {
    const ratio = devicePixelRatio
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio))
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio))
    if (this.isFollowing) this.fit()
    this.draw()
  }

  private draw(): void {
    if (this.frame) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      this.paint()
    })
  }

  private isLit(number: number): boolean {
    return this.chosen < 0 || number === this.chosen || (this.near[this.chosen]?.includes(number) ?? false)
  }

  private paint(): void {
    const { pen, canvas, camera } = this
    const ratio = devicePixelRatio
    pen.setTransform(1, 0, 0, 1, 0, 0)
    pen.clearRect(0, 0, canvas.width, canvas.height)
    pen.setTransform(camera.scale * ratio, 0, 0, camera.scale * ratio, canvas.width / 2 - camera.x * camera.scale * ratio, canvas.height / 2 - camera.y * camera.scale * ratio)
    const lit = this.nodes.map((_, number) => this.isLit(number))
    this.paintEdges(lit)
    this.paintNodes(lit)
    this.paintLabels(lit)
  }

  private paintEdges(lit: readonly boolean[]): void {
    const { pen, places, ends } = this
    const groups = [new Path2D(), new Path2D(), new Path2D(), new Path2D()]
    const arrows = this.edges.length <= 2000 && this.camera.scale > 0.35
    for (let at = 0; at < this.edges.length; at += 1) {
      const from = ends[at * 2] ?? 0
      const to = ends[at * 2 + 1] ?? 0
      const isFar = !(lit[from] && lit[to] && (this.chosen < 0 || from === this.chosen || to === this.chosen))
      const isLoose = this.edges[at]?.isLoose ?? false
      const path = groups[(isFar ? 2 : 0) + (isLoose ? 1 : 0)] as Path2D
      const x1 = places[from * 2] ?? 0
      const y1 = places[from * 2 + 1] ?? 0
      const x2 = places[to * 2] ?? 0
      const y2 = places[to * 2 + 1] ?? 0
      if (from === to) {
        path.moveTo(x1, y1 - RADIUS)
        path.arc(x1 + RADIUS, y1 - RADIUS, RADIUS, Math.PI, Math.PI * 2.5)
        continue
      }
      path.moveTo(x1, y1)
      path.lineTo(x2, y2)
      if (arrows && !isLoose) arrowhead(path, x1, y1, x2, y2)
    }
    pen.strokeStyle = this.palette.line
    pen.lineWidth = Math.max(0.8, 1 / this.camera.scale)
    groups.forEach((path, group) => {
      pen.globalAlpha = group >= 2 ? DIM : 0.7
      pen.setLineDash(group % 2 ? [4, 5] : [])
      pen.stroke(path)
    })
    pen.setLineDash([])
    pen.globalAlpha = 1
  }

  private paintNodes(lit: readonly boolean[]): void {
    const { pen, places } = this
    const paths = new Map<string, Path2D>()
    this.nodes.forEach((node, number) => {
      const key = `${lit[number] ? 1 : 0}${this.colour(node.type)}`
      let path = paths.get(key)
      if (path === undefined) paths.set(key, (path = new Path2D()))
      const x = places[number * 2] ?? 0
      const y = places[number * 2 + 1] ?? 0
      path.moveTo(x + RADIUS, y)
      path.arc(x, y, RADIUS, 0, Math.PI * 2)
    })
    for (const [key, path] of paths) {
      pen.globalAlpha = key.startsWith('1') ? 1 : DIM
      pen.fillStyle = key.slice(1)
      pen.fill(path)
    }
    pen.globalAlpha = 1
    for (const number of [this.hovered, this.chosen]) {
      if (number < 0) continue
      pen.beginPath()
      pen.arc(places[number * 2] ?? 0, places[number * 2 + 1] ?? 0, RADIUS + 4, 0, Math.PI * 2)
      pen.strokeStyle = this.palette.accent
      pen.lineWidth = 2.5
      pen.stroke()
    }
  }

  private paintLabels(lit: readonly boolean[]): void {
    const { pen, places, camera, canvas } = this
    const size = 12 / Math.max(camera.scale, LABEL_SCALE)
    const halfX = canvas.clientWidth / camera.scale / 2
    const halfY = canvas.clientHeight / camera.scale / 2
    const isSeen = (number: number): boolean => Math.abs((places[number * 2] ?? 0) - camera.x) < halfX && Math.abs((places[number * 2 + 1] ?? 0) - camera.y) < halfY
    const shown: number[] = []
    if (camera.scale >= LABEL_SCALE) {
      for (let number = 0; number < this.nodes.length && shown.length <= MOST_LABELS; number += 1) if (lit[number] && isSeen(number)) shown.push(number)
      if (shown.length > MOST_LABELS) shown.length = 0
    }
    for (const number of [this.chosen, this.hovered]) if (number >= 0 && !shown.includes(number)) shown.push(number)
    pen.font = `${size}px ${getComputedStyle(canvas).fontFamily}`
    pen.textAlign = 'center'
    pen.textBaseline = 'top'
    pen.lineJoin = 'round'
    pen.lineWidth = size / 4
    pen.strokeStyle = this.palette.page
    pen.fillStyle = this.palette.text
    for (const number of shown) {
      const label = cut(this.nodes[number]?.label ?? '', LONGEST_LABEL)
      const x = places[number * 2] ?? 0
      const y = (places[number * 2 + 1] ?? 0) + RADIUS + 3
      pen.strokeText(label, x, y)
      pen.fillText(label, x, y)
    }
  }

  private point(event: MouseEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect()
    return {
      x: this.camera.x + (event.clientX - box.left - box.width / 2) / this.camera.scale,
      y: this.camera.y + (event.clientY - box.top - box.height / 2) / this.camera.scale,
    }
  }

  private under(event: MouseEvent): number {
    const { x, y } = this.point(event)
    return nearest(this.places, x, y, Math.max(RADIUS + 3, 14 / this.camera.scale))
  }

  private select(number: number): void {
    this.chosen = number
    this.events.select(this.nodes[number]?.key ?? null)
    this.draw()
  }

  private pin(number: number, x: number, y: number, isHeld: boolean): void {
    const request: PinRequest = { pin: number, x, y, isHeld }
    this.worker.postMessage(request)
  }

  private listen(): void {
    const { canvas } = this
    const options = { signal: this.stop.signal }
    let held = -1
    let last: PointerEvent | null = null
    let wasMoved = false
    canvas.addEventListener(
      'pointerdown',
      (event) => {
        canvas.setPointerCapture(event.pointerId)
        held = this.under(event)
        last = event
        wasMoved = false
      },
      options,
    )
    canvas.addEventListener(
      'pointermove',
      (event) => {
        if (last === null) {
          const found = this.under(event)
          if (found !== this.hovered) {
            this.hovered = found
            canvas.style.cursor = found < 0 ? 'grab' : 'pointer'
            this.draw()
          }
          return
        }
        const across = event.clientX - last.clientX
        const down = event.clientY - last.clientY
        if (!wasMoved && Math.hypot(across, down) < 4) return
        wasMoved = true
        last = event
        this.isFollowing = false
        const { x, y } = this.point(event)
        if (held >= 0) this.pin(held, x, y, true)
        else this.camera = { ...this.camera, x: this.camera.x - across / this.camera.scale, y: this.camera.y - down / this.camera.scale }
        this.draw()
      },
      options,
    )
    const release = (event: PointerEvent): void => {
      if (last !== null && !wasMoved) this.select(held)
      if (held >= 0 && wasMoved) this.pin(held, this.point(event).x, this.point(event).y, false)
      held = -1
      last = null
    }
    canvas.addEventListener('pointerup', release, options)
    canvas.addEventListener('pointercancel', release, options)
    canvas.addEventListener('dblclick', (event) => this.open(this.under(event)), options)
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault()
        this.isFollowing = false
        this.camera = zoomed(this.camera, Math.exp(-event.deltaY * 0.0015), this.point(event))
        this.draw()
      },
      { ...options, passive: false },
    )
    canvas.addEventListener('keydown', (event) => this.press(event), options)
    addEventListener(
      'themechange',
      () => {
        this.palette = readPalette(canvas)
        this.draw()
      },
      options,
    )
  }

  private open(number: number): void {
    const node = this.nodes[number]
    if (node !== undefined) this.events.open(node.key)
  }

  private press(event: KeyboardEvent): void {
    const ways: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }
    const way = ways[event.key]
    if (way !== undefined && this.nodes.length > 0) {
      const next = this.chosen < 0 ? 0 : toward(this.places, this.chosen, ...way)
      if (next >= 0) this.select(next)
    } else if (event.key === 'Enter' && this.chosen >= 0) this.open(this.chosen)
    else if (event.key === 'Escape') this.select(-1)
    else if (event.key === '+' || event.key === '=') this.zoom(1.3)
    else if (event.key === '-') this.zoom(1 / 1.3)
    else if (event.key === '0') this.fit()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
}

function arrowhead(path: Path2D, x1: number, y1: number, x2: number, y2: number): void {
  const angle = Math.atan2(y2 - y1, x2 - x1)
  const x = x2 - Math.cos(angle) * (RADIUS + 1)
  const y = y2 - Math.sin(angle) * (RADIUS + 1)
  for (const side of [-0.45, 0.45]) {
    path.moveTo(x, y)
    path.lineTo(x - Math.cos(angle + side) * 7, y - Math.sin(angle + side) * 7)
  }
}
