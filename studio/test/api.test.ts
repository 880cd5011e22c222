import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { ApiError, Client, errorOf, withQuery } from '../src/api/client.ts'
import { parseJson, writeJson } from '../src/api/json.ts'
import { Session } from '../src/shell/session.ts'

const realFetch = globalThis.fetch
afterEach(() => {
  globalThis.fetch = realFetch
})

test('integers past 2^53 are not rounded', () => {
  const parsed = parseJson('{"a": 18446744073709551615, "b": 1.5, "c": 7}') as Record<string, unknown>
  assert.deepEqual(parsed, { a: 18446744073709551615n, b: 1.5, c: 7 })
  assert.equal(writeJson(parsed), '{"a":18446744073709551615,"b":1.5,"c":7}')
})

test('lists are repeated in a query string, and what is missing is left out', () => {
  assert.equal(withQuery('/search', { text: 'a b', type: ['X', 'Y'], limit: null }), '/search?text=a+b&type=X&type=Y')
})

test('a refusal tells its code and its hint', () => {
  const error = errorOf(400, '{"error": "unknown type", "code": "T1", "detail": {"hint": "did you mean \'Person\'?"}, "request_id": "r"}')
  assert.deepEqual([error.code, error.message, error.hint, error.requestId], ['T1', 'unknown type', "did you mean 'Person'?", 'r'])
})

test('the page of a proxy is a refusal without a reason', () => {
  assert.equal(errorOf(502, '<html>').code, 'no_answer')
})

function client(answer: () => Response | Promise<Response>): { client: Client; seen: { url: string; request: RequestInit }[]; told: string[] } {
  const seen: { url: string; request: RequestInit }[] = []
  const told: string[] = []
  globalThis.fetch = (url, request) => {
    seen.push({ url: String(url), request: request ?? {} })
    return Promise.resolve(answer())
  }
  const listener = { unauthorized: () => told.push('unauthorized'), unreachable: () => told.push('unreachable'), reached: () => told.push('reached') }
  return { client: new Client('http://here', () => 'secret-token', listener), seen, told }
}

test('the token goes into a header and never into an address', async () => {
  const made = client(() => new Response('{"branches": []}'))
  await made.client.of('a b').get('/branches', { limit: 5 })
  assert.equal(made.seen[0]?.url, 'http://here/graphs/a%20b/branches?limit=5')
  assert.equal((made.seen[0]?.request.headers as Record<string, string>)['Authorization'], 'Bearer secret-token')
})

test('an answer that was cut off is the error of its last line', async () => {
  const made = client(() => new Response('{"rows": [1, 2\n{"error": "too large", "code": "budget_exceeded"}'))
  await assert.rejects(made.client.get('/read'), (error: ApiError) => error.code === 'budget_exceeded')
})

test('a server that does not answer is told apart from one that refuses', async () => {
  const gone = client(() => Promise.reject(new TypeError('failed')))
  await assert.rejects(gone.client.get('/x'), (error: ApiError) => error.isUnreachable)
  assert.deepEqual(gone.told, ['unreachable'])
  const refused = client(() => new Response('{"error": "no", "code": "unauthorized"}', { status: 401 }))
  await assert.rejects(refused.client.get('/x'), (error: ApiError) => error.status === 401)
  assert.deepEqual(refused.told, ['reached', 'unauthorized'])
})

test('a write that nobody answered keeps its key, and gets another one after an answer', async () => {
  let isGone = true
  const made = client(() => (isGone ? Promise.reject(new TypeError('failed')) : new Response('{}')))
  const keys = (): unknown[] => made.seen.map((each) => (each.request.headers as Record<string, string>)['Idempotency-Key'])
  await assert.rejects(made.client.write('/change', { n: 1n }), (error: ApiError) => error.isUnreachable && /done once/.test(error.hint ?? ''))
  isGone = false
  await made.client.write('/change', { n: 2n })
  await made.client.write('/change', { n: 1n })
  await made.client.write('/change', { n: 1n })
  const [lost, other, again, next] = keys()
  assert.equal(lost, again)
  assert.equal(new Set([lost, other, next]).size, 3)
})

test('a write that may have been done keeps its key through refusals until it is done', async () => {
  const answers = [
    () => new Response('<h1>Gateway Time-out</h1>', { status: 504 }),
    () => new Response('{"error": "nobody can tell", "code": "outcome_unknown"}', { status: 500 }),
    () => new Response('{"error": "the token is not known", "code": "unauthorized"}', { status: 401 }),
    () => Promise.reject(new DOMException('stopped', 'AbortError')),
    () => new Response('{}'),
    () => new Response('{}'),
  ]
  const made = client(() => (answers.shift() as () => Response | Promise<Response>)())
  const hints: (string | null | undefined)[] = []
  while (answers.length) await made.client.of('people').write('/change', {}).catch((error: unknown) => hints.push((error as ApiError).hint))
  const keys = made.seen.map((each) => (each.request.headers as Record<string, string>)['Idempotency-Key'])
  assert.equal(new Set(keys.slice(0, 5)).size, 1)
  assert.notEqual(keys[5], keys[4])
  assert.deepEqual(hints.map((each) => /done once/.test(each ?? '')), [true, true, false, false])
})

test('a late refusal of an earlier token does not close the page for the one of now', async () => {
  let token = 'old'
  const told: string[] = []
  globalThis.fetch = () => {
    token = 'new'
    return Promise.resolve(new Response('{"error": "no", "code": "unauthorized"}', { status: 401 }))
  }
  const made = new Client('http://here', () => token, { unauthorized: () => told.push('unauthorized'), unreachable: () => undefined, reached: () => undefined })
  await assert.rejects(made.get('/x'), (error: ApiError) => error.status === 401)
  assert.deepEqual(told, [])
})

test('a session forgets its token everywhere', () => {
  const kept = new Map<string, string>()
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value), removeItem: (key: string) => kept.delete(key) } as unknown as Storage
  new Session(storage).enter('abc')
  const next = new Session(storage)
  assert.equal(next.token, 'abc')
  next.leave()
  assert.equal(new Session(storage).token, null)
})
