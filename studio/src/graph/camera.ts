/** Camera: which part of the plane the canvas shows. */

export interface Camera {
  /** The point of the plane in the middle of the canvas. */
  x: number
  y: number
  /** Pixels for one unit of the plane. */
  scale: number
}

const LEAST = 0.02
const MOST = 6
const MARGIN = 48

export function zoomed(camera: Camera, factor: number, at: { x: number; y: number }): Camera {
  const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor))
  const kept = 1 - camera.scale / scale
  return { x: camera.x + (at.x - camera.x) * kept, y: camera.y + (at.y - camera.y) * kept, scale }
}

/** Return the camera that shows all places on a canvas of this size. */
export function fitted(places: Float32Array, width: number, height: number): Camera {
  if (places.length === 0) return { x: 0, y: 0, scale: 1 }
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
  for (let at = 0; at < places.length; at += 2) {
    const x = places[at] ?? 0
    const y = places[at + 1] ?? 0
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  const scale = Math.min((width - MARGIN * 2) / Math.max(1, right - left), (height - MARGIN * 2) / Math.max(1, bottom - top), 1.6)
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale: Math.max(LEAST, scale) }
}

/** Return the number of the place nearest to a point within a distance, or -1. */
export function nearest(places: Float32Array, x: number, y: number, within: number): number {
  let best = -1
  let least = within * within
  for (let at = 0; at < places.length; at += 2) {
    const across = (places[at] ?? 0) - x
    const down = (places[at + 1] ?? 0) - y
    const distance = across * across + down * down
    if (distance <= least) {
      least = distance
      best = at / 2
    }
  }
  return best
}

/** Return the number of the next place in a direction, or -1: near ones before those straight ahead. */
export function toward(places: Float32Array, from: number, dx: number, dy: number): number {
  const x = places[from * 2] ?? 0
  const y = places[from * 2 + 1] ?? 0
  let best = -1
  let least = Infinity
  for (let at = 0; at < places.length / 2; at += 1) {
    const across = (places[at * 2] ?? 0) - x
    const down = (places[at * 2 + 1] ?? 0) - y
    const ahead = across * dx + down * dy
    if (at === from || ahead <= 0) continue
    const aside = Math.abs(across * dy - down * dx)
    const cost = ahead + aside * 2
    if (aside <= ahead * 2 && cost < least) {
      least = cost
      best = at
    }
  }
  return best
}
