/** Shapes: what the canvas draws, and how it tells its worker to lay that out. */

export interface GraphNode {
  /** Tells it from all others on the canvas. */
  key: string
  type: string
  label: string
}

export interface GraphEdge {
  key: string
  type: string
  source: string
  target: string
  /** Drawn dashed: it says something about rows, not about the graph. */
  isLoose?: boolean
}

/** Asks for a layout: places of the nodes so far, and pairs of their numbers. */
export interface LayoutRequest {
  version: number
  places: Float32Array
  pairs: Uint32Array
  /** Whether places on the way are of interest. */
  isShown: boolean
}

export interface PinRequest {
  pin: number
  x: number
  y: number
  isHeld: boolean
}

export interface LayoutAnswer {
  version: number
  places: Float32Array
  isDone: boolean
}
