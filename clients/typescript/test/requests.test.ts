import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { connect, InputError, OmniGraphError, OutcomeUnknownError, ServerError, UnreachableError } from 'omnigraph-client'

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void

const RECEIPT = '{"branch":"main","commit":"c"}'

/** Serve a handler until the test ends; returns the address and what was asked. */
async function served(context: TestContext, handler: Handler): Promise<{ url: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    request.resume()
    handler(request, response, asked.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function problem(response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: 'no', code, kind: 'internal', detail: { hint: 'wait' }, request_id: 'r' }))
}

test('a busy server is asked again, after as long as it wants', async (context) => {
  const { url, asked } = await served(context, (_request, response, count) => {
    if (count < 3) problem(response, 503, 'overloaded', { 'retry-after': '0' })
    else response.end(RECEIPT)
  })
  const receipt = await connect(url).branch().mutate('query q() { delete Person { } }')
  assert.equal(receipt.commit, 'c')
  const keys = new Set(asked.map((each) => each.headers['idempotency-key']))
  assert.equal(asked.length, 3)
  assert.equal(keys.size, 1)
  assert.notEqual([...keys][0], undefined)
})

test('retries end, and the last error is told', async (context) => {
  const { url, asked } = await served(context, (_request, response) => problem(response, 429, 'too_many_requests', { 'retry-after': '0' }))
  await assert.rejects(connect(url, { retries: 1 }).branches(), (error) => error instanceof OmniGraphError && error.status === 429 && error.hint === 'wait' && error.requestId === 'r')
  assert.equal(asked.length, 2)
})

test('a broken connection is made again for what changes nothing or has a key', async (context) => {
  const { url, asked } = await served(context, (request, response, count) => {
    if (count % 2 === 1) request.socket.destroy()
    else response.end('{"branches":["main"],"cursor":null,"commit":"c"}')
  })
  assert.deepEqual(await connect(url).branches(), ['main'])
  assert.equal((await connect(url).branch().mutate('…', { key: 'mine' })).commit, 'c')
  assert.deepEqual(
    asked.map((each) => each.headers['idempotency-key']),
    [undefined, undefined, 'mine', 'mine'],
  )
})

test('a write that cannot be sent again is told as unknown', async (context) => {
  const { url, asked } = await served(context, (request) => request.socket.destroy())
  const stream = (function* () {
    yield { type: 'Person', data: { slug: 'a' } }
  })()
  await assert.rejects(connect(url).branch().load(stream, { key: 'mine' }), (error) => error instanceof OutcomeUnknownError && error.key === 'mine')
  await assert.rejects(connect(url).branch().mutate('…', { key: null }), (error) => error instanceof OutcomeUnknownError && error.key === null)
  assert.equal(asked.length, 2)
})

test('a write that may have been done is not denied when it is sent again', async (context) => {
  const { url } = await served(context, (request, response, count) => {
    if (count === 1) request.socket.destroy()
    else problem(response, count === 2 ? 429 : 503, count === 2 ? 'too_many_requests' : 'storage_failed', { 'retry-after': '0' })
  })
  await assert.rejects(connect(url).branch().mutate('…', { key: 'mine' }), (error) => error instanceof OutcomeUnknownError && error.key === 'mine')

  const gone = createServer((request) => {
    gone.close()
    request.socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await assert.rejects(connect(`http://127.0.0.1:${port}`).branch().mutate('…'), OutcomeUnknownError)
})

test('who asks before the key of a change is looked at tells nothing of it', async (context) => {
  for (const [status, page] of [[401, ''], [403, ''], [404, '<h1>Not here</h1>']] as const) {
    const { url } = await served(context, (request, response, count) => {
      if (count === 1) request.socket.destroy()
      else if (page) response.writeHead(status).end(page)
      else problem(response, status, 'denied')
    })
    await assert.rejects(connect(url).branch().mutate('…', { key: 'mine' }), (error) => error instanceof OutcomeUnknownError && error.key === 'mine')
  }
})

test('a write of which only a proxy tells may have been done', async (context) => {
  const { url } = await served(context, (_request, response) => void response.writeHead(504).end('<h1>Gateway Time-out</h1>'))
  await assert.rejects(connect(url).branch().mutate('…'), (error) => error instanceof OutcomeUnknownError && error.message.includes('status 504'))
  await assert.rejects(connect(url).branches(), (error) => error instanceof ServerError && error.status === 504)
})

test('a write of which the server cannot tell whether it was done is not told as failed', async (context) => {
  const { url, asked } = await served(context, (_request, response) => problem(response, 500, 'outcome_unknown'))
  await assert.rejects(connect(url).branch().mutate('…', { key: 'mine' }), (error) => error instanceof OutcomeUnknownError && error.key === 'mine' && error.status === 500 && error.requestId === 'r')
  await assert.rejects(connect(url).branches(), ServerError)
  assert.equal(asked.length, 2)
})

test('rows that cannot be made are the error that they were', async (context) => {
  const { url } = await served(context, (request, response) => void request.on('end', () => response.end('{}')))
  const rows = async function* () {
    yield { type: 'Person', data: { slug: 'a' } }
    throw new RangeError('the file ends here')
  }
  await assert.rejects(connect(url).branch().load(rows()), RangeError)
})

test('nobody listens: that is told with a hint', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  await assert.rejects(connect(`http://127.0.0.1:${port}`, { retries: 0 }).branches(), (error) => error instanceof UnreachableError && error.kind === 'unreachable' && error.hint !== null)
})

test('an abort ends a request, and a wait between two', { timeout: 120_000 }, async (context) => {
  const { url } = await served(context, (request, response) => {
    if (request.url === '/branches') problem(response, 503, 'overloaded', { 'retry-after': '20' })
  })
  const graph = connect(url)
  await assert.rejects(graph.branch().query('…', { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  const stop = new AbortController()
  setTimeout(() => stop.abort(new Error('enough')), 50)
  await assert.rejects(graph.branches({ signal: stop.signal }), { message: 'enough' })
})

test('an answer that was cut is an error, and not asked for again', async (context) => {
  const { url, asked } = await served(context, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    response.write('{"rows":[{"a":1}')
    setTimeout(() => response.write('\n{"error":"too much","code":"budget_exceeded","kind":"bad_request"}', () => setTimeout(() => response.destroy(), 100)), 100)
  })
  // Node drops what it has not handed over when a connection breaks; then the reason is lost with it.
  await assert.rejects(connect(url).branch().query('…'), (error) => error instanceof OmniGraphError && ['budget_exceeded', 'remote_failed'].includes(error.code))
  assert.equal(asked.length, 1)
})

test('the page of a proxy is an error without a reason', async (context) => {
  const { url } = await served(context, (_request, response) => response.writeHead(502).end('<html>'))
  await assert.rejects(connect(url).branches(), (error) => error instanceof ServerError && error.status === 502)
})

test('a feed goes on behind its cursor when the connection ends, without a part of a commit twice', async (context) => {
  const commit = (id: string) => ({ commit: { graph_commit_id: id }, stats: {}, schema_steps: [], from_version: 0 })
  const change = (id: string) => `event: changes\ndata: ${JSON.stringify({ commit: 'x', changes: [{ id }] })}\n\n`
  const { url, asked } = await served(context, (_request, response, count) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (count === 1) response.end(`: beat\n\nevent: baseline\nid: c0\ndata: {}\n\n${change('a')}event: commit\nid: c1\ndata: ${JSON.stringify(commit('c1'))}\n\n${change('b')}`)
    else response.write(`${change('b')}${change('c')}event: commit\nid: c2\ndata: ${JSON.stringify(commit('c2'))}\n\n`)
  })
  const seen: [string, string[]][] = []
  for await (const each of connect(url).branch('draft').watch({ type: ['Person'] })) {
    seen.push([each.cursor, each.changes.map((one) => one.id)])
    if (seen.length === 2) break
  }
  assert.deepEqual(seen, [
    ['c1', ['a']],
    ['c2', ['b', 'c']],
  ])
  assert.deepEqual(
    asked.map((each) => each.url),
    ['/changes/stream?type=Person&branch=draft', '/changes/stream?type=Person&since=c1&branch=draft'],
  )
})

test('a text of a change may have any line separator that Unicode has', async (context) => {
  const text = 'one\u2028two\u2029three'
  const { url } = await served(context, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: changes\ndata: ${JSON.stringify({ changes: [{ id: text }] })}\n\n`)
    response.write(`event: commit\nid: c1\ndata: ${JSON.stringify({ commit: { message: text }, stats: {}, schema_steps: [] })}\n\n`)
  })
  for await (const each of connect(url).branch().watch()) {
    assert.deepEqual([each.commit.message, each.changes.map((one) => one.id), each.cursor], [text, [text], 'c1'])
    break
  }
})

test('a feed asks for no more where there is no server of graphs', { timeout: 120_000 }, async (context) => {
  const { url, asked } = await served(context, (_request, response) => void response.writeHead(404).end('<h1>Not here</h1>'))
  const following = connect(url).branch().watch({ signal: AbortSignal.timeout(30_000) }).next()
  await assert.rejects(following, (error) => error instanceof ServerError && error.status === 404)
  assert.equal(asked.length, 1)
})

test('a feed goes on when a proxy could not reach the server', { timeout: 120_000 }, async (context) => {
  const { url, asked } = await served(context, (_request, response, count) => {
    if (count === 1) response.writeHead(502).end('<h1>Bad Gateway</h1>')
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: commit\nid: c1\ndata: {"commit":{},"stats":{}}\n\n')
  })
  for await (const each of connect(url).branch().watch()) {
    assert.equal(each.cursor, 'c1')
    break
  }
  assert.equal(asked.length, 2)
})

test('what changes nothing is asked as a read, although its operation may change something', async (context) => {
  const about = { name: 'by_visits', kind: 'read', columns: [] }
  const { url, asked } = await served(context, (request, response) => {
    if (request.method === 'GET') response.end(JSON.stringify(about))
    else request.socket.destroy()
  })
  const main = connect(url).branch()
  const stored = await main.stored('by_visits')
  const reads = [() => stored.query(), () => main.previewMerge('draft'), () => main.revert('01ARZ3NDEKTSV4RRFFQ69G5FAV', { preview: true })]
  for (const read of reads) await assert.rejects(read(), (error) => error instanceof UnreachableError && !error.message.includes('may have been done'))
  const sent = asked.filter((each) => each.method === 'POST')
  assert.deepEqual([sent.length, sent.filter((each) => 'idempotency-key' in each.headers).length], [9, 0])
})

test('a stored query that changes something may have been done when nobody answers', async (context) => {
  const { url, asked } = await served(context, (request, response) => {
    if (request.method === 'GET') response.end('{"name":"add","kind":"change","columns":[]}')
    else request.socket.destroy()
  })
  const add = await connect(url).branch().stored('add')
  await assert.rejects(add.mutate({}, { key: 'mine' }), (error) => error instanceof OutcomeUnknownError && error.key === 'mine')
  assert.deepEqual(asked.slice(1).map((each) => each.headers['idempotency-key']), ['mine', 'mine', 'mine'])
})

test('what belongs to a server is asked beside its graphs', async (context) => {
  const { url, asked } = await served(context, (_request, response) => response.end('{"graphs":[],"branches":[],"cursor":null}'))
  const graph = connect(`${url}/graphs/people/`, { token: 'secret-token' })
  await graph.branches()
  await graph.api.graphs()
  assert.deepEqual(
    asked.map((each) => [each.url, each.headers.authorization]),
    [
      ['/graphs/people/branches', 'Bearer secret-token'],
      ['/graphs', 'Bearer secret-token'],
    ],
  )
})

test('an address or a token that cannot be one is refused at once', () => {
  for (const url of ['people.omni', 'ftp://x', 'http://a:b@x', 'http://x/?y=1']) assert.throws(() => connect(url), InputError)
  assert.throws(() => connect('http://x', { token: 'secret\n' }), InputError)
})
