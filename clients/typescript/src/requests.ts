/** Requests: sends a call to the server, again where that is safe, and reads the answer. */

import { describedError, InputError, OmniGraphError, OutcomeUnknownError, ServerError, undescribedError, UnreachableError } from './errors.ts'
import type { ServerEvent } from './events.ts'
import { readEvents } from './events.ts'
import type { Sent, Value } from './json.ts'
import { isExact, parseJson, writeJson } from './json.ts'

export interface CallOptions {
  /** Ends the request; the server gives up what it was doing for it. */
  readonly signal?: AbortSignal | undefined
}

export interface WriteOptions extends CallOptions {
  /**
   * Sent as `Idempotency-Key`: the same key again gives the first answer, and nothing is done twice.
   * Left out, one is made up; with null there is none, and the request is never sent again.
   */
  readonly key?: string | null | undefined
}

/** Options of a call that only reads, although its operation may change something. */
export class ReadOptions implements CallOptions {
  readonly signal: AbortSignal | undefined

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
  }
}

export interface ConnectOptions {
  readonly token?: string | undefined
  /** How often a request is sent again when that is safe; 2 unless told. */
  readonly retries?: number | undefined
  /** Used instead of the global one, for proxies and dispatchers. */
  readonly fetch?: typeof fetch | undefined
}

type Field = string | number | bigint | boolean | readonly string[] | null | undefined

/** One request: where it goes, and what it carries. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the graph, or below the server. */
  readonly scope: 'graph' | 'server'
  readonly path: string
  readonly query?: { readonly [name: string]: Field } | undefined
  readonly body?: object | undefined
  readonly lines?: Lines | undefined
  readonly writes: boolean
  readonly accept: string
}

/** A row as files for loading have it. */
export type Line = { readonly type: string; readonly data: { readonly [name: string]: Sent } } | { readonly edge: string; readonly from: string; readonly to: string; readonly data?: { readonly [name: string]: Sent } }

/** A row as an export has it, which can be loaded again. */
export type ExportedRow = { type: string; data: { [name: string]: Value } } | { edge: string; from: string; to: string; data: { [name: string]: Value } }

/** Rows to load: the text of JSON lines, or rows, which may be a stream of them. */
export type Lines = string | Uint8Array | Iterable<Line> | AsyncIterable<Line>

interface Attempt<T> {
  readonly call: Call
  readonly options: WriteOptions
  readonly read: (response: Response) => Promise<T>
}

const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'
const BUSY = new Set([429, 503])
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
const VISIBLE = /^[!-~]+$/
const MOST_SECONDS_TO_WAIT = 30
const CHARACTERS_OF_A_PIECE = 64 << 10

export class Requests {
  /** The address of the graph. */
  readonly url: string
  readonly #server: string
  readonly #headers: { readonly [name: string]: string }
  readonly #retries: number
  readonly #fetch: typeof fetch

  constructor(url: string, options: ConnectOptions) {
    if (!isExact) throw wrong('this JavaScript cannot read integers of 64 bits', 'Node 22 or newer can')
    if (options.token !== undefined && !VISIBLE.test(options.token)) throw wrong('the token contains characters that no token has', 'is there a line break at its end?')
    this.url = checkedUrl(url)
    this.#server = this.url.replace(/\/graphs\/[^/]+$/, '')
    this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
    this.#retries = options.retries ?? 2
    this.#fetch = options.fetch ?? fetch
  }

  json<T>(call: Call, options: WriteOptions = {}): Promise<T> {
    return this.#send({ call, options, read: async (response) => document<T>(response.status, await wholeText(response)) })
  }

  text(call: Call, options: CallOptions = {}): Promise<string> {
    return this.#send({ call, options, read: wholeText })
  }

  bytes(call: Call, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#send({ call, options, read: async (response) => new Uint8Array(await response.arrayBuffer()) })
  }

  /** Yield the lines of an answer as they come; raises the error that a cut one ends with. */
  async *lines<T>(call: Call, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    const response = await this.#send({ call, options, read: async (each) => each })
    let held: string | null = null
    let rest = ''
    try {
      for await (const piece of pieces(response)) {
        const lines: string[] = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (held !== null) yield parseJson(held) as T
          held = line
        }
      }
    } catch (error) {
      throw brokenOff(error, rest === '' ? (held ?? '') : rest, options.signal)
    }
    for (const line of [held, rest]) if (line !== null && line !== '') yield parseJson(line) as T
  }

  /** Yield the events of a feed until its connection ends. */
  async *events(call: Call, options: CallOptions = {}): AsyncGenerator<ServerEvent, void, undefined> {
    const response = await this.#send({ call, options, read: async (each) => each })
    try {
      yield* readEvents(pieces(response))
    } catch (error) {
      throw brokenOff(error, '', options.signal)
    }
  }

  async #send<T>(attempt: Attempt<T>): Promise<T> {
    const { call, options } = attempt
    if (call.writes && changesNothing(call, options)) return await this.#send({ ...attempt, call: { ...call, writes: false } })
    const key = call.writes && options.key !== null ? (options.key ?? crypto.randomUUID()) : null
    if (key !== null && !VISIBLE.test(key)) throw wrong(`'${key}' cannot be a key`, 'a server takes visible ASCII characters alone')
    const isRepeatable = isWhole(call.lines) && (key !== null || !call.writes)
    let unknown: OutcomeUnknownError | null = null
    for (let count = 0; ; count += 1) {
      try {
        return await this.#once(attempt, key)
      } catch (error) {
        options.signal?.throwIfAborted()
        const failed = this.#meaning(error, call, key)
        if (failed instanceof OutcomeUnknownError) unknown = failed
        const seconds = isRepeatable && count < this.#retries && isWorthRepeating(error, call) ? secondsToWait(count, error) : null
        if (seconds === null) throw saysNothingOfEarlier(failed) ? (unknown ?? failed) : failed
        await sleep(seconds, options.signal)
      }
    }
  }

  /** Return what it means for a call that an attempt of it failed. */
  #meaning(error: unknown, call: Call, key: string | null): unknown {
    if (error instanceof Unanswered) return error.meaning(this.url, call, key)
    if (!call.writes || !(error instanceof ServerError)) return error
    if (error.code === 'outcome_unknown') return new OutcomeUnknownError(error.message, key, error)
    // A proxy that waited no longer; what the server did meanwhile is not known.
    const isOfProxy = error.code === 'remote_failed' && error.status >= 500
    return isOfProxy ? unansweredWrite(this.url, `status ${error.status}`, key, error) : error
  }

  async #once<T>({ call, options, read }: Attempt<T>, key: string | null): Promise<T> {
    const headers: Record<string, string> = { ...this.#headers, accept: call.accept }
    if (key !== null) headers['idempotency-key'] = key
    const request: RequestInit & { duplex?: 'half' } = { method: call.method, headers, redirect: 'error' }
    if (options.signal !== undefined) request.signal = options.signal
    if (call.body !== undefined) {
      headers['content-type'] = JSON_TYPE
      request.body = writeJson(call.body)
    }
    const rows = call.lines === undefined ? null : new LineBody(call.lines)
    if (rows !== null) {
      headers['content-type'] = LINES_TYPE
      request.body = rows.body
      request.duplex = 'half'
    }
    const url = (call.scope === 'graph' ? this.url : this.#server) + call.path + queryString(call.query ?? {})
    const response = await answered(() => this.#fetch(url, request), { hasHeaders: false }).catch((error: unknown) => {
      throw rows?.failure === undefined ? error : rows.failure
    })
    if (!response.ok) throw await refusal(response)
    return await answered(() => read(response), { hasHeaders: true })
  }
}

/** Whether a call of an operation that may change something does not: a preview, a load that is only tried, a stored read. */
function changesNothing({ body, query }: Call, options: CallOptions): boolean {
  const fields: { readonly preview?: unknown; readonly dry_run?: unknown } = { ...query, ...body }
  return options instanceof ReadOptions || fields.preview === true || fields.dry_run === true
}

/** There was no answer, or only a part of one. */
class Unanswered extends Error {
  readonly hasHeaders: boolean

  constructor(cause: unknown, hasHeaders: boolean) {
    super('unanswered', { cause })
    this.hasHeaders = hasHeaders
  }

  meaning(url: string, call: Call, key: string | null): OmniGraphError {
    const code = (this.cause as { cause?: { code?: unknown } } | null)?.cause?.code
    const reason = reasonOf(this.cause)
    if (!this.hasHeaders && typeof code === 'string' && NOT_SENT.has(code)) {
      return new UnreachableError(`no server answers at ${url}: ${reason}`, 'unreachable', 'unreachable', { cause: this.cause, hint: 'is it running, and is the address right?' })
    }
    if (call.writes) return unansweredWrite(url, reason, key, this.cause)
    return new UnreachableError(`${url} did not answer: ${reason}`, 'remote_failed', 'unreachable', { cause: this.cause })
  }
}

function unansweredWrite(url: string, reason: string, key: string | null, cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError(`${url} did not answer, and it may have been done: ${reason}`, key, cause)
}

// What a server answers before it looks at the key of a change: who may not, and too many.
const BEFORE_THE_KEY = [401, 403, 429]

/** Whether an error tells only of its own attempt: nobody was there, or the server did not get to the request. */
function saysNothingOfEarlier(failed: unknown): boolean {
  if (failed instanceof UnreachableError) return true
  if (!(failed instanceof OmniGraphError)) return false
  return BEFORE_THE_KEY.includes(failed.status) || failed.status >= 500 || failed.code === 'remote_failed'
}

/** Return the part of a path that a name makes, whatever characters it has. */
export function segment(name: string): string {
  return encodeURIComponent(name)
}

/** Return the result of something that the network may end. */
async function answered<T>(work: () => Promise<T>, { hasHeaders }: { hasHeaders: boolean }): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // `fetch` raises a TypeError for whatever happens to a connection.
    throw error instanceof TypeError ? new Unanswered(error, hasHeaders) : error
  }
}

/** Whether a failed request may succeed when it is sent once more; whether it is safe is known already. */
function isWorthRepeating(error: unknown, call: Call): boolean {
  // What a read costs past its first byte, it would cost again.
  if (error instanceof Unanswered) return call.writes || !error.hasHeaders
  return error instanceof OmniGraphError && BUSY.has(error.status)
}

/** Return how long to wait before the next attempt; null when that is too long. */
function secondsToWait(count: number, error: unknown): number | null {
  const asked = error instanceof OmniGraphError ? error.retryAfter : null
  const seconds = asked ?? 0.1 * 2 ** count * (1 + Math.random())
  return seconds > MOST_SECONDS_TO_WAIT ? null : seconds
}

/** Wait so long; raises the reason of a signal that ends it. */
export function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, seconds * 1000)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

async function refusal(response: Response): Promise<OmniGraphError> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const seconds = Number.isFinite(retryAfter) ? retryAfter : null
  const text = await answered(() => response.text(), { hasHeaders: true })
  return describedError(response.status, text, seconds) ?? undescribedError(response.status, seconds)
}

/** Return all of an answer; raises the error that the last line of a cut one tells of. */
async function wholeText(response: Response): Promise<string> {
  const found: string[] = []
  try {
    for await (const piece of pieces(response)) found.push(piece)
  } catch (error) {
    const text = found.join('')
    throw describedError(response.status, text.slice(text.lastIndexOf('\n') + 1)) ?? error
  }
  return found.join('')
}

function document<T>(status: number, text: string): T {
  try {
    return parseJson(text) as T
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw undescribedError(status, null)
  }
}

function brokenOff(error: unknown, last: string, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason
  if (!(error instanceof TypeError)) return error
  const about = { cause: error, hint: 'the server has a limit, or ended; its log says which' }
  return describedError(200, last) ?? new UnreachableError(`the answer broke off: ${reasonOf(error)}`, 'remote_failed', 'unreachable', about)
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code ?? cause.name) : String(cause)
}

async function* pieces(response: Response): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield decoder.decode(part.value, { stream: true })
    yield decoder.decode()
  } finally {
    // Who stops reading leaves; an answer that failed has nothing left to cancel.
    await reader.cancel().catch(() => undefined)
  }
}

function isWhole(lines: Lines | undefined): boolean {
  return lines === undefined || typeof lines === 'string' || lines instanceof Uint8Array || Array.isArray(lines)
}

/** Rows as the body of a request; what goes wrong while they are made is kept for whoever sent them. */
class LineBody {
  readonly body: NonNullable<RequestInit['body']>
  failure: unknown

  constructor(lines: Lines) {
    if (typeof lines === 'string') this.body = lines
    else if (lines instanceof Uint8Array) this.body = lines as Uint8Array<ArrayBuffer>
    else if (Array.isArray(lines)) this.body = (lines as Line[]).map((each) => `${writeJson(each)}\n`).join('')
    else this.body = this.#stream(encoded(lines as Iterable<Line> | AsyncIterable<Line>))
  }

  #stream(made: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const next = await made.next()
          if (next.done) controller.close()
          else controller.enqueue(next.value)
        } catch (error) {
          this.failure = error
          controller.error(error)
        }
      },
      cancel: async () => {
        await made.return()
      },
    })
  }
}

async function* encoded(lines: Iterable<Line> | AsyncIterable<Line>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  let text = ''
  for await (const each of lines) {
    text += `${writeJson(each)}\n`
    if (text.length < CHARACTERS_OF_A_PIECE) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}

function queryString(query: { readonly [name: string]: Field }): string {
  const found = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue
    for (const each of Array.isArray(value) ? (value as readonly string[]) : [value]) found.append(name, String(each))
  }
  const text = found.toString()
  return text === '' ? '' : `?${text}`
}

function checkedUrl(url: string): string {
  const hint = 'it looks like http://127.0.0.1:8080 or https://example.org/graphs/people'
  const parts = URL.parse(url)
  if (parts === null || !['http:', 'https:'].includes(parts.protocol)) throw wrong(`'${url}' is not the address of a server`, hint)
  if (parts.username !== '' || parts.password !== '') throw wrong('the address of a server holds no password', 'give a token')
  if (parts.search !== '' || parts.hash !== '') throw wrong(`the address '${url}' has a query or a fragment`, hint)
  return url.replace(/\/+$/, '')
}

function wrong(message: string, hint: string): OmniGraphError {
  return new InputError(message, 'bad_input', 'bad_request', { hint })
}
