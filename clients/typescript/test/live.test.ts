/** Against a server that the tests of Python start: its address and tokens are in the environment. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, ConflictError, decode, DeniedError, InputError, int64, MergeConflictsError, NotFoundError, UnauthorizedError } from 'omnigraph-client'
import type { Line, Resolution } from 'omnigraph-client'

const url = process.env['OMNIGRAPH_URL']
assert.ok(url, 'OMNIGRAPH_URL names no server')
const graph = connect(url, { token: process.env['OMNIGRAPH_TOKEN'] })
const main = graph.branch()

const MOST = 18446744073709551615n
const LEAST = -9223372036854775808n
const COUNTERS = 'query counters() { match { $c: Counter } return { $c.slug as slug, $c.total as total, $c.signed as signed, $c.history as history } order { $c.slug } }'
const ADD = 'query add($slug: String, $total: U64, $signed: I64) { insert Counter { slug: $slug total: $total signed: $signed } }'
const SET = 'query set($slug: String, $name: String) { update Person set { name: $name } where slug = $slug }'
const NAMES = 'query names() { match { $p: Person } return { $p.slug as slug, $p.name as name } order { $p.slug } }'

before(async () => {
  await main.load([
    { type: 'Counter', data: { slug: 'large', total: MOST, signed: LEAST, history: [1, 9007199254740993n] } },
    { type: 'Counter', data: { slug: 'small', total: 7, signed: -7, history: [] } },
    { type: 'Person', data: { slug: 'ana', name: 'Ana' } },
    { type: 'Person', data: { slug: 'bob', name: 'Bob' } },
    { edge: 'Knows', from: 'ana', to: 'bob' },
  ])
})

test('rows have 64-bit integers to the last digit, as declared', async () => {
  const columns = { slug: 'String', total: 'U64', signed: 'I64', history: '[I64]' } as const
  const { rows, commit } = await main.query(COUNTERS, { columns })
  assert.deepEqual(rows.slice(0, 2), [
    { slug: 'large', total: MOST, signed: LEAST, history: [1n, 9007199254740993n] },
    { slug: 'small', total: 7n, signed: -7n, history: [] },
  ])
  const sum: bigint = rows.reduce((all, each) => all + each.signed, 0n)
  assert.equal(sum, LEAST - 7n)
  assert.match(commit ?? '', /^[0-9A-Z]{26}$/)
})

test('rows without declared columns have large integers as their digits', async () => {
  const { rows, columns } = await main.query(COUNTERS)
  assert.deepEqual(rows[0], { slug: 'large', total: String(MOST), signed: String(LEAST), history: [1, '9007199254740993'] })
  assert.equal(int64(rows[0]?.['total'] ?? null), MOST)
  assert.deepEqual(columns, ['slug', 'total', 'signed', 'history'])
})

test('a column of another type than declared is an error', async () => {
  await assert.rejects(main.query(COUNTERS, { columns: { slug: 'I64' } }), { name: 'ColumnError' })
})

test('a change takes bigints, and refuses numbers that may have lost digits', async () => {
  const branch = await graph.createBranch('bigints')
  const receipt = await branch.mutate(ADD, { params: { slug: 'new', total: MOST - 1n, signed: 2n ** 62n + 1n }, message: 'one more' })
  assert.equal(receipt.inserted, 1)
  const { rows } = await branch.query('query one($slug: String) { match { $c: Counter { slug: $slug } } return { $c.total as total, $c.signed as signed } }', {
    params: { slug: 'new' },
    columns: { total: 'U64', signed: 'I64' },
  })
  assert.deepEqual(rows, [{ total: MOST - 1n, signed: 4611686018427387905n }])
  await assert.rejects(branch.mutate(ADD, { params: { slug: 'lost', total: 2 ** 60, signed: 0 } }), InputError)
})

test('an export can be loaded again, with all digits', async () => {
  const rows: Line[] = []
  for await (const each of main.export({ type_names: ['Counter'] })) rows.push(each)
  const large = rows.find((each) => 'type' in each && each.data['slug'] === 'large')
  assert.deepEqual(large?.data?.['total'], MOST)
  const branch = await graph.createBranch('again')
  const loaded = await branch.load(rows, { mode: 'merge' })
  assert.deepEqual([loaded.nodes_loaded, loaded.unchanged], [2, 2])
})

test('rows are loaded as a stream that is made while it is sent', async () => {
  const branch = await graph.createBranch('streamed')
  const rows = async function* (): AsyncGenerator<Line> {
    for (let at = 0; at < 3000; at += 1) {
      if (at % 1000 === 0) await sleep(1)
      yield { type: 'Person', data: { slug: `p${at}`, name: `Person ${at}` } }
    }
  }
  const loaded = await branch.load(rows(), { message: 'many' })
  assert.equal(loaded.nodes_loaded, 3000)
  const { rows: counted } = await branch.query('query n() { match { $p: Person } return { count(*) as n } }', { columns: { n: 'I64' } })
  assert.deepEqual(counted, [{ n: 3002n }])
})

test('branches are made, listed, renamed and removed', async () => {
  const branch = await graph.createBranch('agent/ana/1', { from: 'main' })
  await branch.mutate(SET, { params: { slug: 'ana', name: 'Ana B.' } })
  assert.ok((await graph.branches()).includes('agent/ana/1'))
  const status = (await graph.branchStatus()).find((each) => each.name === 'agent/ana/1')
  assert.deepEqual([status?.ahead, status?.behind], [1, 0])
  const diff = await main.diff('agent/ana/1')
  assert.deepEqual(diff.changes.map((each) => [each.type_name, each.id, each.op, each.changed]), [['Person', 'ana', 'update', ['name']]])
  const renamed = await graph.renameBranch('agent/ana/1', 'agent/ana/2')
  const moved = graph.deleteBranch(renamed.name, { expect: diff.from_commit })
  await assert.rejects(moved, (error) => error instanceof ConflictError && error.code === 'head_moved')
  await graph.deleteBranch(renamed.name, { expect: diff.to_commit })
  await assert.rejects(renamed.query(NAMES), (error) => error instanceof NotFoundError && error.code === 'branch_not_found')
})

test('a merge with conflicts changes nothing, and is settled by resolutions', async () => {
  const target = await graph.createBranch('target')
  const draft = await graph.createBranch('draft', { from: 'target' })
  await target.mutate(SET, { params: { slug: 'ana', name: 'Ana of the mill' } })
  await draft.mutate(SET, { params: { slug: 'ana', name: 'Ana of the lake' } })
  const preview = await target.previewMerge(draft)
  assert.equal(preview.outcome, 'conflicts')
  const refused = await target.merge(draft).then(() => assert.fail('it was merged'), (error: unknown) => error)
  assert.ok(refused instanceof MergeConflictsError && refused instanceof ConflictError)
  assert.deepEqual([refused.code, refused.kind, refused.status], ['merge_conflicts', 'conflict', 409])
  const [conflict] = refused.conflicts
  assert.deepEqual([conflict?.kind, conflict?.property, conflict?.ours, conflict?.theirs], ['DivergentUpdate', 'name', 'Ana of the mill', 'Ana of the lake'])
  const resolutions: Resolution[] = refused.conflicts.map((each) => ({ ...each, take: 'theirs' }))
  const merged = await target.merge(draft, { resolutions, expect: preview.ours_commit, expect_source: preview.theirs_commit })
  assert.equal(merged.outcome, 'merged')
  const { rows } = await target.query(NAMES, { columns: { slug: 'String', name: 'String' } })
  assert.equal(rows.find((each) => each.slug === 'ana')?.name, 'Ana of the lake')
})

test('a branch is reviewed', async () => {
  const branch = await graph.createBranch('reviewed')
  await branch.mutate(SET, { params: { slug: 'bob', name: 'Bobby' } })
  const page = await branch.review()
  assert.deepEqual(page.changes.map((each) => [each.id, each.op, each.fields]), [['bob', 'update', ['name']]])
  await branch.comment('is that so?', { type: 'Person', id: 'bob', property: 'name' })
  const review = await branch.setReview('approved', { expect: page.head })
  assert.deepEqual([review.state, review.events.map((each) => each.kind)], ['approved', ['comment', 'state']])
})

test('stored queries are known, typed and run', async () => {
  assert.deepEqual((await main.queries()).map((each) => each.name).sort(), ['add_counter', 'counters'])
  const counters = await main.stored('counters')
  const { rows } = await counters.query({ least: 8 })
  assert.deepEqual(rows, [{ slug: 'large', total: MOST }])
  const branch = await graph.createBranch('stored')
  const add = await branch.stored('add_counter')
  const receipt = await add.mutate({ slug: 'third', total: 9n })
  assert.equal(receipt.inserted, 1)
  await assert.rejects(add.query({ slug: 'fourth' }), (error) => error instanceof InputError && error.hint === 'call `mutate` of it')
  await assert.rejects(main.stored('nothing'), (error) => error instanceof NotFoundError && error.code === 'query_not_found')
})

test('an error has its code, its kind, its hint and its place', async () => {
  await assert.rejects(main.query('query q() { match { $p: Persn } return { $p.slug } }'), (error) => {
    assert.ok(error instanceof InputError)
    assert.deepEqual([error.code, error.kind, error.status], ['T1', 'bad_request', 400])
    assert.match(error.hint ?? '', /did you mean 'Person'/)
    assert.ok(error.requestId)
    return true
  })
  await assert.rejects(connect(url, { token: 'nobody-has-this' }).branches(), UnauthorizedError)
  const reader = connect(url, { token: process.env['OMNIGRAPH_READER'] })
  await assert.rejects(reader.branch().mutate(SET, { params: { slug: 'bob', name: 'x' } }), (error) => error instanceof DeniedError && error.code === 'denied')
})

test('a write with its key is done once', async () => {
  const branch = await graph.createBranch('once')
  const params = { slug: 'twice', total: 1, signed: 1 }
  const first = await branch.mutate(ADD, { params, key: 'the-same-key' })
  const again = await branch.mutate(ADD, { params, key: 'the-same-key' })
  assert.equal(again.commit, first.commit)
  await assert.rejects(branch.mutate(ADD, { params: { ...params, slug: 'other' }, key: 'the-same-key' }), InputError)
  await assert.rejects(branch.mutate(SET, { params: { slug: 'bob', name: 'x' }, expect: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }), ConflictError)
})

test('an abort ends a load, of which nothing is there', async () => {
  const branch = await graph.createBranch('aborted')
  const stop = new AbortController()
  const rows = async function* (): AsyncGenerator<Line> {
    yield { type: 'Person', data: { slug: 'never', name: 'Never' } }
    stop.abort()
    await new Promise(() => undefined)
  }
  await assert.rejects(branch.load(rows(), { signal: stop.signal }), { name: 'AbortError' })
  const { rows: found } = await branch.query(NAMES)
  assert.deepEqual(found.map((each) => each['slug']), ['ana', 'bob'])
})

test('the feed tells each commit as it comes, and ends by an abort', { timeout: 120_000 }, async () => {
  const branch = await graph.createBranch('watched')
  const since = (await branch.snapshot()).commit
  const stop = new AbortController()
  const seen: unknown[] = []
  const watching = (async () => {
    for await (const each of branch.watch({ since, kind: ['node'], signal: stop.signal })) {
      for (const change of each.changes) seen.push([each.commit.message, change.op, change.id, decode({ total: 'U64' }, change.after ?? {}).total])
      if (seen.length === 2) stop.abort()
    }
  })()
  // The feed may end before the answer to the last change is there.
  const ended = assert.rejects(watching, { name: 'AbortError' })
  await branch.mutate(ADD, { params: { slug: 'w1', total: MOST, signed: 0 }, message: 'first' })
  await branch.mutate(ADD, { params: { slug: 'w2', total: 2, signed: 0 }, message: 'second' })
  await ended
  assert.deepEqual(seen, [
    ['first', 'insert', 'w1', MOST],
    ['second', 'insert', 'w2', 2n],
  ])
  const again: string[] = []
  for await (const each of branch.changes({ since })) again.push(each.commit.message ?? '')
  assert.deepEqual(again, ['first', 'second'])
})

test('what was read stays at its commit', async () => {
  const branch = await graph.createBranch('history')
  const before = (await branch.snapshot()).commit
  await branch.mutate(SET, { params: { slug: 'bob', name: 'Robert' } })
  const names = async (place: string) => (await graph.at(place).query(NAMES)).rows.map((each) => each['name'])
  assert.deepEqual(await names(before), ['Ana', 'Bob'])
  assert.deepEqual(await names('history'), ['Ana', 'Robert'])
  assert.equal(await graph.createTag('v1', before), before)
  assert.equal((await graph.tags()).get('v1'), before)
  const messages: string[] = []
  for await (const each of branch.log()) messages.push(each.graph_commit_id)
  assert.ok(messages.includes(before))
  const [name] = (await branch.blame('Person', 'bob')).filter((each) => each.property === 'name')
  assert.equal(name?.value, 'Robert')
})

test('every operation is there by its name', async () => {
  const about = await graph.api.about()
  assert.equal(about.name, 'omnigraph-server')
  const rights = await graph.rights()
  assert.ok(rights.actions.includes('branch_merge'))
  const run = await graph.api.beginRun({ target_branch: 'main' })
  assert.equal((await graph.api.abortRun({ run_id: run.run_id })).status, 'aborted')
})
