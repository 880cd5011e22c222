import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../src/api/client.ts'
import type { Neighbors, NodeType } from '../src/api/shapes.ts'
import { draw, formatGrown, formatNode, grow, nodeOfKey, keyOfNode, parseGrown, parseNode, queryOf, type NodeName } from '../src/rooms/explore/grown.ts'
import { askGrown, type ReadPages } from '../src/rooms/explore/pages.ts'

const ANA: NodeName = ['Person', 'ana']
const KNOWS = { edge: 'Knows', direction: 'out' as const }

test('what is on the canvas goes into the address and comes back', () => {
  const grown = grow(grow([], ANA, KNOWS, 1), ANA, KNOWS, 1)
  assert.deepEqual(parseGrown(formatGrown(grown)), [{ node: ANA, edge: 'Knows', direction: 'out', pages: 2 }])
  assert.deepEqual(grow(grown, ANA, KNOWS, 'none'), [])
  assert.deepEqual(parseNode(formatNode(['A\nB', 'x'])), ['A\nB', 'x'])
  assert.deepEqual(nodeOfKey(keyOfNode(['Person', 'a\nb'])), ['Person', 'a\nb'])
})

test('an address that names nothing is no node and grows nothing', () => {
  for (const text of [undefined, '', '{', '[]', '["a"]', '[1, 2]', 'null']) assert.equal(parseNode(text), null)
  for (const text of [undefined, '{', '[[1]]', '[["a","b","c","up",1]]', '[["a","b","c","out",0]]']) assert.deepEqual(parseGrown(text), [])
})

test('edges point as they are stored, and a node is drawn once', () => {
  const answer = (label: string, ids: string[]): Neighbors => ({
    node: { type: 'Person', id: 'ana', label, properties: {} },
    groups: [],
    neighbors: ids.map((id) => ({ edge_id: `e-${id}`, edge: {}, type: 'Person', id, label: id, node: {} })),
    cursor: null,
  })
  const shown = draw({ node: ANA, label: 'Ana' }, [
    { grown: { node: ANA, edge: 'Knows', direction: 'out', pages: 1 }, answer: answer('Ana', ['bo', 'chie']) },
    { grown: { node: ANA, edge: 'Knows', direction: 'in', pages: 1 }, answer: answer('Ana', ['bo']) },
  ])
  assert.deepEqual(shown.nodes.map((each) => each.label), ['Ana', 'bo', 'chie'])
  assert.deepEqual(shown.edges.map((each) => [each.source, each.target].map((key) => nodeOfKey(key)[1])), [
    ['bo', 'ana'],
    ['ana', 'chie'],
  ])
})

test('the same view as a query names the key and the direction', () => {
  const person: NodeType = { name: 'Person', implements: [], properties: [], key: ['slug'], description: null }
  assert.equal(queryOf(person, { slug: 'a"b' }, null), 'match { $n: Person { slug: "a\\"b" } }\nreturn { $n.* }')
  assert.match(queryOf(person, { slug: 'ana' }, { edge: 'WorksAt', direction: 'in', type: 'Company' }) ?? '', /\$m: Company\n {2}\$m worksAt \$n/)
  assert.equal(queryOf({ ...person, key: [] }, {}, null), null)
})

test('keys of every type are written as the language reads them', () => {
  const of = (type: string, value: unknown): string | null => queryOf({ name: 'Day', implements: [], properties: [{ name: 'k', type, nullable: false, description: null }], key: ['k'], description: null }, { k: value }, null)
  const written = (text: string): string => `match { $n: Day { k: ${text} } }\nreturn { $n.* }`
  assert.equal(of('Date', '0001-01-01'), written('date("0001-01-01")'))
  assert.equal(of('DateTime', '9999-12-31T23:59:59.999Z'), written('datetime("9999-12-31T23:59:59.999Z")'))
  assert.equal(of('I64', '-9007199254740993'), written('-9007199254740993'))
  assert.equal(of('String', 'a\b\f\\b"'), written('"a\\u0008\\u000c\\\\b\\""'))
})

test('a page that was read is not asked for again, and what is hidden comes back without a request', async () => {
  const asked: (string | null)[] = []
  const page = (at: number): Neighbors => ({ node: { type: 'Person', id: 'ana', label: 'Ana', properties: {} }, groups: [], neighbors: [{ edge_id: `e${at}`, edge: {}, type: 'Person', id: `p${at}`, label: '', node: {} }], cursor: at < 3 ? `c${at}` : null })
  const client = { get: (_path: string, query: { cursor: string | null }) => (asked.push(query.cursor), Promise.resolve(page(asked.length))) } as unknown as Client
  const read: ReadPages = new Map()
  const ids = async (pages: number): Promise<string[]> => {
    const found = await askGrown(client, { node: ANA, ...KNOWS, pages }, {}, read, new AbortController().signal)
    return found.answer.neighbors.map((each) => each.id)
  }
  assert.deepEqual(await ids(1), ['p1'])
  assert.deepEqual(await ids(2), ['p1', 'p2'])
  assert.deepEqual(await ids(1), ['p1'])
  assert.deepEqual(await ids(9), ['p1', 'p2', 'p3'])
  assert.deepEqual(asked, [null, 'c1', 'c2'])
})
