/** Parts: small pieces that every room is made of: types, ids, times, values, and the states of loading. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { useStudio } from '../shell/studio.tsx'
import { classOf, counted, cut, exactTime, formatCount, relativeTime, shortId, signOf, valueText, type Sign } from './format.ts'

const LONG_TEXT = 400

export function TypeName({ name }: { name: string }) {
  const { colours, place } = useStudio()
  const isEdge = place.value?.schema.edges.some((each) => each.name === name) ?? false
  return (
    <span class={isEdge ? 'type edge-type' : 'type'} data-colour={colours.get(name) ?? 0}>
      {name}
    </span>
  )
}

export function Id({ id }: { id: string }) {
  return (
    <code title={id} class="wrap">
      {shortId(id)}
    </code>
  )
}

/** How long ago something was, with the exact time on hover. */
export function When({ micros }: { micros: number }) {
  const { now } = useStudio()
  return (
    <time dateTime={new Date(micros / 1000).toISOString()} title={exactTime(micros)} class="soft">
      {relativeTime(micros, now)}
    </time>
  )
}

/** A number of changes with its sign, or nothing when there are none. */
export function Changes({ op, count }: { op: Sign; count: number }) {
  if (!count) return null
  const words = { insert: 'added', delete: 'removed', update: 'changed', conflict: 'in conflict' }
  return (
    <span class={`badge ${classOf(op)}`} title={`${formatCount(count)} ${words[op]}`}>
      <span class="sign" aria-hidden="true">
        {signOf(op)}
      </span>
      {formatCount(count)}
      <span class="hidden">{words[op]}</span>
    </span>
  )
}

/** A value as text, never as markup; long ones are folded. */
export function Value({ value }: { value: unknown }) {
  const [open, setOpen] = useState(false)
  if (value === null || value === undefined) return <span class="soft">null</span>
  if (value === '') return <span class="soft">empty text</span>
  const text = valueText(value)
  const look = typeof value === 'string' ? 'fold' : 'fold mono'
  if (text.length <= LONG_TEXT) return <span class={look}>{text}</span>
  return (
    <span class={look}>
      {open ? text : cut(text, LONG_TEXT)}{' '}
      <button type="button" onClick={() => setOpen(!open)} aria-expanded={open}>
        {open ? 'less' : `all ${counted(text.length, 'character')}`}
      </button>
    </span>
  )
}

export function Loading({ what, lines = 5 }: { what: string; lines?: number }) {
  return (
    <div class="bones" role="status" aria-live="polite">
      <span class="hidden">loading {what}</span>
      {Array.from({ length: lines }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** What went wrong, with its code, its hint and a way on. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const known = error instanceof ApiError ? error : null
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div class="failure stack" role="alert">
      <div>
        <strong>{known?.isDenied ? 'Not allowed: ' : ''}{message}</strong>
        {known?.hint ? <div>{known.hint}</div> : null}
      </div>
      <div class="row">
        {known ? <span class="code soft" title={known.requestId ?? ''}>{known.code}</span> : null}
        {retry ? (
          <button type="button" onClick={retry}>
            Try again
          </button>
        ) : null}
      </div>
    </div>
  )
}

/** A dialog of the browser: Escape closes it, focus stays inside and comes back. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog ref={element} aria-label={title} onClose={onClose} onClick={(event) => event.target === element.current && onClose()}>
      <div class="stack">
        <div class="row spread">
          <h2>{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}
