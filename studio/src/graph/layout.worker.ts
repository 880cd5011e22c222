/** Layout worker: forces that pull joined nodes together and push all others apart, off the thread that draws. */

import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationLinkDatum, type SimulationNodeDatum } from 'd3-force'
import type { LayoutAnswer, LayoutRequest, PinRequest } from './shapes.ts'

interface Scope {
  onmessage: ((event: MessageEvent<LayoutRequest | PinRequest>) => void) | null
  postMessage: (answer: LayoutAnswer, transfer: Transferable[]) => void
}

const scope = self as unknown as Scope
const FRAME_MILLIS = 33
const COLD = 0.02

let simulation: Simulation<SimulationNodeDatum, SimulationLinkDatum<SimulationNodeDatum>> | null = null
let nodes: SimulationNodeDatum[] = []
let version = 0
let isShown = true
let timer: ReturnType<typeof setTimeout> | null = null

function tell(isDone: boolean): void {
  const places = new Float32Array(nodes.length * 2)
  nodes.forEach((node, at) => {
    places[at * 2] = node.x ?? 0
    places[at * 2 + 1] = node.y ?? 0
  })
  scope.postMessage({ version, places, isDone }, [places.buffer])
}

function step(): void {
  timer = null
  if (simulation === null) return
  const end = performance.now() + FRAME_MILLIS
  do simulation.tick()
  while (simulation.alpha() > COLD && performance.now() < end)
  const isDone = simulation.alpha() <= COLD
  if (isDone || isShown) tell(isDone)
  if (!isDone) timer = setTimeout(step, 0)
}

function start(request: LayoutRequest): void {
  version = request.version
  isShown = request.isShown
  const { places, pairs } = request
  nodes = Array.from({ length: places.length / 2 }, (_, at) => ({ x: places[at * 2] ?? 0, y: places[at * 2 + 1] ?? 0 }))
  const links = Array.from({ length: pairs.length / 2 }, (_, at) => ({ source: pairs[at * 2] ?? 0, target: pairs[at * 2 + 1] ?? 0 }))
  const isLarge = nodes.length > 1000
  simulation = forceSimulation(nodes)
    .stop()
    .force('link', forceLink(links).distance(64).iterations(isLarge ? 1 : 2))
    .force('charge', forceManyBody().strength(-140).theta(isLarge ? 1.2 : 0.9).distanceMax(900))
    .force('collide', isLarge ? null : forceCollide(18))
    .force('center', forceCenter(0, 0).strength(0.05))
    .force('x', forceX(0).strength(0.03))
    .force('y', forceY(0).strength(0.03))
    .alphaDecay(isLarge ? 0.04 : 0.0228)
}

function pin(request: PinRequest): void {
  const node = nodes[request.pin]
  if (node === undefined) return
  node.fx = request.isHeld ? request.x : null
  node.fy = request.isHeld ? request.y : null
  if (request.isHeld) simulation?.alpha(Math.max(simulation.alpha(), 0.25))
}

scope.onmessage = (event) => {
  if ('pin' in event.data) pin(event.data)
  else start(event.data)
  timer ??= setTimeout(step, 0)
}
