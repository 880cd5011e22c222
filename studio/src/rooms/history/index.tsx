/** History: the commits of a branch, or of all, as a drawing; each opens as what it changed and can be undone. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Commit, Tag } from '../../api/shapes.ts'
import { COLOURS } from '../../look/colours.ts'
import { formatCount } from '../../look/format.ts'
import { Empty, Failure, Id, Loading, When } from '../../look/parts.tsx'
import { isOver, useAsked, useStudio } from '../../shell/studio.tsx'
import { CommitView } from './commit.tsx'
import { layLanes, sortCommits, type LaneRow } from './lanes.ts'
import { MOST_COMMITS, olderLimit, PAGE } from './pages.ts'
import './history.css'

const MOST_BRANCHES = 12
const ROW = 48
const LANE = 14
const MOST_LANES = 16

interface Found {
  commits: Commit[]
  heads: Map<string, string[]>
  hasMore: boolean
}

function useCommits(graph: string | null, branches: string[], limit: number) {
  const asked = useAsked(branches.length ? `history ${limit} ${branches.join('\n')}` : null, async (client, signal): Promise<Found> => {
    const pages = await Promise.all(branches.map((branch) => client.get<{ commits: Commit[]; cursor: string | null }>('/commits', { branch, limit }, { signal })))
    const heads = new Map<string, string[]>()
    pages.forEach((page, at) => {
      const head = page.commits[0]?.graph_commit_id
      if (head !== undefined) heads.set(head, [...(heads.get(head) ?? []), branches[at] as string])
    })
    return { commits: sortCommits(pages.flatMap((page) => page.commits)), heads, hasMore: pages.some((page) => page.cursor !== null) }
  })
  // The commits stay, and the reader among them, while the older ones are on their way.
  const where = `${graph ?? ''} ${branches.join('\n')}`
  const last = useRef<{ where: string; found: Found } | null>(null)
  if (asked.value !== null) last.current = { where, found: asked.value }
  else if (isOver(asked.error)) last.current = null
  return { ...asked, value: asked.value ?? (last.current?.where === where ? last.current.found : null) }
}

export default function History() {
  const { address, go } = useStudio()
  const [limit, setLimit] = useState(PAGE)
  const isAll = address.extra['all'] === '1'
  const actor = address.extra['actor'] ?? null
  const branches = useAsked(isAll ? 'branch names' : null, (client, signal) => client.get<{ branches: string[] }>('/branches', { limit: MOST_BRANCHES + 1 }, { signal }))
  const names = isAll ? (branches.value?.branches.slice(0, MOST_BRANCHES) ?? []) : [address.branch]
  const shown = isAll && !names.includes(address.branch) && names.length ? [...names, address.branch] : names
  const asked = useCommits(address.graph, shown, limit)
  const tags = useAsked('tags', (client, signal) => client.get<{ tags: Tag[] }>('/tags', { limit: 10_000 }, { signal }))
  const opened = address.extra['open'] ?? null
  const lanes = useMemo(() => layLanes(asked.value?.commits ?? []), [asked.value])
  const actors = useMemo(() => [...new Set((asked.value?.commits ?? []).map((each) => each.actor_id))].filter((each) => each !== null).sort(), [asked.value])
  useEffect(() => setLimit(PAGE), [address.branch, isAll])
  const tagsOf = (id: string): string[] => tags.value?.tags.filter((each) => each.commit === id).map((each) => each.name) ?? []
  const older = olderLimit(limit)
  const open = (id: string | null): void => go({ extra: { open: id } })
  return (
    <div class={opened === null ? 'history' : 'history opened'}>
      <h1 class="hidden">History</h1>
      <section class="log" aria-label="Commits">
        <div class="row spread">
          <div class="row">
            <label class="check">
              <input type="checkbox" checked={isAll} onChange={(event) => go({ extra: { all: event.currentTarget.checked ? '1' : null } })} /> all branches
            </label>
            {actors.length > 1 || actor !== null ? (
              <select aria-label="Actor" value={actor ?? ''} onChange={(event) => go({ extra: { actor: event.currentTarget.value || null } })}>
                <option value="">every actor</option>
                {actors.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            ) : null}
          </div>
          {isAll && (branches.value?.branches.length ?? 0) > MOST_BRANCHES ? <span class="soft small">the first {MOST_BRANCHES} branches</span> : null}
        </div>
        {branches.error !== null ? <Failure error={branches.error} retry={branches.retry} /> : null}
        {asked.error !== null ? <Failure error={asked.error} retry={asked.retry} /> : null}
        {asked.value === null && asked.error === null ? <Loading what="commits" lines={10} /> : null}
        {asked.value !== null && asked.value.commits.length === 0 ? <Empty title="No commits" /> : null}
        <ol class="plain commits">
          {lanes.rows.map((row) => {
            const id = row.commit.graph_commit_id
            const isFaint = actor !== null && row.commit.actor_id !== actor
            return (
              <li key={id} class={isFaint ? 'faint' : ''}>
                <Drawn row={row} width={lanes.width} />
                <button type="button" class="quiet commit" aria-current={id === opened ? 'true' : undefined} onClick={() => open(id === opened ? null : id)}>
                  <span class="message">{row.commit.message ?? <span class="soft">{row.commit.kind}</span>}</span>
                  {(asked.value?.heads.get(id) ?? []).map((name) => (
                    <span key={name} class="badge accent">
                      ⎇ {name}
                    </span>
                  ))}
                  {tagsOf(id).map((name) => (
                    <span key={name} class="badge">
                      # {name}
                    </span>
                  ))}
                  <span class="about small soft">
                    <Id id={id} /> · <When micros={row.commit.created_at} />
                    {row.commit.actor_id ? ` · ${row.commit.actor_id}` : ''}
                    {row.commit.merged_parent_commit_id ? ' · merge' : ''}
                  </span>
                </button>
              </li>
            )
          })}
        </ol>
        {!asked.value?.hasMore ? null : older !== null || asked.isLoading ? (
          <button type="button" disabled={asked.isLoading} onClick={() => older !== null && setLimit(older)}>
            Older commits
          </button>
        ) : (
          <p class="soft small">
            These are the newest {formatCount(MOST_COMMITS)} of a branch; <code>omnigraph commit list --after</code> lists older ones.
          </p>
        )}
      </section>
      {opened === null ? null : <CommitView key={opened} id={opened} tags={tagsOf(opened)} close={() => open(null)} />}
    </div>
  )
}

/** The lines of one row; those of the next go on where these end. */
function Drawn({ row, width }: { row: LaneRow; width: number }) {
  const x = (lane: number): number => lane * LANE + LANE / 2 + 2
  const middle = ROW / 2
  const line = (from: number, to: number, top: number, bottom: number): string => `M${x(from)} ${top} C${x(from)} ${(top + bottom) / 2} ${x(to)} ${(top + bottom) / 2} ${x(to)} ${bottom}`
  const across = Math.min(width, MOST_LANES) * LANE + 6
  return (
    <span class="lanes" aria-hidden="true" style={{ width: `${across}px` }}>
      <svg viewBox={`0 0 ${across} ${ROW}`} preserveAspectRatio="none">
        {row.above.map((each) => (
          <path key={`a${each.from}`} class="lane" data-colour={each.from % COLOURS} d={line(each.from, each.to, 0, middle)} />
        ))}
        {row.below.map((each) => (
          <path key={`b${each.from} ${each.to}`} class="lane" data-colour={each.to % COLOURS} d={line(each.from, each.to, middle, ROW)} />
        ))}
      </svg>
      <svg class="dot" width="14" height="14" viewBox="-7 -7 14 14" style={{ left: `${x(row.lane) - 7}px` }}>
        <circle data-colour={row.lane % COLOURS} r={row.commit.merged_parent_commit_id ? 5.5 : 4} />
      </svg>
    </span>
  )
}
