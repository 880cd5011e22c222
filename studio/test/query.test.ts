import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Explanation, Schema } from '../src/api/shapes.ts'
import { keepAsked, readAsked, withQuestion, type Question } from '../src/rooms/query/asked.ts'
import { toCsv } from '../src/rooms/query/csv.ts'
import { drawRows } from '../src/rooms/query/drawing.ts'
import { meaningAt } from '../src/rooms/query/hover.ts'
import { toPoints, toUnits } from '../src/rooms/query/offsets.ts'
import { fieldOf, parseParameters } from '../src/rooms/query/parameters.ts'
import { explainedLines, expression, profiledLines } from '../src/rooms/query/plan.ts'
import { storedParameters } from '../src/rooms/query/stored.ts'

const property = (name: string, type: string) => ({ name, type, nullable: false, description: null })
const SCHEMA: Schema = {
  source: '',
  hash: '',
  interfaces: [],
  nodes: [
    { name: 'Person', implements: [], properties: [property('name', 'String')], key: [], description: 'Somebody.' },
    { name: 'City', implements: [], properties: [property('name', 'String')], key: [], description: null },
  ],
  edges: [{ name: 'LivesIn', source: 'Person', target: 'City', properties: [property('since', 'Date')], description: null }],
}

test('offsets of the server count characters, those of the editor units', () => {
  const text = 'a😀b'
  assert.deepEqual([0, 1, 2, 3, 9].map((each) => toUnits(text, each)), [0, 1, 3, 4, 4])
  assert.deepEqual([0, 1, 3, 4].map((each) => toPoints(text, each)), [0, 1, 2, 3])
})

test('each type has its field', () => {
  assert.deepEqual(fieldOf('enum(active, away)?'), { kind: 'choice', choices: ['active', 'away'] })
  assert.deepEqual(['I64', 'U32?', 'F32', 'Date', 'DateTime', 'String', '[String]?'].map((each) => fieldOf(each).kind), ['integer', 'integer', 'decimal', 'date', 'time', 'text', 'json'])
})

test('what is typed becomes values of the type, and all mistakes are told', () => {
  const parameters = [
    { name: 'id', type: 'U64', required: true },
    { name: 'on', type: 'Bool', required: true },
    { name: 'tags', type: '[String]?', required: false },
    { name: 'note', type: 'String', required: true },
  ]
  const typed = { id: '18446744073709551615', on: 'false', tags: '["a"]', note: '' }
  assert.deepEqual(parseParameters(parameters, typed).values, { id: 18446744073709551615n, on: false, tags: ['a'], note: '' })
  const wrong = parseParameters(parameters, { id: '1.5', on: 'maybe', tags: 'a' })
  assert.deepEqual(Object.keys(wrong.problems), ['id', 'on', 'tags', 'note'])
  assert.deepEqual(parseParameters(parameters, { id: '1', on: 'true', note: 'x' }).problems, {})
})

test('parameters of stored queries come from their JSON Schema', () => {
  const params = { properties: { a: { type: 'string', format: 'date' }, b: { type: ['integer', 'null'] }, c: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] } }, required: ['a'] }
  assert.deepEqual(
    storedParameters({ name: 'q', kind: 'read', description: null, instruction: null, params, columns: [], problem: null }),
    [
      { name: 'a', type: 'Date', required: true },
      { name: 'b', type: 'I64', required: false },
      { name: 'c', type: '[String]', required: false },
    ],
  )
})

test('the same question again only moves to the front', () => {
  const question = (text: string, at: number): Question => ({ graph: '', text, name: null, params: {}, at, rows: 1, millis: 1 })
  const list = [question('a', 1), question('b', 2), question('a', 3)].reduce<Question[]>(withQuestion, [])
  assert.deepEqual(list.map((each) => [each.text, each.at]), [['a', 3], ['b', 2]])
  assert.equal(withQuestion(list, question('x'.repeat(30_000), 4)).length, 2)
})

test('a full storage keeps as many questions as there is room for', () => {
  let kept = '[]'
  const storage = {
    getItem: () => kept,
    setItem: (_: string, value: string) => {
      if (value.length > 200) throw new DOMException('full', 'QuotaExceededError')
      kept = value
    },
  } as unknown as Storage
  keepAsked(storage, Array.from({ length: 8 }, (_, at) => ({ graph: '', text: `q${at}`, name: null, params: {}, at, rows: 0, millis: 0 })))
  assert.ok(readAsked(storage).length >= 1)
  kept = 'nonsense'
  assert.deepEqual(readAsked(storage), [])
})

test('expressions of a plan read as they are written', () => {
  const since = { op: 'PropertyRef', variable: 'job', property: 'since' }
  assert.equal(expression({ op: 'NullTest', operand: since, negated: true }), '$job.since is not null')
  assert.equal(expression({ op: 'Comparison', left: since, operator: '>=', right: { op: 'Constant', value: 3 } }), '$job.since >= 3')
  assert.equal(expression({ op: 'Column', name: 'n', expr: { op: 'Aggregate', function: 'count', argument: { op: 'VariableRef', variable: 'p' }, distinct: true } }), 'count(distinct $p) as n')
  assert.equal(expression({ op: 'Unheard', of: [{ op: 'ColumnRef', column: 'x' }] }), 'Unheard(of x)')
})

test('a plan is a tree with what is expected of each operator', () => {
  const inner = { op: 'Expand', source: 'p', target: 'c', types: ['Company'], steps: [{ op: 'Step', edge: 'WorksAt', direction: 'in' }], hops: { minimum: 1, maximum: 3 }, filters: [], columns: ['name'] }
  const explanation: Explanation = { query_name: 'q', plan: { operators: [{ op: 'Optional', outer: ['p'], inner: [inner] }], columns: [] }, expected_rows: [7], orders: [], road: null }
  const [line] = explainedLines(explanation)
  assert.deepEqual([line?.title, line?.about, line?.expected], ['Optional', 'on $p', 7])
  assert.equal(line?.inner[0]?.about, '$p <-WorksAt {1,3}- $c: Company  reads name')
})

test('a profile says what each step took', () => {
  const [line] = profiledLines({ query_name: 'q', road: 'index', row_count: 1, operators: [{ operators: ['NodeScan    $p: Person', 'Filter      x > 1'], rows: 2, ms: 1.5, bytes_read: 10, expected_rows: 3 }] })
  assert.deepEqual([line?.title, line?.about, line?.millis], ['NodeScan + Filter', '$p: Person · x > 1', 1.5])
})

test('rows with edges draw them, rows without draw that nodes came together', () => {
  const columns = [{ name: 'p', type: 'Person' }, { name: 'c', type: 'City?' }]
  const rows = [{ p: { id: 'ana', name: 'Ana' }, c: { id: 'rome', name: 'Rome' }, e: { id: 'x', from: 'ana', to: 'rome' } }, { p: { id: 'bo', name: 'Bo' }, c: null, e: null }]
  const loose = drawRows(rows, columns, SCHEMA)
  assert.deepEqual([loose.nodes.map((each) => each.label), loose.edges.length, loose.isLoose], [['Ana', 'Rome', 'Bo'], 1, true])
  const whole = drawRows(rows, [...columns, { name: 'e', type: 'LivesIn' }], SCHEMA)
  assert.deepEqual(whole.edges.map((each) => [each.type, each.isLoose]), [['LivesIn', undefined]])
})

test('a drawing stops where the canvas would not be fluid', () => {
  const rows = Array.from({ length: 6000 }, (_, at) => ({ p: { id: String(at) } }))
  const drawn = drawRows(rows, [{ name: 'p', type: 'Person' }], SCHEMA)
  assert.deepEqual([drawn.nodes.length, drawn.isCut], [5000, true])
})

test('words of a query mean what the schema says', () => {
  const text = 'match { $p: Person\n $p livesIn $c } return { $c.name }'
  const at = (word: string, by = 1) => meaningAt(text, text.indexOf(word) + by, SCHEMA)?.title
  assert.equal(at('Person'), 'Person')
  assert.equal(at('livesIn'), 'LivesIn')
  assert.equal(at('$c.name', 4), 'City.name: String')
  assert.equal(at('$c }'), '$c: City')
  assert.equal(at('match'), undefined)
})

test('a spreadsheet takes no text for a formula', () => {
  assert.equal(toCsv(['a', 'b'], [], [{ a: '=1+1', b: -1 }, { a: 'x,"y"\n', b: null }]), 'a,b\r\n\'=1+1,-1\r\n"x,""y""\n",\r\n')
})

test('an integer that comes as its digits is no formula', () => {
  const columns = [{ name: 'n', type: 'I64?' }, { name: 't', type: 'String' }]
  const least = '-9223372036854775808'
  assert.equal(toCsv(['n', 't'], columns, [{ n: least, t: least }]), `n,t\r\n${least},'${least}\r\n`)
})
