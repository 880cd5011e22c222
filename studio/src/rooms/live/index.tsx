/** Live: what is being written now, commit by commit, as the server tells it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, withQuery } from '../../api/client.ts'
import { readEvents } from '../../api/events.ts'
import { ChangeItem, SchemaSteps, StatsLine } from '../../changes/change.tsx'
import { counted, formatCount } from '../../look/format.ts'
import { Empty, Failure, Id, When } from '../../look/parts.tsx'
import { useStudio } from '../../shell/studio.tsx'
import { broken, NOTHING, withEvent, type LiveCommit, type LiveState } from './feed.ts'
import './live.css'

const AGAIN_MILLIS = 1500
const OPEN_CHANGES = 12

type Line = 'joining' | 'joined' | 'broken'

export default function Live() {
  const { address, client, go, place, href } = useStudio()
  const [state, setState] = useState<LiveState>(NOTHING)
  const [line, setLine] = useState<Line>('joining')
  const [error, setError] = useState<unknown>(null)
  const [isHeld, setHeld] = useState(false)
  const [again, setAgain] = useState(0)
  const type = address.extra['type'] ?? null
  const current = useRef(state)
  current.current = state

  useEffect(() => {
    setState(NOTHING)
    current.current = NOTHING
  }, [address.branch, address.graph, type])

  useEffect(() => {
    if (isHeld) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | null = null
    const follow = async (): Promise<void> => {
      current.current = broken(current.current)
      setState(current.current)
      setLine('joining')
      try {
        const path = withQuery('/changes/stream', { branch: address.branch, since: current.current.cursor, type: type === null ? null : [type] })
        const response = await client.open('GET', path, undefined, { signal: stop.signal, accept: 'text/event-stream' })
        setLine('joined')
        setError(null)
        for await (const event of readEvents(response)) {
          current.current = withEvent(current.current, event)
          setState(current.current)
        }
      } catch (failure) {
        if (stop.signal.aborted) return
        // A refusal is final until the reader tries again; a broken connection is mended by itself.
        if (failure instanceof ApiError && !failure.isUnreachable && failure.status < 500) {
          setError(failure)
          setLine('broken')
          return
        }
      }
      if (stop.signal.aborted) return
      setLine('broken')
      timer = setTimeout(() => void follow(), AGAIN_MILLIS)
    }
    void follow()
    return () => {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    }
  }, [client, address.branch, type, isHeld, again])

  const types = [...(place.value?.schema.nodes ?? []), ...(place.value?.schema.edges ?? [])].map((each) => each.name)
  return (
    <div class="live stack">
      <h1 class="hidden">Live</h1>
      <div class="row spread">
        <div class="row" role="status">
          <span class={`light ${isHeld ? 'held' : line}`} aria-hidden="true" />
          <span>{isHeld ? 'Paused' : line === 'joined' ? `Listening to ${address.branch}` : line === 'joining' ? 'Connecting' : error !== null ? 'Not listening' : 'Connection lost; trying again'}</span>
          <span class="soft">{counted(state.total, 'commit')} so far</span>
        </div>
        <div class="row">
          <select aria-label="Type" value={type ?? ''} onChange={(event) => go({ extra: { type: event.currentTarget.value || null } })}>
            <option value="">every type</option>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <button type="button" aria-pressed={isHeld} onClick={() => setHeld(!isHeld)}>
            {isHeld ? 'Go on' : 'Pause'}
          </button>
        </div>
      </div>
      {error === null ? null : (
        <Failure
          error={error}
          retry={() => {
            setState(NOTHING)
            current.current = NOTHING
            setAgain(again + 1)
          }}
        />
      )}
      {state.commits.length === 0 && error === null ? (
        <Empty title="Nothing was committed since you opened this page">
          <p>
            Commits to {address.branch} appear here as they are made. <a href={href({ room: 'history' })}>What was before is in the history.</a>
          </p>
        </Empty>
      ) : null}
      <ol class="plain feed" aria-live="polite" aria-relevant="additions">
        {state.commits.map((each) => (
          <LiveItem key={each.commit.graph_commit_id} item={each} />
        ))}
      </ol>
    </div>
  )
}

function LiveItem({ item }: { item: LiveCommit }) {
  const { href } = useStudio()
  const { commit, stats, changes, count, schemaSteps } = item
  return (
    <li class="panel stack">
      <div class="row spread">
        <strong class="wrap">{commit.message ?? commit.kind}</strong>
        <span class="small soft">
          {commit.actor_id ? `${commit.actor_id} · ` : ''}
          <When micros={commit.created_at} /> ·{' '}
          <a href={href({ room: 'history', extra: { open: commit.graph_commit_id } })}>
            <Id id={commit.graph_commit_id} />
          </a>
        </span>
      </div>
      <StatsLine stats={stats} />
      <SchemaSteps steps={schemaSteps} />
      {count > 0 ? (
        <details open={count <= OPEN_CHANGES}>
          <summary class="small">
            {count > changes.length ? `the first ${formatCount(changes.length)} of ${counted(count, 'row')}` : counted(count, 'row')}
          </summary>
          <ul class="plain changes">
            {changes.map((each) => (
              <ChangeItem key={`${each.table_key} ${each.id}`} change={each} />
            ))}
          </ul>
        </details>
      ) : null}
    </li>
  )
}
