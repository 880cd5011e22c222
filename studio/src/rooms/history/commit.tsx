/** Commit: what a commit is and what it changed, type by type, and how to undo it. */

import { useState } from 'preact/hooks'
import type { Commit, Reverted } from '../../api/shapes.ts'
import { StatsLine } from '../../changes/change.tsx'
import { Differences } from '../../changes/differences.tsx'
import { askStats } from '../../changes/fetch.ts'
import { exactTime } from '../../look/format.ts'
import { Changes, Dialog, Failure, Id, Loading, Value } from '../../look/parts.tsx'
import { useAsked, useStudio } from '../../shell/studio.tsx'

export function CommitView({ id, tags, close }: { id: string; tags: string[]; close: () => void }) {
  const { address, go, href, may } = useStudio()
  const [isUndoing, setUndoing] = useState(false)
  const asked = useAsked(`commit ${id}`, (client, signal) => client.get<Commit>(`/commits/${encodeURIComponent(id)}`, {}, { signal }))
  const commit = asked.value
  return (
    <section class="commit-view stack" aria-label="Commit">
      <div class="row spread">
        <h2 class="wrap">{commit?.message ?? commit?.kind ?? 'Commit'}</h2>
        <button type="button" class="quiet" aria-label="Close the commit" onClick={close}>
          ✕
        </button>
      </div>
      {asked.error !== null ? <Failure error={asked.error} retry={asked.retry} /> : null}
      {commit === null ? (
        asked.error === null ? (
          <Loading what="the commit" />
        ) : null
      ) : (
        <>
          <dl class="facts small">
            <dt>Commit</dt>
            <dd>
              <code class="wrap">{commit.graph_commit_id}</code>
            </dd>
            <dt>Made</dt>
            <dd>
              {exactTime(commit.created_at)}
              {commit.actor_id ? ` by ${commit.actor_id}` : ''} on {commit.manifest_branch}
            </dd>
            {commit.parent_commit_id === null ? null : (
              <>
                <dt>After</dt>
                <dd class="row">
                  <a href={href({ extra: { open: commit.parent_commit_id } })}>
                    <Id id={commit.parent_commit_id} />
                  </a>
                  {commit.merged_parent_commit_id === null ? null : (
                    <>
                      {' '}
                      merged with{' '}
                      <a href={href({ extra: { open: commit.merged_parent_commit_id } })}>
                        <Id id={commit.merged_parent_commit_id} />
                      </a>
                    </>
                  )}
                </dd>
              </>
            )}
            {tags.length ? (
              <>
                <dt>Tags</dt>
                <dd>{tags.join(', ')}</dd>
              </>
            ) : null}
          </dl>
          <div class="row">
            <button type="button" onClick={() => go({ room: 'overview', commit: commit.graph_commit_id })}>
              Look at the graph here
            </button>
            {may('change') && commit.parent_commit_id !== null ? (
              <button type="button" class="risky" aria-haspopup="dialog" onClick={() => setUndoing(true)}>
                Revert on {address.branch}…
              </button>
            ) : null}
          </div>
          {commit.parent_commit_id === null ? <p class="soft">The first commit: there is nothing before it.</p> : <CommitDiff from={commit.parent_commit_id} to={commit.graph_commit_id} />}
          {isUndoing ? <Undo commit={commit} close={() => setUndoing(false)} /> : null}
        </>
      )}
    </section>
  )
}

function CommitDiff({ from, to }: { from: string; to: string }) {
  const stats = useAsked(`stats ${from} ${to}`, (client, signal) => askStats(client, from, to, signal))
  if (stats.error !== null) return <Failure error={stats.error} retry={stats.retry} />
  if (stats.value === null) return <Loading what="what it changed" />
  return <Differences diff={stats.value} from={from} to={to} />
}

/** What a revert would do, as the server says, and the button that does it. */
function Undo({ commit, close }: { commit: Commit; close: () => void }) {
  const { address, client, go, refresh } = useStudio()
  const [message, setMessage] = useState('')
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({ isRunning: false, error: null })
  const body = { commit: commit.graph_commit_id, branch: address.branch }
  const preview = useAsked(`revert ${commit.graph_commit_id} ${address.branch}`, (asking, signal) => asking.post<Reverted>('/revert', { ...body, preview: true }, { signal }))
  const merge = preview.value?.merge
  const conflicts = merge?.merge_conflicts ?? []
  const isNothing = merge?.outcome === 'already_up_to_date'
  const undo = async (): Promise<void> => {
    setState({ isRunning: true, error: null })
    try {
      const done = await client.write<Reverted>('/revert', { ...body, ...(message ? { message } : {}) })
      close()
      refresh()
      if (done.commit !== null) go({ commit: null, extra: { open: done.commit } })
    } catch (error) {
      setState({ isRunning: false, error })
    }
  }
  return (
    <Dialog title={`Revert on ${address.branch}`} onClose={close}>
      {preview.error !== null ? <Failure error={preview.error} retry={preview.retry} /> : null}
      {preview.isLoading && preview.value === null ? <Loading what="what it would do" /> : null}
      {merge === undefined ? null : isNothing ? (
        <p>Nothing of this commit is left to revert.</p>
      ) : conflicts.length ? (
        <>
          <p>
            <Changes op="conflict" count={conflicts.length} /> Later commits changed the same, so that it cannot simply be undone:
          </p>
          <ul class="plain stack small">
            {conflicts.slice(0, 20).map((each, at) => (
              <li key={at} class="wrap">
                <span class="sign conflict">≠</span> <Value value={each['message'] ?? each} />
              </li>
            ))}
          </ul>
        </>
      ) : (
        <>
          <p>This would change, as one new commit:</p>
          <StatsLine stats={merge.stats} />
          <label>
            <span class="small soft">Message</span>
            <input value={message} placeholder={`revert ${commit.graph_commit_id}`} onInput={(event) => setMessage(event.currentTarget.value)} />
          </label>
        </>
      )}
      {state.error === null ? null : <Failure error={state.error} />}
      <div class="row">
        {merge !== undefined && !isNothing && conflicts.length === 0 ? (
          <button type="button" class="main" disabled={state.isRunning} onClick={() => void undo()}>
            Revert
          </button>
        ) : null}
        <button type="button" onClick={close}>
          Leave it
        </button>
      </div>
    </Dialog>
  )
}
