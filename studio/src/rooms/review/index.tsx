/** Review: what a branch would change, what keeps it from going in, and the buttons that decide. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { parseJson, writeJson } from '../../api/json.ts'
import type { BranchStatus, Config, Conflict, FoundReview, Merged } from '../../api/shapes.ts'
import { StatsLine } from '../../changes/change.tsx'
import { Differences } from '../../changes/differences.tsx'
import { askStats } from '../../changes/fetch.ts'
import { counted } from '../../look/format.ts'
import { Empty, Failure, Id, Loading, When } from '../../look/parts.tsx'
import { MAIN } from '../../shell/address.ts'
import { useKept } from '../../shell/kept.ts'
import { useAsked, useStudio } from '../../shell/studio.tsx'
import { choose, conflictKey, joined, mergeFields, NONE, shownOf, type Choices } from './choices.ts'
import { Conflicts } from './conflicts.tsx'
import { StateBadge, Talk } from './talk.tsx'
import './review.css'

const SHOWN_BRANCHES = 200
const PAUSE_MILLIS = 250

export default function ReviewRoom() {
  const { address } = useStudio()
  const into = address.extra['into'] ?? MAIN
  return address.branch === into ? <Waiting into={into} /> : <ReviewOf key={`${address.graph ?? ''} ${address.branch} ${into}`} branch={address.branch} into={into} />
}

/** The branches that could go in, those with something new first. */
function Waiting({ into }: { into: string }) {
  const { href } = useStudio()
  const asked = useAsked('branches', (client, signal) => client.get<{ branches: BranchStatus[]; cursor: string | null }>('/branches/status', { limit: SHOWN_BRANCHES }, { signal }))
  const branches = (asked.value?.branches ?? []).filter((each) => each.name !== into)
  const waiting = [...branches].sort((one, other) => Number((other.ahead ?? 1) > 0) - Number((one.ahead ?? 1) > 0) || other.created_at - one.created_at)
  if (asked.error !== null) return <Failure error={asked.error} retry={asked.retry} />
  if (asked.value === null) return <Loading what="the branches" />
  const hasMore = asked.value.cursor !== null
  if (waiting.length === 0 && !hasMore) return <Empty title="No branch is waiting">A branch is where somebody tries something first: <code>omnigraph branch create</code> makes one.</Empty>
  return (
    <section class="stack review-list" aria-label="Branches">
      <h1>Branches that could go into {into}</h1>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Branch</th>
              <th>Review</th>
              <th class="number">Ahead</th>
              <th class="number">Behind</th>
              <th>Last commit</th>
            </tr>
          </thead>
          <tbody>
            {waiting.map((each) => (
              <tr key={each.name}>
                <td class="wrap">
                  <a href={href({ branch: each.name, extra: { into: into === MAIN ? null : into } })}>{each.name}</a>
                </td>
                <td>
                  <StateBadge state={each.review} />
                </td>
                <td class="number">{each.ahead ?? '?'}</td>
                <td class="number">{each.behind ?? '?'}</td>
                <td>
                  {each.actor_id ?? 'somebody'} <When micros={each.created_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {hasMore ? (
        <p class="soft small">
          There are more branches; choose one with <kbd>b</kbd>.
        </p>
      ) : null}
    </section>
  )
}

function usePreview(branch: string, into: string) {
  const [choices, setChoices] = useKept<Choices>(`choices ${branch} ${into}`, NONE)
  const [raised, setRaised] = useState<readonly Conflict[]>([])
  const asks = { source: branch, target: into, preview: true }
  const first = useAsked(`preview ${branch} ${into}`, (client, signal) => client.post<Merged>('/branches/merge', asks, { signal }))
  const whole = first.value?.merge_conflicts ?? []
  const [settledFields, setSettledFields] = useState('')
  const fields = choices === NONE ? '' : writeJson(mergeFields(choices, joined(whole, raised)))
  useEffect(() => {
    const timer = setTimeout(() => setSettledFields(fields), PAUSE_MILLIS)
    return () => clearTimeout(timer)
  }, [fields])
  const checked = useAsked(settledFields === '' ? null : `checked ${branch} ${into} ${settledFields}`, (client, signal) =>
    client.post<Merged>('/branches/merge', { ...asks, ...(parseJson(settledFields) as Record<string, unknown>) }, { signal }),
  )
  const isChecking = fields !== settledFields || checked.isLoading
  const left: readonly Conflict[] | null = fields === '' ? (first.value === null ? null : whole) : isChecking ? null : (checked.value?.merge_conflicts ?? null)
  // What the server found last stays on the page while it is asked again; nothing counts as settled before it said so.
  const answered = useRef<readonly Conflict[] | null>(null)
  if (left !== null) answered.current = left
  const last = answered.current ?? whole
  useEffect(() => {
    if (left !== null) setRaised((old) => (joined(old, left).length === old.length ? old : joined(old, left)))
  }, [left])
  useEffect(() => setRaised([]), [first.value?.ours_commit, first.value?.theirs_commit])
  // What was chosen for a merge that is done says nothing about the next one.
  const isIn = first.value?.outcome === 'already_up_to_date'
  useEffect(() => {
    if (isIn) setChoices(NONE)
  }, [isIn])
  return { first, checked, choices, setChoices, conflicts: shownOf(whole, raised, last, choices), left, last, fields }
}

function ReviewOf({ branch, into }: { branch: string; into: string }) {
  const { address, client, root, go, may, refresh } = useStudio()
  const preview = usePreview(branch, into)
  const found = useAsked(`review ${branch}`, (asking, signal) => asking.get<FoundReview>('/reviews', { branch }, { signal }))
  const target = useAsked(`config ${into}`, (_, signal) => root.get<Config>('/studio/config.json', { graph: address.graph, branch: into }, { signal }))
  const mayMerge = target.value?.may.includes('branch_merge') ?? false
  const merge = preview.first.value
  const { conflicts } = preview
  const left = preview.left === null ? null : preview.left.length
  const keys = new Set(preview.last.map(conflictKey))
  if (preview.first.error !== null) return <Failure error={preview.first.error} retry={preview.first.retry} />
  if (merge === null) return <Loading what={`what ${branch} would change`} lines={8} />
  return (
    <div class="review">
      <header class="row spread">
        <div class="stack">
          <h1 class="wrap">
            {branch} <span class="soft">into {into}</span>
          </h1>
          <div class="row">
            <StateBadge state={found.value?.review?.state ?? null} />
            <OutcomeLine merge={merge} left={left} total={conflicts.length} isFailed={preview.checked.error !== null} />
            <StatsLine stats={merge.stats} />
          </div>
        </div>
        <button type="button" onClick={() => go({ branch: into, extra: { into: into === MAIN ? null : into } })}>
          All branches
        </button>
      </header>
      <div class="columns">
        <div class="stack">
          {conflicts.length ? <Conflicts conflicts={conflicts} choices={preview.choices} choose={(scope, choice) => preview.setChoices(choose(preview.choices, scope, choice))} left={keys} sides={{ ours: into, theirs: branch }} /> : null}
          {preview.checked.error !== null ? <Failure error={preview.checked.error} retry={preview.checked.retry} /> : null}
          <WhatChanged base={merge.base_commit} to={merge.theirs_commit} />
        </div>
        <aside class="stack">
          {target.error !== null ? <Failure error={target.error} retry={target.retry} /> : null}
          {target.value === null ? target.error === null ? <Loading what={`what you may do on ${into}`} lines={2} /> : null : (
            <Decide
              merge={merge}
              left={left}
              isLoading={preview.first.isLoading}
              mayMerge={mayMerge}
              send={async (message) => {
                const chosen = preview.fields === '' ? {} : (parseJson(preview.fields) as Record<string, unknown>)
                const standing = { expect: merge.ours_commit, expect_source: merge.theirs_commit }
                await client.write<Merged>('/branches/merge', { source: branch, target: into, ...standing, ...chosen, ...(message ? { message } : {}) })
              }}
              merged={refresh}
              again={() => {
                preview.setChoices(NONE)
                refresh()
              }}
            />
          )}
          {found.error !== null ? <Failure error={found.error} retry={found.retry} /> : <Talk review={found.value?.review ?? null} branch={branch} into={into} head={merge.theirs_commit} mayDecide={mayMerge} mayComment={may('review')} done={found.retry} />}
        </aside>
      </div>
    </div>
  )
}

function OutcomeLine({ merge, left, total, isFailed }: { merge: Merged; left: number | null; total: number; isFailed: boolean }) {
  if (merge.outcome === 'already_up_to_date') return <span class="soft">nothing new</span>
  if (total === 0) return <span class="added">no conflicts</span>
  if (isFailed) return <span class="removed">not checked</span>
  if (left === null) return <span class="soft" role="status">asking the server…</span>
  return (
    <span role="status" class={left ? 'conflict' : 'added'}>
      {left ? `${counted(left, 'conflict')} left of ${total}` : `all ${counted(total, 'conflict')} settled`}
    </span>
  )
}

function WhatChanged({ base, to }: { base: string; to: string }) {
  const stats = useAsked(`stats ${base} ${to}`, (client, signal) => askStats(client, base, to, signal))
  return (
    <section class="stack" aria-label="Changes">
      <h2>What the branch changed</h2>
      <p class="soft small">
        Since <Id id={base} />, where it parted.
      </p>
      {stats.error !== null ? <Failure error={stats.error} retry={stats.retry} /> : null}
      {stats.value === null ? stats.error === null ? <Loading what="the changes" /> : null : <Differences diff={stats.value} from={base} to={to} />}
    </section>
  )
}

function Decide({ merge, left, isLoading, mayMerge, send, merged, again }: { merge: Merged; left: number | null; isLoading: boolean; mayMerge: boolean; send: (message: string) => Promise<void>; merged: () => void; again: () => void }) {
  const [message, setMessage] = useState('')
  const [state, setState] = useState<{ isRunning: boolean; error: unknown; isDone: boolean }>({ isRunning: false, error: null, isDone: false })
  const isIn = merge.outcome === 'already_up_to_date'
  const done = useRef<HTMLElement>(null)
  // What is new on the branch has not been merged.
  useEffect(() => setState((old) => (old.isDone ? { ...old, isDone: false } : old)), [merge.theirs_commit])
  // The button that had the focus is gone; whoever works by keys stays where the merge was.
  useEffect(() => {
    if (isIn && state.isDone) done.current?.focus()
  }, [isIn, state.isDone])
  if (isIn) {
    return (
      <section ref={done} class="panel" aria-label="Merge" tabIndex={-1}>
        <p role="status">{state.isDone ? 'Merged.' : `Everything of ${merge.source} is in ${merge.target} already.`}</p>
      </section>
    )
  }
  if (!mayMerge) return <p class="panel soft">You may not merge into {merge.target}.</p>
  const run = async (): Promise<void> => {
    setState({ isRunning: true, error: null, isDone: false })
    try {
      await send(message.trim())
      setState({ isRunning: false, error: null, isDone: true })
      merged()
    } catch (error) {
      setState({ isRunning: false, error, isDone: false })
    }
  }
  const hasMoved = state.error instanceof ApiError && state.error.code === 'head_moved'
  return (
    <section class="panel stack" aria-label="Merge">
      <label>
        <span class="small soft">Message</span>
        <input value={message} placeholder={`merge '${merge.source}' into '${merge.target}'`} onInput={(event) => setMessage(event.currentTarget.value)} />
      </label>
      {hasMoved ? (
        <div class="failure stack" role="alert">
          <strong>A branch moved while you were looking.</strong>
          <span>Nothing was merged. Look at what is new, then decide again.</span>
          <button
            type="button"
            onClick={() => {
              setState({ isRunning: false, error: null, isDone: false })
              again()
            }}
          >
            Look again
          </button>
        </div>
      ) : state.error !== null ? (
        <Failure error={state.error} />
      ) : null}
      <button type="button" class="main" disabled={state.isRunning || state.isDone || isLoading || left !== 0} onClick={() => void run()}>
        {state.isRunning ? 'Merging…' : `Merge into ${merge.target}`}
      </button>
      {left ? <span class="small soft">{counted(left, 'conflict')} to settle first</span> : null}
    </section>
  )
}
