/** Studio: what every room is given: the address, the client, the place that is looked at, and what the actor may do. */

import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type Client } from '../api/client.ts'
import type { Config, Schema, Snapshot } from '../api/shapes.ts'
import type { Address, Move } from './address.ts'

/** A branch or commit, with its types. */
export interface Place {
  snapshot: Snapshot
  schema: Schema
}

/** Something that was asked for: it is on its way, here, or failed; what was there before stays meanwhile. */
export interface Asked<T> {
  value: T | null
  error: unknown
  isLoading: boolean
  retry: () => void
}

export interface Studio {
  address: Address
  /** Go somewhere; `replace` leaves no entry in the history of the browser. */
  go: (move: Move, how?: { replace?: boolean }) => void
  /** Return the link to somewhere. */
  href: (move: Move) => string
  /** Requests to the graph that is looked at. */
  client: Client
  /** Requests to the server itself. */
  root: Client
  config: Config | null
  /** Whether an action may be offered on the branch that is looked at. */
  may: (action: string) => boolean
  place: Asked<Place>
  colours: Map<string, number>
  /** Milliseconds since 1970, every half minute. */
  now: number
  /** Counts how often everything was asked for again. */
  epoch: number
  refresh: () => void
}

export const StudioContext = createContext<Studio | null>(null)

export function useStudio(): Studio {
  const found = useContext(StudioContext)
  if (found === null) throw new Error('rooms are drawn inside of the studio')
  return found
}

/** Return the fields with which a request names a branch or commit. */
export function placeFields(address: Address): { branch: string } | { snapshot: string } {
  return address.commit === null ? { branch: address.branch } : { snapshot: address.commit }
}

/** Whether what is on the page may stay while the server does not answer; the frame says that it does not. */
function isBearable(error: unknown, value: unknown): boolean {
  return value !== null && error instanceof ApiError && error.isUnreachable
}

/** Whether what was there before is not there any more, or not for this actor. */
export function isOver(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 403 || error.status === 404)
}

/** Ask whenever the key or the epoch changes; a null key asks for nothing. */
export function useAsking<T>(key: string | null, epoch: number, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ key: string | null; value: T | null; error: unknown; isLoading: boolean }>({ key: null, value: null, error: null, isLoading: key !== null })
  const [again, setAgain] = useState(0)
  const asking = useRef(ask)
  asking.current = ask
  useEffect(() => {
    if (key === null) {
      setState({ key, value: null, error: null, isLoading: false })
      return
    }
    const stop = new AbortController()
    setState((old) => ({ key, value: old.key === key ? old.value : null, error: null, isLoading: true }))
    asking.current(stop.signal).then(
      (value) => stop.signal.aborted || setState({ key, value, error: null, isLoading: false }),
      (error: unknown) => stop.signal.aborted || setState((old) => ({ ...old, value: isOver(error) ? null : old.value, error: isBearable(error, old.value) ? null : error, isLoading: false })),
    )
    return () => stop.abort()
  }, [key, epoch, again])
  const retry = useCallback(() => setAgain((count) => count + 1), [])
  const isCurrent = state.key === key
  return { value: isCurrent ? state.value : null, error: isCurrent ? state.error : null, isLoading: state.isLoading || !isCurrent, retry }
}

/** Ask the graph that is looked at; the key says when the answer would be another one. */
export function useAsked<T>(key: string | null, ask: (client: Client, signal: AbortSignal) => Promise<T>): Asked<T> {
  const { client, epoch, address } = useStudio()
  const whole = key === null ? null : `${address.graph ?? ''}\n${key}`
  return useAsking(whole, epoch, (signal) => ask(client, signal))
}
