/** Errors: what a request was refused with, by its kind; and that there was no answer. */

import type { Value } from './json.ts'
import { parseJson } from './json.ts'

/** What can be done about an error; those of the server by its status. */
export type Kind = 'bad_request' | 'unauthorized' | 'forbidden' | 'not_found' | 'conflict' | 'internal' | 'unreachable' | 'outcome_unknown'

interface About {
  readonly status?: number
  readonly hint?: string | null
  readonly detail?: { readonly [name: string]: Value }
  readonly requestId?: string | null
  readonly retryAfter?: number | null
  readonly conflicts?: readonly Conflict[]
  readonly cause?: unknown
}

/** Why something was not done. `code` is stable, and listed with its remedy in docs/errors.md. */
export class OmniGraphError extends Error {
  override readonly name: string = 'OmniGraphError'
  readonly code: string
  readonly kind: Kind
  /** What to do next, when the server knows it. */
  readonly hint: string | null
  /** The status of the answer; 0 when there was none. */
  readonly status: number
  /** All that is known about the error, as `--json` prints it. */
  readonly detail: { readonly [name: string]: Value }
  /** By which the log of the server names the request. */
  readonly requestId: string | null
  /** After how many seconds the server wants to be asked again. */
  readonly retryAfter: number | null

  constructor(message: string, code: string, kind: Kind, about: About = {}) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause })
    this.code = code
    this.kind = kind
    this.hint = about.hint ?? null
    this.status = about.status ?? 0
    this.detail = about.detail ?? {}
    this.requestId = about.requestId ?? null
    this.retryAfter = about.retryAfter ?? null
  }
}

/** The request is wrong, or costs more than it may. */
export class InputError extends OmniGraphError {
  override readonly name = 'InputError'
}

/** The token is missing or not known. */
export class UnauthorizedError extends OmniGraphError {
  override readonly name = 'UnauthorizedError'
}

/** The policy says no. */
export class DeniedError extends OmniGraphError {
  override readonly name = 'DeniedError'
}

/** It is not there, or may not be seen. */
export class NotFoundError extends OmniGraphError {
  override readonly name = 'NotFoundError'
}

/** Somebody was faster, or it exists already. */
export class ConflictError extends OmniGraphError {
  override readonly name: string = 'ConflictError'
}

/** Two branches changed the same rows; nothing was merged. */
export class MergeConflictsError extends ConflictError {
  override readonly name = 'MergeConflictsError'
  /** Each can be sent back among `resolutions`, with `take` or a `value`. */
  readonly conflicts: readonly Conflict[]

  constructor(message: string, code: string, kind: Kind, about: About = {}) {
    super(message, code, kind, about)
    this.conflicts = about.conflicts ?? []
  }
}

/** The server failed, or its store did. */
export class ServerError extends OmniGraphError {
  override readonly name = 'ServerError'
}

/** No server answers, or an answer broke off; nothing was changed. */
export class UnreachableError extends OmniGraphError {
  override readonly name = 'UnreachableError'
}

/** A write was sent, and nobody can tell whether it was done. With its key it is safe to send it again. */
export class OutcomeUnknownError extends OmniGraphError {
  override readonly name = 'OutcomeUnknownError'
  /** The key that it was sent with; null when that was without one. */
  readonly key: string | null

  constructor(message: string, key: string | null, cause: unknown) {
    const hint = key === null ? 'look at the branch before repeating it' : `send it again with the key '${key}'`
    const about = cause instanceof OmniGraphError ? { status: cause.status, requestId: cause.requestId } : {}
    super(message, 'outcome_unknown', 'outcome_unknown', { ...about, hint, cause })
    this.key = key
  }
}

/** A row, or a property of one, that two branches changed incompatibly. */
export interface Conflict {
  kind: 'DivergentInsert' | 'DivergentUpdate' | 'DeleteVsUpdate' | 'OrphanEdge' | 'UniqueViolation' | 'CardinalityViolation' | 'ValueConstraintViolation'
  table_key: string
  type_name: string
  row_id: string | null
  /** Null when the conflict is about the whole row. */
  property: string | null
  message: string
  base: Value
  ours: Value
  theirs: Value
  ours_commit?: string | null
  ours_actor?: string | null
  theirs_commit?: string | null
  theirs_actor?: string | null
}

/** A conflict with what is to become of it. */
export type Resolution = Conflict & ({ take: 'ours' | 'theirs' } | { value: Value })

type Made = new (message: string, code: string, kind: Kind, about: About) => OmniGraphError

const CLASSES: Record<Exclude<Kind, 'unreachable' | 'outcome_unknown'>, Made> = {
  bad_request: InputError,
  unauthorized: UnauthorizedError,
  forbidden: DeniedError,
  not_found: NotFoundError,
  conflict: ConflictError,
  internal: ServerError,
}

/** Return the error that the body of an answer describes; null when it describes none. */
export function describedError(status: number, text: string, retryAfter: number | null = null): OmniGraphError | null {
  const body = parsed(text)
  if (body === null || typeof body['error'] !== 'string') return null
  const detail = object(body['detail']) ?? {}
  const kind = String(body['kind'] ?? 'internal') as keyof typeof CLASSES
  const code = String(body['code'] ?? 'internal')
  const conflicts = body['merge_conflicts']
  const about: About = {
    status,
    detail,
    retryAfter,
    hint: typeof detail['hint'] === 'string' ? detail['hint'] : null,
    requestId: typeof body['request_id'] === 'string' ? body['request_id'] : null,
    conflicts: Array.isArray(conflicts) ? (conflicts as unknown as Conflict[]) : [],
  }
  const made: Made = code === 'merge_conflicts' ? MergeConflictsError : (CLASSES[kind] ?? ServerError)
  return new made(body['error'], code, kind, about)
}

/** Return the error of an answer that does not describe any, such as the page of a proxy. */
export function undescribedError(status: number, retryAfter: number | null): OmniGraphError {
  return new ServerError(`the server answered with status ${status} and no reason`, 'remote_failed', 'internal', { status, retryAfter, hint: 'is that an omnigraph-server?' })
}

function parsed(text: string): { readonly [name: string]: Value } | null {
  try {
    return object(parseJson(text))
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function object(value: Value | undefined): { readonly [name: string]: Value } | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null
}
