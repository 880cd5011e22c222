import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ColumnError, decode, int64, parseJson, writeJson } from 'omnigraph-client'
import type { RowOf, ValueOf } from 'omnigraph-client'

test('integers past 2^53 are not rounded, and all else is as it was', () => {
  const text = '{"a":18446744073709551615,"b":-9007199254740993,"c":1.5,"d":7,"e":12345678901234567.0}'
  const parsed = parseJson(text)
  assert.deepEqual(parsed, { a: 18446744073709551615n, b: -9007199254740993n, c: 1.5, d: 7, e: 12345678901234568 })
  assert.equal(writeJson({ a: 18446744073709551615n, c: 1.5 }), '{"a":18446744073709551615,"c":1.5}')
})

test('a number that may have lost digits is sent as a float, which no integer takes', () => {
  assert.equal(writeJson([2 ** 60, 1e21, 9007199254740991]), '[1152921504606847000.0,1e+21,9007199254740991]')
})

test('what JSON cannot say is refused instead of being sent as null', () => {
  assert.throws(() => writeJson({ a: Number.NaN }), RangeError)
  assert.throws(() => writeJson([Number.POSITIVE_INFINITY]), RangeError)
  assert.throws(() => writeJson(new Uint16Array(2)), TypeError)
})

test('bytes are sent as blobs, arrays of floats as vectors, times as texts', () => {
  const sent = { raw: new Uint8Array([104, 105]), v: new Float32Array([0.5, 2]), at: new Date(0) }
  assert.equal(writeJson(sent), '{"raw":"base64:aGk=","v":[0.5,2],"at":"1970-01-01T00:00:00.000Z"}')
})

test('bytes of Node are sent as other bytes are, and no date as no value', () => {
  assert.equal(writeJson({ raw: Buffer.from('hi'), rows: [Buffer.from('hi')] }), '{"raw":"base64:aGk=","rows":["base64:aGk="]}')
  assert.throws(() => writeJson({ at: new Date('yesterday') }), RangeError)
  assert.throws(() => writeJson(new Date(Number.NaN)), RangeError)
})

test('an integer stays one where a program has taught bigints to be texts', () => {
  const taught = BigInt.prototype as unknown as { toJSON?: () => string }
  taught.toJSON = () => 'a text'
  try {
    assert.equal(writeJson({ n: 7n }), '{"n":7}')
  } finally {
    delete taught.toJSON
  }
})

test('declared columns have their types, and 64-bit integers are bigints however small', () => {
  const columns = { name: 'String', n: 'I64', big: 'U64?', many: '[I64]', t: { age: 'I32?' } } as const
  const row: RowOf<typeof columns> = decode(columns, { name: 'x', n: 7, big: '18446744073709551615', many: [1, '9007199254740993'], t: { age: null }, more: true })
  assert.deepEqual(row, { name: 'x', n: 7n, big: 18446744073709551615n, many: [1n, 9007199254740993n], t: { age: null }, more: true })
  const sum: bigint = row.n + (row.big ?? 0n)
  assert.equal(sum, 18446744073709551622n)
  assert.deepEqual([int64(5), int64('9007199254740993'), int64(2n ** 63n)], [5n, 9007199254740993n, 2n ** 63n])
})

test('a value of another type, a null and a missing column are told', () => {
  const wrong = (message: RegExp, work: () => unknown) => assert.throws(work, (error) => error instanceof ColumnError && message.test(error.message))
  wrong(/'n' is the string abc, not an integer/, () => decode({ n: 'I64' }, { n: 'abc' }))
  wrong(/'n' is the number 1.5, not an integer/, () => decode({ n: 'U64' }, { n: 1.5 }))
  wrong(/'n' is null; declare it as 'I32\?'/, () => decode({ n: 'I32' }, { n: null }))
  wrong(/no column 'm'; there are n/, () => decode({ m: 'String' }, { n: 'x' }))
  wrong(/'t.age' is the string x, not I32/, () => decode({ t: { age: 'I32' } }, { t: { age: 'x' } }))
})

test('names of types become types of TypeScript', () => {
  const kind: ValueOf<'enum(draft, final)?'> = 'draft'
  const days: ValueOf<'[Date]'> = ['2024-01-31']
  const vector: ValueOf<'Vector(3)'> = [1, 2, 3]
  // @ts-expect-error an integer of 64 bits is no number
  const count: ValueOf<'I64'> = 7
  // @ts-expect-error there is no such type
  assert.throws(() => decode({ n: 'Int' }, { n: 1 }))
  assert.ok([kind, days, vector, count])
})
