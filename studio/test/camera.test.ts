import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitted, nearest, toward, zoomed } from '../src/graph/camera.ts'

const PLACES = new Float32Array([0, 0, 100, 0, 0, 100, 300, 40])

test('all places fit on the canvas', () => {
  const camera = fitted(PLACES, 800, 400)
  for (let at = 0; at < PLACES.length; at += 2) {
    assert.ok(Math.abs((PLACES[at] as number) - camera.x) * camera.scale <= 400)
    assert.ok(Math.abs((PLACES[at + 1] as number) - camera.y) * camera.scale <= 200)
  }
})

test('zooming keeps the point under the pointer where it is', () => {
  const before = { x: 10, y: 20, scale: 1 }
  const at = { x: 50, y: -30 }
  const after = zoomed(before, 2, at)
  assert.equal((at.x - after.x) * after.scale, (at.x - before.x) * before.scale)
  assert.equal(zoomed(before, 1e9, at).scale, 6)
})

test('the nearest place within reach is under the pointer', () => {
  assert.equal(nearest(PLACES, 95, 3, 10), 1)
  assert.equal(nearest(PLACES, 50, 50, 10), -1)
})

test('arrows go to the next place in their direction', () => {
  assert.equal(toward(PLACES, 0, 1, 0), 1)
  assert.equal(toward(PLACES, 0, 0, 1), 2)
  assert.equal(toward(PLACES, 0, -1, 0), -1)
})
