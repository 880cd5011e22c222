/** Talk: what was said about a branch, and its state: open, changes asked, approved, merged. */

import { useState } from 'preact/hooks'
import type { Review, ReviewEvent, ReviewState } from '../../api/shapes.ts'
import { Failure, Id, When } from '../../look/parts.tsx'
import { useKept } from '../../shell/kept.ts'
import { useStudio } from '../../shell/studio.tsx'

const WORDS: Record<ReviewState, string> = { open: 'open', changes_asked: 'changes asked', approved: 'approved', merged: 'merged' }
const LOOKS: Record<ReviewState, string> = { open: 'accent', changes_asked: 'changed', approved: 'added', merged: 'added' }

export function StateBadge({ state }: { state: ReviewState | null }) {
  if (state === null) return <span class="badge">not reviewed</span>
  return <span class={`badge ${LOOKS[state]}`}>{WORDS[state]}</span>
}

export function Talk({ review, branch, into, head, mayDecide, mayComment, done }: { review: Review | null; branch: string; into: string; head: string; mayDecide: boolean; mayComment: boolean; done: () => void }) {
  const { client } = useStudio()
  const [message, setMessage] = useKept(`words ${branch} ${into}`, '')
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({ isRunning: false, error: null })
  const say = async (path: string, more: Record<string, unknown>): Promise<void> => {
    setState({ isRunning: true, error: null })
    try {
      await client.write(path, { branch, into, expect: head, ...(message.trim() ? { message: message.trim() } : {}), ...more })
      setMessage('')
      setState({ isRunning: false, error: null })
      done()
    } catch (error) {
      setState({ isRunning: false, error })
    }
  }
  const isEmpty = message.trim() === ''
  return (
    <section class="stack" aria-label="What was said">
      <h2>What was said</h2>
      {review === null || review.events.length === 0 ? <p class="soft">Nobody has said anything about this branch yet.</p> : null}
      <ol class="plain stack talk">
        {review?.events.map((each) => (
          <Event key={each.id} event={each} head={head} />
        ))}
      </ol>
      {mayComment || mayDecide ? (
        <div class="stack">
          <label>
            <span class="small soft">Your words</span>
            <textarea rows={3} value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
          </label>
          {state.error === null ? null : <Failure error={state.error} />}
          <div class="row">
            {mayComment ? (
              <button type="button" disabled={state.isRunning || isEmpty} onClick={() => void say('/reviews/comments', {})}>
                Comment
              </button>
            ) : null}
            {mayDecide ? (
              <>
                <button type="button" disabled={state.isRunning} onClick={() => void say('/reviews', { state: 'approved' })}>
                  Approve
                </button>
                <button type="button" class="risky" disabled={state.isRunning || isEmpty} title={isEmpty ? 'Say what has to change' : undefined} onClick={() => void say('/reviews', { state: 'changes_asked' })}>
                  Hand back
                </button>
              </>
            ) : null}
          </div>
        </div>
      ) : null}
    </section>
  )
}

function Event({ event, head }: { event: ReviewEvent; head: string }) {
  const entity = event.entity
  return (
    <li class="said">
      <div class="row small">
        <strong>{event.actor_id ?? 'somebody'}</strong>
        {event.state === null ? <span class="soft">said</span> : <StateBadge state={event.state} />}
        {entity === null ? null : (
          <code class="wrap">
            {[entity.type, entity.id, entity.property].filter((each) => each !== null).join(' · ')}
          </code>
        )}
        <When micros={event.at} />
        {event.head === head ? null : (
          <span class="soft">
            about <Id id={event.head} />
          </span>
        )}
      </div>
      {event.message === null ? null : <p class="fold">{event.message}</p>}
    </li>
  )
}
