/** Client: requests to the server, with the token of the session; answers, or errors with code and hint. */

import { parseJson, writeJson } from './json.ts'

/** What a request was refused with, or that nobody answered. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | null
  readonly detail: Record<string, unknown>
  readonly requestId: string | null

  constructor(status: number, code: string, message: string, about: { hint?: string | null; detail?: Record<string, unknown>; requestId?: string | null } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.hint = about.hint ?? null
    this.detail = about.detail ?? {}
    this.requestId = about.requestId ?? null
  }

  get isUnreachable(): boolean {
    return this.code === 'unreachable'
  }

  /** Whether a write that ended so may have been done all the same. */
  get isUnsure(): boolean {
    return this.isUnreachable || this.code === 'outcome_unknown' || (this.code === 'no_answer' && this.status >= 500)
  }

  /** Whether the actor may not do that. */
  get isDenied(): boolean {
    return this.status === 403
  }
}

type QueryValue = string | number | boolean | null | undefined | readonly string[]

export interface RequestOptions {
  signal?: AbortSignal
  /** Sent with a write, so that sending it again does nothing twice. */
  key?: string
}

/** What the client tells the page about the whole session. */
export interface Listener {
  unauthorized: () => void
  unreachable: () => void
  reached: () => void
}

/** Return a path with a query string; what is null or undefined is left out, lists are repeated. */
export function withQuery(path: string, query: Record<string, QueryValue> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue
    if (Array.isArray(value)) for (const each of value as readonly string[]) search.append(name, each)
    else search.append(name, String(value))
  }
  const text = search.toString()
  return text ? `${path}?${text}` : path
}

/** Return the error that a refusal's body describes. */
export function errorOf(status: number, text: string): ApiError {
  let body: Record<string, unknown> = {}
  try {
    const parsed = parseJson(text)
    if (parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed)) body = parsed as Record<string, unknown>
  } catch {
    // A proxy in front of the server answers with pages of its own; the status says enough.
    return new ApiError(status, 'no_answer', `the server answered ${status} without a reason`)
  }
  const detail = (body['detail'] ?? {}) as Record<string, unknown>
  return new ApiError(status, String(body['code'] ?? status), String(body['error'] ?? `the server answered ${status}`), {
    hint: typeof detail['hint'] === 'string' ? detail['hint'] : null,
    detail,
    requestId: typeof body['request_id'] === 'string' ? body['request_id'] : null,
  })
}

/** Return the pieces of an answer as they come. */
export async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  if (response.body === null) return
  const reader = response.body.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

export class Client {
  private readonly base: string
  private readonly token: () => string | null
  private readonly listener: Listener

  /** The keys of writes that were sent, as long as nobody said that they were done. */
  private readonly sent: Map<string, string>

  constructor(base: string, token: () => string | null, listener: Listener, sent = new Map<string, string>()) {
    this.base = base
    this.token = token
    this.listener = listener
    this.sent = sent
  }

  /** Return a client for one graph of a deployment; without a name, for the only graph. */
  of(graph: string | null): Client {
    return graph === null ? this : new Client(`${this.base}/graphs/${encodeURIComponent(graph)}`, this.token, this.listener, this.sent)
  }

  get<T>(path: string, query?: Record<string, QueryValue>, options: RequestOptions = {}): Promise<T> {
    return this.json<T>('GET', withQuery(path, query), undefined, options)
  }

  post<T>(path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
    return this.json<T>('POST', path, body, options)
  }

  /**
   * Send a write. The same one sent again carries the same key until it is answered as done, so that it is done once.
   * Nothing stops it: a server completes a commit that has begun, so whoever stopped one would not know what became of it.
   */
  async write<T>(path: string, body: unknown): Promise<T> {
    const name = `${this.base}${path}\n${writeJson(body)}`
    const key = this.sent.get(name) ?? crypto.randomUUID()
    this.sent.set(name, key)
    try {
      const answer = await this.post<T>(path, body, { key })
      this.sent.delete(name)
      return answer
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isUnsure) throw error
      const { status, code, message, detail, requestId } = error
      throw new ApiError(status, code, message, { hint: 'it may have been done; send it again as it is, and it is done once', detail, requestId })
    }
  }

  /** Return the answer before its body is read, for those that are read while they come. */
  async open(method: string, path: string, body?: unknown, options: RequestOptions & { accept?: string } = {}): Promise<Response> {
    const headers: Record<string, string> = { Accept: options.accept ?? 'application/json' }
    const token = this.token()
    if (token !== null) headers['Authorization'] = `Bearer ${token}`
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (options.key !== undefined) headers['Idempotency-Key'] = options.key
    const request: RequestInit = { method, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' }
    if (body !== undefined) request.body = writeJson(body)
    if (options.signal !== undefined) request.signal = options.signal
    let response: Response
    try {
      response = await fetch(this.base + path, request)
    } catch (error) {
      throw this.unreached(error)
    }
    this.listener.reached()
    if (response.ok) return response
    const refusal = errorOf(response.status, await this.text(response))
    // A late answer to an earlier token says nothing about the one of now.
    if (response.status === 401 && token === this.token()) this.listener.unauthorized()
    throw refusal
  }

  /**
   * Send a question whose answer may be large: tells how much has come, and stops past `most` bytes.
   * What `begun` makes of the text until there is the answer then; without it, or if it is null, that is an error.
   */
  async ask<T>(path: string, body: unknown, options: RequestOptions & { most: number; progress?: (bytes: number) => void; begun?: (text: string) => T | null }): Promise<T> {
    const stop = new AbortController()
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal])
    const response = await this.open('POST', path, body, { signal })
    const parts: Uint8Array[] = []
    let bytes = 0
    try {
      for await (const part of chunks(response)) {
        parts.push(part)
        bytes += part.byteLength
        options.progress?.(bytes)
        if (bytes <= options.most) continue
        stop.abort()
        const found = options.begun?.(await new Blob(parts as BlobPart[]).text()) ?? null
        if (found !== null) return found
        throw new ApiError(0, 'answer_too_large', `the answer is larger than ${Math.round(options.most / (1 << 20))} MiB`, { hint: 'add a limit, or fewer columns' })
      }
    } catch (error) {
      throw error instanceof ApiError ? error : this.unreached(error)
    }
    return this.parsed<T>(response.status, await new Blob(parts as BlobPart[]).text())
  }

  private async json<T>(method: string, path: string, body: unknown, options: RequestOptions): Promise<T> {
    const response = await this.open(method, path, body, options)
    return this.parsed<T>(response.status, await this.text(response))
  }

  private parsed<T>(status: number, text: string): T {
    try {
      return parseJson(text) as T
    } catch {
      // What is cut off past a limit ends with a line that says why.
      throw errorOf(status, text.slice(text.lastIndexOf('\n') + 1))
    }
  }

  private async text(response: Response): Promise<string> {
    try {
      return await response.text()
    } catch (error) {
      throw this.unreached(error)
    }
  }

  private unreached(error: unknown): unknown {
    if (error instanceof DOMException && error.name === 'AbortError') return error
    this.listener.unreachable()
    return new ApiError(0, 'unreachable', 'the server does not answer', { hint: 'the page tries again by itself' })
  }
}
