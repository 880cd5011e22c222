import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitEvents } from '../src/api/events.ts'
import type { Commit } from '../src/api/shapes.ts'
import { fieldsOf, labelOfChange } from '../src/changes/fields.ts'
import { headOf, wholeItems } from '../src/api/partial.ts'
import { layLanes, sortCommits } from '../src/rooms/history/lanes.ts'
import { olderLimit } from '../src/rooms/history/pages.ts'
import { broken, NOTHING, withEvent } from '../src/rooms/live/feed.ts'

let clock = 0
function commit(id: string, parent: string | null, merged: string | null = null, at = (clock += 1)): Commit {
  return { graph_commit_id: id, manifest_branch: 'main', manifest_version: 0, parent_commit_id: parent, merged_parent_commit_id: merged, actor_id: null, created_at: at, kind: 'write', message: null, operation_id: '' }
}

const a = commit('a', null)
const b = commit('b', 'a')
const c = commit('c', 'a')
const m = commit('m', 'b', 'c')

test('no commit comes before what was made of it, even when clocks differ', () => {
  const late = { ...a, created_at: 1_000_000 }
  const ids = sortCommits([late, b, c, m, b]).map((each) => each.graph_commit_id)
  assert.deepEqual(ids, ['m', 'c', 'b', 'a'])
})

test('a merge joins two lanes, and a branch ends where it began', () => {
  const { rows, width } = layLanes(sortCommits([a, b, c, m]))
  assert.equal(width, 2)
  assert.deepEqual(rows.map((row) => [row.commit.graph_commit_id, row.lane]), [['m', 0], ['c', 1], ['b', 0], ['a', 0]])
  assert.deepEqual(rows[0]?.below, [{ from: 0, to: 0 }, { from: 0, to: 1 }])
  assert.deepEqual(rows[3]?.below, [])
})

test('lines end in the lanes in which the next row begins', () => {
  const { rows } = layLanes(sortCommits([a, b, c, m, commit('n', 'm'), commit('o', 'c')]))
  rows.forEach((row, at) => {
    const next = rows[at + 1]
    if (next) assert.deepEqual(new Set(row.below.map((each) => each.to)), new Set(next.above.map((each) => each.from)))
  })
})

test('an update names the properties that differ, an insert those that have a value', () => {
  assert.deepEqual(fieldsOf({ op: 'update', before: { id: 'x', a: 1, b: [1] }, after: { id: 'x', a: 2, b: [1] } }), [{ name: 'a', before: 1, after: 2 }])
  assert.deepEqual(fieldsOf({ op: 'insert', after: { id: 'x', a: 2, b: null } }), [{ name: 'a', before: null, after: 2 }])
  assert.deepEqual(fieldsOf({ op: 'delete', before: { id: 'x', a: 2n } }), [{ name: 'a', before: 2n, after: null }])
})

test('a changed row is called by its name or its ends', () => {
  assert.equal(labelOfChange({ id: '1', after: { name: 'Ana' } }), 'Ana')
  assert.equal(labelOfChange({ id: '1', before: { from: 'a', to: 'b' } }), 'a → b')
  assert.equal(labelOfChange({ id: '1', endpoints: { from: 'x', to: 'y' } }), 'x → y')
})

test('of a diff that was cut off all whole changes are shown', () => {
  const text = '{"stats":{},"changes":[{"id":"a","after":{"t":"}]\\"{"}},{"id":"b","n":18446744073709551615},{"id":"c","aft'
  assert.deepEqual(wholeItems<{ id: string }>(text, 'changes').map((each) => each.id), ['a', 'b'])
  assert.deepEqual(wholeItems('{"stats"', 'changes'), [])
})

test('rows that came before an answer was stopped are whole, with what it said first', () => {
  const text = '{"query_name":"q","row_count":3,"columns":["n"],"rows":[{"n":"a ] } \\" b"},{"n":9007199254740993},{"n":"c'
  assert.deepEqual(wholeItems(text, 'rows'), [{ n: 'a ] } " b' }, { n: 9007199254740993n }])
  assert.deepEqual(headOf(text, 'rows'), { query_name: 'q', row_count: 3, columns: ['n'], rows: [] })
  assert.equal(headOf('{"query_name":"q"', 'rows'), null)
})

test('events are read from pieces, and comments are none', () => {
  const first = splitEvents(': beat\n\nevent: commit\nid: 7\ndata: {"a":\ndata: 1}\n\nevent: ch')
  assert.deepEqual(first.events, [{ name: 'commit', id: '7', data: '{"a":\n1}' }])
  assert.equal(first.rest, 'event: ch')
})

test('a commit is shown once its end has come, once', () => {
  const changes = { name: 'changes', id: null, data: '{"commit":"m","changes":[{"id":"x"},{"id":"y"}]}' }
  const end = { name: 'commit', id: 'm', data: JSON.stringify({ commit: m, stats: {}, schema_steps: [] }) }
  let state = withEvent(NOTHING, { name: 'baseline', id: 'a', data: '{}' })
  state = withEvent(state, changes)
  assert.deepEqual([state.commits.length, state.cursor], [0, 'a'])
  state = withEvent(withEvent(broken(state), changes), end)
  assert.deepEqual([state.commits.length, state.commits[0]?.count, state.cursor, state.total], [1, 2, 'm', 1])
  assert.equal(withEvent(state, end).total, 1)
})

test('older commits are asked for as far as a server lists them at once', () => {
  assert.equal(olderLimit(100), 500)
  assert.equal(olderLimit(9_900), 10_000)
  assert.equal(olderLimit(10_000), null)
})
