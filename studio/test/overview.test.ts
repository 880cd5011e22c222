import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COLOURS, colourTypes } from '../src/look/colours.ts'
import { BOX_HEIGHT, BOX_WIDTH, layersOf, layOut, type Box } from '../src/rooms/overview/layout.ts'
import { indexHealth } from '../src/rooms/overview/health.ts'

test('few types all have colours of their own', () => {
  const names = Array.from({ length: COLOURS }, (_, at) => `Type${at}`)
  assert.equal(new Set(colourTypes(names, []).values()).size, COLOURS)
})

test('the colours of nodes do not depend on edges', () => {
  assert.equal(colourTypes(['A', 'B'], []).get('B'), colourTypes(['A', 'B'], ['E', 'F']).get('B'))
})

test('edges go from layer to layer, and circles end', () => {
  const links = [
    { source: 'Person', target: 'Company' },
    { source: 'Company', target: 'City' },
    { source: 'Person', target: 'City' },
    { source: 'City', target: 'Person' },
    { source: 'Person', target: 'Person' },
  ]
  const layers = layersOf(['City', 'Person', 'Company'], links)
  assert.equal(new Set(layers.values()).size, 3)
})

test('fifty types do not cover each other', () => {
  const names = Array.from({ length: 50 }, (_, at) => `T${at}`)
  const links = names.flatMap((source, at) => [3, 11].map((step) => ({ source, target: names[(at * step + 1) % 40] as string })))
  const { boxes, width, height } = layOut(names, links)
  assert.equal(boxes.size, 50)
  const covers = (one: Box, other: Box): boolean => Math.abs(one.x - other.x) < BOX_WIDTH && Math.abs(one.y - other.y) < BOX_HEIGHT
  const all = [...boxes.values()]
  for (const one of all) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + BOX_WIDTH <= width && one.y + BOX_HEIGHT <= height)
    for (const other of all) assert.ok(one === other || !covers(one, other))
  }
})

test('a long edge passes between boxes', () => {
  const links = ['A B', 'B C', 'C D', 'A D'].map((each) => ({ source: each.charAt(0), target: each.charAt(2) }))
  const { bends, boxes } = layOut(['A', 'B', 'C', 'D'], links)
  assert.equal(bends.get('A\nD')?.length, 2)
  for (const point of bends.get('A\nD') ?? []) {
    for (const box of boxes.values()) assert.ok(point.y < box.y || point.y > box.y + BOX_HEIGHT || point.x < box.x || point.x > box.x + BOX_WIDTH)
  }
})

test('indexes that are left alone for a reason are not due', () => {
  const index = { table_key: 'node:A', column: 'x', kind: 'btree', rows_indexed: 0, rows_pending: 5, reason: 'not optimized yet' }
  const health = indexHealth([index, { ...index, reason: 'few' }, { ...index, reason: 'few' }, { ...index, rows_pending: 0 }])
  assert.equal(health.pending.length, 1)
  assert.deepEqual([...health.left], [['few', 2]])
})
