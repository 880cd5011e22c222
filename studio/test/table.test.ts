import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moveCell, placeRows, scrollTo, widthFor } from '../src/table/rows.ts'

test('only what is in sight is drawn', () => {
  const sight = placeRows({ count: 100_000, row: 28, height: 560, top: 1_400_000, spare: 8 })
  assert.deepEqual([sight.begin, sight.end, sight.total], [49_992, 50_028, 2_800_000])
  assert.equal(sight.topOf(50_000), 1_400_000)
})

test('the end of a table of ten million rows can be reached', () => {
  const count = 10_000_000
  const { total } = placeRows({ count, row: 28, height: 560, top: 0, spare: 0 })
  assert.equal(total, 8_000_000)
  const end = placeRows({ count, row: 28, height: 560, top: total - 560, spare: 2 })
  assert.equal(end.end, count)
  assert.ok(Math.abs(end.topOf(count - 1) + 28 - total) <= 1)
})

test('keys stay inside of the table', () => {
  const about = { rows: 3, columns: 2, page: 10, isFar: false }
  assert.deepEqual(moveCell({ row: 2, column: 0 }, 'ArrowDown', about), { row: 2, column: 0 })
  assert.deepEqual(moveCell({ row: -1, column: 0 }, 'ArrowDown', about), { row: 0, column: 0 })
  assert.deepEqual(moveCell({ row: 2, column: 0 }, 'Home', { ...about, isFar: true }), { row: 0, column: 0 })
  assert.deepEqual(moveCell({ row: 0, column: 0 }, 'PageDown', about), { row: 2, column: 0 })
  assert.equal(moveCell({ row: 0, column: 0 }, 'x', about), null)
})

test('columns are as wide as they need to be, within reason', () => {
  assert.equal(widthFor('n', ['1']), 72)
  assert.equal(widthFor('text', ['x'.repeat(500)]), 360)
})

test('a column that keys lead to is scrolled into sight', () => {
  const widths = [100, 200, 300, 900]
  assert.equal(scrollTo({ widths, column: 0, left: 250, width: 400 }), 0)
  assert.equal(scrollTo({ widths, column: 1, left: 0, width: 400 }), 0)
  assert.equal(scrollTo({ widths, column: 2, left: 0, width: 400 }), 200)
  assert.equal(scrollTo({ widths, column: 3, left: 0, width: 400 }), 600)
})
